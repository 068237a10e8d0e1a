#!/usr/bin/env bash
# Runs every test of the workspace. Installs NVRTC and nvdisasm from PyPI under target/ where they are not found;
# needs no GPU.
#   REQUIRE_GPU=1   a GPU test without a GPU fails instead of saying `skipped: no device`
set -euo pipefail
cd "$(dirname "$0")/.."

nvrtc=target/nvrtc
if ! cargo run --quiet --example doctor -- --nvrtc; then
    if [ ! -e "$nvrtc" ]; then
        echo "no NVRTC found: installing it from PyPI under $nvrtc"
        python3 -m pip install --quiet --disable-pip-version-check --target "$nvrtc" nvidia-cuda-nvrtc==13.0.88
    fi
    # Programs that Cargo runs find it there, unless another user owns this checkout, as in some containers.
    if ! cargo run --quiet --example doctor -- --nvrtc; then
        export LAYOUT_NVRTC="$PWD/$nvrtc"
        cargo run --quiet --example doctor -- --nvrtc
    fi
fi
if ! command -v nvdisasm >/dev/null && [ ! -e target/nvdisasm ]; then
    echo "no nvdisasm found: installing it from PyPI under target/nvdisasm"
    python3 -m pip install --quiet --disable-pip-version-check --target target/nvdisasm nvidia-cuda-nvdisasm==13.2.78
fi
cargo test --workspace --quiet "$@"
cargo run --quiet --example matmul -- --device simulator
# Conflicts counted by the simulator == those the analysis predicts; the puzzles' results == the expected ones.
cargo run --quiet --example banks
cargo run --quiet --example puzzles
