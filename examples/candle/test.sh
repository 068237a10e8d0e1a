#!/usr/bin/env bash
# Tests the package on the CPU: candle's own operations are the reference. Needs no GPU and no CUDA toolkit.
set -euo pipefail
cd "$(dirname "$0")"
cargo test --quiet
