//! Loop-invariant code motion of index arithmetic.
//!
//! Law: a hoisted instruction changes its own register only, and cannot cause a finding.

use super::{Compiler, Result};
use layout_compiler::index::{Atom, AtomId, Index, VarId};
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::{Access, Operation, Part, Statement, Value, walk};
use std::collections::BTreeSet;

type Body = [Statement<Access, Operation>];

impl Compiler<'_> {
    /// Enters a loop: hoists invariants and invalidates the variables that the loop changes. `self.loops` has one more
    /// level then.
    pub(super) fn enter_loop(&mut self, changed: BTreeSet<VarId>, body: &Body) -> Result {
        let (mut indices, mut comparisons) = (Vec::new(), Vec::new());
        walk::statements(body, &mut |part| match part {
            Part::Index(index) | Part::Bound(_, index) => indices.push(index),
            Part::Compare(comparison) => comparisons.push(comparison),
            _ => {}
        });
        self.loops.push(changed);
        let level = self.loops.len() - 1;
        for index in indices {
            self.hoist(index, level)?;
        }
        for comparison in comparisons {
            let sides = [&comparison.left, &comparison.right];
            if sides.into_iter().all(|side| self.split(side, level).0.terms().is_empty() && self.pure(side)) {
                let _known = self.comparison(comparison)?;
            }
        }
        for variable in self.loops[level].clone() {
            self.cache.forget(variable);
        }
        Ok(())
    }

    /// Hoists the invariant parts of an index.
    fn hoist(&mut self, index: &Index, level: usize) -> Result {
        let (variant, invariant) = self.split(index, level);
        if !invariant.terms().is_empty() && self.pure(&invariant) {
            self.index(&invariant)?;
        }
        let tables = self.tables;
        for atom in variant.atoms() {
            for part in tables.atoms.atom(atom).parts() {
                self.hoist(part, level)?;
            }
        }
        Ok(())
    }

    /// Whether a value may access memory or cause a finding.
    pub(super) fn has_effect(&self, value: &Value<Access>) -> bool {
        match value {
            Value::Constant(_) | Value::Argument(..) => false,
            Value::Variable(id) => {
                let binding = self.variables.get(id.0 as usize).copied().flatten();
                binding.is_none_or(|binding| binding.slot.is_some())
            }
            Value::Index(index, _) => !self.pure(index),
            Value::Compare(comparison) => !(self.pure(&comparison.left) && self.pure(&comparison.right)),
            Value::Load(_) => true,
            // Arithmetic is instrumented.
            Value::Unary(..) | Value::Cast(..) | Value::Binary(..) | Value::Math(..)
                if self.program.arithmetic =>
            {
                true
            }
            Value::Unary(_, a) | Value::Cast(_, a) => self.has_effect(a),
            Value::Binary(op, a, b) => {
                matches!(op, BinaryOp::Div | BinaryOp::Rem) || self.has_effect(a) || self.has_effect(b)
            }
            Value::Math(_, values) => values.iter().any(|value| self.has_effect(value)),
            Value::Select(a, b, c) => self.has_effect(a) || self.has_effect(b) || self.has_effect(c),
        }
    }

    /// Whether an index can be hoisted: its variables are initialised, its divisors are constants, and it cannot
    /// overflow 64 bits unintentionally.
    fn pure(&self, index: &Index) -> bool {
        index.atoms().all(|atom| self.pure_atom(atom))
    }

    fn pure_atom(&self, id: AtomId) -> bool {
        if id.0 as usize >= self.dependencies.len() {
            return false;
        }
        match self.tables.atoms.atom(id) {
            Atom::Variable(variable, _) => {
                let binding = self.variables.get(variable.0 as usize).copied().flatten();
                binding.is_some_and(|binding| binding.slot.is_none())
            }
            Atom::Div(a, b) | Atom::Rem(a, b) => {
                self.pure(a) && b.as_constant().or_else(|| self.fixed(b)).is_some_and(|divisor| divisor != 0)
            }
            Atom::Wrapped { .. } if self.program.findings && !self.tables.atoms.is_meant(id) => false,
            other => other.parts().all(|part| self.pure(part)),
        }
    }

    fn fixed(&self, index: &Index) -> Option<i64> {
        index.evaluate(&mut |id| match self.tables.atoms.atom(id) {
            Atom::Dim { dim, divisor } => {
                self.bound.dims.get(*dim as usize).map(|value| value / (*divisor).max(1))
            }
            _ => None,
        })
    }
}
