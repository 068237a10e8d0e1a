//! `DynamicLayout`: modes whose extents and strides may wait for run time.
//!
//! Law: `bind` gives the layout whose modes are the bound modes, nested alike.

use super::extent::{Extent, Sum};
use crate::algebra::Pattern;
use crate::layout::Mode;
use crate::nest::{Node, subtree_len};
use crate::{Layout, LayoutError, Nest};
use std::fmt;

/// One mode of a [`DynamicLayout`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct DynamicMode {
    pub(super) shape: Extent,
    pub(super) stride: Extent,
}

/// A layout some of whose extents and strides are known only at run time.
///
/// ```
/// use layout_core::{algebra::Tile, dynamic::{DynamicLayout, Extent}};
///
/// let a = DynamicLayout::row_major(&[Extent::dynamic("M", 64)?, Extent::dynamic("K", 8)?])?;
/// assert_eq!(a.to_string(), "(M,K):(K,1)");
/// let tiles = a.zipped_divide_by_mode(&[Tile::of(64)?, Tile::of(8)?])?;
/// assert_eq!(tiles.to_string(), "((64,8),(M/64,K/8)):((K,1),(64*K,8))");
/// assert_eq!(tiles.bind(&[("M", 128), ("K", 24)])?.to_string(), "((64,8),(2,3)):((24,1),(1536,8))");
/// assert!(a.zipped_divide_by_mode(&[Tile::Keep, Tile::of(16)?]).is_err()); // 16 is not known to divide K
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicLayout {
    pub(super) modes: Nest<DynamicMode>,
}

impl DynamicLayout {
    /// The flat layout of these extents and strides.
    ///
    /// # Errors
    /// [`LayoutError::NotCongruent`] for different numbers of them.
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let pitched = DynamicLayout::new(&[Extent::dynamic("M", 1)?, 32.into()], &[Extent::dynamic("pitch", 4)?, 1.into()])?;
    /// assert_eq!(pitched.to_string(), "(M,32):(pitch,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(shape: &[Extent], stride: &[Extent]) -> Result<Self, LayoutError> {
        if shape.len() != stride.len() {
            let text = |part: &[Extent]| Nest::flat(part.iter().map(ToString::to_string)).to_string();
            return Err(LayoutError::NotCongruent { shape: text(shape), stride: text(stride) });
        }
        let modes = shape.iter().cloned().zip(stride.iter().cloned());
        Ok(Self { modes: Nest::flat(modes.map(|(shape, stride)| DynamicMode { shape, stride })) })
    }

    /// The compact layout in which the last mode runs fastest.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// assert_eq!(DynamicLayout::row_major(&[2.into(), Extent::dynamic("N", 1)?, 3.into()])?.to_string(), "(2,N,3):(3*N,3,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn row_major(shape: &[Extent]) -> Result<Self, LayoutError> {
        let mut strides = compact(shape.iter().rev())?;
        strides.reverse();
        Self::new(shape, &strides)
    }

    /// The compact layout in which the first mode runs fastest.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// assert_eq!(DynamicLayout::col_major(&[2.into(), Extent::dynamic("N", 1)?])?.to_string(), "(2,N):(1,2)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn col_major(shape: &[Extent]) -> Result<Self, LayoutError> {
        Self::new(shape, &compact(shape.iter())?)
    }

    /// The number of top-level modes.
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// assert_eq!(DynamicLayout::row_major(&[Extent::dynamic("M", 1)?, 8.into()])?.rank(), 2);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn rank(&self) -> usize {
        self.modes.rank()
    }

    /// The top-level mode at `index`, or nothing if the rank is smaller.
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::row_major(&[Extent::dynamic("M", 1)?, 8.into()])?;
    /// assert_eq!(l.mode(0).map(|rows| rows.to_string()), Some("M:8".to_string()));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn mode(&self, index: usize) -> Option<Self> {
        Some(Self { modes: self.modes.mode(index)? })
    }

    /// The number of coordinates.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// assert_eq!(DynamicLayout::row_major(&[Extent::dynamic("M", 1)?, 8.into()])?.size()?.to_string(), "8*M");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn size(&self) -> Result<Extent, LayoutError> {
        let product = self.modes.leaves().try_fold(Extent::from(1), |size, mode| size.times(&mode.shape));
        product.ok_or_else(|| overflow("size", format!("the size of {self}")))
    }

    /// One more than the sum of what the modes reach, where no extent is 0.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let (m, k) = (Extent::dynamic("M", 1)?, Extent::dynamic("K", 1)?);
    /// assert_eq!(DynamicLayout::row_major(&[m, k])?.cosize()?.to_string(), "K*M");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn cosize(&self) -> Result<Sum, LayoutError> {
        let one = Sum::default().plus(&1.into(), 1);
        let reach = self.modes.leaves().try_fold(one, |sum, mode| {
            // A symbol is never negative, so the sign is the coefficient's.
            let sign = mode.stride.least().signum();
            let whole = mode.shape.times(&mode.stride)?;
            Some(sum?.plus(&whole, sign)?.plus(&mode.stride, -sign))
        });
        reach.flatten().ok_or_else(|| overflow("cosize", format!("the cosize of {self}")))
    }

    /// The open modes and the offset of the fixed ones. A fixed place must be over a single extent, or be 0.
    ///
    /// # Errors
    /// [`LayoutError::Profile`] if the pattern does not nest like the layout; [`LayoutError::Unsupported`] for a
    /// coordinate that is not known to be below its extent; [`LayoutError::Overflow`].
    ///
    /// ```
    /// # use layout_core::{Nest, dynamic::{DynamicLayout, Extent}};
    /// let l = DynamicLayout::row_major(&[Extent::dynamic("M", 8)?, Extent::dynamic("K", 1)?])?;
    /// let (row, offset) = l.slice(&Nest::flat([Some(3), None]))?;
    /// assert_eq!((row.to_string(), offset.to_string()), ("(K):(1)".to_string(), "3*K".to_string()));
    /// assert!(l.slice(&Nest::flat([Some(8), None])).is_err()); // M may be 8
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn slice(&self, pattern: &Pattern) -> Result<(Self, Sum), LayoutError> {
        let operation = "slice";
        let refuse = |detail| Err(LayoutError::Unsupported { operation, detail });
        let (mut open, mut offset, mut position) = (Vec::new(), Sum::default(), 0);
        let nodes = self.modes.nodes();
        for node in pattern.nodes() {
            match (node, nodes.get(position)) {
                (Node::Tuple(a), Some(Node::Tuple(b))) if a == b => position += 1,
                (Node::Leaf(None), Some(_)) => {
                    let len = subtree_len(&nodes[position..]);
                    open.push(Nest::from_nodes(nodes[position..position + len].to_vec()));
                    position += len;
                }
                (Node::Leaf(Some(at)), Some(Node::Leaf(mode))) => {
                    if !(0..mode.shape.least()).contains(at) {
                        return refuse(format!(
                            "{at} is not known to be in 0..{}; promise a larger divisor, or slice after bind",
                            mode.shape
                        ));
                    }
                    offset = offset
                        .plus(&mode.stride, *at)
                        .ok_or_else(|| overflow(operation, format!("{at} times {}", mode.stride)))?;
                    position += 1;
                }
                (Node::Leaf(Some(0)), Some(_)) => position += subtree_len(&nodes[position..]),
                (Node::Leaf(Some(at)), Some(_)) => {
                    return refuse(format!(
                        "{at} selects from several extents of {self}; give each its own coordinate"
                    ));
                }
                _ => {
                    let left = pattern.map(|part| part.unwrap_or(0)).to_string();
                    return Err(LayoutError::Profile { operation, left, right: self.shape().to_string() });
                }
            }
        }
        let whole = matches!(pattern.as_leaf(), Some(None));
        Ok((if whole { self.clone() } else { Self { modes: Nest::tuple(open) } }, offset))
    }

    fn shape(&self) -> Nest<Extent> {
        self.modes.map(|mode| mode.shape.clone())
    }

    /// The same function with fewer modes, where that is known for every binding.
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::col_major(&[Extent::dynamic("M", 1)?, 4.into(), 2.into()])?;
    /// assert_eq!(l.coalesce().to_string(), "(8*M):(1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn coalesce(&self) -> Self {
        Self { modes: Nest::flat(merged(self.modes.leaves(), true)) }
    }

    /// The layout under a binding of every symbol.
    ///
    /// # Errors
    /// As [`Extent::bind`] and [`Layout::new`].
    ///
    /// ```
    /// # use layout_core::dynamic::{DynamicLayout, Extent};
    /// let l = DynamicLayout::row_major(&[Extent::dynamic("M", 1)?, Extent::dynamic("N", 1)?])?;
    /// assert_eq!(l.bind(&[("M", 3), ("N", 5)])?.to_string(), "(3,5):(5,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn bind(&self, values: &[(&str, i64)]) -> Result<Layout, LayoutError> {
        let mut refused = None;
        let mut value = |extent: &Extent| match extent.bind(values) {
            Ok(value) => value,
            Err(error) => {
                refused.get_or_insert(error);
                0
            }
        };
        let modes = self.modes.map(|mode| Mode { shape: value(&mode.shape), stride: value(&mode.stride) });
        refused.map_or_else(|| Layout::from_modes(modes, "bind"), Err)
    }
}

impl From<&Layout> for DynamicLayout {
    fn from(layout: &Layout) -> Self {
        let wait = |mode: &Mode| DynamicMode { shape: mode.shape.into(), stride: mode.stride.into() };
        Self { modes: layout.modes_nest().map(wait) }
    }
}

/// The modes in one tuple, merged where that is known to be right; `1:0` for none. An extent of 1 goes; the last one
/// stays unless it is to be `dropped` or has stride 0, for past its end the layout goes on in its stride.
pub(super) fn merged<'a>(modes: impl Iterator<Item = &'a DynamicMode>, dropped: bool) -> Vec<DynamicMode> {
    let modes: Vec<&DynamicMode> = modes.collect();
    let one = |mode: &DynamicMode| mode.shape.as_static() == Some(1);
    let silent = |mode: &&DynamicMode| one(mode) && mode.stride.as_static() == Some(0);
    let last = modes.iter().rposition(|mode| !silent(mode));
    let mut merged: Vec<DynamicMode> = Vec::new();
    for (i, mode) in modes.into_iter().enumerate() {
        if one(mode) && (dropped || last != Some(i)) {
            continue;
        }
        match merged.last_mut() {
            Some(last) if last.shape.times(&last.stride).as_ref() == Some(&mode.stride) => {
                match last.shape.times(&mode.shape) {
                    Some(shape) => last.shape = shape,
                    None => merged.push(mode.clone()),
                }
            }
            _ => merged.push(mode.clone()),
        }
    }
    if merged.is_empty() {
        merged.push(DynamicMode { shape: 1.into(), stride: 0.into() });
    }
    merged
}

pub(super) fn overflow(operation: &'static str, detail: String) -> LayoutError {
    LayoutError::Overflow { operation, detail }
}

/// The strides of a compact layout whose extents come in this order from the fastest on.
fn compact<'a>(shape: impl Iterator<Item = &'a Extent>) -> Result<Vec<Extent>, LayoutError> {
    let mut step = Some(Extent::from(1));
    let strides = shape.map(|extent| {
        let here = step.clone().ok_or_else(|| overflow("compact", format!("a stride over {extent}")))?;
        step = here.times(extent);
        Ok(here)
    });
    strides.collect()
}

impl fmt::Display for DynamicLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape(), self.modes.map(|mode| mode.stride.clone()))
    }
}
