//! Rotary embedding of halves: pairs `(x[i], x[i + d / 2])` are turned by the angle of their place.

use crate::kernels::rope as kernel;
use crate::operation::{Call, Launched, Operand, Operation, Slot};
use candle_core::{DType, Result, Tensor, bail};
use layout_cuda::{ParamSet, ParamValue};

/// The operation: of (batch, heads, places, d) and of the angles' cosines and sines, (places or more, d / 2).
#[derive(Clone, Copy, Debug)]
pub struct Rope;

impl Operation for Rope {
    fn name(&self) -> &'static str {
        "rope"
    }

    fn call(&self, operands: &[Operand<'_>], _: &layout_cuda::Device) -> Result<Call> {
        let (x, dtype) = (operands[0].layout, operands[0].dtype);
        let (_, _, _, d) = x.shape().dims4()?;
        let most: usize = match dtype {
            DType::F32 => 4,
            DType::F16 | DType::BF16 => 8,
            other => {
                bail!("it turns in float32, which is too little for {other:?}; cast to f32, f16 or bf16")
            }
        };
        if d == 0 || d % 2 == 1 {
            bail!("a head of {d} elements has no halves");
        }
        // As many pairs at once as divide the half.
        let together = 1 << (d / 2).trailing_zeros().min(most.trailing_zeros());
        let set = ParamSet::default()
            .with("HALF", ParamValue::Int(d as i64 / 2))
            .with("V", ParamValue::Int(together));
        Ok(Call {
            kernel: &kernel::DEFINITION,
            set,
            arguments: vec![Slot::Operand(0), Slot::Operand(1), Slot::Operand(2), Slot::Output],
            output: (dtype, x.shape().clone()),
        })
    }
}

/// Turns `x`, of (batch, heads, places, d), by angles whose cosines and sines are (places or more, d / 2): `candle_nn`'s `rope`, of
/// heads that may be in any order. Of float32, bf16 or f16, computed in float32.
///
/// # Errors
/// Other shapes and types, and those of a launch.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[[[1f32, 2.], [3., 4.]]]], &Device::Cpu)?;
/// // A quarter turn at the second place.
/// let (cos, sin) = (Tensor::new(&[[1f32], [0.]], &Device::Cpu)?, Tensor::new(&[[0f32], [1.]], &Device::Cpu)?);
/// let y = layout_candle::rope(&x, &cos, &sin)?;
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1., 2., -4., 3.]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn rope(x: &Tensor, cos: &Tensor, sin: &Tensor) -> Result<Tensor> {
    x.apply_op3(cos, sin, Launched(Rope))
}
