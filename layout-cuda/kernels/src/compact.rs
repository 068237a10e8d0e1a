//! Tensors without gaps: all of their elements as one mode.
//!
//! Law: an extent that is not the wanted one, or a stride that leaves a gap, is an error before anything runs. Strides of modes with one
//! element, or of no elements, are any.

use crate::same;
use layout_cuda::{BindError, Element, Error, LaunchError, TensorView, TensorViewMut};

/// A tensor without gaps as one mode.
pub(crate) fn compact<'a, T: Element, const R: usize>(
    of: &str,
    name: &str,
    x: &TensorView<'a, T, R>,
    wanted: [usize; R],
) -> Result<TensorView<'a, T, 1>, Error> {
    x.part(0, [flat(of, name, x.shape(), x.strides(), wanted)?], [1])
}

/// One to be written as one mode.
pub(crate) fn compact_mut<'a, T: Element, const R: usize>(
    of: &str,
    name: &str,
    x: &'a mut TensorViewMut<'_, T, R>,
    wanted: [usize; R],
) -> Result<TensorViewMut<'a, T, 1>, Error> {
    let len = flat(of, name, x.shape(), x.strides(), wanted)?;
    x.part_mut(0, [len], [1])
}

/// How many elements a tensor without gaps has.
fn flat<const R: usize>(
    of: &str,
    name: &str,
    shape: [usize; R],
    strides: [usize; R],
    wanted: [usize; R],
) -> Result<usize, Error> {
    let mut len = 1usize;
    for mode in (0..R).rev() {
        same(of, name, mode, shape[mode], ("the extent", "x"), wanted[mode])?;
        if shape[mode] > 1 && strides[mode] != len && !shape.contains(&0) {
            let (argument, layout) = (name.to_owned(), "rows without gaps");
            let error = BindError::Stride { argument, mode, found: strides[mode], expected: len, layout };
            return Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into());
        }
        len = len.saturating_mul(shape[mode]);
    }
    Ok(len)
}
