//! Checked kernels built by hand, for the tests of this folder.
//!
//! The line of a statement is its number in the order of building.

use crate::check::Checked;
use crate::elem::{Constant, Elem};
use crate::index::{Atom, AtomId, Atoms, Index, Range, VarId, Width};
use crate::ir::{BinaryOp, Special};
use crate::launch::{KernelParameter, LaunchPlan, PlanArgument, PlanArgumentKind, PlanLayout};
use crate::origin::{Origin, Position};
use crate::params::{NARROW_LIMIT, Promises, WIDE_LIMIT};
use crate::program::{
    Access, Comparison, MissedOptimization, Operation, Pad, Place, PlaceId, Space, Statement, StatementKind,
    Tables, Value, Variable, VariableKind,
};
use crate::specialise::Head;

pub(super) type Kind = StatementKind<Access, Operation>;
pub(super) type Line = Statement<Access, Operation>;

/// A kernel under construction.
pub(super) struct Build {
    pub(super) plan: LaunchPlan,
    pub(super) tables: Tables,
}

/// `left op right`
pub(super) fn compare(op: BinaryOp, left: &Index, right: &Index) -> Comparison {
    Comparison { op, left: left.clone(), right: right.clone() }
}

/// A number.
pub(super) fn number(value: i64) -> Index {
    Index::constant(value)
}

/// `a + b`
pub(super) fn plus(a: &Index, b: &Index) -> Index {
    a.add(b).expect("small")
}

/// `a * b`
pub(super) fn times(a: &Index, b: &Index) -> Index {
    a.mul(b).expect("small")
}

/// `a op b`
pub(super) fn binary(op: BinaryOp, a: Value<Access>, b: Value<Access>) -> Value<Access> {
    Value::Binary(op, Box::new(a), Box::new(b))
}

/// Reads an element.
pub(super) fn load(access: Access) -> Value<Access> {
    Value::Load(Box::new(access))
}

/// A float.
pub(super) fn float(value: f32) -> Value<Access> {
    Value::Constant(Constant { elem: Elem::F32, bits: value.to_bits().into() })
}

impl Build {
    pub(super) fn new(narrow: bool, block: [u32; 3]) -> Build {
        Build {
            plan: LaunchPlan {
                name: "kernel".to_owned(),
                arguments: Vec::new(),
                dims: Vec::new(),
                block,
                grid: None,
                open_grid: false,
                cluster: [1, 1, 1],
                computed: Vec::new(),
                require: Vec::new(),
                variant_if: Vec::new(),
                promises: Promises { narrow, aligned: true, variant_if: None },
                shared_bytes: 0,
                dependent: false,
                cooperative: false,
                maps: Vec::new(),
                second_types: Vec::new(),
                divisors: Vec::new(),
                parameters: Vec::new(),
                atoms: Atoms::default(),
            },
            tables: Tables {
                variables: Vec::new(),
                places: Vec::new(),
                atoms: Atoms::default(),
                positions: vec![Position::default()],
                named: Vec::new(),
                scratch: Vec::new(),
            },
        }
    }

    /// A tensor argument.
    pub(super) fn tensor(&mut self, name: &str, elem: Elem, mutable: bool) -> PlaceId {
        let number = self.plan.arguments.len() as u32;
        let kind =
            PlanArgumentKind::Tensor { elem, mutable, layout: PlanLayout::RowMajor, extents: Vec::new() };
        self.plan.arguments.push(PlanArgument { name: name.to_owned(), kind });
        self.plan.parameters.push(KernelParameter::Pointer(number));
        self.add_place(name, Space::Global(number), elem, 0, 16, mutable)
    }

    /// A scalar argument.
    pub(super) fn scalar(&mut self, name: &str, elem: Elem) -> Value<Access> {
        let number = self.plan.arguments.len() as u32;
        self.plan
            .arguments
            .push(PlanArgument { name: name.to_owned(), kind: PlanArgumentKind::Scalar(elem) });
        self.plan.parameters.push(KernelParameter::Scalar(number));
        Value::Argument(number, elem)
    }

    fn add_place(
        &mut self,
        name: &str,
        space: Space,
        elem: Elem,
        len: u64,
        align: u32,
        mutable: bool,
    ) -> PlaceId {
        let origin = Origin(0);
        self.tables.places.push(Place { name: name.to_owned(), space, elem, len, align, mutable, origin });
        PlaceId(self.tables.places.len() as u32 - 1)
    }

    /// A tensor in shared memory, after those before it.
    pub(super) fn shared(&mut self, name: &str, elem: Elem, len: u64) -> PlaceId {
        let byte_offset = self.plan.shared_bytes;
        self.plan.shared_bytes += len as u32 * elem.bytes();
        self.add_place(name, Space::Shared { byte_offset }, elem, len, 16, true)
    }

    /// A tensor in registers.
    pub(super) fn local(&mut self, name: &str, elem: Elem, len: u64) -> PlaceId {
        self.add_place(name, Space::Local, elem, len, elem.bytes(), true)
    }

    /// A dimension with a promised divisor: the whole of it.
    pub(super) fn dim(&mut self, name: &str, divisor: i64) -> Index {
        let dim = self.plan.dims.len() as u32;
        self.plan.dims.push(name.to_owned());
        self.plan.parameters.push(KernelParameter::Dim(dim));
        let most = if self.plan.promises.narrow { NARROW_LIMIT } else { WIDE_LIMIT };
        let id = self.intern(Atom::Dim { dim, divisor }, 0, most / divisor);
        Index::atom(id).scale(divisor).expect("small")
    }

    pub(super) fn intern(&mut self, atom: Atom, low: i64, high: i64) -> AtomId {
        self.tables.atoms.intern(atom, Range { low: low.into(), high: high.into() }, 1, None)
    }

    /// An atom as an index.
    pub(super) fn atom(&mut self, atom: Atom, low: i64, high: i64) -> Index {
        Index::atom(self.intern(atom, low, high))
    }

    /// `thread_idx` or `block_idx`.
    pub(super) fn special(&mut self, special: Special, axis: u32) -> Index {
        let most = if special == Special::ThreadIdx { 1023 } else { 65535 };
        self.atom(Atom::Special(special, axis), 0, most)
    }

    /// A variable.
    pub(super) fn variable(&mut self, name: &str, kind: VariableKind) -> VarId {
        let (name, origin) = (name.to_owned(), Origin(0));
        self.tables.variables.push(Variable { name, kind, mutable: false, origin, unnamed: false });
        VarId(self.tables.variables.len() as u32 - 1)
    }

    /// An index variable, also as an index.
    pub(super) fn index(&mut self, name: &str, low: i64, high: i64) -> (VarId, Index) {
        let width = Width::of(Range::new(low.into(), high.into()));
        let variable = self.variable(name, VariableKind::Index(width));
        (variable, self.atom(Atom::Variable(variable, 0), low, high))
    }

    /// One element of a place.
    pub(super) fn at(&self, place: PlaceId, index: &Index) -> Access {
        Access {
            place,
            pointer: None,
            index: index.clone(),
            width: 1,
            unaligned: false,
            mask: Vec::new(),
            pad: Pad::Constant(Constant::zero(self.tables.place(place).elem)),
            direct: false,
            claims: Vec::new(),
            edges: Vec::new(),
            wide: !self.plan.promises.narrow,
            hint: None,
            loss: MissedOptimization::default(),
            origin: Origin(0),
        }
    }

    /// A statement, on a line of its own.
    pub(super) fn line(&mut self, kind: Kind) -> Line {
        let line = self.tables.positions.len() as u32;
        self.tables.positions.push(Position { line, column: 1 });
        Statement { kind, origin: Origin(line) }
    }

    /// `for variable in start..end`
    pub(super) fn count(
        &mut self,
        variable: VarId,
        start: i64,
        end: &Index,
        unroll: bool,
        body: Vec<Line>,
    ) -> Line {
        let (start, end) = (number(start), end.clone());
        self.line(Kind::For { variable, start, end, step: 1, unroll, reversed: false, body })
    }

    /// The kernel.
    pub(super) fn finish(self, entry: &str, body: Vec<Line>) -> Checked {
        Checked {
            head: Head { entry: entry.to_owned(), ..Head::default() },
            plan: self.plan,
            tables: self.tables,
            facts: Vec::new(),
            body,
        }
    }
}

/// Whether a text goes on with the token, which is then read.
pub(super) fn take(rest: &mut &str, token: &str) -> bool {
    let found = rest.trim_start().strip_prefix(token);
    *rest = found.unwrap_or(rest.trim_start());
    found.is_some()
}

/// The word or number that a text goes on with, which is then read.
pub(super) fn word<'a>(rest: &mut &'a str) -> &'a str {
    let text = rest.trim_start();
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, after) = text.split_at(end);
    *rest = after;
    word
}
