//! Products beside candle's own in float32, of operands that are rounded alike.

use super::{close, error_text, random};
use candle_core::{DType, Result, Tensor};
use layout_candle::{Launched, MatMul, Then, linear, linear_then};

fn wide(tensor: &Tensor) -> Result<Tensor> {
    tensor.to_dtype(DType::F32)
}

/// `x weightᵀ` in float32.
fn exact(x: &Tensor, weight: &Tensor) -> Result<Tensor> {
    wide(x)?.broadcast_matmul(&wide(weight)?.t()?)
}

#[test]
fn products_equal_candles_own() -> Result<()> {
    for (dtype, bound) in [(DType::BF16, 1.6e-2), (DType::F16, 2e-3)] {
        for (shape, n) in [(&[5, 64][..], 24), (&[2, 3, 72], 136), (&[1, 8], 8)] {
            let (x, weight) = (random(shape, dtype)?, random(&[n, shape[shape.len() - 1]], dtype)?);
            let own = exact(&x, &weight)?.to_dtype(dtype)?;
            close(&linear(&x, &weight)?, &own, bound)?;
            // Weights by columns.
            let (flat, columns) = (x.flatten_to(x.rank() - 2)?, weight.t()?.contiguous()?);
            close(&flat.apply_op2(&columns, Launched(MatMul))?, &own.flatten_to(x.rank() - 2)?, bound)?;
        }
    }
    Ok(())
}

#[test]
fn epilogues_equal_candles_own() -> Result<()> {
    let dtype = DType::BF16;
    // Of 20 columns the threads store C, of others TMA does.
    for n in [24, 20] {
        let (x, weight) = (random(&[2, 3, 64], dtype)?, (random(&[n, 64], dtype)? * 0.25)?);
        let (bias, other) = (random(&[n], dtype)?, random(&[2, 3, n], dtype)?);
        let sums = exact(&x, &weight)?;
        let gelu = sums.broadcast_add(&wide(&bias)?)?.gelu()?;
        close(&linear_then(&x, &weight, Then::BiasGelu, &bias)?, &gelu.to_dtype(dtype)?, 2e-2)?;
        let plus = (&sums + wide(&other)?)?;
        close(&linear_then(&x, &weight, Then::Plus, &other)?, &plus.to_dtype(dtype)?, 1.6e-2)?;
        let gated = (sums.silu()? * wide(&other)?)?;
        close(&linear_then(&x, &weight, Then::SiluTimes, &other)?, &gated.to_dtype(dtype)?, 2e-2)?;
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let (x, weight) = (random(&[3, 64], DType::BF16)?, random(&[24, 64], DType::BF16)?);
    let long = error_text(linear(&x, &random(&[24, 72], DType::BF16)?));
    assert!(long.contains("matmul") && long.contains("64") && long.contains("72"), "{long}");
    let other = error_text(linear(&x, &weight.to_dtype(DType::F16)?));
    assert!(other.contains("BF16") && other.contains("F16"), "{other}");
    let wide = error_text(linear(&x.to_dtype(DType::F32)?, &weight.to_dtype(DType::F32)?));
    assert!(wide.contains("F32"), "{wide}");
    let odd = error_text(linear(&random(&[3, 63], DType::BF16)?, &random(&[24, 63], DType::BF16)?));
    assert!(odd.contains("16 bytes"), "{odd}");
    let beside = error_text(linear_then(&x, &weight, Then::Plus, &random(&[3, 23], DType::BF16)?));
    assert!(beside.contains("matmul_then") && beside.contains("23"), "{beside}");
    Ok(())
}
