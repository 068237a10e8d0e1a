// What no window may show: a document wider than the window, text that its box cuts, texts over each other.
import { page } from "./chromium.mjs";

/**
 * Runs in a page, as text. `cut` selects the boxes that may not scroll sideways, `over` those that cover others on purpose.
 */
export function misplaced(cut, over) {
  const found = [];
  const say = (what, text) => found.push(`${what}: ${text.trim().slice(0, 60)}`);
  if (document.documentElement.scrollWidth > innerWidth + 1) say("wider than the window", String(document.documentElement.scrollWidth));
  for (const own of document.querySelectorAll(cut)) {
    if (own.scrollWidth > own.clientWidth + 1) say(`cut, ${own.scrollWidth} of ${own.clientWidth}`, own.textContent);
  }
  // The part of an element that its scrolling ancestors show.
  const windows = new Map();
  const shown = (own) => {
    if (!own || own === document.documentElement) return [-Infinity, -Infinity, Infinity, Infinity];
    if (windows.has(own)) return windows.get(own);
    let part = shown(own.parentElement);
    const { overflowX, overflowY } = getComputedStyle(own);
    if (overflowX !== "visible" || overflowY !== "visible") {
      const box = own.getBoundingClientRect();
      part = [Math.max(part[0], box.left), Math.max(part[1], box.top), Math.min(part[2], box.right), Math.min(part[3], box.bottom)];
    }
    windows.set(own, part);
    return part;
  };
  const boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const own = node.parentElement;
    if (!node.data.trim() || own.closest("svg, script, style, noscript, option, textarea, [aria-hidden=true]")) continue;
    if (!own.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || (over && own.closest(over))) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const part = shown(own);
    for (const rect of range.getClientRects()) {
      const box = [Math.max(rect.left, part[0]), Math.max(rect.top, part[1]), Math.min(rect.right, part[2]), Math.min(rect.bottom, part[3])];
      if (box[2] - box[0] > 2 && box[3] - box[1] > 2) boxes.push({ box, node });
    }
  }
  // The boxes of neighbouring lines overlap by what the font leaves above and below its letters: less than a third.
  boxes.sort((a, b) => a.box[1] - b.box[1]);
  boxes.forEach(({ box: a, node }, i) => {
    for (let j = i + 1; j < boxes.length && boxes[j].box[1] < a[3]; ++j) {
      const b = boxes[j].box;
      const across = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
      const down = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
      if (boxes[j].node !== node && across > 2 && down > 0.34 * Math.min(a[3] - a[1], b[3] - b[1])) {
        say("over each other", `${node.data.trim().slice(0, 25)} | ${boxes[j].node.data.trim().slice(0, 25)}`);
      }
    }
  });
  return found;
}

/** What is misplaced on the page at both widths, in light and dark: each of its tabs, the first with a kernel that has findings. */
export async function looked(chromium, url, racy, keep) {
  const wrong = [];
  for (const width of [1280, 390]) {
    const own = await page(chromium, url, width, 900);
    await own.until("globalThis.layoutPage?.timings.compile > 0", "the first kernel");
    await own.evaluate("{ const own = document.getElementById('kernel-text'); own.focus(); own.select(); }");
    await own.type(racy);
    await own.until("document.getElementById('cuda').textContent.includes('twice')", "CUDA C of what was typed");
    await own.key("Enter", 13, 2);
    await own.until("document.querySelector('#kernel-report table')", "a report");
    await own.evaluate("document.getElementById('kernel-draw').click()");
    await own.until("document.querySelector('#kernel-timeline svg')", "a timeline");
    for (const tab of ["kernel", "layout", "exercise"]) {
      await own.evaluate(`document.getElementById('tab-${tab}').click()`);
      for (const theme of ["light", "dark"]) {
        await own.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
        const found = await own.evaluate(`(${misplaced})("header, .bar, .mistakes, #status", "#kernel-mistakes")`);
        wrong.push(...found.map((line) => `${tab} at ${width}, ${theme}: ${line}`));
        keep(`${tab}-${width}-${theme}`, await own.shot());
      }
    }
    await own.send("Page.close");
  }
  return wrong;
}
