//! Compiles the kernels of `src/kernels.rs` for the architectures of the machines that the program is for.
//!
//! `BUNDLE_ARCHITECTURES="sm_80 sm_90a"` names other ones. Needs NVRTC, and no GPU.

#[path = "src/kernels.rs"]
mod kernels;

use layout_cuda::bundle::Recipe;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=src/kernels.rs");
    println!("cargo::rerun-if-env-changed=BUNDLE_ARCHITECTURES");
    let named = std::env::var("BUNDLE_ARCHITECTURES").unwrap_or("sm_80 sm_90a sm_100a sm_120".to_owned());
    let architectures: Vec<&str> = named.split_whitespace().collect();
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("kernels.bundle");
    Recipe::new(&architectures)?.kernel(&kernels::saxpy::DEFINITION).write(&out)?;
    Ok(())
}
