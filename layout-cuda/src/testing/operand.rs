//! The memory of a tensor of one launch: laid out as the kernel asks, with a zone around it that nobody may write.
//!
//! Law: the tensor begins at a multiple of 16 bytes, or, skewed, one element behind it; rows that may be padded are, to
//! whole 16 bytes or, skewed, by one element. What is between and around the elements holds [`BESIDE`].

use layout_compiler::launch::PlanLayout;
use layout_compiler::{Constant, Elem};

use crate::argument::{Argument, Bytes, Kind};
use crate::device::Device;
use crate::error::Result;
use crate::tensor::Tensor;
use crate::view::{Memory, MemoryMut, TensorView, TensorViewMut};

/// Bytes in front of a tensor and behind it.
const ZONE: usize = 256;
/// What every byte holds that belongs to no element.
const BESIDE: u8 = 0x5a;

/// How a tensor is laid out.
pub(super) struct Layout {
    pub(super) elem: Elem,
    pub(super) shape: Vec<usize>,
    pub(super) strides: Vec<usize>,
    /// The offset of each element, row-major.
    places: Vec<usize>,
    /// Bytes in front of it.
    start: usize,
}

/// The strides of a tensor, in elements.
pub(super) fn strides(layout: PlanLayout, shape: &[usize], elem: Elem, skewed: bool) -> Vec<usize> {
    let rank = shape.len();
    let rows: Vec<usize> = (0..rank).rev().collect();
    let order: Vec<usize> = match layout {
        PlanLayout::RowMajor => rows,
        PlanLayout::ColMajor => (0..rank).collect(),
        PlanLayout::Contiguous(first) => {
            std::iter::once(first).chain(rows.into_iter().filter(|mode| *mode != first)).collect()
        }
        // What no variant can rely on: the first mode fastest, and not contiguous.
        PlanLayout::Strided if skewed => (0..rank).collect(),
        PlanLayout::Strided => rows,
    };
    let unit = (16 / elem.bytes().max(1) as usize).max(1);
    let compact = matches!(layout, PlanLayout::RowMajor | PlanLayout::ColMajor);
    let mut strides = vec![1; rank];
    let mut step: usize = if layout == PlanLayout::Strided && skewed { 2 } else { 1 };
    for (number, mode) in order.into_iter().enumerate() {
        strides[mode] = step;
        step = step.saturating_mul(shape[mode].max(1));
        if number == 0 && !compact {
            step = if skewed { step + 1 } else { step.next_multiple_of(unit) + unit };
        }
    }
    strides
}

impl Layout {
    /// The layout of a tensor on a device.
    pub(super) fn new(layout: PlanLayout, shape: &[usize], elem: Elem, skewed: bool) -> Layout {
        let strides = strides(layout, shape, elem, skewed);
        let count = shape.iter().product();
        let offset = |mut number: usize| {
            let mut sum = 0;
            for mode in (0..shape.len()).rev() {
                sum += number % shape[mode] * strides[mode];
                number /= shape[mode];
            }
            sum
        };
        let places = (0..count).map(offset).collect();
        let start = if skewed { ZONE + elem.bytes() as usize } else { ZONE };
        Layout { elem, shape: shape.to_vec(), strides, places, start }
    }

    /// Elements from the first to the last.
    pub(super) fn reach(&self) -> usize {
        self.places.iter().max().map_or(0, |last| last + 1)
    }

    /// The whole storage with these elements.
    fn storage(&self, values: &[Constant]) -> Vec<u8> {
        let size = self.elem.bytes() as usize;
        let mut bytes = vec![BESIDE; self.start + self.reach() * size + ZONE];
        for (place, value) in self.places.iter().zip(values) {
            let at = self.start + place * size;
            bytes[at..at + size].copy_from_slice(&value.bits.to_le_bytes()[..size]);
        }
        bytes
    }

    /// Puts a tensor on a device.
    ///
    /// # Errors
    /// Those of an upload.
    pub(super) fn upload(&self, values: &[Constant], device: &Device) -> Result<Tensor<u8, 1>> {
        let storage = self.storage(values);
        device.upload(&storage, [storage.len()])
    }

    /// The elements after a launch, and how far from the first element a byte outside of the tensor has changed, in bytes.
    ///
    /// # Errors
    /// Those of a download.
    pub(super) fn download(&self, tensor: &Tensor<u8, 1>) -> Result<(Vec<Constant>, Option<isize>)> {
        let (bytes, size) = (tensor.download()?, self.elem.bytes() as usize);
        let value = |place: &usize| {
            let mut bits = [0; 8];
            let at = self.start + place * size;
            bits[..size].copy_from_slice(&bytes[at..at + size]);
            Constant { elem: self.elem, bits: u64::from_le_bytes(bits) }
        };
        let values: Vec<Constant> = self.places.iter().map(value).collect();
        let mut own = vec![false; bytes.len()];
        for place in &self.places {
            own[self.start + place * size..][..size].fill(true);
        }
        let outside = (0..bytes.len()).find(|at| !own[*at] && bytes[*at] != BESIDE);
        Ok((values, outside.map(|at| at as isize - self.start as isize)))
    }

    /// The tensor's own bytes, to be read.
    ///
    /// # Errors
    /// None that the storage does not have.
    pub(super) fn part<'t>(&self, tensor: &'t Tensor<u8, 1>) -> Result<TensorView<'t, u8, 1>> {
        tensor.part(self.start, [self.reach() * self.elem.bytes() as usize], [1])
    }

    /// The same, to be written.
    ///
    /// # Errors
    /// None that the storage does not have.
    pub(super) fn part_mut<'t>(&self, tensor: &'t mut Tensor<u8, 1>) -> Result<TensorViewMut<'t, u8, 1>> {
        tensor.part_mut(self.start, [self.reach() * self.elem.bytes() as usize], [1])
    }

    /// The argument of a launch that reads the tensor.
    pub(super) fn read<'t>(&'t self, part: &'t TensorView<'_, u8, 1>) -> Argument<'t> {
        self.argument(match part.memory() {
            Memory::Gpu(memory, order) => Bytes::Gpu(memory.slice(..), *order),
            Memory::Host(bytes, offset) => Bytes::Host(bytes, *offset),
        })
    }

    /// The argument of a launch that writes the tensor.
    pub(super) fn write<'t>(&'t self, part: &'t mut TensorViewMut<'_, u8, 1>) -> Argument<'t> {
        self.argument(match part.parts().0 {
            MemoryMut::Gpu(memory, order) => Bytes::GpuMut(memory.slice_mut(..), *order),
            MemoryMut::Host(bytes, offset) => Bytes::HostMut(bytes, *offset),
        })
    }

    fn argument<'t>(&'t self, bytes: Bytes<'t>) -> Argument<'t> {
        let Layout { elem, shape, strides, .. } = self;
        Argument(Kind::Tensor { elem: *elem, shape, strides, len: self.reach(), bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_padded_where_they_may_be() {
        let of = |layout, skewed| strides(layout, &[3, 5], Elem::F32, skewed);
        assert_eq!(of(PlanLayout::RowMajor, true), [5, 1]);
        assert_eq!(of(PlanLayout::ColMajor, false), [1, 3]);
        assert_eq!(of(PlanLayout::Contiguous(1), false), [12, 1]);
        assert_eq!(of(PlanLayout::Contiguous(1), true), [6, 1]);
        assert_eq!(of(PlanLayout::Contiguous(0), false), [1, 8]);
        assert_eq!(of(PlanLayout::Strided, true), [2, 7]);
    }

    #[test]
    fn writes_next_to_the_elements_are_found() {
        let layout = Layout::new(PlanLayout::Contiguous(1), &[2, 3], Elem::I16, true);
        let values: Vec<Constant> = (1..=6).filter_map(|i| Constant::integer(Elem::I16, i)).collect();
        let device = Device::simulator();
        let tensor = layout.upload(&values, &device).expect("memory");
        assert_eq!(layout.download(&tensor).expect("bytes"), (values, None));
        let mut bytes = tensor.download().expect("bytes");
        bytes[layout.start + 6] = 0; // behind the first row
        let tensor = device.upload(&bytes, [bytes.len()]).expect("memory");
        assert_eq!(layout.download(&tensor).expect("bytes").1, Some(6));
    }
}
