//! Borrowed tensors: over a [`Tensor`](crate::Tensor), over a part of one, or over the caller's GPU memory.
//!
//! Law: a view never reaches outside the memory that it borrows; the traits [`TensorArg`] and [`TensorArgMut`] are all
//! that a launch asks of an argument.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaView, CudaViewMut, DeviceSlice};

use crate::device::Stream;
use crate::element::{Element, from_bytes};
use crate::error::Result;
use crate::order::{self, Order, Use};
use crate::shape::{reaches, row_major, span};
use crate::tensor::{Tensor, TensorError};
use crate::transfer;

/// A tensor that is read: shape and strides over borrowed memory.
#[derive(Debug)]
pub struct TensorView<'a, T, const R: usize> {
    memory: Memory<'a, T>,
    shape: [usize; R],
    strides: [usize; R],
}

/// Borrowed memory, from the tensor's first element on.
#[derive(Debug)]
pub(crate) enum Memory<'a, T> {
    /// The memory, and its users where it is a tensor's.
    Gpu(CudaView<'a, T>, Option<&'a Arc<Order>>),
    /// The bytes, and how many bytes behind an aligned address they begin.
    Host(&'a [u8], usize),
}

/// A tensor that is written: shape and strides over memory borrowed mutably.
#[derive(Debug)]
pub struct TensorViewMut<'a, T, const R: usize> {
    memory: MemoryMut<'a, T>,
    shape: [usize; R],
    strides: [usize; R],
}

/// As [`Memory`], to be written.
#[derive(Debug)]
pub(crate) enum MemoryMut<'a, T> {
    Gpu(CudaViewMut<'a, T>, Option<&'a Arc<Order>>),
    Host(&'a mut [u8], usize),
}

/// Work of another library on a stream, from before it is given to the stream until after.
#[doc(hidden)]
#[derive(Debug)]
#[must_use = "later users do not wait for work whose use has not ended"]
pub struct OnStream<'a>(Option<Use<'a>>);

impl OnStream<'_> {
    /// The work was given to the stream: later users wait for it.
    ///
    /// # Errors
    /// The failure of a call; the work has then been waited for.
    pub fn end(self) -> Result<()> {
        order::end_all(&self.0)
    }
}

/// What a kernel's `&LayoutTensor` argument takes: a tensor, a view, or, of rank 1, the caller's GPU memory.
#[diagnostic::on_unimplemented(
    message = "the kernel takes a tensor of `{T}` of rank {R} here, and `{Self}` is none",
    note = "a tensor is made by `device.upload(&values, [m, n])?`; its rank is the number of its extents; before the tensors `launch` takes \
            a stream, `simulate` nothing"
)]
pub trait TensorArg<T: Element, const R: usize> {
    /// The tensor, borrowed.
    fn view(&self) -> TensorView<'_, T, R>;
}

/// What a kernel's `&mut LayoutTensor` argument takes.
#[diagnostic::on_unimplemented(
    message = "the kernel writes a tensor of `{T}` of rank {R} here, and `{Self}` is none",
    note = "a tensor is made by `device.zeros::<{T}, {R}>(extents)?`; its rank is the number of its extents"
)]
pub trait TensorArgMut<T: Element, const R: usize> {
    /// The tensor, borrowed to be written.
    fn view_mut(&mut self) -> TensorViewMut<'_, T, R>;
}

impl<'a, T: Element, const R: usize> TensorView<'a, T, R> {
    /// A row-major tensor in the caller's GPU memory: `TensorView::over(slice.as_view(), [m, k])`.
    ///
    /// # Errors
    /// [`TensorError::Length`] where the shape does not have as many elements as the memory.
    pub fn over(memory: CudaView<'a, T>, shape: [usize; R]) -> Result<TensorView<'a, T, R>> {
        let strides = row_major(shape)?;
        same_length(shape, strides, memory.len())?;
        Ok(TensorView::on_gpu(memory, None, shape, strides))
    }

    /// A tensor with strides, in elements, in the caller's GPU memory.
    ///
    /// # Errors
    /// [`TensorError::Reach`] where the layout reaches past the memory's end.
    pub fn over_strided(
        memory: CudaView<'a, T>,
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<TensorView<'a, T, R>> {
        reaches(shape, strides, memory.len())?;
        Ok(TensorView::on_gpu(memory, None, shape, strides))
    }

    /// A tensor with strides, in elements, in the caller's memory on the host: for the simulator. The bytes are those of the
    /// elements, in the machine's order.
    ///
    /// # Errors
    /// [`TensorError::Reach`] where the layout reaches past the memory's end.
    ///
    /// ```
    /// use layout_cuda::TensorView;
    /// let bytes = [1.0f32, 2.0, 3.0].map(f32::to_ne_bytes).concat();
    /// let every_other = TensorView::<f32, 1>::over_host(&bytes, [2], [2])?;
    /// assert_eq!(every_other.host(), Some(&bytes[..]));
    /// assert!(TensorView::<f32, 1>::over_host(&bytes, [3], [2]).is_err());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn over_host(
        bytes: &'a [u8],
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<TensorView<'a, T, R>> {
        reaches(shape, strides, bytes.len() / size_of::<T>())?;
        Ok(TensorView::on_host(bytes, behind(bytes), shape, strides))
    }

    /// The memory on the host, as bytes from the first element on, of a tensor of the simulator; none on a GPU.
    pub fn host(&self) -> Option<&'a [u8]> {
        match &self.memory {
            Memory::Gpu(..) => None,
            Memory::Host(bytes, _) => Some(bytes),
        }
    }

    pub(crate) fn on_gpu(
        memory: CudaView<'a, T>,
        order: Option<&'a Arc<Order>>,
        shape: [usize; R],
        strides: [usize; R],
    ) -> Self {
        TensorView { memory: Memory::Gpu(memory, order), shape, strides }
    }

    pub(crate) fn on_host(bytes: &'a [u8], offset: usize, shape: [usize; R], strides: [usize; R]) -> Self {
        TensorView { memory: Memory::Host(bytes, offset), shape, strides }
    }

    /// Extents.
    pub fn shape(&self) -> [usize; R] {
        self.shape
    }

    /// Strides, in elements.
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }

    /// Elements of the memory, also those that the layout does not reach.
    pub fn len(&self) -> usize {
        match &self.memory {
            Memory::Gpu(memory, _) => memory.len(),
            Memory::Host(bytes, _) => bytes.len() / size_of::<T>(),
        }
    }

    /// Whether the memory has no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory on a GPU, from the first element on, for another library to read; none on the simulator. Where several streams
    /// read it through cudarc, cudarc's next write waits for the last of them alone.
    ///
    /// ```
    /// let tensor = layout_cuda::Device::simulator().upload(&[1.0f32; 6], [2, 3])?;
    /// assert!(tensor.view().cuda().is_none());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn cuda(&self) -> Option<&CudaView<'a, T>> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        match &self.memory {
            Memory::Gpu(memory, order) => {
                order.inspect(|order| order.lend(memory));
                Some(memory)
            }
            Memory::Host(..) => None,
        }
    }

    /// Whose streams order the memory: the context value that it was made through; none on the simulator.
    #[doc(hidden)]
    pub fn context(&self) -> Option<&Arc<CudaContext>> {
        match &self.memory {
            Memory::Gpu(memory, _) => Some(memory.stream().context()),
            Memory::Host(..) => None,
        }
    }

    /// The address, for work of another library on this stream that reads the memory, behind its writers; none on the simulator.
    /// When the work was given to the stream, [`OnStream::end`] lets later users wait for it.
    #[doc(hidden)]
    pub fn read_on<'s>(&'s self, stream: &'s Stream) -> Result<Option<(u64, OnStream<'s>)>> {
        let (Memory::Gpu(memory, order), Some(cuda)) = (&self.memory, stream.cuda()) else { return Ok(None) };
        let (address, used) = Use::read(memory, order.map(|order| &**order), cuda)?;
        Ok(Some((address, OnStream(used))))
    }

    /// As [`Tensor::part`], of what the view reaches: element 0 is its first.
    ///
    /// # Errors
    /// [`TensorError::Reach`] where the part reaches past the end of the view's memory.
    ///
    /// ```
    /// let tensor = layout_cuda::Device::simulator().upload(&[0, 1, 2, 3, 4, 5], [2, 3])?;
    /// let row = tensor.view().part(3, [3], [1])?;
    /// assert_eq!(tensor.device().stream().download(&row.part(1, [2], [1])?)?, [4, 5]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn part<const S: usize>(
        &self,
        start: usize,
        shape: [usize; S],
        strides: [usize; S],
    ) -> Result<TensorView<'a, T, S>> {
        let end = start + reach(self.len(), start, shape, strides)?;
        Ok(match &self.memory {
            Memory::Gpu(memory, order) => {
                TensorView::on_gpu(memory.slice(start..end), *order, shape, strides)
            }
            Memory::Host(bytes, offset) => {
                let (first, last) = (start * size_of::<T>(), end * size_of::<T>());
                TensorView::on_host(&bytes[first..last], offset + first, shape, strides)
            }
        })
    }

    pub(crate) fn memory(&self) -> &Memory<'a, T> {
        &self.memory
    }

    pub(crate) fn layout(&self) -> (&[usize], &[usize]) {
        (&self.shape, &self.strides)
    }

    pub(crate) fn download(&self, stream: &Stream) -> Result<Vec<T>> {
        match (&self.memory, stream.cuda()) {
            (Memory::Host(bytes, _), None) => Ok(from_bytes(bytes)),
            (Memory::Gpu(memory, order), Some(cuda))
                if memory.stream().context().cu_ctx() == cuda.context().cu_ctx() =>
            {
                transfer::download(cuda, memory, order.map(|order| &**order))
            }
            (Memory::Host(..), _) => Err(other_device("the simulator".into(), stream)),
            (Memory::Gpu(memory, _), _) => Err(other_device(gpu_name(memory), stream)),
        }
    }
}

impl<'a, T: Element, const R: usize> TensorViewMut<'a, T, R> {
    /// A row-major tensor in the caller's GPU memory: `TensorViewMut::over(slice.as_view_mut(), [m, n])`.
    ///
    /// # Errors
    /// [`TensorError::Length`] where the shape does not have as many elements as the memory.
    pub fn over(memory: CudaViewMut<'a, T>, shape: [usize; R]) -> Result<TensorViewMut<'a, T, R>> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        let strides = row_major(shape)?;
        same_length(shape, strides, memory.len())?;
        Ok(TensorViewMut::new(MemoryMut::Gpu(memory, None), shape, strides))
    }

    /// A tensor with strides, in elements, in the caller's GPU memory.
    ///
    /// # Errors
    /// [`TensorError::Reach`] where the layout reaches past the memory's end.
    pub fn over_strided(
        memory: CudaViewMut<'a, T>,
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<TensorViewMut<'a, T, R>> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        // SAFETY: every pattern is a value.
        unsafe { TensorViewMut::over_bytes_of(memory, shape, strides) }
    }

    /// As [`TensorViewMut::over_strided`], of memory that the program has no values of, such as another library's.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// - Where not every pattern of bits is a value of `T`, the memory is not read as values of `T`.
    pub unsafe fn over_bytes_of(
        memory: CudaViewMut<'a, T>,
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<TensorViewMut<'a, T, R>> {
        reaches(shape, strides, memory.len())?;
        Ok(TensorViewMut::new(MemoryMut::Gpu(memory, None), shape, strides))
    }

    /// As [`TensorView::over_host`], to be written.
    ///
    /// # Errors
    /// As there.
    pub fn over_host(
        bytes: &'a mut [u8],
        shape: [usize; R],
        strides: [usize; R],
    ) -> Result<TensorViewMut<'a, T, R>> {
        reaches(shape, strides, bytes.len() / size_of::<T>())?;
        let offset = behind(bytes);
        Ok(TensorViewMut::new(MemoryMut::Host(bytes, offset), shape, strides))
    }

    pub(crate) fn new(memory: MemoryMut<'a, T>, shape: [usize; R], strides: [usize; R]) -> Self {
        TensorViewMut { memory, shape, strides }
    }

    /// Whether two coordinates may share an element: a stride is within the reach of the smaller ones. A launch refuses to write such a view.
    ///
    /// ```
    /// let mut x = layout_cuda::Device::simulator().zeros::<f32, 1>([6])?;
    /// assert!(!x.part_mut(0, [2, 3], [3, 1])?.has_overlaps());
    /// assert!(x.part_mut(0, [2, 3], [2, 1])?.has_overlaps());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn has_overlaps(&self) -> bool {
        !self.shape.contains(&0) && layout_compiler::overlaps(&self.shape, &self.strides)
    }

    /// Extents.
    pub fn shape(&self) -> [usize; R] {
        self.shape
    }

    /// Strides, in elements.
    pub fn strides(&self) -> [usize; R] {
        self.strides
    }

    /// As [`TensorView::part`], to be written.
    ///
    /// # Errors
    /// As there.
    pub fn part_mut<const S: usize>(
        &mut self,
        start: usize,
        shape: [usize; S],
        strides: [usize; S],
    ) -> Result<TensorViewMut<'_, T, S>> {
        let end = start + reach(TensorArg::view(self).len(), start, shape, strides)?;
        let memory = match &mut self.memory {
            MemoryMut::Gpu(memory, order) => MemoryMut::Gpu(memory.slice_mut(start..end), *order),
            MemoryMut::Host(bytes, offset) => {
                let (first, last) = (start * size_of::<T>(), end * size_of::<T>());
                MemoryMut::Host(&mut bytes[first..last], *offset + first)
            }
        };
        Ok(TensorViewMut::new(memory, shape, strides))
    }

    /// The memory on a GPU, from the first element on, for another library to write, after all work on it so far; none on the
    /// simulator.
    ///
    /// ```
    /// let mut tensor = layout_cuda::Device::simulator().upload(&[1.0f32; 6], [2, 3])?;
    /// assert!(tensor.view_mut().cuda_mut().is_none());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn cuda_mut(&mut self) -> Option<&mut CudaViewMut<'a, T>> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        match &mut self.memory {
            MemoryMut::Gpu(memory, order) => {
                order.inspect(|order| order.lend_mut(memory));
                Some(memory)
            }
            MemoryMut::Host(..) => None,
        }
    }

    /// The memory on the host, as bytes from the first element on, of a tensor of the simulator, to be written; none on a GPU.
    ///
    /// ```
    /// let mut tensor = layout_cuda::Device::simulator().upload(&[1u8, 2], [2])?;
    /// tensor.view_mut().host_mut().expect("the simulator's").reverse();
    /// assert_eq!(tensor.download()?, [2, 1]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn host_mut(&mut self) -> Option<&mut [u8]> {
        match &mut self.memory {
            MemoryMut::Gpu(..) => None,
            MemoryMut::Host(bytes, _) => Some(bytes),
        }
    }

    /// As [`TensorView::read_on`], for work that writes the memory, behind all of its users.
    #[doc(hidden)]
    pub fn write_on<'s>(&'s mut self, stream: &'s Stream) -> Result<Option<(u64, OnStream<'s>)>> {
        let (MemoryMut::Gpu(memory, order), Some(cuda)) = (&mut self.memory, stream.cuda()) else {
            return Ok(None);
        };
        let (address, used) = Use::write(memory, order.map(|order| &**order), cuda)?;
        Ok(Some((address, OnStream(used))))
    }

    /// Sets the memory to zero, in this stream's order.
    ///
    /// # Errors
    /// [`TensorError::OtherDevice`], or a driver's failure.
    pub fn clear(&mut self, stream: &Stream) -> Result<()> {
        match (&mut self.memory, stream.cuda()) {
            (MemoryMut::Host(bytes, _), None) => {
                bytes.fill(0);
                Ok(())
            }
            (MemoryMut::Gpu(memory, order), Some(cuda))
                if memory.stream().context().cu_ctx() == cuda.context().cu_ctx() =>
            {
                transfer::fill(cuda, memory, order.map(|order| &**order), 0)
            }
            (MemoryMut::Host(..), _) => Err(other_device("the simulator".into(), stream)),
            (MemoryMut::Gpu(memory, _), _) => Err(other_device(gpu_name(memory), stream)),
        }
    }

    /// The memory in parts of `each` elements, without a shorter one at the end; none where `each` is 0.
    pub fn chunks_exact_mut(&mut self, each: usize) -> Vec<TensorViewMut<'_, T, 1>> {
        let part = |memory| TensorViewMut::new(memory, [each], [1]);
        let bytes = each.saturating_mul(size_of::<T>());
        match &mut self.memory {
            _ if each == 0 => Vec::new(),
            MemoryMut::Gpu(memory, order) => {
                let whole = memory.len() / each * each;
                let (memory, order) = (memory.slice_mut(..whole), *order);
                memory.chunks_exact_mut(each).map(|memory| part(MemoryMut::Gpu(memory, order))).collect()
            }
            MemoryMut::Host(memory, offset) => {
                let offset = *offset;
                let numbered = memory.chunks_exact_mut(bytes).enumerate();
                numbered.map(|(n, memory)| part(MemoryMut::Host(memory, offset + n * bytes))).collect()
            }
        }
    }

    pub(crate) fn parts(&mut self) -> (&mut MemoryMut<'a, T>, &[usize], &[usize]) {
        (&mut self.memory, &self.shape, &self.strides)
    }
}

impl<T: Element, const R: usize> Tensor<T, R> {
    /// A part of the storage as a tensor of its own: `shape` and `strides`, in elements, from element `start` on. Its
    /// rank may be another one. Its memory ends with the last element that it reaches.
    ///
    /// # Errors
    /// [`TensorError::Reach`] where the part reaches past the storage's end.
    ///
    /// ```
    /// let tensor = layout_cuda::Device::simulator().upload(&[0, 1, 2, 3, 4, 5], [2, 3])?;
    /// let column = tensor.part(1, [2], [3])?;
    /// assert_eq!((column.shape(), column.len()), ([2], 4));
    /// assert_eq!(tensor.device().stream().download(&column)?, [1, 2, 3, 4]); // from its first element to its last
    /// assert!(tensor.part(1, [2], [5]).is_err());
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    #[doc(alias("reshape", "slice", "narrow", "transpose", "permute", "view_as"))]
    pub fn part<const S: usize>(
        &self,
        start: usize,
        shape: [usize; S],
        strides: [usize; S],
    ) -> Result<TensorView<'_, T, S>> {
        self.view().part(start, shape, strides)
    }

    /// As [`Tensor::part`], to be written.
    ///
    /// # Errors
    /// As there.
    pub fn part_mut<const S: usize>(
        &mut self,
        start: usize,
        shape: [usize; S],
        strides: [usize; S],
    ) -> Result<TensorViewMut<'_, T, S>> {
        let end = start + reach(self.len(), start, shape, strides)?;
        Ok(TensorViewMut::new(self.memory_between(start, end), shape, strides))
    }
}

/// How many bytes memory begins behind an address that every vector divides.
pub(crate) fn behind(bytes: &[u8]) -> usize {
    bytes.as_ptr() as usize % 256
}

/// The name of the GPU that memory is on.
pub(crate) fn gpu_name<T>(memory: &impl DeviceSlice<T>) -> String {
    format!("GPU {}", memory.stream().context().ordinal())
}

/// How many elements from `start` on the layout reaches, if it fits into `len`.
fn reach<const S: usize>(
    len: usize,
    start: usize,
    shape: [usize; S],
    strides: [usize; S],
) -> std::result::Result<usize, TensorError> {
    let rest = len.saturating_sub(start);
    reaches(shape, strides, rest)?;
    if start > len {
        let (shape, strides) = (shape.to_vec(), strides.to_vec());
        return Err(TensorError::Reach { shape, strides, needed: start, found: len });
    }
    span(shape, strides)
}

fn same_length<const R: usize>(
    shape: [usize; R],
    strides: [usize; R],
    found: usize,
) -> std::result::Result<(), TensorError> {
    let needed = span(shape, strides)?;
    match needed == found {
        true => Ok(()),
        false => Err(TensorError::Length { shape: shape.to_vec(), needed, found }),
    }
}

#[cold]
fn other_device(tensor: String, stream: &Stream) -> crate::Error {
    TensorError::OtherDevice { tensor, stream: stream.device().short_name() }.into()
}

impl<T: Element, const R: usize> TensorArg<T, R> for Tensor<T, R> {
    fn view(&self) -> TensorView<'_, T, R> {
        Tensor::view(self)
    }
}

impl<T: Element, const R: usize> TensorArgMut<T, R> for Tensor<T, R> {
    fn view_mut(&mut self) -> TensorViewMut<'_, T, R> {
        Tensor::view_mut(self)
    }
}

impl<T: Element, const R: usize> TensorArg<T, R> for TensorView<'_, T, R> {
    fn view(&self) -> TensorView<'_, T, R> {
        match &self.memory {
            Memory::Gpu(memory, order) => {
                TensorView::on_gpu(memory.slice(..), *order, self.shape, self.strides)
            }
            Memory::Host(bytes, offset) => TensorView::on_host(bytes, *offset, self.shape, self.strides),
        }
    }
}

impl<T: Element, const R: usize> TensorArg<T, R> for TensorViewMut<'_, T, R> {
    fn view(&self) -> TensorView<'_, T, R> {
        match &self.memory {
            MemoryMut::Gpu(memory, order) => {
                TensorView::on_gpu(memory.as_view(), *order, self.shape, self.strides)
            }
            MemoryMut::Host(bytes, offset) => TensorView::on_host(bytes, *offset, self.shape, self.strides),
        }
    }
}

impl<T: Element, const R: usize> TensorArgMut<T, R> for TensorViewMut<'_, T, R> {
    fn view_mut(&mut self) -> TensorViewMut<'_, T, R> {
        let memory = match &mut self.memory {
            MemoryMut::Gpu(memory, order) => MemoryMut::Gpu(memory.slice_mut(..), *order),
            MemoryMut::Host(bytes, offset) => MemoryMut::Host(bytes, *offset),
        };
        TensorViewMut::new(memory, self.shape, self.strides)
    }
}

impl<T: Element> TensorArg<T, 1> for CudaSlice<T> {
    fn view(&self) -> TensorView<'_, T, 1> {
        TensorView::on_gpu(self.as_view(), None, [self.len()], [1])
    }
}

impl<T: Element> TensorArgMut<T, 1> for CudaSlice<T> {
    fn view_mut(&mut self) -> TensorViewMut<'_, T, 1> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        let len = self.len();
        TensorViewMut::new(MemoryMut::Gpu(self.as_view_mut(), None), [len], [1])
    }
}

impl<T: Element> TensorArg<T, 1> for CudaView<'_, T> {
    fn view(&self) -> TensorView<'_, T, 1> {
        TensorView::on_gpu(self.slice(..), None, [self.len()], [1])
    }
}

impl<T: Element> TensorArgMut<T, 1> for CudaViewMut<'_, T> {
    fn view_mut(&mut self) -> TensorViewMut<'_, T, 1> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        let len = self.len();
        TensorViewMut::new(MemoryMut::Gpu(self.slice_mut(..), None), [len], [1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::devices;
    use crate::{Device, Error};

    #[test]
    fn parts_share_memory() {
        for device in devices() {
            let mut tensor = device.upload(&[0, 1, 2, 3, 4, 5, 6], [7]).expect("a tensor");
            let stream = device.stream();
            let part = tensor.part(1, [2, 2], [3, 1]).expect("a part");
            // A part of a part, and one that only the tensor would hold.
            let row = part.part(3, [2], [1]).expect("the second row");
            assert_eq!(stream.download(&row).expect("two"), [4, 5]);
            assert!(part.part(3, [3], [1]).is_err() && part.part(6, [0], [1]).is_err());
            // From its first element to its last: neither what is before nor what is after.
            assert_eq!((part.shape(), part.strides(), part.len()), ([2, 2], [3, 1], 5));
            assert_eq!(stream.download(&part).expect("data"), [1, 2, 3, 4, 5]);
            assert_eq!(stream.download(&part.view()).expect("data"), [1, 2, 3, 4, 5]);
            let mut part = tensor.part_mut(3, [2], [1]).expect("a part");
            assert_eq!(stream.download(&part).expect("data"), [3, 4]);
            assert_eq!(part.view_mut().shape(), [2]);
            // Parts of parts.
            let mut view = tensor.view_mut();
            let mut later = view.part_mut(2, [5], [1]).expect("a part");
            let last = later.part_mut(3, [2], [1]).expect("a part of it");
            assert_eq!(stream.download(&last).expect("data"), [5, 6]);
            assert!(later.part_mut(3, [3], [1]).is_err());
            let chunks = later.chunks_exact_mut(2);
            let chunks = chunks.iter().map(|chunk| stream.download(chunk).expect("data"));
            assert_eq!(chunks.collect::<Vec<_>>(), [[2, 3], [4, 5]]);
            assert!(later.chunks_exact_mut(0).is_empty());
            let part = later.view().part(1, [2], [2]).expect("a part of it");
            assert_eq!(stream.download(&part).expect("data"), [3, 4, 5]);
            later.part_mut(1, [2], [1]).expect("a part").clear(&stream).expect("zeros");
            assert_eq!(tensor.download().expect("data"), [0, 1, 2, 0, 0, 5, 6]);
            assert_eq!(tensor.part::<1>(7, [0], [1]).expect("an empty part").len(), 0);
        }
    }

    #[test]
    fn parts_stay_inside() {
        for device in devices() {
            let mut tensor = device.upload(&[0u8; 7], [7]).expect("a tensor");
            let cases: [(usize, [usize; 1], [usize; 1]); 4] =
                [(0, [8], [1]), (1, [7], [1]), (0, [3], [4]), (8, [0], [1])];
            for (start, shape, strides) in cases {
                let error = tensor.part(start, shape, strides).expect_err("past the end");
                assert!(matches!(error, Error::Tensor(TensorError::Reach { .. })), "{error}");
                assert!(tensor.part_mut(start, shape, strides).is_err());
            }
            assert!(tensor.part(usize::MAX, [1], [1]).is_err());
            assert!(tensor.part(1, [usize::MAX], [usize::MAX]).is_err());
        }
    }

    #[test]
    fn another_device_is_refused() {
        let simulator = Device::simulator().upload(&[1u8], [1]).expect("a tensor");
        for device in devices().into_iter().filter(|device| !device.is_simulator()) {
            let error = device.stream().download(&simulator).expect_err("on the host");
            assert!(matches!(error, Error::Tensor(TensorError::OtherDevice { .. })), "{error}");
            let there = device.upload(&[1u8], [1]).expect("a tensor");
            let error = Device::simulator().stream().download(&there).expect_err("on the GPU");
            assert!(matches!(error, Error::Tensor(TensorError::OtherDevice { .. })), "{error}");
        }
    }
}
