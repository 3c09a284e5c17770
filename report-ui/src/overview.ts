// The first page: speed, where the time goes, what PyTorch runs and why, the roofline.

import type { App } from "./main";
import { h } from "./dom";
import { bytes, count, ms, percent, rate } from "./format";
import { KINDS, type StepRef } from "./model";
import { rooflineChart } from "./roofline";
import { chip } from "./step_card";

const MOST_ROWS = 15;

export function overview(app: App): HTMLElement {
  return h(
    "div",
    { class: "view overview" },
    tiles(app),
    troubles(app),
    h("div", { class: "columns" },
      h("section", {}, h("h2", {}, "Where the time goes"), shares(app), hottest(app)),
      h("section", {}, h("h2", {}, "Against the roofline"), rooflineChart(app))),
    leftToPyTorch(app),
    remarks(app),
  );
}

function tiles(app: App): HTMLElement {
  const { summary, graphs, kernels } = app.model.doc;
  const { model } = app;
  const native = model.steps.filter((step) => step.within < 0 && ["kernel", "native", "control"].includes(step.kind));
  const left = model.countByKind("fallback");
  const speed = summary.eager_ms ? summary.eager_ms / summary.run_ms : null;
  const arena = graphs.reduce((sum, graph) => sum + (graph.arena?.bytes ?? 0), 0);
  return h("div", { class: "tiles" }, [
    tile("one call", ms(summary.run_ms), speed === null ? "" : `${speed.toFixed(2)}× as fast as eager, ${ms(summary.eager_ms ?? 0)}`, "timeline"),
    tile("native steps", native.length.toLocaleString("en"), `${count(kernels.filter((k) => k.family !== "function").length, "kernel")} in ${count(graphs.length, "graph")}`, "code"),
    tile("left to PyTorch", String(left), `${count(model.countByKind("library"), "library call")}, ${count(model.countByKind("host"), "eager step")}`, "", left ? "warn" : "good"),
    tile("compile time", ms(summary.compile_ms), `ingot ${ms(summary.compile_ms - summary.dynamo_ms - summary.autograd_ms)}`, "compile"),
    tile("recompiles", String(model.doc.recompiles.length), count(summary.graph_breaks.length, "graph break"), "compile", model.doc.recompiles.length ? "warn" : "good"),
    tile("arena", bytes(arena), "memory of intermediate values", "memory"),
  ]);

  function tile(name: string, value: string, detail: string, view: string, mood = ""): HTMLElement {
    const inside = [h("span", { class: "name" }, name), h("strong", {}, value), h("span", { class: "detail" }, detail)];
    return view ? h("button", { class: `tile ${mood}`, onclick: () => app.go({ view }) }, inside) : h("div", { class: `tile ${mood}` }, inside);
  }
}

function troubles(app: App): HTMLElement | null {
  const { failures, graph_breaks, uncaptured } = app.model.doc.summary;
  const rows: [string, string][] = [
    ...failures.map((text) => ["Failure", text] as [string, string]),
    ...graph_breaks.map((text) => ["Graph break", text] as [string, string]),
    ...uncaptured.map((text) => ["Left to Python", text] as [string, string]),
  ];
  if (!rows.length) return null;
  return h("section", { class: "troubles" }, rows.map(([kind, text]) => {
    const [first, ...rest] = text.trim().split("\n");
    return h("details", {}, h("summary", {}, h("b", {}, kind), " ", first), h("pre", {}, rest.join("\n")));
  }));
}

function shares(app: App): HTMLElement {
  const { model } = app;
  const parts = model.msByKind();
  const outside = model.doc.summary.outside_ms;
  const all: [string, string, number][] = [...parts.map(([kind, value]) => [kind, KINDS[kind] ?? kind, value] as [string, string, number]), ["outside", "outside of the steps", outside]];
  const total = all.reduce((sum, [, , value]) => sum + value, 0) || 1;
  return h("div", { class: "shares" },
    h("div", { class: "bar", role: "img", "aria-label": "Share of each kind of step" }, all.map(([kind, name, value]) =>
      h("span", { "data-kind": kind, title: `${name}: ${ms(value)}`, style: { flexGrow: String(value / total) } }))),
    h("ul", { class: "legend" }, all.map(([kind, name, value]) =>
      h("li", { "data-kind": kind }, name, " ", h("b", {}, ms(value)), " ", h("span", { class: "quiet" }, percent(value, total))))));
}

function hottest(app: App): HTMLElement {
  const { model } = app;
  const rows = model.groups().slice(0, MOST_ROWS);
  const most = rows[0]?.ms || 1;
  return h("div", { class: "scroll" }, h("table", { class: "hottest" },
    h("thead", {}, h("tr", {}, ["Step", "times", "ms", "GB/s", "GFLOP/s", "of roof"].map((name, k) => h("th", { class: k ? "num" : "" }, name)))),
    h("tbody", {}, rows.map((group) => {
      const step = group.steps.reduce((a, b) => (b.ms > a.ms ? b : a));
      return h("tr", { tabindex: 0, "data-step": step.id, onclick: () => app.go({ view: "code", step: step.id }), onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") app.go({ view: "code", step: step.id }); } },
        h("td", {}, h("span", { class: "dot", "data-kind": group.kind, title: KINDS[group.kind] }), group.title, step.domain && h("span", { class: "quiet" }, ` ${step.domain}`)),
        h("td", { class: "num" }, group.steps.length),
        h("td", { class: "num heated", vars: { "--heat": String(group.ms / most) } }, group.ms ? group.ms.toPrecision(3) : "not run"),
        h("td", { class: "num" }, mean(group.steps, (each) => each.bytes)),
        h("td", { class: "num" }, mean(group.steps, (each) => each.flops)),
        h("td", { class: "num" }, percentOf(model.ofRoof(step))));
    }))));
}

function mean(steps: StepRef[], work: (step: StepRef) => number | null): string {
  const time = steps.reduce((sum, step) => sum + step.ms, 0);
  const total = steps.reduce((sum, step) => sum + (work(step) ?? 0), 0);
  return time && total ? rate(total / time / 1e6, "").trim() : "–";
}

function percentOf(share: number | null): string { return share === null ? "–" : percent(share, 1); }

function leftToPyTorch(app: App): HTMLElement {
  const { model } = app;
  const rows = model.steps.filter((step) => ["fallback", "library", "host"].includes(step.kind)).sort((a, b) => b.ms - a.ms);
  if (!rows.length) return h("section", {}, h("h2", {}, "Left to PyTorch"), h("p", { class: "quiet" }, "Nothing: every operation has native code."));
  const shown = rows.slice(0, 40);
  return h("section", { class: "left" }, h("h2", {}, "Left to PyTorch, and why"),
    h("div", { class: "scroll" }, h("table", {}, h("tbody", {}, shown.map((step) => {
      const line = model.linesOfStep(step.id)[0];
      return h("tr", { tabindex: 0, onclick: () => app.go({ view: "code", step: step.id }) },
        h("td", {}, chip(step.kind)), h("td", {}, h("code", {}, step.ops.join(", ") || step.name)), h("td", {}, step.reason),
        h("td", { class: "quiet" }, line ? `${model.doc.sources[line[0]].name}:${line[1]}` : ""), h("td", { class: "num" }, step.ms ? ms(step.ms) : "not run"));
    })))),
    rows.length > shown.length && h("p", { class: "quiet" }, `and ${rows.length - shown.length} more`));
}

function remarks(app: App): HTMLElement {
  const { host, summary, roofline } = app.model.doc;
  return h("footer", { class: "remarks" },
    h("ul", {}, summary.notes.map((note) => h("li", {}, note))),
    h("p", { class: "quiet" },
      `ingot ${host.ingot}, PyTorch ${host.torch}, ${host.cpu || "unknown CPU"}, ${count(host.threads, "thread")}, ${host.vector_bits}-bit vectors. `,
      roofline && `Measured roofs: ${rate(roofline.gb_per_s, "GB/s")} from memory, ${rate(roofline.cache_gb_per_s, "GB/s")} from cache, ${rate(roofline.gflop_per_s, "GFLOP/s")}. `,
      "Each time is the least of several calls in which every step was timed."));
}
