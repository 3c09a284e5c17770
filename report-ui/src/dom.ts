// Elements without markup: text of the document only ever becomes text nodes.

type Child = Node | string | number | null | undefined | false | Child[];
type Props = Record<string, unknown>;

const SVG = "http://www.w3.org/2000/svg";

function fill(element: Element, props: Props, children: Child[]): void {
  for (const [name, value] of Object.entries(props)) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("aria-")) { element.setAttribute(name, String(value)); continue; }
    if (value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value as EventListener);
    else if (name === "style") Object.assign((element as HTMLElement).style, value);
    else if (name === "vars") for (const [k, v] of Object.entries(value as Record<string, string>)) (element as HTMLElement).style.setProperty(k, v);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
}

export function append(element: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(String(child));
  }
}

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, props, children);
  return element;
}

export function s(tag: string, props: Props = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, tag);
  fill(element, props, children);
  return element as SVGElement;
}

export function replace(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

/** A value of the theme, for canvases. */
export function themed(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
