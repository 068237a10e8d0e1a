// The page: what is typed goes to a worker that holds the compiler and the simulator; the answers are shown.
//
// The worker is made of a function's text and the WebAssembly from a script, so that the page works from a file, too.
"use strict";

const started = performance.now();
const $ = (id) => document.getElementById(id);

// A screen reader reads the status; what comes of typing waits for a pause in it.
let later = 0;
function say(text) {
  clearTimeout(later);
  $("status").textContent = text;
}
function sayLater(text) {
  clearTimeout(later);
  later = setTimeout(() => say(text), 300);
}

// ---- the worker ----

function inside() {
  let wasm = null;
  const text = new TextEncoder(), words = new TextDecoder();
  self.onmessage = async (message) => {
    if (message.data.module) {
      wasm = (await WebAssembly.instantiate(message.data.module, {})).exports;
      self.postMessage({ ready: true });
      return;
    }
    const { id, request } = message.data;
    const begun = performance.now();
    try {
      const bytes = text.encode(JSON.stringify(request));
      const to = wasm.room(bytes.length);
      new Uint8Array(wasm.memory.buffer, to, bytes.length).set(bytes);
      const from = wasm.answer();
      const answer = words.decode(new Uint8Array(wasm.memory.buffer, from, wasm.answer_bytes()));
      self.postMessage({ id, answer: JSON.parse(answer), ms: performance.now() - begun });
    } catch (error) {
      self.postMessage({ id, broken: String(error) });
    }
  };
}

async function compiler() {
  const packed = Uint8Array.from(atob(self.LAYOUT_WASM), (letter) => letter.charCodeAt(0));
  const plain = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  return WebAssembly.compile(await plain.arrayBuffer());
}

let module = null, worker = null, next = 0;
const waiting = new Map();

function begin() {
  const source = new Blob([`(${inside})()`], { type: "text/javascript" });
  worker = new Worker(URL.createObjectURL(source));
  const ready = new Promise((resolve) => {
    worker.onmessage = ({ data }) => {
      if (data.ready) return resolve();
      const resolved = waiting.get(data.id);
      waiting.delete(data.id);
      if (!resolved) return;
      if (data.broken) {
        // The instance is no longer to be trusted.
        stop("The compiler gave up: " + data.broken);
        resolved({ answer: { error: "the compiler gave up: " + data.broken }, ms: 0 });
      } else {
        resolved(data);
      }
    };
  });
  worker.postMessage({ module });
  return ready;
}

let alive = null;

/** Ends the worker with whatever it does, and begins another. */
function stop(why) {
  worker.terminate();
  for (const resolved of waiting.values()) resolved({ answer: { stopped_by_hand: true }, ms: 0 });
  waiting.clear();
  alive = begin();
  say(why);
  warm();
}

async function ask(request) {
  await alive;
  const id = ++next;
  return new Promise((resolve) => {
    waiting.set(id, resolve);
    worker.postMessage({ id, request });
  });
}

// Milliseconds: until the compiler is ready and the first picture is drawn, after the page began; of the last request to
// compile and to run, in the worker; and from what somebody typed or picked to the CUDA C that stands there.
const timings = { ready: null, drawn: null, compile: null, run: null, shown: null, warm: null };
self.layoutPage = { timings, ask };

// ---- editors ----

function editor(id, typed, moved) {
  const box = document.querySelector(`[data-editor="${id}"]`);
  const inner = document.createElement("div");
  const back = document.createElement("pre");
  const area = document.createElement("textarea");
  inner.className = "in";
  back.setAttribute("aria-hidden", "true");
  area.id = id;
  area.spellcheck = false;
  area.setAttribute("autocapitalize", "off");
  area.setAttribute("aria-label", "Kernel in Rust. Escape, then Tab, leaves the editor.");
  inner.append(back, area);
  box.append(inner);
  let lit = new Set(), bad = new Set(), notes = new Map(), leaving = false;
  // Once for all that happens before the next frame: what is inserted may come as an event for each line.
  let due = false;
  const draw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; drawn(); });
  };
  const drawn = () => {
    back.replaceChildren(...area.value.split("\n").map((line, at) => {
      const own = document.createElement("span");
      own.textContent = line;
      own.dataset.line = at + 1;
      own.classList.toggle("lit", lit.has(at + 1));
      own.classList.toggle("bad", bad.has(at + 1));
      if (notes.has(at + 1)) own.dataset.note = notes.get(at + 1);
      return own;
    }));
  };
  area.addEventListener("input", () => { bad = new Set(); notes = new Map(); draw(); typed(); });
  area.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leaving = true;
    else if (event.key === "Tab" && !leaving && !event.shiftKey) {
      event.preventDefault();
      document.execCommand("insertText", false, "    ");
    } else if (event.key !== "Shift") leaving = false;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      box.closest("section").querySelector("form").requestSubmit();
    }
  });
  const line = () => area.value.slice(0, area.selectionStart).split("\n").length;
  for (const event of ["keyup", "click"]) area.addEventListener(event, () => moved(line()));
  return {
    get text() { return area.value; },
    set text(value) { area.value = value; lit = new Set(); bad = new Set(); notes = new Map(); box.scrollTop = 0; draw(); },
    light(lines) { lit = new Set(lines); draw(); },
    mark(lines) { bad = new Set(lines); draw(); },
    note(lines) { notes = lines; draw(); },
    go(row, column) {
      const before = area.value.split("\n").slice(0, row - 1).join("\n").length + (row > 1 ? 1 : 0);
      area.focus();
      area.setSelectionRange(before + Math.max(0, column - 1), before + Math.max(0, column - 1));
      box.scrollTop = Math.max(0, (row - 8) * 19);
    },
    show(row) {
      const top = (row - 1) * 19;
      if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 40) box.scrollTop = Math.max(0, top - 120);
    },
  };
}

/** Calls once, a moment after the last of many calls. */
function soon(what, ms) {
  let timer = 0;
  return () => { clearTimeout(timer); timer = setTimeout(what, ms); };
}

// ---- kernels ----

let cudaLines = [], known = { kernels: [], layouts: [], exercises: [] };

const kernel = editor("kernel-text", () => { $("kernel-pick").selectedIndex = -1; changed(); }, (line) => light(line, false));

let litLine = 0;
function light(line, fromCuda) {
  litLine = line;
  const rows = [...$("cuda").children];
  let first = null;
  rows.forEach((row, at) => {
    const own = line > 0 && cudaLines[at] === line;
    row.classList.toggle("lit", own);
    row.setAttribute("aria-selected", own);
    if (own && !first) first = row;
  });
  kernel.light(line > 0 ? [line] : []);
  if (fromCuda) kernel.show(line);
  else if (first) $("cuda").scrollTop = Math.max(0, first.offsetTop - $("cuda").offsetTop - 120);
}

function cuda(answer) {
  cudaLines = answer.lines;
  $("cuda").classList.remove("old");
  const rows = answer.cuda.replace(/\n$/, "").split("\n").map((text, at) => {
    const row = document.createElement("div");
    row.textContent = text;
    row.dataset.line = cudaLines[at];
    row.id = `cuda-${at + 1}`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", "false");
    row.addEventListener("click", () => { chosen = at; light(cudaLines[at], true); });
    row.addEventListener("mouseenter", () => { if (cudaLines[at]) light(cudaLines[at], true); });
    return row;
  });
  $("cuda").replaceChildren(...rows);
  const times = (list) => list.join(" × ");
  $("cuda-facts").textContent = `${answer.variant}; grid ${times(answer.grid)}, block ${times(answer.block)}`;
  $("cuda").removeAttribute("aria-activedescendant");
  chosen = 0;
  // What was lit before stays lit: the cursor is on the same line.
  if (document.activeElement.id === "kernel-text") light(litLine, false);
}

// ---- what each access moves ----

/** `16 bytes, asynchronous`: how much a thread moves at once, and by which means. */
function moved(access) {
  const parts = access.bytes ? [`${access.bytes} ${access.bytes === 1 ? "byte" : "bytes"}`] : [];
  if (access.means !== "by the thread" || !parts.length) parts.push(access.means);
  return parts.join(", ");
}

/** At the end of each line what it moves; below the CUDA C the same as a table, with what was lost and the way out. */
function explained(accesses) {
  const notes = new Map();
  for (const one of accesses) {
    const lost = one.lost.map((lost) => ", " + lost.what).join("");
    const word = `${one.tensor} ${moved(one)}${lost}`;
    notes.set(one.line, notes.has(one.line) ? `${notes.get(one.line)}; ${word}` : word);
  }
  kernel.note(notes);
  const place = $("kernel-accesses");
  place.hidden = !accesses.length;
  const rows = accesses.map((one) => {
    const row = element("tr"), go = element("button", `line ${one.line}`);
    go.type = "button";
    go.addEventListener("click", () => kernel.go(one.line, one.column));
    const first = element("th");
    first.scope = "row";
    first.append(go);
    row.append(first, element("td", one.tensor), element("td", `${one.space} ${one.writes ? "write" : "read"}`),
      element("td", moved(one)), element("td", one.lost.map((lost) => `${lost.what}: ${lost.reason}`).join("; ")),
      element("td", one.lost.map((lost) => lost.help).join("; ")));
    row.addEventListener("mouseenter", () => light(one.line, true));
    return row;
  });
  place.querySelector("tbody").replaceChildren(...rows);
}

let chosen = 0;
$("cuda").addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || !cudaLines.length) return;
  event.preventDefault();
  chosen = Math.min(cudaLines.length - 1, Math.max(0, chosen + step));
  light(cudaLines[chosen], true);
  $("cuda").setAttribute("aria-activedescendant", `cuda-${chosen + 1}`);
  $("cuda").children[chosen].scrollIntoView({ block: "nearest" });
});

function mistakes(list, place, own) {
  place.replaceChildren(...list.map((mistake) => {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    const where = mistake.line ? `line ${mistake.line}, column ${mistake.column}: ` : "";
    button.textContent = where + mistake.message;
    button.addEventListener("click", () => own.go(mistake.line || 1, mistake.column || 1));
    row.append(button);
    return row;
  }));
  own.mark(list.map((mistake) => mistake.line));
}

function told(answer) {
  return answer.mistakes || (answer.error ? [{ line: 0, message: answer.error }] : []);
}

/** Shows the CUDA C of the text as it is, or its mistakes. */
async function compileOnce() {
  const since = changedAt;
  const { answer, ms } = await ask({ ask: "compile", text: kernel.text, sizes: $("kernel-sizes").value });
  if (answer.stopped_by_hand) {
    stale = true;
    return;
  }
  const list = told(answer);
  mistakes(list, $("kernel-mistakes"), kernel);
  if (list.length) {
    sayLater(`${list.length} ${list.length === 1 ? "mistake" : "mistakes"}: ${list[0].message}`);
    $("cuda").classList.add("old");
    $("cuda-facts").textContent = "of the text before the mistake";
    $("kernel-accesses").hidden = true;
    return;
  }
  cuda(answer);
  explained(answer.accesses);
  timings.compile = ms;
  timings.shown = performance.now() - since;
  sayLater(`CUDA C in ${ms.toFixed(0)} ms.`);
}

let changedAt = started, compiling = false, stale = false;
/** At once where the worker is free; else when it has answered, of the text that there is then. */
async function compile() {
  stale = true;
  if (compiling) return;
  compiling = true;
  while (stale) {
    stale = false;
    await compileOnce();
  }
  compiling = false;
}

let changing = 0;
function changed() {
  changedAt = performance.now();
  $("kernel-report").replaceChildren();
  clearTimeout(changing);
  changing = setTimeout(compile);
}

function busy(on) { for (const id of ["kernel-stop", "exercise-stop"]) $(id).disabled = !on; }

function element(name, text, kind) {
  const own = document.createElement(name);
  if (text !== undefined) own.textContent = text;
  if (kind) own.className = kind;
  return own;
}

const COUNTS = [["instructions", "instructions"], ["flops", "flops"], ["global_requests", "global requests"],
  ["global_sectors", "global sectors"], ["shared_requests", "shared requests"], ["bank_conflicts", "bank conflicts"]];

function counted(answer) {
  const table = element("table");
  table.append(element("caption", "What each line of the kernel did, all blocks together"));
  const head = element("tr");
  for (const name of ["line", ...COUNTS.map(([, name]) => name)]) {
    const cell = element("th", name);
    cell.scope = "col";
    head.append(cell);
  }
  table.append(head);
  for (const row of [...answer.lines, { line: "all", ...answer.totals }]) {
    const own = element("tr");
    own.append(element("th", row.line));
    for (const [key] of COUNTS) own.append(element("td", row[key].toLocaleString("en")));
    if (row.line !== "all") own.addEventListener("mouseenter", () => light(row.line, true));
    table.append(own);
  }
  return table;
}

function report(answer, ms) {
  const parts = [];
  if (!answer.findings.length) {
    parts.push(element("p", `Nothing found. ${answer.blocks} blocks in ${ms.toFixed(0)} ms.`, "good"));
  } else {
    parts.push(element("h2", "The simulator found"));
    const list = element("ul", undefined, "mistakes");
    parts.push(list);
    const shown = answer.findings.map((finding) => ({
      line: finding.line, column: 1,
      message: `${finding.kind}: ${finding.message}; thread ${finding.thread.join(", ")} of block ` +
        `${finding.block.join(", ")}` + (finding.count > 1 ? `, ${finding.count} times in all` : ""),
    }));
    mistakes(shown, list, kernel);
  }
  parts.push(counted(answer));
  for (const tensor of answer.tensors) {
    const more = tensor.values.length < tensor.of ? " .." : "";
    parts.push(element("h2", `${tensor.name}, ${tensor.shape.join(" × ")}`));
    parts.push(element("pre", tensor.values.join(", ") + more));
  }
  $("kernel-report").replaceChildren(...parts);
}

$("kernel-bar").addEventListener("submit", async (event) => {
  event.preventDefault();
  say("Running on the simulator.");
  busy(true);
  const { answer, ms } = await ask({ ask: "run", text: kernel.text, sizes: $("kernel-sizes").value });
  busy(false);
  if (answer.stopped_by_hand) return;
  const list = told(answer);
  if (list.length) {
    mistakes(list, $("kernel-mistakes"), kernel);
    return say(list[0].message);
  }
  timings.run = ms;
  report(answer, ms);
  const found = answer.findings.length;
  say(found ? `${found} ${found === 1 ? "finding" : "findings"}: ${answer.findings[0].kind}.` : "Nothing found.");
});
for (const id of ["kernel-stop", "exercise-stop"]) {
  $(id).addEventListener("click", () => { busy(false); stop("Stopped."); });
}

$("kernel-pick").addEventListener("change", () => {
  const own = known.kernels[$("kernel-pick").value];
  if (!own) return;
  kernel.text = own.text;
  $("kernel-sizes").value = own.sizes;
  changed();
});
$("kernel-sizes").addEventListener("input", changed);

// ---- layouts ----

async function draw() {
  const number = (id) => Number($(id).value) || 1;
  const request = { ask: "layout", text: $("layout-text").value, picture: $("layout-picture").value,
    rows: number("layout-rows"), columns: number("layout-columns"), bytes: number("layout-bytes") };
  const { answer, ms } = await ask(request);
  if (answer.stopped_by_hand) return;
  $("layout-error").textContent = answer.error || answer.no_picture || "";
  for (const own of document.querySelectorAll(".tile")) own.hidden = request.picture !== "threads";
  $("layout-value").textContent = answer.error ? "" : `${answer.value}   ${answer.facts || ""}`;
  const steps = (answer.steps || []).map((step) => element("li", step));
  $("layout-steps").replaceChildren(...steps);
  // The picture is our own text: numbers and colours, no script.
  $("layout-svg").innerHTML = answer.svg || "";
  const picture = $("layout-svg").querySelector("svg");
  if (picture) {
    picture.setAttribute("role", "img");
    picture.setAttribute("aria-label", `Picture of ${answer.value}; the table below says the same`);
  }
  $("layout-table").textContent = answer.table || "";
  if (timings.drawn === null) timings.drawn = performance.now() - started;
  if (!answer.error) say(`Drawn in ${ms.toFixed(0)} ms.`);
}
const redraw = soon(draw, 120);
$("layout-bar").addEventListener("submit", (event) => { event.preventDefault(); draw(); });
$("layout-bar").addEventListener("input", (event) => { if (event.target.id !== "layout-pick") redraw(); });
$("layout-pick").addEventListener("change", () => {
  const own = known.layouts[$("layout-pick").value];
  if (!own) return;
  $("layout-text").value = own.text;
  $("layout-picture").value = own.picture;
  draw();
});

// ---- exercises ----

const exercise = editor("exercise-text", () => {}, () => {});
const chosenExercise = () => known.exercises[$("exercise-pick").value];
function takeUp() {
  const own = chosenExercise();
  if (!own) return;
  exercise.text = own.text;
  $("exercise-hint").textContent = own.hint;
  $("exercise-solution").textContent = own.solution;
  $("exercise-said").textContent = "";
}
$("exercise-pick").addEventListener("change", takeUp);
$("exercise-again").addEventListener("click", takeUp);
$("exercise-bar").addEventListener("submit", async (event) => {
  event.preventDefault();
  busy(true);
  const { answer } = await ask({ ask: "check", name: chosenExercise().name, text: exercise.text });
  busy(false);
  if (answer.stopped_by_hand) return;
  $("exercise-said").textContent = answer.said || answer.error;
  $("exercise-said").className = answer.right ? "good" : "mistakes";
  exercise.mark((answer.mistakes || answer.findings || []).map((one) => one.line));
  say(answer.right ? "Right." : "Not yet.");
});

// ---- tabs, theme, link ----

const tabs = ["kernel", "layout", "exercise"];
let tab = "kernel";
function open(name) {
  tab = name;
  for (const own of tabs) {
    $(own).hidden = own !== name;
    $("tab-" + own).setAttribute("aria-selected", own === name);
    $("tab-" + own).tabIndex = own === name ? 0 : -1;
  }
}
for (const own of tabs) {
  $("tab-" + own).addEventListener("click", () => open(own));
  $("tab-" + own).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: tabs.length - 1 }[event.key];
    if (!step) return;
    open(tabs[(tabs.indexOf(own) + step) % tabs.length]);
    $("tab-" + tab).focus();
  });
}

function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", dark);
}
theme(matchMedia("(prefers-color-scheme: dark)").matches);
$("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme !== "dark"));

function state() {
  if (tab === "layout") return { tab, text: $("layout-text").value, picture: $("layout-picture").value };
  if (tab === "exercise") return { tab, name: chosenExercise().name, text: exercise.text };
  return { tab, text: kernel.text, sizes: $("kernel-sizes").value };
}
$("link").addEventListener("click", async () => {
  const bytes = new TextEncoder().encode(JSON.stringify(state()));
  location.hash = btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  try {
    await navigator.clipboard.writeText(location.href);
    say("The link is copied.");
  } catch {
    say("The link is in the address bar.");
  }
});
function linked() {
  try {
    const plain = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(plain, (letter) => letter.charCodeAt(0))));
  } catch {
    return null;
  }
}

function options(select, list, name) {
  select.replaceChildren(...list.map((one, at) => new Option(name(one), at)));
}

async function main() {
  module = await compiler();
  alive = begin();
  known = (await ask({ ask: "examples" })).answer;
  options($("kernel-pick"), known.kernels, (one) => one.name);
  options($("layout-pick"), known.layouts, (one) => one.name);
  options($("exercise-pick"), known.exercises, (one) => `${one.name}: ${one.title}`);
  timings.ready = performance.now() - started;
  const from = (location.hash.length > 1 && linked()) || {};
  const first = known.layouts[0];
  $("layout-text").value = from.tab === "layout" ? from.text : first.text;
  $("layout-picture").value = from.picture || first.picture;
  $("exercise-pick").value = Math.max(0, known.exercises.findIndex((one) => one.name === from.name));
  takeUp();
  if (from.tab === "exercise") exercise.text = from.text;
  const start = known.kernels[3];
  $("kernel-pick").selectedIndex = from.tab === "kernel" ? -1 : 3;
  kernel.text = from.tab === "kernel" ? from.text : start.text;
  $("kernel-sizes").value = from.tab === "kernel" ? from.sizes : start.sizes;
  open(tabs.includes(from.tab) ? from.tab : "kernel");
  await draw();
  const warmed = warm();
  await compile();
  await warmed;
}

/** The first answers of an instance are slow, as the browser compiles its functions when they are first called. So it
 * answers for what can be picked while nobody asks for anything, the longest kernel first. */
async function warm() {
  const own = worker;
  const list = [...known.kernels].sort((one, other) => other.text.length - one.text.length);
  for (const { text, sizes } of list) {
    while (waiting.size) await new Promise((resolve) => setTimeout(resolve, 50));
    if (own !== worker) return;
    await ask({ ask: "compile", text, sizes });
    // Whoever types is asked first: the next one waits for a pause.
    if (!stale && performance.now() - changedAt < 300) await new Promise((resolve) => setTimeout(resolve, 300));
  }
  timings.warm = performance.now() - started;
}
main().catch((error) => say("The compiler did not load: " + error));
