//! Random rows of the oracle's kind for every operation: nested, padded, negative, still and single modes. An answer is
//! what the brute-force definition says, on its whole domain; a refusal has words; nothing panics. 20,000 rows for each
//! operation, and 100,000 for those that have no law in the other files.

use super::{Digits, config, digits, signed};
use crate::definition::holds;
use layout_core::{IntTuple, Layout};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// An operation of the oracle, and how its arguments are made.
type Row = (&'static str, fn(&mut Digits) -> Value);

const QUERIES: &[Row] = &[
    ("size", layout_only),
    ("rank", layout_only),
    ("depth", layout_only),
    ("cosize", layout_only),
    ("max_alignment", layout_only),
    ("max_common_vector", |d| json!({ "a": write(&any_layout(d, 32)), "b": write(&any_layout(d, 32)) })),
    ("crd2idx", |d| {
        let l = any_layout(d, 64);
        let coord = coordinate(d, &l, false);
        json!({ "layout": write(&l), "coord": coord })
    }),
    ("idx2crd", |d| {
        let shape = d.shape(64);
        let size = shape.product().expect("small") as u64;
        json!({ "shape": tuple(&shape), "index": d.next(size) })
    }),
    ("crd2crd", |d| {
        let shape = d.shape(64);
        let size = shape.product().expect("small") as u64;
        let coord = layout_core::idx2crd(d.next(size) as i64, &shape).expect("inside");
        let target = if d.next(2) == 0 { json!(size) } else { tuple(&shape.flatten()) };
        json!({ "coord": tuple(&coord), "src": tuple(&shape), "dst": target })
    }),
    ("ceil_div_layout", |d| json!({ "target": 1 + d.next(200), "tiler": write(&any_layout(d, 16)) })),
];

const MODES: &[Row] = &[
    ("coalesce", layout_only),
    ("coalesce_profile", |d| {
        let l = any_layout(d, 64);
        let profile = match d.next(3) {
            0 => json!(1),
            _ => json!((0..d.next(l.rank() as u64 + 1)).map(|_| 1).collect::<Vec<_>>()),
        };
        json!({ "layout": write(&l), "profile": profile })
    }),
    ("filter", layout_only),
    ("filter_zeros", layout_only),
    ("flatten", layout_only),
    ("group", |d| {
        let l = any_layout(d, 64);
        let begin = d.next(l.rank() as u64);
        let end = begin + 1 + d.next(l.rank() as u64 - begin);
        json!({ "layout": write(&l), "begin": begin, "end": end })
    }),
    ("select", |d| {
        let l = any_layout(d, 64);
        let modes: Vec<u64> = (0..1 + d.next(l.rank() as u64)).map(|_| d.next(l.rank() as u64)).collect();
        json!({ "layout": write(&l), "modes": modes })
    }),
    ("append", |d| json!({ "layout": write(&any_layout(d, 16)), "x": write(&any_layout(d, 4)) })),
    ("prepend", |d| json!({ "layout": write(&any_layout(d, 16)), "x": write(&any_layout(d, 4)) })),
    ("slice", |d| {
        let l = any_layout(d, 64);
        let coord = coordinate(d, &l, true);
        json!({ "layout": write(&l), "coord": coord })
    }),
    ("dice", |d| {
        let l = any_layout(d, 64);
        let coord = coordinate(d, &l, true);
        json!({ "layout": write(&l), "coord": coord })
    }),
];

const COMPACT: &[Row] = &[
    ("make_layout_left", |d| json!({ "shape": tuple(&d.shape(64)) })),
    ("make_layout_right", |d| json!({ "shape": tuple(&d.shape(64)) })),
    ("make_ordered_layout", |d| {
        let shape = d.shape(64);
        let order = shape.map(|_| d.next(5) as i64);
        json!({ "shape": tuple(&shape), "order": tuple(&order) })
    }),
    ("make_layout_like", layout_only),
    ("make_fragment_like", layout_only),
    ("tile_to_shape", |d| {
        let block = d.layout(12);
        let sizes: Vec<i64> = block.modes().map(|mode| mode.size() * (1 + d.next(3) as i64)).collect();
        let order: Vec<i64> = sizes.iter().map(|_| d.next(4) as i64).collect();
        let shape = if block.shape().is_leaf() { json!(sizes[0]) } else { json!(sizes) };
        let order = if block.shape().is_leaf() { json!(order[0]) } else { json!(order) };
        json!({ "block": write(&block), "shape": shape, "order": order })
    }),
    ("domain_distribute", |d| json!({ "shape": tuple(&d.shape(64)), "n": 1 + d.next(64) })),
    ("with_shape", |d| json!({ "a": write(&any_layout(d, 64)), "shape": tuple(&d.shape(64)) })),
];

const ALGEBRA: &[Row] = &[
    ("composition", |d| json!({ "a": write(&any_layout(d, 64)), "b": write(&any_layout(d, 32)) })),
    ("composition_tiler", |d| {
        let a = any_layout(d, 64);
        let tiler = tiler(d, a.rank());
        json!({ "a": write(&a), "tiler": tiler })
    }),
    ("complement", |d| json!({ "layout": write(&any_layout(d, 32)), "cotarget": d.next(200) })),
    ("complement_default", layout_only),
    ("right_inverse", layout_only),
    ("left_inverse", layout_only),
    ("nullspace", layout_only),
    ("max_common_layout", |d| json!({ "a": write(&any_layout(d, 32)), "b": write(&any_layout(d, 32)) })),
    ("upcast", |d| json!({ "layout": write(&any_layout(d, 32)), "n": d.pick(&[1, 2, 3, 4, 8]) })),
    ("downcast", |d| json!({ "layout": write(&any_layout(d, 32)), "n": d.pick(&[1, 2, 3, 4, 8]) })),
    ("recast_layout", |d| {
        let widths = [4, 8, 16, 24, 32];
        json!({ "layout": write(&any_layout(d, 32)), "old_bits": d.pick(&widths), "new_bits": d.pick(&widths) })
    }),
];

const DIVIDES: &[Row] = &[
    ("logical_divide", divided),
    ("zipped_divide", divided),
    ("tiled_divide", divided),
    ("flat_divide", divided),
    ("logical_divide_tiler", divided_by_mode),
    ("zipped_divide_tiler", divided_by_mode),
    ("tiled_divide_tiler", divided_by_mode),
    ("flat_divide_tiler", divided_by_mode),
];

const PRODUCTS: &[Row] = &[
    ("logical_product", repeated),
    ("zipped_product", repeated),
    ("tiled_product", repeated),
    ("blocked_product", repeated),
    ("raked_product", repeated),
    ("logical_product_tiler", repeated_by_mode),
    ("zipped_product_tiler", repeated_by_mode),
    ("tiled_product_tiler", repeated_by_mode),
    ("flat_product_tiler", repeated_by_mode),
];

const SWIZZLES: &[Row] = &[
    ("swizzle_apply", |d| json!({ "swizzle": swizzle(d), "offset": d.next(1 << 12) })),
    ("swizzle_upcast", |d| json!({ "swizzle": swizzle(d), "n": 1 << d.next(5) })),
    ("swizzle_downcast", |d| json!({ "swizzle": swizzle(d), "n": 1 << d.next(5) })),
    ("swizzle_compose", |d| json!({ "a": swizzle(d), "b": swizzle(d) })),
    ("make_swizzle", |d| {
        let (bits, low, high) = ((1 << d.next(4)) - 1, d.next(4), d.next(7));
        json!({ "y": (bits << high) + d.next(40) / 39, "z": bits << low })
    }),
    ("swizzle_layout", composed),
    ("composed_coalesce", composed),
    ("composed_composition", |d| with(composed(d), "tiler", write(&d.layout(16)))),
    ("composed_logical_divide", |d| with(composed(d), "tiler", write(&d.layout(16)))),
    ("composed_recast", |d| {
        let widths = [4, 8, 16, 32];
        let (old, new) = (d.pick(&widths), d.pick(&widths));
        with(with(composed(d), "old_bits", json!(old)), "new_bits", json!(new))
    }),
];

const ALL: [&[Row]; 7] = [QUERIES, MODES, COMPACT, ALGEBRA, DIVIDES, PRODUCTS, SWIZZLES];

fn layout_only(d: &mut Digits) -> Value {
    json!({ "layout": write(&any_layout(d, 64)) })
}

fn divided(d: &mut Digits) -> Value {
    json!({ "layout": write(&any_layout(d, 48)), "tiler": write(&any_layout(d, 12)) })
}

fn divided_by_mode(d: &mut Digits) -> Value {
    let l = any_layout(d, 48);
    let tiler = tiler(d, l.rank());
    json!({ "layout": write(&l), "tiler": tiler })
}

fn repeated(d: &mut Digits) -> Value {
    json!({ "block": write(&any_layout(d, 16)), "tiler": write(&any_layout(d, 12)) })
}

fn repeated_by_mode(d: &mut Digits) -> Value {
    let block = any_layout(d, 16);
    let tiler = tiler(d, block.rank());
    json!({ "block": write(&block), "tiler": tiler })
}

fn composed(d: &mut Digits) -> Value {
    json!({ "swizzle": swizzle(d), "offset": d.next(32), "layout": write(&d.layout(64)) })
}

fn with(mut args: Value, name: &str, value: Value) -> Value {
    args[name] = value;
    args
}

/// A swizzle, now and then an impossible one.
fn swizzle(d: &mut Digits) -> Value {
    json!([d.next(4), d.next(5), d.pick(&[3, -3, 4, 2, 0])])
}

/// One layout in three has negative strides.
fn any_layout(d: &mut Digits, limit: i64) -> Layout {
    if d.next(3) == 0 { signed(d, limit) } else { d.layout(limit) }
}

/// A tile for some of the first modes: an extent, a layout, or none.
fn tiler(d: &mut Digits, rank: usize) -> Value {
    let tile = |d: &mut Digits| match d.next(4) {
        0 => Value::Null,
        1 => write(&d.layout(6)),
        _ => json!({ "int": 1 + d.next(6) }),
    };
    Value::Array((0..1 + d.next(rank as u64)).map(|_| tile(d)).collect())
}

/// A coordinate of the layout, nested like it or more coarsely, with open places if asked for.
fn coordinate(d: &mut Digits, l: &Layout, open: bool) -> Value {
    if open && d.next(3) == 0 {
        return Value::Null;
    }
    if l.shape().is_leaf() || d.next(4) == 0 {
        return json!(d.next(l.size() as u64));
    }
    Value::Array(l.modes().map(|mode| coordinate(d, &mode, open)).collect())
}

fn tuple(tuple: &IntTuple) -> Value {
    match tuple.as_int() {
        Some(value) => json!(value),
        None => Value::Array(tuple.modes().map(|mode| self::tuple(&mode)).collect()),
    }
}

fn write(layout: &Layout) -> Value {
    json!({ "shape": tuple(&layout.shape()), "stride": tuple(&layout.stride()) })
}

/// The operations that the other files have no law for.
const ONLY_HERE: [&str; 15] = [
    "ceil_div_layout",
    "make_layout_like",
    "make_fragment_like",
    "tile_to_shape",
    "domain_distribute",
    "with_shape",
    "select",
    "dice",
    "recast_layout",
    "logical_divide_tiler",
    "logical_product_tiler",
    "zipped_product_tiler",
    "make_swizzle",
    "composed_logical_divide",
    "composed_recast",
];

/// A fifth of the cases of the other laws.
fn fifth() -> ProptestConfig {
    let config = config();
    ProptestConfig { cases: config.cases / 5, ..config }
}

/// One random row of each operation: answered as its definition says, or refused in words.
fn answered(rows: &[Row], digits: &Digits) -> Result<(), TestCaseError> {
    for (op, arguments) in rows {
        let args = arguments(&mut digits.clone());
        let row = json!({ "id": 0, "op": op, "args": args });
        let said = layout_examples::programs::rows::answer(&row);
        match said["error"].as_str() {
            Some(words) => prop_assert!(words.len() > 8, "{}: {}", row, words),
            None => {
                let verdict = holds(op, &row["args"], &said["result"], None);
                prop_assert!(verdict.is_ok(), "{} gave {}: {:?}", row, said["result"], verdict);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn what_has_no_other_law(digits in digits()) {
        let named = |row: &&Row| ONLY_HERE.contains(&row.0);
        let rows: Vec<Row> = ALL.into_iter().flatten().filter(named).copied().collect();
        prop_assert_eq!(rows.len(), ONLY_HERE.len());
        answered(&rows, &digits)?;
    }
}

/// A law for each group of operations: what its random rows are answered.
macro_rules! laws {
    ($($name:ident: $rows:expr;)*) => {
        proptest! {
            #![proptest_config(fifth())]
            $(
                #[test]
                fn $name(digits in digits()) {
                    answered($rows, &digits)?;
                }
            )*
        }
    };
}

laws! {
    queries: QUERIES;
    modes: MODES;
    compact_layouts: COMPACT;
    the_algebra: ALGEBRA;
    divides: DIVIDES;
    products: PRODUCTS;
    swizzles: SWIZZLES;
}

/// Every operation of the oracle has its random rows, and most of them are answered.
#[test]
fn every_operation_has_random_rows() {
    let named: Map<String, Value> = crate::oracle::rows("layout.jsonl")
        .iter()
        .filter_map(|row| Some((row["op"].as_str()?.into(), Value::Null)))
        .collect();
    let missing: Vec<&String> =
        named.keys().filter(|op| ALL.into_iter().flatten().all(|(name, _)| name != op)).collect();
    assert!(missing.is_empty(), "no random rows of {missing:?}");
    for (op, arguments) in ALL.into_iter().flatten() {
        let answered = (0..200_u128).filter(|seed| {
            // An odd multiplier spreads small seeds over all digits.
            let mut digits = Digits::new((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
            let row = json!({ "id": 0, "op": op, "args": arguments(&mut digits) });
            layout_examples::programs::rows::answer(&row).get("error").is_none()
        });
        let answered = answered.count();
        assert!(answered >= 20, "{op}: {answered} of 200 rows are answered");
    }
}
