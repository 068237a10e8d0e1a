//! Rows at the edges of an element type: what a kernel of rows, sums or products is run over beside ordinary numbers.
//!
//! Law: `row` is of any length, made of the type's own limits, and each of its elements is a value of the type; a type without
//! infinities has its greatest number in their place. `Rows` has every kind once, and an ordinary row after each.

use super::data::integers;
use layout_cuda::{E4m3, E5m2, Element, bf16, f16};

/// A kind of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One number.
    Equal,
    /// Zeros of both signs.
    Zeros,
    /// The least finite number alone.
    Least,
    /// The greatest finite number alone.
    Greatest,
    /// Infinity at one place.
    Infinity,
    /// Minus infinity at one place.
    NegInfinity,
    /// Both.
    BothInfinities,
    /// Infinity alone.
    AllInfinity,
    /// Minus infinity alone: a mask on every element.
    AllNegInfinity,
    /// NaN at the first place.
    NanFirst,
    /// NaN in the middle.
    NanMiddle,
    /// NaN at the last place.
    NanLast,
    /// The greatest number among small ones.
    HugeAmongSmall,
    /// The least number among small ones.
    LeastAmongSmall,
    /// A large offset with small differences.
    Offset,
    /// The same below zero.
    NegOffset,
    /// Numbers whose squares are beyond the type.
    LargeSquares,
    /// Numbers whose squares the type holds, but not much more.
    SquaresThatFit,
    /// Subnormal numbers.
    Subnormal,
    /// A mask of the least number on all but one.
    LeastButOne,
    /// A mask of minus infinity on all but one.
    NegInfinityButOne,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 21] = [
        Kind::Equal,
        Kind::Zeros,
        Kind::Least,
        Kind::Greatest,
        Kind::Infinity,
        Kind::NegInfinity,
        Kind::BothInfinities,
        Kind::AllInfinity,
        Kind::AllNegInfinity,
        Kind::NanFirst,
        Kind::NanMiddle,
        Kind::NanLast,
        Kind::HugeAmongSmall,
        Kind::LeastAmongSmall,
        Kind::Offset,
        Kind::NegOffset,
        Kind::LargeSquares,
        Kind::SquaresThatFit,
        Kind::Subnormal,
        Kind::LeastButOne,
        Kind::NegInfinityButOne,
    ];

    /// A row of `n` elements of `T`.
    pub fn row<T: Float>(self, n: usize, seed: u64) -> Vec<T> {
        let small = integers(n, seed, 8).into_iter().map(|value| value as f64 / 4.0);
        let middle = n.saturating_sub(1) / 2;
        let last = n.saturating_sub(1);
        // With all bits of the significand the largest offset whose neighbours are a quarter apart is 2^(digits - 3).
        let offset = 2f64.powi(T::DIGITS - 3);
        let half = T::GREATEST.sqrt();
        let of = |(at, small): (usize, f64)| match self {
            Kind::Equal => 1.25,
            Kind::Zeros => [0.0, -0.0][at % 2],
            Kind::Least => -T::GREATEST,
            Kind::Greatest => T::GREATEST,
            Kind::Infinity if at == middle => T::INFINITE,
            Kind::NegInfinity if at == middle => -T::INFINITE,
            Kind::BothInfinities if at == 0 => T::INFINITE,
            Kind::BothInfinities if at == last => -T::INFINITE,
            Kind::AllInfinity => T::INFINITE,
            Kind::AllNegInfinity => -T::INFINITE,
            Kind::NanFirst if at == 0 => f64::NAN,
            Kind::NanMiddle if at == middle => f64::NAN,
            Kind::NanLast if at == last => f64::NAN,
            Kind::HugeAmongSmall if at == middle => T::GREATEST,
            Kind::LeastAmongSmall if at == middle => -T::GREATEST,
            Kind::Offset => offset + small.abs(),
            Kind::NegOffset => -offset - small.abs(),
            Kind::LargeSquares => 4.0 * half * (1.0 + small.abs()) * small.signum(),
            Kind::SquaresThatFit => half / 4096.0 * (1.0 + small.abs()) * small.signum(),
            Kind::Subnormal => T::TINY * (1 + at % 3) as f64 * small.signum(),
            Kind::LeastButOne if at != middle => -T::GREATEST,
            Kind::NegInfinityButOne if at != middle => -T::INFINITE,
            _ => small,
        };
        small.enumerate().map(|item| T::rounded(of(item))).collect()
    }
}

/// A floating-point type, and its limits.
pub trait Float: Element {
    /// The greatest finite number.
    const GREATEST: f64;
    /// The least number above zero.
    const TINY: f64;
    /// Bits of the significand.
    const DIGITS: i32;
    /// Infinity, or the greatest number of a type without one.
    const INFINITE: f64 = f64::INFINITY;
    /// The nearest value.
    fn rounded(value: f64) -> Self;
    /// The value.
    fn wide(self) -> f64 {
        self.constant().as_f64()
    }
}

impl Float for f32 {
    const GREATEST: f64 = f32::MAX as f64;
    const TINY: f64 = 1.401_298_464_324_817e-45;
    const DIGITS: i32 = 24;
    fn rounded(value: f64) -> f32 {
        value as f32
    }
}

impl Float for f64 {
    const GREATEST: f64 = f64::MAX;
    const TINY: f64 = 5e-324;
    const DIGITS: i32 = 53;
    fn rounded(value: f64) -> f64 {
        value
    }
}

impl Float for f16 {
    const GREATEST: f64 = 65_504.0;
    const TINY: f64 = 5.960_464_477_539_063e-8;
    const DIGITS: i32 = 11;
    fn rounded(value: f64) -> f16 {
        f16::from_f64(value)
    }
}

impl Float for bf16 {
    const GREATEST: f64 = 3.389_531_389_251_535_5e38;
    const TINY: f64 = 9.183_549_615_799_121e-41;
    const DIGITS: i32 = 8;
    fn rounded(value: f64) -> bf16 {
        bf16::from_f64(value)
    }
}

impl Float for E4m3 {
    const GREATEST: f64 = 448.0;
    const TINY: f64 = 0.001_953_125;
    const DIGITS: i32 = 4;
    const INFINITE: f64 = 448.0;
    fn rounded(value: f64) -> E4m3 {
        E4m3::from_f32(value as f32)
    }
}

impl Float for E5m2 {
    const GREATEST: f64 = 57_344.0;
    const TINY: f64 = 0.000_015_258_789_062_5;
    const DIGITS: i32 = 3;
    // A conversion saturates.
    const INFINITE: f64 = 57_344.0;
    fn rounded(value: f64) -> E5m2 {
        E5m2::from_f32(value as f32)
    }
}

/// A row-major matrix: for each kind a row of it, and an ordinary one behind.
pub struct Rows<T> {
    /// The elements.
    pub values: Vec<T>,
    /// The number of rows.
    pub m: usize,
    /// The length of a row.
    pub n: usize,
}

impl<T: Float> Rows<T> {
    /// Every kind, of this length.
    pub fn new(n: usize) -> Rows<T> {
        let ordinary = |seed| integers(n, seed, 8).into_iter().map(|value| T::rounded(value as f64 / 4.0));
        let pair = |(at, kind): (usize, &Kind)| {
            kind.row(n, 2 * at as u64).into_iter().chain(ordinary(2 * at as u64 + 1)).collect::<Vec<T>>()
        };
        let values = Kind::ALL.iter().enumerate().flat_map(pair).collect();
        Rows { values, m: 2 * Kind::ALL.len(), n }
    }

    /// A row's values.
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.values[row * self.n..(row + 1) * self.n].iter().map(|value| value.wide()).collect()
    }

    /// What a message calls a row.
    pub fn name(row: usize) -> String {
        match row % 2 {
            0 => format!("{:?}", Kind::ALL[row / 2]),
            _ => format!("the row behind {:?}", Kind::ALL[row / 2]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<T: Float>() {
        for kind in Kind::ALL {
            for n in [0, 1, 2, 5, 33] {
                let row = kind.row::<T>(n, 1);
                assert_eq!(row.len(), n, "{kind:?}");
                // A row that is named after something has it.
                let has = |what: &dyn Fn(f64) -> bool| n == 0 || row.iter().any(|value| what(value.wide()));
                match kind {
                    Kind::NanFirst | Kind::NanMiddle | Kind::NanLast => {
                        assert!(has(&f64::is_nan), "{kind:?}")
                    }
                    Kind::Greatest | Kind::HugeAmongSmall => assert!(has(&|v| v == T::GREATEST), "{kind:?}"),
                    Kind::Least | Kind::LeastAmongSmall => assert!(has(&|v| v == -T::GREATEST), "{kind:?}"),
                    Kind::Infinity | Kind::AllInfinity => assert!(has(&|v| v == T::INFINITE), "{kind:?}"),
                    Kind::NegInfinity | Kind::AllNegInfinity => {
                        assert!(has(&|v| v == -T::INFINITE), "{kind:?}");
                    }
                    Kind::Subnormal => assert!(has(&|v| v != 0.0 && v.abs() <= 3.0 * T::TINY), "{kind:?}"),
                    Kind::LargeSquares => assert!(has(&|v| v * v > T::GREATEST), "{kind:?}"),
                    _ => {}
                }
            }
        }
        assert_eq!(T::rounded(T::GREATEST).wide(), T::GREATEST);
        assert_eq!(T::rounded(T::TINY).wide(), T::TINY);
    }

    #[test]
    fn rows_are_of_their_kind() {
        of::<f32>();
        of::<f64>();
        of::<f16>();
        of::<bf16>();
        of::<E4m3>();
        of::<E5m2>();
    }
}
