//! Kernels for Hopper on a GPU of that kind: random sizes, repeated runs, and ten thousand launches of clusters, which the
//! simulator runs once.
//!
//! Law: a kernel's result does not depend on when its copies land. A stage that is read too early or overwritten too soon
//! shows here as a wrong element, at some size or in some run.

use layout_compiler::Arch;
use layout_cuda::{Device, Error, Stream, Tensor, bf16, tiled_kernel};
use layout_kernels::kernels::gemm::gemm;
use layout_kernels::kernels::{gemm_pair, gemm_split};
use layout_tests::kernels::cases;
use layout_tests::support::case::Run;
use layout_tests::support::cubin::arch_of_first;
use layout_tests::support::data::noise;
use layout_tests::support::gpu::hopper;

/// Random sizes for each kernel of the corpus that is for Hopper.
const SIZES: usize = 12;
/// A size is at most so large: the reference is computed on the host.
const MOST: u64 = 400;
const LAUNCHES: usize = 10_000;

/// Every tile of 32 by 32 of `a`, twice: the two blocks of a cluster load half of it each, for both.
#[tiled_kernel(arch = "sm_90a", block = [32], cluster = [2], grid = [2, M.div_ceil(32)])]
pub fn both_halves<const M: usize>(
    a: &LayoutTensor<f32, RowMajor<M, 32>>,
    out: &mut LayoutTensor<f32, RowMajor<2, M, 32>>,
) {
    let mut tile = shared::<f32>(row_major([32, 32]));
    let full = mbarriers(1, 1);
    barrier();
    cluster_barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(4096);
        let half = a.tile([32, 32], [block_idx.y, 0]).tile([16, 32], [cluster_rank(), 0]);
        tma_load_multicast(&mut tile.tile([16, 32], [cluster_rank(), 0]), &half, full.at(0), 3);
    }
    full.at(0).wait(0);
    for row in 0..32 {
        if block_idx.y * 32 + row < M {
            out[[block_idx.x, block_idx.y * 32 + row, thread_idx.x]] = tile[[row, thread_idx.x]];
        }
    }
    cluster_barrier();
}

#[test]
fn random_sizes() {
    let Some(device) = hopper() else { return };
    let mut numbers = noise(usize::MAX, 5).map(|bits| 1 + (bits >> 20) % MOST);
    for case in cases() {
        if arch_of_first(case.definition) != Some(Arch::SM_90A) {
            continue;
        }
        for set in &case.sets() {
            for _ in 0..SIZES {
                let mut next = || numbers.next().expect("more numbers") as usize;
                // Rows of C are of whole 16 bytes, which TMA writes at once.
                let size = [next(), next().next_multiple_of(8), next()];
                let run = Run { device: &device, set, size, skew: size[0] % 2 };
                let outcome = (case.run)(&run);
                let outcome = outcome.unwrap_or_else(|error| panic!("{}: {error}", run.name(&case)));
                outcome.check(&format!("GPU, {}", run.name(&case)));
            }
        }
    }
}

#[test]
fn the_same_bits_in_every_run() {
    let Some(device) = hopper() else { return };
    let stream = device.stream();
    let [m, n, k] = [1160, 776, 2056];
    let random = |count: usize, seed: u64| -> Vec<bf16> {
        noise(count, seed).map(|bits| bf16::from_f32((bits >> 40) as f32 / (1 << 23) as f32 - 1.0)).collect()
    };
    let a = device.upload(&random(m * k, 1), [m, k]).expect("a");
    let b = device.upload(&random(k * n, 2), [k, n]).expect("b");
    let mut c = device.zeros::<bf16, 2>([m, n]).expect("c");
    type Launch = fn(&Stream, &Tensor<bf16, 2>, &Tensor<bf16, 2>, &mut Tensor<bf16, 2>) -> Result<(), Error>;
    // Those of clusters are launched ten thousand times; the launches between two downloads overlap.
    let kernels: [(&str, Launch, usize, usize); 3] = [
        ("gemm", |stream, a, b, c| gemm::launch(stream, a, b, c), 50, 1),
        ("gemm_pair", |stream, a, b, c| gemm_pair::launch(stream, a, b, c), 50, LAUNCHES / 50),
        ("gemm_split", |stream, a, b, c| gemm_split::launch(stream, a, b, c), 50, LAUNCHES / 50),
    ];
    for (name, launch, runs, launches) in kernels {
        let mut first: Option<Vec<bf16>> = None;
        for run in 0..runs {
            c.poison().expect("poisoned");
            for _ in 0..launches {
                launch(&stream, &a, &b, &mut c).expect("a launch");
            }
            let found = c.download().expect("data");
            let want = first.get_or_insert_with(|| found.clone());
            let other = found.iter().zip(want).position(|(found, want)| found.to_bits() != want.to_bits());
            assert_eq!(other, None, "{name}, run {run}");
        }
    }
}

fn tiles_reach_both_blocks(device: &Device, rows: usize, launches: usize) {
    let stream = device.stream();
    let data: Vec<f32> = (0..rows * 32).map(|i| i as f32 + 1.0).collect();
    let a = device.upload(&data, [rows, 32]).expect("a tensor");
    let mut out = device.zeros::<f32, 3>([2, rows, 32]).expect("a tensor");
    out.poison().expect("poisoned");
    for _ in 0..launches {
        both_halves::launch(&stream, &a, &mut out).expect("a launch");
    }
    assert_eq!(out.download().expect("the copies"), [data.as_slice(), &data].concat(), "{rows} rows");
}

#[test]
fn both_blocks_of_a_cluster_get_what_either_loads() {
    for device in [Some(Device::simulator()), hopper()].into_iter().flatten() {
        for rows in [32, 1, 16, 17, 95, 320] {
            tiles_reach_both_blocks(&device, rows, 1);
        }
    }
}

#[test]
fn ten_thousand_launches_of_clusters() {
    let Some(device) = hopper() else { return };
    tiles_reach_both_blocks(&device, 32 * 300, LAUNCHES);
}
