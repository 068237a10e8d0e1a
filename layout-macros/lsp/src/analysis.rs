//! What the compiler has of a text: its kernels, each compiled for one parameter set, and all that is wrong.
//!
//! Law: a kernel that is as it was, with its places, is not compiled again. A text that is no Rust leaves the kernels of the
//! last one that was, and has one error.

use crate::settings::{Settings, set_of};
use crate::text::Text;
use layout_compiler::{
    BankConflict, Checked, Errors, ExplainedView, Explanation, Kernel, Position, Promises, bank_conflicts,
    compile, explain, views,
};
use layout_text::{Elsewhere, File, FileKernel, Source, TextError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// An error with its range.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Where it begins, and ends.
    pub range: (Position, Position),
    /// What is wrong, and the way out.
    pub message: String,
    /// Where in another file.
    pub elsewhere: Option<Elsewhere>,
    /// The stage: `syntax`, `read`, `module`, `compile`.
    pub stage: &'static str,
}

/// A variant of a kernel, with what is said of it.
#[derive(Debug)]
pub struct Variant {
    /// The variant.
    pub checked: Checked,
    /// Its accesses.
    pub explanation: Explanation,
    /// Its views.
    pub views: Vec<ExplainedView>,
    /// Its bank conflicts.
    pub conflicts: Vec<BankConflict>,
}

/// What compiling a kernel gives.
#[derive(Debug, Default)]
pub struct Compiled {
    /// The variant that is shown: of the first `variant_if` where there is one.
    pub variant: Option<Variant>,
    /// What the stages refuse.
    pub faults: Vec<Fault>,
}

/// A kernel of the file.
#[derive(Clone, Debug)]
pub struct Known {
    /// As it is in the text.
    pub file: FileKernel,
    /// What is made of it.
    pub compiled: Rc<Compiled>,
}

/// What the compiler has of a text.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The text of the kernels: the last that was Rust.
    pub text: Text,
    /// The kernels.
    pub kernels: Vec<Known>,
    /// What is wrong with the present text.
    pub faults: Vec<Fault>,
    /// Modules of functions that were not found.
    pub missing: Vec<(String, Position)>,
    /// Where modules of kernels begin, and end.
    pub modules: Vec<(Position, Position)>,
}

impl Analysis {
    /// Of a text, after that of an earlier one.
    pub fn of(
        text: &str,
        settings: &Settings,
        earlier: Analysis,
        other: &mut dyn FnMut(&str) -> Option<Source>,
    ) -> Analysis {
        // A file of plain Rust is rust-analyzer's.
        if !text.contains("tiled_kernel") {
            return Analysis::default();
        }
        let read = catch_unwind(AssertUnwindSafe(|| layout_text::file(text, other)));
        let File { kernels, errors, missing, modules, .. } = match read {
            Ok(Ok(file)) => file,
            Ok(Err(error)) => return Analysis { faults: vec![fault(error, "syntax")], ..earlier },
            Err(_) => {
                return Analysis {
                    faults: vec![failed((Position::default(), Position::default()))],
                    ..earlier
                };
            }
        };
        let known = |own: &FileKernel| {
            let mut earlier = earlier.kernels.iter();
            let like = |known: &&Known| {
                matches!((&known.file.kernel, &own.kernel), (Ok(old), Ok(new)) if old == new)
                    && known.file.ends == own.ends
            };
            earlier.find(like).map(|known| Rc::clone(&known.compiled))
        };
        let kernels = kernels.into_iter().map(|file| {
            let compiled = known(&file).unwrap_or_else(|| Rc::new(compiled(&file, settings)));
            Known { file, compiled }
        });
        let kernels: Vec<Known> = kernels.collect();
        let mut faults: Vec<Fault> = errors.into_iter().map(|error| fault(error, "module")).collect();
        kernels.iter().for_each(|known| faults.extend(known.compiled.faults.iter().cloned()));
        Analysis { text: Text::new(text), kernels, faults, missing, modules }
    }

    /// The variants, each with its kernel.
    pub fn variants(&self) -> impl Iterator<Item = (&Known, &Variant)> {
        self.kernels.iter().filter_map(|known| Some((known, known.compiled.variant.as_ref()?)))
    }

    /// The kernel around a line, which counts from 1.
    pub fn kernel_at(&self, line: u32) -> Option<&Known> {
        let around = |known: &&Known| (known.file.whole.0.line..=known.file.whole.1.line).contains(&line);
        self.kernels.iter().find(around)
    }

    /// Whether a line, from 1, is of the kernel language.
    pub fn in_language(&self, line: u32) -> bool {
        let module = |(start, end): &(Position, Position)| (start.line..=end.line).contains(&line);
        self.kernel_at(line).is_some() || self.modules.iter().any(module)
    }
}

fn fault(error: TextError, stage: &'static str) -> Fault {
    Fault { range: (error.start, error.end), message: error.message, elsewhere: error.elsewhere, stage }
}

fn failed(range: (Position, Position)) -> Fault {
    let message = "the kernel compiler failed on this text\n  = help: this is a mistake of the compiler: please report it with the text";
    Fault { range, message: message.into(), elsewhere: None, stage: "compile" }
}

fn compiled(file: &FileKernel, settings: &Settings) -> Compiled {
    match &file.kernel {
        Err(errors) => {
            let faults = errors.iter().cloned().map(|error| fault(error, "read")).collect();
            Compiled { variant: None, faults }
        }
        Ok(kernel) => {
            let wanted = settings.sets.get(&file.name).map(String::as_str);
            let made = catch_unwind(AssertUnwindSafe(|| variants(kernel, file, wanted)));
            made.unwrap_or_else(|_| Compiled { variant: None, faults: vec![failed(file.named)] })
        }
    }
}

/// The variants of one parameter set, as the macro compiles them.
fn variants(kernel: &Kernel, file: &FileKernel, wanted: Option<&str>) -> Compiled {
    let mut all = Compiled::default();
    let set = match wanted.map(|text| set_of(kernel, text)) {
        None => kernel.listed().map(|sets| sets.into_iter().next().unwrap_or_default()),
        Some(Ok(asked)) => kernel.choose(&asked, &[]),
        Some(Err(message)) => {
            all.faults.push(Fault { range: file.named, message, elsewhere: None, stage: "settings" });
            return all;
        }
    };
    let set = match set {
        Ok(set) => set,
        Err(errors) => {
            all.refused(&errors, kernel, file);
            return all;
        }
    };
    let conditions = (0..kernel.variant_if.len() as u32).map(Some);
    for variant_if in std::iter::once(None).chain(conditions) {
        match compile(kernel, &set, Promises { variant_if, ..Promises::USUAL }) {
            Ok(checked) if variant_if.is_none_or(|number| number == 0) => {
                let (explanation, views) = (explain(&checked), views(&checked));
                let conflicts = bank_conflicts(&checked);
                all.variant = Some(Variant { checked, explanation, views, conflicts });
            }
            Ok(_) => {}
            Err(errors) => all.refused(&errors, kernel, file),
        }
    }
    all
}

impl Compiled {
    /// Adds the errors of a stage, each place once.
    fn refused(&mut self, errors: &Errors, kernel: &Kernel, file: &FileKernel) {
        for error in errors.as_slice() {
            let start = kernel.position(error.origin);
            let end = file.ends.get(error.origin.0 as usize).copied().unwrap_or(start);
            let range = if start.line == 0 { file.named } else { (start, end) };
            if self.faults.iter().all(|known| known.range != range) {
                let message = error.to_string();
                self.faults.push(Fault { range, message, elsewhere: None, stage: "compile" });
            }
        }
    }
}
