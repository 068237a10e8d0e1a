//! One piece of a message, moved within a rank's memory by our kernels.
//!
//! Law: element i at `from + source(i)` goes to `to + target(i)`, or is added to what is there.

use crate::error::Result;
use crate::kernels::{add_elements, move_elements, move_rows, move_rows_beside};
use layout_core::Layout;
use layout_core::mesh::Piece;
use layout_cuda::{
    Element, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorView, TensorViewMut,
};

/// Rows of so many bytes are worth a block of threads each.
const ROW: usize = 512;

/// A part of a view as a tensor of its own.
pub(super) fn part<'a, T: Element, const R: usize, const S: usize>(
    view: &'a TensorView<'_, T, R>,
    start: usize,
    shape: [usize; S],
    strides: [usize; S],
) -> Result<TensorView<'a, T, S>> {
    let end = start + reach(shape, strides);
    Ok(match (view.cuda(), view.host()) {
        (Some(memory), _) => TensorView::over_strided(memory.slice(start..end), shape, strides)?,
        (None, bytes) => {
            let bytes = &bytes.unwrap_or_default()[start * size_of::<T>()..end * size_of::<T>()];
            TensorView::over_host(bytes, shape, strides)?
        }
    })
}

/// The same, to be written.
pub(super) fn part_mut<'a, T: Element, const R: usize, const S: usize>(
    view: &'a mut TensorViewMut<'_, T, R>,
    start: usize,
    shape: [usize; S],
    strides: [usize; S],
) -> Result<TensorViewMut<'a, T, S>> {
    let end = start + reach(shape, strides);
    if view.view().cuda().is_none() {
        let bytes = view.host_mut().unwrap_or_default();
        let bytes = &mut bytes[start * size_of::<T>()..end * size_of::<T>()];
        return Ok(TensorViewMut::over_host(bytes, shape, strides)?);
    }
    let memory = view.cuda_mut().map(|memory| memory.slice_mut(start..end));
    // It is not on the host, so it is on a GPU.
    let memory = memory.ok_or_else(|| crate::MeshError::Broken { by: "a tensor that is nowhere".into() })?;
    Ok(TensorViewMut::over_strided(memory, shape, strides)?)
}

fn reach<const S: usize>(shape: [usize; S], strides: [usize; S]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    1 + shape.iter().zip(strides).map(|(extent, stride)| (extent - 1) * stride).sum::<usize>()
}

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
        let source = part(source, from, shape, [a[1], b[1], inner[1]])?;
        let mut target = part_mut(target, to, shape, [a[2], b[2], inner[2]])?;
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
