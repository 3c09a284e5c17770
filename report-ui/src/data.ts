// The document that Python writes; src/ingot/explain/records.py describes every member.

export type Line = [source: number, line: number];
export type Mark = [first: number, last: number, step: number];

export interface Source { name: string; text: string }
export interface Text { text: string; marks: Mark[] }

export interface Node {
  name: string;
  kind: "input" | "constant" | "call";
  op: string;
  user_op: string;
  type: string;
  inputs: number[];
  step: number;
  stack: number;
  module: string;
}

export interface Step {
  name: string;
  kind: string;
  ops: string[];
  nodes: number[];
  kernels: number[];
  reason: string;
  domain: string;
  modules: string[];
  ms: number;
  bytes: number | null;
  flops: number | null;
  within: number;
}

export interface ArenaBuffer {
  name: string;
  type: string;
  offset: number;
  bytes: number;
  first: number;
  last: number;
  step: number;
}

export interface Arena { bytes: number; positions: number[]; buffers: ArenaBuffer[] }

export interface Pass {
  stage: string;
  name: string;
  ms: number;
  before: number;
  after: number;
  notes: string[];
}

export interface Graph {
  name: string;
  nodes: Node[];
  steps: Step[];
  program: Text;
  regions: Text;
  plan: Text;
  python: Text;
  arena: Arena | null;
  passes: Pass[];
  times: Record<string, number>;
  memory: Record<string, number>;
}

export interface Kernel {
  name: string;
  family: string;
  mlir: string;
  assembly: string;
  note: string;
  calls: number[];
}

export interface Document {
  format: number;
  name: string;
  summary: {
    run_ms: number;
    outside_ms: number;
    eager_ms: number | null;
    dynamo_ms: number;
    autograd_ms: number;
    compile_ms: number;
    graph_breaks: string[];
    uncaptured: string[];
    failures: string[];
    notes: string[];
  };
  host: { cpu: string; threads: number; vector_bits: number; cache_bytes: number; ingot: string; torch: string };
  roofline: { gb_per_s: number; cache_gb_per_s: number; gflop_per_s: number } | null;
  sources: Source[];
  stacks: Line[][];
  graphs: Graph[];
  kernels: Kernel[];
  recompiles: { guard: string; old: string; new: string; hint: string }[];
  choices: { name: string; setting: string; candidates: string[]; served: string[]; times: string[] }[];
}

export function readDocument(): Document {
  const text = document.getElementById("document")?.textContent ?? "";
  return JSON.parse(text) as Document;
}
