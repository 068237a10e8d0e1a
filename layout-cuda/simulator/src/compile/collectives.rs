//! Collectives of a warp, and atomic operations.

use super::{Compiler, Result, malformed};
use crate::bytecode::{Bank, IntegerFunction, Op, Register, Sum, Target, Update};
use layout_compiler::index::VarId;
use layout_compiler::program::{Access, AtomicChange, Collective, Comparison, Scope, Value, VariableKind};

impl Compiler<'_> {
    pub(super) fn collective(
        &mut self,
        variable: VarId,
        function: Collective,
        parts: &[Value<Access>],
    ) -> Result {
        let kind = self.tables.variables.get(variable.0 as usize).map(|variable| variable.kind);
        let (Some(VariableKind::Elem(result)), Some(first)) = (kind, parts.first()) else {
            return Err(malformed(format!("`{}` without a value", function.name())));
        };
        let bank = Bank::of(result);
        let dst = self.take(bank, 1);
        let dst = bank.register(dst);
        let floats = (self.taken.f32, self.taken.f64);
        let (from, elem) = self.value(first)?;
        let lane = match parts.get(1).map(|lane| self.value(lane)).transpose()? {
            Some((Register::Int(sum), _)) => sum,
            None => Sum::default(),
            Some((_, elem)) => {
                return Err(malformed(format!("a lane of type {elem}")));
            }
        };
        match function {
            Collective::Sum => self.check_integer_function(IntegerFunction::Sum, from, from, elem),
            Collective::PrefixSum => {
                self.check_integer_function(IntegerFunction::PrefixSum, from, from, elem)
            }
            _ => {}
        }
        let site = self.site;
        self.emit(Op::Collective { dst, function, from, lane, elem, site });
        self.track_origin_of(dst, &[from], true);
        (self.taken.f32, self.taken.f64) = floats;
        self.bind(variable, dst, None)
    }

    pub(super) fn atomic(
        &mut self,
        guard: &[Comparison],
        (change, scope): (AtomicChange, Scope),
        target: &Access,
        values: &[Value<Access>],
        old: Option<VarId>,
    ) -> Result {
        let elem = self.place(target.place)?.elem;
        let bank = Bank::of(elem);
        let dst = old.map(|_| self.take(bank, 1));
        let floats = (self.taken.f32, self.taken.f64);
        let site = self.site(Some(target))?;
        let global = match self.program.sites[site as usize].target {
            Target::Global(_) => true,
            Target::Shared(_) => false,
            Target::Local { .. } | Target::None => {
                return Err(malformed("an atomic operation on registers"));
            }
        };
        let least = if change == AtomicChange::CompareExchange { 2 } else { 4 };
        if elem.bytes() < least || target.width != 1 {
            return Err(malformed(format!("an atomic operation on {elem}")));
        }
        // An element of 8 bytes is two words, one of 2 bytes is a part of a word: neither is updated atomically.
        self.program.ordered |= global && (elem.is_float() || old.is_some() || elem.bytes() != 4);
        self.program.sums |= elem.is_float() && change == AtomicChange::Add;
        self.program.waits |= change.may_wait();
        self.program.ordered |= self.program.waits;
        let operands = match change {
            AtomicChange::Load(_) => 0,
            AtomicChange::CompareExchange => 2,
            _ => 1,
        };
        if values.len() != operands {
            return Err(malformed(format!("an atomic operation of {} operands", values.len())));
        }
        let place = target.place;
        // Whether the old value is unused. A compare-and-exchange needs no guard.
        let blind = match change {
            AtomicChange::Store(_) => true,
            AtomicChange::Exchange => old.is_none(),
            AtomicChange::CompareExchange => {
                old.is_none() && self.made_of(values, &self.loaded).contains(&place)
            }
            AtomicChange::Load(_)
            | AtomicChange::Add
            | AtomicChange::Max
            | AtomicChange::Min
            | AtomicChange::And
            | AtomicChange::Or
            | AtomicChange::Xor => false,
        };
        let update = match () {
            _ if !blind => Update::Own,
            _ if self.made_of(values, &self.loaded).contains(&place) => Update::Made,
            _ if self.guards.iter().any(|guard| guard.contains(&place)) => Update::Guarded,
            _ => Update::Own,
        };
        self.program.updates |= update != Update::Own;
        let mask = self.mask(guard)?;
        let values = self.guarded(mask, values, |this| {
            values.iter().map(|value| this.source(bank, value)).collect::<Result<Vec<_>>>()
        })?;
        let (expected, src) = (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0));
        self.check_view(target, site);
        let address = self.element(target)?;
        self.emit(Op::Atomic { dst, expected, src, change, scope, update, address, mask, site });
        (self.taken.f32, self.taken.f64) = floats;
        match (old, dst) {
            (Some(old), Some(dst)) => self.bind(old, bank.register(dst), None),
            _ => Ok(()),
        }
    }
}
