//! Complement, divides and products by brute force.
//!
//! Laws: a complement R of L up to M increases from 0, no copy of L at one of its offsets meets another, and together
//! they reach M offsets. A divide of L by T is `L(T(i) + R(j))` with R the complement of T up to L's size; a product of
//! B by T is `B(i) + R(T(j))` with R the complement of B.

use super::numbers::*;
use serde_json::{Value, json};

/// What the complement of `of` is, mode by mode: the gaps below each stride, then whole repeats up to `target`.
pub fn complement(of: &Function, target: i64) -> Result<Function, String> {
    let mut modes: Vec<(i64, i64)> =
        of.moving().into_iter().map(|(extent, stride)| (stride.abs(), extent)).collect();
    modes.sort_unstable();
    let (mut rest, mut span) = (Vec::new(), 1);
    for (stride, extent) in modes {
        ensure(stride >= span, || format!("{of:?} has no complement"))?;
        rest.push((stride / span, span));
        span = stride * extent;
    }
    rest.push(((target.max(1) - 1) / span + 1, span));
    Ok(Function(rest))
}

/// Whether `table` is a complement of `of` up to `target`.
pub fn is_complement(of: &Function, target: i64, table: &[i64]) -> Verdict {
    let own = of.table();
    ensure(table.first() == Some(&0), || "0 is none of its offsets".into())?;
    ensure(table.windows(2).all(|pair| pair[0] < pair[1]), || "it does not increase".into())?;
    no_copies_meet(&own, table)?;
    let total = reach(&own) + table.last().unwrap_or(&0);
    ensure(total >= target, || format!("with it the layout reaches {total} offsets, not {target}"))
}

/// Whether no copy of `block` at one of the offsets of `copies` meets a copy at another.
pub fn no_copies_meet(block: &[i64], copies: &[i64]) -> Verdict {
    let (block, copies) = (image(block), image(copies));
    let mut all: Vec<i64> =
        copies.iter().flat_map(|copy| block.iter().map(move |offset| copy + offset)).collect();
    all.sort_unstable();
    match all.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("two copies meet at offset {}", pair[0])),
        None => Ok(()),
    }
}

/// The two sides of a divided or repeated mode, and its value at each pair of coordinates, the first fastest.
struct Pair {
    first: i64,
    second: i64,
    values: Vec<i64>,
}

impl Pair {
    fn new(first: i64, second: i64, value: impl Fn(i64, i64) -> i64) -> Self {
        let indices = (0..second).flat_map(|j| (0..first).map(move |i| (i, j)));
        Self { first, second, values: indices.map(|(i, j)| value(i, j)).collect() }
    }

    fn divide(layout: &Value, tile: &Value) -> Result<Self, String> {
        let (layout, tile) = (Function::of(layout), Function::of(tile));
        let rest = complement(&tile, layout.size())?;
        Ok(Self::new(tile.size(), rest.size(), |i, j| layout.at(tile.at(i) + rest.at(j))))
    }

    fn product(block: &Value, tile: &Value) -> Result<Self, String> {
        let (block, tile) = (Function::of(block), Function::of(tile));
        let free = complement(&block, block.size() * reach(&tile.table()))?;
        let copies: Vec<i64> = tile.table().into_iter().map(|i| free.at(i)).collect();
        no_copies_meet(&block.table(), &copies)?;
        Ok(Self::new(block.size(), tile.size(), |i, j| block.at(i) + copies[j as usize]))
    }

    /// A mode that is neither divided nor repeated: all of it is on the second side.
    fn whole(layout: &Value) -> Self {
        let layout = Function::of(layout);
        Self::new(1, layout.size(), |_, j| layout.at(j))
    }

    /// A mode that is kept: as it is it must be a pair already, if its two sides are to be moved.
    fn kept(layout: &Value, moved: bool) -> Result<Self, String> {
        let sides = modes(layout);
        if !moved {
            return Ok(Self::whole(layout));
        }
        ensure(sides.len() == 2, || format!("{layout} is no pair"))?;
        let layout = Function::of(layout);
        let (first, second) = (product(&sides[0]["shape"]), product(&sides[1]["shape"]));
        Ok(Self::new(first, second, |i, j| layout.at(i + first * j)))
    }
}

/// The values of all pairs together, over these digits: `(pair, side)`, the first digit fastest.
fn walk(pairs: &[Pair], digits: &[(usize, usize)]) -> Vec<i64> {
    let extent = |&(pair, side): &(usize, usize)| [pairs[pair].first, pairs[pair].second][side];
    let total: i64 = digits.iter().map(extent).product();
    let value = |index: i64| {
        let (mut rest, mut at) = (index, vec![[0, 0]; pairs.len()]);
        for digit in digits {
            at[digit.0][digit.1] = rest % extent(digit);
            rest /= extent(digit);
        }
        pairs.iter().zip(at).map(|(pair, [i, j])| pair.values[(i + pair.first * j) as usize]).sum()
    };
    (0..total).map(value).collect()
}

/// An entry of a tiler as a layout, or nothing for a kept mode.
pub fn tile(entry: &Value) -> Option<Value> {
    match entry["int"].as_i64() {
        Some(extent) => Some(json!({ "shape": extent, "stride": 1 })),
        None => Some(entry.clone()).filter(|entry| !entry.is_null()),
    }
}

/// Whether `result` is the divide or the product `op` of these operands, grouped as its name says.
pub fn is_tiled(op: &str, operand: &Value, tiler: &Value, result: &Value, table: &[i64]) -> Verdict {
    let (grouping, kind) = op.trim_end_matches("_tiler").split_once('_').unwrap_or(("", ""));
    let make = |layout: &Value, tile: &Value| match kind {
        "divide" => Pair::divide(layout, tile),
        _ => Pair::product(layout, tile),
    };
    let sizes: Vec<i64> = parts(&result["shape"]).iter().map(product).collect();
    let Some(tiles) = tiler.as_array() else {
        let pair = make(operand, tiler)?;
        ensure(table == pair.values, || format!("its table is not {:?}", pair.values))?;
        // Of a flat grouping some modes at the front are the first side, of the others mode 0 alone.
        let mut fronts = sizes.iter().scan(1, |size, mode| {
            *size *= mode;
            Some(*size)
        });
        let own = match grouping {
            "flat" => fronts.any(|size| size == pair.first),
            "tiled" => sizes.first() == Some(&pair.first),
            _ => sizes == [pair.first, pair.second],
        };
        return ensure(own, || format!("its modes have sizes {sizes:?}"));
    };
    let moved = grouping != "logical";
    let mut pairs = Vec::new();
    for (i, mode) in modes(operand).iter().enumerate() {
        pairs.push(match tiles.get(i).map(tile) {
            Some(Some(tile)) => make(mode, &tile)?,
            Some(None) => Pair::kept(mode, moved)?,
            None => Pair::whole(mode),
        });
    }
    let (count, tiled) = (pairs.len(), tiles.len());
    let firsts = (0..count).map(|pair| (pair, 0));
    let seconds = (0..count).map(|pair| (pair, 1));
    let digits: Vec<_> = if moved {
        firsts.chain(seconds).collect()
    } else {
        (0..count).flat_map(|pair| [(pair, 0), (pair, 1)]).collect()
    };
    let expected = walk(&pairs, &digits);
    ensure(table == expected, || format!("its table is not {expected:?}"))?;
    let first = |pair: &Pair| pair.first;
    let second = |pair: &Pair| pair.second;
    let both = [pairs.iter().map(first).product(), pairs.iter().map(second).product()];
    let own: Vec<i64> = match grouping {
        "logical" => pairs.iter().map(|pair| pair.first * pair.second).collect(),
        "zipped" => both.to_vec(),
        "tiled" => both[..1].iter().copied().chain(pairs.iter().map(second)).collect(),
        _ => pairs[..tiled].iter().map(first).chain(pairs.iter().map(second)).collect(),
    };
    ensure(sizes == own, || format!("its modes have sizes {sizes:?}, not {own:?}"))
}

/// Whether `result` is the product with each mode's block and repeats side by side, the blocks first or last.
pub fn is_paired(block: &Value, tiler: &Value, blocks_first: bool, result: &Value, table: &[i64]) -> Verdict {
    let (block_modes, tile_modes) = (modes(block), modes(tiler));
    let rank = block_modes.len().max(tile_modes.len());
    let size = |modes: &[Value], i: usize| modes.get(i).map_or(1, |mode| product(&mode["shape"]));
    let pair = Pair::product(block, tiler)?;
    let whole = |modes: &[Value]| (0..rank).map(|i| size(modes, i)).collect::<Vec<i64>>();
    let (extents, repeats) = (whole(&block_modes), whole(&tile_modes));
    let order = if blocks_first { [0, 1] } else { [1, 0] };
    let value = |index: i64| {
        let (mut rest, mut at, mut step) = (index, [0, 0], [1, 1]);
        for mode in 0..rank {
            for side in order {
                let extent = [extents[mode], repeats[mode]][side];
                at[side] += rest % extent * step[side];
                step[side] *= extent;
                rest /= extent;
            }
        }
        pair.values[(at[0] + pair.first * at[1]) as usize]
    };
    let expected: Vec<i64> = (0..pair.first * pair.second).map(value).collect();
    ensure(table == expected, || format!("its table is not {expected:?}"))?;
    let sizes: Vec<i64> = parts(&result["shape"]).iter().map(product).collect();
    let own: Vec<i64> = extents.iter().zip(&repeats).map(|(extent, repeat)| extent * repeat).collect();
    ensure(sizes == own, || format!("its modes have sizes {sizes:?}, not {own:?}"))
}
