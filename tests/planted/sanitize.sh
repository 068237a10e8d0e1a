#!/usr/bin/env bash
# What compute-sanitizer finds of the planted mistakes, beside the simulator: a table in $OUT/sanitizers.md, in under 170 seconds.
# Needs a GPU for sm_90a and NVIDIA's compute-sanitizer, which COMPUTE_SANITIZER may name. `PLANTED` names a program that was
# built before; LIMIT is the time for all of it, in seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "${OUT:?a folder for the table}"
# A program that Cargo runs finds NVRTC under this workspace's target/nvrtc; so does one that was built before.
export CARGO_MANIFEST_DIR="$PWD"
planted=${PLANTED:-}
if [ -z "$planted" ]; then
    # As the corpus is built everywhere.
    cargo build --quiet -p layout-planted
    planted=${CARGO_TARGET_DIR:-target}/debug/planted
fi
exec python3 - "$OUT" "$planted" "${COMPUTE_SANITIZER:-compute-sanitizer}" "${LIMIT:-165}" <<'PYTHON'
import concurrent.futures, pathlib, re, subprocess, sys, time

out, planted, sanitizer, limit = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
end = time.monotonic() + limit
tools = ["memcheck", "racecheck", "synccheck", "initcheck"]
signs = re.compile(r"Invalid|Race reported|hazard|Barrier error|Uninitialized|Misaligned|[Dd]ivergent|Unsupported|Potential|not aligned")


def run(words, seconds):
    """What a program prints, and whether it ended by itself."""
    seconds = max(1.0, min(seconds, end - time.monotonic()))
    # The sanitizer's child lives in its process group.
    words = ["timeout", "-k", "2", f"{seconds:.0f}", *words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout.decode(errors="replace"), done.returncode


rows = [line.split("\t") for line in run([planted, "--list"], 10)[0].splitlines()]
names = [row[0] for row in rows]
ends = [row[0] for row in rows if row[3] == "ends"]
# Once without a sanitizer, so that every kernel is compiled and in the cache.
plain, _ = run([planted], 45)
(out / "plain.log").write_text(plain)
found = {tool: {} for tool in tools}
looked = {tool: set() for tool in tools}
logs = {tool: [] for tool in tools}
found_hanging = set()


def check(tool, chosen, seconds):
    """Runs mistakes in one process; a launch that fails may spoil those behind it, so they are not counted as looked at."""
    words = [sanitizer, "--tool", tool, "--print-limit", "200", "--destroy-on-device-error", "kernel"]
    text, code = run([*words, planted, *chosen], seconds)
    logs[tool].append(f"$ {tool} {' '.join(chosen)}\n{text}\n(exit {code})\n")
    name, spoilt, seen = None, False, set()
    for line in text.splitlines():
        if line.startswith("== "):
            if name and not spoilt:
                seen.add(name)
            name = line[3:].strip()
        elif name and line.startswith("=========") and signs.search(line) and name not in found[tool]:
            found[tool][name] = line.strip("= ").split(" at ")[0][:80]
            seen.add(name)
        elif name and line.startswith(f"{name}:"):
            spoilt = True
    # The last one ended by itself only if the program did.
    if name and not spoilt and code not in (124, 137):
        seen.add(name)
    elif name and len(chosen) == 1 and code in (124, 137):
        found_hanging.add((tool, name))
    looked[tool] |= seen


with concurrent.futures.ThreadPoolExecutor(8) as pool:
    list(pool.map(lambda tool: check(tool, ends, 60), tools))
    # Those that hang, and those that were not reached, each alone.
    left = [(tool, name) for tool in tools for name in names if name not in looked[tool] | set(found[tool])]
    left = [(tool, name) for tool, name in left if name in ends or tool == "synccheck"]
    list(pool.map(lambda pair: check(pair[0], [pair[1]], 12), left))
for tool in tools:
    (out / f"{tool}.log").write_text("\n".join(logs[tool]))
table = ["| mistake | | simulator | " + " | ".join(tools) + " |", "|---" * (3 + len(tools)) + "|"]
for name, _, kind, _, what in rows:
    silent = lambda tool: "(hangs)" if (tool, name) in found_hanging else "" if name in looked[tool] else "(not run)"
    cells = [found[tool].get(name, silent(tool)).replace("|", "/") for tool in tools]
    table.append(f"| `{name}` | {what} | {kind} | " + " | ".join(cells) + " |")
any_tool = sum(any(name in found[tool] for tool in tools) for name in names)
counts = ", ".join(f"{tool} {len(found[tool])}" for tool in tools)
table += ["", f"Of {len(rows)} mistakes the simulator finds {len(rows)}, compute-sanitizer {any_tool} ({counts})."]
table.append(f"Its version: {run([sanitizer, '--version'], 5)[0].strip().splitlines()[-1]}.")
(out / "sanitizers.md").write_text("\n".join(table) + "\n")
print("\n".join(table))
print(f"{limit - (end - time.monotonic()):.0f} s")
PYTHON
