// The book at 1280 and at 390 pixels, in light and dark: no listing is cut at 1280, no page is wider than its window, the
// search finds a word. `node widths.mjs FOLDER SCREENSHOTS [CHROMIUM]`.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, page } from "./chromium.mjs";

const [folder, screenshots, path = process.env.CHROMIUM ?? "chromium"] = process.argv.slice(2);
mkdirSync(screenshots, { recursive: true });
const chromium = await browser(path);
const chapters = readdirSync(folder).filter((name) => name.endsWith(".html") && !/^(print|toc|404)\.html$/.test(name));

/** Runs in a chapter: what is wider than it may be. */
function cut(wide) {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth + 1) found.push(`the page: ${document.documentElement.scrollWidth}`);
  for (const own of document.querySelectorAll("main .table-wrapper, main pre code")) {
    // In a narrow window these scroll by themselves.
    if (wide && own.scrollWidth > own.clientWidth + 1) found.push(`${own.scrollWidth} of ${own.clientWidth}: ${own.textContent.slice(0, 60)}`);
  }
  return found;
}

try {
  const wrong = [];
  for (const wide of [true, false]) {
    const own = await page(chromium, pathToFileURL(resolve(folder, "index.html")).href, wide ? 1280 : 390, 900);
    for (const name of chapters) {
      await own.evaluate(`{ location.href = ${JSON.stringify(pathToFileURL(resolve(folder, name)).href)}; }`);
      await own.until(`location.href.endsWith(${JSON.stringify(name)}) && document.readyState === "complete"`, name);
      for (const line of await own.evaluate(`(${cut})(${wide})`)) wrong.push(`${name} at ${wide ? 1280 : 390}: ${line}`);
      if (["bugs.html", "vocabulary.html", "hopper.html", "first.html"].includes(name)) {
        for (const theme of ["light", "navy"]) {
          await own.evaluate(`document.querySelector('[id$="theme-${theme}"]').click()`);
          writeFileSync(join(screenshots, `${name}-${wide ? 1280 : 390}-${theme}.png`), await own.shot());
        }
      }
    }
    await own.send("Page.close");
  }
  assert.deepEqual(wrong, [], "cut");
  const own = await page(chromium, pathToFileURL(resolve(folder, "index.html")).href + "?search=swizzle", 1280, 900);
  await own.until("document.querySelectorAll('#mdbook-searchresults li, #searchresults li').length > 2", "what the search finds");
  console.log(`the book: ${chapters.length} chapters at 1280 and 390 pixels, nothing cut; its search finds words`);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await chromium.end();
}
