//! The rotary embedding beside candle's own.

use super::{close, error_text, random};
use candle_core::{DType, Result};
use layout_candle::rope;

#[test]
fn it_equals_candles_own() -> Result<()> {
    for (dtype, bound) in [(DType::F32, 1e-5), (DType::F16, 4e-3), (DType::BF16, 3.2e-2)] {
        // Halves of 1, 3, 4, 20 and 32 elements: other vectors each.
        for [b, h, t, d] in [[1, 1, 1, 2], [2, 3, 5, 6], [1, 2, 7, 8], [2, 1, 3, 40], [1, 2, 9, 64]] {
            let x = random(&[b, h, t, d], dtype)?;
            let (cos, sin) = (random(&[t + 2, d / 2], dtype)?, random(&[t + 2, d / 2], dtype)?);
            let own = candle_nn::rotary_emb::rope(&x, &cos, &sin)?;
            close(&rope(&x, &cos, &sin)?, &own, bound)?;
            // Heads as a product leaves them: places before heads.
            let turned = x.transpose(1, 2)?.contiguous()?.transpose(1, 2)?;
            close(&rope(&turned, &cos, &sin)?, &own, bound)?;
        }
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_an_error() -> Result<()> {
    let (x, cos) = (random(&[1, 2, 5, 8], DType::F32)?, random(&[5, 4], DType::F32)?);
    let few = error_text(rope(&x, &cos.narrow(0, 0, 4)?, &cos.narrow(0, 0, 4)?));
    assert!(few.contains("rope") && few.contains("L >= M"), "{few}");
    let odd = error_text(rope(&x.narrow(3, 0, 7)?, &cos, &cos));
    assert!(odd.contains("rope") && odd.contains("no halves"), "{odd}");
    let flat = error_text(rope(&x.flatten_to(1)?, &cos, &cos));
    assert!(flat.contains("rope"), "{flat}");
    let columns = error_text(rope(&x.transpose(2, 3)?.contiguous()?.transpose(2, 3)?, &cos, &cos));
    assert!(columns.contains("rope") && columns.contains('x'), "{columns}");
    Ok(())
}
