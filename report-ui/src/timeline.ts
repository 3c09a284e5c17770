// One call as a timeline: steps end to end, and the bandwidth and arithmetic of each against the
// measured roofs.

import type { App } from "./main";
import { h, replace, themed } from "./dom";
import { bytes, ms, percent, rate } from "./format";
import { KINDS, type StepRef } from "./model";
import { LEFT, Plot, ticks, type Drawing } from "./plot";
import { stepCard } from "./step_card";
import type { State } from "./store";

const RULER = 24, BARS = 54, LANE = 88, GAP = 14;
const HEIGHT = RULER + BARS + 2 * (LANE + GAP) + 8;

export class Timeline {
  readonly element: HTMLElement;
  private readonly plot: Plot;
  private readonly card = h("div", { class: "inspector" });
  private readonly timed: StepRef[];
  private readonly end: number;
  private colours: Record<string, string> = {};

  constructor(private readonly app: App) {
    const { model, store } = app;
    this.timed = model.steps.filter((step) => step.ms > 0);
    this.end = model.callMs || 1;
    this.plot = new Plot("Timeline of one call", HEIGHT, {
      extent: [0, this.end],
      draw: (drawing) => this.draw(drawing),
      hit: (x, _, drawing) => this.hit(x, drawing),
      onhover: (steps) => store.hover(steps),
      onclick: (steps) => { if (steps.length) app.selectStep(steps[0]); },
    });
    this.element = h("div", { class: "view timeline", "data-bars": this.timed.length },
      h("p", { class: "hint" }, "Steps in their order, end to end; the least time of each in several calls. ",
        h("span", { class: "wide" }, h("kbd", {}, "w"), h("kbd", {}, "s"), " zoom, ", h("kbd", {}, "a"), h("kbd", {}, "d"), " move, or drag and ", h("kbd", {}, "ctrl"), " + wheel.")),
      this.plot.element, this.legend(), this.card);
  }

  show(state: State): void { this.update(state, new Set(["step"])); }

  update(state: State, changed: Set<string>): void {
    if (changed.has("step") || changed.has("selected")) replace(this.card, stepCard(this.app, state.step));
    if (changed.has("step")) {
      const step = this.app.model.step(state.step);
      const shown = step && this.app.model.steps[step.owner];
      if (shown?.ms) this.plot.reveal(shown.start, shown.start + shown.ms);
    }
    this.plot.redraw();
  }

  private legend(): HTMLElement {
    return h("ul", { class: "legend" }, this.app.model.msByKind().map(([kind]) => h("li", { "data-kind": kind }, KINDS[kind] ?? kind)),
      h("li", { "data-kind": "outside" }, "outside of the steps"));
  }

  private hit(x: number, drawing: Drawing) {
    const step = this.at(x, drawing);
    if (!step) {
      const outside = x > drawing.x(this.app.model.stepsMs) && x < drawing.x(this.end);
      return outside ? { text: ["Outside of the steps", ms(this.end - this.app.model.stepsMs), "guards of Dynamo, Python, allocation"], steps: [] } : null;
    }
    const { model } = this.app;
    const roof = model.ofRoof(step);
    return {
      text: [
        step.ops.join(", ") || step.name,
        `${ms(step.ms)}, ${percent(step.ms, this.end)} of the call`,
        `${bytes(step.bytes)}, ${rate(model.gbPerS(step), "GB/s")}, ${rate(model.gflopPerS(step), "GFLOP/s")}`,
        ...(roof === null ? [] : [`${percent(roof, 1)} of the roofline`]),
      ],
      steps: [step.id],
    };
  }

  /** The step at a pixel; narrow steps are hit within two pixels. */
  private at(pixel: number, { x }: Drawing): StepRef | undefined {
    let low = 0, high = this.timed.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x(this.timed[middle].start) <= pixel) low = middle + 1; else high = middle;
    }
    const near = this.timed.slice(Math.max(0, low - 1), low + 1);
    return near.find((step) => x(step.start) - 1 <= pixel && pixel <= x(step.start + step.ms) + 1);
  }

  private draw(drawing: Drawing): void {
    const { model, store } = this.app;
    for (const kind of [...Object.keys(KINDS), "outside"]) this.colours[kind] = themed(`--${kind}`);
    this.ruler(drawing);
    this.bars(drawing);
    const roof = model.doc.roofline;
    const top = RULER + BARS + GAP;
    this.lane(drawing, top, "GB/s", (step) => model.gbPerS(step), roof?.gb_per_s ?? null);
    this.lane(drawing, top + LANE + GAP, "GFLOP/s", (step) => model.gflopPerS(step), roof?.gflop_per_s ?? null);
    this.outline(drawing, store.state.hovered, themed("--ink"), 1);
    this.outline(drawing, store.state.selected, themed("--accent"), 2);
  }

  private ruler({ context, width, height, x }: Drawing): void {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    const scale = (x(this.end) - x(0)) / this.end;
    const first = Math.max(0, (LEFT - x(0)) / scale), last = Math.min(this.end, (width - x(0)) / scale);
    for (const tick of ticks(first, last, width / 110)) {
      context.fillStyle = themed("--line");
      context.fillRect(Math.round(x(tick)), RULER - 6, 1, height - RULER);
      context.fillStyle = themed("--quiet");
      context.fillText(ms(tick), x(tick), 9);
    }
  }

  private bars({ context, x, width }: Drawing): void {
    context.textAlign = "left";
    let drawnTo = -1;
    const bar = (start: number, length: number, kind: string, text: string) => {
      const left = Math.max(LEFT, x(start)), right = Math.min(width, x(start + length));
      if (right < LEFT || left > width || (right <= drawnTo + 0.3 && right - left < 0.5)) return;
      drawnTo = right;
      context.fillStyle = this.colours[kind] || this.colours.outside;
      context.fillRect(left, RULER, Math.max(0.6, right - left - (right - left > 3 ? 1 : 0)), BARS);
      if (right - left < 34) return;
      context.fillStyle = themed("--on-bar");
      context.fillText(fitted(context, text, right - left - 9), left + 5, RULER + BARS / 2);
    };
    for (const step of this.timed) bar(step.start, step.ms, step.kind, step.ops.join(", ") || step.name);
    if (this.end > this.app.model.stepsMs) bar(this.app.model.stepsMs, this.end - this.app.model.stepsMs, "outside", "outside of the steps");
  }

  private lane({ context, x, width }: Drawing, top: number, unit: string, value: (step: StepRef) => number | null, roof: number | null): void {
    const most = Math.max(1e-9, (roof ?? 0) * 1.15, ...this.timed.map((step) => Math.min(value(step) ?? 0, roof ? roof * 4 : Infinity)));
    const bottom = top + LANE;
    context.textAlign = "right";
    context.fillStyle = themed("--quiet");
    context.fillText(unit, LEFT - 8, top + 8);
    context.fillText("0", LEFT - 8, bottom - 6);
    context.fillStyle = themed("--line");
    context.fillRect(LEFT, bottom, width - LEFT, 1);
    context.globalAlpha = 0.85;
    for (const step of this.timed) {
      const speed = value(step);
      const left = Math.max(LEFT, x(step.start)), right = Math.min(width, x(step.start + step.ms));
      if (speed === null || right < LEFT || left > width) continue;
      const height = Math.min(1, speed / most) * LANE;
      context.fillStyle = this.colours[step.kind] || this.colours.outside;
      context.fillRect(left, bottom - height, Math.max(0.6, right - left - (right - left > 3 ? 1 : 0)), height);
    }
    context.globalAlpha = 1;
    if (roof === null) return;
    const y = Math.round(bottom - (roof / most) * LANE) + 0.5;
    context.strokeStyle = themed("--accent");
    context.setLineDash([4, 3]);
    context.beginPath();
    context.moveTo(LEFT, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = themed("--accent");
    context.fillText(rate(roof, "").trim(), LEFT - 8, Math.max(y, top + 22));
  }

  private outline({ context, x, width }: Drawing, steps: Set<number>, colour: string, thick: number): void {
    context.strokeStyle = colour;
    context.lineWidth = thick;
    for (const id of steps) {
      const step = this.app.model.steps[this.app.model.steps[id].owner];
      const left = x(step.start), right = x(step.start + step.ms);
      if (!step.ms || right < LEFT || left > width) continue;
      context.strokeRect(Math.max(LEFT, left), RULER - 1, Math.max(2, right - Math.max(LEFT, left) - 1), BARS + 2);
    }
    context.lineWidth = 1;
  }
}

/** As much of a text as fits; nothing if that is less than three characters. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  const whole = context.measureText(text).width;
  if (whole <= width) return text;
  const fit = Math.floor((text.length * width) / whole) - 1;
  return fit >= 3 ? `${text.slice(0, fit)}…` : "";
}
