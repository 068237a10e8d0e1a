// A text that is typed: lines with numbers, lit, marked as wrong, and with notes at their ends.
"use strict";

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
  let lit = new Set(), wrong = new Map(), notes = new Map(), leaving = false;
  // Once for all that happens before the next frame: what is inserted may come as an event for each line.
  let due = false;
  const draw = () => {
    if (due) return;
    due = true;
    requestAnimationFrame(() => { due = false; drawn(); });
  };
  const drawn = () => {
    back.replaceChildren(...coloured(area.value).map((line, at) => {
      const own = document.createElement("span");
      own.append(...nodes(line));
      own.dataset.line = at + 1;
      own.classList.toggle("lit", lit.has(at + 1));
      own.classList.toggle("bad", wrong.has(at + 1));
      const note = wrong.get(at + 1) ?? notes.get(at + 1);
      if (note) own.dataset.note = note;
      return own;
    }));
  };
  area.addEventListener("input", () => { wrong = new Map(); notes = new Map(); draw(); typed(); });
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
    set text(value) { area.value = value; lit = new Set(); wrong = new Map(); notes = new Map(); box.scrollTop = 0; draw(); },
    light(lines) { lit = new Set(lines); draw(); },
    /** Mistakes with their lines: the first of a line is said at its end. */
    mark(mistakes) {
      wrong = new Map([...mistakes].reverse().map((one) => [one.line, (one.message ?? "").split("\n")[0]]));
      draw();
    },
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
