//! Which sizes a kernel is tried at: around every tile that its text names.
//!
//! Law: for each dimension there are 0, 1, the neighbours of each tile and of its multiples, and primes; each of them is
//! tried at least once while the other dimensions are ordinary. A tile of a dimension is what its text divides it
//! by, in the body, in the grid or by `tile` and `window` of a tensor with that dimension; where nothing says so, every
//! number of the attribute and the threads of the block may be one.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Index;

use layout_compiler::intrinsic::Intrinsic;
use layout_compiler::ir::{ArgumentKind, BinaryOp, ExprId, ExprKind};
use layout_compiler::launch::{Extent, LaunchPlan, PlanArgumentKind};
use layout_compiler::{Kernel, ParamSet, ParamValue};

/// The largest number that counts as a tile.
const LARGEST: usize = 4096;
const PRIMES: [usize; 7] = [3, 7, 31, 61, 127, 257, 521];

/// The dimensions of one launch by name: `sizes["N"]`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Sizes(pub(super) Vec<(String, usize)>);

impl Sizes {
    /// The size of a dimension, where the kernel has it.
    pub fn get(&self, name: &str) -> Option<usize> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, size)| *size)
    }
}

impl Index<&str> for Sizes {
    type Output = usize;

    /// # Panics
    /// Where the kernel has no such dimension; the message names those that it has.
    fn index(&self, name: &str) -> &usize {
        let known = self.0.iter().find(|(known, _)| known == name);
        &known.unwrap_or_else(|| panic!("the kernel has no dimension `{name}`, it has {self}")).1
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(name, size)| format!("{name} = {size}")).collect();
        f.write_str(if parts.is_empty() { "no dimensions" } else { "" })?;
        f.write_str(&parts.join(", "))
    }
}

/// The dimensions that the tensors of a launch give, by number.
pub(super) fn free(plan: &LaunchPlan) -> Vec<usize> {
    let kinds = plan.arguments.iter().map(|argument| &argument.kind);
    let extents = kinds.filter_map(|kind| match kind {
        PlanArgumentKind::Tensor { extents, .. } => Some(extents),
        PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index => None,
    });
    let dims = extents.flatten().filter_map(|extent| match extent {
        Extent::Dim(dim) => Some(*dim as usize),
        Extent::Static(_) | Extent::Computed(_) => None,
    });
    dims.filter(|dim| *dim < plan.dims.len()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The tiles of each dimension.
pub(super) fn tiles(kernel: &Kernel, set: &ParamSet, plan: &LaunchPlan) -> Vec<BTreeSet<usize>> {
    let mut own = vec![BTreeSet::new(); plan.dims.len()];
    let mut loose = BTreeSet::new();
    let known = |id: &ExprId| match kernel.constant(*id, set) {
        Ok(ParamValue::Int(value)) => usize::try_from(value).ok().filter(|tile| (2..=LARGEST).contains(tile)),
        _ => None,
    };
    let of = |id: &ExprId| kernel.exprs.get(id.0 as usize).map(|expr| &expr.kind);
    let dim = |id: &ExprId| match of(id) {
        Some(ExprKind::Dim(dim)) => Some(*dim as usize).filter(|dim| *dim < plan.dims.len()),
        _ => None,
    };
    for expr in &kernel.exprs {
        match &expr.kind {
            ExprKind::Intrinsic(Intrinsic::DivCeil, _, parts) => {
                if let [left, right] = &parts[..]
                    && let (Some(dim), Some(tile)) = (dim(left), known(right))
                {
                    own[dim].insert(tile);
                }
            }
            ExprKind::Binary(BinaryOp::Div | BinaryOp::Rem, left, right) => {
                if let (Some(dim), Some(tile)) = (dim(left), known(right)) {
                    own[dim].insert(tile);
                }
            }
            ExprKind::Intrinsic(Intrinsic::Tile | Intrinsic::Window, _, parts) => {
                let Some((view, shape)) = parts.split_first().zip(parts.get(1)).map(|((v, _), s)| (v, s))
                else {
                    continue;
                };
                let (Some(ExprKind::Array(shape)), view) = (of(shape), of(view)) else { continue };
                for (mode, extent) in shape.iter().enumerate() {
                    let Some(tile) = known(extent) else { continue };
                    let argument = match view {
                        Some(ExprKind::Argument(number)) => kernel.arguments.get(*number as usize),
                        _ => None,
                    };
                    let extents = argument.map(|argument| &argument.kind);
                    let mode = match extents {
                        Some(ArgumentKind::Tensor { extents, .. }) => extents.get(mode).and_then(&dim),
                        _ => None,
                    };
                    match mode {
                        Some(dim) => own[dim].insert(tile),
                        None => loose.insert(tile),
                    };
                }
            }
            _ => {}
        }
    }
    let numbers = set.0.iter().filter_map(|(_, value)| match value {
        ParamValue::Int(value) => usize::try_from(*value).ok(),
        _ => None,
    });
    let threads = plan.block.iter().map(|extent| *extent as usize).product();
    let any: BTreeSet<usize> =
        numbers.chain([threads]).filter(|tile| (2..=LARGEST).contains(tile)).chain(loose).collect();
    own.into_iter().map(|tiles| if tiles.is_empty() { any.clone() } else { tiles }).collect()
}

/// The sizes of a dimension with these tiles, those that most kernels get wrong first.
pub(super) fn around(tiles: &BTreeSet<usize>) -> Vec<usize> {
    let largest = tiles.last().copied().unwrap_or(1);
    let mut sizes = Vec::new();
    // The largest tile is most often the block's; a smaller one is inside of it.
    for tile in tiles.iter().rev() {
        sizes.extend([tile + 1, *tile, tile - 1]);
    }
    sizes.extend([1, 0]);
    for tile in tiles.iter().rev() {
        sizes.extend([2 * tile + 1, 2 * tile, 2 * tile - 1, 3 * tile + 1]);
    }
    sizes.extend(PRIMES.into_iter().filter(|prime| *prime <= (3 * largest).max(31)));
    let mut seen = BTreeSet::new();
    sizes.retain(|size| seen.insert(*size));
    sizes
}

/// Sizes for all dimensions at once, `cases` of them: each size of each dimension in turn while the others take one of
/// theirs, from the front of the lists to their ends. `random` is below its argument.
pub(super) fn shapes(
    lists: &[Vec<usize>],
    cases: usize,
    mut random: impl FnMut(usize) -> usize,
) -> Vec<Vec<usize>> {
    let mut shapes = vec![lists.iter().map(|list| list.first().copied().unwrap_or(1)).collect::<Vec<_>>()];
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    for place in 0..longest {
        for (dim, list) in lists.iter().enumerate() {
            let Some(size) = list.get(place) else { continue };
            // The others are rarely empty: then there would be nothing to see.
            let mut other = |list: &Vec<usize>| match list.get(random(list.len().max(1))) {
                Some(0) | None => 1,
                Some(size) => *size,
            };
            let mut shape: Vec<usize> = lists.iter().map(&mut other).collect();
            shape[dim] = *size;
            shapes.push(shape);
        }
    }
    let mut seen = BTreeSet::new();
    shapes.retain(|shape| seen.insert(shape.clone()));
    shapes.truncate(cases.max(1));
    shapes
}

/// Sizes for all dimensions at once, each up to four times the largest of its list, small ones as often as large ones.
pub(super) fn drawn(lists: &[Vec<usize>], random: &mut impl FnMut(usize) -> usize) -> Vec<usize> {
    let draw = |list: &Vec<usize>| {
        let most = list.iter().copied().max().unwrap_or(1).max(1).saturating_mul(4);
        let bits = random(most.ilog2() as usize + 1);
        (random(1 << (bits + 1))).clamp(1, most)
    };
    lists.iter().map(draw).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_of_every_dimension_is_tried() {
        let lists = [around(&[32, 8].into()), around(&[64].into()), around(&BTreeSet::new())];
        assert!([0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 97].iter().all(|size| lists[0].contains(size)));
        let mut state = 7;
        let random = |below| {
            state = (state * 5 + 3) % 8191;
            state % below
        };
        let all = shapes(&lists, usize::MAX, random);
        for (dim, list) in lists.iter().enumerate() {
            assert!(list.iter().all(|size| all.iter().any(|shape| shape[dim] == *size)), "{list:?}");
        }
        assert_eq!(all[0], [33, 65, 1]);
        assert_eq!(shapes(&[], 5, |_| 0), [Vec::<usize>::new()]);
    }
}
