// The book at 1280 and at 390 pixels, in light and dark: no listing is cut at 1280, no page is wider than its window, no
// text is over another, the search finds a word. `node widths.mjs FOLDER SCREENSHOTS [CHROMIUM]`.
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, page } from "./chromium.mjs";
import { misplaced } from "./looks.mjs";

const [folder, screenshots, path = process.env.CHROMIUM ?? "chromium"] = process.argv.slice(2);
mkdirSync(screenshots, { recursive: true });
const chromium = await browser(path);
const chapters = readdirSync(folder).filter((name) => name.endsWith(".html") && !/^(print|toc|404)\.html$/.test(name));

try {
  const wrong = [];
  for (const wide of [true, false]) {
    const own = await page(chromium, pathToFileURL(resolve(folder, "index.html")).href, wide ? 1280 : 390, 900);
    for (const name of chapters) {
      await own.evaluate(`{ location.href = ${JSON.stringify(pathToFileURL(resolve(folder, name)).href)}; }`);
      await own.until(`location.href.endsWith(${JSON.stringify(name)}) && document.readyState === "complete"`, name);
      for (const theme of ["light", "navy"]) {
        await own.evaluate(`document.querySelector('[id$="theme-${theme}"]').click()`);
        await own.until(`document.documentElement.classList.contains("${theme}") && document.fonts.status === "loaded"`, theme);
        // Two frames: what a theme's style sheet changes is laid out.
        await own.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
        // In a narrow window listings and tables scroll by themselves.
        const cut = wide ? "main, .content, main .table-wrapper, main pre code" : "main, .content";
        const lines = await own.evaluate(`(${misplaced})("${cut}")`);
        wrong.push(...lines.map((line) => `${name} at ${wide ? 1280 : 390}, ${theme}: ${line}`));
        if (["bugs.html", "vocabulary.html", "hopper.html", "first.html"].includes(name)) {
          writeFileSync(join(screenshots, `${name}-${wide ? 1280 : 390}-${theme}.png`), await own.shot());
        }
      }
    }
    await own.send("Page.close");
  }
  assert.deepEqual(wrong, [], "cut, or over each other");
  const own = await page(chromium, pathToFileURL(resolve(folder, "index.html")).href + "?search=swizzle", 1280, 900);
  await own.until("document.querySelectorAll('#mdbook-searchresults li, #searchresults li').length > 2", "what the search finds");
  console.log(`the book: ${chapters.length} chapters at 1280 and 390 pixels, in light and dark, nothing cut, nothing over each other; its search finds words`);
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await chromium.end();
}
