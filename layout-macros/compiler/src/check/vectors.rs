//! Vector widths of copies. A copy without a requested width gets the widest vectors that cost nothing; a requested
//! width that is not possible becomes a narrower one.
//!
//! Law: the elements and their places stay the same. Only the thread of a block copy that moves an element, and the
//! number of elements that move at once, may change. A barrier separates the copy from its readers in any case.

use super::lower::{Failed, Lower};
use super::movement::{Begins, power_of_two, unit};
use crate::index::{Index, IndexOverflow};
use crate::origin::Origin;
use crate::program::{Reason, Space};
use crate::view::View;
use layout_core::{IntTuple, Layout};

/// How many elements could move at once, and why fewer do.
pub(super) type Narrowed = Option<(u32, Reason)>;

impl Lower {
    /// Both sides of a thread's own copy in the widest vectors that are contiguous and aligned on both, and why they are
    /// narrower than the elements allow. Copies between registers are left alone: they cost nothing.
    pub(super) fn widened(
        &mut self,
        destination: &View,
        source: &View,
        origin: Origin,
    ) -> Result<(View, View, Narrowed), Failed> {
        let same = (destination.clone(), source.clone(), None);
        let local = |view: &View, this: &Self| this.tables.place(view.place).space == Space::Local;
        if destination.lanes() != 1
            || source.lanes() != 1
            || (local(destination, self) && local(source, self))
        {
            return Ok(same);
        }
        let one = Index::constant(1);
        let modes = |view: &View| (0..view.rank()).filter(|mode| !unit(view, *mode)).collect::<Vec<usize>>();
        let pairs = modes(destination).into_iter().zip(modes(source));
        let contiguous = |(to, from): &(usize, usize)| {
            destination.modes[*to].stride == one && source.modes[*from].stride == one
        };
        let Some((to, from)) = pairs.into_iter().find(contiguous) else { return Ok(same) };
        let bytes = i64::from(self.tables.place(destination.place).elem.bytes());
        let extent = destination.modes[to].extent.as_constant().unwrap_or(1);
        let wanted = power_of_two(extent).min(16 / bytes);
        let mut narrowed = None;
        let mut width = wanted;
        while width > 1 {
            let wide = vectors(destination, to, width).and_then(|d| Ok((d, vectors(source, from, width)?)));
            let (wide_to, wide_from) = self.index(origin, wide)?;
            match self.moves_whole(&wide_to, to, &wide_from, from, width, origin)? {
                None => return Ok((wide_to, wide_from, narrowed)),
                Some(reason) => narrowed = narrowed.or(Some((wanted as u32, reason))),
            }
            width /= 2;
        }
        Ok((same.0, same.1, narrowed))
    }

    /// A block's copy in the vectors that were asked for, if they can be moved whole; else in narrower ones, with the
    /// threads side by side along the vectors, so that a warp still reads contiguous memory.
    pub(super) fn narrowed(
        &mut self,
        destination: &View,
        source: &View,
        threads: &Layout,
        origin: Origin,
    ) -> Result<(View, View, Layout, Narrowed), Failed> {
        let same = (destination.clone(), source.clone(), threads.clone(), None);
        let vector_modes = |view: &View| -> Vec<usize> {
            (0..view.rank()).filter(|mode| view.modes[*mode].lanes > 1).collect()
        };
        let (&[mode], 2) = (vector_modes(destination).as_slice(), destination.rank()) else {
            return Ok(same);
        };
        let lanes = destination.modes[mode].lanes;
        let mut width = lanes;
        let mut narrowed = None;
        while width > 0 && lanes % width == 0 {
            let parts = (split(destination, mode, width), split(source, mode, width));
            let (Some(to), Some(from)) = parts else { return Ok(same) };
            if width > 1
                && let Some(reason) = self.moves_whole(&to, mode, &from, mode, width, origin)?
            {
                let bytes = i64::from(self.tables.place(destination.place).elem.bytes());
                let wanted = power_of_two(lanes).min(16 / bytes);
                // More than 16 bytes no instruction moves.
                narrowed = narrowed.or((width <= wanted).then_some((wanted as u32, reason)));
                width /= 2;
                continue;
            }
            let along = to.modes[mode].extent.as_constant().unwrap_or(1).clamp(1, threads.size().max(1));
            if width == lanes || threads.size() % along != 0 {
                return Ok(same);
            }
            let across = threads.size() / along;
            let layout = match mode {
                0 => Layout::col_major(IntTuple::flat([along, across])),
                _ => Layout::row_major(IntTuple::flat([across, along])),
            };
            return Ok(layout.map_or(same, |layout| (to, from, layout, narrowed)));
        }
        Ok(same)
    }

    /// Why not every vector of both sides can be moved at once.
    fn moves_whole(
        &mut self,
        destination: &View,
        to: usize,
        source: &View,
        from: usize,
        width: i64,
        origin: Origin,
    ) -> Result<Option<Reason>, Failed> {
        for (view, mode) in [(destination, to), (source, from)] {
            let stride = &view.modes[mode].lane_stride;
            if *stride != Index::constant(1) {
                return Ok(Some(Reason::Apart { place: view.place, stride: Some(stride.clone()) }));
            }
            let mut anywhere = Vec::new();
            for other in &view.modes {
                let extent = other.extent.as_constant().unwrap_or(1);
                anywhere.push(match extent {
                    1 => Index::constant(0),
                    extent => self.counter("i", extent, origin).1,
                });
            }
            if let Some(reason) = self.whole(view, &anywhere, &[(mode, width)], Begins::Aligned, origin)? {
                return Ok(Some(reason));
            }
        }
        Ok(None)
    }
}

/// The view of vectors along a mode whose extent they divide.
fn vectors(view: &View, mode: usize, width: i64) -> Result<View, IndexOverflow> {
    let lanes: Vec<i64> = (0..view.rank()).map(|other| if other == mode { width } else { 1 }).collect();
    view.vectorize(&lanes, &mut |extent, by| extent.exact_div(by).ok_or(IndexOverflow))
}

/// The same elements in vectors of `width` instead of the view's own, where those are adjacent.
fn split(view: &View, mode: usize, width: i64) -> Option<View> {
    let mut view = view.clone();
    let own = &mut view.modes[mode];
    let pieces = own.lanes / width;
    if own.lanes % width != 0 || own.lane_stride.scale(own.lanes).ok()? != own.stride {
        return None;
    }
    own.extent = own.extent.scale(pieces).ok()?;
    own.stride = own.lane_stride.scale(width).ok()?;
    own.lanes = width;
    for bound in &mut view.bounds {
        if bound.lane_steps[mode].scale(width * pieces).ok()? != bound.steps[mode] {
            return None;
        }
        bound.steps[mode] = bound.lane_steps[mode].scale(width).ok()?;
    }
    Some(view)
}
