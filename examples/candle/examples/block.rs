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
        let dtype = if on_gpu { DType::BF16 } else { DType::F32 };
        let (other, y) = (block.to_dtype(dtype)?, x.to_dtype(dtype)?);
        let apart = (block.forward(&x)?.to_dtype(DType::F32)?
            - other.forward_by_candle(&y)?.to_dtype(DType::F32)?)?;
        println!(
            "{sizes:?}, batch {batch}: at most {:.3} apart",
            apart.abs()?.max_all()?.to_scalar::<f32>()?
        );
        if on_gpu {
            let ours = time(&device, || block.forward(&x))?;
            let own = time(&device, || other.forward_by_candle(&y))?;
            println!("  ours {ours:.3} ms, candle's {own:.3} ms: {:.2} x", own / ours);
        }
    }
    Ok(())
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
