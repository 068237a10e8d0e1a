//! The command line.

use clap::Parser;
use layout_cuda::Device;
use layout_examples::algorithm::Algorithm;
use std::path::PathBuf;

/// Matrix multiplications in the kernel language: checked in float64, timed, compared with cuBLAS on a GPU.
#[derive(Parser)]
pub struct Options {
    /// M, N and K of C (M x N) = A (M x K) B (K x N); every size of the default list without it
    #[arg(long, num_args = 3, value_names = ["M", "N", "K"])]
    size: Option<Vec<usize>>,
    /// Only this kernel: auto, naive, coalescing, tiled, tiled_register, block_tiled, block_tiled_vectorized,
    /// tensor_core, sgemm, sgemm_sliced, sgemm_fed or sgemm_sliced_fed; may be given several times
    #[arg(long)]
    pub kernel: Vec<Algorithm>,
    /// gpu or simulator; the GPU where there is one without it
    #[arg(long)]
    device: Option<String>,
    /// Appends one JSON record a line to this file
    #[arg(long)]
    pub json: Option<PathBuf>,
    /// The commit to write into the records, where git cannot tell
    #[arg(long)]
    pub commit: Option<String>,
    /// Timed samples on a GPU
    #[arg(long, default_value_t = 20)]
    pub samples: usize,
}

/// Sizes for the simulator, a second or two each: most of them no tile divides.
const SMALL: [[usize; 3]; 6] =
    [[384, 384, 384], [255, 257, 253], [100, 76, 52], [65, 33, 129], [1, 1, 1], [31, 97, 1]];
/// Sizes for a GPU.
const LARGE: [[usize; 3]; 2] = [[4096, 4096, 4096], [4095, 4097, 4093]];

impl Options {
    /// The device asked for.
    pub fn device(&self) -> Result<Device, String> {
        match self.device.as_deref() {
            None => Ok(Device::best()),
            Some("gpu") => Device::gpu(0).map_err(|error| error.to_string()),
            Some("simulator") => Ok(Device::simulator()),
            Some(other) => Err(format!("`--device {other}`: there are `gpu` and `simulator`")),
        }
    }

    /// `[M, N, K]` of each run.
    pub fn shapes(&self, device: &Device) -> Vec<[usize; 3]> {
        match self.size.as_deref() {
            Some([m, n, k]) => vec![[*m, *n, *k]],
            _ if device.is_simulator() => SMALL.to_vec(),
            _ => LARGE.to_vec(),
        }
    }
}
