// The document with its links resolved. Steps have one number across all graphs (`id`).

import type { Document, Graph, Line, Step, Text } from "./data";

export interface StepRef extends Step {
  id: number;
  graph: number;
  index: number;
  start: number;
  owner: number;
}

export interface Hit { title: string; detail: string; kind: string; step: number; node?: [number, number]; line?: Line; kernel?: number }

export const STAGES = ["program", "regions", "plan", "python"] as const;
export type Stage = (typeof STAGES)[number];

export const KINDS: Record<string, string> = {
  kernel: "fused kernels",
  native: "native kernels",
  control: "native control flow",
  library: "library calls",
  fallback: "left to PyTorch",
  host: "eager steps",
  view: "views",
};

/** The same for one step. */
export const KIND: Record<string, string> = {
  kernel: "fused kernel",
  native: "native kernel",
  control: "native control flow",
  library: "library call",
  fallback: "left to PyTorch",
  host: "eager step",
  view: "view",
};

const key = (line: Line) => `${line[0]}:${line[1]}`;

export class Model {
  readonly steps: StepRef[] = [];
  readonly offsets: number[] = [];
  readonly stepsMs: number;
  /** The call as the timeline shows it: its steps and what is outside of them. */
  readonly callMs: number;
  readonly sourceLines: string[][];
  private readonly byLine = new Map<string, Set<number>>();
  private readonly byStep: Line[][] = [];
  private readonly byKernel = new Map<number, number[]>();
  readonly lineMs = new Map<string, number>();

  constructor(readonly doc: Document) {
    let start = 0;
    doc.graphs.forEach((graph, g) => {
      const offset = this.steps.length;
      this.offsets.push(offset);
      graph.steps.forEach((step, index) => {
        const owner = offset + (step.within >= 0 ? step.within : index);
        this.steps.push({ ...step, id: offset + index, graph: g, index, start, owner });
        start += step.ms;
      });
    });
    this.stepsMs = start;
    this.callMs = start + doc.summary.outside_ms;
    this.sourceLines = doc.sources.map((source) => source.text.split("\n"));
    for (const step of this.steps) this.link(step);
  }

  private link(step: StepRef): void {
    const inner: Line[] = [];
    const lines = new Map<string, Line>();
    for (const n of step.nodes) {
      const stack = this.doc.stacks[this.doc.graphs[step.graph].nodes[n].stack] ?? [];
      for (const line of stack) {
        lines.set(key(line), line);
        const found = this.byLine.get(key(line)) ?? new Set<number>();
        found.add(step.id);
        this.byLine.set(key(line), found);
      }
      if (stack.length) inner.push(stack[stack.length - 1]);
    }
    for (const line of inner) {
      this.lineMs.set(key(line), (this.lineMs.get(key(line)) ?? 0) + step.ms / inner.length);
    }
    const innermost = new Map(inner.map((line) => [key(line), line]));
    for (const [k, line] of lines) if (!innermost.has(k)) innermost.set(k, line);
    this.byStep[step.id] = [...innermost.values()];
    for (const kernel of this.kernelsOf(step.id)) {
      this.byKernel.set(kernel, [...(this.byKernel.get(kernel) ?? []), step.id]);
    }
  }

  step(id: number): StepRef | undefined { return this.steps[id]; }
  graphOf(id: number): Graph { return this.doc.graphs[this.steps[id].graph]; }

  /** The steps of a source line, wherever it stands in the stack. */
  stepsOfLine(line: Line): number[] { return [...(this.byLine.get(key(line)) ?? [])]; }
  msOfLine(line: Line): number { return this.lineMs.get(key(line)) ?? 0; }

  /** The lines of a step, innermost first. */
  linesOfStep(id: number): Line[] { return this.byStep[id] ?? []; }

  /** The kernels that compute a step, and the functions that they call. */
  kernelsOf(id: number): number[] {
    const step = this.steps[id];
    const own = step.kernels.length ? step.kernels : this.steps[step.owner].kernels;
    const found = new Set(own);
    for (const kernel of found) for (const called of this.doc.kernels[kernel].calls) found.add(called);
    return [...found];
  }
  stepsOfKernel(kernel: number): number[] { return this.byKernel.get(kernel) ?? []; }

  /** The steps that one launch computes: a matmul and its epilogues. */
  together(id: number): number[] {
    const { owner, graph } = this.steps[id];
    return this.steps.filter((step) => step.graph === graph && step.owner === owner).map((step) => step.id);
  }

  text(graph: number, stage: Stage): Text { return this.doc.graphs[graph][stage]; }

  gbPerS(step: StepRef): number | null { return step.bytes && step.ms ? step.bytes / step.ms / 1e6 : null; }
  gflopPerS(step: StepRef): number | null { return step.flops && step.ms ? step.flops / step.ms / 1e6 : null; }

  /** The share of what the roofline allows at the step's intensity; null if unknown. What fits in
   *  the cache is compared with the cache's roof. */
  ofRoof(step: StepRef): number | null {
    const roof = this.doc.roofline;
    if (!roof || !step.ms || step.bytes === null) return null;
    const bandwidth = step.bytes <= this.doc.host.cache_bytes ? roof.cache_gb_per_s : roof.gb_per_s;
    const least = Math.max(step.bytes / bandwidth, (step.flops ?? 0) / roof.gflop_per_s) / 1e6;
    return least / step.ms;
  }

  msByKind(): [string, number][] {
    const sums = new Map<string, number>(Object.keys(KINDS).map((kind) => [kind, 0]));
    for (const step of this.steps) sums.set(step.kind, (sums.get(step.kind) ?? 0) + step.ms);
    return [...sums].filter(([, value]) => value > 0);
  }

  countByKind(kind: string): number { return this.steps.filter((step) => step.kind === kind).length; }

  /** Steps that do the same, the most expensive group first. */
  groups(): { title: string; kind: string; steps: StepRef[]; ms: number }[] {
    const groups = new Map<string, { title: string; kind: string; steps: StepRef[]; ms: number }>();
    for (const step of this.steps) {
      if (step.kind === "view" || (step.within >= 0 && !step.ms)) continue;
      const title = step.ops.join(", ") || step.name;
      const id = [step.kind, title, step.domain, step.kernels.join()].join("|");
      const group = groups.get(id) ?? { title, kind: step.kind, steps: [], ms: 0 };
      group.steps.push(step);
      group.ms += step.ms;
      groups.set(id, group);
    }
    return [...groups.values()].sort((a, b) => b.ms - a.ms);
  }

  /** Nodes by name and op, kernels, source lines, then nodes by module and type. */
  search(query: string, most = 40): Hit[] {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const matches = (text: string) => { const low = text.toLowerCase(); return words.every((word) => low.includes(word)); };
    const named: Hit[] = [], kernels: Hit[] = [], lines: Hit[] = [], placed: Hit[] = [];
    this.doc.graphs.forEach((graph, g) => graph.nodes.forEach((node, n) => {
      const name = `${node.name} ${node.op} ${node.user_op}`;
      const into = matches(name) ? named : matches(`${name} ${node.module} ${node.type}`) ? placed : null;
      if (!into || into.length >= most) return;
      const step = node.step < 0 ? -1 : this.offsets[g] + node.step;
      into.push({ title: node.name, detail: `${node.op} ${node.type} ${node.module}`, kind: "node", step, node: [g, n] });
    }));
    this.doc.kernels.forEach((kernel, k) => {
      if (kernels.length >= most || !matches(`${kernel.name} ${kernel.family}`)) return;
      kernels.push({ title: kernel.name, detail: kernel.family, kind: "kernel", step: this.stepsOfKernel(k)[0] ?? -1, kernel: k });
    });
    this.sourceLines.forEach((texts, source) => texts.forEach((text, index) => {
      if (lines.length >= most || !text || !matches(text)) return;
      const line: Line = [source, index + 1];
      lines.push({ title: text.trim(), detail: `${this.doc.sources[source].name}:${index + 1}`, kind: "line", step: this.stepsOfLine(line)[0] ?? -1, line });
    }));
    return [...named, ...kernels, ...lines, ...placed];
  }
}
