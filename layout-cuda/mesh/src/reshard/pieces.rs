//! One piece of a message, moved within a rank's memory by our kernels.
//!
//! Law: element i at `from + source(i)` goes to `to + target(i)`, or is added to what is there.

use crate::error::Result;
use crate::kernels::{add_elements, move_elements, move_rows, move_rows_beside};
use layout_core::Layout;
use layout_core::mesh::Piece;
use layout_cuda::{Element, LaunchConfig, ParamSet, ParamValue, Stream, TensorView, TensorViewMut};

/// Rows of so many bytes are worth a block of threads each.
const ROW: usize = 512;

/// A layout's elements one after the other, in the order of its index.
pub(super) fn compact(layout: &Layout) -> Result<Layout> {
    Ok(Layout::col_major(layout.shape())?)
}

/// Whether a layout is neighbours in order.
pub(super) fn is_run(layout: &Layout) -> bool {
    let whole = layout_core::algebra::coalesce(layout);
    whole.size() == 1 || whole.leaves().count() == 1 && whole.leaves().all(|mode| mode.stride == 1)
}

/// How much of the device a move takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// All of it.
    Whole,
    /// So many blocks, which leave NCCL's kernels the other multiprocessors.
    Few(u32),
}

/// Moves a piece from one view into another one.
pub(super) fn transfer<T: Element, const R: usize, const S: usize>(
    stream: &Stream,
    piece: &Piece,
    (adds, pace): (bool, Pace),
    source: &TensorView<'_, T, R>,
    target: &mut TensorViewMut<'_, T, S>,
) -> Result<()> {
    let modes = piece.source.leaves().zip(piece.target.leaves());
    let mut modes: Vec<[usize; 3]> = modes
        .map(|(from, to)| [from.shape, from.stride, to.stride].map(|value| value.max(0) as usize))
        .filter(|[extent, ..]| *extent > 1)
        .collect();
    // Contiguous in both, if there is such a mode, and not short: rows. It comes last, the longest of the others before it.
    let row = modes
        .iter()
        .position(|[extent, from, to]| (*from, *to) == (1, 1) && extent * size_of::<T>() >= ROW && !adds);
    let last = row.map(|row| modes.remove(row));
    modes.sort_by_key(|[extent, _, to]| if row.is_some() { *extent } else { usize::MAX - to });
    let inner = last.or_else(|| modes.pop()).unwrap_or([1, 1, 1]);
    let (b, a) = (modes.pop().unwrap_or([1, 1, 1]), modes.pop().unwrap_or([1, 1, 1]));
    // The launch's third dimension of blocks ends at 65535.
    let a = if a[0] > 65535 && row.is_some() {
        modes.push(a);
        [1, 1, 1]
    } else {
        a
    };
    let steps: usize = modes.iter().map(|[extent, ..]| extent).product();
    for step in 0..steps {
        let mut rest = step;
        let (mut from, mut to) = (piece.from as usize, piece.to as usize);
        for [extent, source, target] in &modes {
            let digit = rest % extent;
            rest /= extent;
            (from, to) = (from + digit * source, to + digit * target);
        }
        let shape = [a[0], b[0], inner[0]];
        let source = source.part(from, shape, [a[1], b[1], inner[1]])?;
        let mut target = target.part_mut(to, shape, [a[2], b[2], inner[2]])?;
        match (row.is_some(), adds) {
            (_, true) => add_elements::launch(stream, &source, &mut target)?,
            (true, false) => match pace {
                Pace::Whole => move_rows::launch(stream, &source, &mut target)?,
                Pace::Few(blocks) => {
                    let set = ParamSet::default()
                        .with("T", ParamValue::Type(T::ELEM))
                        .with("BLOCKS", ParamValue::Int(i64::from(blocks)));
                    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
                    move_rows_beside::launch_with(config, stream, &source, &mut target)?;
                }
            },
            (false, false) => move_elements::launch(stream, &source, &mut target)?,
        }
    }
    Ok(())
}
