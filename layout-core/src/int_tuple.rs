//! `IntTuple`: nested tuples of integers, with the products and divisions that shapes need.
//!
//! Law: `product(t)` is the product of all leaves; `()` has product 1.

use crate::{LayoutError, Nest};

/// A nested tuple of integers: a shape, a stride or a coordinate.
///
/// Made from integers, arrays and Rust tuples:
///
/// ```
/// use layout_core::IntTuple;
///
/// assert_eq!(IntTuple::from(8).to_string(), "8");
/// assert_eq!(IntTuple::from([2, 6]).to_string(), "(2,6)");
/// assert_eq!(IntTuple::from((2, (3, 4))).to_string(), "(2,(3,4))");
/// assert_eq!("(2,(3,4))".parse(), Ok(IntTuple::from((2, (3, 4)))));
/// ```
pub type IntTuple = Nest<i64>;

impl IntTuple {
    /// The product of all leaves.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] beyond 64 bits.
    ///
    /// ```
    /// assert_eq!(layout_core::IntTuple::from((2, (3, 4))).product(), Ok(24));
    /// ```
    pub fn product(&self) -> Result<i64, LayoutError> {
        product(self.leaves().copied()).ok_or_else(|| LayoutError::Overflow {
            operation: "product",
            detail: format!("the product of {self}"),
        })
    }

    /// The leaf's value, if this is a single integer.
    ///
    /// ```
    /// use layout_core::IntTuple;
    /// assert_eq!((IntTuple::from(8).as_int(), IntTuple::from([8]).as_int()), (Some(8), None));
    /// ```
    pub fn as_int(&self) -> Option<i64> {
        self.as_leaf().copied()
    }
}

/// The product, or nothing beyond 64 bits. A zero factor makes it zero, whatever the others are.
pub(crate) fn product(mut values: impl Iterator<Item = i64>) -> Option<i64> {
    let mut zero = false;
    let total = values.try_fold(1_i64, |total, value| {
        zero |= value == 0;
        if zero { Some(0) } else { total.checked_mul(value) }
    });
    total.or_else(|| values.any(|value| value == 0).then_some(0))
}

impl From<i64> for IntTuple {
    fn from(value: i64) -> Self {
        Self::leaf(value)
    }
}

impl<T: Into<IntTuple>, const N: usize> From<[T; N]> for IntTuple {
    fn from(modes: [T; N]) -> Self {
        Self::tuple(modes.into_iter().map(Into::into))
    }
}

impl<T: Into<IntTuple>> From<Vec<T>> for IntTuple {
    fn from(modes: Vec<T>) -> Self {
        Self::tuple(modes.into_iter().map(Into::into))
    }
}

impl From<&[i64]> for IntTuple {
    fn from(modes: &[i64]) -> Self {
        Self::flat(modes.iter().copied())
    }
}

impl From<&IntTuple> for IntTuple {
    fn from(tuple: &IntTuple) -> Self {
        tuple.clone()
    }
}

macro_rules! from_tuple {
    ($($name:ident)+) => {
        impl<$($name: Into<IntTuple>),+> From<($($name,)+)> for IntTuple {
            #[allow(non_snake_case)]
            fn from(($($name,)+): ($($name,)+)) -> Self {
                Self::tuple([$($name.into()),+])
            }
        }
    };
}
from_tuple!(A);
from_tuple!(A B);
from_tuple!(A B C);
from_tuple!(A B C D);
from_tuple!(A B C D E);
from_tuple!(A B C D E F);
