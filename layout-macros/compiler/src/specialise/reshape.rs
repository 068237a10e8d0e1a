//! Other modes over the same elements: `permute`, `squeeze`, `reshape`.
//!
//! Law: `reshape` keeps the row-major order of the elements. Modes are merged where stride and edge of the outer one are the
//! inner one's times its extent, as in CuTe's `coalesce`; what no strides describe is refused, never copied.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use crate::index::{Atom, Index, IndexOverflow};
use crate::origin::Origin;
use crate::view::{Bound, Mode, View};
use std::ops::Range;

type Fallible<T> = Result<T, IndexOverflow>;

/// Modes of the view, and the new modes that have the same elements.
type Group = (Range<usize>, Range<usize>);

/// Products of the last extents: entry `i` is that of the modes from `i` on.
fn suffix_products(extents: &[Index]) -> Fallible<Vec<Index>> {
    let mut products = vec![Index::constant(1)];
    for extent in extents.iter().rev() {
        let last = products.last().cloned().unwrap_or(Index::constant(1));
        products.push(last.mul(extent)?);
    }
    products.reverse();
    Ok(products)
}

/// The finest groups of old and new modes with equal numbers of elements, from the last on.
fn groups(old: &[Index], new: &[Index]) -> Fallible<Option<Vec<Group>>> {
    let (of_old, of_new) = (suffix_products(old)?, suffix_products(new)?);
    let (mut ends, mut groups) = ((old.len(), new.len()), Vec::new());
    for i in (0..old.len()).rev() {
        let Some(j) = (0..ends.1).rev().find(|j| of_new[*j] == of_old[i]) else { continue };
        groups.push((i..ends.0, j..ends.1));
        ends = (i, j);
    }
    if of_old[0] != of_new[0] {
        return Ok(None);
    }
    // Extents of 1 are left.
    if ends != (0, 0) {
        groups.push((0..ends.0, 0..ends.1));
    }
    Ok(Some(groups))
}

/// Old modes as one: from one element to the next in memory, and along each edge.
struct Merged {
    stride: Index,
    steps: Vec<Index>,
    extent: Index,
    bounded: bool,
}

impl View {
    /// Whether a bound is the edge `c < extent` of this mode and of no other.
    fn is_own(&self, bound: &Bound, mode: usize) -> bool {
        let step = |(at, step): (usize, &Index)| step.as_constant() == Some(i64::from(at == mode));
        bound.base.as_constant() == Some(0)
            && bound.extent == self.modes[mode].extent
            && bound.steps.iter().enumerate().all(step)
    }

    /// The modes of a group as one; the number of the mode whose elements do not follow those of the next one, otherwise.
    fn merged(&self, group: Range<usize>, linear: &[Bound]) -> Fallible<Result<Merged, usize>> {
        // A mode that a tile covers whole has its edge, though no coordinate of the tile is beyond it.
        let has_edge = |mode: usize| {
            self.modes[mode].bounded || self.bounds.iter().any(|bound| self.is_own(bound, mode))
        };
        let bounded = group.is_empty() || group.clone().any(has_edge);
        let mut merged: Option<Merged> = None;
        for mode in group.rev().filter(|mode| self.modes[*mode].extent.as_constant() != Some(1)) {
            let Mode { extent, stride, .. } = &self.modes[mode];
            let steps = linear.iter().map(|bound| bound.steps[mode].clone());
            merged = Some(match merged {
                None => {
                    Merged { stride: stride.clone(), steps: steps.collect(), extent: extent.clone(), bounded }
                }
                Some(inner) => {
                    let follows = |outer: &Index, step: &Index| Ok(*outer == step.mul(&inner.extent)?);
                    let mut all = follows(stride, &inner.stride)?;
                    for (outer, step) in steps.zip(&inner.steps) {
                        all &= follows(&outer, step)?;
                    }
                    if !all {
                        return Ok(Err(mode));
                    }
                    Merged { extent: inner.extent.mul(extent)?, ..inner }
                }
            });
        }
        // Of one element, wherever its coordinates are.
        Ok(Ok(merged.unwrap_or_else(|| Merged {
            stride: Index::constant(0),
            steps: vec![Index::constant(0); linear.len()],
            extent: Index::constant(1),
            bounded,
        })))
    }

    /// The view with these extents, or the mode that cannot be merged with the next one.
    fn reshape(&self, extents: &[Index], groups: &[Group]) -> Fallible<Result<View, usize>> {
        // The edge of a whole mode becomes that of each new mode.
        let whole = |bound: &&Bound| (0..self.rank()).any(|mode| self.is_own(bound, mode));
        let linear: Vec<Bound> = self.bounds.iter().filter(|bound| !whole(bound)).cloned().collect();
        let mut view = self.clone();
        let none = || vec![Index::constant(0); extents.len()];
        view.bounds =
            linear.iter().map(|bound| Bound { steps: none(), lane_steps: none(), ..bound.clone() }).collect();
        let mode = |extent: &Index| Mode {
            extent: extent.clone(),
            stride: Index::constant(0),
            lanes: 1,
            lane_stride: Index::constant(0),
            bounded: false,
        };
        view.modes = extents.iter().map(mode).collect();
        let mut edges = Vec::new();
        for (old, new) in groups {
            let merged = match self.merged(old.clone(), &linear)? {
                Ok(merged) => merged,
                Err(mode) => return Ok(Err(mode)),
            };
            let mut inner = Index::constant(1);
            for at in new.clone().rev() {
                view.modes[at].stride = merged.stride.mul(&inner)?;
                for (bound, step) in view.bounds.iter_mut().zip(&merged.steps) {
                    bound.steps[at] = step.mul(&inner)?;
                }
                if merged.bounded {
                    edges.push(at);
                }
                inner = inner.mul(&extents[at])?;
            }
        }
        edges.into_iter().rev().for_each(|mode| view.close(mode));
        Ok(Ok(view))
    }

    /// The modes in another order: new mode `i` is mode `order[i]`.
    fn permute(&self, order: &[usize]) -> View {
        let mut view = self.clone();
        view.modes = order.iter().map(|mode| self.modes[*mode].clone()).collect();
        for bound in &mut view.bounds {
            bound.steps = order.iter().map(|mode| bound.steps[*mode].clone()).collect();
            bound.lane_steps = order.iter().map(|mode| bound.lane_steps[*mode].clone()).collect();
        }
        view
    }
}

impl Evaluator<'_> {
    pub(super) fn permuted(&mut self, mut values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let order = self.sizes(values.remove(1), "permute", origin)?;
        let view = self.view(values.remove(0), "permute", origin)?;
        self.same_rank(&view, "permute", order.len(), origin)?;
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..order.len() as i64) {
            let identity: Vec<usize> = (0..order.len()).collect();
            return self.fail_help(
                origin,
                format!("{order:?} is no order of {} modes", order.len()),
                format!("name each mode once: `permute({identity:?})` changes nothing"),
            );
        }
        let order: Vec<usize> = order.into_iter().map(|mode| mode as usize).collect();
        Ok(StaticValue::View(view.permute(&order)))
    }

    pub(super) fn squeezed(&mut self, mut values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let mode = self.expect_index(values.remove(1), origin)?.as_constant();
        let view = self.view(values.remove(0), "squeeze", origin)?;
        let (rank, name) = (view.rank(), self.tables.place(view.place).name.clone());
        let Some(mode) = mode.and_then(|mode| usize::try_from(mode).ok()).filter(|mode| *mode < rank) else {
            return self.fail(origin, format!("a view of `{name}` of rank {rank} has no such mode"));
        };
        let own = &view.modes[mode];
        if own.extent.as_constant() != Some(1) || own.lanes != 1 || rank == 1 {
            return self.fail_help(
                origin,
                format!("`squeeze` of mode {mode} of `{name}`, which is not one of several with one element"),
                "a mode of more elements is left by `slice`, its coordinate given",
            );
        }
        let order: Vec<usize> = (0..rank).filter(|other| *other != mode).collect();
        Ok(StaticValue::View(view.permute(&order)))
    }

    /// An extent over the integers: one that leaves 64 bits is that of a view without elements.
    fn unwrapped(&self, extent: &Index) -> Index {
        match extent.as_atom().map(|id| self.tables.atoms.atom(id)) {
            Some(Atom::Wrapped { index, .. }) => index.as_ref().clone(),
            _ => extent.clone(),
        }
    }

    pub(super) fn reshaped(&mut self, mut values: Vec<StaticValue>, origin: Origin) -> Outcome<StaticValue> {
        let parts = match values.remove(1) {
            StaticValue::Array(parts) | StaticValue::Tuple(parts) => parts,
            other => {
                return self
                    .fail(origin, format!("`reshape` takes an array of extents, not {}", other.kind()));
            }
        };
        let mut extents = Vec::new();
        for part in parts {
            let extent = self.expect_index(part, origin)?;
            extents.push(self.unwrapped(&extent));
        }
        let view = self.view(values.remove(0), "reshape", origin)?;
        let name = self.tables.place(view.place).name.clone();
        if view.lanes() != 1 {
            let message = format!("`reshape` of vectors of `{name}`");
            return self.fail_help(origin, message, "take `vectorize` of the reshaped view");
        }
        if extents.is_empty() {
            return self.fail(origin, format!("`reshape` of `{name}` to no modes"));
        }
        let old: Vec<Index> = view.modes.iter().map(|mode| self.unwrapped(&mode.extent)).collect();
        let Some(groups) = self.index(origin, groups(&old, &extents))? else {
            let count = |extents: &[Index]| suffix_products(extents).ok()?.first()?.as_constant();
            let numbers = count(&old).zip(count(&extents)).map(|(old, new)| format!(": {old} to {new}"));
            return self.fail_help(
                origin,
                format!("`reshape` of `{name}` changes the number of elements{}", numbers.unwrap_or_default()),
                "the products of the extents are equal as written, or by `require`: `x.reshape([M * N])` of `[M, N]`",
            );
        };
        match self.index(origin, view.reshape(&extents, &groups))? {
            Ok(view) => Ok(StaticValue::View(view)),
            Err(mode) => self.fail_help(
                origin,
                format!("`reshape` merges modes {mode} and {} of `{name}`, whose elements do not follow each other", mode + 1),
                "modes are merged where the outer one's stride is the inner one's times its extent and no edge cuts the inner one; \
                 `copy_from` into a dense view moves the elements",
            ),
        }
    }
}
