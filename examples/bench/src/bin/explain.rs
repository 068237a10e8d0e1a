//! What the kernels of the examples do to memory: for each access of a variant its width, its means, and what it lost.
//!
//! `cargo run -p layout-bench --bin explain` names the kernels; `cargo run -p layout-bench --bin explain -- transpose` explains one.

use clap::Parser;
use layout_bench::exit;
use layout_bench::{kernels::every_definition, strangers};
use layout_compiler::{Promises, RemarkKind, compile, explain};
use std::process::ExitCode;

/// Explains the accesses of a kernel's variants.
#[derive(Parser)]
#[command(
    after_help = "A kernel of your own: `println!(\"{}\", kernel::explain(..)?)` with the arguments of a launch."
)]
struct Command {
    /// The kernel; without one, the kernels and what their variants lose are listed.
    kernel: Option<String>,
    /// Also variants for tensors that are not aligned to 16 bytes.
    #[arg(long)]
    unaligned: bool,
}

fn main() -> ExitCode {
    sigpipe::reset();
    exit(run(&Command::parse()).map(|()| 0))
}

fn run(command: &Command) -> Result<(), Box<dyn std::error::Error>> {
    let mut found = false;
    for definition in [every_definition(), strangers::definitions()].concat() {
        if command.kernel.as_deref().is_some_and(|name| name != definition.name) {
            continue;
        }
        found = true;
        let kernel = definition.kernel()?;
        for set in kernel.parameter_sets() {
            for promises in variants(kernel.variant_if.len() as u32, command.unaligned) {
                let explanation = explain(&compile(&kernel, &set, promises)?);
                if command.kernel.is_some() {
                    println!("{explanation}");
                    continue;
                }
                let lost = |what: RemarkKind| {
                    let of = |access: &&layout_compiler::Explained| {
                        access.degraded.iter().any(|lost| lost.what == what)
                    };
                    format!("{} {what}", explanation.accesses.iter().filter(of).count())
                };
                let accesses = explanation.accesses.len();
                println!(
                    "{}: {accesses} accesses; {}",
                    explanation.entry,
                    RemarkKind::ALL.map(lost).join(", ")
                );
            }
        }
    }
    match (found, &command.kernel) {
        (false, Some(name)) => {
            Err(format!("no kernel is called `{name}`; without a name they are listed").into())
        }
        _ => Ok(()),
    }
}

/// The variants of a set: the usual one, those of each `variant_if`, and likewise without alignment.
fn variants(conditions: u32, unaligned: bool) -> Vec<Promises> {
    let aligned = if unaligned { vec![true, false] } else { vec![true] };
    let plain = std::iter::once(None).chain((0..conditions).map(Some));
    plain
        .flat_map(|variant_if| {
            let one = move |aligned: &bool| Promises { aligned: *aligned, variant_if, ..Promises::USUAL };
            aligned.iter().map(one).collect::<Vec<_>>()
        })
        .collect()
}
