//! A transformer's block beside candle's own operations.

use super::{close, random};
use candle_core::{DType, Device, Result};
use layout_candle::{Block, Sizes};

#[test]
fn it_equals_candles_own() -> Result<()> {
    let sizes = Sizes { heads: 2, groups: 1, head: 64, hidden: 192, places: 16 };
    let block = Block::random(sizes, DType::BF16, &Device::Cpu)?;
    let x = random(&[2, 11, sizes.width()], DType::BF16)?;
    // What candle makes of the same weights in float32: what is rounded in between is ours.
    let own = block.to_dtype(DType::F32)?.forward_by_candle(&x.to_dtype(DType::F32)?)?;
    close(&block.forward(&x)?, &own.to_dtype(DType::BF16)?, 6e-2)
}
