//! Root mean square norm of rows: `x / sqrt(mean of x² + epsilon) * weight`, sums in float32.

use crate::kernels::norm;
use crate::operation::{Call, Launched, Operand, Operation, Slot};
use candle_core::{D, DType, Result, Tensor, bail};
use layout_cuda::{Argument, ParamSet, ParamValue};

/// The operation: of a matrix by rows, and weights.
#[derive(Clone, Copy, Debug)]
pub struct RmsNorm {
    /// What is added to the mean of the squares.
    pub epsilon: f32,
}

impl Operation for RmsNorm {
    fn name(&self) -> &'static str {
        "rms_norm"
    }

    fn call(&self, operands: &[Operand<'_>], _: &layout_cuda::Device) -> Result<Call> {
        let dtype = operands[0].dtype;
        if !matches!(dtype, DType::F32 | DType::F16 | DType::BF16) {
            bail!("it sums in float32, which is too little for {dtype:?}; cast to f32, f16 or bf16");
        }
        let arguments = vec![
            Slot::Operand(0),
            Slot::Operand(1),
            Slot::Output,
            Slot::Scratch(DType::F32, vec![0]),
            Slot::Value(Argument::scalar(self.epsilon)),
        ];
        Ok(Call {
            kernel: &norm::rms_norm::DEFINITION,
            set: ParamSet::default().with("SCALED", ParamValue::Bool(false)),
            arguments,
            output: (dtype, operands[0].layout.shape().clone()),
        })
    }
}

/// The norm along the last mode, of float32, bf16 or f16; rounded once, where candle's own rounds the scaled row, too.
///
/// # Errors
/// Weights of another length or type, and those of a launch.
///
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[3f32, 4., 0., 0.], [0., 0., 1., 0.]], &Device::Cpu)?;
/// let weight = Tensor::new(&[1f32, 1., 1., 2.], &Device::Cpu)?;
/// let y = layout_candle::rms_norm(&x, &weight, 0.0)?;
/// assert_eq!(y.to_vec2::<f32>()?, [[1.2, 1.6, 0., 0.], [0., 0., 2., 0.]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn rms_norm(x: &Tensor, weight: &Tensor, epsilon: f32) -> Result<Tensor> {
    let rows = x.reshape(((), x.dim(D::Minus1)?))?.contiguous()?;
    rows.apply_op2(&weight.contiguous()?, Launched(RmsNorm { epsilon }))?.reshape(x.shape())
}
