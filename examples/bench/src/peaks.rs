//! The roofs of a device: what its clocks and units give on paper, and what a measurement saw.
//!
//! Law: where a measurement is given its figures are taken, and none that it lacks is filled in from paper.

use super::Result;
use super::record::Occasion;
use crate::kernels::{matrix_products, multiply_adds, reads, shared_reads};
use layout_cuda::bench::{Options, time};
use layout_cuda::roofline::{Peaks, Units};
use layout_cuda::{Device, Elem, Error, LaunchConfig, ParamSet, ParamValue, Properties};
use layout_kernels::kernels::memory::copy;
use serde_json::{Value, json};
use std::path::Path;

/// The roofs that records are under.
#[derive(Clone, Debug, Default)]
pub struct Roofs {
    /// The device, as its driver describes it; none on the simulator.
    pub device: Option<Properties>,
    /// What `bench -- peaks` wrote of it.
    pub measured: Option<Value>,
}

/// What is measured: its name in the file, and the units it is of.
const UNITS: [(&str, Units); 5] = [
    ("float32", Units::Threads(Elem::F32)),
    ("float64", Units::Threads(Elem::F64)),
    ("tf32", Units::Matrix(Elem::F32)),
    ("bf16", Units::Matrix(Elem::Bf16)),
    ("e4m3", Units::Matrix(Elem::E4m3)),
];

impl Roofs {
    /// Of a device, with the figures of a file where one is given.
    ///
    /// # Errors
    /// A file that cannot be read, that holds no figures, or those of another device.
    pub fn new(device: &Device, file: Option<&Path>) -> Result<Roofs> {
        let own = device.describe();
        let read = |path| figures(path, |name| name == own, &own);
        Ok(Roofs { device: device.properties().cloned(), measured: file.map(read).transpose()? })
    }

    /// What was measured of a card of this name.
    ///
    /// # Errors
    /// A file that cannot be read, that holds no figures, or those of another card.
    pub fn read(file: &Path, card: &str) -> Result<Roofs> {
        let measured = figures(file, |name| name.contains(&format!(": {card},")), card)?;
        Ok(Roofs { device: None, measured: Some(measured) })
    }

    /// The roofs of these units; `None` where neither the file nor the table knows them.
    pub fn of(&self, units: Units) -> Option<Peaks> {
        let Some(measured) = &self.measured else { return Peaks::of(self.device.as_ref()?, units) };
        // Half floats go at one rate, 8-bit ones at another.
        let alike = match units {
            Units::Matrix(Elem::F16) => Units::Matrix(Elem::Bf16),
            Units::Matrix(elem) if elem.bytes() == 1 => Units::Matrix(Elem::E4m3),
            units => units,
        };
        let (name, _) = UNITS.iter().find(|(_, known)| *known == alike)?;
        let figure = |name: &str| measured[name].as_f64().filter(|figure| *figure > 0.0);
        Some(Peaks { flops: figure(name)? * 1e12, bytes: figure("memory")? * 1e9 })
    }
}

/// The figures of a file, of a device that `own` accepts.
fn figures(path: &Path, own: impl Fn(&str) -> bool, this: &str) -> Result<Value> {
    let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    match value["device"].as_str() {
        Some(name) if own(name) => Ok(value),
        Some(name) => Err(wrong(&format!("it is of {name}, not of {this}")).into()),
        None => Err(wrong(&"it names no device; `bench -- peaks FILE` writes one").into()),
    }
}

/// Measures a device and writes what it saw: 10¹² operations a second of each kind of units, 10⁹ bytes a second of memory, L2 cache
/// and shared memory. Of the simulator the figures are those of the CPU that it runs on.
///
/// # Errors
/// A device without memory, a failing launch, or a file that cannot be written.
pub fn measure(device: &Device, path: &Path) -> Result<()> {
    let small = device.is_simulator();
    let properties = device.properties();
    let multiprocessors = properties.map_or(1, |gpu| gpu.multiprocessors as usize);
    let blocks = 8 * multiprocessors;
    let (stream, set) = (device.stream(), ParamSet(vec![]).with("ROUNDS", ParamValue::Int(16)));
    // The simulator shows that the kernels run; fewer rounds do.
    let config = LaunchConfig { set: small.then_some(&set), ..LaunchConfig::default() };
    let rounds = |usual: usize| if small { 16.0 } else { usual as f64 };
    let rate = |work: f64, call: &mut dyn FnMut() -> std::result::Result<(), Error>| -> Result<f64> {
        let options = Options { flush_l2: false, samples: 20, ..Options::default() };
        let options = if small { Options { samples: 1, ..options } } else { options };
        let ms = time(&stream, &options, call)?.sorted_ms().first().copied().unwrap_or(f64::NAN);
        Ok(work / ms * 1e-6)
    };
    let occasion = Occasion::now(device.describe(), None);
    let mut found = json!({ "device": occasion.device, "date": occasion.date });
    let mut say = |name: &str, value: f64, unit: &str| {
        println!("{name:<16} {value:>9.1} {unit}");
        found[name] = json!(value);
    };

    let threads = 256 * blocks;
    let factors32 = stream.upload(&[0.5f32; 8], [8])?;
    let factors64 = stream.upload(&[0.5f64; 8], [8])?;
    let (mut out32, mut out64) = (stream.zeros::<f32, 1>([threads])?, stream.zeros::<f64, 1>([threads])?);
    let work = 16.0 * rounds(4096) * threads as f64;
    let gflops = rate(work, &mut || multiply_adds::launch_with(config, &stream, &factors32, &mut out32))?;
    say("float32", gflops * 1e-3, "TFLOP/s");
    let gflops = rate(work, &mut || multiply_adds::launch_with(config, &stream, &factors64, &mut out64))?;
    say("float64", gflops * 1e-3, "TFLOP/s");

    if properties.is_none_or(|gpu| gpu.compute_capability == (9, 0)) {
        for (name, elem, depth) in
            [("tf32", Elem::F32, 32.0), ("bf16", Elem::Bf16, 64.0), ("e4m3", Elem::E4m3, 128.0)]
        {
            let of_type = ParamSet(vec![]).with("T", ParamValue::Type(elem));
            let of_type = if small { of_type.with("ROUNDS", ParamValue::Int(16)) } else { of_type };
            let config = LaunchConfig { set: Some(&of_type), ..LaunchConfig::default() };
            let mut out = stream.zeros::<f32, 3>([multiprocessors, 256, 2])?;
            let work = 2.0 * 128.0 * 256.0 * depth * rounds(1024) * multiprocessors as f64;
            let gflops = rate(work, &mut || matrix_products::launch_with(config, &stream, 0.37, &mut out))?;
            say(name, gflops * 1e-3, "TFLOP/s");
        }
    }

    let elements = if small { 1 << 12 } else { 1 << 28 };
    let x = stream.zeros::<f32, 1>([elements])?;
    let mut y = stream.zeros::<f32, 1>([elements])?;
    let copied = rate(8.0 * elements as f64, &mut || copy::launch(&stream, &x, &mut y))?;
    say("memory", copied, "GB/s");
    // A quarter of the cache.
    let fits = properties.map_or(1 << 14, |gpu| gpu.l2_bytes as usize / 16) / 4096 * 4096;
    let x = stream.zeros::<f32, 1>([fits])?;
    let mut out = stream.zeros::<f32, 2>([blocks, 256])?;
    let bytes = blocks as f64 * 256.0 * 64.0 * rounds(256);
    let cached = rate(bytes, &mut || reads::launch_with(config, &stream, &x, &mut out))?;
    say("L2 cache", cached, "GB/s");
    let bytes = blocks as f64 * 256.0 * 256.0 * rounds(256);
    let shared = rate(bytes, &mut || shared_reads::launch_with(config, &stream, 1.0, &mut out))?;
    say("shared memory", shared, "GB/s");
    std::fs::write(path, format!("{found:#}\n")).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::h200;

    #[test]
    fn what_was_measured_wins_and_is_not_mixed_with_paper() {
        let paper = Roofs { device: Some(h200()), measured: None };
        let measured = json!({ "float32": 60.0, "memory": 4000.0 });
        let seen = Roofs { device: Some(h200()), measured: Some(measured) };
        assert_eq!(paper.of(Units::Threads(Elem::F32)).map(|peaks| peaks.flops / 1e12 > 66.0), Some(true));
        assert_eq!(seen.of(Units::Threads(Elem::F32)), Some(Peaks { flops: 60e12, bytes: 4e12 }));
        assert_eq!(seen.of(Units::Matrix(Elem::Bf16)), None);
    }

    /// Every kernel of it runs on the simulator, and the file is one that the roofs are read from.
    #[test]
    fn the_simulator_has_figures_too() {
        let device = Device::simulator();
        let path = std::env::temp_dir().join(format!("peaks-{}.json", std::process::id()));
        measure(&device, &path).expect("all kernels run");
        let roofs = Roofs::new(&device, Some(&path)).expect("its own file");
        std::fs::remove_file(&path).expect("it was written");
        for (name, units) in UNITS {
            assert!(roofs.of(units).is_some_and(|peaks| peaks.flops > 0.0), "{name}");
        }
        let missing = Roofs::new(&device, Some(Path::new("nowhere.json")));
        assert!(missing.is_err_and(|error| error.to_string().starts_with("nowhere.json: ")));
    }
}
