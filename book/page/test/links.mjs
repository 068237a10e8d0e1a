// Every link and picture of the built book leads to a file that is there: `node links.mjs FOLDER`.
import { readdirSync, readFileSync, existsSync, statSync } from "node:fs";
import { join, dirname, resolve } from "node:path";

const folder = resolve(process.argv[2]);
const pages = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".html") && !/^(print|toc)\.html$|^doc\//.test(name));
const missing = [];
let seen = 0;
for (const name of pages) {
  const text = readFileSync(join(folder, name), "utf8");
  for (const [, link] of text.matchAll(/\b(?:href|src)="([^"]+)"/g)) {
    if (/^[a-z]+:/.test(link) || link.startsWith("#")) continue;
    const [path, place] = link.replace(/\?.*/, "").split("#");
    let file = join(dirname(join(folder, name)), decodeURIComponent(path));
    if (existsSync(file) && statSync(file).isDirectory()) file = join(file, "index.html");
    ++seen;
    if (!existsSync(file)) missing.push(`${name}: ${link}`);
    else if (place && !readFileSync(file, "utf8").includes(`id="${decodeURIComponent(place)}"`)) missing.push(`${name}: ${link} (no such place)`);
  }
}
if (missing.length || seen < 100) {
  console.error(`of ${seen} links of the book these lead nowhere:\n  ${[...new Set(missing)].join("\n  ")}`);
  process.exit(1);
}
console.log(`the book: ${pages.length} pages, ${seen} links, all there`);
