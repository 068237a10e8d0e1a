//! Accesses and views that are outside in every launch: errors of the build, as rustc's of an array.
//!
//! Law: a coordinate is refused where it is the extent or more in every launch of every variant, or where the extent is a number
//! and some round of the loops with known rounds gives no value inside; a number written as a coordinate under any condition, a
//! computed one where no condition of the run inside of the loop or the function can leave that value out. The part of a tile that
//! overhangs its tensor is masked, never refused.

use super::evaluator::{Evaluator, Outcome, TileStatement};
use crate::index::{Atom, Index, Range, VarId};
use crate::ir::{ExprId, ExprKind};
use crate::origin::Origin;
use crate::program::StatementKind;
use crate::view::View;

/// What becomes of an access that is outside in every launch of a variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Outside {
    #[default]
    Refused,
    /// Where another variant's launches may have it inside.
    Masked,
}

/// What decides whether the present code runs with each value that its indices may have.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    pub outside: Outside,
    /// The variables of the loops around with known rounds, none of which is left early.
    pub rounds: Vec<VarId>,
    /// Conditions of the run inside of such a loop or of a function.
    conditions: u32,
    /// Whether the code never runs.
    never: bool,
}

impl Evaluator<'_> {
    /// Whether one access of the text has several values here, of which a condition may leave out some.
    fn repeats(&self) -> bool {
        self.calls > 0 || !self.reach.rounds.is_empty()
    }

    /// Whether nothing is refused here.
    pub(super) fn masks_outside(&self) -> bool {
        self.reach.never || self.host || self.reach.outside == Outside::Masked
    }

    /// Evaluates code whose conditions end with it.
    pub(super) fn apart<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.reach.clone();
        let value = body(self);
        self.reach = before;
        value
    }

    /// Evaluates what a condition of the run may leave out.
    pub(super) fn sometimes<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.apart(|this| {
            this.reach.conditions += u32::from(this.repeats());
            body(this)
        })
    }

    /// Evaluates what never runs.
    pub(super) fn never<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        self.apart(|this| {
            this.reach.never = true;
            body(this)
        })
    }

    /// Evaluates a loop's body, which runs for each value of `var`, or as often as the run decides.
    pub(super) fn rounds_of_loop<T>(
        &mut self,
        var: VarId,
        count: Option<i64>,
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        match count {
            Some(0) => self.never(body),
            None => self.sometimes(body),
            Some(_) => self.apart(|this| {
                this.reach.rounds.push(var);
                body(this)
            }),
        }
    }

    /// Behind a statement that may leave the loop or its round.
    pub(super) fn may_have_left(&mut self, from: usize) {
        let left = self.out.get(from..).is_some_and(|added| added.iter().any(leaves_sometimes));
        self.reach.conditions += u32::from(left && self.repeats());
    }

    /// The values of an index in the round of the known loops that has the largest ones, and in that with the smallest ones.
    fn farthest(&self, index: &Index) -> [Range; 2] {
        let atoms = &self.tables.atoms;
        let whole = atoms.range(index);
        let Ok(expanded) = atoms.expand(index) else { return [whole; 2] };
        let mut ends = [Range::of(expanded.offset()); 2];
        for (monomial, factor) in expanded.terms() {
            let term = atoms.range(&Index::product(monomial, *factor));
            let known = match monomial.as_slice() {
                [id] => {
                    matches!(atoms.atom(*id), Atom::Variable(var, 0) if self.reach.rounds.contains(var))
                }
                _ => false,
            };
            let [above, below] = match known {
                true => [Range::new(term.high, term.high), Range::new(term.low, term.low)],
                false => [term; 2],
            };
            ends = [ends[0].add(above), ends[1].add(below)];
        }
        let within = |end: Range| Range::new(end.low.max(whole.low), end.high.min(whole.high));
        ends.map(within)
    }

    /// Of a coordinate whose values from `first` to before `end` name something: those that name nothing, in one round.
    fn outside(&self, at: &Index, (first, end): (i64, i64)) -> Option<Range> {
        let [above, below] = self.farthest(at);
        let is_above = above.low <= above.high && above.low >= i128::from(end);
        let is_below = below.low <= below.high && below.high < i128::from(first);
        if is_above { Some(above) } else { is_below.then_some(below) }
    }

    /// Refuses a coordinate that names no element.
    pub(super) fn not_outside(
        &mut self,
        view: &View,
        written: &[ExprId],
        coordinates: &[Index],
        origin: Origin,
    ) -> Outcome<()> {
        if self.masks_outside() {
            return Ok(());
        }
        let place = self.tables.place(view.place);
        let name = place.name.clone();
        for (mode, (own, at)) in view.modes.iter().zip(coordinates).enumerate() {
            let Some(extent) = own.extent.as_constant().map(|extent| extent.saturating_mul(own.lanes)) else {
                if own.lanes == 1 {
                    self.not_at_extent((&name, mode), at, &own.extent, origin)?;
                }
                continue;
            };
            let number = written.get(mode).is_some_and(|id| self.is_written(*id));
            if !number && self.reach.conditions > 0 {
                continue;
            }
            if let Some(values) = self.outside(at, (0, extent)) {
                let part = if own.bounded { "" } else { "a tile of " };
                let what = values_in_words("element", values);
                return self.fail_help(
                    origin,
                    format!("{what} in mode {mode} of {part}`{name}`, whose extent there is {extent}"),
                    format!("the coordinates are 0 to {}{}", extent - 1, self.round_in_words(at)),
                );
            }
        }
        Ok(())
    }

    /// Refuses a coordinate that is the extent or more, whatever number the extent is.
    fn not_at_extent(
        &mut self,
        (name, mode): (&str, usize),
        at: &Index,
        extent: &Index,
        origin: Origin,
    ) -> Outcome<()> {
        let beyond = at.sub(extent).is_ok_and(|rest| self.outside(&rest, (i64::MIN, 0)).is_some());
        if !beyond || self.reach.conditions > 0 {
            return Ok(());
        }
        let dim = extent.as_atom().and_then(|id| match self.tables.atoms.atom(id) {
            Atom::Dim { dim, .. } => self.kernel.dims.get(*dim as usize),
            _ => None,
        });
        let dim = dim.map_or("the extent".to_owned(), |dim| format!("`{dim}`"));
        self.fail_help(
            origin,
            format!(
                "an element at {dim} or beyond it, in mode {mode} of `{name}`, whose extent there is {dim}"
            ),
            format!("the coordinates are 0 to {dim} - 1"),
        )
    }

    /// Refuses a tile, a window or a slice without an element: number `coordinates` of those that begin every `steps` elements and
    /// have `sizes` of them. In a loop with known rounds, or in a function, it may be masked on purpose.
    pub(super) fn not_beyond(
        &mut self,
        (view, word): (&View, &str),
        (steps, sizes): (&[i64], &[i64]),
        coordinates: &[Index],
        origin: Origin,
    ) -> Outcome<()> {
        if self.masks_outside() || self.repeats() {
            return Ok(());
        }
        let name = self.tables.place(view.place).name.clone();
        for (mode, at) in coordinates.iter().enumerate() {
            let (step, size) = (steps[mode].max(1), sizes[mode].max(1));
            let Some(extent) = view.modes[mode].extent.as_constant() else { continue };
            // The last one that has an element, and the first one.
            let (end, first) = (extent.saturating_add(step - 1) / step, -((size - 1) / step));
            if let Some(values) = self.outside(at, (first, end)) {
                let what = values_in_words(word, values);
                return self.fail_help(
                    origin,
                    format!("{what} in mode {mode} of `{name}`, whose extent there is {extent}"),
                    format!(
                        "with elements: {}",
                        values_in_words(word, Range::new(first.into(), i128::from(end) - 1))
                    ),
                );
            }
        }
        Ok(())
    }

    /// The round in which a coordinate is outside, where it is one of several.
    fn round_in_words(&self, at: &Index) -> String {
        let atoms = &self.tables.atoms;
        let expanded = atoms.expand(at).unwrap_or_else(|_| at.clone());
        let mut names = expanded.atoms().filter_map(|id| match atoms.atom(id) {
            Atom::Variable(var, 0) if self.reach.rounds.contains(var) => {
                let (range, name) = (atoms.facts(id).range, &self.tables.variable(*var).name);
                Some(format!("; `{name}` runs from {} to {}", range.low, range.high))
            }
            _ => None,
        });
        names.next().unwrap_or_default()
    }

    /// Whether an expression is a number as it is written, in all rounds of the loops around: of literals, parameters and names
    /// of such.
    pub(super) fn is_written(&self, id: ExprId) -> bool {
        match &self.kernel.expr(id).kind {
            ExprKind::Int(..) | ExprKind::Parameter(_) => true,
            ExprKind::Local(local) => self.written.contains(local),
            ExprKind::Unary(_, operand) | ExprKind::Cast(operand, _) => self.is_written(*operand),
            ExprKind::Binary(_, left, right) => self.is_written(*left) && self.is_written(*right),
            _ => false,
        }
    }
}

/// Whether a statement leaves the loop around it, or its round, under a condition.
fn leaves_sometimes(statement: &TileStatement) -> bool {
    let leaves = |branch: &[TileStatement]| {
        branch.iter().any(|inner| {
            matches!(inner.kind, StatementKind::Break | StatementKind::Continue) || leaves_sometimes(inner)
        })
    };
    match &statement.kind {
        StatementKind::If(_, then, otherwise) => leaves(then) || leaves(otherwise),
        // Those of loops inside are their own.
        _ => false,
    }
}

/// `element 4`, `elements 64 to 127`, `elements from 64 on`.
fn values_in_words(word: &str, values: Range) -> String {
    let (low, high) = (values.low, values.high);
    match (low == high, low < -(1 << 24), high > 1 << 24) {
        (true, ..) => format!("{word} {low}"),
        (_, true, _) => format!("{word}s up to {high}"),
        (_, _, true) => format!("{word}s from {low} on"),
        _ => format!("{word}s {low} to {high}"),
    }
}
