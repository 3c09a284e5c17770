// Achieved GFLOP/s against arithmetic intensity, with the measured roofs, on logarithmic axes.

import type { App } from "./main";
import { h, s } from "./dom";
import { ms, rate } from "./format";
import type { StepRef } from "./model";

const W = 560, H = 340, LEFT = 54, RIGHT = 14, TOP = 14, BOTTOM = 40;
const MOST_POINTS = 600;

export function rooflineChart(app: App): HTMLElement {
  const { model } = app;
  const roof = model.doc.roofline;
  const points = model.steps.filter((step) => step.ms && step.bytes && step.flops).sort((a, b) => b.ms - a.ms).slice(0, MOST_POINTS);
  if (!roof) return h("p", { class: "quiet" }, "The roofs were not measured.");
  const intensity = (step: StepRef) => (step.flops ?? 0) / (step.bytes ?? 1);
  const xs = range([...points.map(intensity), roof.gflop_per_s / roof.gb_per_s], 0.02, 50);
  const ys = range([...points.map((step) => model.gflopPerS(step) ?? 1), roof.gflop_per_s], 0.5, roof.gflop_per_s * 2);
  const x = scale(xs, LEFT, W - RIGHT), y = scale(ys, H - BOTTOM, TOP);
  const longest = points[0]?.ms ?? 1;
  const slope = (bandwidth: number) => {
    const knee = roof.gflop_per_s / bandwidth;
    return `M${x(xs[0])},${y(xs[0] * bandwidth)} L${x(knee)},${y(roof.gflop_per_s)} L${x(xs[1])},${y(roof.gflop_per_s)}`;
  };
  return h("figure", { class: "roofline" }, s("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "Roofline" },
    s("clipPath", { id: "plot" }, s("rect", { x: LEFT, y: TOP, width: W - LEFT - RIGHT, height: H - TOP - BOTTOM })),
    decades(xs).map((value) => [s("line", { class: "grid", x1: x(value), x2: x(value), y1: TOP, y2: H - BOTTOM }), s("text", { class: "tick", x: x(value), y: H - BOTTOM + 16, "text-anchor": "middle" }, label(value))]),
    decades(ys).map((value) => [s("line", { class: "grid", x1: LEFT, x2: W - RIGHT, y1: y(value), y2: y(value) }), s("text", { class: "tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, label(value))]),
    s("text", { class: "axis", x: (LEFT + W - RIGHT) / 2, y: H - 4, "text-anchor": "middle" }, "floating-point operations per byte"),
    s("text", { class: "axis", x: 12, y: (TOP + H - BOTTOM) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(TOP + H - BOTTOM) / 2})` }, "GFLOP/s"),
    s("g", { "clip-path": "url(#plot)" },
      s("path", { class: "roof cache", d: slope(roof.cache_gb_per_s) }),
      s("path", { class: "roof", d: slope(roof.gb_per_s) }),
      points.map((step) => s("circle", {
        class: "point", "data-kind": step.kind, cx: x(intensity(step)), cy: y(model.gflopPerS(step) ?? ys[0]),
        r: 3 + 7 * Math.sqrt(step.ms / longest), tabindex: 0,
        onclick: () => app.go({ view: "code", step: step.id }),
        onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") app.go({ view: "code", step: step.id }); },
      }, s("title", {}, `${step.ops.join(", ")}: ${ms(step.ms)}, ${rate(model.gbPerS(step), "GB/s")}, ${rate(model.gflopPerS(step), "GFLOP/s")}`)))),
    s("text", { class: "roofname", x: W - RIGHT - 4, y: y(roof.gflop_per_s) - 6, "text-anchor": "end" }, rate(roof.gflop_per_s, "GFLOP/s"))),
  h("figcaption", { class: "quiet" }, `Area is time. Solid: memory, ${rate(roof.gb_per_s, "GB/s")}; dashed: cache, ${rate(roof.cache_gb_per_s, "GB/s")}. Select a circle for its code.`));
}

function range(values: number[], least: number, most: number): [number, number] {
  const all = values.filter((value) => value > 0 && Number.isFinite(value));
  const low = Math.min(least, ...all), high = Math.max(most, ...all);
  return [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
}

function scale([low, high]: [number, number], from: number, to: number): (value: number) => number {
  const span = Math.log10(high) - Math.log10(low) || 1;
  return (value) => from + ((Math.log10(value) - Math.log10(low)) / span) * (to - from);
}

function decades([low, high]: [number, number]): number[] {
  const found: number[] = [];
  for (let power = Math.round(Math.log10(low)); power <= Math.round(Math.log10(high)); power++) found.push(10 ** power);
  return found;
}

function label(value: number): string { return value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(2))); }
