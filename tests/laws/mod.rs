//! The laws of the algebra, each held over the whole domain of 100,000 random layouts.
//!
//! A layout is read off the digits of one random integer, so that a failing case shrinks to a small layout. Extents
//! are mostly small and often no powers of two; strides are compact in some order, padded, shared, zero or random.

mod algebra;
mod bad_input;
mod bad_values;
mod derived;
mod dynamic;
mod rows;

use layout_core::{IntTuple, Layout, Nest};
use proptest::prelude::*;

/// 100,000 random layouts for each law, or as many as PROPTEST_CASES says.
pub fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100_000);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2_000, ..ProptestConfig::default() }
}

/// Reads small numbers off a large one.
#[derive(Clone, Debug)]
pub struct Digits(u128);

impl Digits {
    pub fn new(seed: u128) -> Self {
        Self(seed)
    }

    pub fn next(&mut self, base: u64) -> u64 {
        let digit = (self.0 % u128::from(base)) as u64;
        self.0 /= u128::from(base);
        digit
    }

    pub fn pick(&mut self, values: &[i64]) -> i64 {
        values[self.next(values.len() as u64) as usize]
    }

    /// A shape of one to four leaves, in one of a few nestings, of at most `limit` coordinates.
    pub fn shape(&mut self, limit: i64) -> IntTuple {
        let count = 1 + self.next(4) as usize;
        let mut size = 1;
        let mut leaves = Vec::new();
        for _ in 0..count {
            let extent = self.pick(&[1, 2, 3, 4, 2, 5, 6, 7, 8, 9, 12, 16]);
            let extent = if size * extent <= limit { extent } else { 1 };
            size *= extent;
            leaves.push(extent);
        }
        self.nest(&leaves)
    }

    /// These leaves in one of a few nestings.
    pub fn nest(&mut self, leaves: &[i64]) -> IntTuple {
        let flat = |leaves: &[i64]| IntTuple::flat(leaves.iter().copied());
        match (leaves, self.next(4)) {
            ([one], 0) => Nest::leaf(*one),
            (_, 0 | 1) => flat(leaves),
            ([first, rest @ ..], 2) if !rest.is_empty() => Nest::tuple([Nest::leaf(*first), flat(rest)]),
            (_, _) => {
                let (left, right) = leaves.split_at(leaves.len() / 2);
                Nest::tuple([flat(left), Nest::tuple([flat(right)])])
            }
        }
    }

    /// A layout of non-negative strides and at most `limit` coordinates.
    pub fn layout(&mut self, limit: i64) -> Layout {
        let shape = self.shape(limit);
        let extents: Vec<i64> = shape.leaves().copied().collect();
        let mut strides = vec![0; extents.len()];
        let kind = self.next(4);
        let mut step = 1;
        let mut order: Vec<usize> = (0..extents.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, self.next(i as u64 + 1) as usize);
        }
        for leaf in order {
            strides[leaf] = match kind {
                0 => step,
                1 => step * self.pick(&[1, 1, 2, 3]),
                2 => self.pick(&[0, 1, 2, 3, 4, 5, 6, 8, 12, 16]),
                _ if self.next(4) == 0 => 0,
                _ => step + self.pick(&[0, 0, 1, 4]),
            };
            step = (strides[leaf] * extents[leaf]).max(step);
        }
        let strides = IntTuple::flat(strides).unflatten(&shape).expect("as many strides as extents");
        Layout::new(shape, strides).expect("a small layout")
    }
}

/// Digits of a random integer.
pub fn digits() -> impl Strategy<Value = Digits> {
    any::<u128>().prop_map(Digits::new)
}

/// A layout some of whose strides are negative.
pub fn signed(digits: &mut Digits, limit: i64) -> Layout {
    let l = digits.layout(limit);
    let strides: Vec<i64> = l.leaves().map(|mode| mode.stride * digits.pick(&[1, 1, 1, -1])).collect();
    Layout::new(l.shape(), IntTuple::flat(strides).unflatten(&l.shape()).unwrap()).unwrap()
}
