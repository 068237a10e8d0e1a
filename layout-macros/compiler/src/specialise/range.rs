//! Value-range analysis: the interval of an operator's result, and the effect of assignments and branches on the
//! interval of a mutable index.
//!
//! Law: the interval holds in every run. A value that becomes an index keeps its interval, so `(key & 255) as usize`
//! needs no mask. The interval of a mutable index is that of its present value. At a loop's head the interval of a
//! counter that wraps around (`if stage == 3 { stage = 0 }`) is assumed: a counter that must stay below a number is
//! assumed to do so, which is proved at the end of each round. Where the proof fails, the evaluation restarts without
//! the assumption.

use super::evaluator::{Evaluator, Owner};
use super::tile::TileAccess;
use crate::elem::Elem;
use crate::index::{Atom, Index, Range, VarId};
use crate::ir::{BinaryOp, UnaryOp};
use crate::math::Math;
use crate::program::{Value, VariableKind};
use crate::view::View;
use std::collections::HashMap;

/// How deep nested operations are looked into.
const DEPTH: u32 = 16;

impl Evaluator<'_> {
    /// The interval of an integer of this type.
    pub(super) fn value_range(&self, value: &Value<TileAccess>, elem: Elem) -> Range {
        let (low, high) = elem.limits();
        let all = Range::new(low, high);
        let within = |range: &Range| low <= range.low && range.high <= high;
        self.interval(value, elem, DEPTH).filter(within).unwrap_or(all)
    }

    /// `None` where nothing is known, or where the mathematical result may be beyond the type.
    fn interval(&self, value: &Value<TileAccess>, elem: Elem, depth: u32) -> Option<Range> {
        let depth = depth.checked_sub(1)?;
        let of = |value: &Value<TileAccess>| {
            let (low, high) = elem.limits();
            let all = Range::new(low, high);
            let found = self.interval(value, elem, depth);
            found.filter(|range| low <= range.low && range.high <= high).unwrap_or(all)
        };
        match value {
            Value::Constant(constant) if constant.elem.is_integer() => {
                Some(Range::new(constant.as_i128(), constant.as_i128()))
            }
            Value::Variable(var) => {
                let known = self.intervals.get(var).copied();
                // What the conditions around say of it.
                let facts = self.tables.atoms.find(&Atom::Variable(*var, 0));
                let facts = facts.map(|id| self.facts.interval(&self.tables.atoms, id));
                facts.filter(|facts| facts.low <= facts.high).or(known)
            }
            Value::Index(index, _) => Some(self.tables.atoms.range(index)),
            Value::Binary(op, left, right) => binary(*op, of(left), of(right), elem),
            Value::Unary(UnaryOp::Neg, operand) => {
                let range = of(operand);
                Some(Range::new(-range.high, -range.low))
            }
            Value::Cast(_, inner) => {
                let from = self.integer_of(inner, DEPTH)?;
                Some(self.value_range(inner, from))
            }
            Value::Select(_, then, otherwise) => Some(of(then).union(of(otherwise))),
            Value::Math(Math::Min, parts) => {
                let (a, b) = (of(parts.first()?), of(parts.get(1)?));
                Some(Range::new(a.low.min(b.low), a.high.min(b.high)))
            }
            Value::Math(Math::Max, parts) => {
                let (a, b) = (of(parts.first()?), of(parts.get(1)?));
                Some(Range::new(a.low.max(b.low), a.high.max(b.high)))
            }
            Value::Math(Math::CountOnes | Math::LeadingZeros | Math::TrailingZeros, _) => {
                Some(Range::new(0, 64))
            }
            Value::Constant(_)
            | Value::Argument(..)
            | Value::Compare(_)
            | Value::Load(_)
            | Value::Unary(UnaryOp::Not, _)
            | Value::Math(..) => None,
        }
    }

    /// The type of an integer.
    fn integer_of(&self, value: &Value<TileAccess>, depth: u32) -> Option<Elem> {
        let depth = depth.checked_sub(1)?;
        let elem = match value {
            Value::Constant(constant) => constant.elem,
            Value::Argument(_, elem) | Value::Index(_, elem) | Value::Cast(elem, _) => *elem,
            Value::Variable(var) => match self.tables.variable(*var).kind {
                VariableKind::Elem(elem) => elem,
                VariableKind::Index(_) | VariableKind::Pointer(_) => return None,
            },
            Value::Load(access) => self.tables.place(access.view.place).elem,
            Value::Binary(op, ..) if op.is_comparison() => Elem::Bool,
            Value::Unary(_, operand) | Value::Binary(_, operand, _) | Value::Select(_, operand, _) => {
                self.integer_of(operand, depth)?
            }
            Value::Math(..) | Value::Compare(_) => return None,
        };
        elem.is_integer().then_some(elem)
    }

    /// Notes the interval of a variable that does not change.
    pub(super) fn note_interval(&mut self, var: VarId, value: &Value<TileAccess>, elem: Elem) {
        if !elem.is_integer() {
            return;
        }
        let range = self.value_range(value, elem);
        let (low, high) = elem.limits();
        if (range.low, range.high) != (low, high) {
            self.intervals.insert(var, range);
        }
    }

    /// The interval of an index, one closer at an end where the conditions around say so.
    pub(super) fn tight(&self, index: &Index) -> Range {
        let mut range = self.tables.atoms.range(index);
        if index.as_constant().is_some() || !range.fits_i32() {
            return range;
        }
        let shown = |low: i128, high: i128| {
            let above = i64::try_from(low).ok().and_then(|low| index.plus(low.checked_neg()?).ok());
            let below = i64::try_from(high).ok().and_then(|high| index.scale(-1).ok()?.plus(high).ok());
            let prove =
                |goal: Option<Index>| goal.is_some_and(|goal| self.facts.prove(&self.tables.atoms, &goal));
            (prove(above), prove(below))
        };
        let closer = shown(range.low + 1, range.high - 1);
        if closer.0 && range.low < range.high {
            range.low += 1;
        }
        if closer.1 && range.low < range.high {
            range.high -= 1;
        }
        range
    }

    /// Requires that this mutable index stays below a number; false where it is no such index, or is known not to stay.
    pub(super) fn require_below(&mut self, index: &Index, count: i64) -> bool {
        let Some(id) = index.as_atom() else {
            // `1 - k`, `k + 2`: of one index, once.
            let ([(monomial, factor)], offset) = (index.terms(), index.offset()) else { return false };
            let ([id], Some(count)) = (
                monomial.as_slice(),
                match factor {
                    1 => count.checked_sub(offset),
                    -1 => offset.checked_add(1),
                    _ => None,
                },
            ) else {
                return false;
            };
            return count > 0 && self.require_below(&Index::atom(*id), count);
        };
        let parts: Vec<Index> = match self.tables.atoms.atom(id) {
            Atom::Variable(var, _) => match self.owners.get(var).copied() {
                Some(owner) => return self.suppose_below(owner, count),
                None => self.tables.atoms.facts(id).definition.clone().into_iter().collect(),
            },
            Atom::Min(left, right) | Atom::Max(left, right) => vec![(**left).clone(), (**right).clone()],
            _ => return false,
        };
        // Of each part, not only of the first.
        parts.iter().fold(false, |asked, part| self.require_below(part, count) | asked)
    }

    /// Supposes of mutable indices among the coordinates of a view that they stay below its extents, where that is not proved: an access
    /// whose proof succeeds then has no mask.
    pub(super) fn suppose_inside(&mut self, view: &View, coordinates: &[Index]) {
        if self.host {
            return;
        }
        for (mode, at) in view.modes.iter().zip(coordinates) {
            let extent = mode.extent.as_constant().and_then(|extent| extent.checked_mul(mode.lanes));
            if let Some(extent) = extent.filter(|extent| *extent > 0 && at.as_constant().is_none())
                && !self.is_within(at, extent)
            {
                self.require_below(at, extent);
            }
        }
    }

    fn suppose_below(&mut self, owner: Owner, count: i64) -> bool {
        match self.modular_bounds.get(&owner) {
            Some(None) => false,
            Some(Some(known)) if *known <= count => false,
            _ => {
                self.modular_bounds.insert(owner, Some(count));
                true
            }
        }
    }

    /// At the head of a loop: what is assumed of the mutable indices that it changes. Gives them.
    pub(super) fn enter_loop(&mut self, changed: &[VarId]) -> Vec<(VarId, i64)> {
        let ring = |var: &VarId| Some((*var, self.modular_bounds.get(self.owners.get(var)?).copied()??));
        let modular_bounds: Vec<(VarId, i64)> = changed.iter().filter_map(ring).collect();
        self.check_back_edge(&modular_bounds);
        changed.iter().for_each(|var| self.forget(*var));
        for (var, count) in &modular_bounds {
            self.present.insert(*var, Range::new(0, i128::from(*count) - 1));
        }
        modular_bounds
    }

    /// At the end of a round: what was assumed at the head holds, or is not assumed again.
    pub(super) fn check_back_edge(&mut self, modular_bounds: &[(VarId, i64)]) {
        for (var, count) in modular_bounds {
            let now = self.read_index(*var);
            let range = self.tight(&now);
            if (range.low < 0 || range.high >= i128::from(*count))
                && let Some(owner) = self.owners.get(var)
            {
                // `k = 1 - k` of an index below 4 is below 2: then that is supposed.
                let fewer = i64::try_from(range.high + 1).ok().filter(|fewer| (1..*count).contains(fewer));
                self.modular_bounds.insert(*owner, fewer);
            }
        }
    }

    /// The intervals of mutable indices as they are now.
    pub(super) fn present_of(&self, vars: &[VarId]) -> HashMap<VarId, Range> {
        let index = |var: &&VarId| matches!(self.tables.variable(**var).kind, VariableKind::Index(_));
        vars.iter().filter(index).map(|var| (*var, self.tight_variable(*var))).collect()
    }

    fn tight_variable(&self, var: VarId) -> Range {
        let version = self.versions.get(&var).copied().unwrap_or(0);
        match self.tables.atoms.find(&Atom::Variable(var, version)) {
            Some(atom) => self.tight(&Index::atom(atom)),
            None => self.present.get(&var).copied().unwrap_or(Range::signed()),
        }
    }

    /// For a mutable index that another branch leaves with another value.
    pub(super) fn joined(&mut self, ways: &[HashMap<VarId, Range>]) {
        let Some((first, rest)) = ways.split_first() else { return };
        for (var, range) in first {
            let all = rest.iter().try_fold(*range, |all, way| Some(all.union(*way.get(var)?)));
            if let Some(range) = all {
                self.present.insert(*var, range);
            }
        }
    }
}

fn binary(op: BinaryOp, a: Range, b: Range, elem: Elem) -> Option<Range> {
    let known = (b.low == b.high).then_some(b.low);
    // The least and the largest count of a shift: the width is never reached.
    let width = i128::from(elem.bits());
    let counts = match known {
        Some(count) => Some((count & (width - 1), count & (width - 1))),
        None => (b.low >= 0 && b.high < width).then_some((b.low, b.high)),
    };
    // The bits of two natural numbers reach no further than those of the larger.
    let bits = |most: i128| (1i128 << (128 - most.leading_zeros())) - 1;
    match op {
        BinaryOp::Add => Some(a.add(b)),
        BinaryOp::Sub => Some(Range::new(a.low - b.high, a.high - b.low)),
        BinaryOp::Mul if a.fits_i64() && b.fits_i64() => Some(a.mul(b)),
        BinaryOp::BitAnd => match (a.low >= 0, b.low >= 0) {
            (true, true) => Some(Range::new(0, a.high.min(b.high))),
            (true, false) => Some(Range::new(0, a.high)),
            (false, true) => Some(Range::new(0, b.high)),
            (false, false) => None,
        },
        BinaryOp::BitOr | BinaryOp::BitXor if a.low >= 0 && b.low >= 0 => {
            Some(Range::new(0, bits(a.high.max(b.high))))
        }
        BinaryOp::Rem => {
            let most = known.filter(|by| *by != 0)?.abs() - 1;
            let low = if a.low >= 0 { 0 } else { a.low.max(-most) };
            Some(Range::new(low, a.high.clamp(0, most)))
        }
        BinaryOp::Div => {
            let by = known.filter(|by| *by > 0)?;
            Some(Range::new(a.low / by, a.high / by))
        }
        BinaryOp::Shr => {
            let (least, most) = counts?;
            let (low, high) = (a.low.signum(), a.high.signum());
            let (low, high) = (if low < 0 { least } else { most }, if high < 0 { most } else { least });
            Some(Range::new(a.low >> low, a.high >> high))
        }
        BinaryOp::Shl => {
            let (least, most) = counts?;
            let fits = a.low >= 0 && i128::from(a.high.leading_zeros()) > most;
            fits.then(|| Range::new(a.low << least, a.high << most))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Shifts every value of two small intervals of an 8-bit type: each result is in the computed interval.
    #[test]
    fn a_shifted_value_is_in_its_interval() {
        let ends = [-128, -9, -8, -1, 0, 1, 3, 7, 8, 127];
        let ranges =
            || ends.iter().flat_map(|low| ends.iter().map(|high| (*low, *high)).filter(|(a, b)| a <= b));
        let mut bounded = 0;
        for (a, b) in
            ranges().flat_map(|a| ranges().map(move |b| (Range::new(a.0, a.1), Range::new(b.0, b.1))))
        {
            let values = |range: Range| range.low..=range.high;
            for op in [BinaryOp::Shl, BinaryOp::Shr] {
                let Some(known) = binary(op, a, b, Elem::I8) else { continue };
                bounded += 1;
                let counts: HashSet<i128> = values(b).map(|y| y & 7).collect();
                for (x, y) in values(a).flat_map(|x| counts.iter().map(move |y| (x, *y))) {
                    let found: i128 = if op == BinaryOp::Shl { x << y } else { x >> y };
                    assert!(
                        known.low <= found && found <= known.high,
                        "{x} {op:?} {y}: {known:?} of {a:?}, {b:?}"
                    );
                }
            }
        }
        assert!(bounded > 1000, "{bounded} pairs have an interval");
    }
}
