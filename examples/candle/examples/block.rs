//! Times a transformer's block by the operations here beside candle's own, on a GPU: `bash cuda.sh cargo run --release --features cuda
//! --example block`. Without a GPU it says so and runs a small one on the simulator.

use candle_core::{DType, Device, Result, Tensor};
use layout_candle::{Block, Sizes};
use std::time::Instant;

fn main() -> Result<()> {
    let device = Device::cuda_if_available(0)?;
    let on_gpu = device.is_cuda();
    if !on_gpu {
        println!("no GPU, or built without `cuda`: a small block on the simulator, beside float32");
    }
    let small = Sizes { heads: 2, groups: 1, head: 64, hidden: 192, places: 16 };
    let llama = Sizes { heads: 32, groups: 8, head: 128, hidden: 14336, places: 4096 };
    for (sizes, batch) in if on_gpu { vec![(llama, 1), (llama, 4)] } else { vec![(small, 1)] } {
        let block = Block::random(sizes, DType::BF16, &device)?;
        let x =
            Tensor::randn(0f32, 1., (batch, sizes.places, sizes.width()), &device)?.to_dtype(DType::BF16)?;
        println!("{sizes:?}, batch {batch}");
        // The same weights in float32: what is rounded in between is each one's own.
        let exact = block.to_dtype(DType::F32)?.forward_by_candle(&x.to_dtype(DType::F32)?)?;
        let off = apart(&block.forward(&x)?, &exact)?;
        println!("  ours at most {off:.3} from float32");
        if on_gpu {
            println!("  candle's at most {:.3} from float32", apart(&block.forward_by_candle(&x)?, &exact)?);
            drop(exact);
            let ours = time(&device, || block.forward(&x))?;
            let own = time(&device, || block.forward_by_candle(&x))?;
            println!("  ours {ours:.3} ms, candle's {own:.3} ms: {:.2} x", own / ours);
        }
        if off > BOUND {
            candle_core::bail!("more than {BOUND} from float32");
        }
    }
    Ok(())
}

/// How far an element may be from the one in float32.
const BOUND: f32 = 6e-2;

/// The most that an element is apart from the exact one, of its size where that is above 1; infinite where one is no number.
fn apart(found: &Tensor, exact: &Tensor) -> Result<f32> {
    let apart = (found.to_dtype(DType::F32)? - exact)?.abs()?.div(&exact.abs()?.maximum(1f32)?)?;
    // A maximum passes over what is no number; a sum does not.
    let known = apart.sum_all()?.to_scalar::<f32>()?.is_finite();
    if known { apart.max_all()?.to_scalar() } else { Ok(f32::INFINITY) }
}

/// The median of 21 runs, each of ten, milliseconds a call.
fn time(device: &Device, mut call: impl FnMut() -> Result<Tensor>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..21 {
        device.synchronize()?;
        let start = Instant::now();
        for _ in 0..10 {
            call()?;
        }
        device.synchronize()?;
        times.push(start.elapsed().as_secs_f64() * 100.0);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}
