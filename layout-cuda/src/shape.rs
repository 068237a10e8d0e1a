//! Shapes and strides of device tensors, in elements; pure arithmetic, always checked.

use crate::tensor::TensorError;

/// The strides of the compact row-major layout: the last mode contiguous.
///
/// # Errors
/// [`TensorError::TooLarge`] where the number of elements does not fit.
pub fn row_major<const R: usize>(shape: [usize; R]) -> Result<[usize; R], TensorError> {
    let mut strides = [1; R];
    let mut next = 1usize;
    for mode in (0..R).rev() {
        strides[mode] = next;
        // An empty mode must not hide that the others overflow, nor make their strides zero.
        let product = next.checked_mul(shape[mode].max(1));
        next = product.ok_or_else(|| TensorError::TooLarge { shape: shape.to_vec() })?;
    }
    Ok(strides)
}

/// One more than the largest offset that the layout reaches; 0 where a mode is empty.
///
/// # Errors
/// [`TensorError::TooLarge`] where that does not fit.
pub fn span(shape: impl AsRef<[usize]>, strides: impl AsRef<[usize]>) -> Result<usize, TensorError> {
    let (shape, strides) = (shape.as_ref(), strides.as_ref());
    if shape.contains(&0) {
        return Ok(0);
    }
    let add =
        |sum: usize, (extent, stride): (&usize, &usize)| sum.checked_add((extent - 1).checked_mul(*stride)?);
    let span = shape.iter().zip(strides).try_fold(1, add);
    span.ok_or_else(|| TensorError::TooLarge { shape: shape.to_vec() })
}

/// Checks that `len` elements hold the layout.
///
/// # Errors
/// [`TensorError::Reach`], or as [`span`].
pub fn reaches(
    shape: impl AsRef<[usize]>,
    strides: impl AsRef<[usize]>,
    len: usize,
) -> Result<(), TensorError> {
    let (shape, strides) = (shape.as_ref(), strides.as_ref());
    let needed = span(shape, strides)?;
    if needed > len {
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        return Err(TensorError::Reach { shape, strides, needed, found: len });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_and_spans() {
        assert_eq!(row_major([2, 3, 4]), Ok([12, 4, 1]));
        assert_eq!(row_major([]), Ok([]));
        assert_eq!(row_major([0, 5]), Ok([5, 1]));
        assert!(matches!(row_major([usize::MAX, 2]), Err(TensorError::TooLarge { .. })));
        assert!(matches!(row_major([0, usize::MAX, 2]), Err(TensorError::TooLarge { .. })));

        assert_eq!(span([2, 3], [3, 1]), Ok(6));
        assert_eq!(span([2, 3], [8, 1]), Ok(11));
        assert_eq!(span([2, 0], [8, 1]), Ok(0));
        assert_eq!(span([0usize; 0], [0usize; 0]), Ok(1));
        assert!(matches!(span([3, 1], [usize::MAX / 2 + 1, 1]), Err(TensorError::TooLarge { .. })));

        assert_eq!(reaches([2, 3], [8, 1], 11), Ok(()));
        let error = reaches([2, 3], [8, 1], 10).expect_err("one too few");
        assert_eq!(
            error.to_string(),
            "shape [2, 3] with strides [8, 1] reaches 11 elements, the storage has 10"
        );
    }
}
