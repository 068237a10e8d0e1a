//! Values in the user's names: variables, indices, elements of tensors, of one lane.
//!
//! Law: a name is shown where it is in scope; of two equal names the inner one is.

use super::moment::{Moment, Tensor, TensorSpace};
use crate::bytecode::{Bank, LANES, Register};
use crate::memory::bytes;
use crate::state::warp::Warp;
use layout_compiler::elem::{Constant, Elem, Format};
use layout_compiler::index::{Atom, AtomId, Index, VarId};
use layout_compiler::ir::Special;
use layout_compiler::program::{NamedValue, Space};
use std::fmt;

/// A scalar of a lane.
///
/// ```
/// # use layout_simulator::Value;
/// assert_eq!(Value::Float(0.5).to_string(), "0.5");
/// assert_eq!(Value::Int(3).number(), 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// An index or an integer.
    Int(i128),
    /// A float of any type.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

impl Value {
    /// The value as a number; `true` is 1.
    ///
    /// ```
    /// # use layout_simulator::Value;
    /// assert_eq!(Value::Bool(true).number(), 1.0);
    /// ```
    pub fn number(self) -> f64 {
        match self {
            Value::Int(value) => value as f64,
            Value::Float(value) => value,
            Value::Bool(value) => f64::from(u8::from(value)),
        }
    }

    fn of(elem: Elem, bits: u64) -> Value {
        match elem.format() {
            Format::Truth => Value::Bool(bits != 0),
            Format::Signed => Value::Int(elem.wrap(bits as i64).into()),
            Format::Unsigned => Value::Int((elem.wrap(bits as i64) as u64).into()),
            Format::Float | Format::SmallFloat(_) => Value::Float(Constant { elem, bits }.as_f64()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write!(f, "{value}"),
            Value::Bool(value) => write!(f, "{value}"),
        }
    }
}

/// The value of a register in a lane; small floats are in registers of `f32`.
fn register(warp: &Warp, register: Register, lane: usize, elem: Elem) -> Value {
    match register {
        Register::Int(sum) => Value::of(elem, warp.lanes(sum)[lane] as u64),
        Register::F32(at) => Value::Float(warp.f32[at as usize][lane].into()),
        Register::F64(at) => Value::Float(warp.f64[at as usize][lane]),
        Register::Mask(at) => Value::Bool(warp.mask[at as usize] >> lane & 1 != 0),
    }
}

impl Moment<'_> {
    /// The names in scope at a warp's statement, each with its value in a lane: coordinates, dimensions, variables.
    pub fn variables(&self, warp: u32, lane: u32) -> Vec<(String, Value)> {
        let value = |name: String| {
            let row = self.row(warp, &name)?;
            Some((name, row[lane as usize % LANES]))
        };
        self.names(warp).into_iter().filter_map(value).collect()
    }

    /// The names in scope at a warp's statement, each once.
    pub fn names(&self, warp: u32) -> Vec<String> {
        let Some(known) = self.warp_record(warp) else { return Vec::new() };
        let tables = self.checked.tables();
        let axes = ["x", "y", "z"].into_iter().enumerate();
        let axes =
            axes.filter(|(axis, _)| *axis == 0 || self.bound.block[*axis].max(self.bound.grid[*axis]) > 1);
        let mut out: Vec<String> = Vec::new();
        let specials = axes.flat_map(|(_, name)| [format!("thread_idx.{name}"), format!("block_idx.{name}")]);
        let dims = self.checked.plan().dims.iter().cloned();
        let indices = self.named_indices(known).map(|(name, _)| name.clone());
        let variables = self.in_scope(known).map(|(id, _)| tables.variable(id));
        let variables = variables.filter(|variable| !variable.unnamed).map(|variable| variable.name.clone());
        for name in specials.chain(dims).chain(indices).chain(variables) {
            if !out.contains(&name) {
                out.push(name);
            }
        }
        out
    }

    /// The value of a name in each lane of a warp.
    pub fn row(&self, warp: u32, name: &str) -> Option<[Value; LANES]> {
        let known = self.warp_record(warp)?;
        let tables = self.checked.tables();
        let named = |id: &VarId| !tables.variable(*id).unnamed && tables.variable(*id).name == name;
        if let Some((id, found)) = self.in_scope(known).rev().find(|(id, _)| named(id)) {
            let elem = tables.variable_elem(id);
            return Some(std::array::from_fn(|lane| register(known, found, lane, elem)));
        }
        let index = |value: i64| Value::Int(value.into());
        if let Some((_, found)) = self.named_indices(known).filter(|(own, _)| *own == name).last() {
            let first = self.evaluate(found, known, 0)?;
            let lane = |lane| index(self.evaluate(found, known, lane).unwrap_or(first));
            return Some(std::array::from_fn(lane));
        }
        if let Some(dim) = self.checked.plan().dims.iter().position(|dim| dim == name) {
            return self.bound.dims.get(dim).map(|value| [index(*value); LANES]);
        }
        let (word, axis) = name.split_once('.')?;
        let axis = ["x", "y", "z"].iter().position(|own| *own == axis)?;
        match word {
            "thread_idx" => known.int.get(axis).map(|lanes| lanes.map(index)),
            "block_idx" => known.scalars.get(axis).map(|value| [index(*value); LANES]),
            "block_dim" => Some([index(self.bound.block[axis].into()); LANES]),
            "grid_dim" => Some([index(self.bound.grid[axis].into()); LANES]),
            _ => None,
        }
    }

    /// The names of indices that have no variable, in front of a warp's statement.
    fn named_indices<'s>(&'s self, warp: &'s Warp) -> impl Iterator<Item = (&'s String, &'s Index)> + 's {
        let (tables, line) = (self.checked.tables(), self.line_of(warp));
        tables.named.iter().filter_map(move |named| {
            let declared = tables.positions.get(named.origin.0 as usize).map_or(0, |position| position.line);
            match &named.value {
                NamedValue::Index(index) if declared < line && self.evaluate(index, warp, 0).is_some() => {
                    Some((&named.name, index))
                }
                _ => None,
            }
        })
    }

    /// The variables in scope at a warp's statement, the outermost first.
    fn in_scope<'s>(&'s self, warp: &'s Warp) -> impl DoubleEndedIterator<Item = (VarId, Register)> + 's {
        let at = warp.pc as u32;
        let all = self.machine.launch.program.debug.variables.iter();
        all.filter(move |one| (one.from..one.to).contains(&at)).map(|one| (one.id, one.register))
    }

    /// The value of an index in a lane, where all of it is in scope.
    pub(super) fn evaluate(&self, index: &Index, warp: &Warp, lane: usize) -> Option<i64> {
        index.evaluate(&mut |id| self.atom(id, warp, lane))
    }

    fn atom(&self, id: AtomId, warp: &Warp, lane: usize) -> Option<i64> {
        match self.checked.tables().atoms.atom(id) {
            Atom::Special(special, axis) => {
                let axis = *axis as usize;
                Some(match special {
                    Special::ThreadIdx => *warp.int.get(axis)?.get(lane)?,
                    Special::BlockIdx => *warp.scalars.get(axis)?,
                    Special::BlockDim => i64::from(*self.bound.block.get(axis)?),
                    Special::GridDim => i64::from(*self.bound.grid.get(axis)?),
                })
            }
            Atom::Dim { dim, divisor } => Some(self.bound.dims.get(*dim as usize)? / divisor.max(&1)),
            Atom::Stride { argument, mode, divisor } => {
                let (_, stride) = self.bound.modes(*argument as usize).nth(*mode as usize)?;
                Some(i64::try_from(stride).ok()? / divisor.max(&1))
            }
            Atom::Argument(number) => self.indices.get(*number as usize).copied().flatten(),
            Atom::Variable(id, _) => {
                let (_, found) = self.in_scope(warp).rev().find(|(other, _)| other == id)?;
                match found {
                    Register::Int(sum) => Some(warp.lanes(sum)[lane]),
                    Register::F32(_) | Register::F64(_) | Register::Mask(_) => None,
                }
            }
            compound => compound.evaluate(|index| self.evaluate(index, warp, lane)),
        }
    }

    /// The tensors at a warp's statement: arguments, and the views in scope as they are in a lane.
    pub fn tensors(&self, warp: u32, lane: u32) -> Vec<Tensor> {
        let Some(known) = self.warp_record(warp) else { return Vec::new() };
        let (tables, lane) = (self.checked.tables(), lane as usize % LANES);
        let mut out: Vec<Tensor> = Vec::new();
        for (number, argument) in self.checked.plan().arguments.iter().enumerate() {
            let modes: Vec<(i64, i64)> =
                self.bound.modes(number).map(|(extent, stride)| (extent as i64, stride as i64)).collect();
            let place = tables.places.iter().find(|place| place.space == Space::Global(number as u32));
            if let Some(place) = place.filter(|_| argument.rank() > 0) {
                let (name, space) = (argument.name.clone(), TensorSpace::Global(number as u32));
                out.push(Tensor {
                    name,
                    elem: place.elem,
                    space,
                    offset: 0,
                    modes,
                    swizzle: None,
                    lane: lane as u32,
                });
            }
        }
        let line = self.line_of(known);
        for named in &tables.named {
            let NamedValue::View { place, offset, modes, vector, swizzle } = &named.value else { continue };
            let declared = tables.positions.get(named.origin.0 as usize).map_or(0, |position| position.line);
            let known_place = tables.place(*place);
            let space = match known_place.space {
                Space::Global(number) => TensorSpace::Global(number),
                Space::Shared { byte_offset } => TensorSpace::Shared(known.shared + byte_offset),
                Space::Local => match self.machine.launch.program.debug.locals.get(place.0 as usize) {
                    Some(Some(first)) => TensorSpace::Registers(*first),
                    _ => continue,
                },
                Space::Remote { .. } | Space::Tensor { .. } => continue,
            };
            let all = modes.iter().chain(vector).map(|[extent, stride]| {
                Some((self.evaluate(extent, known, lane)?, self.evaluate(stride, known, lane)?))
            });
            let (Some(modes), Some(offset)) = (all.collect(), self.evaluate(offset, known, lane)) else {
                continue;
            };
            if declared <= line {
                out.retain(|other| other.name != named.name);
                let (name, elem, swizzle) = (named.name.clone(), known_place.elem, *swizzle);
                out.push(Tensor { name, elem, space, offset, modes, swizzle, lane: lane as u32 });
            }
        }
        out
    }

    /// An element of a tensor; `None` beyond its memory.
    pub fn element(&self, tensor: &Tensor, warp: u32, coordinates: &[i64]) -> Option<Value> {
        let size = tensor.elem.bytes();
        let at = tensor.element(coordinates)?;
        let byte = usize::try_from(at).ok()? * size as usize;
        match tensor.space {
            TensorSpace::Global(number) => {
                let global = self.machine.launch.globals.get(number as usize)?;
                (byte + size as usize <= global.bytes())
                    .then(|| Value::of(tensor.elem, global.read(byte, size)))
            }
            TensorSpace::Shared(first) => {
                let byte = first as usize + byte;
                let inside = byte + size as usize <= self.machine.shared.len();
                inside.then(|| Value::of(tensor.elem, bytes::read(&self.machine.shared, byte, size)))
            }
            TensorSpace::Registers(first) => {
                let (warp, number) = (self.warp_record(warp)?, first + u32::try_from(at).ok()?);
                let bank = Bank::of(tensor.elem);
                let count = match bank {
                    Bank::F32 => warp.f32.len(),
                    Bank::F64 => warp.f64.len(),
                    Bank::Int => warp.int.len(),
                    Bank::Mask => warp.mask.len(),
                };
                let inside = (number as usize) < count;
                inside.then(|| register(warp, bank.register(number), tensor.lane as usize, tensor.elem))
            }
        }
    }
}
