// The compiler and the simulator in a worker: a request goes there, an answer comes back; a worker that does not end is
// ended. Law: each request has one answer, also where the worker was ended.
//
// The worker is made of a function's text and the WebAssembly from a script, so that the page works from a file, too. The
// scripts of the page share their names; index.html loads them in this order: compiler, editor, kernel, timeline, page.
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

/** The compiler's module: packed bytes through a small module that unpacks them. */
async function compiler() {
  const [unpack, packed] = [self.LAYOUT_UNPACK, self.LAYOUT_WASM]
    .map((text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));
  const own = (await WebAssembly.instantiate(unpack, {})).instance.exports;
  const to = own.room(packed.length);
  new Uint8Array(own.memory.buffer, to, packed.length).set(packed);
  const from = own.unpack();
  return WebAssembly.compile(new Uint8Array(own.memory.buffer, from, own.unpacked_bytes()).slice());
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
