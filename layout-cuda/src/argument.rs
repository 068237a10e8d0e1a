//! Arguments of a launch without their Rust types: the generated functions pass them to [`crate::launch()`], and so does a
//! program whose types and ranks come from outside, such as Python.
//!
//! Law: an argument reaches no further than its memory, and only one made of memory to be written is ever written.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};
use layout_compiler::{Constant, Elem, LaunchArgument};

use crate::element::Element;
use crate::error::Result;
use crate::order::Order;
use crate::shape::reaches;
use crate::tensor::TensorError;
use crate::view::{Memory, MemoryMut, TensorView, TensorViewMut, behind};

/// One argument of one launch.
#[derive(Debug)]
pub struct Argument<'a>(pub(crate) Kind<'a>);

#[derive(Debug)]
pub(crate) enum Kind<'a> {
    Tensor { elem: Elem, shape: &'a [usize], strides: &'a [usize], len: usize, bytes: Bytes<'a> },
    Scalar(Constant),
    Index(i64),
}

/// The bytes of a tensor whose element type is known at run time only, from its first element on. Slices become such bytes:
/// `TensorBytes::from(&[1.0f32][..])`; those to be written are of types that have a value for every pattern of bits
/// ([`Element::ANY_BITS`]), or that does not compile.
#[derive(Debug)]
pub enum TensorBytes<'a> {
    /// On a GPU, to be read.
    Gpu(CudaView<'a, u8>),
    /// On a GPU, to be written.
    GpuMut(CudaViewMut<'a, u8>),
    /// On the host, for the simulator, to be read.
    Host(&'a [u8]),
    /// On the host, to be written.
    HostMut(&'a mut [u8]),
}

impl<'a, T: Element> From<CudaView<'a, T>> for TensorBytes<'a> {
    fn from(memory: CudaView<'a, T>) -> TensorBytes<'a> {
        // SAFETY: every byte of an element's memory is a `u8`, and the length is the memory's own.
        let bytes = unsafe { memory.transmute(memory.len() * size_of::<T>()) };
        TensorBytes::Gpu(bytes.expect("as many bytes as the memory has"))
    }
}

impl<'a, T: Element> From<&'a mut CudaSlice<T>> for TensorBytes<'a> {
    fn from(memory: &'a mut CudaSlice<T>) -> TensorBytes<'a> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        let bytes = memory.len() * size_of::<T>();
        // SAFETY: as above; what a kernel leaves there is a value, whatever its bits are.
        let bytes = unsafe { memory.transmute_mut(bytes) };
        TensorBytes::GpuMut(bytes.expect("as many bytes as the memory has"))
    }
}

impl<'a, T: Element> From<&'a [T]> for TensorBytes<'a> {
    fn from(memory: &'a [T]) -> TensorBytes<'a> {
        // SAFETY: an element has no padding, and so many bytes are the slice's.
        let bytes = unsafe { std::slice::from_raw_parts(memory.as_ptr().cast(), size_of_val(memory)) };
        TensorBytes::Host(bytes)
    }
}

impl<'a, T: Element> From<&'a mut [T]> for TensorBytes<'a> {
    fn from(memory: &'a mut [T]) -> TensorBytes<'a> {
        const { assert!(T::ANY_BITS, "a kernel may leave what is no value of the type") };
        let bytes = size_of_val(memory);
        // SAFETY: as above, borrowed mutably; every pattern that is left there is a value.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast(), bytes) };
        TensorBytes::HostMut(bytes)
    }
}

/// The memory of a tensor, as bytes, and its users where it is one of ours. `Host` ones begin so many bytes behind an aligned address.
#[derive(Debug)]
pub(crate) enum Bytes<'a> {
    Gpu(CudaView<'a, u8>, Option<&'a Arc<Order>>),
    GpuMut(CudaViewMut<'a, u8>, Option<&'a Arc<Order>>),
    Host(&'a [u8], usize),
    HostMut(&'a mut [u8], usize),
}

impl<'a> Argument<'a> {
    /// What it is to the plan, without a tensor's address: the choice of a parameter set looks at type and shape.
    #[inline]
    pub(crate) fn face(&self) -> LaunchArgument<'a> {
        match &self.0 {
            Kind::Tensor { elem, shape, strides, len, .. } => {
                LaunchArgument::Tensor { elem: *elem, shape, strides, address: 0, len: *len }
            }
            Kind::Scalar(constant) => LaunchArgument::Scalar(constant.elem, constant.bits),
            Kind::Index(value) => LaunchArgument::Index(*value),
        }
    }
}

impl<'a> Argument<'a> {
    /// A tensor that the kernel reads.
    pub fn read<T: Element, const R: usize>(view: &'a TensorView<'_, T, R>) -> Argument<'a> {
        let (shape, strides) = view.layout();
        let bytes = match view.memory() {
            Memory::Gpu(memory, order) => {
                // SAFETY: every byte of an element's memory is a `u8`, and the length is the memory's own.
                let bytes = unsafe { memory.transmute(memory.len() * size_of::<T>()) };
                Bytes::Gpu(bytes.expect("as many bytes as the memory has"), *order)
            }
            Memory::Host(bytes, offset) => Bytes::Host(bytes, *offset),
        };
        Argument(Kind::Tensor { elem: T::ELEM, shape, strides, len: view.len(), bytes })
    }

    /// A tensor that the kernel writes, and may read.
    pub fn write<T: Element, const R: usize>(view: &'a mut TensorViewMut<'_, T, R>) -> Argument<'a> {
        let (memory, shape, strides) = view.parts();
        let (len, bytes) = match memory {
            MemoryMut::Gpu(memory, order) => {
                let len = memory.len();
                // SAFETY: as above. The kernel leaves elements behind: where not every pattern is a value of `T`, the
                // memory is read back as bytes.
                let bytes = unsafe { memory.transmute_mut(len * size_of::<T>()) };
                (len, Bytes::GpuMut(bytes.expect("as many bytes as the memory has"), *order))
            }
            MemoryMut::Host(bytes, offset) => (bytes.len() / size_of::<T>(), Bytes::HostMut(bytes, *offset)),
        };
        Argument(Kind::Tensor { elem: T::ELEM, shape, strides, len, bytes })
    }

    /// A tensor whose element type and rank are known at run time only; strides in elements.
    ///
    /// ```
    /// use layout_cuda::{Argument, Device, Elem, LaunchConfig, TensorBytes, launch_slice, tiled_kernel};
    ///
    /// #[tiled_kernel(block = [32], grid = [1])]
    /// fn doubled<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    ///     if thread_idx.x < N {
    ///         x[[thread_idx.x]] = 2.0 * x[[thread_idx.x]];
    ///     }
    /// }
    ///
    /// let mut memory = [1.5f32, 2.0];
    /// let x = Argument::tensor(Elem::F32, &[2], &[1], TensorBytes::from(&mut memory[..]))?;
    /// launch_slice(&doubled::DEFINITION, &Device::simulator().stream(), LaunchConfig::default(), &mut [x])?;
    /// assert_eq!(memory, [3.0, 4.0]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`TensorError::Modes`] where shape and strides are of different rank, [`TensorError::Reach`] where they reach past the
    /// memory's end.
    pub fn tensor(
        elem: Elem,
        shape: &'a [usize],
        strides: &'a [usize],
        bytes: TensorBytes<'a>,
    ) -> Result<Argument<'a>> {
        if shape.len() != strides.len() {
            return Err(TensorError::Modes { shape: shape.to_vec(), strides: strides.to_vec() }.into());
        }
        let (len, bytes) = match bytes {
            TensorBytes::Gpu(memory) => (memory.len(), Bytes::Gpu(memory, None)),
            TensorBytes::GpuMut(memory) => (memory.len(), Bytes::GpuMut(memory, None)),
            TensorBytes::Host(bytes) => (bytes.len(), Bytes::Host(bytes, behind(bytes))),
            TensorBytes::HostMut(bytes) => {
                let offset = behind(bytes);
                (bytes.len(), Bytes::HostMut(bytes, offset))
            }
        };
        let len = len / elem.bytes() as usize;
        reaches(shape, strides, len)?;
        Ok(Argument(Kind::Tensor { elem, shape, strides, len, bytes }))
    }

    /// A scalar whose type is known at run time only.
    pub fn constant(constant: Constant) -> Argument<'a> {
        Argument(Kind::Scalar(constant))
    }

    /// Whether it is a tensor that may not be written.
    pub(crate) fn is_read(&self) -> bool {
        matches!(&self.0, Kind::Tensor { bytes: Bytes::Gpu(..) | Bytes::Host(..), .. })
    }

    /// A scalar of an element type.
    pub fn scalar<T: Element>(value: T) -> Argument<'a> {
        Argument(Kind::Scalar(value.constant()))
    }

    /// A `usize` or `isize`. One beyond 64 signed bits counts as the largest, which every launch refuses.
    pub fn index(value: impl TryInto<i64>) -> Argument<'a> {
        Argument(Kind::Index(value.try_into().unwrap_or(i64::MAX)))
    }
}
