//! Memory kept from one product to the next.
//!
//! Law: memory is taken where nothing of the shape is kept, and is zeros then; else it has what was written last.

use layout_cuda::{Element, Error, Stream, Tensor};

/// What is kept, if it has the shape; else new memory, kept from now on.
pub(crate) fn kept<'a, T: Element>(
    stream: &Stream,
    shape: [usize; 2],
    own: &'a mut Option<Tensor<T, 2>>,
) -> Result<&'a mut Tensor<T, 2>, Error> {
    let kept = match own.take().filter(|kept| kept.shape() == shape) {
        Some(kept) => kept,
        None => stream.zeros(shape)?,
    };
    Ok(own.insert(kept))
}
