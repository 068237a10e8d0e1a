//! Tensors in a device's memory: made by upload, read back by download.
//!
//! Law: `device.upload(data, shape)?.download()? == data`, on a GPU and on the simulator; a tensor's elements begin at
//! an address that is a multiple of 256 bytes.

use std::borrow::Cow;
use std::fmt;

use cudarc::driver::{CudaView, CudaViewMut};

use crate::allocation::Allocation;
use crate::device::{Device, Stream};
use crate::element::{Element, from_bytes, to_bytes};
use crate::error::{Error, Result};
use crate::order::Use;
use crate::shape::{reaches, row_major, span};
use crate::transfer;
use crate::view::{MemoryMut, TensorView, TensorViewMut};

/// A tensor that cannot be, or not there.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorError {
    /// The shape has another number of elements than the data.
    Length {
        /// The shape.
        shape: Vec<usize>,
        /// The number of its elements.
        needed: usize,
        /// The number of elements given.
        found: usize,
    },
    /// The layout reaches past the end of the storage.
    Reach {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, elements.
        strides: Vec<usize>,
        /// The elements that it reaches.
        needed: usize,
        /// The elements that are there.
        found: usize,
    },
    /// There are not as many strides as extents.
    Modes {
        /// The shape.
        shape: Vec<usize>,
        /// The strides, elements.
        strides: Vec<usize>,
    },
    /// The number of elements, or of their bytes, does not fit the address space.
    TooLarge {
        /// The shape.
        shape: Vec<usize>,
    },
    /// Bytes that are no whole elements, or reach past the end of the storage.
    Part {
        /// The element that they begin at.
        first: usize,
        /// How many bytes.
        bytes: usize,
        /// Bytes of an element.
        each: usize,
        /// Elements of the storage.
        len: usize,
    },
    /// Two tensors are not alike, so that one's storage is not the other's.
    Unlike {
        /// The shape and strides, elements, of the tensor that is written.
        to: [Vec<usize>; 2],
        /// The shape and strides, elements, of the tensor that is read.
        from: [Vec<usize>; 2],
    },
    /// The tensor is on another device than the stream.
    OtherDevice {
        /// The tensor's device.
        tensor: String,
        /// The stream's device.
        stream: String,
    },
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorError::Length { shape, needed, found } => {
                write!(f, "shape {shape:?} has {needed} elements, the data has {found}")
            }
            TensorError::Modes { shape, strides } => {
                write!(f, "shape {shape:?} has {} extents, the strides are {strides:?}", shape.len())
            }
            TensorError::Reach { shape, strides, needed, found } => write!(
                f,
                "shape {shape:?} with strides {strides:?} reaches {needed} elements, the storage has {found}"
            ),
            TensorError::TooLarge { shape } => {
                write!(f, "shape {shape:?} has more elements than the address space has bytes")
            }
            TensorError::Part { first, bytes, each, len } => write!(
                f,
                "{bytes} bytes from element {first} on are no elements of {each} bytes within the {len} of the storage"
            ),
            TensorError::Unlike { to: [to, to_strides], from: [from, from_strides] } => write!(
                f,
                "a tensor of shape {to:?} and strides {to_strides:?} does not take the storage of one of shape \
                 {from:?} and strides {from_strides:?}; give both one shape and one layout, or copy with a kernel"
            ),
            TensorError::OtherDevice { tensor, stream } => write!(
                f,
                "the tensor is on {tensor}, the stream is of {stream}; download it and upload it there"
            ),
        }
    }
}

impl std::error::Error for TensorError {}

/// A tensor that owns its memory: elements of type `T`, `R` modes, strides in elements.
pub struct Tensor<T: Element, const R: usize> {
    storage: Storage<T>,
    shape: [usize; R],
    strides: [usize; R],
    len: usize,
    stream: Stream,
}

impl<T: Element, const R: usize> fmt::Debug for Tensor<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Its elements may be on a GPU: `download` gives them.
        let place = self.stream.device().describe();
        f.debug_struct("Tensor")
            .field("elem", &T::ELEM)
            .field("shape", &self.shape)
            .field("strides", &self.strides)
            .field("device", &place)
            .finish()
    }
}

/// The memory.
#[derive(Debug)]
enum Storage<T> {
    Gpu(Allocation<T>),
    Host(Vec<u8>),
}

impl Device {
    /// A row-major tensor of this data, in the default stream's order.
    ///
    /// # Errors
    /// [`TensorError::Length`] where the shape does not have `data.len()` elements; [`Error::OutOfMemory`].
    ///
    /// ```
    /// let device = layout_cuda::Device::simulator();
    /// let tensor = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
    /// assert_eq!(tensor.strides(), [3, 1]);
    /// assert_eq!(tensor.download()?[3], 4.0);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    #[doc(alias("from_vec", "from_slice", "from_host", "to_device", "htod_copy", "tensor"))]
    pub fn upload<T: Element, const R: usize>(&self, data: &[T], shape: [usize; R]) -> Result<Tensor<T, R>> {
        self.stream().upload(data, shape)
    }

    /// A tensor of this data with strides in elements; elements of `data` that the layout does not reach are kept.
    ///
    /// # Errors
    /// [`TensorError::Reach`] where the layout reaches past the data's end; [`Error::OutOfMemory`].
    pub fn upload_strided<T: Element, const R: usize>(
        &self,
        data: &[T],
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<Tensor<T, R>> {
        self.stream().upload_strided(data, shape, strides)
    }

    /// A row-major tensor of zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or [`TensorError::TooLarge`].
    #[doc(alias("alloc", "alloc_zeros", "empty", "malloc"))]
    pub fn zeros<T: Element, const R: usize>(&self, shape: [usize; R]) -> Result<Tensor<T, R>> {
        self.stream().zeros(shape)
    }
}

impl Stream {
    /// As [`Device::upload`], in this stream's order.
    ///
    /// # Errors
    /// As there.
    #[doc(alias("from_vec", "from_slice", "from_host", "to_device", "htod_copy", "tensor"))]
    pub fn upload<T: Element, const R: usize>(&self, data: &[T], shape: [usize; R]) -> Result<Tensor<T, R>> {
        let strides = row_major(shape)?;
        let needed = span(shape, strides)?;
        if needed != data.len() {
            let (shape, found) = (shape.to_vec(), data.len());
            return Err(TensorError::Length { shape, needed, found }.into());
        }
        self.upload_strided(data, shape, strides)
    }

    /// As [`Device::upload_strided`], in this stream's order.
    ///
    /// # Errors
    /// As there.
    pub fn upload_strided<T: Element, const R: usize>(
        &self,
        data: &[T],
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<Tensor<T, R>> {
        reaches(shape, strides, data.len())?;
        let mut tensor = self.allocate(shape, strides, data.len())?;
        tensor.write(data)?;
        Ok(tensor)
    }

    /// As [`Device::zeros`], in this stream's order.
    ///
    /// # Errors
    /// As there.
    #[doc(alias("alloc", "alloc_zeros", "empty", "malloc"))]
    pub fn zeros<T: Element, const R: usize>(&self, shape: [usize; R]) -> Result<Tensor<T, R>> {
        let strides = row_major(shape)?;
        let mut tensor = self.allocate(shape, strides, span(shape, strides)?)?;
        tensor.fill_bytes(0)?;
        Ok(tensor)
    }

    /// A tensor of zeros with strides in elements, and as much storage as they reach.
    ///
    /// # Errors
    /// As [`Device::zeros`].
    ///
    /// ```
    /// let stream = layout_cuda::Device::simulator().stream();
    /// let columns = stream.zeros_strided::<f32, 2>([3, 2], [1, 3])?;
    /// assert_eq!(columns.len(), 6);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn zeros_strided<T: Element, const R: usize>(
        &self,
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<Tensor<T, R>> {
        let mut tensor = self.allocate(shape, strides, span(shape, strides)?)?;
        tensor.fill_bytes(0)?;
        Ok(tensor)
    }

    /// Memory whose content is not set yet.
    fn allocate<T: Element, const R: usize>(
        &self,
        shape: [usize; R],
        strides: [usize; R],
        len: usize,
    ) -> Result<Tensor<T, R>> {
        let bytes = len.max(1).checked_mul(size_of::<T>()).filter(|bytes| isize::try_from(*bytes).is_ok());
        let bytes = bytes.ok_or_else(|| TensorError::TooLarge { shape: shape.to_vec() })?;
        let out_of_memory = || Error::OutOfMemory { bytes, free: self.device().memory() };
        let storage = match self.cuda() {
            Some(stream) => {
                // SAFETY: every caller sets all of the memory before the tensor leaves this file, and nothing reads
                // a tensor's memory as values on the way.
                let memory = unsafe { Allocation::new(stream, len) };
                Storage::Gpu(memory.map_err(|error| match error {
                    error if error.is_out_of_memory() => out_of_memory(),
                    error => error.into(),
                })?)
            }
            None => {
                let mut memory = Vec::new();
                memory.try_reserve_exact(bytes).map_err(|_| out_of_memory())?;
                memory.resize(len * size_of::<T>(), 0);
                Storage::Host(memory)
            }
        };
        Ok(Tensor { storage, shape, strides, len, stream: self.clone() })
    }

    /// The elements behind a tensor or a view, in the order of its storage, in this stream's order. Waits for them.
    ///
    /// # Errors
    /// [`TensorError::OtherDevice`], or a driver's failure, also of a kernel before.
    pub fn download<T: Element, const R: usize>(
        &self,
        tensor: &impl crate::TensorArg<T, R>,
    ) -> Result<Vec<T>> {
        tensor.view().download(self)
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// Extents.
    #[doc(alias("dims", "size", "extents"))]
    pub fn shape(&self) -> [usize; R] {
        self.shape
    }

    /// Strides, in elements.
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }

    /// Elements of the storage, also those that the layout does not reach.
    #[doc(alias("numel", "elem_count"))]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the storage has no element.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device it is on.
    pub fn device(&self) -> &Device {
        self.stream.device()
    }

    /// The elements in the order of the storage. Waits for all work before it in the tensor's stream.
    ///
    /// # Errors
    /// A driver's failure, also of a kernel before.
    #[doc(alias("to_vec", "to_host", "copy_to_host", "to_cpu", "cpu", "dtoh", "numpy", "as_slice"))]
    pub fn download(&self) -> Result<Vec<T>> {
        self.view().download(&self.stream)
    }

    /// Overwrites the storage.
    ///
    /// # Errors
    /// [`TensorError::Length`] where the lengths differ, or a driver's failure.
    #[doc(alias("copy_from_host", "copy_from_slice", "upload"))]
    pub fn write(&mut self, data: &[T]) -> Result<()> {
        if data.len() != self.len {
            let (shape, needed, found) = (self.shape.to_vec(), self.len, data.len());
            return Err(TensorError::Length { shape, needed, found }.into());
        }
        match (&mut self.storage, self.stream.cuda()) {
            (Storage::Gpu(_), Some(_)) => {
                // SAFETY: an element has no padding, and so many bytes are the slice's.
                let bytes =
                    unsafe { std::slice::from_raw_parts(data.as_ptr().cast::<u8>(), size_of_val(data)) };
                self.upload_bytes(0, bytes)?;
            }
            (Storage::Host(memory), _) => *memory = to_bytes(data),
            (Storage::Gpu(_), None) => {}
        }
        Ok(())
    }

    /// Overwrites a part of the storage, from element `first` on, with the little-endian bytes of elements: as they are in a
    /// file, piece by piece.
    ///
    /// # Errors
    /// [`TensorError::Part`], or a driver's failure.
    ///
    /// ```
    /// let mut tensor = layout_cuda::Device::simulator().zeros::<f32, 1>([3])?;
    /// tensor.write_bytes(1, &2.5f32.to_le_bytes())?;
    /// assert_eq!(tensor.download()?, [0.0, 2.5, 0.0]);
    /// assert!(tensor.write_bytes(2, &[0; 8]).is_err());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn write_bytes(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        let each = size_of::<T>();
        let end = first.checked_add(bytes.len() / each).filter(|end| *end <= self.len);
        let Some(end) = end.filter(|_| bytes.len().is_multiple_of(each)) else {
            return Err(TensorError::Part { first, bytes: bytes.len(), each, len: self.len }.into());
        };
        match (&mut self.storage, self.stream.cuda()) {
            (Storage::Gpu(_), _) => self.upload_bytes(first, &values_of::<T>(bytes))?,
            (Storage::Host(memory), _) => {
                if let Some(part) = memory.get_mut(first * each..end * each) {
                    part.copy_from_slice(&values_of::<T>(bytes));
                }
            }
        }
        Ok(())
    }

    /// Writes the bytes of elements that are values of `T` to a GPU's memory, as many as there are room for from `first` on.
    fn upload_bytes(&mut self, first: usize, bytes: &[u8]) -> Result<()> {
        let (Storage::Gpu(memory), Some(stream)) = (&mut self.storage, self.stream.cuda()) else {
            return Ok(());
        };
        if bytes.is_empty() {
            return Ok(());
        }
        let (mut part, order) = memory.between_mut(first, first + bytes.len() / size_of::<T>());
        // SAFETY: every byte of an element's memory is a `u8`, and the callers write values of `T`.
        let part = unsafe { part.transmute_mut::<u8>(bytes.len()) };
        let mut part = part.expect("as many bytes as the elements have");
        transfer::upload(stream, &mut part, order, bytes)
    }

    /// Overwrites the storage with that of another tensor which is alike, in this tensor's stream: the driver's
    /// device copy. Afterwards each element is the other's at the same coordinate.
    ///
    /// # Errors
    /// [`TensorError::Unlike`] where a shape or a stride differs, [`TensorError::Length`] where the storages are of
    /// different lengths, [`TensorError::OtherDevice`], or a driver's failure.
    ///
    /// ```
    /// let device = layout_cuda::Device::simulator();
    /// let source = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
    /// let mut copy = device.zeros::<f32, 2>([2, 3])?;
    /// copy.copy_from(&source)?;
    /// assert_eq!(copy.download()?[3], 4.0);
    /// assert!(device.zeros::<f32, 2>([3, 2])?.copy_from(&source).is_err());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn copy_from(&mut self, source: &Tensor<T, R>) -> Result<()> {
        // The stride of a single coordinate, or of none, leads nowhere.
        let steps = |mode: usize| self.shape[mode] > 1 && !self.shape.contains(&0);
        let differ = |mode: usize| steps(mode) && self.strides[mode] != source.strides[mode];
        if self.shape != source.shape || (0..R).any(differ) {
            let to = [self.shape.to_vec(), self.strides.to_vec()];
            let from = [source.shape.to_vec(), source.strides.to_vec()];
            return Err(TensorError::Unlike { to, from }.into());
        }
        if source.len != self.len {
            let (shape, needed, found) = (self.shape.to_vec(), self.len, source.len);
            return Err(TensorError::Length { shape, needed, found }.into());
        }
        match (&mut self.storage, &source.storage, self.stream.cuda()) {
            (Storage::Gpu(to), Storage::Gpu(from), Some(stream)) => transfer::between(stream, to, from)?,
            (Storage::Host(to), Storage::Host(from), _) => to.clone_from(from),
            _ => {
                let (tensor, stream) = (source.device().describe(), self.device().describe());
                return Err(TensorError::OtherDevice { tensor, stream }.into());
            }
        }
        Ok(())
    }

    /// Sets every byte to 255, which is a NaN in a float, -1 or the largest value in an integer, and a `bool` to `true`: what
    /// a kernel then leaves unwritten shows.
    ///
    /// # Errors
    /// A driver's failure.
    pub fn poison(&mut self) -> Result<()> {
        self.fill_bytes(if T::ANY_BITS { 255 } else { 1 })
    }

    fn fill_bytes(&mut self, byte: u8) -> Result<()> {
        match (&mut self.storage, self.stream.cuda()) {
            (Storage::Gpu(memory), Some(stream)) => {
                let (mut memory, order) = memory.parts_mut();
                transfer::fill(stream, &mut memory, Some(order), byte)?;
            }
            (Storage::Host(memory), _) => memory.fill(byte),
            (Storage::Gpu(_), _) => {}
        }
        Ok(())
    }

    /// The whole tensor, borrowed.
    pub fn view(&self) -> TensorView<'_, T, R> {
        let (shape, strides) = (self.shape, self.strides);
        match &self.storage {
            Storage::Gpu(memory) => {
                let (memory, order) = memory.parts();
                TensorView::on_gpu(memory, Some(order), shape, strides)
            }
            Storage::Host(memory) => TensorView::on_host(memory, 0, shape, strides),
        }
    }

    /// The whole tensor, borrowed to be written.
    pub fn view_mut(&mut self) -> TensorViewMut<'_, T, R> {
        let (shape, strides) = (self.shape, self.strides);
        let len = self.len;
        TensorViewMut::new(self.memory_between(0, len), shape, strides)
    }

    /// The storage between two elements, in order and not behind its end.
    pub(crate) fn memory_between(&mut self, start: usize, end: usize) -> MemoryMut<'_, T> {
        let bytes = start * size_of::<T>()..end * size_of::<T>();
        match &mut self.storage {
            Storage::Gpu(memory) => {
                let (memory, order) = memory.between_mut(start, end);
                MemoryMut::Gpu(memory, Some(order))
            }
            Storage::Host(memory) => MemoryMut::Host(&mut memory[bytes.clone()], bytes.start),
        }
    }

    /// The GPU memory, for calls of cudarc that read it; `None` on the simulator. Where several streams read it, cudarc's next
    /// write waits for the last of them alone.
    ///
    /// ```
    /// let tensor = layout_cuda::Device::simulator().zeros::<u8, 1>([1])?;
    /// assert!(tensor.cuda_slice().is_none());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    ///
    /// A kernel may leave bytes that are no `bool`, which cudarc would read as one:
    ///
    /// ```compile_fail
    /// let tensor = layout_cuda::Device::simulator().zeros::<bool, 1>([1])?;
    /// assert!(tensor.cuda_slice().is_none());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn cuda_slice(&self) -> Option<CudaView<'_, T>> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        match &self.storage {
            Storage::Gpu(memory) => {
                let (memory, order) = memory.parts();
                order.lend(&memory);
                Some(memory)
            }
            Storage::Host(_) => None,
        }
    }

    /// The GPU memory, for calls of cudarc that write it; `None` on the simulator. They come after all work on the tensor so far.
    pub fn cuda_slice_mut(&mut self) -> Option<CudaViewMut<'_, T>> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        match &mut self.storage {
            Storage::Gpu(memory) => {
                let (mut memory, order) = memory.parts_mut();
                order.lend_mut(&mut memory);
                Some(memory)
            }
            Storage::Host(_) => None,
        }
    }

    /// Waits here until all work on the tensor has ended, on whichever stream: then anybody may use the memory.
    ///
    /// # Errors
    /// A driver's failure, also of a kernel before.
    pub fn wait_for_users(&mut self) -> Result<()> {
        if let (Storage::Gpu(memory), Some(stream)) = (&mut self.storage, self.stream.cuda()) {
            let (mut memory, order) = memory.parts_mut();
            Use::write(&mut memory, Some(order), stream)?;
        }
        self.stream.synchronize()
    }
}

/// The bytes of elements as values of `T`: one of two where it is `bool`.
fn values_of<T: Element>(bytes: &[u8]) -> Cow<'_, [u8]> {
    match T::ANY_BITS {
        true => Cow::Borrowed(bytes),
        false => Cow::Owned(to_bytes(&from_bytes::<T>(bytes))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::devices;

    #[test]
    fn up_and_down() {
        for device in devices() {
            let data: Vec<f32> = (0..12).map(|i| i as f32).collect();
            let mut tensor = device.upload(&data, [3, 4]).expect("a tensor");
            assert_eq!((tensor.shape(), tensor.strides(), tensor.len()), ([3, 4], [4, 1], 12));
            assert_eq!(tensor.download().expect("data"), data);
            assert_eq!(tensor.device(), &device);
            tensor.write(&[7.0; 12]).expect("written");
            assert_eq!(device.stream().download(&tensor).expect("data"), [7.0; 12]);
            let mut copy = device.zeros::<f32, 2>([3, 4]).expect("a tensor");
            copy.copy_from(&tensor).expect("copied");
            assert_eq!(copy.download().expect("data"), [7.0; 12]);
            tensor.poison().expect("poisoned");
            assert!(tensor.download().expect("data").iter().all(|value| value.is_nan()));

            assert_eq!(device.zeros::<i64, 1>([5]).expect("zeros").download().expect("data"), [0; 5]);
            let strided = device.upload_strided(&data, [2, 3], [8, 1]).expect("a tensor");
            assert_eq!(strided.download().expect("data"), data);
            let mut bools = device.upload(&[true, false], [2]).expect("a tensor");
            assert_eq!(bools.download().expect("data"), [true, false]);
            bools.poison().expect("poisoned");
            assert_eq!(bools.download().expect("data"), [true, true]);
        }
    }

    #[test]
    fn empty_tensors() {
        for device in devices() {
            let mut empty = device.upload::<f32, 2>(&[], [0, 4]).expect("a tensor");
            assert!(empty.is_empty() && empty.download().expect("data").is_empty());
            empty.poison().expect("nothing to do");
            empty.write(&[]).expect("nothing to do");
            assert_eq!(device.zeros::<u8, 1>([0]).expect("a tensor").len(), 0);
            assert_eq!(device.upload(&[3u32], []).expect("rank 0").download().expect("data"), [3]);
        }
    }

    #[test]
    fn refusals() {
        for device in devices() {
            let error = device.upload(&[0u8; 5], [2, 3]).expect_err("one too few");
            assert_eq!(error.to_string(), "shape [2, 3] has 6 elements, the data has 5");
            let error = device.upload_strided(&[0u8; 5], [2, 3], [4, 1]).expect_err("too few");
            assert!(
                matches!(error, Error::Tensor(TensorError::Reach { needed: 7, found: 5, .. })),
                "{error}"
            );
            let error = device.zeros::<f64, 2>([usize::MAX, usize::MAX]).expect_err("too large");
            assert!(matches!(error, Error::Tensor(TensorError::TooLarge { .. })), "{error}");
            let error = device.zeros::<f64, 1>([usize::MAX / 8]).expect_err("too large");
            assert!(matches!(error, Error::Tensor(TensorError::TooLarge { .. })), "{error}");
            let error = device.zeros::<f64, 1>([(isize::MAX / 8) as usize]).expect_err("too much");
            assert!(matches!(error, Error::OutOfMemory { .. }), "{error}");
            let mut tensor = device.zeros::<u8, 1>([3]).expect("a tensor");
            let other = device.zeros::<u8, 1>([4]).expect("a tensor");
            let error = tensor.copy_from(&other).expect_err("one too many");
            let alike = "give both one shape and one layout, or copy with a kernel";
            assert_eq!(
                error.to_string(),
                format!(
                    "a tensor of shape [3] and strides [1] does not take the storage of one of shape [4] and \
                     strides [1]; {alike}"
                )
            );
            let rows = device.zeros::<u8, 2>([3, 4]).expect("a tensor");
            let columns = device.upload_strided(&[0u8; 12], [3, 4], [1, 3]).expect("a tensor");
            for mut other in [device.zeros::<u8, 2>([4, 3]).expect("a tensor"), columns] {
                let error = other.copy_from(&rows).expect_err("the strides differ");
                assert!(matches!(error, Error::Tensor(TensorError::Unlike { .. })), "{error}");
            }
            // Strides of modes that do not step, and elements behind the last.
            let mut row = device.upload_strided(&[0u8; 4], [1, 4], [9, 1]).expect("a tensor");
            row.copy_from(&device.zeros([1, 4]).expect("a tensor")).expect("the layouts are equal");
            let mut padded = device.upload_strided(&[0u8; 13], [3, 4], [4, 1]).expect("a tensor");
            let error = padded.copy_from(&rows).expect_err("one too few");
            assert!(matches!(error, Error::Tensor(TensorError::Length { .. })), "{error}");
            let error = tensor.write(&[0; 4]).expect_err("one too many");
            assert!(
                matches!(error, Error::Tensor(TensorError::Length { needed: 3, found: 4, .. })),
                "{error}"
            );
        }
    }
}
