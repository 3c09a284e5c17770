// Everything that is known about one step, with links to its lines, kernels and neighbours.

import type { App } from "./main";
import { h } from "./dom";
import { bytes, count, ms, percent, rate, short } from "./format";
import { KIND, type StepRef } from "./model";

const MOST_LINES = 4;
const MOST_OTHERS = 8;

export function stepCard(app: App, id: number): HTMLElement {
  const step = app.model.step(id);
  if (!step) return h("aside", { class: "card empty" }, "Select a line, a step or a node. ", h("kbd", {}, "/"), " searches, ", h("kbd", {}, "j"), " and ", h("kbd", {}, "k"), " walk through the steps.");
  return h(
    "aside",
    { class: "card", "data-step": id },
    h("header", {}, chip(step.kind), h("h3", {}, step.ops.join(", ") || step.name)),
    others(app, id),
    step.reason && h("p", { class: "reason" }, step.reason),
    facts(app, step),
    links(app, step),
  );
}

/** The other steps of a selected source line or kernel. */
function others(app: App, id: number): HTMLElement | null {
  const selected = [...app.store.state.selected].filter((each) => app.model.steps[each].kind !== "view").sort((a, b) => a - b);
  if (selected.length < 2) return null;
  const at = Math.max(0, selected.indexOf(id));
  const first = at - (at % MOST_OTHERS), last = first + MOST_OTHERS;
  const turn = (to: number, text: string, label: string) =>
    to in selected && h("button", { "aria-label": label, onclick: () => app.focus(selected[to]) }, text);
  return h("div", { class: "others" },
    h("span", { class: "quiet" }, `${count(selected.length, "step")} selected`),
    turn(first - 1, "‹", "Earlier steps"),
    selected.slice(first, last).map((each) => {
      const { kind, ops, name } = app.model.steps[each];
      return h("button", { "aria-pressed": each === id, onclick: () => app.focus(each) }, h("span", { class: "dot", "data-kind": kind }), short(ops.join(", ") || name, 24));
    }),
    turn(last, "›", "Later steps"));
}

export function chip(kind: string): HTMLElement {
  return h("span", { class: "chip", "data-kind": kind }, KIND[kind] ?? kind);
}

function facts(app: App, step: StepRef): HTMLElement {
  const { model } = app;
  const roof = model.ofRoof(step);
  const rows: [string, string][] = [];
  if (step.within >= 0) rows.push(["runs inside", model.steps[step.owner].ops.join(", ")]);
  else if (step.kind !== "view") {
    rows.push(["time", step.ms ? `${ms(step.ms)} (${percent(step.ms, model.callMs)} of the call)` : "did not run by itself"]);
    rows.push(["traffic", `${bytes(step.bytes)} at ${rate(model.gbPerS(step), "GB/s")}`]);
    if (step.flops) rows.push(["arithmetic", `${(step.flops / 1e6).toPrecision(3)} MFLOP at ${rate(model.gflopPerS(step), "GFLOP/s")}`]);
    if (roof !== null) rows.push(["of the roofline", percent(roof, 1)]);
  }
  if (step.domain) rows.push(["domain", step.domain]);
  if (step.modules.length) rows.push(["modules", step.modules.slice(0, MOST_LINES).join(", ")]);
  rows.push(["nodes", String(step.nodes.length)]);
  return h("dl", {}, rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function links(app: App, step: StepRef): HTMLElement {
  const { model } = app;
  const lines = model.linesOfStep(step.id);
  const kernels = model.kernelsOf(step.id).slice(0, 3);
  return h(
    "div",
    { class: "links" },
    lines.slice(0, MOST_LINES).map(([source, line]) =>
      h("button", { class: "link line", onclick: () => app.go({ step: step.id, line: [source, line], view: "code" }) },
        h("b", {}, `${model.doc.sources[source].name}:${line}`), " ", h("code", {}, (model.sourceLines[source][line - 1] ?? "").trim()))),
    lines.length > MOST_LINES && h("span", { class: "quiet" }, `and ${lines.length - MOST_LINES} more lines`),
    kernels.map((kernel) =>
      h("button", { class: "link", onclick: () => app.go({ step: step.id, kernel, view: "code" }) }, "kernel ", h("code", {}, model.doc.kernels[kernel].name))),
    h("button", { class: "link", onclick: () => app.go({ step: step.id, view: "graph" }) }, "show in the graph"),
    h("button", { class: "link", onclick: () => app.go({ step: step.id, view: "timeline" }) }, "show in the timeline"),
  );
}
