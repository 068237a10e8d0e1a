//! Random kernels as plain Rust, compiled by rustc: the interpreter against the compiler that the language follows.
//!
//! Law: without views and floats of 16 bits the text of a kernel is Rust, but for its tensors; what rustc makes of it is what the
//! interpreter gives. Integers wrap, as in a release build; what panics there (`i8::MIN / -1`) is left out.

pub mod packed;

use crate::interpret::{Outcome, Stuck, interpret};
use crate::print;
use crate::run::{Failure, Trial};
use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::walk::{Node, walk};
use crate::words::WORDS;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// Whether rustc has all that it needs.
fn is_plain(kernel: &Kernel) -> bool {
    let half = |ty: &Type| ty.is_half();
    let mut plain = !kernel.together && !kernel.scalars.iter().any(|(ty, _)| half(ty));
    plain &= !kernel.tensors.iter().any(|tensor| half(&tensor.elem));
    plain &= !kernel.vars.iter().any(|var| match var {
        VarType::Scalar(ty) | VarType::Array(ty, _) | VarType::Closure(ty) => half(ty),
        VarType::Pair(types) => types.iter().any(half),
        VarType::Whole(shape) => shape.leaves().iter().any(half),
        VarType::View(_) => true,
    });
    walk(&mut kernel.clone(), &mut |node| {
        plain &= match &node {
            Node::Place(place) => place.steps.is_empty(),
            Node::Expr(Expr::Cast(ty, _) | Expr::Literal { ty, .. }) => !half(ty),
            // Rust leaves open which zero is the smaller one.
            Node::Expr(Expr::Word(word, ty, _)) => {
                !half(ty) && (!ty.is_float() || !matches!(WORDS[*word].name, "min" | "max"))
            }
            Node::Statements(_) | Node::Expr(_) => true,
        };
        false
    });
    plain
}

/// Runs kernels as plain Rust: for each seed that differs, how; and how many ran to their end.
///
/// # Errors
/// Where rustc refuses the text, or the interpreter finds a mistake of the generator.
pub(crate) fn run(
    rustc: &Path,
    folder: &Path,
    trials: &[(u64, Trial)],
) -> Result<(Vec<(u64, Failure)>, usize), String> {
    let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let mut plain: Vec<(u64, &Trial, Outcome)> = vec![];
    for (seed, trial) in trials.iter().filter(|(_, trial)| is_plain(&trial.kernel)) {
        match interpret(&trial.kernel) {
            Ok(outcome) => plain.push((*seed, trial, outcome)),
            // Nothing else would end the program.
            Err(Stuck::TooLong) => {}
            Err(Stuck::Wrong(why)) => return Err(format!("seed {seed}: {why}\n{}", trial.text())),
        }
    }
    let [source, program, input, output] =
        ["kernels.rs", "plain", "plain_input", "plain_output"].map(|name| folder.join(name));
    let mut text =
        String::from("#![allow(warnings, arithmetic_overflow, overflowing_literals, unconditional_panic)]\n");
    let parts = [include_str!("prelude.rs"), include_str!("packed.rs")];
    let _ = writeln!(
        text,
        "mod prelude {{\n{}\nmod packed {{\n{}\n}}\npub use packed::*;\n}}",
        parts[0], parts[1]
    );
    let mut calls = String::new();
    let mut bytes = vec![];
    for (number, (_, trial, _)) in plain.iter().enumerate() {
        let _ = writeln!(text, "mod k{number} {{\nuse super::prelude::*;\n{}\n}}", module(&trial.kernel));
        let _ = writeln!(calls, "    call(k{number}::launch, &mut rest, &mut out);");
        for tensor in &trial.kernel.tensors {
            bytes.extend(tensor.data.iter().flat_map(|value| value.bytes(tensor.elem)));
        }
    }
    text += include_str!("main.rs.in");
    text = text.replace("    // calls\n", &calls);
    std::fs::write(&source, text).map_err(|error| failed("the source", error))?;
    std::fs::write(&input, bytes).map_err(|error| failed("the input", error))?;
    let compiled = Command::new(rustc)
        .args(["--edition=2024", "-C", "overflow-checks=off", "-C", "debug-assertions=off", "-o"])
        .args([&program, &source])
        .output()
        .map_err(|error| failed("rustc", error))?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).into_owned());
    }
    let ran = Command::new(&program).args([&input, &output]).output();
    ran.map_err(|error| failed("the program", error))?;
    let results = std::fs::read(&output).map_err(|error| failed("the output", error))?;
    let mut rest = results.as_slice();
    let (mut found, mut ended) = (vec![], 0);
    for (seed, trial, outcome) in plain {
        let Some((state, after)) = rest.split_first() else { return Err("the program stops".to_owned()) };
        rest = after;
        if *state != 0 {
            continue;
        }
        ended += 1;
        let size: usize =
            trial.kernel.tensors.iter().map(|tensor| tensor.data.len() * tensor.elem.bytes()).sum();
        let (own, after) = rest.split_at(size);
        rest = after;
        if !outcome.left_64_bits {
            found.extend(difference(&trial.kernel, &outcome, own).map(|failure| (seed, failure)));
        }
    }
    Ok((found, ended))
}

/// How the interpreter's result differs from these bytes.
fn difference(kernel: &Kernel, outcome: &Outcome, mut bytes: &[u8]) -> Option<Failure> {
    for (number, (tensor, wanted)) in kernel.tensors.iter().zip(&outcome.tensors).enumerate() {
        let (own, rest) = bytes.split_at(tensor.data.len() * tensor.elem.bytes());
        bytes = rest;
        for (at, (own, wanted)) in own.chunks(tensor.elem.bytes()).zip(wanted).enumerate() {
            let own = Value::of_bytes(tensor.elem, own);
            if !own.same(*wanted) {
                let detail =
                    format!("element {at} of t{number}: rustc gives {own:?}, the interpreter {wanted:?}");
                return Some(Failure::new("the interpreter differs from rustc", detail));
            }
        }
    }
    None
}

/// A kernel and what launches it.
fn module(kernel: &Kernel) -> String {
    let mut text = String::new();
    for (number, (extent, _)) in kernel.dims.iter().enumerate() {
        let _ = writeln!(text, "const D{number}: isize = {extent};");
    }
    text += &print::plain_rust(kernel);
    text += "pub fn launch(bytes: &mut &[u8], out: &mut Vec<u8>) {\n";
    let mut arguments = vec![];
    for (number, tensor) in kernel.tensors.iter().enumerate() {
        let extents = print::numbers(&kernel.shape(number));
        let of = match tensor.elem.kind() {
            Kind::Bool => "|bytes| bytes[0] != 0".to_owned(),
            _ => format!("|bytes| {}::from_le_bytes(bytes.try_into().unwrap())", tensor.elem.name()),
        };
        let _ = writeln!(text, "    let t{number} = Tensor::new(&[{extents}], bytes, {of});");
        arguments.push(format!("&t{number}"));
    }
    let scalars = kernel.scalars.iter().map(|(ty, value)| match ty.kind() {
        Kind::Float(bytes) => {
            let bits = value.bytes(*ty).iter().rev().fold(0, |all: u64, byte| all << 8 | u64::from(*byte));
            format!("{}::from_bits({bits} as u{})", ty.name(), 8 * bytes)
        }
        Kind::Bool => value.truth().to_string(),
        Kind::Integer(..) | Kind::Index => format!("({}i128 as {})", value.int(), ty.name()),
    });
    arguments.extend(scalars);
    let (grid, block) = (kernel.grid, kernel.block);
    let _ = writeln!(text, "    run({grid}, {block}, || random({}));", arguments.join(", "));
    for (number, tensor) in kernel.tensors.iter().enumerate() {
        let bytes = if tensor.elem == Type::Bool { "[u8::from(value)]" } else { "value.to_le_bytes()" };
        let _ = writeln!(text, "    t{number}.elements().for_each(|value| out.extend({bytes}));");
    }
    text + "}\n"
}
