// Compile time by step, recompilations with the guard that failed, passes with their reasons, and
// choices by size.

import type { App } from "./main";
import type { Pass } from "./data";
import { h } from "./dom";
import { ms, percent } from "./format";

export function compileView(app: App): HTMLElement {
  const { doc } = app.model;
  return h("div", { class: "view compile" },
    h("section", {}, h("h2", {}, "Compile time"), times(app)),
    h("section", {}, h("h2", {}, "Recompiles"), doc.recompiles.length
      ? h("ol", { class: "guards" }, doc.recompiles.map((each) => h("li", {}, h("b", {}, each.guard), each.new && h("span", {}, ": was ", h("code", {}, each.old), ", now ", h("code", {}, each.new)), h("p", { class: "quiet" }, each.hint))))
      : h("p", { class: "quiet" }, "None: no guard failed during these calls.")),
    doc.choices.length > 0 && h("section", {}, h("h2", {}, "Choices by size"), doc.choices.map((choice) => h("details", {},
      h("summary", {}, h("b", {}, choice.name), ` ${choice.candidates.join(", ")} `, h("span", { class: "quiet" }, choice.setting)),
      h("ul", {}, [...choice.served, ...choice.times].map((text) => h("li", {}, text)))))),
    h("section", {}, h("h2", {}, "Passes"), doc.graphs.map((graph, k) => h("details", { open: k === 0 }, h("summary", {}, graph.name, h("span", { class: "quiet" }, ` ${graph.passes.length} passes`)), passes(graph.passes)))));
}

function times(app: App): HTMLElement {
  const { summary, graphs } = app.model.doc;
  const steps = new Map<string, number>();
  for (const graph of graphs) for (const [name, value] of Object.entries(graph.times)) steps.set(name, (steps.get(name) ?? 0) + value);
  const rows: [string, number, string][] = [["Dynamo", summary.dynamo_ms, "and all that is not counted below"], ["AOTAutograd", summary.autograd_ms, "decompositions included"], ...[...steps].map(([name, value]) => [name, value, "ingot"] as [string, number, string])];
  const most = Math.max(...rows.map(([, value]) => value), 1e-9);
  return h("div", { class: "scroll" }, h("table", { class: "bars" }, h("tbody", {}, rows.map(([name, value, by]) => h("tr", {},
    h("td", {}, name, " ", h("span", { class: "quiet" }, by)), h("td", { class: "num" }, ms(value)), h("td", { class: "num quiet" }, percent(value, summary.compile_ms)),
    h("td", { class: "track" }, h("span", { style: { width: `${(100 * value) / most}%` } })))))));
}

function passes(entries: Pass[]): HTMLElement {
  return h("div", { class: "passes" }, entries.map((entry) => {
    const head = [h("span", { class: "quiet" }, entry.stage), " ", h("b", {}, entry.name), h("span", { class: "quiet" }, ` ${ms(entry.ms)}${entry.before || entry.after ? `, ${entry.before} → ${entry.after}` : ""}`)];
    return entry.notes.length ? h("details", {}, h("summary", {}, head, h("span", { class: "badge" }, entry.notes.length)), h("ul", {}, entry.notes.map((note) => h("li", {}, note)))) : h("div", { class: "pass" }, head);
  }));
}
