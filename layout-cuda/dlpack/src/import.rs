//! Another library's tensor as an argument of kernels.
//!
//! Law: a view reaches no further than shape and strides do from the first element on.

use crate::elem::elem;
use crate::error::DlpackError;
use dlpark::ffi::DLDeviceType;
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use layout_cuda::cudarc::driver::CudaSlice;
use layout_cuda::{Element, Stream, TensorView, TensorViewMut};
use std::fmt;

/// A tensor that another library made. Dropping it gives it back.
pub struct Imported<M: ManagedTensorBase> {
    memory: Memory,
    elem: (u8, u8, u16),
    known: Option<layout_cuda::Elem>,
    shape: Vec<usize>,
    strides: Vec<usize>,
    /// The last field: the memory above is let go before its owner is told.
    tensor: Managed<M>,
}

/// Where the elements are: the first, and how many bytes the layout reaches.
enum Memory {
    Host(*mut u8, usize),
    /// `None` once it is let go.
    Gpu(Option<CudaSlice<u8>>),
}

// SAFETY: the pointer is to memory that the tensor's owner keeps until the deleter is called, which any thread may do; it is
// read behind `&self` and written behind `&mut self` only.
unsafe impl<M: ManagedTensorBase> Send for Imported<M> {}
// SAFETY: as above.
unsafe impl<M: ManagedTensorBase> Sync for Imported<M> {}

impl<M: ManagedTensorBase> fmt::Debug for Imported<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Imported").field("shape", &self.shape).field("strides", &self.strides).finish()
    }
}

impl<M: ManagedTensorBase> Drop for Imported<M> {
    fn drop(&mut self) {
        if let Memory::Gpu(slice) = &mut self.memory {
            // Waits in the stream for what was launched on it, and frees nothing: the memory is the other library's.
            let _ = slice.take().map(CudaSlice::leak);
        }
    }
}

/// The extents and strides as numbers that a layout may have.
fn numbers(values: &[i64], negative: impl Fn(usize, i64) -> DlpackError) -> Result<Vec<usize>, DlpackError> {
    let each = |(mode, value): (usize, &i64)| usize::try_from(*value).map_err(|_| negative(mode, *value));
    values.iter().enumerate().map(each).collect()
}

/// How many elements from the first on a layout reaches; `None` beyond the address space.
fn reach(shape: &[usize], strides: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    let mut modes = shape.iter().zip(strides);
    modes.try_fold(1usize, |all, (extent, stride)| all.checked_add((extent - 1).checked_mul(*stride)?))
}

impl<M: ManagedTensorBase> Imported<M> {
    /// Takes a tensor over, for launches on a stream of its device: a CPU tensor for the simulator's, a CUDA tensor for its
    /// GPU's. What another stream still does to it has to be waited for by the stream before, as by `__dlpack__(stream)`.
    ///
    /// # Errors
    /// [`DlpackError::Description`], [`DlpackError::Negative`], [`DlpackError::Device`]. The tensor is then given back.
    ///
    /// # Safety
    /// - The tensor's memory is there, as far as shape and strides reach, until the deleter is called.
    /// - While this value lives nobody else writes the memory, nor reads it while a view of [`Imported::view_mut`] lives.
    pub unsafe fn new(tensor: Managed<M>, stream: &Stream) -> Result<Imported<M>, DlpackError> {
        let described = tensor.validate()?;
        let word = described.dtype();
        let negative_extent =
            |mode, value| DlpackError::Description { why: format!("mode {mode} has the extent {value}") };
        let shape = numbers(described.shape(), negative_extent)?;
        let negative = |mode, stride| DlpackError::Negative { mode, stride };
        let mut strides: Vec<i64> = described.strides_or_compact()?.into_owned();
        // The stride of a single coordinate leads nowhere, whatever it is.
        for (stride, extent) in strides.iter_mut().zip(&shape).filter(|(_, extent)| **extent < 2) {
            *stride = (*extent).min(1) as i64;
        }
        let strides = numbers(&strides, negative)?;
        let size = usize::from(word.bits).div_ceil(8) * usize::from(word.lanes);
        let bytes = reach(&shape, &strides).and_then(|elements| elements.checked_mul(size));
        let bytes = bytes.filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes
            .ok_or_else(|| DlpackError::Description { why: "it is larger than the address space".into() })?;
        // SAFETY: the caller promises the memory; of an empty tensor the pointer is not used.
        let first = unsafe { described.offset_bytes_ptr() }?.cast_mut();
        if bytes > 0 && first.is_null() {
            return Err(DlpackError::Description { why: "it has elements and no address".into() });
        }
        let device = described.device();
        let ordinal =
            |cuda: &std::sync::Arc<layout_cuda::cudarc::driver::CudaStream>| cuda.context().ordinal();
        let memory = match (device.device_type, stream.cuda()) {
            (DLDeviceType::CPU, None) => Memory::Host(first, bytes),
            (DLDeviceType::CUDA, Some(cuda)) if usize::try_from(device.device_id) == Ok(ordinal(cuda)) => {
                // SAFETY: the caller promises so many bytes at this address; every byte is a `u8`. The slice never frees them:
                // `drop` takes it apart first.
                let slice =
                    (bytes > 0).then(|| unsafe { cuda.upgrade_device_ptr::<u8>(first as u64, bytes) });
                Memory::Gpu(slice)
            }
            _ => {
                let (tensor, stream) = ((device.device_type.0, device.device_id), stream.device().describe());
                return Err(DlpackError::Device { tensor, stream });
            }
        };
        let (known, elem) = (elem(word), (word.code.0, word.bits, word.lanes));
        Ok(Imported { memory, elem, known, shape, strides, tensor })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Strides, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    fn layout<T: Element, const R: usize>(&self) -> Result<([usize; R], [usize; R]), DlpackError> {
        if self.known != Some(T::ELEM) {
            return Err(DlpackError::Type { found: self.elem, asked: T::ELEM });
        }
        match (self.shape.as_slice().try_into(), self.strides.as_slice().try_into()) {
            (Ok(shape), Ok(strides)) => Ok((shape, strides)),
            _ => Err(DlpackError::Rank { shape: self.shape.clone(), asked: R }),
        }
    }

    /// The tensor, to be read.
    ///
    /// # Errors
    /// [`DlpackError::Type`], [`DlpackError::Rank`].
    pub fn view<T: Element, const R: usize>(&self) -> Result<TensorView<'_, T, R>, DlpackError> {
        let (shape, strides) = self.layout::<T, R>()?;
        match &self.memory {
            Memory::Host(_, 0) => Ok(TensorView::over_host(&[], shape, strides)?),
            Memory::Host(first, bytes) => {
                // SAFETY: `new` was promised so many bytes, which nobody writes while `self` is borrowed.
                let bytes = unsafe { std::slice::from_raw_parts(*first, *bytes) };
                Ok(TensorView::over_host(bytes, shape, strides)?)
            }
            Memory::Gpu(None) => Err(no_elements(&self.shape)),
            Memory::Gpu(Some(slice)) => {
                // SAFETY: the memory is of elements of `T`, as its owner says.
                let typed = unsafe { slice.transmute::<T>(slice.len() / size_of::<T>()) };
                let typed = typed.ok_or_else(|| no_elements(&self.shape))?;
                Ok(TensorView::over_strided(typed, shape, strides)?)
            }
        }
    }

    /// The tensor, to be written.
    ///
    /// # Errors
    /// [`DlpackError::Type`], [`DlpackError::Rank`], [`DlpackError::ReadOnly`], [`DlpackError::Overlaps`].
    pub fn view_mut<T: Element, const R: usize>(&mut self) -> Result<TensorViewMut<'_, T, R>, DlpackError> {
        let (shape, strides) = self.layout::<T, R>()?;
        if self.tensor.flags().contains(DlpackFlags::READ_ONLY) {
            return Err(DlpackError::ReadOnly);
        }
        if overlaps(&self.shape, &self.strides) {
            let (shape, strides) = (self.shape.clone(), self.strides.clone());
            return Err(DlpackError::Overlaps { shape, strides });
        }
        match &mut self.memory {
            Memory::Host(_, 0) => Ok(TensorViewMut::over_host(&mut [], shape, strides)?),
            Memory::Host(first, bytes) => {
                // SAFETY: as of `view`; `self` is borrowed mutably.
                let bytes = unsafe { std::slice::from_raw_parts_mut(*first, *bytes) };
                Ok(TensorViewMut::over_host(bytes, shape, strides)?)
            }
            Memory::Gpu(None) => Err(no_elements(&self.shape)),
            Memory::Gpu(Some(slice)) => {
                let elements = slice.len() / size_of::<T>();
                // SAFETY: as of `view`.
                let typed = unsafe { slice.transmute_mut::<T>(elements) };
                let typed = typed.ok_or_else(|| no_elements(&self.shape))?;
                Ok(TensorViewMut::over_strided(typed, shape, strides)?)
            }
        }
    }
}

fn no_elements(shape: &[usize]) -> DlpackError {
    DlpackError::Description {
        why: format!("a tensor of shape {shape:?} has no elements on a GPU to launch on"),
    }
}

/// Whether two coordinates may lie in one place: modes in the order of their strides, each beyond all before it, never do.
fn overlaps(shape: &[usize], strides: &[usize]) -> bool {
    let mut modes: Vec<(usize, usize)> = strides.iter().copied().zip(shape.iter().copied()).collect();
    modes.retain(|(_, extent)| *extent > 1);
    modes.sort_unstable();
    let mut beyond = 1;
    !shape.contains(&0)
        && modes.into_iter().any(|(stride, extent)| {
            let overlaps = stride < beyond;
            beyond = beyond.saturating_add(stride.saturating_mul(extent - 1));
            overlaps
        })
}
