//! What an element should be, and how far from it a kernel may land.
//!
//! Law: a float may differ by `(depth + 3) u magnitude`, where `u` is the unit roundoff that the kernel adds up with (that
//! of its type, of `f32` where the type is narrower), `depth` the additions of the element, and `magnitude` the sum of
//! its terms' absolute values; and by one rounding to its own type. So no order of additions is wrong, and no wrong
//! term is right (N. Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). An integer may not differ.

use std::iter;
use std::ops::{Add, Mul, Neg, Sub};

use layout_compiler::{Constant, Elem};

use super::number::Number;

/// An element of the reference: its value, and where it is a sum of floats how many terms it has and how large they are.
///
/// ```
/// use layout_cuda::testing::Sum;
/// let terms = [1e8, 1.0, -1e8];
/// let sum: Sum = terms.iter().map(|term| 2.0 * term).sum();
/// assert_eq!((sum.value(), sum.depth()), (2.0, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sum {
    value: Number,
    /// What the value's own rounding in float64 lost (Neumaier's compensation).
    lost: f64,
    magnitude: f64,
    depth: u64,
}

impl Sum {
    /// The value; an integer as the nearest double.
    pub fn value(&self) -> f64 {
        match self.value {
            Number::Float(value) if value.is_finite() => value + self.lost,
            Number::Float(value) => value,
            Number::Whole(value) => value as f64,
        }
    }

    /// How many terms it has; 1 for a plain number.
    pub fn depth(&self) -> u64 {
        self.depth
    }

    /// The value as text.
    pub(super) fn text(&self) -> String {
        match self.value {
            Number::Whole(value) => value.to_string(),
            Number::Float(_) => self.value().to_string(),
        }
    }

    /// How far an element of this type may be from the value: 0 for integers. `relative` takes the place of the type's own
    /// roundoff.
    pub(super) fn bound(&self, elem: Elem, relative: Option<f64>) -> f64 {
        let Some(own) = roundoff(elem) else { return 0.0 };
        if let Some(relative) = relative {
            return relative * self.magnitude;
        }
        let inside = own.min(2f64.powi(-24));
        let added = (self.depth as f64 + 3.0) * inside * self.magnitude;
        let rounded = if own > inside { own * (self.value().abs() + added) } else { 0.0 };
        added + rounded + smallest(elem)
    }

    /// Whether an element is within the bound of it.
    pub(super) fn is_met(&self, found: Constant, relative: Option<f64>) -> bool {
        match self.value {
            Number::Whole(value) if !found.elem.is_float() => found.as_i128() == value,
            // A truth value or an integer of a float reference, and the other way round.
            Number::Whole(_) | Number::Float(_) => {
                let (wanted, own) = (self.value(), found.as_f64());
                let same = own == wanted || (own.is_nan() && wanted.is_nan());
                let most = Constant::float(found.elem, wanted).map(Constant::as_f64);
                same || (wanted.is_finite() && (own - wanted).abs() <= self.bound(found.elem, relative))
                    || (!own.is_finite() && most == Some(own))
            }
        }
    }
}

/// Half the distance from 1 to the next number of a float type.
fn roundoff(elem: Elem) -> Option<f64> {
    match elem {
        Elem::F64 => Some(2f64.powi(-53)),
        Elem::F32 => Some(2f64.powi(-24)),
        Elem::F16 => Some(2f64.powi(-11)),
        Elem::Bf16 => Some(2f64.powi(-8)),
        Elem::E4m3 => Some(2f64.powi(-4)),
        Elem::E5m2 => Some(2f64.powi(-3)),
        _ => None,
    }
}

/// The smallest positive number of a float type: what a result near zero is rounded to.
fn smallest(elem: Elem) -> f64 {
    match elem {
        Elem::F64 => 0.0,
        Elem::F32 => 2f64.powi(-149),
        Elem::F16 => 2f64.powi(-24),
        Elem::Bf16 => 2f64.powi(-133),
        Elem::E4m3 => 2f64.powi(-9),
        Elem::E5m2 => 2f64.powi(-16),
        _ => 0.0,
    }
}

impl<N: Into<Number>> From<N> for Sum {
    fn from(value: N) -> Sum {
        let value = value.into();
        let magnitude = match value {
            Number::Float(value) => value.abs(),
            Number::Whole(value) => (value as f64).abs(),
        };
        Sum { value, lost: 0.0, magnitude, depth: 1 }
    }
}

impl<N: Into<Sum>> Add<N> for Sum {
    type Output = Sum;
    fn add(self, other: N) -> Sum {
        let other = other.into();
        let magnitude = self.magnitude + other.magnitude;
        let depth = self.depth + other.depth;
        let (value, lost) = match (self.value, other.value) {
            (Number::Whole(a), Number::Whole(b)) => (Number::Whole(a.saturating_add(b)), 0.0),
            (a, b) => {
                let (a, b) = (float(a), float(b));
                let sum = a + b;
                let lost = if a.abs() >= b.abs() { (a - sum) + b } else { (b - sum) + a };
                (Number::Float(sum), self.lost + other.lost + lost)
            }
        };
        Sum { value, lost, magnitude, depth }
    }
}

impl<N: Into<Sum>> Sub<N> for Sum {
    type Output = Sum;
    fn sub(self, other: N) -> Sum {
        self + -other.into()
    }
}

impl Neg for Sum {
    type Output = Sum;
    fn neg(self) -> Sum {
        let value = match self.value {
            Number::Float(value) => Number::Float(-value),
            Number::Whole(value) => Number::Whole(value.saturating_neg()),
        };
        Sum { value, lost: -self.lost, ..self }
    }
}

impl Mul<f64> for Sum {
    type Output = Sum;
    fn mul(self, factor: f64) -> Sum {
        Sum {
            value: Number::Float(float(self.value) * factor),
            lost: self.lost * factor,
            magnitude: self.magnitude * factor.abs(),
            depth: self.depth + 1,
        }
    }
}

fn float(number: Number) -> f64 {
    match number {
        Number::Float(value) => value,
        Number::Whole(value) => value as f64,
    }
}

impl<N: Into<Number>> iter::Sum<N> for Sum {
    fn sum<I: Iterator<Item = N>>(terms: I) -> Sum {
        let nothing = Sum { value: Number::Whole(0), lost: 0.0, magnitude: 0.0, depth: 0 };
        terms.fold(nothing, |sum, term| sum + Sum::from(term))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(wanted: impl Into<Sum>, elem: Elem, found: f64) -> bool {
        let found = Constant::float(elem, found).or(Constant::integer(elem, found as i128));
        wanted.into().is_met(found.expect("a value of the type"), None)
    }

    #[test]
    fn any_order_of_additions_is_right_and_a_lost_term_is_not() {
        let terms: Vec<f64> = (0..1000).map(|i| 1.0 + f64::from(i % 7) / 16.0).collect();
        let sum: Sum = terms.iter().copied().sum();
        let forward = terms.iter().fold(0.0f32, |sum, term| sum + *term as f32);
        let backward = terms.iter().rev().fold(0.0f32, |sum, term| sum + *term as f32);
        assert!(near(sum, Elem::F32, forward.into()) && near(sum, Elem::F32, backward.into()));
        assert!(!near(sum, Elem::F32, sum.value() - 1.0));
        // What cancels is bounded by its terms, not by what is left of them.
        let cancelled: Sum = [1e8, 1.0, -1e8].into_iter().sum();
        assert!(near(cancelled, Elem::F32, 0.0) && !near(cancelled, Elem::F32, 100.0));
        let nothing: Sum = std::iter::empty::<f64>().sum();
        assert!(near(nothing, Elem::F32, 0.0) && !near(nothing, Elem::F32, 1e-30));
    }

    #[test]
    fn each_type_has_its_rounding() {
        assert!(near(1.0 / 3.0, Elem::Bf16, 1.0 / 3.0) && !near(1.0 / 3.0, Elem::Bf16, 0.336));
        assert!(near(1.0 / 3.0, Elem::E4m3, 1.0 / 3.0) && !near(1.0 / 3.0, Elem::E4m3, 0.4));
        assert!(near(1e30, Elem::F16, f64::INFINITY) && !near(1.0, Elem::F16, f64::INFINITY));
        assert!(near(f64::NAN, Elem::F32, f64::NAN) && !near(1.0, Elem::F32, f64::NAN));
        assert!(!near(f64::INFINITY, Elem::F32, 1.0) && !near(f64::NAN, Elem::F32, 1.0));
        assert!(near(7, Elem::I32, 7.0) && !near(7, Elem::I32, 8.0));
        assert!(!near(1u64 << 62, Elem::I64, ((1u64 << 62) - 1024) as f64));
    }
}
