//! The norm beside candle's own.

use super::{close, error_text, random};
use candle_core::{DType, Device, Result, Tensor};

#[test]
fn it_equals_candles_own() -> Result<()> {
    for (dtype, bound) in [(DType::F32, 1e-5), (DType::F16, 2e-3), (DType::BF16, 1.6e-2)] {
        for shape in [&[1, 8][..], &[3, 40], &[2, 5, 264], &[1, 1, 1]] {
            let x = random(shape, dtype)?;
            let weight = random(&shape[shape.len() - 1..], dtype)?;
            let own = candle_nn::ops::rms_norm(&x, &weight, 1e-5)?;
            close(&layout_candle::rms_norm(&x, &weight, 1e-5)?, &own, bound)?;
        }
    }
    Ok(())
}

#[test]
fn tensors_with_other_strides() -> Result<()> {
    let (x, weight) = (random(&[24, 6], DType::F32)?, random(&[48], DType::F32)?);
    let (x, weight) = (x.t()?.narrow(0, 1, 4)?, weight.narrow(0, 8, 24)?);
    let own = candle_nn::ops::rms_norm(&x.contiguous()?, &weight.contiguous()?, 1e-5)?;
    close(&layout_candle::rms_norm(&x, &weight, 1e-5)?, &own, 1e-5)?;
    // Rows of a larger tensor: the operand has an offset, and nothing is copied.
    let rows = random(&[9, 24], DType::F32)?.narrow(0, 3, 4)?;
    let own = candle_nn::ops::rms_norm(&rows, &weight, 1e-5)?;
    close(&layout_candle::rms_norm(&rows, &weight, 1e-5)?, &own, 1e-5)?;
    let none = layout_candle::rms_norm(&Tensor::zeros((0, 24), DType::F32, &Device::Cpu)?, &weight, 1e-5)?;
    assert_eq!(none.dims(), [0, 24]);
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let x = random(&[2, 8], DType::F32)?;
    let error = |x: &Tensor, weight: &Tensor| error_text(layout_candle::rms_norm(x, weight, 1e-5));
    let short = error(&x, &random(&[7], DType::F32)?);
    assert!(short.contains("rms_norm") && short.contains('7') && short.contains('8'), "{short}");
    let other = error(&x, &random(&[8], DType::F16)?);
    assert!(other.contains("rms_norm") && other.contains("f16"), "{other}");
    let whole = error(&x.to_dtype(DType::F64)?, &random(&[8], DType::F64)?);
    assert!(whole.contains("rms_norm") && whole.contains("F64"), "{whole}");
    Ok(())
}

#[test]
fn a_gradient_is_refused() -> Result<()> {
    let x = candle_core::Var::from_tensor(&random(&[2, 8], DType::F32)?)?;
    let y = layout_candle::rms_norm(&x, &random(&[8], DType::F32)?, 1e-5)?;
    let error = y.sum_all()?.backward().err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("rms_norm"), "{error}");
    Ok(())
}
