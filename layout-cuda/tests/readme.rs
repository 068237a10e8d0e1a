//! The README's program and its test, as they are written there.
//!
//! Law: each fenced Rust block of the README is here, word for word and in order; it compiles, and its test passes. A block that
//! calls layout-kernels is in a test of that package.

use layout_cuda::{Device, tiled_kernel};

/// Kernel 3: tiles in shared memory.
#[tiled_kernel(
    BM = 32, BN = 32, BK = 64,
    block = [BM * BN],
    grid = [N.div_ceil(BN), M.div_ceil(BM)],
)]
pub fn tiled<const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<f32, RowMajor<M, K>>,
    b: &LayoutTensor<f32, RowMajor<K, N>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    const THREADS: usize = BM * BN;
    let (row, col) = (thread_idx.x / BN, thread_idx.x % BN);
    let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]);

    let mut a_smem = shared::<f32>(row_major([BM, BK]));
    let mut b_smem = shared::<f32>(row_major([BK, BN]));
    let mut sum = 0.0;

    for block in 0..K.div_ceil(BK) {
        let a_tile = a.tile([BM, BK], [block_idx.y, block]);
        let b_tile = b.tile([BK, BN], [block, block_idx.x]);
        copy_dram_to_sram_async(&mut a_smem, &a_tile, row_major([THREADS / BK, BK]));
        copy_dram_to_sram_async(&mut b_smem, &b_tile, row_major([BK, THREADS / BK]));
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
    let device = Device::best(); // the GPU, or the simulator
    let a = device.upload(&[1.0f32; 100 * 52], [100, 52])?;
    let b = device.upload(&[2.0f32; 52 * 76], [52, 76])?;
    let mut c = device.zeros::<f32, 2>([100, 76])?;
    tiled::launch(&device.stream(), &a, &b, &mut c)?;
    assert!(c.download()?.iter().all(|x| *x == 104.0));
    println!("{}", tiled::SOURCE); // the CUDA C
    Ok(())
}

#[test]
fn tiled_is_a_product() {
    use layout_cuda::testing::{self, Sum};
    testing::kernel(&tiled::DEFINITION).check(|case| {
        let (a, b, k) = (case.input("a"), case.input("b"), case.size("K"));
        case.expect("c", |[i, j]| (0..k).map(|k| a[[i, k]] * b[[k, j]]).sum::<Sum>());
    });
}

#[test]
fn tiled_is_written_as_before() {
    insta::assert_snapshot!(tiled::SOURCE); // `cargo insta review` shows what changed
}

#[test]
fn the_program_runs() {
    main().expect("it runs");
}

#[test]
fn the_readme_is_here() {
    let (readme, own) = (include_str!("../../README.md"), include_str!("readme.rs"));
    let blocks = readme.split("```rust").skip(1).filter_map(|rest| rest.split("```").next());
    let mut rest = own;
    let mut count = 0;
    let blocks = blocks.filter(|block| !block.contains("layout_kernels::"));
    for block in blocks.map(|block| block.trim_start_matches('\n')) {
        let at =
            rest.find(block).unwrap_or_else(|| panic!("not in this file, or in another order:\n{block}"));
        rest = &rest[at + block.len()..];
        count += 1;
    }
    assert_eq!(count, 2, "blocks of Rust");
}
