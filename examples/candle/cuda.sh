#!/usr/bin/env bash
# Runs a command with a CUDA compiler from PyPI (100 MB under target/cuda), which candle's own kernels want where they are built:
#   bash cuda.sh cargo test --features cuda            on a machine with a GPU
#   bash cuda.sh cargo test --features cuda --no-run   anywhere: what candle links is a list of names, and no library
#   CUDA_COMPUTE_CAP=80   another architecture for candle's kernels than Hopper
# What is built starts where the driver, cuBLAS and cuRAND are found; of the latter two PyPI's packages will do (README.md).
set -euo pipefail
cd "$(dirname "$0")"
cuda="$PWD/target/cuda/nvidia/cu13" python="${PYTHON:-python3}"
if [ ! -e "$cuda/lib/libcudart.so" ]; then
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target target/cuda \
        "nvidia-cuda-nvcc==13.0.*" "nvidia-cuda-crt==13.0.*" "nvidia-cuda-runtime==13.0.*" "nvidia-cuda-cccl==13.0.*" \
        "nvidia-nvvm==13.0.*"
    ln -sf libcudart.so.13 "$cuda/lib/libcudart.so"
fi
# candle has cudarc link the libraries by name. A linker wants their symbols alone, and cudarc's bindings say which.
names="$cuda/names"
if [ ! -e "$names/libcuda.so" ]; then
    mkdir -p "$names"
    cudarc=$(cargo metadata --format-version 1 --filter-platform "$(rustc -vV | sed -n "s/host: //p")" | "$python" -c 'import json, os, sys
print(*(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == "cudarc"))')
    while read -r folder library version; do
        grep -ohP '^ *pub (unsafe )?fn \K(cu|nvrtc)\w+(?=\()' "$cudarc/src/$folder/sys/mod.rs" | sort -u |
            sed 's/.*/void &(void) {}/' >"$names/$library.c"
        cc -shared -Wl,-soname,"lib$library.so.$version" -o "$names/lib$library.so" "$names/$library.c"
    done <<<'cublas cublas 13
cublaslt cublasLt 13
curand curand 10
nvrtc nvrtc 13
driver cuda 1'
fi
export CUDA_HOME="$cuda" CUDA_PATH="$cuda" PATH="$cuda/bin:$PATH" CUDA_COMPUTE_CAP="${CUDA_COMPUTE_CAP:-90}"
export LIBRARY_PATH="$cuda/lib:$names${LIBRARY_PATH:+:$LIBRARY_PATH}" LD_LIBRARY_PATH="$cuda/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$@"
