//! Statements: loops as frames, or unrolled.

use super::{Compiler, Result, Taken, malformed};
use crate::bytecode::{Bank, IndexOp, Op, Register, Sum};
use layout_compiler::elem::Elem;
use layout_compiler::index::{Index, VarId};
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::{
    Access, Operation, Part, Participants, Statement, StatementKind, Value, VariableKind, walk,
};
use std::collections::{BTreeSet, HashSet};

/// Beyond this many statements an unrolled loop runs as a loop, and its local tensors have dynamic indices.
const UNROLL_LIMIT: u64 = 300_000;

type Body = [Statement<Access, Operation>];

struct For<'p> {
    variable: VarId,
    start: &'p Index,
    end: &'p Index,
    step: i64,
    reversed: bool,
    body: &'p Body,
}

impl For<'_> {
    /// The variables that it changes, its own included.
    fn changed(&self) -> BTreeSet<VarId> {
        let mut changed = walk::changed(self.body);
        changed.insert(self.variable);
        changed
    }
}

/// The registers and cache at the start of a statement list.
pub(super) struct Mark {
    taken: Taken,
    cache: usize,
    variables: usize,
}

impl Compiler<'_> {
    pub(super) fn mark(&self) -> Mark {
        Mark { taken: self.taken, cache: self.cache.mark(), variables: self.program.debug.variables.len() }
    }

    pub(super) fn rewind(&mut self, mark: Mark) {
        self.cache.rewind(mark.cache);
        let end = self.here();
        let ended = self.program.debug.variables.iter_mut().skip(mark.variables);
        ended.for_each(|variable| variable.to = variable.to.min(end));
        self.taken = mark.taken;
    }

    pub(super) fn list(&mut self, body: &Body) -> Result {
        let mark = self.mark();
        for statement in body {
            self.at(statement.origin)?;
            self.begin_statement();
            self.statement(statement)?;
            if matches!(statement.kind, StatementKind::Break | StatementKind::Continue) {
                break;
            }
        }
        self.rewind(mark);
        Ok(())
    }

    fn statement(&mut self, statement: &Statement<Access, Operation>) -> Result {
        match &statement.kind {
            StatementKind::Let(variable, value) => self.declare(*variable, value.as_ref()),
            StatementKind::LetIndex(variable, index) => self.declare_index(*variable, index),
            StatementKind::Assign(variable, value) => {
                let binding = self.variable(*variable)?;
                self.assign(binding.register, value)?;
                self.cache.forget(*variable);
                self.now_initialised(binding.slot);
                Ok(())
            }
            StatementKind::AssignIndex(variable, index) => {
                let sum = self.index(index)?;
                match self.variable(*variable)?.register {
                    Register::Int(Sum { vector: Some(dst), scalar: None, constant: 0 }) => {
                        self.emit(Op::Wrap { dst, a: sum, elem: Elem::I64 });
                        self.cache.forget(*variable);
                        Ok(())
                    }
                    _ => Err(malformed(format!("variable {} is assigned and not mutable", variable.0))),
                }
            }
            StatementKind::Store(access, value) => {
                let floats = (self.taken.f32, self.taken.f64);
                self.store(statement.kind.guard(), access, value)?;
                (self.taken.f32, self.taken.f64) = floats;
                Ok(())
            }
            StatementKind::Operation(operation) => self.operation(operation),
            StatementKind::SetMaxRegisters { registers, .. } => {
                self.registers(*registers);
                Ok(())
            }
            StatementKind::Assume(condition) => self.assumption(condition),
            StatementKind::Print(message) => self.print(message),
            StatementKind::Assert { fails, message, .. } => self.assertion(fails, message),
            StatementKind::Signal(signal) => self.signal(signal),
            StatementKind::For { variable, start, end, step, unroll, reversed, body } => {
                let (variable, step, reversed) = (*variable, *step, *reversed);
                self.for_loop(&For { variable, start, end, step, reversed, body }, *unroll)
            }
            StatementKind::While(condition, body) => self.while_loop(condition, body),
            StatementKind::If(condition, then, otherwise) => self.branch(condition, then, otherwise),
            StatementKind::Break => {
                self.emit(Op::Break);
                Ok(())
            }
            StatementKind::Continue => {
                self.emit(Op::Continue);
                Ok(())
            }
            StatementKind::Barrier(participants) => {
                let (participants, site) = (*participants, self.site);
                if participants == Participants::Grid {
                    self.program.waits = true;
                    self.program.ordered = true;
                }
                self.emit(Op::Barrier { participants, site });
                Ok(())
            }
            StatementKind::Collective(variable, collective, parts) => {
                self.collective(*variable, *collective, parts)
            }
            StatementKind::Atomic { change, scope, target, values, old } => {
                self.atomic(statement.kind.guard(), (*change, *scope), target, values, *old)
            }
        }
    }

    fn declare(&mut self, id: VarId, value: Option<&Value<Access>>) -> Result {
        let kind = self.tables.variables.get(id.0 as usize).map(|variable| variable.kind);
        let Some(VariableKind::Elem(elem)) = kind else {
            return Err(malformed(format!("variable {} holds no element", id.0)));
        };
        let bank = Bank::of(elem);
        let dst = self.take(bank, 1);
        let register = bank.register(dst);
        let slot = match value {
            Some(value) => {
                let floats = (self.taken.f32, self.taken.f64);
                self.assign(register, value)?;
                (self.taken.f32, self.taken.f64) = floats;
                None
            }
            None => {
                let slot = self.slots(1);
                self.emit(Op::Poison { bank, dst });
                if self.program.findings {
                    self.emit(Op::MarkInitialised { slot, holds: false });
                }
                Some(slot)
            }
        };
        self.bind(id, register, slot)
    }

    fn declare_index(&mut self, id: VarId, index: &Index) -> Result {
        let mut sum = self.index(index)?;
        sum = if self.mutable(id) { Sum::vector(self.copied(sum)) } else { self.kept(index, sum) };
        self.bind(id, Register::Int(sum), None)
    }

    fn mutable(&self, id: VarId) -> bool {
        self.tables.variables.get(id.0 as usize).is_none_or(|variable| variable.mutable)
    }

    /// The value of an index in a register that no assignment changes.
    fn kept(&mut self, index: &Index, sum: Sum) -> Sum {
        if self.variables_of(index).into_iter().any(|id| self.mutable(id)) {
            Sum::vector(self.copied(sum))
        } else {
            sum
        }
    }

    fn copied(&mut self, sum: Sum) -> u32 {
        let dst = self.take(Bank::Int, 1);
        self.emit(Op::Wrap { dst, a: sum, elem: Elem::I64 });
        dst
    }

    fn branch(&mut self, condition: &Value<Access>, then: &Body, otherwise: &Body) -> Result {
        // A constant condition, as in an unrolled loop, is not an instruction.
        if let Some(known) = self.known(condition)? {
            return self.list(if known { then } else { otherwise });
        }
        let mask = self.condition(condition)?;
        let before = self.initialised.clone();
        self.guards.push(self.made_of(std::slice::from_ref(condition), &self.loaded));
        let test = self.emit(Op::If { mask, otherwise: 0 });
        self.list(then)?;
        let after = std::mem::replace(&mut self.initialised, before);
        let mut other = self.here();
        if !otherwise.is_empty() {
            let turn = self.emit(Op::Else { end: 0 });
            self.list(otherwise)?;
            let end = self.here();
            self.program.code[turn] = Op::Else { end };
        } else {
            other = self.here();
        }
        self.initialised.retain(|slot| after.contains(slot));
        self.program.code[test] = Op::If { mask, otherwise: other };
        self.emit(Op::EndIf);
        self.guards.pop();
        Ok(())
    }

    fn while_loop(&mut self, condition: &Value<Access>, body: &Body) -> Result {
        let mark = self.mark();
        self.enter_loop(walk::changed(body), body)?;
        let before = self.initialised.clone();
        self.emit(Op::LoopBegin);
        let top = self.here();
        let inside = self.mark();
        self.begin_statement();
        let mask = self.condition(condition)?;
        let test = self.emit(Op::LoopTest { mask, exit: 0 });
        let line = (self.line, self.site);
        self.list(body)?;
        (self.line, self.site) = line;
        self.rewind(inside);
        let left = body.iter().any(|statement| statement.kind.leaves());
        if !left && self.fixed_by(condition, &walk::changed(body)) {
            let site = self.site;
            self.emit(Op::Endless { site });
        }
        self.end_round(top);
        let exit = self.here();
        self.program.code[test] = Op::LoopTest { mask, exit };
        self.end_loop(before, mark);
        Ok(())
    }

    fn end_round(&mut self, top: u32) {
        self.emit(Op::Rejoin);
        self.jump(top);
    }

    fn jump(&mut self, to: u32) {
        let (site, body) = (self.site, &self.program.code[to as usize..]);
        let still = !body.iter().any(|op| op.has_side_effect());
        self.emit(Op::Jump { to, still, site });
    }

    fn end_loop(&mut self, initialised: HashSet<u32>, mark: Mark) {
        self.emit(Op::LoopEnd);
        self.initialised = initialised;
        if let Some(changed) = self.loops.pop() {
            changed.into_iter().for_each(|variable| self.cache.forget(variable));
        }
        self.rewind(mark);
    }

    fn for_loop(&mut self, it: &For<'_>, unroll: bool) -> Result {
        if it.step <= 0 {
            return Err(malformed(format!("a loop has step {}", it.step)));
        }
        let (start, end) = (self.index(it.start)?, self.index(it.end)?);
        if let (true, Some(start), Some(end)) = (unroll, start.as_constant(), end.as_constant()) {
            let rounds = rounds(start, end, it.step);
            let mut statements = 0u64;
            walk::statements(it.body, &mut |part| {
                statements += u64::from(matches!(part, Part::Statement(_)));
            });
            let taken = (self.program.code.len() as u64).saturating_add(statements.saturating_mul(rounds));
            if taken <= UNROLL_LIMIT {
                return self.unrolled(it, start, rounds);
            }
        }
        let line = (self.line, self.site);
        let mark = self.mark();
        let (start, end) = (self.kept(it.start, start), self.kept(it.end, end));
        self.enter_loop(it.changed(), it.body)?;
        let before = self.initialised.clone();
        let uniform = start.uniform() && end.uniform();
        let counter =
            if uniform { Sum::scalar(self.take_scalar()) } else { Sum::vector(self.take(Bank::Int, 1)) };
        let (first, op, bound) = if it.reversed {
            // The last iteration first: start + (end - start - 1) / step * step; less than start if there is no
            // iteration.
            let behind = self.binary(IndexOp::Max, end, start);
            let span = self.binary(IndexOp::Sub, behind, start);
            let span = self.binary(IndexOp::Sub, span, Sum::constant(1));
            let whole = self.binary(IndexOp::Div, span, Sum::constant(it.step));
            let whole = self.binary(IndexOp::Mul, whole, Sum::constant(it.step));
            let last = self.binary(IndexOp::Add, start, whole);
            // Without an iteration the span is -1.
            let none = self.binary(IndexOp::Min, span, Sum::constant(0));
            (self.binary(IndexOp::Add, last, none), BinaryOp::Ge, start)
        } else {
            (start, BinaryOp::Lt, end)
        };
        self.set_counter(counter, first, Sum::default());
        self.emit(Op::LoopBegin);
        let top = self.here();
        let test = if uniform {
            self.emit(Op::LoopTestScalar { a: counter, op, b: bound, exit: 0 })
        } else {
            let mask = self.take(Bank::Mask, 1);
            self.emit(Op::CompareInt { dst: mask, op, a: counter, b: bound });
            self.emit(Op::LoopTest { mask, exit: 0 })
        };
        self.bind(it.variable, Register::Int(counter), None)?;
        self.list(it.body)?;
        (self.line, self.site) = line;
        self.emit(Op::Rejoin);
        self.set_counter(counter, counter, Sum::constant(if it.reversed { -it.step } else { it.step }));
        self.jump(top);
        let target = self.here();
        match &mut self.program.code[test] {
            Op::LoopTestScalar { exit, .. } | Op::LoopTest { exit, .. } => *exit = target,
            _ => {}
        }
        self.end_loop(before, mark);
        Ok(())
    }

    fn set_counter(&mut self, counter: Sum, a: Sum, b: Sum) {
        let site = self.site;
        match counter {
            Sum { scalar: Some(dst), .. } => self.emit(Op::Scalar { dst, op: IndexOp::Add, a, b, site }),
            Sum { vector, .. } => {
                let dst = vector.unwrap_or_default();
                self.emit(Op::Vector { dst, op: IndexOp::Add, a, b, site })
            }
        };
    }

    fn unrolled(&mut self, it: &For<'_>, start: i64, rounds: u64) -> Result {
        let leaves = it.body.iter().any(|statement| statement.kind.leaves());
        let mark = self.mark();
        self.enter_loop(it.changed(), it.body)?;
        let before = self.initialised.clone();
        if leaves {
            self.emit(Op::LoopBegin);
        }
        for round in 0..rounds {
            let round = if it.reversed { rounds - 1 - round } else { round } as i64;
            let value = start.wrapping_add(round.wrapping_mul(it.step));
            self.bind(it.variable, Register::Int(Sum::constant(value)), None)?;
            self.list(it.body)?;
            if leaves {
                self.emit(Op::Rejoin);
            }
        }
        if leaves {
            self.end_loop(before, mark);
        } else {
            if let Some(changed) = self.loops.pop() {
                changed.into_iter().for_each(|variable| self.cache.forget(variable));
            }
            self.rewind(mark);
        }
        Ok(())
    }
}

/// The trip count of a loop.
fn rounds(start: i64, end: i64, step: i64) -> u64 {
    let span = i128::from(end) - i128::from(start);
    let step = i128::from(step.max(1));
    u64::try_from((span + step - 1) / step).unwrap_or(0)
}
