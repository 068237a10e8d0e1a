//! What the macro does with a kernel, step by step; it reads as a table of contents.

use crate::attr::Attribute;
use crate::attr::VARIANTS;
use crate::expand::{self, Compiled};
use crate::library::with_library;
use crate::lower::{self, Lowered};
use crate::report::Errors;
use crate::signature::Signature;
use crate::span::Place;
use crate::stub::Face;
use crate::{attr, depth, signature};
use layout_compiler::emit::emit;
use layout_compiler::ir::{ArgumentKind, Parameter};
use layout_compiler::program::{Part, walk};
use layout_compiler::{Checked, CudaSource, Kernel, Missing, ParamSet, ParamValue, Promises, small_grid};
use proc_macro2::{Ident, TokenStream};
use syn::ItemFn;

/// The text of one variant.
pub struct Text {
    /// The variant's key.
    pub key: String,
    /// Its parameters.
    pub parameters: ParamSet,
    /// What it relies on.
    pub promises: Promises,
    /// CUDA C.
    pub source: CudaSource,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Bytes of shared memory that a block takes.
    pub shared_bytes: u32,
}

/// A kernel that was read: its parts in Rust's syntax, and what layout-core has of it.
pub struct Read {
    attribute: Attribute,
    signature: Signature,
    function: ItemFn,
    /// The kernel, of use where there was no error.
    pub lowered: Lowered,
}

/// From the tokens of the attribute and of the function to the kernel; `None` where they are no function.
pub fn read(attribute: TokenStream, item: TokenStream, errors: &mut Errors) -> Option<Read> {
    for tokens in [&attribute, &item] {
        if let Some(group) = depth::too_deep(tokens) {
            errors.push(
                Place { start: group.span_open(), end: group.span_close() },
                "this nests too deep",
                format!(
                    "at most {} groups and {} tokens within one another: bind parts with `let`",
                    depth::GROUPS,
                    depth::TOKENS
                ),
            );
        }
    }
    if !errors.is_empty() {
        return None;
    }
    let attribute = attr::parse(attribute, errors);
    let function = match syn::parse2::<ItemFn>(item) {
        Ok(function) => function,
        Err(error) => {
            errors.syntax(&error);
            return None;
        }
    };
    refuse_attributes(&function, errors);
    let signature = signature::parse(&function.sig, errors);
    let lowered = lower::lower(&attribute, &signature, &with_library(&function), errors);
    Some(Read { attribute, signature, function, lowered })
}

/// What takes the function's place.
pub fn run(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(read) = read(attribute, item.clone(), &mut errors) else {
        return without_function(item, &errors);
    };
    let Read { attribute, signature, function, lowered } = read;
    let sets = if errors.is_empty() { sets(&lowered, &mut errors) } else { vec![] };
    let copy = expand::checked_copy(&attribute, &lowered, &sets, &signature, &function);
    let face = Face::of(&function, signature);
    let (texts, unwritten) =
        if errors.is_empty() { texts(&lowered, sets, &mut errors) } else { Default::default() };
    if function.sig.receiver().is_some() {
        // In an `impl`, where no module may be.
        return errors.tokens();
    }
    if !errors.is_empty() {
        return expand::module_with_errors(&face, &errors, &copy);
    }
    let warning = small_grid(&lowered.kernel).map(|(entry, Missing { found, help })| {
        let place = lowered.places[lowered.kernel.expr(entry).origin.0 as usize];
        (Ident::new("grid", place.start), format!("{found}; {help}"))
    });
    let Lowered { kernel, configuration, unused, .. } = lowered;
    expand::module(&face, &Compiled { kernel, configuration, texts, copy, unused, unwritten, warning })
}

/// The parameter sets that the attribute lists.
fn sets(lowered: &Lowered, errors: &mut Errors) -> Vec<ParamSet> {
    match lowered.kernel.listed() {
        Ok(sets) => sets,
        Err(found) => {
            found.as_slice().iter().for_each(|error| errors.stage(error, &lowered.places));
            vec![]
        }
    }
}

/// The text of each parameter set, and of each `variant_if`: the stages of layout-core, one after the other; and the `&mut` tensors that
/// none of them writes.
fn texts(lowered: &Lowered, sets: Vec<ParamSet>, errors: &mut Errors) -> (Vec<Text>, Vec<String>) {
    let Lowered { kernel, places, .. } = lowered;
    let conditions = (0..kernel.variant_if.len() as u32).map(Some);
    let promises: Vec<Promises> = std::iter::once(None)
        .chain(conditions)
        .map(|variant_if| Promises { variant_if, ..Promises::USUAL })
        .collect();
    let count = sets.len() * promises.len();
    if count > VARIANTS {
        errors.push(
            places.first().copied().unwrap_or(Place::token(proc_macro2::Span::call_site())),
            format!("the attribute's lists make {count} variants"),
            format!(
                "at most {VARIANTS} are compiled: choose of them, `filter(..)`; other parameter sets can be launched \
                 without being listed"
            ),
        );
        return Default::default();
    }
    let (mut texts, mut unwritten) = (vec![], mutable_tensors(kernel));
    for parameters in sets {
        for promises in &promises {
            match layout_compiler::compile(kernel, &parameters, *promises) {
                Ok(checked) => {
                    if !unwritten.is_empty() {
                        let written = written(&checked);
                        unwritten.retain(|name| !written.contains(name));
                    }
                    texts.push(Text {
                        key: format!("{}{}", parameters.key(), promises.suffix()),
                        parameters: parameters.clone(),
                        promises: *promises,
                        block: checked.plan().block,
                        shared_bytes: checked.plan().shared_bytes,
                        source: emit(&checked),
                    });
                }
                Err(found) => found.as_slice().iter().for_each(|error| errors.stage(error, places)),
            }
        }
    }
    (texts, unwritten)
}

/// The tensors that take a `&mut` of a variant: written by threads or by TMA, or read by atomic operations.
fn written(checked: &Checked) -> Vec<String> {
    let (plan, mut found) = (checked.plan(), vec![]);
    walk::statements(checked.body(), &mut |part| {
        if let Part::Write(access) = part {
            found.push(checked.tables().place(access.place).name.clone());
        }
    });
    let stored = plan.maps.iter().filter(|map| map.stored);
    found.extend(stored.map(|map| plan.arguments[map.argument as usize].name.clone()));
    found
}

/// The `&mut` tensors of a kernel; none where a truth value of the attribute may leave out what writes them.
fn mutable_tensors(kernel: &Kernel) -> Vec<String> {
    let is_choice = |own: &Parameter| own.values.iter().any(|value| matches!(value, ParamValue::Bool(_)));
    if kernel.parameters.iter().any(is_choice) {
        return vec![];
    }
    let tensors = kernel.arguments.iter();
    let mutable = tensors.filter(|own| matches!(own.kind, ArgumentKind::Tensor { mutable: true, .. }));
    mutable.map(|own| own.name.clone()).collect()
}

/// What takes the place of tokens that are no function.
fn without_function(item: TokenStream, errors: &Errors) -> TokenStream {
    match Face::recover(item) {
        Some(face) => expand::module_with_errors(&face, errors, &TokenStream::new()),
        None => errors.tokens(),
    }
}

fn refuse_attributes(function: &ItemFn, errors: &mut Errors) {
    for attribute in function.attrs.iter().filter(|attribute| !expand::is_kept(attribute)) {
        errors.push(
            Place::of(attribute),
            "this attribute has no meaning for a kernel",
            "documentation, `cfg` and lint levels are kept; leave the others out",
        );
    }
}

/// What takes the function's place after a panic of this crate or of a stage.
pub fn after_panic(item: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    errors.push(
        Place::token(proc_macro2::Span::call_site()),
        "the kernel compiler failed on this kernel",
        "this is a mistake of the compiler, not of the kernel: please report it with the kernel's text",
    );
    without_function(item, &errors)
}
