//! Instrumentation of arithmetic.
//!
//! Law: instrumentation changes no register that the kernel reads. Without `Options::arithmetic` only indices are
//! instrumented.

use super::{Compiler, Result};
use crate::bytecode::{IntegerFunction, Op, Polynomial, Register, Sides, Sum};
use layout_compiler::elem::Elem;
use layout_compiler::index::{Index, VarId};
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::{
    Access, AtomicChange, Comparison, Operation, PlaceId, Statement, StatementKind, Value, VariableKind,
};
use std::collections::BTreeSet;

type Body = [Statement<Access, Operation>];

impl Compiler<'_> {
    /// Before an operator on integers.
    pub(super) fn check_integer(&mut self, op: BinaryOp, a: Sum, b: Sum, elem: Elem) {
        use BinaryOp as B;
        let may_leave = matches!(op, B::Add | B::Sub | B::Mul | B::Div | B::Rem | B::Shl | B::Shr);
        if self.program.arithmetic && may_leave && elem.is_integer() {
            let site = self.site;
            self.emit(Op::CheckInteger { op, a, b, elem, site });
        }
    }

    /// Before a function of integers.
    pub(super) fn check_integer_function(
        &mut self,
        function: IntegerFunction,
        a: Register,
        b: Register,
        elem: Elem,
    ) {
        let (Register::Int(a), true) = (a, self.program.arithmetic && elem.is_integer()) else { return };
        let b = if let Register::Int(b) = b { b } else { Sum::default() };
        let site = self.site;
        self.emit(Op::CheckIntegerFunction { function, a, b, elem, site });
    }

    /// Before a conversion to an integer.
    pub(super) fn check_cast(&mut self, from: Register, known: Elem, elem: Elem) {
        let wider = !known.is_integer() || {
            let ((least, most), (low, high)) = (known.limits(), elem.limits());
            least < low || most > high
        };
        if self.program.arithmetic && elem.is_integer() && known != Elem::Bool && wider {
            let (site, natural) = (self.site, known == Elem::U64);
            self.emit(Op::CheckCast { from, natural, elem, site });
        }
    }

    /// After an operation on floats.
    pub(super) fn track_origin(&mut self, dst: Register, from: &[Register]) {
        self.track_origin_of(dst, from, false);
    }

    /// The same after a collective.
    pub(super) fn track_origin_of(&mut self, dst: Register, from: &[Register], together: bool) {
        let Some(first) = from.first().copied() else { return };
        if self.program.arithmetic && matches!(dst, Register::F32(_) | Register::F64(_)) {
            let at = |number: usize| from.get(number).copied().unwrap_or(first);
            let (from, site) = ([first, at(1), at(2)], self.site);
            self.emit(Op::TrackOrigin { dst, from, together, site });
        }
    }

    /// Before an index that may overflow 64 bits unintentionally. The index of an access is checked by its mask
    /// instead. An index of an unbounded variable is instrumented only with `Options::arithmetic`.
    pub(super) fn check_index(&mut self, index: &Index, signed: bool) -> Result {
        let bounded = |id| {
            let range = self.tables.atoms.range(&Index::atom(id));
            range.low > i128::from(i64::MIN / 2) && range.high < i128::from(i64::MAX / 2)
        };
        let asked = self.program.arithmetic || !self.placing && index.atoms().all(bounded);
        if !self.program.findings || !asked {
            return Ok(());
        }
        let mut terms = Vec::new();
        for (monomial, coefficient) in index.terms() {
            let mut factors = Vec::with_capacity(monomial.len());
            for atom in monomial {
                let natural = self.tables.atoms.range(&Index::atom(*atom)).beyond_i64();
                factors.push((self.index(&Index::atom(*atom))?, natural));
            }
            terms.push((*coefficient, factors));
        }
        let number = self.program.polynomials.len() as u32;
        self.program.polynomials.push(Polynomial { terms, constant: index.offset(), signed });
        let site = self.site;
        self.emit(Op::CheckIndex { number, site });
        Ok(())
    }

    /// Where the program assumes a condition.
    pub(super) fn assumption(&mut self, condition: &Value<Access>) -> Result {
        if !self.program.findings {
            return Ok(());
        }
        let floats = (self.taken.f32, self.taken.f64);
        let (mask, sides) = match condition {
            Value::Compare(Comparison { op, left, right }) => {
                let mask = self.condition(condition)?;
                let natural = [left, right].iter().any(|side| self.tables.atoms.range(side).beyond_i64());
                let (left, right) = (Register::Int(self.index(left)?), Register::Int(self.index(right)?));
                (mask, Some(Sides { left, op: *op, right, natural }))
            }
            Value::Binary(op, left, right) if op.is_comparison() => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                let natural = left.1 == Elem::U64;
                (
                    self.compared(*op, left, right)?,
                    Some(Sides { left: left.0, op: *op, right: right.0, natural }),
                )
            }
            other => (self.condition(other)?, None),
        };
        let site = self.site;
        self.emit(Op::CheckAssumption { mask, sides, site });
        (self.taken.f32, self.taken.f64) = floats;
        Ok(())
    }

    /// Whether a condition is invariant in a loop that changes these variables.
    pub(super) fn fixed_by(&self, condition: &Value<Access>, changed: &BTreeSet<VarId>) -> bool {
        let mut variables = BTreeSet::new();
        self.variables_in(condition, &mut variables) && variables.is_disjoint(changed)
    }

    pub(super) fn elem_of(&self, value: &Value<Access>) -> Option<Elem> {
        match value {
            Value::Constant(constant) => Some(constant.elem),
            Value::Argument(_, elem) | Value::Index(_, elem) | Value::Cast(elem, _) => Some(*elem),
            Value::Variable(id) => match self.tables.variables.get(id.0 as usize)?.kind {
                VariableKind::Elem(elem) => Some(elem),
                VariableKind::Index(_) | VariableKind::Pointer(_) => Some(Elem::I64),
            },
            Value::Compare(_) => Some(Elem::Bool),
            Value::Load(access) => Some(self.place(access.place).ok()?.elem),
            Value::Unary(_, a) => self.elem_of(a),
            Value::Binary(op, a, _) => {
                let truth = op.is_comparison() || matches!(op, BinaryOp::And | BinaryOp::Or);
                if truth { Some(Elem::Bool) } else { self.elem_of(a) }
            }
            Value::Math(word, values) => Some(word.result().of(self.elem_of(values.first()?)?)),
            Value::Select(_, then, _) => self.elem_of(then),
        }
    }
}

impl Compiler<'_> {
    /// Variables computed from atomic loads, with the loaded place.
    pub(super) fn loaded(&self, body: &Body) -> BTreeSet<(PlaceId, VarId)> {
        let mut known = BTreeSet::new();
        loop {
            let before = known.len();
            self.load_more(body, &mut known);
            if known.len() == before {
                return known;
            }
        }
    }

    fn load_more(&self, body: &Body, known: &mut BTreeSet<(PlaceId, VarId)>) {
        for statement in body {
            match &statement.kind {
                StatementKind::Atomic { change: AtomicChange::Load(_), target, old: Some(old), .. } => {
                    known.insert((target.place, *old));
                }
                StatementKind::Let(variable, Some(value)) | StatementKind::Assign(variable, value) => {
                    let places = self.made_of(std::slice::from_ref(value), known);
                    known.extend(places.into_iter().map(|place| (place, *variable)));
                }
                StatementKind::LetIndex(variable, index) | StatementKind::AssignIndex(variable, index) => {
                    let own = self.variables_of(index);
                    let places = known.iter().filter(|(_, made)| own.contains(made)).map(|(place, _)| *place);
                    let places: Vec<PlaceId> = places.collect();
                    known.extend(places.into_iter().map(|place| (place, *variable)));
                }
                StatementKind::Collective(variable, _, parts) => {
                    let places = self.made_of(parts, known);
                    known.extend(places.into_iter().map(|place| (place, *variable)));
                }
                StatementKind::For { body, .. } | StatementKind::While(_, body) => {
                    self.load_more(body, known)
                }
                StatementKind::If(_, then, otherwise) => {
                    self.load_more(then, known);
                    self.load_more(otherwise, known);
                }
                StatementKind::Let(_, None)
                | StatementKind::Store(..)
                | StatementKind::Operation(_)
                | StatementKind::Signal(_)
                | StatementKind::Break
                | StatementKind::Continue
                | StatementKind::Barrier(_)
                | StatementKind::Assume(_)
                | StatementKind::Print(_)
                | StatementKind::Assert { .. }
                | StatementKind::SetMaxRegisters { .. }
                | StatementKind::Atomic { .. } => {}
            }
        }
    }

    /// The places whose atomic loads the values depend on.
    pub(super) fn made_of(
        &self,
        values: &[Value<Access>],
        known: &BTreeSet<(PlaceId, VarId)>,
    ) -> BTreeSet<PlaceId> {
        let mut variables = BTreeSet::new();
        for value in values {
            self.variables_in(value, &mut variables);
        }
        known.iter().filter(|(_, made)| variables.contains(made)).map(|(place, _)| *place).collect()
    }

    /// Collects the variables of a value; whether it depends on nothing else that may change.
    fn variables_in(&self, value: &Value<Access>, out: &mut BTreeSet<VarId>) -> bool {
        match value {
            Value::Constant(_) | Value::Argument(..) => true,
            Value::Variable(id) => {
                out.insert(*id);
                true
            }
            Value::Index(index, _) => {
                out.extend(self.variables_of(index));
                true
            }
            Value::Compare(comparison) => {
                out.extend(self.variables_of(&comparison.left));
                out.extend(self.variables_of(&comparison.right));
                true
            }
            Value::Load(access) => {
                out.extend(self.variables_of(&access.index));
                false
            }
            Value::Unary(_, a) | Value::Cast(_, a) => self.variables_in(a, out),
            Value::Binary(_, a, b) => self.variables_in(a, out) & self.variables_in(b, out),
            Value::Math(_, values) => {
                values.iter().fold(true, |all, value| all & self.variables_in(value, out))
            }
            Value::Select(a, b, c) => {
                [a, b, c].iter().fold(true, |all, value| all & self.variables_in(value, out))
            }
        }
    }
}
