//! The arguments of a launch, their Rust types taken off: what the generated functions hand to [`crate::launch()`].

use cudarc::driver::{CudaView, CudaViewMut};
use layout_core::kernel::{Constant, Elem, LaunchArgument};

use crate::element::Element;
use crate::view::{Memory, MemoryMut, TensorView, TensorViewMut};

/// One argument of one launch.
#[derive(Debug)]
pub struct Argument<'a>(pub(crate) Kind<'a>);

#[derive(Debug)]
pub(crate) enum Kind<'a> {
    Tensor { elem: Elem, shape: &'a [usize], strides: &'a [usize], len: usize, bytes: Bytes<'a> },
    Scalar(Constant),
    Index(i64),
}

/// The memory of a tensor, as bytes. `Host` ones begin so many bytes behind an aligned address.
#[derive(Debug)]
pub(crate) enum Bytes<'a> {
    Gpu(CudaView<'a, u8>),
    GpuMut(CudaViewMut<'a, u8>),
    Host(&'a [u8], usize),
    HostMut(&'a mut [u8], usize),
}

impl Argument<'_> {
    /// What the choice of a parameter set looks at: type and shape.
    pub(crate) fn face(&self) -> LaunchArgument<'_> {
        match &self.0 {
            Kind::Tensor { elem, shape, strides, .. } => {
                LaunchArgument::Tensor { elem: *elem, shape, strides, address: 0, len: 0 }
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
            Memory::Gpu(memory) => {
                // SAFETY: every byte of an element's memory is a `u8`, and the length is the memory's own.
                let bytes = unsafe { memory.transmute(memory.len() * size_of::<T>()) };
                Bytes::Gpu(bytes.expect("as many bytes as the memory has"))
            }
            Memory::Host(bytes, offset) => Bytes::Host(bytes, *offset),
        };
        Argument(Kind::Tensor { elem: T::ELEM, shape, strides, len: view.len(), bytes })
    }

    /// A tensor that the kernel writes, and may read.
    pub fn write<T: Element, const R: usize>(view: &'a mut TensorViewMut<'_, T, R>) -> Argument<'a> {
        let (memory, shape, strides) = view.parts();
        let (len, bytes) = match memory {
            MemoryMut::Gpu(memory) => {
                let len = memory.len();
                // SAFETY: as above. The kernel leaves elements behind: where not every pattern is a value of `T`, the
                // memory is read back as bytes.
                let bytes = unsafe { memory.transmute_mut(len * size_of::<T>()) };
                (len, Bytes::GpuMut(bytes.expect("as many bytes as the memory has")))
            }
            MemoryMut::Host(bytes, offset) => (bytes.len() / size_of::<T>(), Bytes::HostMut(bytes, *offset)),
        };
        Argument(Kind::Tensor { elem: T::ELEM, shape, strides, len, bytes })
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
