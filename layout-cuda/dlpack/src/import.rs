//! Another library's tensor as an argument of kernels.
//!
//! Law: a view reaches no further than shape and strides do from the first element on.

use crate::described::Described;
use crate::error::DlpackError;
use dlpark::ffi::DLDeviceType;
use dlpark::{DlpackFlags, Managed, ManagedTensorBase};
use layout_cuda::cudarc::driver::CudaSlice;
use layout_cuda::{Element, Stream, TensorView, TensorViewMut};
use std::fmt;

/// A tensor that another library made. Dropping it gives it back, and waits for the GPU first: no stream of ours orders the other
/// library's deleter.
pub struct Imported<M: ManagedTensorBase> {
    memory: Memory,
    described: Described,
    /// The last field: it is dropped after the memory above, so the owner's deleter runs last.
    tensor: Managed<M>,
}

/// Where the elements are, as far as the layout reaches.
enum Memory {
    Host,
    /// `None` once it is let go.
    Gpu(Option<CudaSlice<u8>>),
}

// SAFETY: the pointer is to memory that the tensor's owner keeps until the deleter is called, which any thread may do, as the
// caller of `new` promises; it is read behind `&self` and written behind `&mut self` only.
unsafe impl<M: ManagedTensorBase> Send for Imported<M> {}
// SAFETY: as above.
unsafe impl<M: ManagedTensorBase> Sync for Imported<M> {}

impl<M: ManagedTensorBase> fmt::Debug for Imported<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Imported").field("shape", &self.shape()).field("strides", &self.strides()).finish()
    }
}

impl<M: ManagedTensorBase> Drop for Imported<M> {
    fn drop(&mut self) {
        if let Memory::Gpu(slice) = &mut self.memory
            && let Some(slice) = slice.take()
        {
            let context = slice.context().clone();
            // Frees nothing: the memory is the other library's, whose deleter runs next, on the host. It may have the memory used
            // again at once, in a stream that is none of ours. So what was launched on it, in whatever stream, has to be done.
            let _ = slice.leak();
            // A context that has failed runs nothing any more.
            let _ = context.synchronize();
        }
    }
}

impl<M: ManagedTensorBase> Imported<M> {
    /// Takes a tensor over, for launches on a stream of its device: a CPU tensor for the simulator's, a CUDA tensor for its
    /// GPU's.
    ///
    /// # Errors
    /// [`DlpackError::Description`], [`DlpackError::Negative`], [`DlpackError::Device`]. The tensor is then given back.
    ///
    /// # Safety
    /// - The tensor's memory is there, as far as shape and strides reach, until the deleter is called.
    /// - What other streams still do to it, the stream waits for before, as by `__dlpack__(stream)`.
    /// - Any thread may use the memory and call the deleter.
    /// - While this value lives nobody else writes the memory, nor reads it while a view of [`Imported::view_mut`] lives.
    pub unsafe fn new(tensor: Managed<M>, stream: &Stream) -> Result<Imported<M>, DlpackError> {
        // SAFETY: the caller promises the tensor.
        let described = unsafe { Described::new(tensor.tensor()) }?;
        let bytes = described.bytes();
        let device = described.device();
        let ordinal =
            |cuda: &std::sync::Arc<layout_cuda::cudarc::driver::CudaStream>| cuda.context().ordinal();
        let memory = match (device.device_type, stream.cuda()) {
            (DLDeviceType::CPU, None) => Memory::Host,
            (DLDeviceType::CUDA, Some(cuda)) if usize::try_from(device.device_id) == Ok(ordinal(cuda)) => {
                let first = described.first() as u64;
                let slice = (bytes > 0).then(|| {
                    // SAFETY: the caller promises so many bytes at this address; every byte is a `u8`. The slice never frees
                    // them: `drop` takes it apart first.
                    unsafe { cuda.upgrade_device_ptr::<u8>(first, bytes) }
                });
                Memory::Gpu(slice)
            }
            _ => {
                let (tensor, stream) = ((device.device_type.0, device.device_id), stream.device().describe());
                return Err(DlpackError::Device { tensor, stream });
            }
        };
        Ok(Imported { memory, described, tensor })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        self.described.shape()
    }

    /// Strides, in elements.
    pub fn strides(&self) -> &[usize] {
        self.described.strides()
    }

    fn layout<T: Element, const R: usize>(&self) -> Result<([usize; R], [usize; R]), DlpackError> {
        if self.described.elem() != Some(T::ELEM) {
            return Err(DlpackError::Type { found: self.described.word(), asked: T::ELEM });
        }
        match (self.shape().try_into(), self.strides().try_into()) {
            (Ok(shape), Ok(strides)) => Ok((shape, strides)),
            _ => Err(DlpackError::Rank { shape: self.shape().to_vec(), asked: R }),
        }
    }

    /// The tensor, to be read.
    ///
    /// # Errors
    /// [`DlpackError::Type`], [`DlpackError::Rank`].
    pub fn view<T: Element, const R: usize>(&self) -> Result<TensorView<'_, T, R>, DlpackError> {
        let (shape, strides) = self.layout::<T, R>()?;
        match &self.memory {
            Memory::Host if self.described.bytes() == 0 => Ok(TensorView::over_host(&[], shape, strides)?),
            Memory::Host => {
                let (first, bytes) = (self.described.first(), self.described.bytes());
                // SAFETY: `new` was promised so many bytes, which nobody writes while `self` is borrowed.
                let bytes = unsafe { std::slice::from_raw_parts(first, bytes) };
                Ok(TensorView::over_host(bytes, shape, strides)?)
            }
            Memory::Gpu(None) => Err(no_elements(self.described.shape())),
            Memory::Gpu(Some(slice)) => {
                // SAFETY: the memory is of elements of `T`, as its owner says.
                let typed = unsafe { slice.transmute::<T>(slice.len() / size_of::<T>()) };
                let typed = typed.ok_or_else(|| no_elements(self.described.shape()))?;
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
        self.described.writable()?;
        match &mut self.memory {
            Memory::Host if self.described.bytes() == 0 => {
                Ok(TensorViewMut::over_host(&mut [], shape, strides)?)
            }
            Memory::Host => {
                let (first, bytes) = (self.described.first(), self.described.bytes());
                // SAFETY: as of `view`; `self` is borrowed mutably.
                let bytes = unsafe { std::slice::from_raw_parts_mut(first, bytes) };
                Ok(TensorViewMut::over_host(bytes, shape, strides)?)
            }
            Memory::Gpu(None) => Err(no_elements(self.described.shape())),
            Memory::Gpu(Some(slice)) => {
                let elements = slice.len() / size_of::<T>();
                // SAFETY: as of `view`.
                let typed = unsafe { slice.transmute_mut::<T>(elements) };
                let typed = typed.ok_or_else(|| no_elements(self.described.shape()))?;
                // SAFETY: the memory is the other library's: no part of the program has it as values of `T`.
                Ok(unsafe { TensorViewMut::over_bytes_of(typed, shape, strides) }?)
            }
        }
    }
}

fn no_elements(shape: &[usize]) -> DlpackError {
    DlpackError::Description {
        why: format!("a tensor of shape {shape:?} has no elements on a GPU to launch on"),
    }
}
