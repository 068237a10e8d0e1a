#!/usr/bin/env python3
"""Completion within a kernel as an editor asks for it: rust-analyzer by LSP, on a user's crate in a folder of its own.

Each case is a body with the cursor at `|` and a word that has to be offered there, most of them in text that does not parse
yet. A minute. Without rust-analyzer it says that it is skipped; REQUIRE_EDITOR=1 makes that a failure.
"""
import json
import os
import pathlib
import queue
import shutil
import subprocess
import sys
import tempfile
import threading

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
HEAD = """use layout_cuda::tiled_kernel;

#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn kernel<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * 64 + thread_idx.x;
"""
TAIL = "    y[[i]] = 1.0;\n}\n\nfn main() {}\n"
CASES = [
    ("x.|", "tile"),
    ("x.|;", "tile"),
    ("x.ti|", "tile"),
    ("let t = x.|", "window"),
    ("let v = x[[i]].|", "exp"),
    ("y[[i]] = x[[i]].|;", "sqrt"),
    ("let j = thread_idx.|", "x"),
    ("let t = x.tile([4], [thread_idx.|]);", "x"),
    ("for k in 0..4 { let t = x.| }", "tile"),
    ("if i < N { y.| }", "tile"),
    ("let mut s = shared::<f32>(row_major([64])); s.|", "copy_from_async"),
    ("sha|", "shared"),
    ("let j = i + thr|;", "thread_idx"),
]


class Editor:
    """What an editor says to a language server, as far as it is needed here."""

    def __init__(self, root):
        pipe = subprocess.PIPE
        self.server = subprocess.Popen(
            ["rust-analyzer"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=root
        )
        self.answers, self.number, self.ready = queue.Queue(), 0, threading.Event()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        while True:
            length = 0
            while (line := self.server.stdout.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            if not length:
                return
            message = json.loads(self.server.stdout.read(length))
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": None})
            elif message.get("method") == "experimental/serverStatus":
                if message["params"]["quiescent"]:
                    self.ready.set()
            elif "id" in message:
                self.answers.put(message)

    def send(self, message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.server.stdin.flush()

    def ask(self, method, params):
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.answers.get(timeout=300))["id"] != self.number:
            pass
        return message["result"]


def main():
    if not shutil.which("rust-analyzer") or subprocess.run(["rust-analyzer", "--version"], capture_output=True).returncode:
        print("completion: SKIPPED, since rust-analyzer is not installed: rustup component add rust-analyzer")
        return int(os.environ.get("REQUIRE_EDITOR") == "1")
    with tempfile.TemporaryDirectory() as folder:
        return completions(pathlib.Path(folder))


def completions(root):
    (root / "src").mkdir()
    manifest = f'[package]\nname = "user"\nversion = "0.1.0"\nedition = "2024"\n[dependencies]\nlayout-cuda = {{ path = "{REPOSITORY / "layout-cuda"}" }}\n[workspace]\n'
    (root / "Cargo.toml").write_text(manifest)
    shutil.copy(REPOSITORY / "Cargo.lock", root / "Cargo.lock")
    file = root / "src" / "main.rs"
    file.write_text(HEAD + TAIL)
    editor = Editor(root)
    uri = file.as_uri()
    capabilities = {"experimental": {"serverStatusNotification": True}}
    options = {"checkOnSave": False, "cachePriming": {"enable": False}}
    editor.ask("initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": capabilities, "initializationOptions": options})
    editor.send({"method": "initialized", "params": {}})
    document = {"uri": uri, "languageId": "rust", "version": 0, "text": HEAD + TAIL}
    editor.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
    if not editor.ready.wait(600):
        print("completion: rust-analyzer did not get ready in ten minutes")
        return 1
    wrong = 0
    for version, (body, wanted) in enumerate(CASES, 1):
        before, after = (HEAD + "    " + body + "\n" + TAIL).split("|", 1)
        changed = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": before + after}]}
        editor.send({"method": "textDocument/didChange", "params": changed})
        line = before.count("\n")
        place = {"line": line, "character": len(before) - before.rfind("\n") - 1}
        found = editor.ask("textDocument/completion", {"textDocument": {"uri": uri}, "position": place})
        items = (found.get("items") if isinstance(found, dict) else found) or []
        names = {item["label"].split("(")[0] for item in items}
        if wanted not in names:
            wrong += 1
            print(f"completion: `{body}` offers no `{wanted}`, but {sorted(names)[:10]}")
    editor.server.kill()
    print(f"completion: {len(CASES) - wrong} of {len(CASES)} cases")
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
