//! What an operation of candle's is, and the traits by which candle calls it.
//!
//! Law: what is launched is reported before anything is allocated; one tensor comes out.

use candle_core::{CpuStorage, CudaStorage, CustomOp1, CustomOp2, CustomOp3, DType, Layout, Result, Shape};
use layout_cuda::{Argument, Definition, Device, Elem, ParamSet};

/// An operation: which launch its operands become.
///
/// ```
/// use candle_core::{DType, Device, Result, Tensor};
/// use layout_candle::{Call, Launched, Operand, Operation, Slot};
/// use layout_cuda::{Argument, ParamSet, tiled_kernel};
///
/// #[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
/// fn scaled<const N: usize>(
///     x: &LayoutTensor<f32, RowMajor<N>>,
///     y: &mut LayoutTensor<f32, RowMajor<N>>,
///     factor: f32,
/// ) {
///     let i = 64 * block_idx.x + thread_idx.x;
///     if i < N {
///         y[[i]] = factor * x[[i]];
///     }
/// }
///
/// struct Scaled(f32);
///
/// impl Operation for Scaled {
///     fn call(&self, operands: &[Operand<'_>], _: &layout_cuda::Device) -> Result<Call> {
///         let arguments = vec![Slot::Operand(0), Slot::Output, Slot::Value(Argument::scalar(self.0))];
///         let output = (DType::F32, operands[0].layout.shape().clone());
///         Ok(Call { kernel: &scaled::DEFINITION, set: ParamSet::default(), arguments, output })
///     }
///     fn name(&self) -> &'static str {
///         "scaled"
///     }
/// }
///
/// let x = Tensor::new(&[1f32, 2., 3.], &Device::Cpu)?;
/// assert_eq!(x.apply_op1(Launched(Scaled(2.0)))?.to_vec1::<f32>()?, [2., 4., 6.]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub trait Operation {
    /// The name that candle's errors have.
    fn name(&self) -> &'static str;

    /// The launch on operands of these types and layouts.
    ///
    /// # Errors
    /// Operands that the operation does not take. What the kernel's own shapes say of them is reported by the launch.
    fn call(&self, operands: &[Operand<'_>], device: &Device) -> Result<Call>;
}

/// What an operand is, without its elements.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The type of its elements.
    pub dtype: DType,
    /// Shape, strides and offset.
    pub layout: &'a Layout,
}

/// One launch.
#[derive(Debug)]
pub struct Call {
    /// The kernel.
    pub kernel: &'static Definition,
    /// The parameters that are chosen; of the others the kernel's attribute says.
    pub set: ParamSet,
    /// What each argument of the kernel is.
    pub arguments: Vec<Slot>,
    /// The tensor that comes out, by rows. The kernel has to write all of it: on a GPU its memory is not set before, and an
    /// element that is left out is whatever the memory held.
    pub output: (DType, Shape),
}

/// An argument of a kernel.
#[derive(Debug)]
pub enum Slot {
    /// An operand, read where it is.
    Operand(usize),
    /// The tensor that comes out.
    Output,
    /// One that the kernel writes and nobody reads, by rows.
    Scratch(DType, Vec<usize>),
    /// A tensor of so many modes without elements, for what a variant does not read.
    Nothing(Elem, usize),
    /// A number.
    Value(Argument<'static>),
}

/// An operation as candle takes it: `x.apply_op1(Launched(operation))`. It has no gradient: a backward pass through it is candle's
/// error.
#[derive(Clone, Copy, Debug)]
pub struct Launched<T>(pub T);

#[cfg(feature = "cuda")]
use crate::launch::launch as launch_cuda;

/// Built without `cuda`, there is no tensor of a GPU.
#[cfg(not(feature = "cuda"))]
fn launch_cuda(_: &impl Operation, _: &[(&CudaStorage, &Layout)]) -> Result<(CudaStorage, Shape)> {
    Err(candle_core::Error::NotCompiledWithCudaSupport)
}

impl<T: Operation> CustomOp1 for Launched<T> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn cpu_fwd(&self, a: &CpuStorage, at: &Layout) -> Result<(CpuStorage, Shape)> {
        crate::launch::launch(&self.0, &[(a, at)])
    }

    fn cuda_fwd(&self, a: &CudaStorage, at: &Layout) -> Result<(CudaStorage, Shape)> {
        launch_cuda(&self.0, &[(a, at)])
    }
}

impl<T: Operation> CustomOp2 for Launched<T> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        at: &Layout,
        b: &CpuStorage,
        bt: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        crate::launch::launch(&self.0, &[(a, at), (b, bt)])
    }

    fn cuda_fwd(
        &self,
        a: &CudaStorage,
        at: &Layout,
        b: &CudaStorage,
        bt: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        launch_cuda(&self.0, &[(a, at), (b, bt)])
    }
}

impl<T: Operation> CustomOp3 for Launched<T> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        at: &Layout,
        b: &CpuStorage,
        bt: &Layout,
        c: &CpuStorage,
        ct: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        crate::launch::launch(&self.0, &[(a, at), (b, bt), (c, ct)])
    }

    fn cuda_fwd(
        &self,
        a: &CudaStorage,
        at: &Layout,
        b: &CudaStorage,
        bt: &Layout,
        c: &CudaStorage,
        ct: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        launch_cuda(&self.0, &[(a, at), (b, bt), (c, ct)])
    }
}
