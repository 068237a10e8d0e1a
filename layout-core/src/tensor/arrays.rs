//! From and into `ndarray`, behind the feature `ndarray`.
//!
//! Law: element (i, j, ..) of the array is element (i, j, ..) of the tensor.

use super::access::LayoutTensor;
use crate::{IntTuple, Layout, LayoutError};
use ndarray::{ArrayD, ArrayViewD, IxDyn};

fn extent(value: usize) -> Result<i64, LayoutError> {
    let detail = format!("extent {value}");
    i64::try_from(value).map_err(|_| LayoutError::Overflow { operation: "ndarray", detail })
}

impl<'a, T> LayoutTensor<&'a [T]> {
    /// The tensor of an array view, sharing its storage.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for a view whose elements do not begin and end where one slice does (a reversed or
    /// padded one): copy it with `to_owned` first.
    ///
    /// ```
    /// use layout_core::LayoutTensor;
    /// let array = ndarray::arr2(&[[1, 2, 3], [4, 5, 6]]);
    /// let t = LayoutTensor::of_array(array.view().into_dyn())?;
    /// assert_eq!((t.layout().to_string(), t.get(&(1, 0).into())?), ("(2,3):(3,1)".to_string(), 4));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn of_array(array: ArrayViewD<'a, T>) -> Result<Self, LayoutError> {
        let shape: Vec<i64> = array.shape().iter().map(|&n| extent(n)).collect::<Result<_, _>>()?;
        let strides: Vec<i64> = array.strides().iter().map(|&step| step as i64).collect();
        let detail =
            format!("the array's strides {strides:?} leave one slice; copy it with `to_owned` first");
        let refused = LayoutError::Unsupported { operation: "ndarray", detail };
        let layout = Layout::new(IntTuple::flat(shape), IntTuple::flat(strides))?;
        let slice = array.to_slice_memory_order().ok_or(refused)?;
        LayoutTensor::new(slice, layout)
    }
}

impl<T: Copy, S: std::ops::Deref<Target = [T]>> LayoutTensor<S> {
    /// The elements, of vectors the first part, as an array of the view's shape; masked ones are `pad`.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] if the shape has too many elements for an array.
    ///
    /// ```
    /// use layout_core::{Layout, LayoutTensor};
    /// let t = LayoutTensor::new(vec![1, 2, 3, 4, 5, 6], Layout::col_major((2, 3))?)?;
    /// assert_eq!(t.to_array(0)?, ndarray::arr2(&[[1, 3, 5], [2, 4, 6]]).into_dyn());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn to_array(&self, pad: T) -> Result<ArrayD<T>, LayoutError> {
        let shape: Vec<i64> = self.layout().modes().map(|mode| mode.size()).collect();
        let extents: Vec<usize> = shape.iter().filter_map(|&n| usize::try_from(n).ok()).collect();
        let row_major = Layout::row_major(IntTuple::flat(shape.iter().copied()))?;
        let refused = |detail: String| LayoutError::Unsupported { operation: "ndarray", detail };
        let mut data = vec![pad; usize::try_from(row_major.size()).map_err(|e| refused(e.to_string()))?];
        for (index, at) in (0..).zip(row_major.offsets()) {
            let value = self.load_part(&IntTuple::from(index), 0)?.unwrap_or(pad);
            if let Some(slot) = usize::try_from(at).ok().and_then(|at| data.get_mut(at)) {
                *slot = value;
            }
        }
        ArrayD::from_shape_vec(IxDyn(&extents), data).map_err(|error| refused(error.to_string()))
    }
}
