#!/usr/bin/env bash
# What compute-sanitizer finds of the planted mistakes, beside the simulator: a table in $OUT/sanitizers.md.
# Needs a GPU for sm_90a and NVIDIA's compute-sanitizer, which COMPUTE_SANITIZER may name.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${OUT:?a folder for the table}
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
# As the corpus is built everywhere; `PLANTED` names a program that was built before.
planted=${PLANTED:-}
if [ -z "$planted" ]; then
    cargo build --quiet -p layout-planted
    planted=${CARGO_TARGET_DIR:-target}/debug/planted
fi
"$planted" --list > "$out/planted.tsv"
# Once without a sanitizer, so that every kernel is compiled and in the cache.
timeout 30 "$planted" > "$out/plain.log" 2>&1 || true
for tool in memcheck racecheck synccheck initcheck; do
    # All that end, in one process; then each that hangs, alone.
    timeout 30 "$sanitizer" --tool "$tool" --print-limit 1000 "$planted" > "$out/$tool.log" 2>&1 || true
done
awk -F'\t' '$4 == "hangs" { print $1 }' "$out/planted.tsv" | while read -r name; do
    timeout 8 "$sanitizer" --tool synccheck "$planted" "$name" >> "$out/synccheck.log" 2>&1 || true
done
python3 - "$out" <<'PYTHON'
import pathlib, sys
out = pathlib.Path(sys.argv[1])
tools = ["memcheck", "racecheck", "synccheck", "initcheck"]
found = {tool: {} for tool in tools}
for tool in tools:
    name = None
    for line in (out / f"{tool}.log").read_text(errors="replace").splitlines():
        if line.startswith("== "):
            name = line[3:].strip()
        elif name and line.startswith("=========") and ("Error:" in line or "Warning:" in line or "Invalid" in line
                or "hazard" in line or "Barrier error" in line or "Uninitialized" in line):
            found[tool].setdefault(name, line.strip("= ").split(" at ")[0][:80])
rows = [line.split("\t") for line in (out / "planted.tsv").read_text().splitlines()]
table = ["| mistake | | simulator | " + " | ".join(tools) + " |", "|---" * (3 + len(tools)) + "|"]
count = {tool: 0 for tool in tools}
for name, _, kind, _, what in rows:
    cells = []
    for tool in tools:
        count[tool] += name in found[tool]
        cells.append(found[tool].get(name, "").replace("|", "/"))
    table.append(f"| `{name}` | {what} | {kind} | " + " | ".join(cells) + " |")
any_tool = sum(any(row[0] in found[tool] for tool in tools) for row in rows)
counts = ", ".join(f"{tool} {count[tool]}" for tool in tools)
table.append("")
table.append(f"Of {len(rows)} mistakes the simulator finds {len(rows)}, compute-sanitizer {any_tool} ({counts}).")
(out / "sanitizers.md").write_text("\n".join(table) + "\n")
print(table[-1])
PYTHON
