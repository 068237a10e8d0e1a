//! Products with weights, and what is done to the sums before they are rounded: `x Wᵀ` of bf16 or f16, on the matrix units.

use crate::operation::{Call, Launched, Operand, Operation, Slot};
use candle_core::{D, DType, Layout, Result, Shape, Tensor, bail};
use layout_cuda::{Argument, Definition, Elem, ParamSet};
use layout_kernels::kernels::gemm::gemm_then;
use layout_kernels::kernels::gemm_mma::gemm_mma_then;
use layout_kernels::product::{Kernel, Machine, Matrix, Place, Plan, Precision, Product, epilogue_set};

/// `a b`, of matrices that are by rows or by columns.
#[derive(Clone, Copy, Debug)]
pub struct MatMul;

/// What is done to each sum, with the third operand's element at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// `gelu(sum + bias[column])`, by the tangent.
    BiasGelu,
    /// `sum + other`
    Plus,
    /// `silu(sum) other`
    SiluTimes,
}

/// `then(a b, c)`: a vector over columns as `c` of [`Then::BiasGelu`], a matrix of the others.
#[derive(Clone, Copy, Debug)]
pub struct MatMulThen(pub Then);

/// A matrix as the chooser of kernels sees it.
fn matrix(name: &str, layout: &Layout) -> Result<Matrix> {
    match (layout.dims(), layout.stride()) {
        (&[rows, columns], &[down, along]) if down == 1 || along == 1 => {
            Ok(Matrix { shape: [rows, columns], strides: [down, along] })
        }
        _ => bail!("{name} of {layout:?} is no matrix with contiguous rows or columns"),
    }
}

/// How a product is made, and the shape that comes out. What TMA cannot address is refused, since nothing is moved here.
fn planned(
    operands: &[Operand<'_>],
    device: &layout_cuda::Device,
    kernel: Option<Kernel>,
) -> Result<(Product, Plan)> {
    let (a, b) = (matrix("a", operands[0].layout)?, matrix("b", operands[1].layout)?);
    let operand = match operands[0].dtype {
        DType::BF16 => Elem::Bf16,
        DType::F16 => Elem::F16,
        other => bail!("the matrix units multiply bf16 and f16, not {other:?}"),
    };
    if operands[1].dtype != operands[0].dtype {
        bail!("a is of {:?}, b of {:?}", operands[0].dtype, operands[1].dtype);
    }
    if a.shape[1] != b.shape[0] {
        bail!("a has {} columns, b {} rows", a.shape[1], b.shape[0]);
    }
    let shape = [a.shape[0], b.shape[1]];
    let c = Matrix { shape, strides: [shape[1].max(1), 1] };
    let product = Product { a, b, c, operand, result: operand, precision: Precision::Float32 };
    let plan = Plan::of(&product, Machine::of(device), kernel, None);
    if [plan.a, plan.b].iter().any(|place| *place != Place::Here) {
        bail!("lines of {a:?} and of {b:?} have to begin at multiples of 16 bytes: pad them");
    }
    Ok((product, plan))
}

impl Operation for MatMul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn call(&self, operands: &[Operand<'_>], device: &layout_cuda::Device) -> Result<Call> {
        let (mut product, mut plan) = planned(operands, device, None)?;
        if plan.parts.len() != 1 || plan.c != Place::Here {
            (product, plan) = planned(operands, device, Some(Kernel::Gemm))?;
        }
        let one = |plan: Plan| match (plan.c, <[_; 1]>::try_from(plan.parts)) {
            (Place::Here, Ok([part])) => Ok((part.kernel.definition(), part.set.unwrap_or_default())),
            _ => bail!(
                "a product of {:?} is more than one launch: pad its columns to a multiple of 8",
                product.extents()
            ),
        };
        let (kernel, set): (&'static Definition, ParamSet) = one(plan)?;
        let arguments = vec![Slot::Operand(0), Slot::Operand(1), Slot::Output];
        Ok(Call { kernel, set, arguments, output: (operands[0].dtype, Shape::from(&product.c.shape[..])) })
    }
}

impl Operation for MatMulThen {
    fn name(&self) -> &'static str {
        "matmul_then"
    }

    fn call(&self, operands: &[Operand<'_>], device: &layout_cuda::Device) -> Result<Call> {
        let machine = Machine::of(device);
        let kernel = Kernel::with_epilogues(machine);
        let (product, _) = planned(operands, device, Some(kernel))?;
        let shape @ [_, n] = product.c.shape;
        let (third, dtype) = (operands[2], operands[0].dtype);
        if third.dtype != dtype {
            bail!("a is of {dtype:?}, what is done with the sums reads {:?}", third.dtype);
        }
        let wanted: &[usize] = if self.0 == Then::BiasGelu { &[n] } else { &shape };
        if third.layout.dims() != wanted {
            bail!("sums of {shape:?} want an operand of {wanted:?}, not of {:?}", third.layout.dims());
        }
        let elem = product.operand;
        let (name, columns, beside) = match self.0 {
            Then::BiasGelu => ("bias_gelu", Slot::Operand(2), Slot::Nothing(elem, 2)),
            Then::Plus => ("plus", Slot::Nothing(elem, 1), Slot::Operand(2)),
            Then::SiluTimes => ("silu_times", Slot::Nothing(elem, 1), Slot::Operand(2)),
        };
        let modes = [product.a.along(), product.b.along()];
        // TMA stores whole 16 bytes only.
        let set = epilogue_set(kernel, name, [elem; 3], modes, !n.is_multiple_of(8), machine);
        let kernel = match kernel {
            Kernel::GemmMma => &gemm_mma_then::DEFINITION,
            _ => &gemm_then::DEFINITION,
        };
        let arguments = vec![
            Slot::Operand(0),
            Slot::Operand(1),
            columns,
            Slot::Nothing(Elem::F32, 1),
            beside,
            Slot::Output,
            Slot::Value(Argument::scalar(1.0f32)),
        ];
        Ok(Call { kernel, set, arguments, output: (dtype, Shape::from(&shape[..])) })
    }
}

/// The rows of a tensor of any rank, and the shape of the result with `n` columns.
fn rows(x: &Tensor, n: usize) -> Result<(Tensor, Vec<usize>)> {
    let mut shape = x.dims().to_vec();
    let Some(last) = shape.last_mut() else { bail!("a product wants at least one mode") };
    let k = std::mem::replace(last, n);
    Ok((x.reshape(((), k))?, shape))
}

/// `x weightᵀ` of (.., k) and (n, k): `candle_nn::Linear` without a bias. bf16 or f16, sums in float32.
///
/// # Errors
/// Other types, shapes that disagree, lines that do not begin at multiples of 16 bytes, and those of a launch.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
///
/// let x = Tensor::ones((2, 3, 64), DType::BF16, &Device::Cpu)?;
/// let weight = Tensor::ones((16, 64), DType::BF16, &Device::Cpu)?;
/// let y = layout_candle::linear(&x, &weight)?;
/// assert_eq!((y.dims(), y.max_all()?.to_dtype(DType::F32)?.to_scalar::<f32>()?), (&[2, 3, 16][..], 64.0));
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn linear(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let (rows, shape) = rows(x, weight.dim(0)?)?;
    rows.apply_op2(&weight.t()?, Launched(MatMul))?.reshape(shape)
}

/// `then(x weightᵀ, other)`, in one launch; `other` is a vector over columns or has the result's shape.
///
/// # Errors
/// As [`linear`].
///
/// ```
/// use candle_core::{DType, Device, Tensor};
/// use layout_candle::{Then, linear_then};
///
/// let x = Tensor::ones((2, 64), DType::BF16, &Device::Cpu)?;
/// let weight = Tensor::ones((16, 64), DType::BF16, &Device::Cpu)?;
/// let other = Tensor::full(2f32, (2, 16), &Device::Cpu)?.to_dtype(DType::BF16)?;
/// let y = linear_then(&x, &weight, Then::Plus, &other)?;
/// assert_eq!(y.max_all()?.to_dtype(DType::F32)?.to_scalar::<f32>()?, 66.0);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn linear_then(x: &Tensor, weight: &Tensor, then: Then, other: &Tensor) -> Result<Tensor> {
    let n = weight.dim(0)?;
    let (rows, shape) = rows(x, n)?;
    let other =
        if then == Then::BiasGelu { other.clone() } else { other.reshape(((), other.dim(D::Minus1)?))? };
    rows.apply_op3(&weight.t()?, &other, Launched(MatMulThen(then)))?.reshape(shape)
}
