// A kernel: its CUDA C as it is typed, lines that belong together, mistakes, what each access moves, launches.
"use strict";

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

/** The lines of the text, the kernel first: what is in front of it in the file is behind it here. */
function kernelFirst(answer) {
  const lines = answer.cuda.replace(/\n$/, "").split("\n");
  const rows = coloured(lines.join("\n")).map((parts, at) => ({ parts, line: answer.lines[at] }));
  const at = Math.max(0, lines.findIndex((text) => text.includes("__global__")));
  const helpers = rows.slice(0, at);
  if (!helpers.length) return rows;
  const note = [["hljs-comment", "// In front of the kernel:"]];
  return [...rows.slice(at), { parts: [], line: 0 }, { parts: note, line: 0 }, ...helpers];
}

function cuda(answer) {
  const shown = kernelFirst(answer);
  cudaLines = shown.map((row) => row.line);
  $("cuda").classList.remove("old");
  const rows = shown.map(({ parts }, at) => {
    const row = document.createElement("div");
    row.append(...nodes(parts));
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
    const where = mistake.line ? `line ${mistake.line}${mistake.column ? `, column ${mistake.column}` : ""}: ` : "";
    button.textContent = where + mistake.message;
    button.addEventListener("click", () => own.go(mistake.line || 1, mistake.column || 1));
    row.append(button);
    return row;
  }));
  own.mark(list);
}

const mistakesOf = (answer) => answer.mistakes || (answer.error ? [{ line: 0, message: answer.error }] : []);

/** Shows why a kernel was not run, if it was not. */
function refused(answer) {
  const list = mistakesOf(answer);
  if (!list.length) return false;
  mistakes(list, $("kernel-mistakes"), kernel);
  say(list[0].message);
  return true;
}

/** Shows the CUDA C of the text as it is, or its mistakes. */
async function compileOnce() {
  const since = changedAt;
  const { answer, ms } = await ask({ ask: "compile", text: kernel.text, sizes: $("kernel-sizes").value });
  if (answer.stopped_by_hand) {
    stale = true;
    return;
  }
  const list = mistakesOf(answer);
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
  $("kernel-timeline").hidden = true;
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
    const shown = answer.findings.map((finding) => ({
      line: finding.line,
      message: `${finding.kind}: ${finding.message}; thread ${finding.thread.join(", ")} of block ` +
        `${finding.block.join(", ")}` + (finding.count > 1 ? `, ${finding.count} times in all` : ""),
    }));
    mistakes(shown, $("kernel-mistakes"), kernel);
  }
  if (answer.printed) parts.push(element("h2", "Printed"), element("pre", answer.printed));
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
  if (refused(answer)) return;
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
