#!/usr/bin/env bash
# The tables of the tutorials that the book follows, measured on one GPU in one run: bash examples/bench/tutorials.sh OUT [COMMIT].
#
# Records go to OUT/tutorials.jsonl, the 36 schedules to OUT/tune.jsonl, the measured roofs to OUT/peaks.json. PROGRAMS names the folder
# of built `bench` and `tune`; without it cargo builds them. NumPy and PyTorch are measured by the `python3` that has them.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
out="$(mkdir -p "$1" && cd "$1" && pwd)"
commit="${2:-$(git -C "$here" rev-parse --short HEAD)}"
cd "$here/../.."
# As Cargo says it to what it runs: NVRTC may be under the workspace's target/nvrtc.
export CARGO_MANIFEST_DIR="$PWD"
programs="${PROGRAMS:-}"
if [ -z "$programs" ]; then
    cargo build --release --quiet -p layout-bench --bin bench --bin tune
    programs="${CARGO_TARGET_DIR:-target}/release"
fi
records=(--json "$out/tutorials.jsonl" --commit "$commit")
bench="$programs/bench"

# The guide's size with its CPU row; the recipe's size; TVM's size.
"$bench" matmul --size 1028 1028 1028 "${records[@]}"
"$bench" matmul --size 4096 4096 4096 --no-cpu "${records[@]}"
"$bench" matmul --size 1024 512 2048 "${records[@]}"
# TVM's schedules: a block for each element, threads along one axis, along two, tiles of 16 x 16 with 8 of K in shared memory.
"$bench" matmul --size 1024 512 2048 --no-cpu --kernel naive --kernel scheduled \
    --set BM=1,BN=1 --set BM=32,BN=1 --set BM=32,BN=32 --set TX=16 "${records[@]}"
# Its libraries, at both sizes.
python3 "$here/libraries.py" "$out/tutorials.jsonl" "$commit" 1028 1028 1028 1024 512 2048
# AutoTVM's 36 sets.
"$programs/tune" schedule --search all --records "$out/tune.jsonl" --commit "$commit"
"$bench" transpose "${records[@]}"
# What `plot` draws, too.
"$bench" peaks "$out/peaks.json"
for dtype in tf32 bf16 e4m3; do
    "$bench" gemm --dtype "$dtype" --size 8192 8192 8192 "${records[@]}"
done
