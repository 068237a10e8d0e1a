// Drives the page in headless Chromium: a layout, a kernel, a wrong kernel, a racy one, an endless one, an exercise; by
// keyboard; in light and dark. `node drive.mjs PAGE.html SCREENSHOTS [CHROMIUM]`; fails with what is wrong.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, resolve, join } from "node:path";
import { pathToFileURL } from "node:url";
import { browser, page } from "./chromium.mjs";
import { looked } from "./looks.mjs";

const [file, folder, path = process.env.CHROMIUM ?? "chromium"] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const chromium = await browser(path);
const url = pathToFileURL(resolve(file)).href;
const own = await page(chromium, url);
const shot = async (name) => writeFileSync(join(folder, name + ".png"), await own.shot());
const status = () => own.evaluate("document.getElementById('status').textContent");
const text = (id) => own.evaluate(`document.getElementById('${id}').textContent`);

/** Puts a kernel into the editor as typing does. */
async function typed(id, kernel) {
  await own.evaluate(`{ const own = document.getElementById('${id}'); own.focus(); own.select(); }`);
  await own.type(kernel);
}
const TWICE = `#[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
fn twice<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 32 + thread_idx.x;
    if i < N {
        y[[i]] = 2.0 * x[[i]];
    }
}
`;

/** Runs in the page: the texts with too little contrast. */
function faint() {
  const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
  const light = (colour) => {
    const [r, g, b] = numbers(colour).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (own) => {
    for (let at = own; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (numbers(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const own of document.querySelectorAll("body *")) {
    const has = [...own.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if ((!has && own.tagName !== "TEXTAREA") || !own.checkVisibility() || own.closest("svg, [aria-hidden], script") || own.disabled) continue;
    const [a, b] = [light(getComputedStyle(own).color), light(behind(own))].sort((a, b) => b - a);
    if ((a + 0.05) / (b + 0.05) < 4.5) found.push(`${own.tagName} ${own.id}: ${own.textContent.slice(0, 30)}`);
  }
  return found;
}

try {
  await own.until("layoutPage.timings.compile !== null", "the first kernel");
  // Three fresh pages, as somebody sees them who is quick: the first kernel stands there, and one of a hundred lines is put
  // in. What other work of the machine adds is not the page's, so the least of three counts; all are printed.
  const long = await own.evaluate(`(async () => {
    const { answer } = await layoutPage.ask({ ask: "examples" });
    return answer.kernels.find((kernel) => kernel.name === "attention").text;
  })()`);
  const hundred = long + "// The end.\n".repeat(Math.max(0, 100 - long.split("\n").length));
  const putIn = async (page, name) => {
    await page.evaluate("{ const own = document.getElementById('kernel-text'); own.focus(); own.select(); }");
    await page.type(hundred.replaceAll("attention_simple", name));
    await page.until(`document.getElementById('cuda').textContent.includes('${name}')`, `CUDA C of ${name}`);
    return page.evaluate("layoutPage.timings.shown");
  };
  const drawn = [], cold = [], warm = [];
  for (let i = 0; i < 3; ++i) {
    const fresh = await page(chromium, url);
    await fresh.until("layoutPage.timings.compile !== null", "the first kernel");
    drawn.push(await fresh.evaluate("layoutPage.timings.drawn"));
    cold.push(await putIn(fresh, "attention_cold"));
    await fresh.send("Page.close");
  }
  await own.until("layoutPage.timings.warm !== null", "the instance to be warm", 120000);
  for (let i = 0; i < 3; ++i) warm.push(await putIn(own, `attention_${i}`));
  const round = (list) => list.map(Math.round).join(", ");
  console.log(`ms: first drawing after ${round(drawn)}; ${hundred.split("\n").length} lines from typing to CUDA C at once ${round(cold)}, later ${round(warm)}`);
  await shot("attention");
  await own.evaluate(`{ const own = document.getElementById('kernel-pick'); own.selectedIndex = 3; own.dispatchEvent(new Event('change')); }`);
  await own.until("document.getElementById('cuda').textContent.includes('tiled_BM32')", "CUDA C of what was picked");
  await shot("kernel-light");

  // The kernel comes first, in colour.
  assert.match(await own.evaluate("document.querySelector('#cuda div').textContent"), /__global__/);
  assert.ok(await own.evaluate("document.querySelectorAll('#kernel .editor .hljs-keyword').length > 5 && document.querySelectorAll('#cuda .hljs-type').length > 5"), "colours");
  assert.ok(await own.evaluate("[...document.querySelectorAll('#kernel .editor pre > span')].every((row) => row.offsetHeight === 19)"), "a line of the editor is not where it is typed");

  // What each access moves stands at its line, and in a table that a screen reader finds.
  const notes = await own.evaluate("[...document.querySelectorAll('#kernel .editor [data-note]')].map((row) => `${row.dataset.line}: ${row.dataset.note}`)");
  assert.ok(notes.some((note) => /a 4 bytes, asynchronous, masked/.test(note)), `notes: ${notes}`);
  assert.match(await text("kernel-accesses"), /masked: .*not proved/);

  // A kernel becomes CUDA C, and the lines that belong together light up together.
  await typed("kernel-text", TWICE);
  await own.until("document.getElementById('cuda').textContent.includes('twice')", "CUDA C of what was typed");
  await own.evaluate(`{ const own = document.getElementById('kernel-text');
    own.setSelectionRange(${TWICE.indexOf("y[[i]]")}, ${TWICE.indexOf("y[[i]]")}); own.dispatchEvent(new Event("keyup")); }`);
  const lit = await own.evaluate("[...document.querySelectorAll('#cuda .lit')].map((row) => row.textContent.trim())");
  assert.ok(lit.length === 1 && /y\[i\] = /.test(lit[0]), `lit: ${lit}`);

  // A wrong kernel: the mistake has its place, and the button goes there.
  await typed("kernel-text", TWICE.replace("2.0 * x", "2.0 * z"));
  await own.until("document.querySelector('#kernel-mistakes button')", "a mistake");
  assert.match(await text("kernel-mistakes"), /line 5, column 24/);
  await own.until("document.querySelector('.editor .bad')?.dataset.line === '5'", "the line to be marked");
  assert.match(await own.evaluate("document.querySelector('.editor .bad').dataset.note"), /cannot find `z`/);
  const below = "(() => { const own = document.getElementById('kernel-mistakes'); return own.getBoundingClientRect().bottom > innerHeight || own.scrollWidth > own.clientWidth; })()";
  assert.equal(await own.evaluate(below), false, "the mistake is cut, or below the fold");
  await own.evaluate("document.querySelector('#kernel-mistakes button').click()");
  assert.equal(await own.evaluate("document.activeElement.id"), "kernel-text");
  await shot("mistake");

  // A racy kernel, by keyboard: Ctrl+Enter runs it.
  await typed("kernel-text", TWICE.replace("y[[i]]", "y[[0]]"));
  await own.until("!document.querySelector('#kernel-mistakes button')", "no mistake");
  await own.key("Enter", 13, 2);
  await own.until("document.querySelector('#kernel-report table')", "a report");
  assert.match(await text("kernel-mistakes"), /write-write race/);
  assert.match(await status(), /finding/);
  await shot("race");

  // A right one: nothing found, the numbers are there.
  await typed("kernel-text", TWICE);
  await own.until("!document.querySelector('#kernel-report table')", "the report goes with the text");
  await own.key("Enter", 13, 2);
  await own.until("document.querySelector('#kernel-report .good')", "nothing found");
  assert.match(await text("kernel-report"), /-10, 4, -4/);

  // What a run does step by step: warps, copies, matrix units and barriers have rows, the text below says the same.
  await own.evaluate(`{ const own = document.getElementById('kernel-pick'); own.selectedIndex = [...own.options].findIndex((one) => one.text === 'products of a warpgroup'); own.dispatchEvent(new Event('change')); }`);
  await own.until("document.getElementById('cuda').textContent.includes('wgmma_simple')", "CUDA C of what was picked");
  await own.evaluate("document.getElementById('kernel-draw').click()");
  await own.until("document.querySelector('#kernel-timeline svg rect.waits')", "a timeline");
  const kinds = await own.evaluate("['warp', 'waits', 'copies', 'matrix', 'mbarrier'].filter((kind) => document.querySelector(`#kernel-timeline svg rect.${kind}`))");
  assert.ok(kinds.length === 5 && await own.evaluate("document.querySelector('#kernel-timeline svg circle.arrow') !== null"), `kinds: ${kinds}`);
  assert.match(await text("kernel-timeline"), /warp 0: .*line \d+.*\n?.*matrix unit 0: /s);
  await own.evaluate("{ const own = document.querySelector('#kernel-timeline svg rect.matrix'); own.dispatchEvent(new MouseEvent('click', { bubbles: true })); }");
  assert.ok(await own.evaluate("document.querySelectorAll('#cuda .lit').length > 0"), "the line of a span");
  await own.evaluate("document.getElementById('kernel-timeline').scrollIntoView()");
  await shot("timeline");
  // One that is right in the first order of warps only: both orders can be chosen, the wrong one is shown.
  await typed("kernel-text", "#[tiled_kernel(block = [64], grid = [1])]\nfn in_order(x: &mut LayoutTensor<u32, RowMajor<1>>) {\n    if lane_id() == 0 {\n        let before = x.atomic_add([0], 1);\n        assert!(before == warp_id() as u32);\n    }\n    barrier();\n}\n");
  await own.until("document.getElementById('cuda').textContent.includes('in_order') && document.getElementById('kernel-timeline').hidden", "the timeline goes with the text");
  await own.evaluate("document.getElementById('kernel-draw').click()");
  await own.until("document.querySelector('#kernel-timeline svg line.finding')", "the order that fails");
  assert.equal(await own.evaluate("document.querySelectorAll('#kernel-timeline select')[0].options.length"), 2);
  assert.match(await text("kernel-timeline"), /line 5: .*assert/);
  await typed("kernel-text", TWICE);
  await own.until("document.getElementById('cuda').textContent.includes('twice')", "CUDA C of what was typed");

  // An endless one can be stopped, and the page works on. It is one of which each round differs from all before: that a
  // loop repeats itself the simulator sees at once.
  await typed("kernel-text", TWICE.replace("y[[i]] = ", "let mut k = 0u32; while k != 1 { k += 2; }\n        y[[i]] = k as f32 * "));
  await own.until("document.getElementById('cuda').textContent.includes('while')", "the endless kernel's CUDA C");
  // The page itself presses the button as soon as it can be pressed: the simulator gives up by itself after a second or so.
  await own.evaluate(`{ const stop = document.getElementById('kernel-stop');
    const timer = setInterval(() => { if (!stop.disabled) { clearInterval(timer); stop.click(); } }, 5); }`);
  await own.key("Enter", 13, 2);
  await own.until("document.getElementById('status').textContent === 'Stopped.'", "the end");
  await typed("kernel-text", TWICE);
  await own.until("document.getElementById('cuda').textContent.includes('2.0f')", "CUDA C after the stop");

  // Each step of the ladder at 64 x 64 x 64.
  const ladder = await own.evaluate(`(async () => {
    const { answer } = await layoutPage.ask({ ask: "examples" });
    const times = [];
    for (const kernel of answer.kernels.filter((kernel) => /^product \\d/.test(kernel.name))) {
      const made = await layoutPage.ask({ ask: "compile", text: kernel.text, sizes: kernel.sizes });
      const run = await layoutPage.ask({ ask: "run", text: kernel.text, sizes: kernel.sizes });
      times.push([kernel.name, Math.round(made.ms), Math.round(run.ms), run.answer.findings.length]);
    }
    return times;
  })()`);
  console.log("ladder: name, compile ms, run ms, findings:", JSON.stringify(ladder));
  assert.ok(ladder.length === 7 && ladder.every(([, , , findings]) => findings === 0));

  // A layout, by the tabs' arrow keys.
  await own.evaluate("document.getElementById('tab-kernel').focus()");
  await own.key("ArrowRight", 39);
  assert.equal(await own.evaluate("document.activeElement.id"), "tab-layout");
  await own.evaluate("{ const own = document.getElementById('layout-text'); own.focus(); own.select(); }");
  await own.type("logical_divide((4,8):(8,1), (2,4))");
  await own.until("document.getElementById('layout-value').textContent.includes('((2,2),(4,2)):((8,16),(1,4))')", "the value");
  await own.until("document.querySelectorAll('#layout-svg svg text').length > 30", "the picture");
  await shot("layout");
  await own.type(" nonsense(");
  await own.until("document.getElementById('layout-error').textContent !== ''", "an error");

  // An exercise: its start is not right, our solution is.
  await own.evaluate("document.getElementById('tab-exercise').click()");
  await own.evaluate("{ const own = document.getElementById('exercise-pick'); own.selectedIndex = [...own.options].findIndex((one) => one.text.startsWith('p12:')); own.dispatchEvent(new Event('change')); }");
  await own.evaluate("document.getElementById('exercise-check').click()");
  await own.until("document.getElementById('exercise-said').textContent !== ''", "what is said");
  assert.equal(await status(), "Not yet.");
  await shot("exercise");
  await typed("exercise-text", await text("exercise-solution"));
  await own.evaluate("document.getElementById('exercise-check').click()");
  await own.until("document.getElementById('status').textContent === 'Right.'", "our solution to be right");

  // Dark, and the link.
  await own.evaluate("document.getElementById('tab-kernel').click(); document.getElementById('theme').click()");
  await own.key("Enter", 13, 2);
  await shot("kernel-dark");
  await own.evaluate("document.getElementById('link').click()");
  await own.until("location.hash.length > 100", "a link");
  const linked = await page(chromium, await own.evaluate("location.href"), 700, 900);
  await linked.until("layoutPage.timings.compile !== null", "the linked page");
  assert.equal(await linked.evaluate("document.getElementById('kernel-text').value"), TWICE);
  assert.ok(await linked.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), "a narrow window needs no scrolling");
  writeFileSync(join(folder, "narrow.png"), await linked.shot());

  // Nothing is cut and nothing covers another text, at 1280 and at 390 pixels, in light and dark.
  const racy = TWICE.replace("y[[i]]", "y[[0]]");
  const keep = (name, picture) => writeFileSync(join(folder, `page-${name}.png`), picture);
  assert.deepEqual(await looked(chromium, url, racy, keep), [], "cut, or over each other");

  // Without a network the page opens and compiles as before: everything is in its folder.
  await own.send("Network.emulateNetworkConditions", { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 });
  await own.send("Page.reload");
  await own.until("globalThis.layoutPage?.timings.compile > 0", "the page without a network");

  // By keyboard: Tab goes through the controls, and out of the editor after Escape.
  await own.evaluate("document.getElementById('tab-kernel').focus()");
  const order = [];
  for (let i = 0; i < 12; ++i) {
    if (order.at(-1) === "kernel-text") await own.key("Escape", 27);
    await own.key("Tab", 9);
    order.push(await own.evaluate("document.activeElement.id"));
  }
  const wanted = ["link", "theme", "kernel-pick", "kernel-sizes", "kernel-run", "kernel-text", "cuda"];
  assert.deepEqual(order.filter((id) => wanted.includes(id)).slice(0, wanted.length), wanted, `the order of Tab: ${order}`);
  await own.evaluate("document.getElementById('cuda').focus()");
  await own.key("ArrowDown", 40);
  const active = "document.getElementById(document.getElementById('cuda').getAttribute('aria-activedescendant'))";
  assert.equal(await own.evaluate(`${active}?.getAttribute('role')`), "option");

  // Every text can be read: 4.5 to 1 against what is behind it, in light and in dark.
  for (const theme of ["light", "dark"]) {
    await own.evaluate(`document.documentElement.dataset.theme = '${theme}'`);
    assert.deepEqual(await own.evaluate(`(${faint})()`), [], `too faint in ${theme}`);
  }

  // Everything that can be operated has a name.
  const tree = await own.send("Accessibility.getFullAXTree");
  const roles = new Set(["button", "textbox", "combobox", "tab", "listbox", "spinbutton"]);
  const unnamed = tree.nodes.filter((node) => !node.ignored && roles.has(node.role?.value) && !node.name?.value);
  assert.deepEqual(unnamed.map((node) => node.role.value), [], "controls without a name");

  // The book around the page, where it was built: it opens without a network, too.
  const around = join(dirname(resolve(file)), "..", "hopper.html");
  const book = existsSync(around) ? await page(chromium, pathToFileURL(around).href) : null;
  if (book) {
    await book.until("document.querySelectorAll('main pre').length > 4", "the book's listings");
    writeFileSync(join(folder, "book.png"), await book.shot());
  }

  assert.deepEqual([...own.problems, ...linked.problems, ...(book?.problems ?? [])], [], "errors of the page, or requests to a network");
  // Milliseconds, generous to a machine that does much else at once; what is usual is printed above.
  const most = Number(process.env.PAGE_PATIENCE ?? 1);
  const least = (list) => Math.min(...list);
  assert.ok(least(drawn) < 1000 * most, `the first drawing took ${least(drawn)} ms`);
  assert.ok(least(cold) < 200 * most && least(warm) < 200 * most,
    `a kernel of a hundred lines took ${least(cold)} ms at once and ${least(warm)} ms later`);
  assert.ok(ladder.every(([, made, run]) => made < 200 * most && run < 2000 * most), "the ladder is slow");
  console.log("the page: all as it should be");
} catch (error) {
  await shot("failed");
  console.error(error, "\nstatus:", await status().catch(() => "none"), own.problems);
  process.exitCode = 1;
} finally {
  await chromium.end();
}
