//! What can be asked of shapes and layouts: which shapes fit each other, what a layout covers, where it collides.
//!
//! Laws: `compatible(a, b)` iff every coordinate of a is one of b; a witness of aliasing is two coordinates of one
//! offset; two layouts are the same function iff they agree on every index.

use crate::algebra::coalesce;
use crate::nest::{Node, subtree_len};
use crate::{IntTuple, Layout, LayoutError};
use std::cmp::Ordering;

/// Walks two nests together; `leaf` decides where `a` has an integer, over the part of `b` beside it.
fn beside(a: &IntTuple, b: &IntTuple, mut leaf: impl FnMut(i64, &[Node<i64>]) -> bool) -> bool {
    let (mut position, nodes) = (0, b.nodes());
    for node in a.nodes() {
        match (node, nodes.get(position)) {
            (Node::Tuple(a), Some(Node::Tuple(b))) if a == b => position += 1,
            (Node::Leaf(value), Some(_)) => {
                let len = subtree_len(&nodes[position..]);
                if !leaf(*value, &nodes[position..position + len]) {
                    return false;
                }
                position += len;
            }
            _ => return false,
        }
    }
    true
}

fn size(nodes: &[Node<i64>]) -> Option<i64> {
    crate::int_tuple::product(nodes.iter().filter_map(|node| match node {
        Node::Leaf(value) => Some(*value),
        Node::Tuple(_) => None,
    }))
}

impl IntTuple {
    /// Whether every coordinate of `self` is a coordinate of `other`: it nests more coarsely, with equal sizes.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let s = |text: &str| text.parse::<IntTuple>();
    /// assert!(s("24")?.compatible(&s("(4,6)")?) && s("(4,6)")?.compatible(&s("((2,2),6)")?));
    /// assert!(!s("(4,6)")?.compatible(&s("24")?) && !s("(4,6)")?.compatible(&s("(2,12)")?));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn compatible(&self, other: &Self) -> bool {
        beside(self, other, |value, part| size(part) == Some(value))
    }

    /// Whether some multiple of `self`, extent by extent, is compatible with `other`.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// assert!(IntTuple::from((2, 3)).weakly_compatible(&(4, (3, 2)).into()));
    /// assert!(!IntTuple::from((2, 3)).weakly_compatible(&(4, 4).into()));
    /// ```
    pub fn weakly_compatible(&self, other: &Self) -> bool {
        beside(self, other, |value, part| size(part).and_then(|size| size.checked_rem(value)) == Some(0))
    }

    /// Whether `self` nests like `other` or more coarsely, whatever the integers are.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// assert!(IntTuple::from((1, 1)).weakly_congruent(&(4, (3, 2)).into()));
    /// assert!(!IntTuple::from((1, (1, 1))).weakly_congruent(&(4, 6).into()));
    /// ```
    pub fn weakly_congruent(&self, other: &Self) -> bool {
        beside(self, other, |_, _| true)
    }

    /// Whether each extent of `tile` divides the extent of `self` beside it; modes beyond the tile are free.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// assert!(IntTuple::from((8, (2, 3), 5)).evenly_divides(&(4, 6).into()));
    /// assert!(!IntTuple::from((8, 9)).evenly_divides(&(4, 6).into()));
    /// ```
    pub fn evenly_divides(&self, tile: &Self) -> bool {
        if tile.is_leaf() || self.is_leaf() || self.rank() <= tile.rank() {
            return beside(tile, self, |value, part| {
                size(part).and_then(|size| size.checked_rem(value)) == Some(0)
            });
        }
        let head = Self::tuple(self.modes().take(tile.rank()));
        head.evenly_divides(tile)
    }

    /// Whether each integer of `self` is below the one of `other` beside it: the test of a coordinate in a shape.
    /// False for tuples that nest differently.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// assert!(IntTuple::from((1, (0, 2))).elem_less(&(2, (1, 3)).into()));
    /// assert!(!IntTuple::from((1, 3)).elem_less(&(2, 3).into()));
    /// ```
    pub fn elem_less(&self, other: &Self) -> bool {
        self.congruent(other) && self.leaves().zip(other.leaves()).all(|(a, b)| a < b)
    }

    /// The order in which the first different integer from the left decides, or nothing if they nest differently.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// use std::cmp::Ordering::Less;
    /// assert_eq!(IntTuple::from((1, 9)).lex_cmp(&(2, 0).into()), Some(Less));
    /// ```
    pub fn lex_cmp(&self, other: &Self) -> Option<Ordering> {
        self.congruent(other).then(|| self.leaves().cmp(other.leaves()))
    }

    /// The order in which the first different integer from the right decides, or nothing if they nest differently:
    /// the order of linear indices.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// use std::cmp::Ordering::Greater;
    /// assert_eq!(IntTuple::from((1, 9)).colex_cmp(&(2, 0).into()), Some(Greater));
    /// ```
    pub fn colex_cmp(&self, other: &Self) -> Option<Ordering> {
        self.congruent(other).then(|| self.leaves().rev().cmp(other.leaves().rev()))
    }
}

/// The coordinate of `target` with the linear index that `coord` has in `source`.
///
/// # Errors
/// [`LayoutError::Coordinate`] or [`LayoutError::Profile`] if `coord` is none of `source`, or is past `target`.
///
/// ```
/// use layout_core::crd2crd;
/// assert_eq!(crd2crd(&(1, 2).into(), &(4, 6).into(), &(2, 12).into())?, (1, 4).into());
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn crd2crd(coord: &IntTuple, source: &IntTuple, target: &IntTuple) -> Result<IntTuple, LayoutError> {
    // Not Layout::col_major: there an extent of 1 hides its coordinate, which is 0 in any case.
    crate::idx2crd(Layout::col_major(source)?.crd2idx(coord)?, target)
}

impl Layout {
    /// Whether no two coordinates have one offset.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] where strides decide nothing and the layout has more than 2^22 coordinates.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert!(Layout::new((2, 2), (3, 2))?.is_injective()?);
    /// assert!(!Layout::new((3, 4), (3, 2))?.is_injective()?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn is_injective(&self) -> Result<bool, LayoutError> {
        Ok(self.aliasing()?.is_none())
    }

    /// Two coordinates that have one offset, if there are any: the reason why a layout is not injective.
    ///
    /// # Errors
    /// As [`Layout::is_injective`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::new((3, 4), (3, 2))?;
    /// let (a, b) = l.aliasing()?.expect("2 * 3 is 3 * 2");
    /// assert_eq!((l.crd2idx(&a)?, a == b), (l.crd2idx(&b)?, false));
    /// assert_eq!(Layout::row_major((3, 3))?.aliasing()?, None);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn aliasing(&self) -> Result<Option<(IntTuple, IntTuple)>, LayoutError> {
        if self.size() <= 1 {
            return Ok(None);
        }
        let mut modes: Vec<_> = self.leaves().filter(|mode| mode.shape > 1).collect();
        modes.sort_unstable_by_key(|mode| mode.stride.unsigned_abs());
        // Each stride beyond the reach of all smaller ones together: injective.
        let mut reach = 0_u64;
        let apart = modes.iter().all(|mode| {
            let stride = mode.stride.unsigned_abs();
            let clear = stride > reach;
            // Sums of reaches are bounded by the cosize.
            reach += stride * (mode.shape as u64 - 1);
            clear
        });
        if apart {
            return Ok(None);
        }
        if self.size() > SEARCHED {
            let detail =
                format!("{self} has overlapping strides and too many coordinates to try ({})", self.size());
            return Err(LayoutError::Unsupported { operation: "aliasing", detail });
        }
        let mut seen: Vec<(i64, i64)> = self.offsets().zip(0..).collect();
        seen.sort_unstable();
        match seen.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Ok(Some((self.idx2crd(pair[0].1)?, self.idx2crd(pair[1].1)?))),
            None => Ok(None),
        }
    }

    /// Whether every offset of `0..cosize` is reached.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert!(Layout::new((4, 3), (1, 2))?.is_surjective());
    /// assert!(!Layout::new((4, 3), (1, 8))?.is_surjective());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn is_surjective(&self) -> bool {
        if self.size() == 0 || self.range().0 < 0 {
            return self.size() == 0;
        }
        let mut modes: Vec<_> = self.leaves().filter(|mode| mode.shape > 1 && mode.stride > 0).collect();
        modes.sort_unstable_by_key(|mode| mode.stride);
        // No gap as long as each stride is within the run that the smaller ones make; the first that does not
        // leaves the offset at the run's end out, since all others are larger still.
        let mut run = 1_i64;
        modes.iter().all(|mode| {
            let inside = mode.stride <= run;
            run += mode.stride * (mode.shape - 1);
            inside
        })
    }

    /// Whether each offset of `0..cosize` is reached exactly once.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert!(Layout::row_major((4, 3))?.is_bijective());
    /// assert!(!Layout::new((4, 3), (1, 2))?.is_bijective());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn is_bijective(&self) -> bool {
        self.is_surjective() && self.size() == self.cosize()
    }

    /// Whether index i has offset i throughout.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert!(Layout::col_major((4, (3, 2)))?.is_contiguous() && !Layout::row_major((4, 3))?.is_contiguous());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn is_contiguous(&self) -> bool {
        self.size() <= 1 || coalesce(self).modes_nest().as_leaf().is_some_and(|mode| mode.stride == 1)
    }

    /// Whether both have one size and give each index one offset, however they are written.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let (a, b): (Layout, Layout) = ("(4,(2,3)):(1,(4,8))".parse()?, "24:1".parse()?);
    /// assert!(a.same_function(&b) && a != b);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn same_function(&self, other: &Self) -> bool {
        // Coalescing gives one text to each function: the extents are where the steps change.
        coalesce(self) == coalesce(other)
    }
}

/// The largest layout whose offsets are tried one by one.
const SEARCHED: i64 = 1 << 22;
