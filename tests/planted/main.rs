//! Runs planted mistakes on the first GPU: `planted NAME ..`, all that end by themselves without names, `planted --list`
//! to name them.
//!
//! In front of each it prints a line `== NAME`, so that what compute-sanitizer prints belongs to the last one before.

use layout_cuda::Device;
use layout_planted::{Planted, all};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let mistakes = all();
    if names.iter().any(|name| name == "--list") {
        for Planted { name, tool, kind, hangs, what, .. } in &mistakes {
            println!("{name}\t{tool}\t{}\t{}\t{what}", kind.name(), if *hangs { "hangs" } else { "ends" });
        }
        return ExitCode::SUCCESS;
    }
    if let Some(unknown) = names.iter().find(|name| mistakes.iter().all(|known| known.name != name.as_str()))
    {
        eprintln!("there is no mistake `{unknown}`; `--list` names them");
        return ExitCode::FAILURE;
    }
    let device = match Device::gpu(0) {
        Ok(device) => device,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let wanted = |mistake: &&Planted| match names.is_empty() {
        true => !mistake.hangs,
        false => names.iter().any(|name| name == mistake.name),
    };
    for mistake in mistakes.iter().filter(wanted) {
        println!("== {}", mistake.name);
        // Before the sanitizer's lines, which go past Rust's buffer.
        let _ = std::io::stdout().flush();
        if let Err(error) = mistake.launch(&device) {
            println!("{}: {error}", mistake.name);
        }
    }
    ExitCode::SUCCESS
}
