//! Wrappers of instructions with a result: mathematics, conversions, warps, matrices of a warp.

use super::{fill, paragraph, paragraphs};

const APPROXIMATE: &str = include_str!("../device/approximate.cuh.template");
const FLOAT8: &str = include_str!("../device/float8.cuh.template");
const MATH: &str = include_str!("../device/math.cuh.template");
const MMA: &str = include_str!("../device/mma.cuh.template");
const WARP: &str = include_str!("../device/warp.cuh.template");

/// The hardware's approximations.
pub(in super::super) fn approximations() -> Vec<String> {
    let rows = [
        ("exp2", "2 to the power a.", "ex2.approx.ftz.f32"),
        ("log2", "Logarithm to base 2.", "lg2.approx.ftz.f32"),
        ("sin", "Sine.", "sin.approx.ftz.f32"),
        ("cos", "Cosine.", "cos.approx.ftz.f32"),
        ("tanh", "Hyperbolic tangent (sm_75 and later).", "tanh.approx.f32"),
        ("rsqrt", "1 / sqrt(a).", "rsqrt.approx.ftz.f32"),
        ("sqrt", "Square root.", "sqrt.approx.ftz.f32"),
        ("recip", "1 / a.", "rcp.approx.ftz.f32"),
    ];
    let one = rows.map(|(name, doc, instruction)| {
        fill(paragraph(APPROXIMATE, 0), &[("name", name), ("doc", doc), ("instruction", instruction)])
    });
    one.into_iter().chain([paragraph(APPROXIMATE, 1).to_owned()]).collect()
}

/// Conversions of 8-bit floats.
pub(in super::super) fn float8() -> Vec<String> {
    let types = ["e4m3", "e5m2"].into_iter();
    types.flat_map(|name| paragraphs(FLOAT8).map(move |text| fill(text, &[("type", name)]))).collect()
}

/// Rust's functions of floats that CUDA does not have, of `float` and of `double`.
pub(in super::super) fn math() -> Vec<String> {
    let rows = [
        ["float", "f", "1.0f", "__int_as_float(0x7f800000)"],
        ["double", "", "1.0", "__longlong_as_double(0x7ff0000000000000LL)"],
    ];
    let each = rows.into_iter().flat_map(|[ty, suffix, one, infinity]| {
        let row = [("type", ty), ("f", suffix), ("one", one), ("infinity", infinity)];
        paragraphs(MATH).map(move |text| fill(text, &row))
    });
    each.collect()
}

/// Matrix instructions of a warp, and the loads of their operands.
pub(in super::super) fn matrices() -> Vec<String> {
    // Of a row: the last extent, the first architecture, the element, its name in PTX, and the same of a sum.
    let rows = [
        ["16", "sm_80", "f16", "f16", "float", "f32", "f"],
        ["16", "sm_80", "bf16", "bf16", "float", "f32", "f"],
        ["32", "sm_89", "e4m3", "e4m3", "float", "f32", "f"],
        ["32", "sm_89", "e5m2", "e5m2", "float", "f32", "f"],
        ["32", "sm_80", "signed char", "s8", "int", "s32", "r"],
        ["32", "sm_80", "unsigned char", "u8", "int", "s32", "r"],
    ];
    let products = rows.map(|[k, arch, ty, name, sum, into, register]| {
        let sums = if into == "s32" { ", with sums modulo 2^32" } else { "" };
        let row = [
            ("k", k),
            ("arch", arch),
            ("type", ty),
            ("name", name),
            ("sum", sum),
            ("into", into),
            ("register", register),
            ("sums", sums),
        ];
        fill(paragraph(MMA, 2), &row)
    });
    let loads = [
        ["Two", "2", "", "; each thread names a row of them"],
        ["Four", "4", "", ""],
        ["Two", "2", "trans", ", each transposed"],
        ["Four", "4", "trans", ", each transposed"],
    ];
    let loads = loads.map(|[number, count, turned, each]| {
        let places = if count == "2" { "%0, %1" } else { "%0, %1, %2, %3" };
        let outputs: Vec<String> =
            places.split(", ").map(|place| format!("\"=r\"(d[{}])", &place[1..])).collect();
        let (suffix, trans) = if turned.is_empty() { ("", "") } else { ("_transposed", ".trans") };
        let row = [
            ("number", number),
            ("count", count),
            ("each", each),
            ("suffix", suffix),
            ("trans", trans),
            ("places", places),
            ("outputs", &outputs.join(", ")),
        ];
        fill(paragraph(MMA, 6), &row)
    });
    let fixed = |number: usize| paragraph(MMA, number).to_owned();
    let (floats, integers) = products.split_at(4);
    let single = [vec![fixed(0), fixed(1)], floats.to_vec(), vec![fixed(3)]].concat();
    let doubles = [vec![fixed(4)], doubles().to_vec(), vec![fixed(5)]].concat();
    let bytes = [("signed char", "s8"), ("unsigned char", "u8")];
    let bytes = bytes.map(|(ty, name)| fill(paragraph(MMA, 9), &[("type", ty), ("name", name)]));
    [single, vec![fixed(8)], integers.to_vec(), bytes.to_vec(), doubles, loads.to_vec(), scaled().to_vec()]
        .concat()
}

/// The products with block scales.
fn scaled() -> [String; 4] {
    // Of a row: the last extent, the elements, their type and kind in CUDA C, and of the scales the elements of one, their name,
    // type and number in an instruction.
    let rows = [
        ["64", "e2m1", "unsigned int", "mxf4nvf4", "16", "ue4m3", "e4m3", "4X"],
        ["64", "e2m1", "unsigned int", "mxf4nvf4", "32", "ue8m0", "unsigned char", "2X"],
        ["32", "e4m3", "e4m3", "mxf8f6f4", "32", "ue8m0", "unsigned char", "1X"],
        ["32", "e5m2", "e5m2", "mxf8f6f4", "32", "ue8m0", "unsigned char", "1X"],
    ];
    rows.map(|[k, name, ty, kind, block, scale, bytes, vector]| {
        let row = [
            ("k", k),
            ("name", name),
            ("type", ty),
            ("kind", kind),
            ("block", block),
            ("scale", scale),
            ("bytes", bytes),
            ("vector", vector),
        ];
        fill(paragraph(MMA, 10), &row)
    })
}

/// The products of `double` with 16 rows: operands of `k / 2` and `k / 4` registers behind the four of the sums.
fn doubles() -> [String; 3] {
    [4, 8, 16].map(|k| {
        let list = |numbers: std::ops::Range<usize>, one: fn(usize) -> String| {
            numbers.map(one).collect::<Vec<_>>().join(", ")
        };
        let place = |number| format!("%{number}");
        let (middle, end) = (4 + k / 2, 4 + k / 2 + k / 4);
        let row = [
            ("k", k.to_string()),
            ("left", list(4..middle, place)),
            ("right", list(middle..end, place)),
            ("sums", list(end..end + 4, place)),
            ("a", list(0..k / 2, |number| format!("\"d\"(a[{number}])"))),
            ("b", list(0..k / 4, |number| format!("\"d\"(b[{number}])"))),
        ];
        fill(paragraph(MMA, 7), &row.each_ref().map(|(name, value)| (*name, value.as_str())))
    })
}

/// The threads of a warp together.
pub(in super::super) fn warps() -> Vec<String> {
    const OTHER: &str = "__shfl_xor_sync(0xffffffff, value, distance)";
    let fixed = |number: usize| paragraph(WARP, number).to_owned();
    let tree = |doc: &str, name: &str, change: String| {
        let order = match name {
            "sum" => ": lanes of distance 16, 8, 4, 2, 1 add up, so that the order is always the same",
            _ => "",
        };
        let row = [("doc", doc), ("name", name), ("change", &change), ("order", order)];
        fill(paragraph(WARP, 2), &row)
    };
    let extreme = |name: &str| format!("value = {name}(value, {OTHER})");
    // One instruction each from sm_80 on.
    let reductions = [
        ["The sum modulo 2^32", "unsigned int", "sum", "add", "value + other"],
        ["The largest value", "int", "max", "max", "max(value, other)"],
        ["The largest value", "unsigned int", "max", "max", "max(value, other)"],
        ["The smallest value", "int", "min", "min", "min(value, other)"],
        ["The smallest value", "unsigned int", "min", "min", "min(value, other)"],
        ["The bits that are one in every lane", "unsigned int", "and", "and", "value & other"],
        ["The bits that are one in a lane", "unsigned int", "or", "or", "value | other"],
        ["The bits that are one in an odd number of lanes", "unsigned int", "xor", "xor", "value ^ other"],
    ];
    let reductions = reductions.map(|[doc, ty, name, reduce, change]| {
        let row = [("doc", doc), ("type", ty), ("name", name), ("reduce", reduce), ("change", change)];
        fill(paragraph(WARP, 4), &row)
    });
    let values = vec![
        tree("The sum", "sum", format!("value += {OTHER}")),
        tree("The largest value", "max", extreme("max")),
        tree("The smallest value", "min", extreme("min")),
        fixed(3),
    ];
    let bits = [
        ("The bits that are one in every lane", "and", '&'),
        ("The bits that are one in a lane", "or", '|'),
        ("The bits that are one in an odd number of lanes", "xor", '^'),
    ];
    let bits = bits.map(|(doc, name, sign)| tree(doc, name, format!("value {sign}= {OTHER}")));
    [vec![fixed(0), fixed(1)], values, reductions.to_vec(), bits.to_vec(), vec![fixed(5)]].concat()
}
