//! `bitcast`: each byte by value in both directions, of tensors, tiles, swizzled and staged memory; races between two types; what no
//! type describes.
//!
//! Law: both views are of the same bytes. The simulator finds a race where two types meet in a byte, and none where they do not.

use super::{Given, bound, run, wrong};
use layout_compiler::{BindError, Promises, compile};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};

fn noise(count: usize) -> Vec<u8> {
    (0..count as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 41) as u8).collect()
}

/// A kernel over `x` and `y` of the same extents.
fn kernel(attribute: &str, of: &str, body: &str) -> String {
    format!(
        "#[tiled_kernel({attribute})]
fn line<const M: usize, const N: usize>(x: &LayoutTensor<{of}, RowMajor<M, N>>, y: &mut LayoutTensor<{of}, RowMajor<M, N>>) {{
    {body}
}}"
    )
}

const SHAPE: [usize; 2] = [5, 64];
const ONE: &str = "block = [1], grid = [1], require(N % 16 == 0, N == 64, M == 5)";

#[test]
fn every_byte_is_where_it_was() {
    let types = [
        ("i8", 1),
        ("e4m3", 1),
        ("u16", 2),
        ("bf16", 2),
        ("f16", 2),
        ("u32", 4),
        ("f32", 4),
        ("u64", 8),
        ("f64", 8),
    ];
    for (new, bytes) in types {
        for body in [
            // A whole tensor, by elements, and by vectors of tiles.
            "let (from, mut to) = (x.bitcast::<NEW>(), y.bitcast::<NEW>());
            for i in 0..M { for j in 0..N / BYTES { to[[i, j]] = from[[i, j]]; } }",
            "let (from, mut to) = (x.bitcast::<NEW>(), y.bitcast::<NEW>());
            for i in 0..M {
                let own = from.tile([1, 64 / BYTES], [i, 0]).vectorize([1, 16 / BYTES]).to_local();
                to.tile([1, 64 / BYTES], [i, 0]).vectorize([1, 16 / BYTES]).copy_from(&own.vectorize([1, 16 / BYTES]));
            }",
            // Tiles and windows that are cast, and rows.
            "for i in 0..M { for k in 0..N / 16 {
                let (from, mut to) = (x.tile([1, 16], [i, k]).bitcast::<NEW>(), y.window([1, 16], [i, 16 * k]).bitcast::<NEW>());
                to.copy_from(&from);
            } }",
            "for i in 0..M { y.slice(i).tile([64], [0]).bitcast::<NEW>().copy_from(&x.slice(i).tile([64], [0]).bitcast::<NEW>()); }",
            // A swizzled stage that is written as one type and read as another.
            "let mut held = shared::<u8>(row_major([8, 64]).swizzle(2, 4, 3));
            held.tile([5, 64], [0, 0]).bitcast::<u64>().copy_from(&x.tile([5, 64], [0, 0]).bitcast::<u64>());
            let stage = held.bitcast::<NEW>();
            y.tile([5, 64], [0, 0]).bitcast::<NEW>().copy_from(&stage.tile([5, 64 / BYTES], [0, 0]));",
            // There and back, and through a second wider type.
            "let (from, mut to) = (x.bitcast::<u64>().bitcast::<NEW>().bitcast::<u8>(), y.bitcast::<NEW>().bitcast::<u8>());
            for i in 0..M { for j in 0..N { to[[i, j]] = from[[i, j]]; } }",
        ] {
            let text = kernel(ONE, "u8", &body.replace("NEW", new).replace("BYTES", &bytes.to_string()));
            let mut out = vec![0; 320];
            run(&text, &[("u8", &SHAPE, noise(320))], ("u8", &SHAPE, &mut out));
            assert_eq!(out, noise(320), "{text}");
        }
    }
}

/// What is beyond the edge of the bytes is beyond that of the words.
#[test]
fn edges_are_those_of_the_bytes() {
    let body = "let (from, mut to) = (x.bitcast::<u32>(), y.bitcast::<u32>());
    to.tile([2, 8], [block_idx.y, block_idx.x]).copy_from(&from.tile([2, 8], [block_idx.y, block_idx.x]));";
    let attribute = "block = [1], grid = [(N / 4).div_ceil(8), M.div_ceil(2)], require(N % 4 == 0)";
    for shape in [[3, 36], [1, 4], [2, 32], [5, 28]] {
        let count = shape[0] * shape[1];
        let mut out = vec![0; count];
        run(&kernel(attribute, "u8", body), &[("u8", &shape, noise(count))], ("u8", &shape, &mut out));
        assert_eq!(out, noise(count), "{shape:?}");
    }
    // A guard is as good as a promise, in each variant.
    let both = "if N % 4 == 0 {
        let (from, mut to) = (x.bitcast::<u32>(), y.bitcast::<u32>());
        for i in 0..M { for j in 0..N / 4 { to[[i, j]] = from[[i, j]] + 0x01010101; } }
    } else { for i in 0..M { for j in 0..N { y[[i, j]] = x[[i, j]] + 2; } } }";
    for (attribute, n) in
        [("", 36), ("", 35), (", variant_if(N % 4 == 0)", 36), (", variant_if(N % 4 == 0)", 33)]
    {
        let text = kernel(&format!("block = [1], grid = [1]{attribute}"), "u8", both);
        let small: Vec<u8> = noise(3 * n).into_iter().map(|byte| byte & 0x7f).collect();
        let mut out = vec![0; 3 * n];
        run(&text, &[("u8", &[3, n], small.clone())], ("u8", &[3, n], &mut out));
        let by = if n % 4 == 0 { 1 } else { 2 };
        assert_eq!(out, small.iter().map(|byte| byte + by).collect::<Vec<_>>(), "{text}");
    }
}

/// What the simulator finds in a kernel of 64 threads over 16 words.
fn found(body: &str) -> Vec<FindingKind> {
    let text = format!(
        "#[tiled_kernel(block = [64], grid = [1])]
fn line(y: &mut LayoutTensor<u32, RowMajor<16>>) {{
    let t = thread_idx.x;
    {body}
}}"
    );
    let kernel = layout_text::kernel(&text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let checked = compile(&kernel, &kernel.parameter_sets().remove(0), Promises::USUAL);
    let checked = checked.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let mut given = [Given::new("u32", &[16], vec![0; 64], true)];
    let bound = bound(&checked, &given, &[]).expect("a launch");
    let options = Options { coverage: true, ..Options::default() };
    let mut arguments = [SimulatorArgument::Write(&mut given[0].bytes)];
    let report = simulate(&checked, &bound, &mut arguments, &options).expect("a report");
    report.findings.into_iter().map(|finding| finding.kind).collect()
}

#[test]
fn races_are_found_by_the_byte() {
    for (body, races) in [
        // Each thread has its byte of a word.
        ("let mut b = y.bitcast::<u8>(); b[[t]] = 1;", false),
        ("let mut b = y.bitcast::<u8>(); b[[t]] = 1; barrier(); if t < 16 { y[[t]] = y[[t]] + 1; }", false),
        ("let mut b = y.bitcast::<u8>(); b[[t]] = 1; if t < 16 { y[[t]] = 1; }", true),
        ("let mut b = y.bitcast::<u8>(); b[[t]] = 1; if t == 5 { y[[0]] = y[[3]]; }", true),
        ("let mut b = y.bitcast::<u16>(); if t < 32 { b[[t]] = 1; } if t == 40 { y[[3]] = 1; }", true),
        ("let mut b = y.bitcast::<u64>(); if t < 8 { b[[t]] = 1; }", false),
        ("let mut b = y.bitcast::<u64>(); if t < 8 { b[[t]] = 1; } if t == 9 { y[[15]] = 1; }", true),
        (
            "let mut s = shared::<u32>(row_major([16])); let mut b = s.bitcast::<u8>(); b[[t]] = 1; barrier(); if t < 16 { y[[t]] = s[[t]]; }",
            false,
        ),
        (
            "let mut s = shared::<u32>(row_major([16])); let mut b = s.bitcast::<u8>(); b[[t]] = 1; if t < 16 { y[[t]] = s[[t]]; }",
            true,
        ),
        (
            "let mut s = shared::<u8>(row_major([64])); s[[t]] = 1; barrier(); if t < 16 { y[[t]] = s.bitcast::<u32>()[[t]]; }",
            false,
        ),
        (
            "let mut s = shared::<u8>(row_major([64])); if t < 32 { s.bitcast::<u16>()[[t]] = 1; } if t < 16 { y[[t]] = s.bitcast::<u32>()[[t]]; }",
            true,
        ),
    ] {
        let kinds = found(body);
        let race = |kind: &FindingKind| kind.name().contains("race");
        assert_eq!(kinds.iter().any(race), races, "{body}: {kinds:?}");
        assert!(races || kinds.is_empty(), "{body}: {kinds:?}");
    }
    // A word of which one byte is unwritten is not initialised.
    let unwritten = "let mut s = shared::<u8>(row_major([64])); if t < 63 { s[[t]] = 1; } barrier(); if t < 16 { y[[t]] = s.bitcast::<u32>()[[t]]; }";
    assert!(found(unwritten).contains(&FindingKind::Uninitialised), "{:?}", found(unwritten));
}

/// A value that is read before the memory changes under another type is the one before.
#[test]
fn order_is_that_of_the_memory() {
    let body = "let mut words = y.bitcast::<u32>();
    y[[0, 0]] = 7;
    let mut write = |to: u32| { words[[0, 0]] = to; 1u8 };
    let sum = y[[0, 0]] + write(0x05050505) + y[[0, 1]];
    y[[0, 8]] = sum;";
    let mut out = vec![0; 320];
    run(&kernel(ONE, "u8", body), &[("u8", &SHAPE, noise(320))], ("u8", &SHAPE, &mut out));
    assert_eq!((out[0], out[8]), (5, 7 + 1 + 5));
}

#[test]
fn what_has_no_second_type_is_refused() {
    let known = "block = [1], grid = [1], require(N % 4 == 0)";
    for (attribute, body, message) in [
        (
            "block = [1], grid = [1]",
            "y.bitcast::<u32>()[[0, 0]] = 0;",
            "`bitcast` of `y` to u32 takes 4 elements as one, and `N` is not known to be a multiple of 4: promise it, `require(N % 4 == 0)`",
        ),
        (known, "y.bitcast::<u64>()[[0, 0]] = 0;", "`N` is not known to be a multiple of 8"),
        (
            known,
            "y.tile([1, 6], [0, 1]).bitcast::<u32>()[[0, 0]] = 0;",
            "an extent, a stride or the first element of this view is not known to be a multiple of 4: take `bitcast` of the whole tensor",
        ),
        (
            known,
            "y.window([1, 8], [0, 2]).bitcast::<u32>()[[0, 0]] = 0;",
            "the first element of this view is not known",
        ),
        (
            known,
            "let own = x.tile([1, 4], [0, 0]).to_local(); y.bitcast::<u32>()[[0, 0]] = own.bitcast::<u32>()[[0, 0]];",
            "`bitcast` of `own`, which is in registers",
        ),
        (
            known,
            "y.bitcast::<bool>()[[0, 0]] = true;",
            "`bitcast` of `y` from u8 to bool: a truth value has two of its 256 patterns",
        ),
        (known, "let v = y.vectorize([1, 4]).bitcast::<u32>();", "`bitcast` of the vectorised view of `y`"),
        (
            known,
            "let v = x.pad(0).bitcast::<u32>(); y.bitcast::<u32>()[[0, 0]] = v[[0, 0]];",
            "take `pad` of the cast view",
        ),
        (
            known,
            "let mut s = shared::<u8>(layout([4, 4], [32, 8])); s.bitcast::<u32>()[[0, 0]] = 0;",
            "no mode of which is contiguous",
        ),
        (
            known,
            "let mut s = shared::<u8>(row_major([8, 64]).swizzle(3, 1, 3)); s.bitcast::<u32>()[[0, 0]] = 0;",
            "whose swizzle keeps 2 elements together",
        ),
        (known, "y.bitcast()[[0, 0]] = 0;", "`bitcast` needs its element type"),
        (known, "y.bitcast::<usize>()[[0, 0]] = 0;", "`bitcast` takes an element type of fixed width"),
        (known, "x.bitcast::<u32>()[[0, 0]] = 0;", "`x` is not mutable"),
    ] {
        let errors = wrong(&kernel(attribute, "u8", body));
        assert!(
            errors.iter().any(|error| error.replace("\n  = help", "").contains(message)),
            "{body}: {errors:#?}"
        );
    }
}

/// A launch refuses an address that the wider type does not have.
#[test]
fn an_address_is_checked() {
    let text =
        kernel("block = [1], grid = [1], require(N % 4 == 0)", "u8", "y.bitcast::<u32>()[[0, 0]] = 1;");
    let parsed = layout_text::kernel(&text).expect("a kernel");
    let promises = Promises { narrow: true, aligned: false, variant_if: None };
    let checked = compile(&parsed, &parsed.parameter_sets().remove(0), promises).expect("a variant");
    let tensor = |address| layout_compiler::LaunchArgument::Tensor {
        elem: layout_compiler::Elem::U8,
        shape: &[5, 64],
        strides: &[64, 1],
        address,
        len: 320,
    };
    for (address, right) in [(4096, true), (4100, true), (4098, false), (4097, false)] {
        let bound = checked.plan().bind(&[tensor(4096), tensor(address)], None);
        match bound {
            Ok(_) => assert!(right, "{address}"),
            Err(BindError::Type { argument, expected, .. }) => {
                assert!(!right && argument == "y", "{address}: {argument}");
                assert_eq!(expected, "at an address divisible by 4, for `bitcast::<u32>()`");
            }
            Err(error) => panic!("{error}"),
        }
    }
}
