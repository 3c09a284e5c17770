// The arena over time: each value is a rectangle from its first to its last use, at its offset.

import type { App } from "./main";
import type { Arena, ArenaBuffer } from "./data";
import { h, replace, themed } from "./dom";
import { bytes, count, percent } from "./format";
import { KINDS } from "./model";
import { LEFT, Plot, ticks, type Drawing, type Scene } from "./plot";
import { stepCard } from "./step_card";
import type { State } from "./store";

const HEIGHT = 380, TOP = 10, BOTTOM = 26;

const MEANING: Record<string, string> = {
  input: "inputs and parameters",
  constant: "constants",
  packed: "packed weights, beside the model's",
  folded: "values computed from weights once",
  arena: "intermediate values, one after the other in the same memory",
  result: "results and values for eager ops",
  eager: "results of eager ops",
  cursor: "memory of loops",
};

export class Memory {
  readonly element: HTMLElement;
  private readonly body = h("div", {});
  private readonly card = h("div", { class: "inspector" });
  private plot: Plot | null = null;
  private graph = -1;
  private peak = 0;
  private live: number[] = [];

  constructor(private readonly app: App) {
    this.element = h("div", { class: "view memory" }, this.body, this.card);
  }

  show(state: State): void { this.update(state, new Set(["step", "graph"])); }

  update(state: State, changed: Set<string>): void {
    const graph = state.step >= 0 ? this.app.model.steps[state.step].graph : state.graph;
    if (graph !== this.graph) this.showGraph(graph);
    if (changed.has("step") || changed.has("selected")) replace(this.card, stepCard(this.app, state.step));
    this.plot?.redraw();
  }

  private showGraph(number: number): void {
    this.graph = number;
    const { graphs } = this.app.model.doc;
    const graph = graphs[number];
    this.plot = null;
    if (!graph) { replace(this.body, h("p", {}, "Nothing was compiled.")); return; }
    const parts: (HTMLElement | false)[] = [
      graphs.length > 1 && h("div", { class: "tabs" }, graphs.map((each, k) => h("button", { "aria-selected": k === number, onclick: () => this.app.go({ graph: k, step: -1 }) }, each.name))),
      h("h2", {}, "The arena over one call"),
    ];
    if (graph.arena) {
      this.measure(graph.arena);
      const alone = graph.arena.buffers.reduce((sum, buffer) => sum + buffer.bytes, 0);
      this.plot = new Plot("Arena over time", HEIGHT, this.scene(graph.arena));
      parts.push(
        h("p", { class: "hint" }, `${bytes(graph.arena.bytes)} hold ${count(graph.arena.buffers.length, "value")} of ${bytes(alone)} (${percent(graph.arena.bytes, alone)}); at most ${bytes(this.peak)} are in use at once. Each rectangle is a value: from its first to its last use, at its offset.`),
        this.plot.element);
    } else parts.push(h("p", { class: "quiet" }, "No value lives in the arena, or its sizes are known only at run time."));
    replace(this.body, parts, h("h2", {}, "Memory by kind"), this.table(graph.memory));
    this.element.dataset.buffers = String(graph.arena?.buffers.length ?? 0);
  }

  private measure(arena: Arena): void {
    const change = new Array<number>(arena.positions.length + 2).fill(0);
    for (const buffer of arena.buffers) { change[buffer.first] += buffer.bytes; change[buffer.last + 1] -= buffer.bytes; }
    let sum = 0;
    this.live = change.map((by) => (sum += by));
    this.peak = Math.max(0, ...this.live);
  }

  private table(memory: Record<string, number>): HTMLElement {
    const rows = Object.entries(memory).sort(([, a], [, b]) => b - a);
    const most = rows[0]?.[1] || 1;
    return h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, rows.map(([kind, size]) =>
      h("tr", {}, h("td", {}, kind), h("td", { class: "num heated", vars: { "--heat": String(size / most) } }, bytes(size)), h("td", { class: "quiet" }, MEANING[kind] ?? ""))))));
  }

  private scene(arena: Arena): Scene {
    const { app } = this;
    const offset = app.model.offsets[this.graph];
    const y = (value: number, height: number) => height - BOTTOM - (value / (arena.bytes || 1)) * (height - TOP - BOTTOM);
    const id = (buffer: ArenaBuffer) => (buffer.step < 0 ? -1 : offset + buffer.step);
    return {
      extent: [0, Math.max(1, arena.positions.length)],
      draw: (drawing) => this.draw(drawing, arena, y, id),
      hit: (pixel, at, { x, height }) => {
        const found = arena.buffers.find((b) => x(b.first) <= pixel && pixel <= x(b.last + 1) && y(b.offset + b.bytes, height) <= at && at <= y(b.offset, height));
        if (!found) return null;
        const step = app.model.step(id(found));
        return {
          text: [found.name, `${found.type}, ${bytes(found.bytes)} at ${found.offset.toLocaleString("en")}`, `in use from op ${found.first} to ${found.last}`, ...(step ? [`written by ${step.ops.join(", ") || step.name}`] : [])],
          steps: step ? [step.id] : [],
        };
      },
      onhover: (steps) => app.store.hover(steps),
      onclick: (steps) => { if (steps.length) app.selectStep(steps[0]); },
    };
  }

  private draw({ context, width, height, x }: Drawing, arena: Arena, y: (value: number, height: number) => number, id: (buffer: ArenaBuffer) => number): void {
    const { model, store } = this.app;
    const colours = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, themed(`--${kind}`)]));
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const tick of ticks(0, arena.bytes, 5)) {
      context.fillStyle = themed("--line");
      context.fillRect(LEFT, Math.round(y(tick, height)), width - LEFT, 1);
      context.fillStyle = themed("--quiet");
      context.textAlign = "right";
      context.fillText(bytes(tick), LEFT - 6, y(tick, height));
    }
    context.save();
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT, height);
    context.clip();
    for (const buffer of arena.buffers) {
      const step = model.step(id(buffer));
      const left = x(buffer.first), right = x(buffer.last + 1);
      if (right < LEFT || left > width) continue;
      const top = y(buffer.offset + buffer.bytes, height), tall = y(buffer.offset, height) - top;
      const inner = [left + 0.5, top + 0.5, Math.max(1, right - left - 1), Math.max(1, tall - 1)] as const;
      const lit = step && (store.state.selected.has(step.id) || store.state.hovered.has(step.id));
      context.fillStyle = colours[step?.kind ?? "view"] || themed("--outside");
      context.globalAlpha = lit ? 1 : 0.72;
      context.fillRect(...inner);
      context.globalAlpha = 1;
      if (lit || right - left > 4) {
        context.strokeStyle = lit ? themed("--accent") : themed("--paper");
        context.lineWidth = lit ? 2 : 1;
        context.strokeRect(...inner);
      }
      if (right - left > 60 && tall > 13) this.name(context, buffer.name, inner);
    }
    context.restore();
    this.curve({ context, width, height, x }, y);
    this.axis({ context, width, height, x }, arena);
  }

  private name(context: CanvasRenderingContext2D, text: string, [left, top, wide, tall]: readonly [number, number, number, number]): void {
    context.save();
    context.beginPath();
    context.rect(left, top, wide - 4, tall);
    context.clip();
    context.fillStyle = themed("--on-bar");
    context.textAlign = "left";
    context.fillText(text, Math.max(LEFT, left) + 5, top + tall / 2);
    context.restore();
  }

  /** Bytes in use at each position, where positions are far enough apart. */
  private curve({ context, x, height, width }: Drawing, y: (value: number, height: number) => number): void {
    if (x(1) - x(0) < 4) return; // it would hide the values
    context.strokeStyle = themed("--ink");
    context.lineWidth = 1.25;
    context.setLineDash([2, 2]);
    context.beginPath();
    this.live.forEach((value, at) => {
      if (x(at + 1) < LEFT || x(at) > width) return;
      context.lineTo(Math.max(LEFT, x(at)), y(value, height));
      context.lineTo(Math.max(LEFT, x(at + 1)), y(value, height));
    });
    context.stroke();
    context.setLineDash([]);
    context.lineWidth = 1;
  }

  private axis({ context, width, height, x }: Drawing, arena: Arena): void {
    context.textAlign = "center";
    context.fillStyle = themed("--quiet");
    const scale = x(1) - x(0);
    const first = Math.max(0, (LEFT - x(0)) / scale), last = Math.min(arena.positions.length, (width - x(0)) / scale);
    for (const tick of ticks(first, last, width / 90)) if (Number.isInteger(tick)) context.fillText(`op ${tick}`, x(tick), height - 10);
  }
}
