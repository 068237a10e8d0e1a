//! Checked programs built by hand: statement `n` has line `n`; places and atoms have short names.

use crate::{Options, Report, SimulateError, SimulatorArgument, simulate};
use layout_compiler::Promises;
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::{Atom, Atoms, Index, Range, VarId, Width};
use layout_compiler::ir::{BinaryOp, Special};
use layout_compiler::launch::{LaunchPlan, PlanArgument, PlanArgumentKind, PlanLayout};
use layout_compiler::origin::{Origin, Position};
use layout_compiler::program::{
    Access, Comparison, MissedOptimization, Operation, Pad, Place, PlaceId, Space, Statement, StatementKind,
    Tables, TensorMap, Value, Variable, VariableKind,
};

pub(super) type Code = Statement<Access, Operation>;
pub(super) type Val = Value<Access>;

/// A program in the making.
pub(super) struct Build {
    pub tables: Tables,
    pub body: Vec<Code>,
    arguments: Vec<PlanArgument>,
    shared_bytes: u32,
    pub maps: Vec<TensorMap>,
    pub cluster: [u32; 3],
    pub bound: Bound,
}

/// An index that is a number.
pub(super) fn int(value: i64) -> Index {
    Index::constant(value)
}

pub(super) fn plus(a: &Index, b: &Index) -> Index {
    a.add(b).unwrap_or_default()
}

pub(super) fn times(a: &Index, b: &Index) -> Index {
    a.mul(b).unwrap_or_default()
}

/// A statement of a line.
pub(super) fn at(line: u32, kind: StatementKind<Access, Operation>) -> Code {
    Statement { kind, origin: Origin(line) }
}

pub(super) fn f32(value: f64) -> Val {
    Value::Constant(Constant::float(Elem::F32, value).unwrap_or(Constant::zero(Elem::F32)))
}

pub(super) fn i32(value: i128) -> Val {
    Value::Constant(Constant::integer(Elem::I32, value).unwrap_or(Constant::zero(Elem::I32)))
}

pub(super) fn binary(op: BinaryOp, a: Val, b: Val) -> Val {
    Value::Binary(op, Box::new(a), Box::new(b))
}

pub(super) fn compare(op: BinaryOp, left: &Index, right: &Index) -> Comparison {
    Comparison { op, left: left.clone(), right: right.clone() }
}

pub(super) fn load(access: Access) -> Val {
    Value::Load(Box::new(access))
}

impl Build {
    pub(super) fn new(block: [u32; 3], grid: [u32; 3], dims: &[i64]) -> Build {
        Build {
            tables: Tables {
                variables: Vec::new(),
                places: Vec::new(),
                atoms: Atoms::default(),
                named: Vec::new(),
                scratch: Vec::new(),
                positions: (0..100).map(|line| Position { line, column: 1 }).collect(),
            },
            body: Vec::new(),
            arguments: Vec::new(),
            shared_bytes: 0,
            maps: Vec::new(),
            cluster: [1; 3],
            bound: Bound {
                grid,
                block,
                dims: dims.to_vec(),
                values: Vec::new(),
                maps: Vec::new(),
                modes: Vec::new(),
            },
        }
    }

    pub(super) fn place(&mut self, name: &str, space: Space, elem: Elem, len: u64, mutable: bool) -> PlaceId {
        let origin = Origin(0);
        self.tables.places.push(Place { name: name.into(), space, elem, len, align: 16, mutable, origin });
        PlaceId(self.tables.places.len() as u32 - 1)
    }

    pub(super) fn tensor(&mut self, name: &str, elem: Elem, mutable: bool) -> PlaceId {
        let (layout, extents) = (PlanLayout::RowMajor, Vec::new());
        self.arguments.push(PlanArgument {
            name: name.into(),
            kind: PlanArgumentKind::Tensor { elem, mutable, layout, extents },
        });
        self.place(name, Space::Global(self.arguments.len() as u32 - 1), elem, 0, mutable)
    }

    pub(super) fn scalar(&mut self, name: &str, elem: Elem) -> Val {
        self.arguments.push(PlanArgument { name: name.into(), kind: PlanArgumentKind::Scalar(elem) });
        Value::Argument(self.arguments.len() as u32 - 1, elem)
    }

    pub(super) fn shared(&mut self, name: &str, elem: Elem, len: u64) -> PlaceId {
        let byte_offset = self.shared_bytes;
        self.shared_bytes += len as u32 * elem.bytes();
        self.place(name, Space::Shared { byte_offset }, elem, len, true)
    }

    pub(super) fn local(&mut self, name: &str, elem: Elem, len: u64) -> PlaceId {
        self.place(name, Space::Local, elem, len, true)
    }

    pub(super) fn atom(&mut self, atom: Atom) -> Index {
        Index::atom(self.tables.atoms.intern(atom, Range { low: 0, high: 1 << 48 }, 1, None))
    }

    pub(super) fn thread(&mut self, axis: u32) -> Index {
        self.atom(Atom::Special(Special::ThreadIdx, axis))
    }

    pub(super) fn block(&mut self, axis: u32) -> Index {
        self.atom(Atom::Special(Special::BlockIdx, axis))
    }

    pub(super) fn dim(&mut self, dim: u32) -> Index {
        self.atom(Atom::Dim { dim, divisor: 1 })
    }

    pub(super) fn variable(&mut self, name: &str, kind: VariableKind, mutable: bool) -> VarId {
        self.tables.variables.push(Variable {
            name: name.into(),
            kind,
            mutable,
            origin: Origin(0),
            unnamed: false,
        });
        VarId(self.tables.variables.len() as u32 - 1)
    }

    pub(super) fn element(&mut self, name: &str, elem: Elem) -> VarId {
        self.variable(name, VariableKind::Elem(elem), true)
    }

    /// An index variable and the index that is its value.
    pub(super) fn counter(&mut self, name: &str, mutable: bool) -> (VarId, Index) {
        let id = self.variable(name, VariableKind::Index(Width::Long), mutable);
        let index = self.atom(Atom::Variable(id, 0));
        (id, index)
    }

    pub(super) fn access(&self, place: PlaceId, index: &Index, mask: &[Comparison], line: u32) -> Access {
        Access {
            place,
            pointer: None,
            index: index.clone(),
            width: 1,
            unaligned: false,
            mask: mask.to_vec(),
            pad: Pad::Constant(Constant::zero(self.tables.place(place).elem)),
            direct: false,
            claims: Vec::new(),
            edges: Vec::new(),
            wide: true,
            hint: None,
            loss: MissedOptimization::default(),
            origin: Origin(line),
        }
    }

    pub(super) fn vector(&self, place: PlaceId, index: &Index, width: u32, line: u32) -> Access {
        Access { width, ..self.access(place, index, &[], line) }
    }

    pub(super) fn load(&self, place: PlaceId, index: &Index) -> Val {
        load(self.access(place, index, &[], 0))
    }

    pub(super) fn store(&self, line: u32, place: PlaceId, index: &Index, value: Val) -> Code {
        at(line, StatementKind::Store(self.access(place, index, &[], line), value))
    }

    pub(super) fn checked(&self) -> Checked {
        let plan = LaunchPlan {
            name: "kernel".into(),
            arguments: self.arguments.clone(),
            dims: self.bound.dims.iter().map(|_| "N".into()).collect(),
            block: self.bound.block,
            grid: None,
            open_grid: false,
            cluster: self.cluster,
            computed: Vec::new(),
            dependent: false,
            cooperative: false,
            require: Vec::new(),
            variant_if: Vec::new(),
            promises: Promises::USUAL,
            shared_bytes: self.shared_bytes,
            maps: self.maps.clone(),
            second_types: Vec::new(),
            divisors: Vec::new(),
            parameters: Vec::new(),
            atoms: Atoms::default(),
        };
        Checked::unchecked(plan, self.tables.clone(), self.body.clone())
    }

    /// Runs it on tensors: those of mutable places in and out.
    pub(super) fn run(&self, tensors: &mut [Vec<u8>]) -> Result<Report, SimulateError> {
        self.run_with(tensors, &Options::default())
    }

    pub(super) fn run_with(
        &self,
        tensors: &mut [Vec<u8>],
        options: &Options,
    ) -> Result<Report, SimulateError> {
        let mut arguments: Vec<SimulatorArgument<'_>> = Vec::new();
        for (known, bytes) in self.arguments.iter().zip(tensors) {
            arguments.push(match &known.kind {
                PlanArgumentKind::Tensor { mutable: true, .. } => SimulatorArgument::Write(bytes),
                PlanArgumentKind::Tensor { mutable: false, .. } => SimulatorArgument::Read(bytes),
                PlanArgumentKind::Scalar(elem) => {
                    let mut bits = [0; 8];
                    bits[..bytes.len()].copy_from_slice(bytes);
                    SimulatorArgument::Scalar(Constant { elem: *elem, bits: u64::from_le_bytes(bits) })
                }
                PlanArgumentKind::Index => SimulatorArgument::Index(0),
            });
        }
        simulate(&self.checked(), &self.bound, &mut arguments, options)
    }
}

pub(super) fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

pub(super) fn as_floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

pub(super) fn ints(values: impl IntoIterator<Item = i32>) -> Vec<u8> {
    values.into_iter().flat_map(i32::to_le_bytes).collect()
}

pub(super) fn as_ints(bytes: &[u8]) -> Vec<i32> {
    bytes.as_chunks::<4>().0.iter().map(|bytes| i32::from_le_bytes(*bytes)).collect()
}
