//! What a launch is given: tensors as lists of doubles, whatever their element type is.
//!
//! Law: a value of the type goes to bytes and back unchanged; another value is rounded to the type first.

use layout_compiler::{Constant, Elem};

/// A compact tensor, the last coordinate fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Extents.
    pub shape: Vec<usize>,
    /// The elements.
    pub values: Vec<f64>,
}

impl Tensor {
    /// A tensor of these elements; `values` has as many as the shape says.
    pub fn new(shape: &[usize], values: Vec<f64>) -> Tensor {
        Tensor { shape: shape.to_vec(), values }
    }

    /// The element at each number of the row-major order.
    pub fn of(shape: &[usize], value: impl Fn(usize) -> f64) -> Tensor {
        Tensor::new(shape, (0..shape.iter().product()).map(value).collect())
    }

    /// A tensor that nothing has written yet: NaN, so that what a kernel forgets shows.
    pub fn unwritten(shape: &[usize]) -> Tensor {
        Tensor::of(shape, |_| f64::NAN)
    }
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Given {
    /// A tensor.
    Tensor(Tensor),
    /// A value of an element type.
    Scalar(f64),
    /// An index.
    Index(i64),
}

impl From<Tensor> for Given {
    fn from(tensor: Tensor) -> Given {
        Given::Tensor(tensor)
    }
}

/// A value as a constant of the type: rounded, cut to the type's limits; NaN as an integer is 0.
pub fn constant(elem: Elem, value: f64) -> Constant {
    if let Some(constant) = Constant::float(elem, value) {
        return constant;
    }
    let whole = value as i128;
    let limit = |known| Constant::known(elem, known).map_or(whole, Constant::as_i128);
    let (least, most) = (limit(layout_compiler::Known::Min), limit(layout_compiler::Known::Max));
    Constant::integer(elem, whole.clamp(least, most)).unwrap_or(Constant::bool(value != 0.0))
}

/// The bytes of the elements, little-endian.
pub fn bytes(elem: Elem, values: &[f64]) -> Vec<u8> {
    let width = elem.bytes() as usize;
    let words = values.iter().map(|value| constant(elem, *value).bits.to_le_bytes());
    words.flat_map(|word| word.into_iter().take(width)).collect()
}

/// The elements of bytes.
pub fn values(elem: Elem, bytes: &[u8]) -> Vec<f64> {
    let value = |part: &[u8]| {
        let mut word = [0; 8];
        word[..part.len()].copy_from_slice(part);
        Constant { elem, bits: u64::from_le_bytes(word) }.as_f64()
    };
    bytes.chunks_exact(elem.bytes() as usize).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::{bytes, values};
    use layout_compiler::Elem;

    #[test]
    fn a_value_comes_back() {
        for elem in Elem::ALL {
            let some = [0.0, 1.0];
            assert_eq!(values(elem, &bytes(elem, &some)), some, "{elem}");
        }
        assert_eq!(values(Elem::I8, &bytes(Elem::I8, &[-3.0, 1e9, f64::NAN])), [-3.0, 127.0, 0.0]);
        assert_eq!(values(Elem::Bf16, &bytes(Elem::Bf16, &[1.0 / 3.0])), [0.333984375]);
    }
}
