//! Attention: `softmax(scale q kᵀ) v` of each head, on Hopper's units.

use crate::operation::{Call, Launched, Operand, Operation, Slot};
use candle_core::{DType, Result, Tensor, bail};
use layout_cuda::{Argument, Elem};
use layout_kernels::attention::{Attention as Choice, Mask};
use layout_kernels::kernels::attention::attention as kernel;

/// The operation: of q, k and v, each of (batch, heads, places, d).
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    /// Whether a query sees no key behind its own place; the last query is beside the last key.
    pub causal: bool,
    /// What products are multiplied with: 1 / sqrt(d) without it.
    pub scale: Option<f32>,
}

impl Operation for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn call(&self, operands: &[Operand<'_>], device: &layout_cuda::Device) -> Result<Call> {
        let dtype = operands[0].dtype;
        let elem = match dtype {
            DType::BF16 => Elem::Bf16,
            DType::F16 => Elem::F16,
            other => bail!("the matrix units multiply bf16 and f16, not {other:?}"),
        };
        let (batch, heads, queries, d) = operands[0].layout.shape().dims4()?;
        let (_, groups, keys, dv) = operands[2].layout.shape().dims4()?;
        let mask = if self.causal { Mask::Causal } else { Mask::Every };
        let choice = Choice { mask, scale: self.scale, ..Choice::default() };
        let arguments = vec![
            Slot::Operand(0),
            Slot::Operand(1),
            Slot::Operand(2),
            Slot::Nothing(Elem::I32, 1),
            Slot::Nothing(Elem::I32, 1),
            Slot::Output,
            Slot::Scratch(DType::F32, vec![batch, heads, queries]),
            Slot::Value(Argument::index(queries)),
            Slot::Value(Argument::scalar(self.scale.unwrap_or(1.0 / (d as f32).sqrt()))),
            Slot::Value(Argument::scalar(1.0f32)),
            Slot::Value(Argument::scalar(0i32)),
        ];
        Ok(Call {
            kernel: &kernel::DEFINITION,
            set: choice.set(device, elem, [batch, heads, queries, d], [batch, groups, keys, dv]),
            arguments,
            output: (dtype, (batch, heads, queries, dv).into()),
        })
    }
}

/// `softmax(scale q kᵀ) v` of (batch, heads, places, d); heads of q may share those of k and v. The elements of a head are
/// contiguous, the other modes are in any order. Elements are bf16 or f16; scores and sums are float32.
///
/// # Errors
/// Other types, shapes that disagree, head dimensions that are no multiples of 32, and those of a launch: a GPU without Hopper's
/// units.
///
/// ```
/// use candle_core::{DType, Device, Tensor};
///
/// let q = Tensor::ones((1, 2, 5, 64), DType::BF16, &Device::Cpu)?;
/// let k = Tensor::ones((1, 1, 5, 64), DType::BF16, &Device::Cpu)?;
/// let o = layout_candle::attention(&q, &k, &k, true, None)?;
/// assert_eq!((o.dims(), o.min_all()?.to_dtype(DType::F32)?.to_scalar::<f32>()?), (&[1, 2, 5, 64][..], 1.0));
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn attention(q: &Tensor, k: &Tensor, v: &Tensor, causal: bool, scale: Option<f32>) -> Result<Tensor> {
    q.apply_op3(k, v, Launched(Attention { causal, scale }))
}
