// A search over nodes, kernels and source lines, opened by `/`.

import type { App } from "./main";
import { h, replace } from "./dom";
import { count } from "./format";
import type { Hit } from "./model";

export class Search {
  readonly element: HTMLDialogElement;
  private readonly input = h("input", { type: "search", placeholder: "Node, op, module, kernel or source text", "aria-label": "Search", autocomplete: "off", spellcheck: "false" });
  private readonly list = h("ul", { role: "listbox" });
  private readonly status = h("p", { class: "quiet" });
  private hits: Hit[] = [];
  private current = 0;

  constructor(private readonly app: App) {
    this.element = h("dialog", { class: "search" }, this.input, this.status, this.list);
    this.input.addEventListener("input", () => this.find());
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("click", (event) => { if (event.target === this.element) this.element.close(); });
  }

  open(): void {
    if (!this.element.open) this.element.showModal();
    this.input.select();
    this.find();
  }

  private find(): void {
    const start = performance.now();
    this.hits = this.app.model.search(this.input.value);
    this.current = 0;
    this.status.textContent = this.input.value ? count(this.hits.length, "match") : "Words may be in any order.";
    this.element.dataset.ms = (performance.now() - start).toFixed(1);
    this.draw();
  }

  private draw(): void {
    replace(this.list, this.hits.map((hit, k) => h("li", { role: "option", "aria-selected": k === this.current, onclick: () => this.choose(k), onmousemove: () => this.point(k) },
      h("span", { class: "badge" }, hit.kind), h("code", {}, hit.title), h("span", { class: "quiet" }, hit.detail))));
  }

  private point(k: number): void {
    if (k === this.current) return;
    this.list.children[this.current]?.setAttribute("aria-selected", "false");
    this.current = k;
    this.list.children[k]?.setAttribute("aria-selected", "true");
    this.list.children[k]?.scrollIntoView({ block: "nearest" });
  }

  private key(event: KeyboardEvent): void {
    event.stopPropagation();
    const last = this.hits.length - 1;
    if (event.key === "ArrowDown") this.point(Math.min(last, this.current + 1));
    else if (event.key === "ArrowUp") this.point(Math.max(0, this.current - 1));
    else if (event.key === "Enter") this.choose(this.current);
    else return;
    event.preventDefault();
  }

  private choose(k: number): void {
    const hit = this.hits[k];
    if (!hit) return;
    this.element.close();
    this.app.goTo(hit);
  }
}
