//! `permute`, `squeeze`, `reshape`: each element by value, edges of tensors and of tiles, and what no strides describe.
//!
//! Law: a view in other modes has the elements that row-major order gives, and the masks that its own modes would have.

use super::{Given, bound, launch, wrong};
use layout_compiler::{Promises, compile, emit};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};

/// A kernel of one thread that copies `from`, a view of `x`, to `y`, element by element.
fn copied(extents: &str, body: &str) -> String {
    let all = extents.replace(", ", " * ");
    format!(
        "#[tiled_kernel(A = 4, B = 3, C = 6, block = [1], grid = [1])]
fn line(x: &LayoutTensor<i32, RowMajor<A, B, C>>, y: &mut LayoutTensor<i32, RowMajor<{{ {all} }}>>) {{
    {body}
    let mut to = y.reshape([{extents}]);
    to.copy_from(&from);
}}"
    )
}

const SHAPE: [usize; 3] = [4, 3, 6];

fn bytes(numbers: impl Iterator<Item = usize>) -> Vec<u8> {
    numbers.flat_map(|number| (number as i32).to_le_bytes()).collect()
}

/// What a kernel writes to `count` elements, from 0, 1, 2, ... in `x`.
fn written(text: &str, count: usize) -> Vec<usize> {
    let x = Given::new("i32", &SHAPE, bytes(0..SHAPE.iter().product()), false);
    let mut all = [x, Given::new("i32", &[count], vec![0xff; 4 * count], true)];
    launch(text, &mut all, &[], false);
    all[1]
        .bytes
        .chunks(4)
        .map(|word| i32::from_le_bytes(word.try_into().expect("four bytes")) as usize)
        .collect()
}

#[test]
fn elements_are_those_of_row_major_order() {
    let at = |a: usize, b: usize, c: usize| (a * 3 + b) * 6 + c;
    let in_order: fn(usize) -> usize = |n| n;
    for (extents, body, wanted) in [
        // Merged, split, both at once; extents of one anywhere.
        ("A * B * C", "let from = x.reshape([A * B * C]);", in_order),
        ("A * B, C", "let from = x.reshape([A * B, C]);", in_order),
        ("A, B * C", "let from = x.reshape([A, B * C]);", in_order),
        ("1, A, B, C, 1", "let from = x.reshape([1, A, B, C, 1]);", in_order),
        ("A, C, B", "let from = x.reshape([A, C, B]);", in_order),
        ("B, A, C", "let from = x.reshape([B, A, C]).reshape([A * B * C]).reshape([B, A, C]);", in_order),
    ] {
        assert!(written(&copied(extents, body), 72).into_iter().eq((0..72).map(wanted)), "{body}");
    }
    let turned: Vec<usize> = (0..72).map(|n| at(n / 3 % 4, n % 3, n / 12)).collect();
    assert_eq!(written(&copied("C, A, B", "let from = x.permute([2, 0, 1]);"), 72), turned);
    let merged = "let from = x.permute([2, 0, 1]).reshape([C, A * B]);";
    assert_eq!(written(&copied("C, A * B", merged), 72), turned);
    let squeezed = "let from = x.tile([1, 3, 6], [2, 0, 0]).squeeze(0).permute([1, 0]);";
    let slice: Vec<usize> = (0..18).map(|n| at(2, n % 3, n / 3)).collect();
    assert_eq!(written(&copied("6, 3", squeezed), 18), slice);
    // Of shared memory with a swizzle, and of registers.
    let staged = "let mut own = shared::<i32>(row_major([1, 3, 8, 8]).swizzle(2, 0, 3));
    own.reshape([3, 64]).tile([3, 18], [0, 0]).copy_from(&x.reshape([4, 18]).tile([3, 18], [0, 0]));
    let from = own.squeeze(0).reshape([192]).tile([64], [2]).tile([18], [0]);";
    assert_eq!(written(&copied("18", staged), 18), (36..54).collect::<Vec<_>>());
    let kept = "let from = x.tile([4, 3, 2], [0, 0, 1]).to_local().reshape([12, 2]).permute([1, 0]);";
    let column = |n: usize| at(n % 12 / 3, n % 3, 2 + n / 12);
    assert_eq!(written(&copied("2, 12", kept), 24), (0..24).map(column).collect::<Vec<_>>());
}

/// The same of extents that a launch gives, in each variant.
#[test]
fn extents_may_be_dimensions() {
    for (extents, element) in [
        ("A * B, C", "[[n / C, n % C]]"),
        ("A, B * C", "[[n / (B * C), n % (B * C)]]"),
        ("A * B * C", "[[n]]"),
    ] {
        let text = format!(
            "#[tiled_kernel(block = [1], grid = [1])]
fn line<const A: usize, const B: usize, const C: usize>(
    x: &LayoutTensor<i32, RowMajor<A, B, C>>, y: &mut LayoutTensor<i32, RowMajor<A, B, C>>,
) {{
    let (from, mut to) = (x.reshape([{extents}]), y.reshape([{extents}]));
    for n in 0..A * B * C {{
        to{element} = from{element};
    }}
}}"
        );
        let x = Given::new("i32", &SHAPE, bytes(0..72), false);
        let mut all = [x, Given::new("i32", &SHAPE, vec![0xff; 4 * 72], true)];
        launch(&text, &mut all, &[], false);
        assert_eq!(all[1].bytes, bytes(0..72), "{text}");
    }
}

/// A tile of a reshaped view that reaches past the last element reads zeros and writes nothing there.
#[test]
fn edges_are_those_of_the_new_modes() {
    let body = "let from = x.reshape([A * B * C]).tile([40], [1]);";
    let wanted: Vec<usize> = (40..80).map(|n| if n < 72 { n } else { 0 }).collect();
    assert_eq!(written(&copied("40", body), 40), wanted);
    let rows = "let from = x.reshape([A * B, C]).tile([5, 4], [2, 1]);";
    let wanted =
        (0..20).map(|n| (10 + n / 4, 4 + n % 4)).map(|(i, j)| if i < 12 && j < 6 { i * 6 + j } else { 0 });
    assert_eq!(written(&copied("5, 4", rows), 20), wanted.collect::<Vec<_>>());
}

#[test]
fn what_strides_do_not_describe_is_refused() {
    for (body, message) in [
        (
            "let from = x.permute([1, 0, 2]).reshape([A * B, C]);",
            "merges modes 0 and 1 of `x`, whose elements do not follow each other",
        ),
        ("let from = x.tile([2, 2, 6], [0, 0, 0]).reshape([4, 6]);", "merges modes 0 and 1 of `x`"),
        ("let from = x.tile([1, 3, 4], [0, 0, 0]).reshape([12]);", "merges modes 1 and 2 of `x`"),
        (
            "let from = x.tile([2, 3, 6], [0, 0, 0]).reshape([37]);",
            "`reshape` of `x` changes the number of elements: 36 to 37",
        ),
        ("let from = x.reshape([A, B]);", "`reshape` of `x` changes the number of elements"),
        ("let from = x.permute([0, 1]);", "`permute` with 2 entries of a view of `x` of rank 3"),
        ("let from = x.permute([0, 1, 1]);", "[0, 1, 1] is no order of 3 modes"),
        (
            "let from = x.squeeze(0);",
            "`squeeze` of mode 0 of `x`, which is not one of several with one element",
        ),
        ("let from = x.squeeze(3);", "a view of `x` of rank 3 has no such mode"),
        (
            "let from = x.reshape([1, A, 1, B, C, 1]); let mut other = y.reshape([1, A, 1, B, C, 1]); other.copy_from(&from);",
            "an operation on a view of 6 modes; at most 5 are possible",
        ),
        ("let from = x.vectorize([1, 1, 2]).reshape([A, B * C]);", "`reshape` of vectors of `x`"),
        ("let from = x.flatten();", "`x.reshape([M * N])`"),
    ] {
        let found = wrong(&copied("A, B, C", body));
        assert!(found.iter().any(|error| error.contains(message)), "{body}: {found:#?}");
    }
}

/// A mode that a tile covers whole has its edge after `reshape`, too, and so has a mode of one element.
#[test]
fn what_is_beyond_the_new_modes_is_found() {
    for body in [
        "let v = x.reshape([8, 8]);  y[[0]] = v[[k, 0]];",
        "let v = x.tile([4, 16], [0, 0]).reshape([64]); y[[0]] = v[[8 * k]];",
        "let v = x.tile([4, 16], [0, 0]).reshape([8, 8]); y[[0]] = v[[k, 1]];",
        "let v = x.reshape([4, 1, 16]); y[[0]] = v[[0, k - 7, 0]];",
        "let v = x.tile([1, 16], [3, 0]).reshape([16, 1]); y[[0]] = v[[0, k - 7]];",
        "let v = x.tile([4, 16], [0, 0]).reshape([1, 64]); y[[0]] = v[[k - 7, 0]];",
    ] {
        let text = format!(
            "#[tiled_kernel(block = [1], grid = [1])]
fn line(x: &LayoutTensor<i32, RowMajor<4, 16>>, y: &mut LayoutTensor<i32, RowMajor<1>>, k: usize) {{ {body} }}"
        );
        let kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:#?}"));
        for (aligned, k) in [(true, 8), (false, 8), (true, 7)] {
            let promises = Promises { narrow: true, aligned, variant_if: None };
            let checked = compile(&kernel, &kernel.parameter_sets().remove(0), promises);
            let checked = checked.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
            let given =
                [Given::new("i32", &[4, 16], bytes(0..64), false), Given::new("i32", &[1], vec![0; 4], true)];
            let bound = bound(&checked, &given, &[(None, k)]).expect("a launch");
            let [x, mut y] = given.map(|tensor| tensor.bytes);
            let mut arguments = [
                SimulatorArgument::Read(&x),
                SimulatorArgument::Write(&mut y),
                SimulatorArgument::Index(k as i64),
            ];
            let report = simulate(&checked, &bound, &mut arguments, &Options::default()).expect("a run");
            let found = report.findings.iter().any(|finding| finding.kind == FindingKind::OutOfBounds);
            assert_eq!(found, k == 8, "{text}: {:#?}", report.findings);
        }
    }
}

/// A whole tensor as one mode has one comparison for its edge, in 32 bits where the launch promises so many elements.
#[test]
fn a_flat_view_is_as_narrow_as_its_tensor() {
    let text = "#[tiled_kernel(block = [256], grid = [(A * B).div_ceil(1024)])]
fn line<const A: usize, const B: usize>(x: &LayoutTensor<f32, RowMajor<A, B>>, y: &mut LayoutTensor<f32, RowMajor<A, B>>) {
    let (from, mut to) = (x.reshape([A * B]), y.reshape([A * B]));
    to.tile([1024], [block_idx.x]).vectorize([4]).distribute(row_major([256]), thread_idx.x)
        .copy_from(&from.tile([1024], [block_idx.x]).vectorize([4]).distribute(row_major([256]), thread_idx.x));
}";
    let kernel = layout_text::kernel(text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let set = kernel.parameter_sets().remove(0);
    let of = |narrow| {
        let checked = compile(&kernel, &set, Promises { narrow, aligned: true, variant_if: None });
        emit(&checked.unwrap_or_else(|errors| panic!("{errors}"))).text
    };
    assert!(!of(true).contains("long long"), "{}", of(true));
    assert!(of(false).contains("long long"), "{}", of(false));
    assert!(of(true).contains("float4"), "{}", of(true));
}

/// A box of four modes that TMA loads is the matrix of two that the matrix units read.
#[test]
fn a_box_of_four_modes_is_an_operand() {
    let text = "#[tiled_kernel(arch = \"sm_90a\", block = [128], grid = [1])]
fn line(x: &LayoutTensor<bf16, RowMajor<1, 8, 8, 64>>, w: &LayoutTensor<bf16, RowMajor<64, 64>>, y: &mut LayoutTensor<bf16, RowMajor<64, 64>>) {
    let mut a = shared::<bf16>(row_major([1, 8, 8, 64]).swizzle_bytes(128));
    let mut b = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(a.bytes() + b.bytes());
        tma_load(&mut a, &x.tile([1, 8, 8, 64], [0, 0, 0, 0]), full.at(0));
        tma_load(&mut b, &w.tile([64, 64], [0, 0]), full.at(0));
    }
    full.at(0).wait(0);
    let mut sums = accumulator([64, 64]).fill(0.0);
    wgmma(&mut sums, &a.reshape([64, 64]), &b.transpose(), true);
    wgmma_commit_group();
    wgmma_wait_group(0);
    let mut c = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    store_matrix(&mut c, &sums);
    barrier();
    let threads = row_major([2, 64]);
    y.distribute(threads, thread_idx.x).copy_from(&c.distribute(threads, thread_idx.x));
}";
    // Sums of at most 256, exact in bf16.
    let number = |n: usize| ((n * 7 + n / 64) % 5) as f32 - 2.0;
    let bf16 = |n: usize| ((number(n).to_bits() >> 16) as u16).to_le_bytes();
    let operand = |shape: &[usize]| Given::new("bf16", shape, (0..4096).flat_map(bf16).collect(), false);
    let mut all =
        [operand(&[1, 8, 8, 64]), operand(&[64, 64]), Given::new("bf16", &[64, 64], vec![0; 2 * 4096], true)];
    launch(text, &mut all, &[], false);
    let found =
        all[2].bytes.chunks(2).map(|half| f32::from_bits(u32::from_le_bytes([0, 0, half[0], half[1]])));
    let sum = |i: usize, j: usize| (0..64).map(|k| number(i * 64 + k) * number(j * 64 + k)).sum::<f32>();
    assert!(found.eq((0..4096).map(|n| sum(n / 64, n % 64))));
}
