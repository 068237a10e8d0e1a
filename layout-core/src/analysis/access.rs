//! `Access`: which bytes each lane of a warp touches, request by request.
//!
//! Law: request v of lane t touches `vector` elements from `offsets(threads(t, v))` on.

use crate::{ComposedLayout, Layout, LayoutError};

/// Where the elements of a tile are: a plain or a swizzled layout.
///
/// ```
/// use layout_core::{Layout, analysis::Offsets};
/// assert_eq!(Offsets::from(Layout::row_major((4, 8))?).at(1)?, 8);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offsets {
    /// Offsets as the layout gives them.
    Plain(Layout),
    /// Offsets behind a swizzle.
    Swizzled(ComposedLayout),
}

impl Offsets {
    /// The offset of a linear index, in elements.
    ///
    /// # Errors
    /// As [`Layout::at`].
    ///
    /// ```
    /// let offsets = layout_core::analysis::Offsets::from("(4,8):(8,1)".parse::<layout_core::Layout>()?);
    /// assert_eq!(offsets.at(5)?, 9);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn at(&self, index: i64) -> Result<i64, LayoutError> {
        match self {
            Self::Plain(layout) => layout.at(index),
            Self::Swizzled(layout) => layout.at(index),
        }
    }
}

impl From<Layout> for Offsets {
    fn from(layout: Layout) -> Self {
        Self::Plain(layout)
    }
}

impl From<ComposedLayout> for Offsets {
    fn from(layout: ComposedLayout) -> Self {
        Self::Swizzled(layout)
    }
}

/// A warp's walk over a tile.
///
/// ```
/// use layout_core::{Layout, analysis::Access};
///
/// // 32 lanes read a column of a row-major 32 x 32 tile of floats: index i of the tile is row i of column 0.
/// let column = Access::new(Layout::row_major((32, 32))?, Layout::new(32, 1)?, 1, 4)?;
/// assert_eq!((column.requests(), column.address(3, 0)?), (1, 384));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    offsets: Offsets,
    lanes: i64,
    threads: Layout,
    vector: i64,
    element_bytes: i64,
}

impl Access {
    /// `threads` takes (lane, request) to the linear index, in the tile, of the first of `vector` elements; a layout of
    /// rank 1 is one request. `element_bytes` is the size of an element.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for more than 32 lanes, a width that is no power of two up to 16 bytes, an index
    /// outside the tile, or a vector that is not aligned.
    ///
    /// ```
    /// use layout_core::{Layout, analysis::Access};
    /// let tile = Layout::row_major((8, 64))?;
    /// assert!(Access::new(tile.clone(), Layout::new((8, 4), (1, 64))?, 8, 2).is_ok()); // 16 bytes a lane
    /// assert!(Access::new(tile, Layout::new(64, 1)?, 1, 4).is_err()); // a warp has 32 lanes
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(
        offsets: impl Into<Offsets>,
        threads: Layout,
        vector: i64,
        element_bytes: i64,
    ) -> Result<Self, LayoutError> {
        let refuse = |detail: String| Err(LayoutError::Unsupported { operation: "access", detail });
        let width = vector.checked_mul(element_bytes).filter(|width| matches!(width, 1 | 2 | 4 | 8 | 16));
        if vector < 1 || element_bytes < 1 || width.is_none() {
            return refuse(format!(
                "{vector} elements of {element_bytes} bytes; a lane moves 1, 2, 4, 8 or 16 bytes"
            ));
        }
        let lanes = match threads.mode(0) {
            Some(mode) if threads.rank() > 1 => mode.size(),
            _ => threads.size(),
        };
        if !(1..=32).contains(&lanes) {
            return refuse(format!("{lanes} lanes in {threads}; a warp has 1 to 32"));
        }
        let access = Self { offsets: offsets.into(), lanes, threads, vector, element_bytes };
        if access.threads.size() > 1 << 20 {
            return refuse(format!("{} has more than 2^20 accesses", access.threads));
        }
        for (lane, request) in (0..access.requests()).flat_map(|v| (0..lanes).map(move |t| (t, v))) {
            let address = access.address(lane, request)?;
            if address % (vector * element_bytes) != 0 {
                return refuse(format!(
                    "lane {lane} reads {vector} elements at byte {address}, which is not aligned"
                ));
            }
        }
        Ok(access)
    }

    /// The number of lanes.
    ///
    /// ```
    /// let column = layout_core::analysis::Access::new(layout_core::Layout::row_major((32, 32))?, layout_core::Layout::new(32, 1)?, 1, 4)?;
    /// assert_eq!(column.lanes(), 32);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn lanes(&self) -> i64 {
        self.lanes
    }

    /// The number of requests of the warp.
    ///
    /// ```
    /// let column = layout_core::analysis::Access::new(layout_core::Layout::row_major((32, 32))?, layout_core::Layout::new(32, 1)?, 1, 4)?;
    /// assert_eq!(column.requests(), 1);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn requests(&self) -> i64 {
        self.threads.size() / self.lanes
    }

    /// The bytes that one lane moves in a request.
    ///
    /// ```
    /// let column = layout_core::analysis::Access::new(layout_core::Layout::row_major((32, 32))?, layout_core::Layout::new(32, 1)?, 1, 4)?;
    /// assert_eq!(column.width(), 4);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn width(&self) -> i64 {
        self.vector * self.element_bytes
    }

    /// The byte at which a lane's access begins.
    ///
    /// # Errors
    /// [`LayoutError::Coordinate`] if there is no such lane or request; [`LayoutError::Overflow`].
    ///
    /// ```
    /// let column = layout_core::analysis::Access::new(layout_core::Layout::row_major((32, 32))?, layout_core::Layout::new(32, 1)?, 1, 4)?;
    /// assert_eq!(column.address(2, 0)?, 256);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn address(&self, lane: i64, request: i64) -> Result<i64, LayoutError> {
        if !(0..self.lanes).contains(&lane) {
            return Err(LayoutError::Coordinate { mode: 0, coordinate: lane, extent: self.lanes });
        }
        if !(0..self.requests()).contains(&request) {
            return Err(LayoutError::Coordinate { mode: 1, coordinate: request, extent: self.requests() });
        }
        let element = self.offsets.at(self.threads.at(lane + request * self.lanes)?)?;
        element.checked_mul(self.element_bytes).ok_or_else(|| LayoutError::Overflow {
            operation: "access",
            detail: format!("byte {element} * {}", self.element_bytes),
        })
    }

    /// The same walk over other offsets: what a search tries.
    pub(crate) fn over(&self, offsets: Offsets) -> Result<Self, LayoutError> {
        Self::new(offsets, self.threads.clone(), self.vector, self.element_bytes)
    }

    pub(crate) fn offsets(&self) -> &Offsets {
        &self.offsets
    }
}
