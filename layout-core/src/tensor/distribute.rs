//! The elements of a view that one thread owns.
//!
//! Law: over all threads of a thread layout each element is owned exactly once; neighbours go to neighbouring threads.

use super::tile::{divide, tidy};
use super::view::View;
use crate::layout::Mode;
use crate::{Layout, LayoutError, Swizzle};

impl View {
    /// The elements that thread `thread` of `threads` owns: neighbours go to neighbouring threads, round after round.
    ///
    /// # Errors
    /// [`LayoutError::Rank`]; [`LayoutError::Coordinate`] if there is no such thread;
    /// [`LayoutError::NotInjective`] unless `threads` numbers each thread of `0..size` once.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?).distribute(&Layout::row_major((2, 4))?, 5)?;
    /// assert_eq!((view.layout().to_string(), view.offset()), ("(4,4):(32,4)".to_string(), 17));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn distribute(&self, threads: &Layout, thread: i64) -> Result<Self, LayoutError> {
        self.check_rank("the thread layout", threads.rank())?;
        let at = thread_coordinates(threads, thread)?;
        let sizes: Vec<i64> = threads.modes().map(|mode| mode.size()).collect();
        self.owned(&sizes, &at)
    }

    /// As [`View::distribute`], mode 0 shared by the threads' coordinate along `axis` alone; the other modes stay
    /// whole, and threads that differ elsewhere own the same elements.
    ///
    /// # Errors
    /// As [`View::distribute`]; [`LayoutError::Rank`] if `threads` has no mode `axis`.
    ///
    /// ```
    /// # use layout_core::{Layout, tensor::View};
    /// let view = View::new(Layout::row_major((8, 16))?);
    /// let part = view.distribute_along(&Layout::row_major((4, 2))?, 1, 3)?;
    /// assert_eq!((part.layout().to_string(), part.offset()), ("(4,16):(32,1)".to_string(), 16));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn distribute_along(&self, threads: &Layout, axis: usize, thread: i64) -> Result<Self, LayoutError> {
        let coordinates = thread_coordinates(threads, thread)?;
        let found = threads.rank();
        let (Some(mode), Some(&coordinate)) = (threads.mode(axis), coordinates.get(axis)) else {
            let (operation, what, expected) = ("distribute", "the thread layout", axis + 1);
            return Err(LayoutError::Rank { operation, what, expected, found });
        };
        let rank = self.layout.rank();
        let (mut sizes, mut at) = (vec![1; rank], vec![0; rank]);
        if let (Some(size), Some(first)) = (sizes.first_mut(), at.first_mut()) {
            (*size, *first) = (mode.size(), coordinate);
        }
        self.owned(&sizes, &at)
    }

    /// As [`View::distribute`], with the thread's offset swizzled, counted in elements of the view.
    ///
    /// # Errors
    /// As [`View::distribute`]; [`LayoutError::Unsupported`] for a view with a tail, whose mask the swizzle would
    /// break.
    ///
    /// ```
    /// # use layout_core::{Layout, Swizzle, tensor::View};
    /// let view = View::new(Layout::row_major((8, 32))?).vectorize(&[1, 4])?;
    /// let part = view.distribute_swizzled(&Layout::row_major((8, 4))?, Swizzle::new(2, 0, 3)?, 4)?;
    /// assert_eq!(part.offset(), 36);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn distribute_swizzled(
        &self,
        threads: &Layout,
        swizzle: Swizzle,
        thread: i64,
    ) -> Result<Self, LayoutError> {
        let view = self.distribute(threads, thread)?;
        if view.masked {
            let detail = "the view has a tail; swizzle a view that its tiles divide".into();
            return Err(LayoutError::Unsupported { operation: "distribute", detail });
        }
        let size = view.element.size().max(1);
        let swizzled = swizzle.apply((view.offset - self.offset) / size) * size;
        Ok(Self { offset: self.offset + swizzled, dimensions: Vec::new(), rank: 0, ..view })
    }

    fn owned(&self, sizes: &[i64], at: &[i64]) -> Result<Self, LayoutError> {
        let view = self.cut(sizes).by_mode(|i, mode| {
            let (tile, rest) = divide(mode, sizes[i])?;
            Ok((rest, tile.at(at[i])?))
        })?;
        Ok(Self { layout: tidy(&view.layout)?, ..view })
    }
}

/// The coordinate of `thread` along each top-level mode of a thread layout that numbers `0..size` once.
fn thread_coordinates(threads: &Layout, thread: i64) -> Result<Vec<i64>, LayoutError> {
    let size = threads.size();
    if !(0..size).contains(&thread) {
        return Err(LayoutError::Coordinate { mode: 0, coordinate: thread, extent: size });
    }
    let mut modes: Vec<Mode> = threads.leaves().copied().filter(|mode| mode.shape > 1).collect();
    modes.sort_unstable_by_key(|mode| mode.stride);
    let mut next = 1;
    for mode in modes {
        if mode.stride != next {
            let detail = format!("no thread {next}, or several; strides must be those of a compact layout");
            return Err(LayoutError::NotInjective {
                operation: "distribute",
                layout: threads.to_string(),
                detail,
            });
        }
        next *= mode.shape;
    }
    let coordinate = |mode: Layout| {
        let (mut step, mut coordinate) = (1, 0);
        for leaf in mode.leaves().filter(|leaf| leaf.shape > 1) {
            coordinate += thread / leaf.stride % leaf.shape * step;
            step *= leaf.shape;
        }
        coordinate
    };
    Ok(threads.modes().map(coordinate).collect())
}
