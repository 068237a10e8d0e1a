// A headless Chromium, spoken to through its debugging pipe: no library.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Starts a browser; `send(method, params, session)` asks it, `on` hears its events. */
export async function browser(path) {
  const profile = mkdtempSync(join(tmpdir(), "layout-page-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--force-color-profile=srgb", `--user-data-dir=${profile}`, "--remote-debugging-pipe"];
  const child = spawn(path, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [to, from] = [child.stdio[3], child.stdio[4]];
  let number = 0, rest = "";
  const waiting = new Map(), listeners = [];
  from.setEncoding("utf8");
  from.on("data", (data) => {
    const parts = (rest + data).split("\0");
    rest = parts.pop();
    for (const part of parts) {
      const message = JSON.parse(part);
      if (message.id && waiting.has(message.id)) {
        const { resolve, reject } = waiting.get(message.id);
        waiting.delete(message.id);
        message.error ? reject(new Error(message.error.message)) : resolve(message.result);
      } else listeners.forEach((listener) => listener(message));
    }
  });
  const send = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    const id = ++number;
    waiting.set(id, { resolve, reject });
    to.write(JSON.stringify({ id, method, params, sessionId }) + "\0");
  });
  const end = async () => {
    await send("Browser.close").catch(() => {});
    await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve()));
    rmSync(profile, { recursive: true, force: true });
  };
  return { send, on: (listener) => listeners.push(listener), end };
}

/** A page of the browser: evaluate, press keys, take screenshots. */
export async function page(chromium, url, width = 1400, height = 1000) {
  const { targetId } = await chromium.send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await chromium.send("Target.attachToTarget", { targetId, flatten: true });
  const send = (method, params) => chromium.send(method, params, sessionId);
  const problems = [];
  chromium.on(({ method, params, sessionId: own }) => {
    if (own !== sessionId) return;
    if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description);
    if (method === "Network.requestWillBeSent" && /^https?:/.test(params.request.url)) problems.push(`asks for ${params.request.url}`);
  });
  await send("Runtime.enable");
  await send("Page.enable");
  await send("Network.enable");
  await send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: false });
  await send("Page.navigate", { url });
  const evaluate = async (expression) => {
    const answer = await send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.exception?.description ?? expression);
    return answer.result.value;
  };
  const until = async (expression, what, ms = 20000 * Number(process.env.PAGE_PATIENCE ?? 1)) => {
    const end = Date.now() + ms;
    for (;;) {
      if (await evaluate(expression).catch(() => false)) return;
      if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
  };
  const key = async (name, code, modifiers = 0) => {
    const own = { key: name, code: name, windowsVirtualKeyCode: code, modifiers };
    if (name === "Enter") own.text = "\r";
    await send("Input.dispatchKeyEvent", { type: "keyDown", ...own });
    await send("Input.dispatchKeyEvent", { type: "keyUp", ...own });
  };
  const shot = async () => Buffer.from((await send("Page.captureScreenshot", { format: "png" })).data, "base64");
  const type = (text) => send("Input.insertText", { text });
  return { send, evaluate, until, key, shot, type, problems };
}
