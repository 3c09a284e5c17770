// Bundles src/ into one page, src/ingot/explain/page.html: style, script, and a place for the
// document. The content security policy names the digests of the style and the script and allows
// nothing else: no other script runs, and nothing is fetched.

import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = join(here, "../src/ingot/explain/page.html");

async function bundled(entry) {
  const result = await build({
    entryPoints: [join(here, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: ["es2022"],
    charset: "utf8",
    legalComments: "none",
  });
  return result.outputFiles[0].text.trim();
}

/** The licences of the packages whose code is in the bundle. */
function licences() {
  const packages = ["@dagrejs/dagre", "@dagrejs/graphlib", "@lezer/common", "@lezer/highlight", "@lezer/lr", "@lezer/python"];
  return packages.map((name) => {
    const folder = join(here, "node_modules", name);
    const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
    return `${name}\n${readFileSync(join(folder, file), "utf8").trim()}`;
  }).join("\n\n").replaceAll("--", "- -");
}

/** A digest of what the page is built from; a test compares it with the sources. */
function inputs() {
  const files = ["package-lock.json", "build.mjs", "page.html", ...readdirSync(join(here, "src")).sort().map((name) => `src/${name}`)];
  const hash = createHash("sha256");
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(join(here, file))).update("\0");
  return hash.digest("hex");
}

const digest = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const [script, style] = [await bundled("src/main.ts"), await bundled("src/style.css")];
const policy = `default-src 'none'; script-src ${digest(script)}; style-src ${digest(style)}; base-uri 'none'; form-action 'none'`;
const values = { inputs: inputs(), licences: licences(), policy, style, script };
const page = readFileSync(join(here, "page.html"), "utf8").replace(/\{\{(\w+)\}\}/g, (_, name) => values[name]);
writeFileSync(target, page);
console.log(`${target}: ${(page.length / 1024).toFixed(0)} kB`);
