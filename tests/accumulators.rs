//! Accumulators that are written before a loop whose products stay in flight: the compiler keeps the products asynchronous.

use layout_compiler::{Checked, Promises, compile, emit};
use layout_cuda::nvrtc;

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
