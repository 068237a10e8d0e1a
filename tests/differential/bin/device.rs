//! Random kernels on a GPU against the simulator: `device --seed 1 --kernels 3000 [--family views] [--threads 16]`.
//!
//! What fails is made small on the device and printed as one line of JSON each; the last line is a summary. Of an error that
//! the driver does not recover from (an illegal address) the seeds in flight are reported, and the program ends.
//! `--device simulator` runs the same without a GPU.

use layout_cuda::{Device, Stream};
use layout_differential::{Failure, Family, Trial, Verdict};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().position(|own| own == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, usual: u64| value(name).map_or(Ok(usual), |text| text.parse());
    let (first, count) = (number("--seed", 1)?, number("--kernels", 1000)?);
    let threads = number("--threads", std::thread::available_parallelism().map_or(1, usize::from) as u64)?;
    let most = number("--reduce", 300)? as usize;
    let named = |family: &Family| {
        value("--family").is_none_or(|name| format!("{family:?}").eq_ignore_ascii_case(name))
    };
    let families: Vec<Family> = Family::ALL.into_iter().filter(named).collect();
    let device = match value("--device").map(String::as_str) {
        Some("simulator") => Device::simulator(),
        _ => Device::gpu(0)?,
    };
    eprintln!("device: {}", device.describe());
    let start = Instant::now();
    let (next, [passed, refused, failed]) = (AtomicU64::new(0), [const { AtomicU64::new(0) }; 3]);
    let stop = AtomicBool::new(false);
    let work = |stream: Stream| {
        while !stop.load(Relaxed) {
            let number = next.fetch_add(1, Relaxed);
            if number >= count * families.len() as u64 {
                return;
            }
            // One family after the other, so that each stretch of numbers has all of them.
            let (family, seed) =
                (families[number as usize % families.len()], first + number / families.len() as u64);
            let trial = Trial::opaque(family, seed);
            match trial.on_device(&stream) {
                Verdict::Passed(_) => passed.fetch_add(1, Relaxed),
                Verdict::Refused(_) | Verdict::Stuck(_) => refused.fetch_add(1, Relaxed),
                Verdict::Failed(failure) => {
                    let broken = stream.synchronize().is_err();
                    let small = if broken { trial } else { trial.reduced_on_device(&stream, &failure, most) };
                    println!("{}", line(family, seed, &failure, &small));
                    stop.fetch_or(broken, Relaxed);
                    failed.fetch_add(1, Relaxed)
                }
            };
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let stream = device.new_stream();
            let own = || stream.map(work).unwrap_or_else(|error| eprintln!("no stream: {error}"));
            // Parsers that are not optimised take more than a thread's usual 2 MiB for the deepest kernels.
            let thread = std::thread::Builder::new().stack_size(8 << 20).spawn_scoped(scope, own);
            thread.unwrap_or_else(|error| panic!("no thread: {error}"));
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    let [passed, refused, failed] = [passed, refused, failed].map(AtomicU64::into_inner);
    let rate = (passed + refused + failed) as f64 / seconds;
    println!(
        "{{\"seed\": {first}, \"kernels\": {}, \"passed\": {passed}, \"not_compiled\": {refused}, \"failed\": {failed}, \"seconds\": {seconds:.1}, \"kernels_per_second\": {rate:.1}}}",
        passed + refused + failed
    );
    if failed > 0 || stop.into_inner() {
        std::process::exit(1);
    }
    Ok(())
}

/// A failure as JSON.
fn line(family: Family, seed: u64, failure: &Failure, small: &Trial) -> String {
    let fields = [
        ("family", format!("{family:?}")),
        ("kind", failure.kind.clone()),
        ("detail", failure.detail.clone()),
        ("text", small.text()),
        ("arguments", small.arguments()),
    ];
    let fields: Vec<String> =
        fields.iter().map(|(name, text)| format!("\"{name}\": {}", quoted(text))).collect();
    format!("{{\"seed\": {seed}, {}}}", fields.join(", "))
}

/// A string of JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            c if (c as u32) < 32 => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}
