//! Each operation beside candle's own, on the CPU.

mod attention;
mod block;
mod norm;
mod product;
mod rope;

use candle_core::{DType, Device, Result, Tensor};

/// Normal numbers.
pub fn random(shape: &[usize], dtype: DType) -> Result<Tensor> {
    Tensor::randn(0f32, 1., shape, &Device::Cpu)?.to_dtype(dtype)
}

/// Each element within `bound`, of its size where that is above 1.
pub fn close(found: &Tensor, expected: &Tensor, bound: f32) -> Result<()> {
    assert_eq!((found.dims(), found.dtype()), (expected.dims(), expected.dtype()));
    let flat = |tensor: &Tensor| tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1::<f32>();
    for (place, (own, other)) in flat(found)?.into_iter().zip(flat(expected)?).enumerate() {
        let apart = (own - other).abs() / other.abs().max(1.0);
        assert!(apart <= bound, "{:?}, element {place}: {own}, not {other}: {apart:e}", found.dtype());
    }
    Ok(())
}

/// The text of an error, with its cause.
pub fn error_text(result: Result<Tensor>) -> String {
    match result {
        Ok(tensor) => panic!("an error was expected, not {tensor}"),
        Err(error) => error.to_string(),
    }
}
