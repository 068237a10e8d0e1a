//! Emitted CUDA C as C++ of the host: many kernels in one text, compiled with checks for what C++ leaves undefined.
//!
//! Law: a kernel whose threads do not talk gives, one thread after the other, what the simulator gives; no guard zone
//! beside a tensor is touched, and nothing undefined happens.

use crate::run::{Failure, Stored, Trial, bits};
use layout_compiler::emit;
use layout_compiler::launch::KernelParameter;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One launch of one variant, and what the simulator made of it.
pub(crate) struct Launch {
    /// The variant's suffix.
    pub suffix: String,
    text: String,
    entry: String,
    grid: u32,
    block: u32,
    tensors: Vec<(Stored, usize)>,
    /// 0 and a word, or the number of a tensor from 1.
    words: Vec<(u64, u64)>,
    wanted: Vec<Stored>,
}

/// The host's C++ compiler: `CXX`, or one of the usual names.
pub fn compiler() -> Option<PathBuf> {
    let names = std::env::var("CXX").map_or(vec!["g++".to_owned(), "clang++".to_owned()], |name| vec![name]);
    let works =
        |name: &String| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    names.into_iter().find(works).map(PathBuf::from)
}

impl Trial {
    /// The launches of its variants; none where its threads meet.
    pub(crate) fn host_launches(&self) -> Vec<Launch> {
        if self.kernel.together {
            return vec![];
        }
        let Ok(variants) = self.variants() else { return vec![] };
        let stored = || (0..self.kernel.tensors.len()).map(|tensor| Stored::of(&self.kernel, tensor));
        let mut launches = vec![];
        for variant in &variants {
            let before: Vec<Stored> = stored().collect();
            let Ok(Some(bound)) = self.bound(variant, &before) else { continue };
            // What is outside is no mistake here: it must not be touched.
            let Ok(Some(wanted)) = self.launch(variant, true) else { continue };
            let source = emit(&variant.checked);
            let parameters = &variant.checked.plan().parameters;
            let words = parameters.iter().zip(&bound.values).map(|(parameter, value)| match parameter {
                KernelParameter::Pointer(tensor) => (u64::from(*tensor) + 1, 0),
                KernelParameter::Scalar(argument) => {
                    let (ty, value) = self.kernel.scalars[*argument as usize - self.kernel.tensors.len()];
                    (0, bits(ty, value))
                }
                _ => (0, *value as u64),
            });
            launches.push(Launch {
                suffix: variant.promises.suffix(),
                text: source.text,
                entry: source.entry,
                grid: bound.grid[0],
                block: bound.block[0],
                words: words.collect(),
                tensors: before
                    .into_iter()
                    .zip(&self.kernel.tensors)
                    .map(|(stored, tensor)| {
                        if tensor.aligned {
                            (stored, 0)
                        } else {
                            let at = stored.elem.bytes() % 16;
                            (stored, at)
                        }
                    })
                    .collect(),
                wanted,
            });
        }
        launches
    }
}

/// The kernels' definitions of device functions that say what they do in PTX go: the shim has others.
fn without_ptx(text: &str) -> String {
    let paragraphs = text.split("\n\n").filter(|part| !(part.contains("__device__") && part.contains("asm")));
    paragraphs.collect::<Vec<_>>().join("\n\n").replace("extern \"C\" __global__", "static")
}

/// Compiles and runs launches; for each what is wrong with it, if anything.
///
/// # Errors
/// Where the compiler or the program cannot be run.
pub(crate) fn run(
    compiler: &Path,
    folder: &Path,
    launches: &[Launch],
) -> Result<Vec<Option<Failure>>, String> {
    let mut found: Vec<Option<Failure>> = launches.iter().map(|_| None).collect();
    let failed = |what: &str, error: std::io::Error| format!("{what}: {error}");
    let [source, program, input, output] =
        ["kernels.cpp", "kernels", "input", "output"].map(|name| folder.join(name));
    // What the compiler refuses goes, and the others are compiled again.
    loop {
        let left: Vec<(usize, &Launch)> =
            launches.iter().enumerate().filter(|(n, _)| found[*n].is_none()).collect();
        std::fs::write(&source, text(&left)).map_err(|error| failed("the source", error))?;
        let compiled = Command::new(compiler)
            .args(["-std=c++17", "-O0", "-w", "-ffp-contract=off", "-fno-strict-aliasing"])
            .args(["-fsanitize=undefined,float-cast-overflow", "-o"])
            .args([&program, &source])
            .output()
            .map_err(|error| failed("the compiler", error))?;
        if !compiled.status.success() {
            let log = String::from_utf8_lossy(&compiled.stderr);
            let before = found.iter().flatten().count();
            for (number, launch) in left {
                let own = |line: &&str| line.starts_with(&format!("k{number}:")) && line.contains("error:");
                if let Some(line) = log.lines().find(own) {
                    let detail = format!("variant `{}`: {line}", launch.suffix);
                    found[number] = Some(Failure::new("the host's compiler refuses the text", detail));
                }
            }
            if found.iter().flatten().count() == before {
                return Err(log.into_owned());
            }
            continue;
        }
        std::fs::write(&input, bytes(&left)).map_err(|error| failed("the input", error))?;
        let ran = Command::new(&program).args([&input, &output]).output();
        let ran = ran.map_err(|error| failed("the program", error))?;
        let log = String::from_utf8_lossy(&ran.stderr);
        let results = std::fs::read(&output).map_err(|error| failed("the output", error))?;
        let mut rest = results.as_slice();
        for (number, launch) in left {
            found[number] = judge(number, launch, &log, &mut rest);
        }
        return Ok(found);
    }
}

/// The C++ of launches.
fn text(launches: &[(usize, &Launch)]) -> String {
    let mut text = include_str!("shim.hpp").to_owned();
    let mut calls = String::new();
    for (number, launch) in launches {
        let own = without_ptx(&launch.text);
        let _ = write!(text, "namespace k{number} {{\n#line 1 \"k{number}\"\n{own}\n}}\n");
        let call = format!("launch(k{number}::{});", launch.entry);
        let _ = writeln!(calls, "    fprintf(stderr, \"launch k{number}\\n\"), {call}");
    }
    let open = "    in = fopen(names[1], \"rb\");\n    out = fopen(names[2], \"wb\");\n";
    let _ = write!(text, "int main(int, char** names) {{\n{open}{calls}    return 0;\n}}\n");
    text
}

/// What the program reads.
fn bytes(launches: &[(usize, &Launch)]) -> Vec<u8> {
    let mut out: Vec<u8> = vec![];
    let put = |out: &mut Vec<u8>, word: u64| out.extend(word.to_le_bytes());
    for (_, launch) in launches {
        put(&mut out, launch.grid.into());
        put(&mut out, launch.block.into());
        put(&mut out, launch.tensors.len() as u64);
        for (stored, offset) in &launch.tensors {
            put(&mut out, stored.bytes.len() as u64);
            put(&mut out, *offset as u64);
            out.extend(&stored.bytes);
        }
        put(&mut out, launch.words.len() as u64);
        for (tensor, word) in &launch.words {
            put(&mut out, *tensor);
            put(&mut out, *word);
        }
    }
    out
}

/// What is wrong with a launch: its lines of the log, its bytes of the output.
fn judge(number: usize, launch: &Launch, log: &str, rest: &mut &[u8]) -> Option<Failure> {
    let suffix = &launch.suffix;
    let mut lines = log.lines().skip_while(|line| *line != format!("launch k{number}")).skip(1);
    let undefined = lines
        .by_ref()
        .take_while(|line| !line.starts_with("launch k"))
        .find(|line| line.contains("runtime error"));
    let mut found = undefined
        .map(|line| Failure::new("the host's C++ is undefined", format!("variant `{suffix}`: {line}")));
    for (tensor, wanted) in launch.wanted.iter().enumerate() {
        let size = wanted.bytes.len() + 1;
        if rest.len() < size {
            return Some(Failure::new("the host's C++ stops", format!("variant `{suffix}`: {log}")));
        }
        let (own, other) = rest.split_at(size);
        *rest = other;
        if found.is_some() {
            continue;
        }
        if own[0] == 0 {
            found = Some(Failure::new(
                "something outside of a tensor is written",
                format!("variant `{suffix}`: beside t{tensor}"),
            ));
        } else if let Some(difference) =
            (Stored { bytes: own[1..].to_vec(), ..wanted.clone() }).difference(&wanted.values())
        {
            let detail = format!("variant `{suffix}`: t{tensor}{difference}");
            found = Some(Failure::new("the host's C++ differs from the simulator", detail));
        }
    }
    found
}
