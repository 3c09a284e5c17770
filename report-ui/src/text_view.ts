// A text of any length: only the visible lines are elements. Lines carry steps; hovering and
// clicking them is reported, and lines of selected steps are marked.

import { h, replace } from "./dom";
import { plain, wordAt, type Highlighter, type Token } from "./highlight";

const ROW = 19;
const AROUND = 12;

export interface Content {
  lines: string[];
  highlight?: Highlighter;
  /** Steps of a line, the innermost last. */
  steps?: (line: number) => number[];
  kind?: (line: number) => string;
  /** A share between 0 and 1, drawn in the margin, and its text. */
  heat?: (line: number) => [number, string] | null;
  onhover?: (line: number, steps: number[]) => void;
  onclick?: (line: number, steps: number[]) => void;
}

export class TextView {
  readonly element: HTMLElement;
  private readonly rows = h("div", { class: "rows" });
  private readonly space = h("div", { class: "space" });
  private content: Content = { lines: [] };
  private selected = new Set<number>();
  private hovered = new Set<number>();
  private cursor = -1;
  private word = "";
  private drawn = "";

  constructor(label: string) {
    this.space.append(this.rows);
    this.element = h("div", { class: "text", tabindex: 0, role: "listbox", "aria-label": label }, this.space);
    this.element.addEventListener("scroll", () => this.draw(), { passive: true });
    this.element.addEventListener("mousemove", (event) => this.hover(event));
    this.element.addEventListener("mouseleave", () => this.leave());
    this.element.addEventListener("click", (event) => this.click(this.lineOf(event)));
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(content: Content): void {
    this.content = content;
    this.cursor = -1;
    this.word = "";
    const widest = content.lines.reduce((most, line) => Math.max(most, line.length), 0);
    this.space.style.height = `${content.lines.length * ROW + 8}px`;
    this.space.style.minWidth = `calc(${Math.min(widest, 2000) + 8}ch + var(--margin))`;
    this.element.style.setProperty("--digits", String(String(content.lines.length).length));
    this.element.classList.toggle("heated", content.heat !== undefined);
    this.element.scrollTo(0, 0);
    this.draw(true);
  }

  mark(selected: Set<number>, hovered: Set<number>): void {
    this.selected = selected;
    this.hovered = hovered;
    this.draw(true);
  }

  /** Scroll to the longest run of lines that belong to the step: its launch, not a declaration. */
  revealStep(step: number): void {
    const { lines, steps } = this.content;
    let [best, longest, run] = [-1, 0, 0];
    for (let line = 0; steps && line < lines.length; line++) {
      run = steps(line).includes(step) ? run + 1 : 0;
      if (run > longest) [best, longest] = [line - run + 1, run];
    }
    if (best >= 0) this.reveal(best);
  }

  reveal(line: number): void {
    const { scrollTop, clientHeight } = this.element;
    const top = line * ROW;
    if (top >= scrollTop && top + 3 * ROW <= scrollTop + clientHeight) return;
    this.element.scrollTo(0, Math.max(0, top - clientHeight / 3));
    this.draw(true);
  }

  private lineOf(event: MouseEvent): number {
    const row = (event.target as Element).closest?.("[data-line]");
    return row ? Number((row as HTMLElement).dataset.line) : -1;
  }

  private stepsOf(line: number): number[] { return this.content.steps?.(line) ?? []; }

  private hover(event: MouseEvent): void {
    const line = this.lineOf(event);
    if (line < 0) return;
    const code = (event.target as Element).closest?.("code");
    const column = code ? Math.floor((event.clientX - code.getBoundingClientRect().left) / this.charWidth()) : -1;
    const word = wordAt(this.content.lines[line], column);
    if (word !== this.word) { this.word = word; this.draw(true); }
    this.content.onhover?.(line, this.stepsOf(line));
  }

  private charWidth(): number {
    const sample = this.rows.querySelector<HTMLElement>(".sample") ?? h("span", { class: "sample" }, "0000000000");
    if (!sample.isConnected) this.rows.append(sample);
    return sample.getBoundingClientRect().width / 10 || 7;
  }

  private leave(): void {
    if (this.word) { this.word = ""; this.draw(true); }
    this.content.onhover?.(-1, []);
  }

  private click(line: number): void {
    if (line < 0 || getSelection()?.toString()) return;
    this.cursor = line;
    this.content.onclick?.(line, this.stepsOf(line));
    this.draw(true);
  }

  private key(event: KeyboardEvent): void {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    const { lines } = this.content;
    if (event.key === "Enter") { this.click(this.cursor); event.preventDefault(); return; }
    if (!(event.key in moves) || !lines.length) return;
    event.preventDefault();
    const first = Math.floor(this.element.scrollTop / ROW);
    this.cursor = Math.min(lines.length - 1, Math.max(0, (this.cursor < 0 ? first - 1 : this.cursor) + moves[event.key]));
    this.content.onhover?.(this.cursor, this.stepsOf(this.cursor));
    this.reveal(this.cursor);
    this.draw(true);
  }

  private draw(force = false): void {
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - AROUND);
    const last = Math.min(this.content.lines.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / ROW) + AROUND);
    if (!force && this.drawn === `${first}-${last}`) return;
    this.drawn = `${first}-${last}`;
    this.rows.style.transform = `translateY(${first * ROW}px)`;
    const rows = [];
    for (let line = first; line < last; line++) rows.push(this.row(line));
    replace(this.rows, rows);
  }

  private row(line: number): HTMLElement {
    const { lines, heat, kind, highlight = plain } = this.content;
    const steps = this.stepsOf(line);
    const marks = ["row"];
    if (steps.length) marks.push("linked");
    if (steps.some((step) => this.selected.has(step))) marks.push("selected");
    if (steps.some((step) => this.hovered.has(step))) marks.push("hovered");
    if (line === this.cursor) marks.push("cursor");
    const warm = heat?.(line);
    return h(
      "div",
      { class: marks.join(" "), "data-line": line, "data-kind": kind?.(line), role: "option", "aria-selected": marks.includes("selected") },
      h("span", { class: "number" }, line + 1),
      heat && h("span", { class: "heat", vars: { "--heat": String(warm?.[0] ?? 0) } }, warm?.[1] ?? ""),
      h("code", {}, spans(lines[line], highlight(line, lines[line]), this.word)),
    );
  }
}

function spans(text: string, tokens: Token[], word: string): (HTMLElement | string)[] {
  const found: (HTMLElement | string)[] = [];
  let at = 0;
  for (const { from, to, type } of tokens) {
    if (from < at) continue;
    if (from > at) found.push(text.slice(at, from));
    const part = text.slice(from, to);
    found.push(h("span", { class: part === word ? `t-${type} same` : `t-${type}` }, part));
    at = to;
  }
  if (at < text.length) found.push(text.slice(at));
  return found;
}
