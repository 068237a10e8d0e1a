//! A tile's coordinate that is an element's: `x.tile([BM], [block_idx.x * BM])`.
//!
//! Law: a coordinate is refused where it is a multiple of the tile's extent and what it counts has a value for each tile of the mode: the
//! blocks of a grid of `N.div_ceil(BM)`, or a loop over `0..N` in steps of `BM`. Then only the first tile is the one meant, and of several
//! some are outside in every launch.

use super::evaluator::{Evaluator, Outcome};
use crate::index::{Atom, AtomId, Index};
use crate::ir::Special;
use crate::origin::Origin;
use crate::view::View;

impl Evaluator<'_> {
    /// Refuses coordinates of `tile` that count elements.
    pub(super) fn numbers_tiles(
        &mut self,
        view: &View,
        sizes: &[i64],
        coordinates: &[Index],
        origin: Origin,
    ) -> Outcome<()> {
        if self.masks_outside() {
            return Ok(());
        }
        for (mode, (at, size)) in coordinates.iter().zip(sizes).enumerate() {
            let own = &view.modes[mode];
            if *size == 1 || own.lanes != 1 || at.as_constant().is_some() {
                continue;
            }
            let extent = own.extent.clone();
            let Ok(at) = self.tables.atoms.expand(at) else { continue };
            let Some((counted, way)) = self.counts_elements(&at, *size, &extent) else { continue };
            let name = self.tables.place(view.place).name.clone();
            return self.fail_help(
                origin,
                format!(
                    "`{counted}` in mode {mode} of a `tile` of `{name}` is the number of an element: its tiles of {size} are numbered \
                     0, 1, 2, .."
                ),
                format!("{way}; the part that begins at an element is `{name}.window(..)`"),
            );
        }
        Ok(())
    }

    /// What a coordinate counts as elements, and the number of the tile.
    fn counts_elements(&mut self, at: &Index, size: i64, extent: &Index) -> Option<(String, String)> {
        let single = |id: &[AtomId]| if let [id] = id { Some(*id) } else { None };
        for (monomial, factor) in at.terms() {
            let Some(id) = single(monomial).filter(|_| *factor > 0) else { continue };
            match self.tables.atoms.atom(id).clone() {
                Atom::Special(special @ (Special::BlockIdx | Special::ThreadIdx), axis) => {
                    let word = if special == Special::BlockIdx { "block_idx" } else { "thread_idx" };
                    let name = format!("{word}.{}", ["x", "y", "z"][axis.min(2) as usize]);
                    let number = at.exact_div(size)?;
                    let rest = at.sub(&Index::atom(id).scale(*factor).ok()?).ok()?;
                    let count = match special {
                        Special::BlockIdx => self.grid.as_ref()?[axis.min(2) as usize].clone(),
                        _ => Index::constant(self.block[axis.min(2) as usize].into()),
                    };
                    if self.tables.atoms.range(&rest).low >= 0 && self.parts(extent, *factor, &count) {
                        let whole = number.as_atom().is_some();
                        let way =
                            if whole { format!("write `{name}`") } else { format!("divide it by {size}") };
                        let sum = if rest.as_constant() == Some(0) { "" } else { " + .." };
                        return Some((format!("{factor} * {name}{sum}"), way));
                    }
                }
                Atom::Variable(var, 0) if at.terms().len() == 1 && at.offset() == 0 => {
                    let step = self.tables.atoms.facts(id).divisor;
                    let limit = if factor % size == 0 {
                        self.tables.atoms.div_ceil(extent, &Index::constant(size)).ok()?
                    } else {
                        extent.clone()
                    };
                    let whole = factor.checked_mul(step).is_some_and(|all| all % size == 0);
                    let counted = factor % size == 0 || *factor == 1;
                    if whole && counted && self.facts.below(&Index::atom(id), &limit) {
                        let name = self.tables.variable(var).name.clone();
                        return Some(match *factor {
                            1 => {
                                (name.clone(), format!("write `{name} / {size}`, or count tiles in the loop"))
                            }
                            factor => (format!("{factor} * {name}"), format!("write `{name}`")),
                        });
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Whether an extent has this many parts of `length` elements: rounded up, or down.
    fn parts(&mut self, extent: &Index, length: i64, count: &Index) -> bool {
        let length = Index::constant(length);
        let up = self.tables.atoms.div_ceil(extent, &length);
        let down = self.tables.atoms.div(extent, &length);
        [up, down].into_iter().flatten().any(|parts| parts == *count)
    }
}
