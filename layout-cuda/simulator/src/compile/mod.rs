//! The bytecode compiler: from a checked kernel and the values of one launch to a program.
//!
//! Dimensions, strides and index arguments are constants here, so most index arithmetic folds. Uniform values are in
//! scalar registers. Registers are a stack: the end of a statement list frees its registers.
//!
//! An index is reused until one of its variables changes, and its loop-invariant part is computed before the loop. Both
//! are safe because indices have no effect; one that may divide by zero is not moved.

mod access;
mod asynchronous;
mod checks;
mod collectives;
mod index;
mod invariant;
mod matrix;
mod message;
mod statement;
mod tensor_memory;
mod value;

use crate::bytecode::{Bank, Op, Program, Register, ScopedVariable, Site, Sum, Target};
use crate::error::SimulateError;
use crate::options::Options;
use index::Cache;
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::{Atom, AtomId, Index, VarId};
use layout_compiler::launch::KernelParameter;
use layout_compiler::origin::Origin;
use layout_compiler::program::{Pad, Place, PlaceId, Space, Tables, TensorMap};
use std::collections::{BTreeSet, HashMap, HashSet};

/// The maximum number of elements of a local array.
const LOCAL_LIMIT: u64 = 1 << 16;

type Result<T = ()> = std::result::Result<T, SimulateError>;

/// The error of a program that violates an invariant of [`Checked`].
fn malformed(what: impl Into<String>) -> SimulateError {
    SimulateError::Malformed(what.into())
}

/// An argument, as far as the program depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ArgumentValue {
    /// The number of elements.
    Tensor(i64),
    Scalar(Constant),
    Index(i64),
}

#[derive(Clone, Copy, Debug)]
struct Binding {
    register: Register,
    /// The slot that tracks its initialisation, if it was declared without a value.
    slot: Option<u32>,
}

/// The number of registers in use, for each bank.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    f32: u32,
    f64: u32,
    int: u32,
    mask: u32,
    scalars: u32,
}

struct Compiler<'a> {
    tables: &'a Tables,
    bound: &'a Bound,
    maps: &'a [TensorMap],
    arguments: &'a [ArgumentValue],
    strides: HashMap<(u32, u32), i64>,
    program: Program,
    variables: Vec<Option<Binding>>,
    /// First register and first slot of each local place.
    locals: Vec<Option<(u32, u32)>>,
    /// The variables that each atom depends on.
    dependencies: Vec<BTreeSet<VarId>>,
    /// The variables that each enclosing loop changes, the outermost first.
    loops: Vec<BTreeSet<VarId>>,
    cache: Cache,
    /// The number of each site. The whole site is the key, so different accesses have different numbers.
    sites: HashMap<Site, u32>,
    /// Slots that are initialised in every active lane.
    initialised: HashSet<u32>,
    taken: Taken,
    line: u32,
    site: u32,
    origin: Origin,
    /// The accumulators of wgmmas.
    accumulators: BTreeSet<PlaceId>,
    /// Whether the index is of an access, or guards one.
    placing: bool,
    /// Variables computed from atomic loads of a place.
    loaded: BTreeSet<(PlaceId, VarId)>,
    /// For each enclosing `if` the places whose atomic loads its condition depends on.
    guards: Vec<BTreeSet<PlaceId>>,
    /// Whether statements and variables are listed.
    watched: bool,
}

pub(super) fn compile(
    checked: &Checked,
    bound: &Bound,
    arguments: &[ArgumentValue],
    options: &Options,
    watched: bool,
) -> Result<Program> {
    let tables = checked.tables();
    let mut compiler = Compiler {
        tables,
        bound,
        maps: &checked.plan().maps,
        arguments,
        strides: strides(checked, bound),
        program: Program {
            findings: options.findings,
            arithmetic: options.findings && options.arithmetic,
            granule: 1,
            parts: Vec::new(),
            ..Program::default()
        },
        variables: vec![None; tables.variables.len()],
        locals: Vec::new(),
        dependencies: dependencies(tables)?,
        loops: Vec::new(),
        cache: Cache::default(),
        sites: HashMap::new(),
        initialised: HashSet::new(),
        taken: Taken { int: crate::bytecode::AXES, scalars: crate::bytecode::AXES, ..Taken::default() },
        line: 0,
        site: 0,
        origin: Origin(0),
        accumulators: asynchronous::accumulators(checked.body()),
        placing: false,
        loaded: BTreeSet::new(),
        guards: Vec::new(),
        watched,
    };
    if options.findings {
        compiler.loaded = compiler.loaded(checked.body());
    }
    compiler.places(checked.plan().shared_bytes)?;
    compiler.count_registers();
    compiler.list(checked.body())?;
    compiler.emit(Op::End);
    if watched {
        compiler.program.debug.locals =
            compiler.locals.iter().map(|local| local.map(|(register, _)| register)).collect();
    }
    Ok(compiler.program)
}

/// The strides that are parameters of the kernel.
fn strides(checked: &Checked, bound: &Bound) -> HashMap<(u32, u32), i64> {
    let parameters = checked.plan().parameters.iter().zip(&bound.values);
    parameters
        .filter_map(|(parameter, value)| match parameter {
            KernelParameter::Stride { argument, mode } => Some(((*argument, *mode), *value)),
            KernelParameter::Pointer(_)
            | KernelParameter::TensorMap(_)
            | KernelParameter::GridCounter
            | KernelParameter::Failure
            | KernelParameter::Scalar(_)
            | KernelParameter::Index(_)
            | KernelParameter::Dim(_) => None,
        })
        .collect()
}

/// The variables of each atom. An atom consists of earlier ones.
fn dependencies(tables: &Tables) -> Result<Vec<BTreeSet<VarId>>> {
    let mut known: Vec<BTreeSet<VarId>> = Vec::new();
    for (id, facts) in tables.atoms.iter() {
        let mut own = BTreeSet::new();
        match &facts.atom {
            Atom::Variable(variable, _) => {
                own.insert(*variable);
            }
            other => {
                for inner in other.parts().flat_map(Index::atoms) {
                    let inner = known.get(inner.0 as usize).ok_or_else(|| malformed_atom(id))?;
                    own.extend(inner.iter().copied());
                }
            }
        }
        known.push(own);
    }
    Ok(known)
}

fn malformed_atom(id: AtomId) -> SimulateError {
    malformed(format!("atom {} is made of an atom that comes later", id.0))
}

impl Compiler<'_> {
    fn places(&mut self, shared_bytes: u32) -> Result {
        let mut end = u64::from(shared_bytes);
        let mut granule = None;
        self.site(None)?;
        for place in &self.tables.places {
            self.program.names.push(place.name.clone());
            let mut local = None;
            match place.space {
                Space::Global(number) => {
                    let own = self.place(self.tables.memory(PlaceId(self.locals.len() as u32)))?.elem;
                    let parts = &mut self.program.parts;
                    parts.resize(parts.len().max(number as usize + 1), 1);
                    let known = &mut parts[number as usize];
                    *known = (*known).max(own.bytes() / place.elem.bytes());
                }
                Space::Remote { .. } | Space::Tensor { .. } => {}
                Space::Shared { byte_offset } => {
                    let bytes = place.elem.bytes();
                    end = end
                        .max(u64::from(byte_offset).saturating_add(place.len.saturating_mul(bytes.into())));
                    let aligned = if byte_offset % bytes == 0 { bytes } else { 1 };
                    granule = Some(granule.map_or(aligned, |known: u32| known.min(aligned)));
                }
                Space::Local => local = Some(self.local(place)?),
            }
            self.locals.push(local);
        }
        self.program.granule = granule.unwrap_or(1);
        self.program.shared_bytes = u32::try_from(end)
            .ok()
            .filter(|bytes| *bytes <= 1 << 24)
            .ok_or_else(|| malformed(format!("{end} bytes of shared memory")))?;
        Ok(())
    }

    fn local(&mut self, place: &Place) -> Result<(u32, u32)> {
        if place.len > LOCAL_LIMIT {
            return Err(malformed(format!(
                "local tensor `{}` has {} elements, the simulator takes at most {LOCAL_LIMIT}",
                place.name, place.len
            )));
        }
        let (bank, count) = (Bank::of(place.elem), place.len as u32);
        let register = self.take(bank, count);
        let slot = self.slots(count);
        self.program.arrays.push((bank, register, count));
        Ok((register, slot))
    }

    fn slots(&mut self, count: u32) -> u32 {
        let first = self.program.slots;
        self.program.slots += count;
        first
    }

    /// Allocates consecutive registers until the end of the statement list.
    fn take(&mut self, bank: Bank, count: u32) -> u32 {
        let taken = match bank {
            Bank::F32 => &mut self.taken.f32,
            Bank::F64 => &mut self.taken.f64,
            Bank::Int => &mut self.taken.int,
            Bank::Mask => &mut self.taken.mask,
        };
        let first = *taken;
        *taken += count;
        self.count_registers();
        first
    }

    fn take_scalar(&mut self) -> u32 {
        self.taken.scalars += 1;
        self.count_registers();
        self.taken.scalars - 1
    }

    fn count_registers(&mut self) {
        let (program, taken) = (&mut self.program, &self.taken);
        program.f32 = program.f32.max(taken.f32);
        program.f64 = program.f64.max(taken.f64);
        program.int = program.int.max(taken.int);
        program.mask = program.mask.max(taken.mask);
        program.scalars = program.scalars.max(taken.scalars);
    }

    fn emit(&mut self, op: Op) -> usize {
        self.program.code.push(op);
        self.program.lines.push(self.line);
        self.program.code.len() - 1
    }

    fn here(&self) -> u32 {
        self.program.code.len() as u32
    }

    fn position(&self, origin: Origin) -> u32 {
        self.tables.positions.get(origin.0 as usize).map_or(0, |position| position.line)
    }

    /// Sets the line of the next instructions.
    fn at(&mut self, origin: Origin) -> Result {
        self.line = self.position(origin);
        self.origin = origin;
        self.site = self.site(None)?;
        Ok(())
    }

    /// A statement begins.
    fn begin_statement(&mut self) {
        if self.watched {
            self.emit(Op::Statement);
        }
    }

    fn variable(&self, id: VarId) -> Result<Binding> {
        self.variables
            .get(id.0 as usize)
            .copied()
            .flatten()
            .ok_or_else(|| malformed(format!("variable {} is used before its declaration", id.0)))
    }

    fn bind(&mut self, id: VarId, register: Register, slot: Option<u32>) -> Result {
        self.cache.forget(id);
        if self.watched {
            let from = self.here();
            self.program.debug.variables.push(ScopedVariable { id, register, from, to: u32::MAX });
        }
        match self.variables.get_mut(id.0 as usize) {
            Some(binding) => *binding = Some(Binding { register, slot }),
            None => return Err(malformed(format!("there is no variable {}", id.0))),
        }
        Ok(())
    }

    /// The number of a site; equal accesses of one line share it. The rank of another block is part of the site.
    fn site(&mut self, access: Option<&layout_compiler::program::Access>) -> Result<u32> {
        let site = match access {
            None => Site {
                place: u32::MAX,
                elem: Elem::U8,
                bytes: 1,
                width: 1,
                target: Target::None,
                rank: None,
                len: 0,
                cells: 1,
                pad: 0,
                direct: false,
                align: 1,
                vector_align: 1,
                line: self.line,
            },
            Some(access) => {
                let place = self.place(access.place)?;
                let width = access.width.clamp(1, 16);
                let (mut rank, mut cells) = (None, 1);
                let (len, target) = match place.space {
                    Space::Global(number) => match self.arguments.get(number as usize) {
                        Some(ArgumentValue::Tensor(len)) => {
                            let own = self.place(self.tables.memory(access.place))?.elem.bytes();
                            let parts = self.program.parts.get(number as usize).copied().unwrap_or(1);
                            cells = (place.elem.bytes() * parts / own).max(1);
                            (len * i64::from(own) / i64::from(place.elem.bytes()), Target::Global(number))
                        }
                        _ => {
                            return Err(malformed(format!(
                                "place `{}` is argument {number}, which is no tensor",
                                place.name
                            )));
                        }
                    },
                    Space::Shared { byte_offset } => (place.len as i64, Target::Shared(byte_offset)),
                    Space::Remote { of, rank: variable } => {
                        let Space::Shared { byte_offset } = self.place(of)?.space else {
                            let message = format!("place `{}` of another block is not shared", place.name);
                            return Err(malformed(message));
                        };
                        rank = Some(self.rank(variable)?);
                        (place.len as i64, Target::Shared(byte_offset))
                    }
                    Space::Tensor { .. } => (place.len as i64, Target::None),
                    Space::Local => {
                        let (register, slot) =
                            self.locals.get(access.place.0 as usize).copied().flatten().unwrap_or_default();
                        (place.len as i64, Target::Local { register, slot })
                    }
                };
                Site {
                    place: access.place.0,
                    elem: place.elem,
                    bytes: place.elem.bytes(),
                    width,
                    target,
                    rank,
                    len,
                    cells,
                    pad: self.pad(access.pad)?,
                    direct: access.direct,
                    align: place.align.max(1),
                    vector_align: place.elem.bytes() * if access.unaligned { 1 } else { width },
                    line: self.position(access.origin),
                }
            }
        };
        let next = self.program.sites.len() as u32;
        let number = *self.sites.entry(site).or_insert(next);
        if number == next {
            self.program.sites.push(site);
        }
        Ok(number)
    }

    fn pad(&self, pad: Pad) -> Result<u64> {
        match pad {
            Pad::Constant(constant) => Ok(constant.bits),
            Pad::Argument(number, _) => match self.arguments.get(number as usize) {
                Some(ArgumentValue::Scalar(constant)) => Ok(constant.bits),
                _ => Err(malformed(format!("argument {number} is no scalar"))),
            },
        }
    }

    /// The register of another block's rank.
    fn rank(&self, variable: VarId) -> Result<Sum> {
        match self.variable(variable)?.register {
            Register::Int(rank) => Ok(rank),
            Register::F32(_) | Register::F64(_) | Register::Mask(_) => {
                Err(malformed(format!("variable {} is no rank", variable.0)))
            }
        }
    }

    fn place(&self, id: PlaceId) -> Result<&Place> {
        self.tables.places.get(id.0 as usize).ok_or_else(|| malformed(format!("there is no place {}", id.0)))
    }

    /// A vector register with the value of a sum.
    fn vector_of(&mut self, sum: Sum) -> u32 {
        match sum {
            Sum { vector: Some(register), scalar: None, constant: 0 } => register,
            _ => {
                let dst = self.take(Bank::Int, 1);
                self.emit(Op::Wrap { dst, a: sum, elem: Elem::I64 });
                dst
            }
        }
    }
}
