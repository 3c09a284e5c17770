// Tokens of a line for the text views, as classes and ranges; never as markup.

import { parser } from "@lezer/python";
import { highlightTree, tagHighlighter, tags } from "@lezer/highlight";

export interface Token { from: number; to: number; type: string }
export type Highlighter = (line: number, text: string) => Token[];

const style = tagHighlighter([
  { tag: tags.keyword, class: "keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "string" },
  { tag: [tags.comment, tags.lineComment], class: "comment" },
  { tag: [tags.number, tags.bool, tags.null], class: "number" },
  { tag: [tags.function(tags.variableName), tags.function(tags.definition(tags.variableName)), tags.definition(tags.className)], class: "name" },
  { tag: tags.meta, class: "type" },
]);

/** Python is parsed once, as a whole. */
export function python(lines: string[]): Highlighter {
  const starts: number[] = [];
  let at = 0;
  for (const line of lines) { starts.push(at); at += line.length + 1; }
  const byLine = new Map<number, Token[]>();
  let line = 0;
  highlightTree(parser.parse(lines.join("\n")), style, (from, to, type) => {
    while (line + 1 < starts.length && starts[line + 1] <= from) line++;
    for (let l = line; l < starts.length && starts[l] < to; l++) {
      const token = { from: Math.max(0, from - starts[l]), to: Math.min(lines[l].length, to - starts[l]), type };
      if (token.to > token.from) byLine.set(l, [...(byLine.get(l) ?? []), token]);
    }
  });
  return (number) => byLine.get(number) ?? [];
}

type Rule = [type: string, pattern: string];

function rules(...table: Rule[]): Highlighter {
  const all = new RegExp(table.map(([type, pattern]) => `(?<${type}>${pattern})`).join("|"), "g");
  return (_, text) => {
    const tokens: Token[] = [];
    for (const match of text.matchAll(all)) {
      const found = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined);
      if (found) tokens.push({ from: match.index, to: match.index + match[0].length, type: found[0] });
    }
    return tokens;
  };
}

const VALUE: Rule = ["value", "%[\\w.$#]+"];
const SYMBOL: Rule = ["name", "@[\\w.$]+"];
const TYPE: Rule = ["type", "!llvm\\.\\w+(?:<[^>]*>)?|\\b(?:vector|memref|tensor)<[^>]*>|\\b(?:b?[fiuc]\\d+|index|b8)\\b"];
const NUMBER: Rule = ["number", "\\b0x[0-9A-Fa-f]+\\b|(?<![\\w.%])-?\\d+(?:\\.\\d+)?(?:[eE][-+]?\\d+)?"];
const STRING: Rule = ["string", '"[^"]*"'];

export const mlir = rules(["comment", "//.*"], STRING, VALUE, SYMBOL, TYPE, ["keyword", "\\b[a-z_]+\\.[a-z_.]+\\b|\\b(?:module|attributes|to|step|iter_args)\\b"], NUMBER);
export const plan = rules(["comment", ";.*|# .*"], STRING, VALUE, SYMBOL, TYPE, ["keyword", "\\b(?:plan|input|constant|packed|folded|arena|result|eager|cursor|object|kernel|recipe|segment|parallel|launch|computes|allocate|free|return|if|else|loop|body|test|define|check|require|symbol|store|region|library|native|host|fallback|view|program|reduce|step|covers|threads)\\b"], NUMBER);
export const assembly = rules(["comment", "[#;].*|\\bR_X86_64_\\S+.*"], ["name", "^[\\w.$]+:|<[^>]+>"], ["value", "%[a-z]+\\d*\\w*"], ["number", "\\$-?0x[0-9a-f]+|-?0x[0-9a-f]+"], ["keyword", "(?<=:\\t)\\s*[a-z]\\w*"], ["comment2", "^\\s*[0-9a-f]+:"]);
export const plain: Highlighter = () => [];

/** The value, register or symbol at a column; its other uses are shown with it. */
export function wordAt(text: string, column: number): string {
  for (const match of text.matchAll(/[%@][\w.$#]+/g)) {
    if (match.index <= column && column <= match.index + match[0].length) return match[0];
  }
  return "";
}
