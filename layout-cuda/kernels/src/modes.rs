//! The modes that several tensors are walked in together: adjacent ones that every tensor has without a gap are one.
//!
//! Law: the walk has each element of the first tensor once, and with it those of the others at the same coordinates; a tensor with an
//! extent of 1 has its one element at each coordinate of that mode.

use crate::same;
use layout_cuda::{
    BindError, Element, Error, LaunchError, ParamSet, ParamValue, TensorArg, TensorArgMut, TensorView,
    TensorViewMut,
};
use std::cmp::Reverse;

/// Up to four modes of `K` tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes<const K: usize> {
    shape: [usize; 4],
    strides: [[usize; 4]; K],
    count: usize,
}

impl<const K: usize> Modes<K> {
    /// Of tensors by name; the first one's extents are those of the walk.
    ///
    /// # Errors
    /// An extent that is neither the first tensor's nor 1, and more than four modes.
    pub(crate) fn new<const R: usize>(
        of: &str,
        names: [&str; K],
        shapes: [[usize; R]; K],
        strides: [[usize; R]; K],
    ) -> Result<Modes<K>, Error> {
        let mut modes: Vec<(usize, [usize; K])> = Vec::new();
        let mut order: Vec<usize> = (0..R).collect();
        order.sort_by_key(|mode| Reverse(strides[0][*mode]));
        for mode in order {
            let extent = shapes[0][mode];
            for (name, shape) in names.iter().zip(&shapes).filter(|(_, shape)| shape[mode] != 1) {
                same(of, name, mode, shape[mode], ("the extent", names[0]), extent)?;
            }
            let step = std::array::from_fn(|k| if shapes[k][mode] == 1 { 0 } else { strides[k][mode] });
            match modes.last_mut() {
                _ if extent == 1 => {}
                Some((outer, steps)) if (0..K).all(|k| steps[k] == step[k].saturating_mul(extent)) => {
                    (*outer, *steps) = (outer.saturating_mul(extent), step);
                }
                _ => modes.push((extent, step)),
            }
        }
        let count = modes.len();
        if count > 4 {
            let error = BindError::Rank { argument: names[0].to_owned(), expected: 4, found: count };
            return Err(LaunchError::Arguments { kernel: of.to_owned(), error }.into());
        }
        let mut all = Modes { shape: [1; 4], strides: [[0; 4]; K], count: count.max(1) };
        for (place, (extent, step)) in (4 - count..).zip(modes) {
            all.shape[place] = extent;
            (0..K).for_each(|k| all.strides[k][place] = step[k]);
        }
        Ok(all)
    }

    /// The number of elements, where they are contiguous in every tensor.
    pub(crate) fn flat(&self) -> Option<usize> {
        let is_flat =
            self.count == 1 && (self.shape[3] == 1 || self.strides.iter().all(|strides| strides[3] == 1));
        is_flat.then_some(self.shape[3])
    }

    /// Whether there is no element.
    pub(crate) fn is_empty(&self) -> bool {
        self.shape.contains(&0)
    }

    /// Tensor `k` in these modes.
    pub(crate) fn read<'a, T: Element, const R: usize>(
        &self,
        k: usize,
        of: &TensorView<'a, T, R>,
    ) -> Result<TensorView<'a, T, 4>, Error> {
        of.part(0, self.shape, self.strides[k])
    }

    /// The first tensor in these modes, to be written.
    pub(crate) fn write<'a, T: Element, const R: usize>(
        &self,
        of: &'a mut TensorViewMut<'_, T, R>,
    ) -> Result<TensorViewMut<'a, T, 4>, Error> {
        of.part_mut(0, self.shape, self.strides[0])
    }

    /// The set with the number of modes.
    pub(crate) fn set(&self, set: &ParamSet) -> ParamSet {
        set.clone().with("MODES", ParamValue::Int(self.count as i64))
    }
}

/// A tensor's extents and strides.
pub(crate) fn layout<T: Element, const R: usize>(x: &impl TensorArg<T, R>) -> [[usize; R]; 2] {
    let view = x.view();
    [view.shape(), view.strides()]
}

/// Those of one to be written.
pub(crate) fn layout_mut<T: Element, const R: usize>(x: &mut impl TensorArgMut<T, R>) -> [[usize; R]; 2] {
    let view = x.view_mut();
    [view.shape(), view.strides()]
}

#[cfg(test)]
mod tests {
    use super::Modes;

    #[test]
    fn modes_without_gaps_are_one() {
        let of = |shapes: [[usize; 3]; 2], strides| Modes::new("f", ["out", "x"], shapes, strides);
        let flat = of([[2, 3, 5]; 2], [[15, 5, 1]; 2]).map(|modes| modes.flat());
        assert_eq!(flat.ok(), Some(Some(30)));
        // Both by columns.
        assert_eq!(of([[2, 3, 5]; 2], [[1, 2, 6]; 2]).map(|modes| modes.flat()).ok(), Some(Some(30)));
        let one = of([[2, 3, 5], [1, 1, 5]], [[15, 5, 1], [5, 5, 1]]).ok();
        assert_eq!(one, Some(Modes { shape: [1, 1, 6, 5], strides: [[0, 0, 5, 1], [0, 0, 0, 1]], count: 2 }));
        assert_eq!(of([[1; 3]; 2], [[1; 3]; 2]).map(|modes| modes.flat()).ok(), Some(Some(1)));
        assert!(of([[2, 3, 5], [2, 2, 5]], [[15, 5, 1]; 2]).is_err());
    }
}
