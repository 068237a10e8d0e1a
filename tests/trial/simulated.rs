//! Right kernels that the simulator computed wrongly, accused or counted wrongly.
//!
//! Law: the elements are plain Rust's, and nothing is found, in any variant.

use super::{Given, launch};
use layout_compiler::{LaunchArgument, Promises, compile};
use layout_simulator::{FindingKind, Options, Report, SimulatorArgument, simulate};

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

fn as_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks(4).map(|word| f32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// What a cluster of four blocks of 64 threads writes, whose element `i` of `held` is `100 rank + i`. Then all write and pass on.
fn cluster(body: &str) -> Vec<f32> {
    let text = format!(
        "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [4], cluster = [4])]
fn ranks<const R: usize>(y: &mut LayoutTensor<f32, RowMajor<R, 64>>, three: usize) {{
    let mut held = shared::<f32>(row_major([64]));
    let mut inbox = shared::<f32>(row_major([4, 64]));
    let (rank, i) = (cluster_rank(), thread_idx.x);
    held[[i]] = (100 * rank + i) as f32;
    for from in unroll(0..4) {{ inbox[[from, i]] = 0.0; }}
    cluster_barrier();
    let mut sum = 0.0;
    {body}
    y[[block_idx.x, i]] = sum;
    cluster_barrier();
}}"
    );
    let mut y = [Given::new("f32", &[4, 64], floats([0.0; 256]), true)];
    launch(&text, &mut y, &[(None, 3)], false);
    as_floats(&y[0].bytes)
}

/// Each round of an unrolled loop read the memory of the first round's rank.
#[test]
fn an_access_goes_to_the_rank_that_its_round_names() {
    let held = |rank: usize, i: usize| (100 * (rank % 4) + i) as f32;
    type Reference<'r> = &'r dyn Fn(usize, usize) -> f32;
    let all = |rank: usize, _: usize, at: usize| {
        (0..4).fold(0.0, |sum: f32, step| sum * 2.0 + held(if rank == 9 { step } else { rank + step }, at))
    };
    let cases: [(&str, Reference<'_>); 11] = [
        (
            "for r in unroll(0..4) { sum = sum * 2.0 + held.map_shared_rank(r)[[0]]; }",
            &|rank, i| all(9, rank + i, 0),
        ),
        (
            "for r in unroll(0..4) { sum = sum * 2.0 + held.map_shared_rank((rank + r) % 4)[[i]]; }",
            &|rank, i| all(rank, 0, i),
        ),
        ("for r in 0..4 { sum = sum * 2.0 + held.map_shared_rank(r)[[i]]; }", &|_, i| all(9, 0, i)),
        ("let mut r = 0; while r < 4 { sum = sum * 2.0 + held.map_shared_rank(r)[[i]]; r += 1; }", &|_, i| {
            all(9, 0, i)
        }),
        (
            "fn of(a: View<f32, Read>, r: usize, i: usize) -> f32 { a.map_shared_rank(r)[[i]] } sum = of(held, 1, i) * 2.0 + of(held, three, i);",
            &|_, i| held(1, i) * 2.0 + held(3, i),
        ),
        (
            "let (a, b) = (held.map_shared_rank(2), held.map_shared_rank(1)); sum = a[[i]] * 2.0 + b[[i]];",
            &|_, i| held(2, i) * 2.0 + held(1, i),
        ),
        (
            "for r in unroll(0..4) { for k in unroll(0..2) { sum = sum * 2.0 + held.map_shared_rank((r + k) % 4)[[(i + k) % 64]]; } }",
            &|_, i| {
                let rounds = (0..4).flat_map(|r| [(r, i), (r + 1, (i + 1) % 64)]);
                rounds.fold(0.0, |sum, (r, i)| sum * 2.0 + held(r, i))
            },
        ),
        // Of another lane each.
        ("sum = held.map_shared_rank(i % 4)[[i]] * 2.0 + held.map_shared_rank((i + 1) % 4)[[i]];", &|_, i| {
            held(i, i) * 2.0 + held(i + 1, i)
        }),
        // Written by rank, at once and asynchronously.
        (
            "for r in unroll(0..4) { inbox.map_shared_rank(r)[[rank, i]] = held[[i]] + r as f32; } cluster_barrier();
             for from in unroll(0..4) { sum = sum * 2.0 + inbox[[from, i]]; }",
            &|rank, i| (0..4).fold(0.0, |sum, from| sum * 2.0 + held(from, i) + rank as f32),
        ),
        (
            "for r in unroll(0..4) { if r != rank { inbox.map_shared_rank(r)[[rank, i]] += 1.0; } } cluster_barrier();
             for from in unroll(0..4) { sum = sum * 2.0 + inbox[[from, i]]; }",
            &|rank, _| (0..4).fold(0.0, |sum, from| sum * 2.0 + if from == rank { 0.0 } else { 1.0 }),
        ),
        (
            "let full = mbarriers(1, 1); cluster_barrier(); if i == 0 { full.at(0).arrive_expect(4 * 4 * 64); }
             for r in unroll(0..4) {
                 let mut own = local::<f32>(row_major([1])); own[[0]] = held[[i]] + r as f32;
                 store_async(&mut inbox.map_shared_rank(r).slice(rank).tile([1], [i]), &own, full.at(0));
             }
             full.at(0).wait(0); for from in unroll(0..4) { sum = sum * 2.0 + inbox[[from, i]]; }",
            &|rank, i| (0..4).fold(0.0, |sum, from| sum * 2.0 + held(from, i) + rank as f32),
        ),
    ];
    for (body, reference) in cases {
        let wanted: Vec<f32> = (0..256).map(|at| reference(at / 64, at % 64)).collect();
        assert_eq!(cluster(body), wanted, "{body}");
    }
}

/// The kernel's elements, where `s` holds 1 in the lanes that have an element of `y`, and nothing in the others.
fn cut(body: &str) -> Vec<f32> {
    let text = format!(
        "#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
fn cut<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
    let mut s = shared::<f32>(row_major([64]));
    let (t, i) = (thread_idx.x, block_idx.x * 64 + thread_idx.x);
    if i < N {{ s[[t]] = 1.0; }}
    barrier();
    let mut to = y.tile([64], [block_idx.x]);
    {body}
}}"
    );
    let mut y = [Given::new("f32", &[100], floats([0.0; 100]), true)];
    launch(&text, &mut y, &[], false);
    as_floats(&y[0].bytes)
}

/// What feeds a store that an edge cuts off was read in all lanes.
#[test]
fn what_a_masked_store_writes_is_read_under_its_mask() {
    for (body, value) in [
        ("to[[t]] = s[[t]];", 1.0),
        ("to[[t]] = s[[t]] * 2.0 + s[[t]];", 3.0),
        ("to[[t]] += s[[t]];", 1.0),
        ("to.distribute(row_major([64]), t).copy_from(&s.distribute(row_major([64]), t));", 1.0),
        ("to.atomic_add([t], s[[t]] + 1.0);", 2.0),
        ("let before = to.atomic_add([t], s[[t]]); if i < N { to[[t]] = before + 5.0; }", 5.0),
        ("to[[t]] = (12 / (s[[t]] as i32)) as f32;", 12.0),
        ("to[[t]] = select(i < N, s[[t]], 0.0);", 1.0),
        ("let v = select(i < N, s[[t]], 3.0); if v == 1.0 { to[[t]] = v; }", 1.0),
    ] {
        assert_eq!(cut(body), [value; 100], "{body}");
    }
}

/// Runs one variant of a kernel that writes a vector, with all counters.
fn report(text: &str, shape: &[usize], bytes: &mut [u8]) -> Report {
    let kernel = layout_text::kernel(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
    let checked = compile(&kernel, &set, Promises::USUAL).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let elem = layout_compiler::Elem::F32;
    let strides: Vec<usize> = (1..=shape.len()).map(|mode| shape[mode..].iter().product()).collect();
    let len = shape.iter().product();
    let tensor = LaunchArgument::Tensor { elem, shape, strides: &strides, address: 0, len };
    let bound = checked.plan().bind(&[tensor], None).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = Options { counters: true, ..Options::default() };
    simulate(&checked, &bound, &mut [SimulatorArgument::Write(bytes)], &options)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// What is read of a block of lower rank has a negative offset, with and without bank conflicts.
#[test]
fn reads_of_every_rank_are_counted() {
    for (at, conflicts) in [("i", 0), ("(i * 32) % 64", 4)] {
        let text = format!(
            "#[tiled_kernel(cluster = [4], block = [32], grid = [4], arch = \"sm_90\")]
fn counted<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
    let mut held = shared::<f32>(row_major([64]));
    let i = thread_idx.x;
    held[[i]] = 1.0;
    held[[i + 32]] = 2.0;
    cluster_barrier();
    let sum = held.map_shared_rank(0)[[{at}]];
    cluster_barrier();
    y[[block_idx.x * 32 + i]] = sum;
}}"
        );
        let report = report(&text, &[128], &mut floats([0.0; 128]));
        assert!(report.clean(), "{report}");
        assert_eq!(report.totals.bank_conflicts, conflicts, "{at}: {report}");
    }
}

/// `__syncthreads` waits for the threads that have not exited, since sm_70: a warp may return before. The lanes of one warp reach it
/// together.
#[test]
fn a_warp_may_return_before_a_barrier() {
    let kernel = |threads: usize, more: &str| {
        format!(
            "#[tiled_kernel(block = [128], grid = [N.div_ceil(128)])]
fn early<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
    let mut s = shared::<f32>(row_major([128]));
    let t = thread_idx.x;
    if t >= {threads} {{ return; }}
    s[[t]] = t as f32;
    barrier();
    let v = s[[{threads} - 1 - t]];
    {more}
    y[[128 * block_idx.x + t]] = v;
}}"
        )
    };
    for (threads, more) in [(32, ""), (96, ""), (64, "barrier(); if t >= 32 { return; } barrier();")] {
        let mut y = floats([-1.0; 256]);
        let report = report(&kernel(threads, more), &[256], &mut y);
        assert!(report.findings.is_empty(), "{report}");
        let last = if more.is_empty() { threads } else { 32 };
        let wanted = (0..256).map(|at| if at % 128 < last { (threads - 1 - at % 128) as f32 } else { -1.0 });
        assert_eq!(as_floats(&y), wanted.collect::<Vec<_>>());
    }
    // What nothing orders is found as before, and so is a warp that parts.
    for (threads, more, kind) in [
        (40, "", FindingKind::DivergentBarrier),
        (64, "if t >= 40 { return; } barrier();", FindingKind::DivergentBarrier),
        (64, "s[[t]] = 0.0;", FindingKind::ReadWriteRace),
    ] {
        let report = report(&kernel(threads, more), &[256], &mut floats([0.0; 256]));
        assert_eq!(report.findings.first().map(|finding| finding.kind), Some(kind), "{report}");
    }
    let message = report(&kernel(40, ""), &[256], &mut floats([0.0; 256])).findings.remove(0).message;
    assert!(
        message.contains("8 of the 32 threads of warp 1 reach a barrier of the block; lane 8 does not"),
        "{message}"
    );
    assert!(message.contains("returns with all of them"), "{message}");
}

/// Matrix products of a warp were left out of the count.
#[test]
fn matrix_products_are_counted() {
    for (elem, m, n, k) in [("bf16", 16, 8, 16), ("f32", 16, 8, 8), ("i8", 16, 8, 32)] {
        let (sums, nothing) = if elem == "i8" { ("i32", "0") } else { ("f32", "0.0") };
        let text = format!(
            "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [3])]
fn products<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
    let core = mma_atom::<{elem}>([{m}, {n}, {k}]);
    let mut a = shared::<{elem}>(row_major([{m}, {k}]));
    let mut b = shared::<{elem}>(row_major([{k}, {n}]));
    a.fill({nothing});
    b.fill({nothing});
    barrier();
    let mut acc = local::<{sums}>(row_major([1, 4])).fill({nothing});
    let (left, right) = (core.load_a(&a), core.load_b(&b));
    for _ in 0..5 {{ core.mma(&mut acc, &left, &right); }}
    let mut c = shared::<{sums}>(row_major([2, {m}, {n}]));
    core.store_d(&mut c.slice(warp_id()), &acc);
    if thread_idx.x < N {{ y[[thread_idx.x]] = 1.0; }}
}}"
        );
        let report = report(&text, &[1], &mut floats([0.0]));
        assert_eq!(report.totals.flops, 5 * 2 * 3 * 2 * m * n * k, "{elem}: {report}");
    }
}
