// The application: views, navigation, keys, theme.

import { CodeView } from "./code";
import { compileView } from "./compile";
import { readDocument, type Line } from "./data";
import { h, replace } from "./dom";
import { GraphView } from "./graph";
import { Memory } from "./memory";
import { Model, type Hit } from "./model";
import { overview } from "./overview";
import { Search } from "./search";
import { Store, type State } from "./store";
import { Timeline } from "./timeline";

interface View { element: HTMLElement; show?: (state: State) => void; update?: (state: State, changed: Set<string>) => void }

const VIEWS = ["overview", "code", "timeline", "memory", "graph", "compile"] as const;
type ViewName = (typeof VIEWS)[number];

export class App {
  readonly store = new Store();
  private readonly views = new Map<ViewName, View>();
  private readonly nav = h("nav", { role: "tablist", "aria-label": "Views" });
  private readonly main = h("main", {});
  private readonly search: Search;
  private readonly help = h("dialog", { class: "help" });

  constructor(readonly model: Model) {
    this.search = new Search(this);
    this.store.subscribe((state, changed) => this.changed(state, changed));
    replace(this.help, h("h2", {}, "Keys"), h("dl", {}, Object.entries({
      "1 – 6": "views", "/": "search", "j, k": "next and previous step", "Esc": "clear the selection", "t": "dark or light", "arrows, Enter": "move and select in a text",
      "w, s, a, d": "zoom and move in the timeline and the arena", "+, −, 0": "zoom the graph; 0 shows all", "?": "this help",
    }).map(([key, text]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, text)])), h("form", { method: "dialog" }, h("button", {}, "close")));
    replace(
      document.getElementById("app")!,
      h("header", { class: "top" },
        h("h1", { title: model.doc.name }, model.doc.name), this.nav,
        h("div", { class: "tools" },
          h("button", { class: "find", "aria-label": "Search", onclick: () => this.search.open() }, "Search ", h("kbd", {}, "/")),
          h("button", { "aria-label": "Dark or light", title: "Dark or light (t)", onclick: () => this.toggleTheme() }, "◐"),
          h("button", { "aria-label": "Keys", title: "Keys (?)", onclick: () => this.help.showModal() }, "?"))),
      this.main, this.search.element, this.help);
    document.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("hashchange", () => this.fromAddress());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.repaint());
    this.fromAddress();
    this.drawNav();
    this.showView();
  }

  /** Show a view, a step, a kernel or a graph; a step selects itself and what runs with it. */
  go(change: Partial<State>): void {
    const full: Partial<State> = { ...change };
    if (change.step !== undefined) {
      full.selected = new Set(change.step < 0 ? [] : this.model.together(change.step));
      full.line = change.line ?? null;
      full.kernel = change.kernel ?? -1;
      if (change.step >= 0) full.graph = this.model.steps[change.step].graph;
    }
    this.store.set(full);
  }

  selectStep(step: number): void { this.go({ step }); }

  /** Move the focus within the selected steps. */
  focus(step: number): void { this.store.set({ step, kernel: -1, graph: this.model.steps[step].graph }); }

  selectSteps(steps: number[]): void {
    if (!steps.length) return;
    const { step } = this.store.state;
    this.store.set({ step: steps.includes(step) ? step : this.hottest(steps), selected: new Set(steps), line: null });
  }

  selectLine(line: Line, steps: number[]): void {
    if (!steps.length) { this.store.set({ line, selected: new Set(), step: -1 }); return; }
    const { step } = this.store.state;
    const focus = steps.includes(step) ? step : this.hottest(steps);
    this.store.set({ line, selected: new Set(steps), step: focus, kernel: -1, graph: this.model.steps[focus].graph });
  }

  goTo(hit: Hit): void {
    if (hit.line) { this.selectLine(hit.line, this.model.stepsOfLine(hit.line)); this.go({ view: "code" }); return; }
    if (hit.kernel !== undefined) { this.go({ view: "code", step: hit.step, kernel: hit.kernel }); return; }
    if (hit.step >= 0) this.go({ step: hit.step });
    if (hit.node && (hit.step < 0 || this.store.state.view === "graph")) {
      this.go({ graph: hit.node[0], view: "graph" });
      (this.view("graph") as GraphView).reveal(hit.node[1]);
    } else if (["overview", "compile"].includes(this.store.state.view)) this.go({ view: "code" });
  }

  /** The step that takes the most time, or the one whose launch it is part of. */
  private hottest(steps: number[]): number {
    const owner = (id: number) => this.model.steps[this.model.steps[id].owner];
    const found = steps.reduce((best, id) => (best < 0 || owner(id).ms > owner(best).ms ? id : best), -1);
    return found >= 0 && steps.includes(owner(found).id) ? owner(found).id : found;
  }

  private changed(state: State, changed: Set<keyof State>): void {
    if (changed.has("view")) { this.drawNav(); this.showView(); }
    else this.views.get(state.view as ViewName)?.update?.(state, changed);
    if (changed.has("view") || changed.has("step")) {
      const address = `#${state.view}${state.step >= 0 ? `/${state.step}` : ""}`;
      if (location.hash !== address) history.replaceState(null, "", address);
    }
  }

  private fromAddress(): void {
    const [view, step] = location.hash.slice(1).split("/");
    const known = (VIEWS as readonly string[]).includes(view) ? view : "overview";
    const number = /^\d+$/.test(step ?? "") && Number(step) < this.model.steps.length ? Number(step) : -1;
    if (number >= 0 && number !== this.store.state.step) this.go({ step: number });
    this.store.set({ view: known });
  }

  private view(name: ViewName): View {
    const found = this.views.get(name) ?? this.make(name);
    this.views.set(name, found);
    return found;
  }

  private make(name: ViewName): View {
    switch (name) {
      case "overview": return { element: overview(this) };
      case "code": return new CodeView(this);
      case "timeline": return new Timeline(this);
      case "memory": return new Memory(this);
      case "graph": return new GraphView(this);
      case "compile": return { element: compileView(this) };
    }
  }

  private showView(): void {
    const name = this.store.state.view as ViewName;
    const view = this.view(name);
    this.main.replaceChildren(view.element);
    view.show?.(this.store.state);
  }

  private drawNav(): void {
    replace(this.nav, VIEWS.map((name, k) => h("button", { role: "tab", "aria-selected": name === this.store.state.view, title: `${k + 1}`, onclick: () => this.go({ view: name }) }, name[0].toUpperCase() + name.slice(1))));
    this.nav.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }

  private toggleTheme(): void {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    this.repaint();
  }

  private repaint(): void { this.views.get(this.store.state.view as ViewName)?.update?.(this.store.state, new Set()); }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
    const { step } = this.store.state;
    const walk = (by: number) => {
      const shown = this.model.steps.filter((each) => each.kind !== "view");
      const at = shown.findIndex((each) => each.id >= step);
      const next = step < 0 ? 0 : Math.min(shown.length - 1, Math.max(0, (at < 0 ? shown.length : at) + by));
      if (shown[next]) this.selectStep(shown[next].id);
    };
    const actions: Record<string, () => void> = {
      "/": () => this.search.open(), "?": () => this.help.showModal(), t: () => this.toggleTheme(),
      j: () => walk(1), k: () => walk(-1), Escape: () => this.go({ step: -1 }),
    };
    VIEWS.forEach((name, k) => { actions[String(k + 1)] = () => this.go({ view: name }); });
    if (!(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  }
}

new App(new Model(readDocument()));
