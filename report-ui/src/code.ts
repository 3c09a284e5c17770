// Source, stages and machine code side by side, linked by steps.

import type { App } from "./main";
import type { Mark } from "./data";
import { h, replace } from "./dom";
import { count, percent } from "./format";
import { assembly, mlir, plan, python } from "./highlight";
import { STAGES, type Stage } from "./model";
import type { State } from "./store";
import { stepCard } from "./step_card";
import { TextView, type Content } from "./text_view";

const STAGE_NAMES: Record<Stage, string> = { program: "Program", regions: "Regions", plan: "Plan", python: "Python" };

export class CodeView {
  readonly element: HTMLElement;
  private readonly source = new TextView("Source");
  private readonly stage = new TextView("Stage of the compiler");
  private readonly machine = new TextView("Machine code");
  private readonly heads = { source: h("div", { class: "head" }), stage: h("div", { class: "head" }), machine: h("div", { class: "head" }) };
  private readonly card = h("div", { class: "inspector" });
  private readonly switcher = h("div", { class: "switcher", role: "tablist" });
  private file = 0;
  private shown: Stage = "program";
  private listing: "mlir" | "assembly" = "mlir";
  private kernel = -1;
  private graph = -1;
  private opened = false;

  constructor(private readonly app: App) {
    const pane = (name: "source" | "stage" | "machine") => h("section", { class: "pane", "data-pane": name }, this.heads[name], this[name].element);
    this.element = h("div", { class: "view code", "data-pane": "source" }, this.switcher, h("div", { class: "panes" }, pane("source"), pane("stage"), pane("machine")), this.card);
    this.drawSwitcher();
  }

  /** Called when the view becomes visible. */
  show(state: State): void {
    if (!this.opened) {
      this.opened = true;
      this.kernel = state.kernel >= 0 ? state.kernel : this.app.model.doc.kernels.length ? 0 : -1;
      this.showSource();
      this.showMachine();
    }
    this.update(state, new Set(["step", "selected", "line", "kernel", "graph"]));
  }

  update(state: State, changed: Set<string>): void {
    if (!this.opened) return;
    const { model } = this.app;
    const graph = state.step >= 0 ? model.steps[state.step].graph : state.graph;
    if (graph !== this.graph) { this.graph = graph; this.showStage(); }
    if (changed.has("kernel") || changed.has("step")) this.followKernel(state);
    if (changed.has("line") || changed.has("step")) this.followSource(state);
    for (const text of [this.source, this.stage]) text.mark(state.selected, state.hovered);
    if (changed.has("step") && state.step >= 0) this.stage.revealStep(state.step);
    if (changed.has("step") || changed.has("selected")) replace(this.card, stepCard(this.app, state.step));
    const related = new Set([...state.hovered].flatMap((step) => model.kernelsOf(step)));
    this.machine.element.parentElement?.classList.toggle("related", related.has(this.kernel));
  }

  private followKernel(state: State): void {
    const { model } = this.app;
    const own = state.step >= 0 ? model.kernelsOf(state.step) : [];
    const wanted = state.kernel >= 0 ? state.kernel : own.includes(this.kernel) ? this.kernel : own[0] ?? (state.step >= 0 ? -1 : this.kernel);
    if (wanted !== this.kernel) { this.kernel = wanted; this.showMachine(); } else this.drawMachineHead();
  }

  private followSource(state: State): void {
    const { model } = this.app;
    const line = state.line ?? (state.step >= 0 ? model.linesOfStep(state.step)[0] : undefined);
    if (!line) return;
    if (line[0] !== this.file) { this.file = line[0]; this.showSource(); }
    this.source.reveal(line[1] - 1);
  }

  // -- the three texts ---------------------------------------------------------------------------

  private showSource(): void {
    const { model, store } = this.app;
    const { sources } = model.doc;
    replace(this.heads.source, h("b", {}, "Source"), select(sources.map((source) => source.name), this.file, (k) => { this.file = k; this.showSource(); }));
    const lines = model.sourceLines[this.file] ?? ["no source lines are known"];
    const most = Math.max(1e-9, ...model.lineMs.values());
    this.source.show({
      lines,
      highlight: python(lines),
      steps: (line) => model.stepsOfLine([this.file, line + 1]),
      kind: (line) => this.kindOf(model.stepsOfLine([this.file, line + 1])),
      heat: (line) => { const ms = model.msOfLine([this.file, line + 1]); return ms ? [ms / most, percent(ms, model.callMs)] : null; },
      onhover: (_, steps) => store.hover(steps),
      onclick: (line, steps) => this.app.selectLine([this.file, line + 1], steps),
    });
  }

  private showStage(): void {
    const { model, store } = this.app;
    const graphs = model.doc.graphs;
    const named = STAGES.filter((stage) => graphs[this.graph]?.[stage].text);
    if (!named.includes(this.shown)) this.shown = named[0] ?? "program";
    replace(
      this.heads.stage,
      tabs(named.map((stage) => [stage, STAGE_NAMES[stage]]), this.shown, (stage) => { this.shown = stage; this.showStage(); }),
      graphs.length > 1 && select(graphs.map((graph) => graph.name), this.graph, (k) => this.app.go({ graph: k, step: -1 })),
    );
    const text = graphs[this.graph]?.[this.shown] ?? { text: "nothing was compiled", marks: [] };
    const lines = text.text.split("\n");
    const steps = stepsByLine(text.marks, lines.length, model.offsets[this.graph] ?? 0);
    const content: Content = {
      lines,
      highlight: this.shown === "python" ? python(lines) : plan,
      steps: (line) => steps[line] ?? [],
      kind: (line) => this.kindOf(steps[line] ?? []),
      onhover: (_, found) => store.hover(found.slice(-1)),
      onclick: (_, found) => { if (found.length) this.app.selectStep(found[found.length - 1]); },
    };
    this.stage.show(content);
    this.stage.mark(store.state.selected, store.state.hovered);
    if (store.state.step >= 0) this.stage.revealStep(store.state.step);
  }

  private showMachine(): void {
    const { model } = this.app;
    const kernel = model.doc.kernels[this.kernel];
    this.drawMachineHead();
    const steps = model.stepsOfKernel(this.kernel);
    const text = kernel ? kernel[this.listing] || kernel.note || "no listing" : "The selected step has no kernel of its own.";
    this.machine.show({
      lines: text.split("\n"),
      highlight: this.listing === "mlir" ? mlir : assembly,
      onhover: (line) => this.app.store.hover(line < 0 ? [] : steps),
      onclick: () => this.app.selectSteps(steps),
    });
  }

  private drawMachineHead(): void {
    const { model, store } = this.app;
    const { kernels } = model.doc;
    const own = store.state.step >= 0 ? model.kernelsOf(store.state.step) : [];
    const order = [...own, ...kernels.keys()].filter((k, at, all) => all.indexOf(k) === at);
    const names = order.map((k) => `${own.includes(k) ? "● " : ""}${kernels[k].name}`);
    if (this.kernel < 0) { order.unshift(-1); names.unshift("all kernels"); }
    replace(
      this.heads.machine,
      tabs([["mlir", "MLIR"], ["assembly", "Assembly"]], this.listing, (listing) => { this.listing = listing; this.showMachine(); }),
      kernels.length > 0 && select(names, order.indexOf(this.kernel), (k) => { if (order[k] >= 0) this.chooseKernel(order[k]); }),
      this.kernel >= 0 && h("button", { class: "link users", onclick: () => this.app.selectSteps(model.stepsOfKernel(this.kernel)) }, count(model.stepsOfKernel(this.kernel).length, "step")),
    );
  }

  private chooseKernel(kernel: number): void {
    this.kernel = kernel;
    this.showMachine();
    const steps = this.app.model.stepsOfKernel(kernel);
    if (steps.length && !steps.includes(this.app.store.state.step)) this.app.go({ step: steps[0], kernel });
  }

  private kindOf(steps: number[]): string {
    const { model } = this.app;
    const most = steps.reduce<number>((best, step) => (best < 0 || model.steps[step].ms > model.steps[best].ms ? step : best), -1);
    return most < 0 ? "" : model.steps[most].kind;
  }

  private drawSwitcher(): void {
    const names = [["source", "Source"], ["stage", "Stages"], ["machine", "Kernel"]] as const;
    const current = this.element?.dataset.pane ?? "source";
    replace(this.switcher, names.map(([pane, name]) =>
      h("button", { role: "tab", "aria-selected": pane === current, onclick: () => { this.element.dataset.pane = pane; this.drawSwitcher(); } }, name)));
  }
}

function stepsByLine(marks: Mark[], count: number, offset: number): number[][] {
  const found: number[][] = new Array(count);
  for (const [first, last, step] of marks) for (let line = first; line <= last; line++) (found[line] ??= []).push(offset + step);
  return found;
}

function tabs<T extends string>(names: (readonly [T, string])[], current: T, choose: (name: T) => void): HTMLElement {
  return h("div", { class: "tabs", role: "tablist" }, names.map(([name, text]) =>
    h("button", { role: "tab", "aria-selected": name === current, onclick: () => choose(name) }, text)));
}

function select(names: string[], current: number, choose: (index: number) => void): HTMLElement {
  const element = h("select", { onchange: () => choose(element.selectedIndex) }, names.map((name, k) => h("option", { selected: k === current }, name)));
  element.selectedIndex = current;
  return element;
}
