// The rest of the page: layouts, exercises, tabs, light and dark, the link, and how it begins.
"use strict";

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
  exercise.mark(answer.mistakes || answer.findings || []);
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
