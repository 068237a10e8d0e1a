#!/usr/bin/env bash
# What the library costs a user: a crate with one kernel whose only dependency is layout-cuda, built from nothing in a
# folder of its own, and the time that the macro adds to an unoptimised build for each parameter set.
# Prints the figures; fails above the limits.
set -euo pipefail
repository=$(cd "$(dirname "$0")/.." && pwd)
crates_limit=18
seconds_limit=30
milliseconds_limit=50

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/src"
cat > "$work/Cargo.toml" <<TOML
[package]
name = "user"
version = "0.1.0"
edition = "2024"

[dependencies]
layout-cuda = { path = "$repository/layout-cuda" }

[workspace]
TOML
# The versions that the repository is tested with.
cp "$repository/Cargo.lock" "$work/Cargo.lock"

# A program with the tiled matrix multiplication for these values of BK.
program() {
    cat > "$work/src/main.rs" <<RUST
use layout_cuda::{Device, tiled_kernel};

#[tiled_kernel(BM = 32, BN = 32, BK = [$1], block = [BM * BN], grid = [N.div_ceil(BN), M.div_ceil(BM)])]
pub fn tiled<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);
    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut sum = 0.0;
    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([32, 32]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([32, 32]));
        async_copy_wait_all();
        barrier();
        for k in unroll(0..BK) {
            sum += a_smem[[row, k]] * b_smem[[k, col]];
        }
        barrier();
    }
    dst[[row, col]] = sum;
}

fn main() -> Result<(), layout_cuda::Error> {
    let device = Device::best();
    let a = device.upload(&[1.0f32; 40 * 40], [40, 40])?;
    let mut c = device.zeros::<f32, 2>([40, 40])?;
    tiled::launch(&device.stream(), &a, &a, &mut c)?;
    assert!(c.download()?.iter().all(|x| *x == 40.0));
    Ok(())
}
RUST
}

milliseconds() { date +%s%3N; }

program 8
cd "$work"
export CARGO_TARGET_DIR="$work/target"
cargo fetch --quiet
crates=$(cargo tree --prefix none --edges normal,build | sed 's/ (.*//' | sort -u | grep -vc '^user ')
start=$(milliseconds)
TIMEFORMAT='%U + %S'
cpu=$( { time cargo build --quiet 2>&3; } 3>&2 2>&1)
build=$(($(milliseconds) - start))
cargo run --quiet

# The time of rustc on the user's crate alone, the best of three, with 1 and with 41 parameter sets.
crate_alone() {
    local best=1000000 start took
    for _ in 1 2 3; do
        touch src/main.rs
        start=$(milliseconds)
        CARGO_INCREMENTAL=0 cargo check --quiet
        took=$(($(milliseconds) - start))
        if [ "$took" -lt "$best" ]; then best=$took; fi
    done
    echo "$best"
}
CARGO_INCREMENTAL=0 cargo check --quiet
one=$(crate_alone)
program "$(seq -s ', ' 8 48)"
many=$(crate_alone)
set_tenths=$(((many - one) * 10 / 40))

echo "crates of a program that depends on layout-cuda   $crates (limit $crates_limit)"
echo "fresh build, seconds                              $((build / 1000)).$((build % 1000 / 100)) (limit $seconds_limit, $(nproc) cores)"
echo "its seconds of CPU, user + system                 $cpu"
echo "macro, milliseconds for each parameter set        $((set_tenths / 10)).$((set_tenths % 10)) (limit $milliseconds_limit; 1 set ${one} ms, 41 sets ${many} ms)"
[ "$crates" -le "$crates_limit" ]
[ "$build" -le $((seconds_limit * 1000)) ]
[ "$set_tenths" -le $((milliseconds_limit * 10)) ]
