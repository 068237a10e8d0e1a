//! What it costs to make a kernel ready: compiled by NVRTC, found in the cache on disk, found in memory.
//!
//! Goals: a kernel of warpgroup products compiles in 1 s and any other in 2 s, comes from the disk in 5 ms and from memory
//! in 10 µs. What misses its goal is marked with `!`. Needs no GPU but for the last two columns.

use super::Result;
use layout_cuda::cache::Cache;
use layout_cuda::compile::compile_cached;
use layout_cuda::{Definition, Device, Promises, Stream, bf16, nvrtc, prepare};
use layout_examples::programs::ladder::LADDER;
use layout_kernels::kernels::gemm::gemm;
use std::time::Instant;

/// Of each figure the least of so many.
const TRIES: usize = 5;
/// Launches between two looks at the clock; few enough that the stream's queue never fills.
const LAUNCHES: usize = 200;

/// Prints the table.
///
/// # Errors
/// No NVRTC, or a kernel that it refuses.
pub fn run(device: &Device) -> Result<()> {
    let arch = device.properties().map_or("sm_90a".to_string(), |properties| properties.arch.clone());
    let folder = std::env::temp_dir().join(format!("layout-jit-{}", std::process::id()));
    let cache = Cache::at(&folder);
    let start = Instant::now();
    nvrtc::compile("extern \"C\" __global__ void nothing() {}", &arch, &[])?;
    println!("NVRTC loaded and first called in {:.0} ms; {arch}", milliseconds(start));
    println!(
        "{:<28} {:>12} {:>12} {:>12} {:>14}",
        "kernel", "compiled ms", "disk ms", "load ms", "memory us"
    );
    let mut list: Vec<_> =
        LADDER.iter().map(|kernel| kernel.definition()).chain([&gemm::DEFINITION]).collect();
    list.sort_by_key(|definition| definition.name);
    list.dedup_by_key(|definition| definition.name);
    let measured = list.iter().try_for_each(|definition| one(definition, device, &arch, &cache));
    // The folder is this process's own; what cannot be removed is left in the system's folder for such things.
    let _ = std::fs::remove_dir_all(&folder);
    measured?;
    if !device.is_simulator() {
        launches(&device.stream())?;
    }
    Ok(())
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// A figure, marked where it misses its goal.
fn figure(value: f64, goal: f64) -> String {
    format!("{value:.3}{}", if value > goal { " !" } else { "  " })
}

fn one(definition: &'static Definition, device: &Device, arch: &str, cache: &Cache) -> Result<()> {
    let Some(variant) = definition.variants.first() else {
        return Err(format!("kernel `{}` has no variant", definition.name).into());
    };
    let named = definition.kernel().map_err(|error| error.to_string())?.arch().map(|arch| arch.to_string());
    let arch = named.as_deref().unwrap_or(arch);
    let goal = if variant.text.contains("wgmma.mma_async") { 1000.0 } else { 2000.0 };
    let start = Instant::now();
    compile_cached(cache, variant.text, arch, variant.flags)?;
    let compiled = milliseconds(start);
    let mut disk = f64::MAX;
    for _ in 0..TRIES {
        let start = Instant::now();
        compile_cached(cache, variant.text, arch, variant.flags)?;
        disk = disk.min(milliseconds(start));
    }
    let (mut load, mut memory) = ("-".to_string(), "-".to_string());
    if device.properties().is_some_and(|properties| properties.arch == arch) {
        let ready = || prepare(definition, device, None, Promises::USUAL);
        let start = Instant::now();
        ready()?;
        load = format!("{:.3}  ", milliseconds(start));
        let mut least = f64::MAX;
        for _ in 0..TRIES {
            let start = Instant::now();
            ready()?;
            least = least.min(milliseconds(start) * 1e3);
        }
        memory = figure(least, 10.0);
    }
    let (compiled, disk) = (figure(compiled, goal), figure(disk, 5.0));
    println!("{:<28} {compiled:>12} {disk:>12} {load:>12} {memory:>14}", definition.name);
    Ok(())
}

/// The host's time of one launch with three tensor maps, all of which are encoded anew.
fn launches(stream: &Stream) -> Result<()> {
    let (a, b) = (stream.zeros::<bf16, 2>([128, 64])?, stream.zeros::<bf16, 2>([64, 256])?);
    let mut c = stream.zeros::<bf16, 2>([128, 256])?;
    gemm::launch(stream, &a, &b, &mut c)?;
    let mut least = f64::MAX;
    for _ in 0..TRIES {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..LAUNCHES {
            gemm::launch(stream, &a, &b, &mut c)?;
        }
        least = least.min(milliseconds(start) * 1e3 / LAUNCHES as f64);
    }
    stream.synchronize()?;
    println!(
        "a launch of `gemm` from memory, three tensor maps encoded: {} us",
        figure(least, 10.0).trim_end()
    );
    Ok(())
}
