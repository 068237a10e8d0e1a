//! `assume(condition)`: a condition that the program promises at this statement.
//!
//! Law: the condition is a fact for the prover to the end of its block, as that of an `if` is within its branch, and
//! it has no side effect. A 64-bit index that the condition bounds by 32 bits is a 32-bit index to the end of the
//! block. A condition that is known to be false is an error, as that of `assert!` is.

use super::datum::{Binding, StaticValue};
use super::evaluator::{Evaluator, Outcome, TileStatement};
use super::expression::leaves;
use super::tile::TileAccess;
use crate::index::{Atom, AtomId, Index, VarId, Width};
use crate::ir::{BinaryOp, ExprId, LocalId};
use crate::origin::Origin;
use crate::program::{Control, StatementKind, Value, VariableKind};

impl Evaluator<'_> {
    pub(super) fn assumed(&mut self, condition: ExprId, origin: Origin) -> Outcome<StaticValue> {
        let (made, condition) = self.nested(|this| this.condition(condition));
        // One that is left has no value.
        let effect = effect(&made, &mut Vec::new(), false).filter(|_| condition.is_ok() || leaves(&made));
        if let Some(effect) = effect {
            return self.fail_help(
                origin,
                format!("the condition of `assume` {effect}; an assumption is a test that may be left out"),
                "do that in a `let` before it: `let old = ..; assume(old < 5);`",
            );
        }
        let condition = condition?;
        self.out.extend(made);
        match condition {
            Ok(true) => Ok(StaticValue::Unit),
            Ok(false) => {
                let set = self.params.key();
                let set = if set.is_empty() { set } else { format!(" for {set}") };
                self.fail_help(
                    origin,
                    format!("the assumption is false{set}"),
                    "a condition on parameters and dimensions is the launch's: `filter(..)` or `require(..)` in the attribute",
                )
            }
            Err(value) => {
                self.push_conjuncts(value.clone(), origin);
                self.rely_on(&value, origin);
                Ok(StaticValue::Unit)
            }
        }
    }

    /// The condition is a fact to the end of the block.
    pub(super) fn rely_on(&mut self, condition: &Value<TileAccess>, origin: Origin) {
        self.note_compared(condition);
        let known = self.facts.len();
        self.facts.assume_condition(&self.tables.atoms, condition, true);
        self.facts.named_since(known).into_iter().for_each(|id| self.narrow(id, origin));
    }

    /// To the end of the block, the names of a number of 64 bits that the facts keep within 32 are those of a variable of 32 bits.
    fn narrow(&mut self, id: AtomId, origin: Origin) {
        let range = self.facts.interval(&self.tables.atoms, id);
        let is_closer =
            !self.tables.atoms.facts(id).range.fits_i32() && range.fits_i32() && range.low <= range.high;
        let (whole, element) = (Index::atom(id), self.tables.atoms.atom(id).clone());
        let named = |binding: &Binding| match binding {
            Binding::Value(StaticValue::Index(index) | StaticValue::Scalar(Value::Index(index, _), _)) => {
                *index == whole
            }
            Binding::Value(StaticValue::Scalar(Value::Variable(var), _)) => {
                element == Atom::Variable(*var, 0)
            }
            _ => false,
        };
        let mut names: Vec<LocalId> =
            self.bindings.iter().filter(|(_, binding)| named(binding)).map(|(name, _)| *name).collect();
        names.sort_unstable();
        let Some(first) = names.first().filter(|_| is_closer && !self.host) else { return };
        let name = self.kernel.locals[first.0 as usize].name.clone();
        let var = self.variable(&name, VariableKind::Index(Width::of(range)), false, origin);
        self.push(origin, StatementKind::LetIndex(var, whole.clone()));
        let divisor = self.tables.atoms.divisor(&whole).max(1);
        let close =
            Index::atom(self.tables.atoms.intern(Atom::Variable(var, 0), range, divisor, Some(whole)));
        for name in names {
            let value = match self.bindings.get(&name) {
                Some(Binding::Value(StaticValue::Scalar(_, elem))) => {
                    StaticValue::Scalar(Value::Index(close.clone(), *elem), *elem)
                }
                _ => StaticValue::Index(close.clone()),
            };
            let before = self.bindings.insert(name, Binding::Value(value));
            self.narrowed.extend(before.map(|before| (name, before)));
        }
    }

    /// One assumption for each operand of `&&`: each is a fact of its own for a compiler, and a finding of its own.
    fn push_conjuncts(&mut self, value: Value<TileAccess>, origin: Origin) {
        if let Value::Binary(BinaryOp::And, left, right) = value {
            self.push_conjuncts(*left, origin);
            self.push_conjuncts(*right, origin);
        } else {
            self.push(origin, StatementKind::Assume(value));
        }
    }
}

/// What statements do besides computing values for the statements behind them; `own` are the variables that they declare.
pub(super) fn effect(list: &[TileStatement], own: &mut Vec<VarId>, in_loop: bool) -> Option<&'static str> {
    list.iter().find_map(|statement| match &statement.kind {
        StatementKind::Let(var, _) | StatementKind::LetIndex(var, _) => {
            own.push(*var);
            None
        }
        StatementKind::Assign(var, _) | StatementKind::AssignIndex(var, _) if own.contains(var) => None,
        StatementKind::Assign(..) | StatementKind::AssignIndex(..) => Some("assigns a variable"),
        StatementKind::Store(..) => Some("stores an element"),
        StatementKind::Operation(_) => Some("moves elements"),
        StatementKind::Break | StatementKind::Continue if in_loop => None,
        StatementKind::Break | StatementKind::Continue => Some("leaves the code around it"),
        StatementKind::Barrier(_) | StatementKind::Signal(_) => {
            Some("waits for other threads, or signals to them")
        }
        StatementKind::Collective(..) => Some("is of several threads together"),
        StatementKind::Atomic { .. } => Some("is an atomic operation"),
        StatementKind::SetMaxRegisters { .. } => Some("changes the thread's registers"),
        StatementKind::Print(_) => Some("prints"),
        StatementKind::Assume(_) | StatementKind::Assert { .. } => None,
        StatementKind::For { .. } | StatementKind::While(..) | StatementKind::If(..) => {
            let in_loop = in_loop || matches!(statement.kind.control(), Control::Loop(_));
            statement.kind.lists().into_iter().find_map(|list| effect(list, own, in_loop))
        }
    })
}
