// What is shown and selected. Views subscribe; the address keeps view and step.

import type { Line } from "./data";

export interface State {
  view: string;
  graph: number;
  /** The step in focus, -1 for none. */
  step: number;
  /** Every selected step: those of a source line, or the focus alone. */
  selected: Set<number>;
  hovered: Set<number>;
  /** The source line that was clicked. */
  line: Line | null;
  kernel: number;
}

type Listener = (state: State, changed: Set<keyof State>) => void;

export class Store {
  state: State = { view: "overview", graph: 0, step: -1, selected: new Set(), hovered: new Set(), line: null, kernel: -1 };
  private readonly listeners: Listener[] = [];

  subscribe(listener: Listener): void { this.listeners.push(listener); }

  set(change: Partial<State>): void {
    const changed = new Set<keyof State>();
    for (const name of Object.keys(change) as (keyof State)[]) if (this.state[name] !== change[name]) changed.add(name);
    if (!changed.size) return;
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener(this.state, changed);
  }

  hover(steps: number[]): void {
    const { hovered } = this.state;
    if (steps.length === hovered.size && steps.every((step) => hovered.has(step))) return;
    this.set({ hovered: new Set(steps) });
  }
}
