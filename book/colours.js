// Rust and CUDA C in colour, for the book and for the page. Attributes are read to their last bracket, whatever is nested
// in them.
"use strict";

const WORDS = new Set(("as break const continue else false fn for if impl in let loop match mod move mut pub return static struct " +
  "true unsafe use where while do extern inline template typedef void volatile __global__ __device__ __shared__ __restrict__ " +
  "__forceinline__ __launch_bounds__").split(" "));
const TYPES = /^(?:[A-Z]\w*[a-z]\w*|[fiu](?:8|16|32|64)|[iu]size|bf16|e[45]m[23]|bool|char|short|int|long|unsigned|float|double|__\w+16\w*)$/;
const PARTS = /(\/\/.*|\/\*[^]*?(?:\*\/|$(?![^])))|("(?:\\.|[^"\\\n])*"?)|(#!?\[\s*[\w:]*|^[ \t]*#\w+)|(\b\d\w*(?:\.\d\w*)?)|(\w+)|([^]+?(?=[\w"#\/]|$))/gm;

/** The lines of a text, each a list of `[class, part]`; what has no colour has no class. */
function coloured(text) {
  const lines = [[]];
  for (const [part, comment, string, attribute, number, word] of text.matchAll(PARTS)) {
    const kind = comment ? "comment" : string ? "string" : attribute ? "meta" : number ? "number"
      : WORDS.has(word) ? "keyword" : TYPES.test(word) ? "type" : "";
    part.split("\n").forEach((own, at) => {
      if (at) lines.push([]);
      const line = lines.at(-1);
      if (own && !kind && line.at(-1)?.[0] === "") line.at(-1)[1] += own;
      else if (own) line.push([kind && `hljs-${kind}`, own]);
    });
  }
  return lines;
}

/** The same as nodes of a line. */
function nodes(line) {
  return line.map(([kind, part]) => {
    if (!kind) return document.createTextNode(part);
    const own = document.createElement("span");
    own.className = kind;
    own.textContent = part;
    return own;
  });
}

// The book's listings, after its own colours.
for (const own of document.querySelectorAll("main code.language-rust, main code.language-c")) {
  const lines = coloured(own.textContent.replace(/\n$/, ""));
  own.replaceChildren(...lines.flatMap((line) => [...nodes(line), document.createTextNode("\n")]));
}

// In a table code may break, behind `_`, `.` and `:` too, so that none is wider than its page; not within an attribute.
for (const own of document.querySelectorAll("main td code")) {
  if (own.textContent.startsWith("#[")) continue;
  own.style.whiteSpace = "normal";
  own.replaceChildren(...own.textContent.split(/(?<=[A-Za-z0-9][_.]|::)/).flatMap((part) => [part, document.createElement("wbr")]));
}
