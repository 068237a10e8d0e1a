// A run step by step: a row for each warp, the copies in flight, matrix units and mbarriers; arrows from the end of what a
// warp waits for to the end of its wait. Law: a step is no time; a statement counts one.
"use strict";

const ROW = 22, HEAD = 20, NAME = 110;
const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes, text) {
  const own = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) own.setAttribute(key, value);
  if (text !== undefined) own.textContent = text;
  return own;
}

/** `line 12`, `waits at a barrier of the block (line 6)`, `copy of 64 bytes, line 9`: the line of a span, 0 where it has none. */
const lineOf = (name) => Number(/line (\d+)/.exec(name)?.[1] ?? 0);
const kindOf = (track, name) => name.startsWith("waits") ? "waits" : track.split(" ")[0];

/** The tracks of one block, drawn from its first step to its last. */
function timelineOf(own, block, wide) {
  const rows = own.tracks.map((track, number) => ({ ...track, number })).filter((track) => track.block === block);
  const spans = rows.flatMap((row) => row.spans);
  const first = Math.min(...spans.map(([begin]) => begin)), last = Math.max(...spans.map(([, end]) => end));
  const step = Math.max(1, Math.min(14, (wide - NAME - 8) / Math.max(1, last - first)));
  const x = (at) => NAME + (at - first) * step, place = new Map(rows.map((row, at) => [row.number, HEAD + at * ROW]));
  const height = HEAD + rows.length * ROW;
  const drawing = shape("svg", { width: x(last) + 8, height: height + 4, role: "img", class: "timeline",
    "aria-label": `Timeline of block ${block}; the table below says the same` });
  // About ten marks, at 1, 2 or 5 times a power of ten.
  const rough = (last - first) / 10, power = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
  const apart = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough);
  for (let at = Math.ceil(first / apart) * apart; at <= last; at += apart) {
    drawing.append(shape("text", { x: x(at), y: 12, class: "step" }, at));
    drawing.append(shape("line", { x1: x(at), x2: x(at), y1: HEAD - 4, y2: height, class: "step" }));
  }
  for (const row of rows) {
    const y = place.get(row.number);
    drawing.append(shape("text", { x: 0, y: y + 14 }, row.name));
    for (const [begin, end, name] of row.spans) {
      const width = Math.max(0.75, (end - begin) * step - 0.5);
      const box = shape("rect", { x: x(begin), y: y + 2, width, height: ROW - 4, class: kindOf(row.name, name) });
      box.dataset.line = lineOf(name);
      box.append(shape("title", {}, `${row.name}, steps ${begin} to ${end}: ${name}`));
      drawing.append(box);
    }
  }
  for (const [from, begin, to, end] of own.arrows) {
    if (!place.has(from) || !place.has(to)) continue;
    const [x1, y1, x2, y2] = [x(begin + 1), place.get(from) + ROW / 2, x(end), place.get(to) + ROW / 2];
    drawing.append(shape("line", { x1, y1, x2, y2, class: "arrow" }), shape("circle", { cx: x2, cy: y2, r: 2.5, class: "arrow" }));
  }
  for (const finding of own.findings.filter((finding) => finding.step >= first && finding.step <= last)) {
    const line = shape("line", { x1: x(finding.step), x2: x(finding.step), y1: HEAD - 4, y2: height, class: "finding" });
    line.append(shape("title", {}, `${finding.kind}, line ${finding.line}: ${finding.message}`));
    drawing.append(line);
  }
  for (const event of ["mouseover", "click"]) {
    drawing.addEventListener(event, ({ target }) => { if (Number(target.dataset?.line)) light(Number(target.dataset.line), true); });
  }
  const words = rows.map((row) => `${row.name}: ` + row.spans.map(([begin, end, name]) => `${begin} to ${end} ${name}`).join("; "));
  return [drawing, words.join("\n")];
}

/** The schedule and the block that are chosen. */
function timelines(list) {
  const [place, view] = [$("kernel-timeline"), element("div", undefined, "scrolls")];
  const [which, block] = [element("select"), element("select")];
  const table = element("pre"), words = element("details"), found = element("ul", undefined, "mistakes");
  words.append(element("summary", "As a table"), table);
  const labelled = (name, select) => { const label = element("label", name); label.append(select); return label; };
  const bar = element("div", undefined, "bar");
  bar.append(labelled("Schedule", which), labelled("Block", block));
  const name = (own) => `${own.schedule}: ${own.steps} steps${own.cut ? ", the first part" : ""}` +
    (own.findings.length ? `, ${own.findings.length} findings` : "");
  options(which, list, name);
  const draw = () => {
    const [drawing, text] = timelineOf(list[which.value], Number(block.value), place.clientWidth - 2);
    view.replaceChildren(drawing);
    table.textContent = text;
  };
  const blocks = () => {
    const own = list[which.value], all = [...new Set(own.tracks.map((track) => track.block))];
    block.replaceChildren(...all.map((number) => new Option(number, number)));
    found.replaceChildren(...own.findings.map((one) => element("li", `step ${one.step}, line ${one.line}: ${one.kind}: ${one.message}`)));
    // The block whose turn it is where the first mistake is found.
    const step = own.findings[0]?.step, at = (track) => track.spans.some(([begin, end]) => begin <= step && step <= end);
    block.value = own.tracks.find((track) => step !== undefined && at(track))?.block ?? all[0];
    draw();
  };
  which.addEventListener("change", blocks);
  block.addEventListener("change", draw);
  which.value = list.length - 1;
  place.replaceChildren(element("h2", "Timeline: steps of the simulator, a statement each; no time"), bar, found, view, words);
  place.hidden = false;
  blocks();
}

$("kernel-draw").addEventListener("click", async () => {
  say("Recording on the simulator.");
  busy(true);
  const { answer } = await ask({ ask: "timeline", text: kernel.text, sizes: $("kernel-sizes").value });
  busy(false);
  if (answer.stopped_by_hand) return;
  if (refused(answer)) return;
  if (!answer.timelines.some((own) => own.tracks.length)) return say("No block runs: nothing to draw.");
  timelines(answer.timelines);
  say(`Timeline of ${answer.timelines.map((own) => `schedule ${own.schedule}`).join(" and ")}.`);
});
