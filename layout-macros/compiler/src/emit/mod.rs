//! CUDA C from a checked kernel: include-free, deterministic, written to be read.
//!
//! ```text
//! // device functions that the kernel calls
//! extern "C" __global__ void __launch_bounds__(256) name_KEY(pointers, scalars, dimensions, strides) {
//!     index registers that it reads, as `int`
//!     shared memory
//!     the kernel's statements
//! }
//! ```
//!
//! Laws: the text has the kernel's meaning (`program.rs`); equal kernels give equal texts; NVRTC compiles it
//! without a header; [`CudaSource::lines`] has one entry for each line.

mod accumulator;
mod alias;
mod choice;
mod cuda_c;
mod device;
mod expression;
mod hint;
mod index;
mod matrix;
mod message;
mod names;
mod operation;
mod placement;
mod tensor_memory;
#[cfg(test)]
mod tests;
mod together;
mod types;
mod value;
mod vector;
mod wrap;
mod wrappers;
mod writer;

use super::check::Checked;
use super::index::{Atom, Index, Width};
use super::ir::Special;
use super::launch::{KernelParameter, PlanArgumentKind};
use super::program::{Operation, Part, PlaceId, Space, StatementKind, VariableKind, walk};
use cuda_c::Emitter;
use expression::Expression;
use names::Name;
use std::collections::{BTreeMap, BTreeSet};

/// The text of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaSource {
    /// The name of the function in it.
    pub entry: String,
    /// The text.
    pub text: String,
    /// For each line of the text the line of the kernel's Rust file, 0 for none.
    pub lines: Vec<u32>,
    /// NVRTC's options besides the architecture.
    pub flags: &'static [&'static str],
}

/// NVRTC's options for a kernel with an `opt_level`, or with `fast_math`.
pub fn flags(checked: &Checked) -> &'static [&'static str] {
    match (checked.head.opt_level, checked.head.fast_math) {
        (Some(0), false) => &["--ptxas-options=-O0"],
        (Some(1), false) => &["--ptxas-options=-O1"],
        (Some(2), false) => &["--ptxas-options=-O2"],
        (_, false) => &[],
        (Some(0), true) => &["--ptxas-options=-O0", "--use_fast_math"],
        (Some(1), true) => &["--ptxas-options=-O1", "--use_fast_math"],
        (Some(2), true) => &["--ptxas-options=-O2", "--use_fast_math"],
        (_, true) => &["--use_fast_math"],
    }
}

/// The most shared memory of a block that a kernel may declare with a size, bytes; beyond it is asked for at launch.
pub const STATIC_SHARED_LIMIT: u32 = 48 * 1024;

/// The name of the CUDA function: [`Checked::entry`], or a like one where that is a word of C (`signed_2`).
pub fn entry_name(checked: &Checked) -> String {
    names::entry(checked.entry())
}

/// Bytes of shared memory to ask for at launch: 0 where the text declares its arrays with their sizes, which it does
/// up to [`STATIC_SHARED_LIMIT`].
pub fn dynamic_shared_bytes(checked: &Checked) -> u32 {
    if checked.plan.shared_bytes <= STATIC_SHARED_LIMIT { 0 } else { checked.plan.shared_bytes }
}

/// The CUDA C of a kernel. Cannot fail.
pub fn emit(checked: &Checked) -> CudaSource {
    let mut emitter = Emitter::new(checked);
    let entry = entry_name(checked);
    emitter.names.fresh(&entry);
    emitter.head(&entry);
    emitter.writer.indent();
    emitter.registers();
    emitter.policies();
    let locals = emitter.places();
    emitter.writer.end_paragraph();
    emitter.list(&checked.body, locals);
    emitter.writer.dedent();
    emitter.writer.line(0, "}");

    if emitter.negates.get() {
        emitter.device.call("wrapping_neg(long long ");
    }
    let (body, lines) = emitter.writer.finish();
    let device = emitter.device.text();
    let head = types::typedefs(&(device.clone() + &body)) + &device;
    let lines = head.lines().map(|_| 0).chain(lines).collect();
    CudaSource { entry, text: head + &body, lines, flags: flags(checked) }
}

impl Emitter<'_> {
    /// `extern "C" __global__ void ..(..) {`
    fn head(&mut self, entry: &str) {
        let plan = &self.checked.plan;
        let flags = flags(self.checked);
        if !flags.is_empty() {
            self.writer.line(0, &format!("// For NVRTC with {}.", flags.join(" ")));
        }
        let threads: u64 = plan.block.iter().map(|extent| u64::from(*extent)).product();
        let blocks = self.checked.head.min_blocks.map_or(String::new(), |blocks| format!(", {blocks}"));
        let cluster = match plan.cluster {
            [0 | 1, 0 | 1, 0 | 1] => String::new(),
            [x, y, z] => format!("__cluster_dims__({x}, {y}, {z}) "),
        };
        let head =
            format!("extern \"C\" __global__ void {cluster}__launch_bounds__({threads}{blocks}) {entry}(");
        let parameters: Vec<String> =
            plan.parameters.iter().map(|parameter| self.parameter(*parameter)).collect();
        let joined = parameters.join(", ");
        if head.len() + joined.len() + ") {".len() <= self.writer.room() {
            return self.writer.line(0, &format!("{head}{joined}) {{"));
        }
        self.writer.line(0, &head);
        self.writer.indent();
        if joined.len() <= self.writer.room() {
            self.writer.line(0, &joined);
        } else {
            for (i, parameter) in parameters.iter().enumerate() {
                let comma = if i + 1 < parameters.len() { "," } else { "" };
                self.writer.line(0, &format!("{parameter}{comma}"));
            }
        }
        self.writer.dedent();
        self.writer.line(0, ") {");
    }

    fn parameter(&mut self, parameter: KernelParameter) -> String {
        let plan = &self.checked.plan;
        let argument = |number: u32| plan.arguments.get(number as usize);
        let named = |number: u32| argument(number).map_or("argument", |argument| argument.name.as_str());
        let index = Width::of_sizes(plan.promises.narrow).name();
        let (kind, name, wanted) = match parameter {
            KernelParameter::Pointer(number) => {
                let kind = match argument(number).map(|argument| &argument.kind) {
                    Some(PlanArgumentKind::Tensor { elem, mutable, .. }) => {
                        let constness = if *mutable { "" } else { "const " };
                        // Through its map TMA reads and writes the same memory.
                        let mapped = plan.maps.iter().any(|map| map.argument == number);
                        let shared = mapped && *mutable || self.ambiguous.contains(&number);
                        let alone = if shared { "" } else { " __restrict__" };
                        format!("{constness}{}*{alone}", types::scalar(*elem))
                    }
                    Some(PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index) | None => "void*".to_owned(),
                };
                (kind, Name::Argument(number), named(number).to_owned())
            }
            KernelParameter::TensorMap(number) => {
                let map = plan.maps.get(number as usize);
                let wanted = map.map_or("tensor", |map| named(map.argument));
                let kind = "const __grid_constant__ TensorMap".to_owned();
                (kind, Name::Map(number), format!("{wanted}_map"))
            }
            KernelParameter::GridCounter => {
                ("unsigned int*".to_owned(), Name::GridCounter, "grid_arrived".to_owned())
            }
            KernelParameter::Failure => {
                ("unsigned long long*".to_owned(), Name::Failure, "failure".to_owned())
            }
            KernelParameter::Scalar(number) => {
                let kind = match argument(number).map(|argument| &argument.kind) {
                    Some(PlanArgumentKind::Scalar(elem)) => types::scalar(*elem),
                    Some(PlanArgumentKind::Tensor { .. } | PlanArgumentKind::Index) | None => index,
                };
                (kind.to_owned(), Name::Argument(number), named(number).to_owned())
            }
            KernelParameter::Index(number) => {
                (index.to_owned(), Name::Argument(number), named(number).to_owned())
            }
            KernelParameter::Dim(number) => {
                let wanted = plan.dims.get(number as usize).map_or("dim", String::as_str);
                (index.to_owned(), Name::Dim(number), wanted.to_owned())
            }
            KernelParameter::Stride { argument, mode } => {
                (index.to_owned(), Name::Stride(argument, mode), names::stride(named(argument), mode))
            }
        };
        let name = self.names.declare(name, &wanted);
        format!("{kind} {name}")
    }

    /// Binds CUDA's index registers, which are unsigned, to `int`s: index arithmetic may be negative. Where warpgroups
    /// multiply, the text says so that the compiler sees that a warp is of one warpgroup: so matrix descriptors stay in uniform registers.
    fn registers(&mut self) {
        let mut used: BTreeSet<(Special, u32)> = BTreeSet::new();
        let mut group = None;
        let table = &self.tables.atoms;
        let mut scan = |index: &Index| {
            table.each(index, &mut |id| match table.atom(id) {
                Atom::Special(special, axis) => drop(used.insert((*special, *axis))),
                atom if index::is_warp_group(table, atom) => group = Some(id),
                _ => {}
            });
        };
        walk::statements(&self.checked.body, &mut |part| match part {
            Part::Index(index) => scan(index),
            // A register that the kernel itself gives a name needs no other.
            Part::Bound(variable, index) => {
                let pointer = matches!(self.tables.variable(variable).kind, VariableKind::Pointer(_));
                let register = index.as_atom().is_some_and(|id| matches!(table.atom(id), Atom::Special(..)));
                if pointer || !register {
                    scan(index);
                }
            }
            _ => {}
        });
        for (special, axis) in used {
            let name = self.names.declare(Name::Special(special, axis), &names::special(special, axis));
            self.line(&format!("int {name} = {};", names::register(special, axis)));
        }
        // Of more dimensions a warp may have threads of several rows; and every lane that is asked has to be there.
        if let Some(group) = group
            && matches!(self.checked.plan.block, [threads, 1, 1] if threads % 32 == 0)
            && self.multiplies()
        {
            // Printed before it has a name, as what it is.
            let value = Expression::call("warp_uniform", vec![self.index(&Index::atom(group))]);
            self.device.call("warp_uniform(");
            let name = self.names.declare(Name::WarpGroup, "warp_group");
            self.set(&format!("int {name} ="), &value);
        }
    }

    /// Whether a warpgroup multiplies matrices.
    fn multiplies(&self) -> bool {
        let mut found = false;
        walk::statements(&self.checked.body, &mut |part| {
            found |= matches!(part, Part::Statement(one) if matches!(one.kind, StatementKind::Operation(Operation::Wgmma(_))));
        });
        found
    }

    /// Declares the pointer by which an argument or an allocation is accessed as elements of another type.
    fn second_type(&mut self, place: PlaceId) {
        let (facts, own) = (self.tables.place(place), self.tables.memory(place));
        let constness = if facts.mutable { "" } else { "const " };
        let kind = format!("{constness}{}*", types::scalar(facts.elem));
        let name = self.names.declare(Name::Place(place), &format!("{}_{}", facts.name, facts.elem));
        let value = format!("reinterpret_cast<{kind}>({})", self.place(own));
        self.line(&format!("{kind} {name} = {value};"));
    }

    /// Declares shared memory; gives the local places, in order, which their first use declares.
    fn places(&mut self) -> Vec<PlaceId> {
        let mut used = BTreeSet::new();
        walk::statements(&self.checked.body, &mut |part| match part {
            Part::Read(access) | Part::Write(access) => {
                used.insert(access.place);
            }
            Part::Declared(variable) => {
                if let VariableKind::Pointer(place) = self.tables.variable(variable).kind {
                    used.insert(place);
                }
            }
            Part::Barrier(place) => drop(used.insert(place)),
            _ => {}
        });
        let dynamic = dynamic_shared_bytes(self.checked) > 0;
        let mut shared: BTreeMap<(u32, PlaceId), PlaceId> = BTreeMap::new();
        let (mut locals, mut second) = (Vec::new(), BTreeSet::new());
        let tables = self.tables;
        for place in used {
            let mut declare = |place: PlaceId| {
                let own = tables.memory(place);
                if let Space::Shared { byte_offset } = tables.place(own).space {
                    shared.insert((byte_offset, own), own);
                }
                second.extend((own != place).then_some(place));
            };
            match self.tables.place(place).space {
                Space::Global(_) => second.extend((self.tables.memory(place) != place).then_some(place)),
                Space::Shared { .. } => declare(place),
                Space::Remote { of, .. } => {
                    self.device.call("map_shared_rank(");
                    declare(of);
                }
                // Its address is a variable.
                Space::Tensor { .. } => {}
                Space::Local => locals.push(place),
            }
        }
        // Places of branches that exclude each other are in one another's memory.
        let ends = shared.iter().map(|((from, _), place)| {
            let facts = self.tables.place(*place);
            (u64::from(*from), u64::from(*from) + facts.len * u64::from(facts.elem.bytes()))
        });
        let ends: Vec<(u64, u64)> = ends.collect();
        let overlaps = ends.windows(2).any(|pair| pair[1].0 < pair[0].1);
        let one = (dynamic || overlaps) && !shared.is_empty();
        let mut memory = String::new();
        if one {
            memory = self.names.fresh("shared_memory");
            let bytes = self.checked.plan.shared_bytes;
            self.line(&match dynamic {
                true => format!("extern __shared__ __align__(1024) unsigned char {memory}[];"),
                false => format!("__shared__ __align__(1024) unsigned char {memory}[{bytes}];"),
            });
        }
        for ((byte_offset, _), place) in shared {
            let facts = self.tables.place(place);
            let name = self.names.declare(Name::Place(place), &facts.name);
            let scalar = types::scalar(facts.elem);
            self.at(facts.origin);
            if one {
                let from =
                    if byte_offset == 0 { memory.clone() } else { format!("{memory} + {byte_offset}") };
                self.line(&format!("{scalar}* {name} = reinterpret_cast<{scalar}*>({from});"));
            } else {
                let align = cuda_c::alignment(facts.align, facts.elem.bytes());
                self.line(&format!("__shared__ {align}{scalar} {name}[{}];", facts.len.max(1)));
            }
        }
        second.into_iter().for_each(|place| self.second_type(place));
        locals
    }
}
