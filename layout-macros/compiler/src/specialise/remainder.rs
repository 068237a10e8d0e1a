//! Strength reduction by the enclosing conditions: `(x + N - 1) % N` under `x < N` is a comparison and a subtraction,
//! and a dividend that is proved not negative is divided as a natural number.
//!
//! Law: the result equals the operation's for every value of the atoms that satisfies the conditions.

use super::evaluator::{Evaluator, Outcome};
use crate::index::{Atom, Index, Range, Way, Width};
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::{Comparison, StatementKind, Value, VariableKind};

impl Evaluator<'_> {
    /// The index; where its interval has negative numbers that the conditions exclude, a name for it whose interval has none.
    pub(super) fn shown_natural(&mut self, index: &Index, origin: Origin) -> Index {
        let range = self.tables.atoms.range(index);
        let unknown = range.low < 0 && range.high >= 0 && range.fits_i64();
        if self.host || !unknown || !self.facts.prove(&self.tables.atoms, index) {
            return index.clone();
        }
        let range = Range::new(0, range.high);
        let var = self.unnamed("position", VariableKind::Index(Width::of(range)), false, origin);
        self.push(origin, StatementKind::LetIndex(var, index.clone()));
        let definition = Some(index.clone());
        Index::atom(self.tables.atoms.intern(Atom::Variable(var, 0), range, 1, definition))
    }

    /// `n % size` where the conditions show that `n`, less a multiple of the size, is natural and below `2 * size`.
    pub(super) fn reduced(&mut self, n: &Index, size: &Index, origin: Origin) -> Outcome<Option<Index>> {
        let [(monomial, 1)] = size.terms() else { return Ok(None) };
        if self.host || size.offset() != 0 {
            return Ok(None);
        }
        let times = n.terms().iter().find(|(known, _)| known == monomial).map_or(0, |(_, times)| *times);
        let shown = |this: &Self, index: &Index| this.facts.prove(&this.tables.atoms, index);
        for count in [times, times.saturating_sub(1)].into_iter().filter(|count| *count >= 0) {
            let parts = n.add_scaled(size, -count).and_then(|rest| {
                let less = rest.sub(size)?;
                let left = less.scale(-1)?.plus(-1)?;
                let twice = left.add(size)?;
                Ok((rest, less, left, twice))
            });
            let Ok((rest, less, left, twice)) = parts else { continue };
            if !shown(self, &rest) || !shown(self, &twice) {
                continue;
            }
            if shown(self, &left) {
                return Ok(Some(rest));
            }
            return Ok(Some(self.wrapped_once(
                size,
                [(less.clone(), vec![less]), (rest, vec![left])],
                origin,
            )));
        }
        Ok(None)
    }

    /// `rest - size >= 0 ? rest - size : rest`: the two values, each with what is not negative where it is taken.
    fn wrapped_once(&mut self, size: &Index, ways: [(Index, Vec<Index>); 2], origin: Origin) -> Index {
        let [(less, above), (rest, below)] = ways;
        let atoms = &self.tables.atoms;
        let high = atoms.range(&rest).high.min(atoms.range(size).high - 1).max(0);
        let range = Range::new(0, high);
        let held = Width::of(range).elem();
        let value = |index: &Index| Box::new(Value::Index(index.clone(), held));
        let condition = Comparison { op: BinaryOp::Ge, left: less.clone(), right: Index::constant(0) };
        let chosen = Value::Select(Box::new(Value::Compare(condition)), value(&less), value(&rest));
        let var = self.unnamed("position", VariableKind::Elem(held), false, origin);
        self.decides(var, &[&chosen], &[]);
        self.push(origin, StatementKind::Let(var, Some(chosen)));
        let id = self.tables.atoms.intern(Atom::Variable(var, 0), range, 1, None);
        self.tables.atoms.select(id, [Way { facts: above, value: less }, Way { facts: below, value: rest }]);
        Index::atom(id)
    }

    /// Adds what the head of a loop says of its counter in its body; gives the number of facts before.
    pub(super) fn assume_counted(&mut self, counter: &Index, first: &Index, last: &Index) -> usize {
        let before = self.facts.len();
        let above = Comparison { op: BinaryOp::Ge, left: counter.clone(), right: first.clone() };
        let below = Comparison { op: BinaryOp::Lt, left: counter.clone(), right: last.clone() };
        [above, below].iter().for_each(|fact| self.facts.assume(fact, true));
        before
    }
}
