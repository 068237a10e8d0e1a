//! Products of 8-bit floats with a scale for each 128 of `k` of a row of A, and for each 128 x 128 of B.
//!
//! Law: `c[i, j] = sum over t of a_scales[i, t] b_scales[t, j / 128] (a[i, 128 t..] b[128 t.., j])`, `t` over blocks of 128 of `k`, the last of
//! which may be a part; the sums of blocks are added in float32, in their order, and rounded once.

use super::description::{Machine, Matrix, Precision, Product};
use super::plan::{Place, Plan};
use super::workspace::{Workspace, operands};
use super::{Kernel, agree};
use crate::kernels::blockwise::gemm_blockwise;
use crate::{Real, is_unaligned, same};
use layout_cuda::{E4m3, Elem, Error, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorArgMut};

/// Numbers of a row of A, and rows and columns of B, that share a scale.
pub const BLOCK: usize = 128;

/// A matrix of 8-bit floats, and the scales of its blocks.
#[derive(Clone, Copy, Debug)]
pub struct Scaled<A, S> {
    /// The numbers before they are scaled.
    pub matrix: A,
    /// Of A a scale for each row and 128 of `k`, M x K / 128; of B one for each 128 of `k` and 128 columns, K / 128 x N / 128, both rounded
    /// up. In float32, in any strides.
    pub scales: S,
}

/// `c = a b`, where A and B are `e4m3` with scales of 1 x 128 of A and 128 x 128 of B, C is `bf16` or `f16`; on Hopper. Asynchronous.
///
/// A is best by rows and B by columns, each line at a multiple of 16 bytes: another one is moved to the workspace first. No extent need
/// be a multiple of anything. An empty K gives zeros. On Hopper the sum of a block of 128 keeps 13 bits or more; the rest is float32.
/// [`matmul_block_scaled`](crate::matmul_block_scaled) is the same without a workspace.
///
/// # Errors
/// Shapes that disagree, scales of another shape, a C by columns or of `f32`, a card that is no Hopper, a device without memory for what
/// is moved, and those of a launch. Nothing has run where the arguments do not fit.
///
/// ```
/// use layout_cuda::{Device, E4m3, bf16};
/// use layout_kernels::product::{Scaled, Workspace, multiply_block_scaled};
///
/// let (device, one) = (Device::simulator(), E4m3::from_f32(1.0));
/// let (a, b) = (device.upload(&[one; 2 * 130], [2, 130])?, device.upload_strided(&[one; 130 * 3], [130, 3], [1, 130])?);
/// // 128 ones and 2 ones; the second block counts a hundredfold.
/// let a_scales = device.upload(&[1.0f32, 100.0, 2.0, 200.0], [2, 2])?;
/// let b_scales = device.upload(&[0.5f32, 0.5], [2, 1])?;
/// let mut c = device.zeros::<bf16, 2>([2, 3])?;
/// let (a, b) = (Scaled { matrix: &a, scales: &a_scales }, Scaled { matrix: &b, scales: &b_scales });
/// multiply_block_scaled(&device.stream(), &mut Workspace::default(), a, b, &mut c)?;
/// assert_eq!(c.download()?.iter().map(|sum| sum.to_f32()).collect::<Vec<_>>(), [164.0, 164.0, 164.0, 328.0, 328.0, 328.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn multiply_block_scaled<U: Real>(
    stream: &Stream,
    workspace: &mut Workspace<E4m3, U>,
    a: Scaled<&impl TensorArg<E4m3, 2>, &impl TensorArg<f32, 2>>,
    b: Scaled<&impl TensorArg<E4m3, 2>, &impl TensorArg<f32, 2>>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    let (of_a, of_b, mut c) = (a.matrix.view(), b.matrix.view(), c.view_mut());
    let product = Product {
        a: Matrix::of(&of_a),
        b: Matrix::of(&of_b),
        c: Matrix::of(&c.view()),
        operand: Elem::E4m3,
        result: U::ELEM,
        precision: Precision::Float32,
    };
    agree(&product)?;
    let ([m, n, k], name) = (product.extents(), "matmul_block_scaled");
    let (a_scales, b_scales) = (a.scales.view(), b.scales.view());
    let (blocks, wide) = (k.div_ceil(BLOCK), n.div_ceil(BLOCK));
    same(name, "a.scales", 0, a_scales.shape()[0], ("M", "a"), m)?;
    same(name, "a.scales", 1, a_scales.shape()[1], ("K / 128", "a"), blocks)?;
    same(name, "b.scales", 0, b_scales.shape()[0], ("K / 128", "a"), blocks)?;
    same(name, "b.scales", 1, b_scales.shape()[1], ("N / 128", "b"), wide)?;
    let machine = Machine::of(stream.device());
    // Where the operands have to be is what it is without scales. All of C is one launch, and the threads store a C that TMA cannot.
    let plan = Plan::of(&product, machine, Some(Kernel::Gemm), None);
    let direct = !(c.strides()[0].is_multiple_of(8) && n.is_multiple_of(8));
    let set = ParamSet::default()
        .with("T", ParamValue::Type(Elem::E4m3))
        .with("U", ParamValue::Type(U::ELEM))
        .with("SMS", ParamValue::Int(machine.multiprocessors as i64))
        .with("DIRECT", ParamValue::Bool(direct));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let Workspace { a: own_a, b: own_b, .. } = workspace;
    let mut launch = |places: [Place; 2], config: LaunchConfig<'_>| {
        let whole =
            [of_a.part(0, of_a.shape(), of_a.strides())?, of_b.part(0, of_b.shape(), of_b.strides())?];
        let [of_a, of_b] = operands(stream, places, whole, [own_a, own_b])?;
        let (of_a, of_b) = (of_a.part([0..m, 0..k])?, of_b.part([0..k, 0..n])?);
        gemm_blockwise::launch_with(config, stream, &of_a, &of_b, &a_scales, &b_scales, &mut c)
    };
    let done = launch([plan.a, plan.b], config);
    if !is_unaligned(&done) {
        return done;
    }
    let (moved, set) = (plan.moved(&product), set.clone().with("DIRECT", ParamValue::Bool(true)));
    launch([moved.a, moved.b], LaunchConfig { set: Some(&set), ..LaunchConfig::default() })
}
