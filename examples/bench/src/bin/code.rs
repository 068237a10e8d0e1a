//! The code of a kernel of the examples, in the form that is asked for: CUDA C, PTX, SASS, or what it uses.
//!
//! `cargo run -p layout-bench --bin code -- transpose --sass`; without a kernel it lists them. Needs no GPU, and NVRTC only for what is not CUDA C.

use clap::{Parser, ValueEnum};
use layout_bench::exit;
use layout_bench::options::assignments;
use layout_bench::{kernels::every_definition, strangers};
use layout_cuda::code::Code;
use layout_cuda::{ParamSet, Promises};
use std::process::ExitCode;

/// Shows the code of a kernel's variant.
#[derive(Parser)]
#[command(
    after_help = "A kernel of your own: `layout_cuda::code::Code::of(&kernel::DEFINITION, ..)`, and `kernel::SOURCE` is the CUDA C."
)]
struct Command {
    /// The kernel; without one the kernels and their sets are listed.
    kernel: Option<String>,
    /// What is shown.
    #[arg(long, default_value = "resources")]
    form: Form,
    /// The architecture; else the one that the kernel names, or this one.
    #[arg(long, default_value = "sm_90a")]
    arch: String,
    /// The parameter set, as the list has it, such as `BM64_BN64`, or any values, such as `BM=64,T=bf16`, beside the
    /// attribute's first; else these alone.
    #[arg(long)]
    set: Option<String>,
    /// The variant without any promise.
    #[arg(long)]
    unpromised: bool,
}

/// A form of the code.
#[derive(Clone, Copy, ValueEnum)]
enum Form {
    Cuda,
    Ptx,
    Sass,
    Resources,
}

fn main() -> ExitCode {
    sigpipe::reset();
    exit(run(&Command::parse()).map(|()| 0))
}

fn run(command: &Command) -> Result<(), Box<dyn std::error::Error>> {
    let all = [every_definition(), strangers::definitions()].concat();
    let Some(name) = &command.kernel else {
        for definition in all {
            let sets: Vec<String> = definition.kernel()?.parameter_sets().iter().map(ParamSet::key).collect();
            println!("{} {}", definition.name, sets.join(" "));
        }
        return Ok(());
    };
    let definition = all.into_iter().find(|definition| definition.name == name);
    let definition =
        definition.ok_or_else(|| format!("no kernel is called `{name}`; without a name they are listed"))?;
    let sets = definition.kernel()?.parameter_sets();
    let set = match &command.set {
        None => None,
        Some(text) if text.contains('=') => {
            let mut set = ParamSet::default();
            for (name, value) in assignments(text, &sets)? {
                set = set.with(name, value);
            }
            Some(set)
        }
        Some(key) => {
            let set = sets.iter().find(|set| set.key() == *key).cloned();
            Some(set.ok_or_else(|| format!("`{name}` has no set `{key}`; without a name they are listed"))?)
        }
    };
    let promises = if command.unpromised { Promises::default() } else { Promises::USUAL };
    if let Form::Cuda = command.form {
        let kernel = definition.kernel()?;
        let set = kernel.choose(&set.unwrap_or_default(), &[])?;
        println!("{}", layout_compiler::emit(&layout_compiler::compile(&kernel, &set, promises)?).text);
        return Ok(());
    }
    let code = Code::of(definition, set.as_ref(), promises, &command.arch)?;
    match command.form {
        Form::Cuda => {}
        Form::Ptx => println!("{}", code.ptx),
        Form::Sass => println!("{}", code.sass()?),
        Form::Resources => {
            println!("{} for {}, {} bytes of code", code.entry, code.arch, code.cubin.len());
            if let Some(used) = &code.resources {
                println!(
                    "{} registers, {} bytes of stack, {} and {} bytes of spills stored and loaded, {} bytes of shared memory that are declared, {} barriers",
                    used.registers,
                    used.stack,
                    used.spill_stores,
                    used.spill_loads,
                    used.shared,
                    used.barriers
                );
            }
            code.slow_paths.iter().for_each(|slow| println!("line {}: {}", slow.rust_line, slow.reason));
        }
    }
    Ok(())
}
