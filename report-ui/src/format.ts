export function ms(value: number): string {
  if (value === 0) return "0 ms";
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  if (value >= 100) return `${value.toFixed(0)} ms`;
  if (value >= 1) return `${value.toPrecision(3)} ms`;
  return `${(value * 1000).toPrecision(3)} µs`;
}

export function bytes(value: number | null): string {
  if (value === null) return "–";
  for (const [unit, scale] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]] as const) {
    if (value >= scale) return `${(value / scale).toPrecision(3)} ${unit}`;
  }
  return `${value} B`;
}

export function rate(value: number | null, unit: string): string {
  if (value === null) return "–";
  return `${value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toPrecision(2)} ${unit}`;
}

export function percent(part: number, whole: number): string {
  if (!whole) return "–";
  const value = (100 * part) / whole;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return value >= 10 || value === 0 ? `${value.toFixed(0)} %` : `${value.toFixed(1)} %`;
}

export function count(value: number, noun: string): string {
  return `${value.toLocaleString("en")} ${noun}${value === 1 ? "" : /(x|ch|s)$/.test(noun) ? "es" : "s"}`;
}

export function short(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
