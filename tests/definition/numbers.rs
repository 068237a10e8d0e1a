//! Layouts, shapes and coordinates as plain numbers, read from rows of JSON.
//!
//! Law: `at(i)` is the sum of digits times strides, leftmost digit fastest; the last leaf but those of `1:0` has no
//! upper end, and `at(-i) == -at(i)`.

use serde_json::{Value, json};

/// What is wrong with an answer, if anything is.
pub type Verdict = Result<(), String>;

/// Fails with these words unless the condition holds.
pub fn ensure(holds: bool, words: impl Fn() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(words()) }
}

/// A layout as the extents and strides of its leaves.
#[derive(Clone, Debug, PartialEq)]
pub struct Function(pub Vec<(i64, i64)>);

impl Function {
    pub fn of(layout: &Value) -> Self {
        Self(leaves(&layout["shape"]).into_iter().zip(leaves(&layout["stride"])).collect())
    }

    /// The compact function of these extents, the first fastest.
    pub fn compact(extents: impl IntoIterator<Item = i64>) -> Self {
        let mut step = 1;
        let mode = |extent| {
            let here = step;
            step *= extent;
            (extent, here)
        };
        Self(extents.into_iter().map(mode).collect())
    }

    pub fn size(&self) -> i64 {
        self.0.iter().map(|mode| mode.0).product()
    }

    pub fn at(&self, index: i64) -> i64 {
        let (mut rest, mut offset) = (index.abs(), 0);
        let last = self.0.iter().rposition(|mode| *mode != (1, 0)).unwrap_or(0);
        for (leaf, &(extent, stride)) in self.0.iter().enumerate() {
            let digit = if leaf == last { rest } else { rest % extent };
            rest /= extent;
            offset += digit * stride;
        }
        offset * index.signum()
    }

    pub fn table(&self) -> Vec<i64> {
        (0..self.size()).map(|index| self.at(index)).collect()
    }

    /// The leaves that move.
    pub fn moving(&self) -> Vec<(i64, i64)> {
        self.0.iter().copied().filter(|&(extent, stride)| extent != 1 && stride != 0).collect()
    }

    /// Whether no leaf can go and no two neighbours merge.
    pub fn is_shortest(&self) -> bool {
        let single = self.0.len() <= 1;
        (single || self.0.iter().all(|mode| mode.0 != 1))
            && self.0.windows(2).all(|pair| pair[0].0 * pair[0].1 != pair[1].1)
    }
}

/// The leaves of a nested list of numbers.
pub fn leaves(value: &Value) -> Vec<i64> {
    match value {
        Value::Array(modes) => modes.iter().flat_map(leaves).collect(),
        _ => value.as_i64().into_iter().collect(),
    }
}

/// The top-level parts; a number is its own only one.
pub fn parts(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}

/// The layouts of the top-level modes.
pub fn modes(layout: &Value) -> Vec<Value> {
    let both = parts(&layout["shape"]).into_iter().zip(parts(&layout["stride"]));
    both.map(|(shape, stride)| json!({ "shape": shape, "stride": stride })).collect()
}

/// How deep a list nests; a number has 0.
pub fn depth(value: &Value) -> i64 {
    value.as_array().map_or(0, |modes| 1 + modes.iter().map(depth).max().unwrap_or(0))
}

pub fn product(shape: &Value) -> i64 {
    leaves(shape).into_iter().product()
}

/// Whether both nest alike.
pub fn congruent(a: &Value, b: &Value) -> bool {
    match (a.as_array(), b.as_array()) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| congruent(a, b)),
        (None, None) => true,
        _ => false,
    }
}

/// Whether every coordinate of `coarse` is one of `fine`.
pub fn compatible(coarse: &Value, fine: &Value) -> bool {
    match (coarse.as_array(), fine.as_array()) {
        (None, _) => coarse.as_i64() == Some(product(fine)),
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compatible(a, b)),
        (Some(_), None) => false,
    }
}

/// The coordinate of a column-major index.
pub fn idx2crd(index: i64, shape: &Value) -> Value {
    match shape.as_array() {
        None => json!(index),
        Some(modes) => {
            let mut rest = index;
            let digit = |(i, mode): (usize, &Value)| {
                let size = product(mode).max(1);
                let here = if i + 1 == modes.len() { rest } else { rest % size };
                rest /= size;
                idx2crd(here, mode)
            };
            Value::Array(modes.iter().enumerate().map(digit).collect())
        }
    }
}

/// The sum of a coordinate's parts times the strides; a number represents the index of all below it.
pub fn crd2idx(coord: &Value, shape: &Value, stride: &Value) -> i64 {
    match (coord.as_array(), shape.as_array()) {
        (Some(coord), Some(_)) => {
            let modes = parts(shape).into_iter().zip(parts(stride));
            coord.iter().zip(modes).map(|(coord, (shape, stride))| crd2idx(coord, &shape, &stride)).sum()
        }
        (None, Some(_)) => crd2idx(&idx2crd(coord.as_i64().unwrap_or(0), shape), shape, stride),
        (_, None) => leaves(coord).iter().sum::<i64>() * stride.as_i64().unwrap_or(0),
    }
}

/// The offsets, each once, in order.
pub fn image(table: &[i64]) -> Vec<i64> {
    let mut offsets = table.to_vec();
    offsets.sort_unstable();
    offsets.dedup();
    offsets
}

/// Whether no offset is in the table twice.
pub fn distinct(table: &[i64]) -> bool {
    image(table).len() == table.len()
}

/// The reach of a table: the number of neighbouring offsets from the least to the greatest.
pub fn reach(table: &[i64]) -> i64 {
    table.iter().max().zip(table.iter().min()).map_or(0, |(high, low)| high - low + 1)
}
