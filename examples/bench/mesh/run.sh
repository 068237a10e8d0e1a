#!/usr/bin/env bash
# Several GPUs beside PyTorch, in one run: bash examples/bench/mesh/run.sh [GPUS]. `MESH_PROGRAM` names a built program; without it
# cargo builds one. A line is a name, our milliseconds, theirs, and theirs through ours: above 1 ours is faster.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
gpus="${1:-2}"
ours="$(mktemp)" theirs="$(mktemp)"
trap 'rm -f "$ours" "$theirs"' EXIT
program="${MESH_PROGRAM:-}"
# As Cargo says it to what it runs: NVRTC may be under the workspace's target/nvrtc.
CARGO_MANIFEST_DIR="$(cd "$here/../../.." && pwd)"
export CARGO_MANIFEST_DIR
if [ -z "$program" ]; then
    cd "$CARGO_MANIFEST_DIR"
    cargo build --release --quiet -p layout-bench --bin mesh
    program="${CARGO_TARGET_DIR:-target}/release/mesh"
fi
"$program" --gpus "$gpus" | tee "$ours" || echo "our program failed; the peers follow"
torchrun --standalone --nproc-per-node "$gpus" "$here/peers.py" | tee "$theirs"
python3 - "$ours" "$theirs" <<'PYTHON'
import sys


def rows(path):
    found = {}
    for line in open(path):
        name, _, value = line.rstrip().rpartition(": ")
        try:
            found[name] = float(value)
        except ValueError:
            pass
    return found


ours, theirs = rows(sys.argv[1]), rows(sys.argv[2])
for name, time in ours.items():
    peer = theirs.get(name)
    print(f"{name:40} {time:9.4f} ms" + (f" {peer:9.4f} ms {peer / time:6.3f}" if peer else "         no peer"))
for name in theirs.keys() - ours.keys():
    print(f"{name:40}              {theirs[name]:9.4f} ms (peer alone)")
PYTHON
