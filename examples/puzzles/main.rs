//! The puzzles with the numbers of their text: each prints `out` and `expected`, and the program fails if they differ.
//!
//! `cargo run --example puzzles`, on the GPU where there is one; `cargo run --example puzzles -- simulator`.

mod run;

use layout_cuda::Device;
use std::process::ExitCode;

fn main() -> ExitCode {
    let device = match std::env::args().nth(1).as_deref() {
        None => Ok(Device::best()),
        Some("simulator") => Ok(Device::simulator()),
        Some("gpu") => Device::gpu(0).map_err(|error| error.to_string()),
        Some(other) => Err(format!("`{other}`: there are `gpu` and `simulator`")),
    };
    let wrong = device.and_then(|device| {
        println!("device: {}", device.describe());
        run::puzzles(&device).map_err(|error| error.to_string())
    });
    match wrong {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} of the puzzles above are wrong");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
