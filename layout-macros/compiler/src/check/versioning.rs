//! Loop versioning of copies: one bounds check for a whole copy instead of one for each of its pieces.
//!
//! ```text
//! if (the whole copy is in bounds) { the pieces without masks, as wide as possible } else { the pieces with their masks }
//! ```
//!
//! Law: both branches copy the same elements to the same places, and a mask is absent only where the test proves it.
//! The test is uniform in a block: it takes the largest value that the thread's own part has in any thread. Rows that
//! begin at any address are the exception: each thread tests its own part. A block that contains a row's end would
//! fail a uniform test, although all but one or two of its threads have whole vectors only.
//!
//! The second version costs registers. So a thread's own copy is versioned only if the test removes every mask and
//! either halves the number of pieces or the copy is in a loop.

use super::lower::{Failed, Lower, Out};
use super::movement::condition;
use crate::index::{Atom, Atoms, Index, Monomial};
use crate::ir::{BinaryOp, Special};
use crate::origin::Origin;
use crate::program::{Comparison, Mask, Part, Statement, StatementKind, walk};
use crate::view::View;

/// A block copy of at least this many pieces a thread has one test for the whole tile, instead of one for each piece.
pub(super) const FEW_ROUNDS: i64 = 4;

/// The same for a thread's own copy, whose tests share terms.
pub(super) const FEW_PIECES: i64 = 8;

/// Who tests whether its part of a copy is inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    /// The block, for all of its threads.
    Blocks,
    /// Each thread.
    Threads,
}

impl Lower {
    /// What `body` makes where all of `mask` holds.
    pub(super) fn knowing<T>(
        &mut self,
        mask: &Mask,
        body: impl FnOnce(&mut Self) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let mark = self.facts.len();
        mask.iter().for_each(|comparison| self.facts.assume(comparison, true));
        let result = body(self);
        self.facts.truncate(mark);
        result
    }

    /// What `body` makes, with vectors that an edge may cut moved in pieces: one test takes the whole tiles, so few are
    /// left.
    pub(super) fn cutting<T>(
        &mut self,
        body: impl FnOnce(&mut Self) -> Result<T, Failed>,
    ) -> Result<T, Failed> {
        let before = std::mem::replace(&mut self.cut, true);
        let result = body(self);
        self.cut = before;
        result
    }

    /// `if (inside) { plain } else { masked }`.
    pub(super) fn branch(inside: &Mask, plain: Out, masked: Out, origin: Origin, out: &mut Out) {
        let Some(all) = condition(inside) else { return out.extend(masked) };
        out.push(Statement { kind: StatementKind::If(all, plain, masked), origin });
    }

    /// The same, in the branches of the statement before where that has the same test: so the loads of several copies are
    /// together.
    pub(super) fn branch_on(inside: &Mask, plain: Out, masked: Out, origin: Origin, out: &mut Out) {
        if let Some(Statement { kind: StatementKind::If(before, then, otherwise), .. }) = out.last_mut()
            && condition(inside).as_ref() == Some(before)
        {
            then.extend(plain);
            otherwise.extend(masked);
            return;
        }
        Lower::branch(inside, plain, masked, origin, out);
    }

    /// The conditions, beyond the known facts, under which all of both sides of a copy exists, and each side's part of
    /// them. `None` where they cannot be said, never hold, or always do.
    pub(super) fn both_inside(
        &mut self,
        sides: (&View, &View),
        whose: Whose,
        origin: Origin,
    ) -> Result<Option<(Mask, [Mask; 2])>, Failed> {
        let mut parts = [Mask::new(), Mask::new()];
        for (view, part) in [sides.0, sides.1].into_iter().zip(&mut parts) {
            let extents: Option<Vec<i64>> = view.modes.iter().map(|mode| mode.extent.as_constant()).collect();
            let Some(extents) = extents else { return Ok(None) };
            let Some(inside) = self.inside(view, &extents, whose, origin)? else { return Ok(None) };
            *part = inside;
        }
        let mut all = parts[0].clone();
        all.extend(parts[1].iter().filter(|comparison| !parts[0].contains(comparison)).cloned());
        Ok((!all.is_empty()).then_some((all, parts)))
    }

    /// The conditions, beyond the known facts, under which all of a view exists; `None` where they cannot be said, or never
    /// hold.
    pub(super) fn inside(
        &mut self,
        view: &View,
        extents: &[i64],
        whose: Whose,
        origin: Origin,
    ) -> Result<Option<Mask>, Failed> {
        let mut mask = Mask::new();
        for bound in &view.bounds {
            let mut last = bound.base.clone();
            for (mode, extent) in extents.iter().enumerate() {
                let lanes = (&bound.lane_steps[mode], view.modes[mode].lanes - 1);
                for (step, count) in [(&bound.steps[mode], extent - 1), lanes] {
                    if step.as_constant().is_none_or(|step| step < 0) {
                        return Ok(None);
                    }
                    let sum = last.add_scaled(step, count);
                    last = self.index(origin, sum)?;
                }
            }
            let (first, last) = match whose {
                Whose::Blocks => (self.in_any_thread(&bound.base, false), self.in_any_thread(&last, true)),
                Whose::Threads => (bound.base.clone(), last),
            };
            for end in [&first, &last] {
                self.computed(end, &mut mask, origin)?;
            }
            let above = Comparison { op: BinaryOp::Ge, left: first, right: Index::constant(0) };
            let below = Comparison { op: BinaryOp::Lt, left: last, right: bound.extent.clone() };
            for (comparison, contrary) in [(above, BinaryOp::Lt), (below, BinaryOp::Ge)] {
                let never = Comparison { op: contrary, ..comparison.clone() };
                if self.facts.holds(&self.tables.atoms, &never) {
                    return Ok(None);
                }
                if !mask.contains(&comparison) && !self.facts.holds(&self.tables.atoms, &comparison) {
                    mask.push(comparison);
                }
            }
        }
        Ok(Some(mask))
    }

    /// The index with its thread-only terms at the largest, or the smallest, value of any thread; the index itself where
    /// that is not known.
    fn in_any_thread(&self, index: &Index, most: bool) -> Index {
        let atoms = &self.tables.atoms;
        let Ok(expanded) = atoms.expand_where(index, &|id| touches_thread(atoms, &Index::atom(id))) else {
            return index.clone();
        };
        let of_thread = |monomial: &Monomial, _| of_thread(atoms, &Index::product(monomial, 1));
        let (own, rest) = expanded.partition(of_thread);
        let range = atoms.range(&own);
        let end = i64::try_from(if most { range.high } else { range.low });
        match end.ok().and_then(|end| rest.plus(end).ok()) {
            Some(bound) if own != Index::default() => bound,
            _ => index.clone(),
        }
    }
}

/// Whether a test is about far edges only. A copy that may begin before the near edge, such as a window of a row that
/// begins at any address, fails the test almost everywhere, though most of its vectors are inside.
pub(super) fn ends_only(inside: &Mask) -> bool {
    inside.iter().all(|comparison| comparison.op != BinaryOp::Ge)
}

/// Whether pieces of a copy have tests of their own.
pub(super) fn asks(pieces: &Out) -> bool {
    let mut found = false;
    walk::statements(pieces, &mut |part| match part {
        Part::Statement(one) => found |= matches!(one.kind, StatementKind::If(..)),
        Part::Read(access) | Part::Write(access) => found |= !access.mask.is_empty(),
        _ => {}
    });
    found
}

/// Whether every leaf of an index is of the thread.
fn of_thread(atoms: &Atoms, index: &Index) -> bool {
    let mut only = true;
    leaves(atoms, index, &mut |atom| only &= matches!(atom, Atom::Special(Special::ThreadIdx, _)));
    only
}

/// Whether some leaf of an index is of the thread.
fn touches_thread(atoms: &Atoms, index: &Index) -> bool {
    let mut found = false;
    leaves(atoms, index, &mut |atom| found |= matches!(atom, Atom::Special(Special::ThreadIdx, _)));
    found
}

/// Every leaf, names looked through.
fn leaves(atoms: &Atoms, index: &Index, see: &mut dyn FnMut(&Atom)) {
    for id in index.atoms() {
        let facts = atoms.facts(id);
        match &facts.definition {
            Some(definition) => leaves(atoms, definition, see),
            None if facts.atom.is_leaf() => see(&facts.atom),
            None => facts.atom.parts().for_each(|part| leaves(atoms, part, see)),
        }
    }
}
