#!/usr/bin/env bash
# Runs every test of the workspace. Installs NVRTC and nvdisasm from PyPI under target/ where they are not found;
# needs no GPU.
#   REQUIRE_GPU=1   a GPU test without a GPU fails instead of saying `skipped: no device`
set -euo pipefail
cd "$(dirname "$0")/.."

# NVRTC is there before anything is built: a build script compiles a bundle with it.
nvrtc=target/nvrtc
toolkits=(/usr/local/cuda*/lib64/libnvrtc.so* /usr/local/cuda*/targets/*/lib/libnvrtc.so*)
if [ -z "${LAYOUT_NVRTC:-}" ] && [ ! -e "${toolkits[0]}" ] && ! ldconfig -p 2>/dev/null | grep -q 'libnvrtc\.so'; then
    if [ ! -e "$nvrtc" ]; then
        echo "no NVRTC found: installing it from PyPI under $nvrtc"
        python3 -m pip install --quiet --disable-pip-version-check --target "$nvrtc" nvidia-cuda-nvrtc==13.0.88
    fi
    # Programs that Cargo runs find it there, unless another user owns this checkout, as in some containers.
    [ "$(stat -c %u "$nvrtc")" = "$(id -u)" ] && [ "$(stat -c %u .)" = "$(id -u)" ] || export LAYOUT_NVRTC="$PWD/$nvrtc"
fi
if ! command -v nvdisasm >/dev/null && [ ! -e target/nvdisasm ]; then
    echo "no nvdisasm found: installing it from PyPI under target/nvdisasm"
    python3 -m pip install --quiet --disable-pip-version-check --target target/nvdisasm nvidia-cuda-nvdisasm==13.2.78
fi
cargo test --workspace --quiet "$@"
# The programs that the tests' build made: `cargo run` would build what they need once more, with fewer features.
programs=${CARGO_TARGET_DIR:-target}/debug/examples
"$programs/matmul" --device simulator
# Conflicts counted by the simulator == those the analysis predicts; the puzzles' results == the expected ones.
"$programs/banks"
"$programs/puzzles" all
