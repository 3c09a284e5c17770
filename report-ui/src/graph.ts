// The graph of the Program. Modules, and long runs of nodes without modules, are boxes until they
// are opened, so that at most a few hundred boxes are laid out at a time.

import { Graph as Layout, layout } from "@dagrejs/dagre";
import type { App } from "./main";
import type { Node } from "./data";
import { h, replace, s } from "./dom";
import { count, ms, short } from "./format";
import { stepCard } from "./step_card";
import type { State } from "./store";

const MOST_BOXES = 160;
const RUN = 40;

interface Group { path: string; label: string; parent: Group | null; groups: Group[]; nodes: number[]; total: number }

export class GraphView {
  readonly element: HTMLElement;
  private readonly svg = s("svg", { class: "graph", tabindex: 0, role: "img", "aria-label": "Graph of the model" }) as SVGSVGElement;
  private readonly scene = s("g");
  private readonly card = h("div", { class: "inspector" });
  private readonly head = h("div", { class: "head" });
  private nodes: Node[] = [];
  private roots = new Map<number, Group>();
  private opened = new Set<Group>();
  private groupOf: Group[] = [];
  private graph = -1;
  private transform = { x: 0, y: 0, k: 1 };
  private size = { width: 1, height: 1 };
  private boxes = new Map<string, { x: number; y: number; element: SVGElement; steps: number[] }>();
  private focus = -1;

  constructor(private readonly app: App) {
    this.svg.append(s("defs", {}, s("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0,0 L8,4 L0,8 z", class: "arrow" }))), this.scene);
    this.element = h("div", { class: "view graphview" }, this.head, h("div", { class: "canvas" }, this.svg), this.card);
    this.listen();
  }

  show(state: State): void {
    const graph = state.step >= 0 ? this.app.model.steps[state.step].graph : state.graph;
    if (graph !== this.graph) this.open(graph);
    this.update(state, new Set(["step"]));
  }

  update(state: State, changed: Set<string>): void {
    const graph = state.step >= 0 ? this.app.model.steps[state.step].graph : state.graph;
    if (graph !== this.graph) this.open(graph);
    if (changed.has("step") || changed.has("selected")) replace(this.card, stepCard(this.app, state.step));
    if (changed.has("step")) {
      const step = this.app.model.step(state.step);
      if (step && (this.focus < 0 || this.nodes[this.focus].step !== step.index)) this.reveal(step.nodes[0] ?? -1);
    }
    for (const box of this.boxes.values()) {
      box.element.classList.toggle("selected", box.steps.some((step) => state.selected.has(step)));
      box.element.classList.toggle("hovered", box.steps.some((step) => state.hovered.has(step)));
    }
  }

  /** Open the boxes around a node and bring it to the middle. */
  reveal(node: number): void {
    if (node < 0) return;
    this.focus = node;
    let changed = false;
    for (let group: Group | null = this.groupOf[node]; group; group = group.parent) {
      if (!this.opened.has(group)) { this.opened.add(group); changed = true; }
    }
    if (changed) this.close(node);
    if (changed) this.layout();
    this.centre(`n${node}`);
  }

  /** Keep the number of boxes small: open boxes that do not contain the node are closed. */
  private close(node: number): void {
    const kept = new Set<Group>();
    for (let group: Group | null = this.groupOf[node]; group; group = group.parent) kept.add(group);
    if (this.visible().length > MOST_BOXES) this.opened = kept;
  }

  // -- groups ------------------------------------------------------------------------------------

  private open(graph: number): void {
    this.graph = graph;
    this.nodes = this.app.model.doc.graphs[graph]?.nodes ?? [];
    this.focus = -1;
    const root = this.roots.get(graph) ?? this.build();
    this.roots.set(graph, root);
    this.groupOf = [];
    this.assign(root);
    this.opened = new Set([root]);
    for (let queue = [...root.groups]; queue.length; ) {
      const group = queue.shift()!;
      const size = group.groups.length + group.nodes.length;
      const shown = this.visible().length;
      if (shown > 1 && shown + size > MOST_BOXES / 2) break;
      this.opened.add(group);
      queue.push(...group.groups);
    }
    this.layout();
    this.fit();
  }

  private assign(group: Group): void {
    for (const node of group.nodes) this.groupOf[node] = group;
    for (const inner of group.groups) this.assign(inner);
  }

  private build(): Group {
    const root: Group = { path: "", label: this.app.model.doc.name, parent: null, groups: [], nodes: [], total: 0 };
    const known = new Map<string, Group>([["", root]]);
    const find = (path: string): Group => {
      const found = known.get(path);
      if (found) return found;
      const cut = path.lastIndexOf(".");
      const parent = find(cut < 0 ? "" : path.slice(0, cut));
      const group: Group = { path, label: path.slice(cut + 1), parent, groups: [], nodes: [], total: 0 };
      parent.groups.push(group);
      known.set(path, group);
      return group;
    };
    this.nodes.forEach((node, n) => { if (node.kind === "call") find(node.module).nodes.push(n); });
    for (const group of known.values()) split(group);
    measure(root);
    return root;
  }

  /** Every box that is shown: a closed group by its path, or a node. */
  private visible(): { key: string; group?: Group; node?: number }[] {
    const found: { key: string; group?: Group; node?: number }[] = [];
    const visit = (group: Group) => {
      if (!this.opened.has(group)) { found.push({ key: `g${group.path}`, group }); return; }
      for (const node of group.nodes) found.push({ key: `n${node}`, node });
      group.groups.forEach(visit);
    };
    const root = this.roots.get(this.graph);
    if (root) visit(root);
    return found;
  }

  private keyOf(node: number): string {
    let key = `n${node}`;
    for (let group: Group | null = this.groupOf[node]; group; group = group.parent) if (!this.opened.has(group)) key = `g${group.path}`;
    return key;
  }

  // -- drawing -----------------------------------------------------------------------------------

  private layout(): void {
    const shown = this.visible();
    const graph = new Layout({ multigraph: false });
    graph.setGraph({ ranksep: 26, nodesep: 16, marginx: 20, marginy: 20, ranker: shown.length > 250 ? "longest-path" : "tight-tree" });
    graph.setDefaultEdgeLabel(() => ({}));
    for (const { key, group, node } of shown) {
      const [label, detail] = group ? [group.label, `${group.total} nodes, 10.0 ms`] : [this.nodes[node!].name, this.nodes[node!].type];
      const width = Math.max(90, 7.4 * label.length + 24, 5.8 * Math.min(34, detail.length) + 20);
      graph.setNode(key, { width: Math.min(240, width), height: group ? 44 : 36 });
    }
    for (const node of this.nodes.keys()) {
      if (this.nodes[node].kind !== "call") continue;
      const to = this.keyOf(node);
      for (const input of this.nodes[node].inputs) {
        if (this.nodes[input].kind !== "call") continue;
        const from = this.keyOf(input);
        if (from !== to && graph.hasNode(from) && graph.hasNode(to)) graph.setEdge(from, to);
      }
    }
    layout(graph);
    const { width = 1, height = 1 } = graph.graph() as { width?: number; height?: number };
    this.size = { width: Math.max(1, width), height: Math.max(1, height) };
    this.boxes.clear();
    const edges = graph.edges().map((edge) => s("path", { class: "edge", d: curve((graph.edge(edge) as { points: { x: number; y: number }[] }).points), "marker-end": "url(#arrow)" }));
    const boxes = shown.map((box) => this.box(box, graph.node(box.key) as unknown as { x: number; y: number; width: number; height: number }));
    this.scene.replaceChildren(...edges, ...boxes);
    this.drawHead(shown.length);
    const { state } = this.app.store;
    this.update(state, new Set());
  }

  private box(shown: { key: string; group?: Group; node?: number }, at: { x: number; y: number; width: number; height: number }): SVGElement {
    const { group } = shown;
    const offset = this.app.model.offsets[this.graph];
    const members = group ? inside(group) : [shown.node!];
    const steps = [...new Set(members.map((node) => this.nodes[node].step).filter((step) => step >= 0))].map((step) => offset + step);
    const kind = this.app.model.step(group ? this.hottest(steps) : steps[0] ?? -1)?.kind ?? "view";
    const node = group ? null : this.nodes[shown.node!];
    const most = Math.floor(at.width / 7.2);
    const element = s("g", {
      class: group ? "box group" : "box node", "data-kind": kind, "data-key": shown.key, tabindex: 0,
      transform: `translate(${at.x - at.width / 2},${at.y - at.height / 2})`,
      onclick: () => this.choose(shown),
      onkeydown: (event: KeyboardEvent) => { if (event.key === "Enter") this.choose(shown); },
      onmouseenter: () => this.app.store.hover(group ? [] : steps),
      onmouseleave: () => this.app.store.hover([]),
    },
      s("title", {}, node ? `${node.name}: ${node.type} = ${node.op}${node.module ? `\n${node.module}` : ""}${this.arguments(shown.node!)}` : `${group!.path || group!.label}: ${group!.total} nodes; click to open`),
      s("rect", { width: at.width, height: at.height, rx: group ? 3 : 6 }),
      s("text", { x: at.width / 2, y: group ? 18 : 15, class: "label" }, short(group ? group.label : node!.name, most)),
      s("text", { x: at.width / 2, y: group ? 34 : 29, class: "sub" }, short(group ? `${count(group.total, "node")}${this.time(steps)}` : node!.type, 34)));
    this.boxes.set(shown.key, { x: at.x, y: at.y, element, steps: group ? [] : steps });
    return element;
  }

  /** Inputs and parameters are not drawn, but named. */
  private arguments(node: number): string {
    const names = this.nodes[node].inputs.filter((input) => this.nodes[input].kind !== "call").map((input) => `${this.nodes[input].name}: ${this.nodes[input].type}`);
    return names.length ? `\nreads ${names.join(", ")}` : "";
  }

  private hottest(steps: number[]): number {
    const { model } = this.app;
    const cost = (id: number) => model.steps[model.steps[id].owner].ms + (model.steps[id].kind === "view" ? 0 : 1e-9);
    return steps.reduce((best, step) => (best < 0 || cost(step) > cost(best) ? step : best), -1);
  }

  private time(steps: number[]): string {
    const sum = steps.reduce((all, step) => all + this.app.model.steps[step].ms, 0);
    return sum ? `, ${ms(sum)}` : "";
  }

  private choose({ group, node }: { group?: Group; node?: number }): void {
    if (this.dragged) return;
    if (group) {
      this.opened.add(group);
      this.layout();
      this.centre(this.visible().find((box) => box.node !== undefined && inside(group).includes(box.node))?.key ?? this.visible().find((box) => box.group && group.groups.includes(box.group))?.key ?? "");
      return;
    }
    this.focus = node!;
    const step = this.nodes[node!].step;
    if (step >= 0) this.app.selectStep(this.app.model.offsets[this.graph] + step);
  }

  private drawHead(boxes: number): void {
    const { graphs } = this.app.model.doc;
    const open = [...this.opened].filter((group) => group.parent);
    replace(
      this.head,
      h("b", {}, count(this.nodes.length, "node")), h("span", { class: "quiet" }, `${count(boxes, "box")} shown`, h("span", { class: "wide" }, "; inputs and parameters are in the tooltips")),
      graphs.length > 1 && h("div", { class: "tabs" }, graphs.map((graph, k) => h("button", { "aria-selected": k === this.graph, onclick: () => this.app.go({ graph: k, step: -1 }) }, graph.name))),
      h("button", { class: "link", onclick: () => this.fit() }, "fit"),
      open.length > 0 && h("button", { class: "link", onclick: () => { this.opened = new Set([this.roots.get(this.graph)!]); this.layout(); this.fit(); } }, "close all boxes"),
    );
  }

  // -- moving ------------------------------------------------------------------------------------

  private dragged = false;

  private apply(): void {
    const { x, y, k } = this.transform;
    this.scene.setAttribute("transform", `translate(${x},${y}) scale(${k})`);
  }

  private fit(): void {
    const { clientWidth, clientHeight } = this.svg;
    if (!clientWidth) return;
    const k = Math.min(1, clientWidth / this.size.width, Math.max(0.35, clientHeight / this.size.height));
    this.transform = { k, x: (clientWidth - this.size.width * k) / 2, y: 0 };
    this.apply();
  }

  private centre(key: string): void {
    const box = this.boxes.get(key);
    if (!box) return;
    const k = Math.max(0.7, this.transform.k);
    this.transform = { k, x: this.svg.clientWidth / 2 - box.x * k, y: this.svg.clientHeight / 2 - box.y * k };
    this.apply();
  }

  private zoom(factor: number, x: number, y: number): void {
    const k = Math.min(4, Math.max(0.05, this.transform.k * factor));
    const by = k / this.transform.k;
    this.transform = { k, x: x - (x - this.transform.x) * by, y: y - (y - this.transform.y) * by };
    this.apply();
  }

  private listen(): void {
    const pointers = new Map<number, { x: number; y: number }>();
    let travelled = 0;
    this.svg.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = this.svg.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 300), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    this.svg.addEventListener("pointerdown", (event) => { pointers.set(event.pointerId, { x: event.clientX, y: event.clientY }); travelled = 0; this.dragged = false; });
    this.svg.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
      if (other) {
        const box = this.svg.getBoundingClientRect();
        const reach = (x: number, y: number) => Math.max(8, Math.hypot(x - other.x, y - other.y));
        this.zoom(reach(event.clientX, event.clientY) / reach(before.x, before.y), (event.clientX + other.x) / 2 - box.left, (event.clientY + other.y) / 2 - box.top);
      } else { this.transform.x += dx; this.transform.y += dy; this.apply(); }
      travelled += Math.abs(dx) + Math.abs(dy);
      if (travelled > 5) this.dragged = true;
      pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    const end = (event: PointerEvent) => { pointers.delete(event.pointerId); };
    for (const name of ["pointerup", "pointercancel", "pointerleave"] as const) this.svg.addEventListener(name, end);
    this.svg.addEventListener("keydown", (event) => {
      const move: Record<string, [number, number]> = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (event.key in move) { this.transform.x += move[event.key][0]; this.transform.y += move[event.key][1]; this.apply(); }
      else if (event.key === "+") this.zoom(1.3, this.svg.clientWidth / 2, this.svg.clientHeight / 2);
      else if (event.key === "-") this.zoom(1 / 1.3, this.svg.clientWidth / 2, this.svg.clientHeight / 2);
      else if (event.key === "0") this.fit();
      else return;
      event.preventDefault();
    });
  }
}

/** Long runs of nodes, and long lists of modules, become groups of their own. */
function split(group: Group): void {
  if (group.nodes.length > 2 * RUN) {
    const { nodes } = group;
    group.nodes = [];
    for (let at = 0; at < nodes.length; at += RUN) {
      const part = nodes.slice(at, at + RUN);
      const label = `nodes ${at}–${at + part.length - 1}`;
      group.groups.push({ path: `${group.path}#${at}`, label, parent: group, groups: [], nodes: part, total: 0 });
    }
  }
  if (group.groups.length > MOST_BOXES) group.groups = bundled(group);
}

function bundled(parent: Group): Group[] {
  const found: Group[] = [];
  const all = parent.groups;
  const size = Math.ceil(Math.sqrt(all.length));
  for (let at = 0; at < all.length; at += size) {
    const part = all.slice(at, at + size);
    const label = part.length > 1 ? `${part[0].label.split("–")[0]}–${part[part.length - 1].label.split("–").pop()}` : part[0].label;
    const group: Group = { path: `${parent.path}##${at}`, label, parent, groups: part, nodes: [], total: 0 };
    for (const inner of part) inner.parent = group;
    found.push(group);
  }
  return found;
}

function measure(group: Group): number {
  group.total = group.nodes.length + group.groups.reduce((sum, inner) => sum + measure(inner), 0);
  return group.total;
}

function inside(group: Group): number[] { return [...group.nodes, ...group.groups.flatMap(inside)]; }

function curve(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points;
  if (!rest.length) return "";
  let path = `M${first.x},${first.y}`;
  for (let k = 0; k < rest.length - 1; k++) {
    const middle = { x: (rest[k].x + rest[k + 1].x) / 2, y: (rest[k].y + rest[k + 1].y) / 2 };
    path += ` Q${rest[k].x},${rest[k].y} ${middle.x},${middle.y}`;
  }
  const last = rest[rest.length - 1];
  return `${path} L${last.x},${last.y}`;
}
