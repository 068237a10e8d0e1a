#!/usr/bin/env bash
# Runs a command with a CUDA compiler from PyPI (100 MB under target/cuda), which candle's own kernels want where they are built:
#   bash cuda.sh cargo test --features cuda          on a machine with a GPU
#   bash cuda.sh cargo test --features cuda --no-run  anywhere
#   CUDA_COMPUTE_CAP=80   another architecture for candle's kernels than Hopper
set -euo pipefail
cd "$(dirname "$0")"
cuda="$PWD/target/cuda/nvidia/cu13"
if [ ! -e "$cuda/lib/libcudart.so" ]; then
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --target target/cuda \
        "nvidia-cuda-nvcc==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cccl==13.0.*" \
        "nvidia-nvvm==13.0.*"
    ln -sf libcudart.so.13 "$cuda/lib/libcudart.so"
fi
export CUDA_HOME="$cuda" CUDA_PATH="$cuda" PATH="$cuda/bin:$PATH" CUDA_COMPUTE_CAP="${CUDA_COMPUTE_CAP:-90}"
export LIBRARY_PATH="$cuda/lib${LIBRARY_PATH:+:$LIBRARY_PATH}" LD_LIBRARY_PATH="$cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$@"
