// A canvas with a horizontal axis that zooms and pans: with the wheel, by dragging and pinching,
// and with w, s, a, d as in Chrome's trace viewer. What is drawn and hit is up to the caller.

import { h } from "./dom";

export interface Drawing {
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
  /** From the axis to pixels. */
  x: (value: number) => number;
}

export interface Scene {
  /** The extent of the axis. */
  extent: [number, number];
  draw: (drawing: Drawing) => void;
  hit: (x: number, y: number, drawing: Drawing) => { text: string[]; steps: number[] } | null;
  onhover: (steps: number[]) => void;
  onclick: (steps: number[]) => void;
}

export const LEFT = 64;
const RIGHT = 10;

export class Plot {
  readonly element: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly tip = h("div", { class: "tip", hidden: true });
  private range: [number, number];
  private readonly pointers = new Map<number, number>();
  private moved = 0;
  private waiting = false;

  constructor(label: string, height: number, private scene: Scene) {
    this.range = [...scene.extent];
    this.canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": label });
    this.canvas.style.height = `${height}px`;
    this.element = h("div", { class: "plot" }, this.canvas, this.tip,
      h("div", { class: "zoom" },
        h("button", { title: "Zoom in (w)", "aria-label": "Zoom in", onclick: () => this.zoom(0.5, this.width() / 2) }, "+"),
        h("button", { title: "Zoom out (s)", "aria-label": "Zoom out", onclick: () => this.zoom(2, this.width() / 2) }, "−"),
        h("button", { title: "Show all (0)", onclick: () => this.fit() }, "all")));
    const on = <E extends Event>(name: string, handle: (event: E) => void, passive = true) => this.canvas.addEventListener(name, handle as EventListener, { passive });
    on<WheelEvent>("wheel", (event) => this.wheel(event), false);
    on<PointerEvent>("pointerdown", (event) => this.down(event));
    on<PointerEvent>("pointermove", (event) => this.move(event));
    on<PointerEvent>("pointerup", (event) => this.up(event));
    on<PointerEvent>("pointercancel", (event) => this.pointers.delete(event.pointerId));
    on<PointerEvent>("pointerleave", () => { this.tip.hidden = true; scene.onhover([]); });
    on<MouseEvent>("dblclick", () => this.fit());
    on<KeyboardEvent>("keydown", (event) => this.key(event), false);
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  show(scene: Scene): void { this.scene = scene; this.fit(); }

  redraw(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  /** Make an interval of the axis visible. */
  reveal(from: number, to: number): void {
    const [first, last] = this.range;
    const wide = to - from > (last - first) * 0.002;
    if (from >= first && to <= last && wide) return;
    const span = Math.min(this.span(), Math.max((to - from) * 40, wide ? last - first : 0));
    const middle = (from + to) / 2;
    this.setRange(middle - span / 2, middle + span / 2);
  }

  private fit(): void { this.setRange(...this.scene.extent); }
  private span(): number { return this.scene.extent[1] - this.scene.extent[0]; }
  private width(): number { return this.canvas.clientWidth; }

  private drawing(): Drawing {
    const context = this.canvas.getContext("2d")!;
    const [first, last] = this.range;
    const scale = (this.width() - LEFT - RIGHT) / (last - first || 1);
    return { context, width: this.width(), height: this.canvas.clientHeight, x: (value) => LEFT + (value - first) * scale };
  }

  private paint(): void {
    const { clientWidth, clientHeight } = this.canvas;
    if (!clientWidth) return;
    const ratio = devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(clientWidth * ratio) || this.canvas.height !== Math.round(clientHeight * ratio)) {
      this.canvas.width = Math.round(clientWidth * ratio);
      this.canvas.height = Math.round(clientHeight * ratio);
    }
    const drawing = this.drawing();
    drawing.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    drawing.context.clearRect(0, 0, clientWidth, clientHeight);
    this.scene.draw(drawing);
  }

  private setRange(first: number, last: number): void {
    const [low, high] = this.scene.extent;
    const span = Math.min(high - low, Math.max((high - low) / 1e6, last - first));
    const start = Math.min(high - span, Math.max(low, first));
    this.range = [start, start + span];
    this.redraw();
  }

  private zoom(factor: number, pixel: number): void {
    const [first, last] = this.range;
    const at = first + ((pixel - LEFT) / (this.width() - LEFT - RIGHT)) * (last - first);
    this.setRange(at - (at - first) * factor, at + (last - at) * factor);
  }

  private pan(pixels: number): void {
    const [first, last] = this.range;
    const by = (pixels / (this.width() - LEFT - RIGHT)) * (last - first);
    this.setRange(first + by, first + by + (last - first));
  }

  private wheel(event: WheelEvent): void {
    if (event.ctrlKey || event.metaKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX);
      else this.zoom(Math.exp(event.deltaY / 100), event.offsetX);
      return;
    }
    const zoomed = this.range[1] - this.range[0] < this.span();
    if (document.activeElement !== this.canvas && !zoomed) return; // the page scrolls
    event.preventDefault();
    this.zoom(Math.exp(event.deltaY / 300), event.offsetX);
  }

  private down(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, event.offsetX);
    this.moved = 0;
  }

  private move(event: PointerEvent): void {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) { this.point(event); return; }
    const others = [...this.pointers].filter(([id]) => id !== event.pointerId);
    if (others.length) {
      const other = others[0][1];
      const factor = Math.abs(before - other) / Math.max(8, Math.abs(event.offsetX - other));
      this.zoom(factor, (event.offsetX + other) / 2);
    } else this.pan(before - event.offsetX);
    this.moved += Math.abs(event.offsetX - before);
    this.pointers.set(event.pointerId, event.offsetX);
  }

  private up(event: PointerEvent): void {
    this.pointers.delete(event.pointerId);
    if (this.moved > 4) return;
    const found = this.scene.hit(event.offsetX, event.offsetY, this.drawing());
    this.point(event);
    if (found) this.scene.onclick(found.steps);
  }

  private point(event: PointerEvent): void {
    const found = this.scene.hit(event.offsetX, event.offsetY, this.drawing());
    this.tip.hidden = !found;
    this.canvas.style.cursor = found ? "pointer" : "grab";
    this.scene.onhover(found?.steps ?? []);
    if (!found) return;
    this.tip.replaceChildren(...found.text.map((line, k) => h(k ? "div" : "b", {}, line)));
    const { offsetWidth } = this.tip;
    this.tip.style.left = `${Math.max(0, Math.min(event.offsetX + 12, this.width() - offsetWidth - 4))}px`;
    this.tip.style.top = `${event.offsetY + 16}px`;
  }

  private key(event: KeyboardEvent): void {
    const middle = this.width() / 2;
    const actions: Record<string, () => void> = {
      w: () => this.zoom(0.6, middle), s: () => this.zoom(1.7, middle), "+": () => this.zoom(0.6, middle), "-": () => this.zoom(1.7, middle),
      a: () => this.pan(-120), d: () => this.pan(120), ArrowLeft: () => this.pan(-120), ArrowRight: () => this.pan(120), "0": () => this.fit(),
    };
    if (!(event.key in actions) || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    actions[event.key]();
  }
}

/** Round values that divide an interval into at most `most` parts. */
export function ticks(first: number, last: number, most: number): number[] {
  const raw = (last - first) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw) ?? power;
  const found: number[] = [];
  for (let value = Math.ceil(first / step) * step; value <= last; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}
