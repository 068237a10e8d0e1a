//! Accumulators that are written before a loop whose products stay in flight: the compiler keeps the products asynchronous.

use layout_compiler::{Checked, Promises, compile, emit};
use layout_cuda::{Device, Error, bf16, nvrtc, tiled_kernel};
use layout_tests::support::data::integers;
use layout_tests::support::gpu::devices;

/// A product by one warpgroup, of stages that TMA fills. `{N}`, `{SUM}` and so on are replaced.
const KERNEL: &str = r#"#[tiled_kernel(arch = "sm_90a", block = [128], grid = [M.div_ceil(64)])]
fn product<const M: usize, const K: usize>(
    a: &LayoutTensor<T, RowMajor<M, K>>, b: &LayoutTensor<T, RowMajor<{N}, K>>, c: &mut LayoutTensor<S, RowMajor<M, {N}>>, first: f32,
) {
    let left = shared::<T>(row_major([2, 64, BK]).swizzle_bytes(128));
    let right = shared::<T>(row_major([2, {N}, BK]).swizzle_bytes(128));
    let full = mbarriers(2, 1);
    barrier();
    let mut acc = accumulator_of::<S>([64, {N}]).fill({FIRST});
    {LOOP}
        let stage = step % 2;
        let (mut l, mut r) = (left.slice(stage), right.slice(stage));
        if thread_idx.x == 0 {
            full.at(stage).arrive_expect(l.bytes() + r.bytes());
            tma_load(&mut l, &a.tile([64, BK], [block_idx.x, step]), full.at(stage));
            tma_load(&mut r, &b.tile([{N}, BK], [0, step]), full.at(stage));
        }
        full.at(stage).wait(step / 2 % 2);
        wgmma(&mut acc, &l, &r.transpose(), {SUM});
        wgmma_commit_group();
        wgmma_wait_group({AHEAD});
        barrier();
    {END}
    wgmma_wait_group(0);
    let dst = c.tile([64, {N}], [block_idx.x, 0]).tile([16, {N}], [warp_id(), 0]);
    dst.vectorize([1, 2]).distribute(row_major([8, 4]), lane_id()).copy_from(&acc);
}"#;

const FOR: &str = "for step in 0..K.div_ceil(BK) {";

struct Form<'a> {
    columns: u32,
    types: [&'a str; 2],
    first: &'a str,
    around: [&'a str; 2],
    sum: &'a str,
    ahead: u32,
}

const USUAL: Form<'static> =
    Form { columns: 64, types: ["bf16", "f32"], first: "0.0", around: [FOR, "}"], sum: "step > 0", ahead: 1 };

fn checked(form: &Form<'_>) -> Checked {
    let [operand, sums] = form.types;
    let text = (KERNEL.replace("{LOOP}", form.around[0]).replace("{END}", form.around[1]))
        .replace("{N}", &form.columns.to_string())
        .replace("{FIRST}", form.first)
        .replace("{SUM}", form.sum)
        .replace("{AHEAD}", &form.ahead.to_string())
        .replace("<T", &format!("<{operand}"))
        .replace("<S", &format!("<{sums}"))
        .replace("BK", if operand == "bf16" { "64" } else { "128" });
    let kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
    compile(&kernel, &set, Promises::USUAL).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// How often the text fixes what an accumulator holds; the compiler makes nothing slow of it.
fn fences(form: &Form<'_>) -> usize {
    let source = emit(&checked(form));
    let compiled = nvrtc::compile(&source.text, "sm_90a", source.flags).expect("NVRTC takes the text");
    let slow = nvrtc::slow_paths(&source.text, "sm_90a", source.flags, &source.lines, &compiled);
    assert!(slow.is_empty(), "{slow:?}\n{}", source.text);
    source.text.matches("    accumulator_fence(acc);").count()
}

#[test]
fn products_of_every_width_stay_asynchronous() {
    for columns in [8, 16, 64, 128, 256] {
        assert_eq!(fences(&Form { columns, ..USUAL }), 1, "{columns} columns");
    }
}

#[test]
fn so_they_do_whatever_is_written_before_and_whatever_loops() {
    let forms = [
        Form { sum: "true", ..USUAL },
        Form { sum: "true", first: "first", ..USUAL },
        Form { ahead: 2, ..USUAL },
        Form { types: ["i8", "i32"], first: "0", sum: "true", ..USUAL },
        Form {
            around: ["let mut step = 0; while step < K.div_ceil(BK) {", "step += 1; }"],
            sum: "true",
            ..USUAL
        },
        Form { around: ["if M > 64 { for step in 0..K.div_ceil(BK) {", "} }"], ..USUAL },
    ];
    for (number, form) in forms.iter().enumerate() {
        assert_eq!(fences(form), 1, "form {number}");
    }
    // Each round of the outer loop writes again.
    let again =
        ["for _ in 0..M { for step in 0..K.div_ceil(BK) {", "} wgmma_wait_group(0); acc.fill(0.0); }"];
    assert_eq!(fences(&Form { around: again, sum: "true", ..USUAL }), 1);
}

#[test]
fn what_waits_for_all_in_each_round_needs_no_fence() {
    assert_eq!(fences(&Form { ahead: 0, ..USUAL }), 0);
}

/// A product of four instructions, stored as such and element by element.
#[tiled_kernel(block = [64], grid = [1])]
fn by_instructions(
    a: &LayoutTensor<bf16, RowMajor<64, 16>>,
    b: &LayoutTensor<bf16, RowMajor<16, 16>>,
    whole: &mut LayoutTensor<f32, RowMajor<64, 16>>,
    single: &mut LayoutTensor<f32, RowMajor<64, 16>>,
) {
    let mma = mma_atom::<bf16>([16, 8, 16]);
    let mut acc = local::<f32>(row_major([2, 8])).fill(0.0);
    let own = a.tile([32, 16], [warp_id(), 0]);
    mma.mma(&mut acc, &mma.load_a(&own), &mma.load_b(&b.tile([16, 16], [0, 0])));
    mma.store_d(&mut whole.tile([32, 16], [warp_id(), 0]), &acc);
    for r in unroll(0..4) {
        for i in unroll(0..4) {
            let element = acc[[r / 2, 4 * (i / 2) + 2 * (r % 2) + i % 2]];
            single[[32 * warp_id() + accumulator_row(r), accumulator_column(i)]] = element;
        }
    }
}

/// The same of a warpgroup; whole by the layout that `distribute` gives its vectors.
#[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
fn by_a_warpgroup(
    a: &LayoutTensor<bf16, RowMajor<64, 16>>,
    b: &LayoutTensor<bf16, RowMajor<16, 16>>,
    whole: &mut LayoutTensor<f32, RowMajor<64, 16>>,
    single: &mut LayoutTensor<f32, RowMajor<64, 16>>,
) {
    let mut left = shared::<bf16>(row_major([64, 16]).swizzle_bytes(32));
    let mut right = shared::<bf16>(row_major([16, 16]).swizzle_bytes(32));
    left.distribute(row_major([8, 16]), thread_idx.x)
        .copy_from(&a.distribute(row_major([8, 16]), thread_idx.x));
    right
        .distribute(row_major([8, 16]), thread_idx.x)
        .copy_from(&b.distribute(row_major([8, 16]), thread_idx.x));
    fence_async_proxy();
    barrier();
    let mut acc = accumulator([64, 16]);
    wgmma(&mut acc, &left, &right, false);
    wgmma_commit_group();
    wgmma_wait_group(0);
    let rows = whole.tile([16, 16], [warp_id(), 0]);
    rows.vectorize([1, 2]).distribute(row_major([8, 4]), lane_id()).copy_from(&acc);
    for r in unroll(0..2) {
        for i in unroll(0..4) {
            single[[16 * warp_id() + accumulator_row(r), accumulator_column(i)]] = acc[[r, i]];
        }
    }
}

/// `ldmatrix` of each block of a cluster: its own shared memory.
#[tiled_kernel(arch = "sm_90", block = [32], cluster = [2], grid = [2])]
fn of_the_own_block(y: &mut LayoutTensor<f32, RowMajor<2, 16, 8>>) {
    let mut own = shared::<f16>(row_major([16, 16]));
    own.distribute(row_major([2, 16]), thread_idx.x).fill((block_idx.x as f32 + 1.0).cast::<f16>());
    barrier();
    let mma = mma_atom::<f16>([16, 8, 16]);
    let mut acc = local::<f32>(row_major([1, 4])).fill(0.0);
    mma.mma(&mut acc, &mma.load_a(&own), &local::<f16>(row_major([1, 4])).fill(f16::ONE));
    mma.store_d(&mut y.slice(block_idx.x), &acc);
}

#[test]
fn a_block_of_a_cluster_loads_its_own_fragments() -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<f32, 3>([2, 16, 8])?;
    of_the_own_block::launch(&device.stream(), &mut y)?;
    assert!(y.download()?.iter().enumerate().all(|(at, x)| *x == if at < 128 { 16.0 } else { 32.0 }));
    Ok(())
}

#[test]
fn elements_have_their_rows_and_columns() -> Result<(), Error> {
    let device = Device::simulator();
    let small = |count, seed| -> Vec<bf16> {
        integers(count, seed, 3).into_iter().map(|x| bf16::from_f32(x as f32)).collect()
    };
    let (a, b) = (small(64 * 16, 1), small(16 * 16, 2));
    let exact = |at: usize| {
        (0..16).map(|k| f32::from(a[at / 16 * 16 + k]) * f32::from(b[16 * k + at % 16])).sum::<f32>()
    };
    let exact: Vec<f32> = (0..64 * 16).map(exact).collect();
    let (a, b) = (device.upload(&a, [64, 16])?, device.upload(&b, [16, 16])?);
    for by_a_group in [false, true] {
        let (mut whole, mut single) = (device.zeros([64, 16])?, device.zeros([64, 16])?);
        if by_a_group {
            by_a_warpgroup::launch(&device.stream(), &a, &b, &mut whole, &mut single)?;
        } else {
            by_instructions::launch(&device.stream(), &a, &b, &mut whole, &mut single)?;
        }
        assert!(whole.download()? == exact && single.download()? == exact, "{by_a_group}");
    }
    Ok(())
}

/// Two products of the warp's matrix units, the second of nothing where K is small.
#[tiled_kernel(block = [32], grid = [1])]
fn rounds_of_bytes<const M: usize, const K: usize, const N: usize>(
    a: &LayoutTensor<u8, RowMajor<M, K>>,
    b: &LayoutTensor<u8, ColMajor<K, N>>,
    c: &mut LayoutTensor<i32, RowMajor<M, N>>,
) {
    let mma = mma_atom::<u8>([16, 8, 32]);
    let mut acc = local::<i32>(row_major([1, 4])).fill(0);
    for k in 0..2 {
        let left = mma.load_a(&a.tile([16, 32], [0, k]));
        let right = mma.load_b(&b.tile([32, 8], [k, 0]));
        mma.mma(&mut acc, &left, &right);
    }
    mma.store_d(&mut c.tile([16, 8], [0, 0]), &acc);
}

/// NVRTC 13.0.88 writes this loop out, and lost the first round's sums where they were one operand on the way in and out.
#[test]
fn sums_of_a_loop_that_is_written_out() -> Result<(), Error> {
    for device in devices() {
        for [m, k, n] in [[1, 1, 1], [16, 64, 8], [5, 33, 3], [16, 31, 8], [15, 64, 7]] {
            let of = |count: usize| (0..count).map(|i| (i * 7 % 5 + 1) as u8).collect::<Vec<u8>>();
            let (a, b) = (of(m * k), of(k * n));
            let sum = |at: usize| {
                let (row, column) = (at / n, at % n);
                (0..k).map(|i| i32::from(a[row * k + i]) * i32::from(b[column * k + i])).sum::<i32>()
            };
            let (on_a, on_b) =
                (device.upload(&a, [m, k])?, device.stream().upload_strided(&b, [k, n], [1, k])?);
            let mut c = device.zeros::<i32, 2>([m, n])?;
            rounds_of_bytes::launch(&device.stream(), &on_a, &on_b, &mut c)?;
            let wanted: Vec<i32> = (0..m * n).map(sum).collect();
            assert_eq!(c.download()?, wanted, "{}: {m} {k} {n}", device.describe());
        }
    }
    Ok(())
}
