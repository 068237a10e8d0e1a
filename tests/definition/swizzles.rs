//! Swizzles by brute force: bits of the offset, one by one.

use super::numbers::*;
use super::tiles;
use serde_json::Value;

/// `x ^ ((x & YYY) >> S)`, bit by bit.
pub fn apply(swizzle: &Value, x: i64) -> i64 {
    let part = |i: usize| swizzle[i].as_i64().unwrap_or(0);
    let (bits, base, shift) = (part(0), part(1), part(2));
    (0..bits).fold(x, |swizzled, bit| {
        let (from, to) =
            if shift >= 0 { (base + shift + bit, base + bit) } else { (base + bit, base - shift + bit) };
        swizzled ^ (x >> from & 1) << to
    })
}

/// Whether a swizzle or a swizzled layout is what `op` makes of the arguments.
pub fn holds(op: &str, args: &Value, result: &Value) -> Verdict {
    let own = |x: i64| apply(&args["swizzle"], x);
    let made = |x: i64| apply(&result["swizzle"], x);
    let n = args["n"].as_i64().unwrap_or(1);
    // Both sides are sums over bits without carries, so single bits say it for all offsets; some others say it again.
    let mut offsets = (0..24).map(|bit| 1 << bit).chain(0..16).chain([0x5555, 0x3333, 0x7fff]);
    let mut everywhere = |same: &dyn Fn(i64) -> bool| match offsets.find(|&x| !same(x)) {
        Some(x) => Err(format!("at {x} it gives {}", made(x))),
        None => Ok(()),
    };
    let table: Vec<i64> = leaves(&result["table"]);
    let offset = args["offset"].as_i64().unwrap_or(0);
    let layout = Function::of(&args["layout"]);
    let through = |x: i64| own(offset + layout.at(x));
    let all = |indices: Vec<i64>| {
        ensure(table.iter().copied().eq(indices.into_iter().map(through)), || "its table is another".into())
    };
    match op {
        "swizzle_apply" => ensure(result.as_i64() == Some(own(offset)), || format!("it is {}", own(offset))),
        "swizzle_downcast" => everywhere(&|x| made(x * n) == own(x) * n),
        "swizzle_upcast" => everywhere(&|x| made(x) == own(x * n) / n),
        "swizzle_compose" => everywhere(&|x| made(x) == apply(&args["a"], apply(&args["b"], x))),
        "make_swizzle" => {
            let (y, z) = (args["y"].as_i64().unwrap_or(0), args["z"].as_i64().unwrap_or(0));
            let shift = y.trailing_zeros() as i64 - z.trailing_zeros() as i64;
            let moved = |x: i64| if shift >= 0 { (x & y) >> shift } else { (x & y) << -shift };
            everywhere(&|x| made(x) == x ^ moved(x))
        }
        "swizzle_layout" | "composed_coalesce" => all((0..layout.size()).collect()),
        "composed_composition" => all(Function::of(&args["tiler"]).table()),
        "composed_logical_divide" => {
            let tile = Function::of(&args["tiler"]);
            let rest = tiles::complement(&tile, layout.size())?.table();
            all(rest.into_iter().flat_map(|j| tile.table().into_iter().map(move |i| i + j)).collect())
        }
        "composed_recast" => {
            let bits = |name: &str| args[name].as_i64().unwrap_or(1);
            let before: Vec<i64> = (0..layout.size()).map(through).collect();
            super::same_bits(&before, bits("old_bits"), &table, bits("new_bits"))
        }
        other => Err(format!("no definition of `{other}`")),
    }
}
