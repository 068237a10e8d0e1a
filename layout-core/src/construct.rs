//! Compact layouts in any order, like another layout, or tiled to a shape.
//!
//! Law: a compact layout is a bijection onto `0..size`; the mode that comes first in the order has stride 1. An extent
//! of 1 has stride 0.

use crate::algebra::{blocked_product, coalesce, composition, filter_zeros, gcd, tiled_product};
use crate::layout::Mode;
use crate::nest::Node;
use crate::{IntTuple, Layout, LayoutError, Nest};

impl Layout {
    /// The compact layout whose modes run in memory from the least value of `order` to the greatest; equal values
    /// from left to right. Where `order` has an integer for a tuple, that tuple is column-major.
    ///
    /// # Errors
    /// [`LayoutError::Profile`] if `order` does not nest like `shape` or more coarsely; [`LayoutError::Overflow`];
    /// [`LayoutError::NegativeExtent`].
    ///
    /// Source: CuTe's `make_ordered_layout`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::ordered(((2, 4), 3, 5), (2, 1, 0))?;
    /// assert_eq!(l.to_string(), "((2,4),3,5):((15,30),5,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn ordered(shape: impl Into<IntTuple>, order: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let (shape, order) = (shape.into(), order.into());
        let keys = spread(&order, &shape).ok_or_else(|| LayoutError::Profile {
            operation: "ordered",
            left: order.to_string(),
            right: shape.to_string(),
        })?;
        let mut leaves: Vec<usize> = (0..keys.len()).collect();
        leaves.sort_by_key(|&leaf| keys[leaf]);
        let extents: Vec<i64> = shape.leaves().copied().collect();
        Self::compact(&shape, &extents, &leaves, "ordered")
    }

    /// The compact layout of the same shape with its modes in the order of `self`'s strides; stride 0 stays.
    ///
    /// # Errors
    /// None for a layout that exists: it is no larger than `self`'s size.
    ///
    /// Source: CuTe's `make_layout_like`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l: Layout = "(4,3,2):(20,1,0)".parse()?;
    /// assert_eq!(l.like()?.to_string(), "(4,3,2):(3,1,0)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn like(&self) -> Result<Self, LayoutError> {
        let moving = self.modes_nest().map(|mode| if mode.stride == 0 { 1 } else { mode.shape });
        let compact = Self::ordered(moving, self.stride())?;
        let mut strides = compact.leaves().map(|mode| mode.stride);
        let modes = self.modes_nest().map(|mode| Mode { stride: strides.next().unwrap_or(0), ..*mode });
        Self::from_modes(modes, "like")
    }

    /// The compact layout whose mode 0 runs fastest and column-major, the others in the order of `self`'s strides: the
    /// order of registers. Stride 0 stays in mode 0 alone.
    ///
    /// # Errors
    /// As [`crate::algebra::tiled_product`].
    ///
    /// Source: CuTe's `make_fragment_like`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l: Layout = "(4,3,2):(20,1,100)".parse()?;
    /// assert_eq!(l.fragment_like()?.to_string(), "(4,3,2):(1,4,12)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn fragment_like(&self) -> Result<Self, LayoutError> {
        let Some(first) = self.mode(0).filter(|_| self.rank() > 1) else {
            return Self::col_major(self.shape());
        };
        let rest = self.take(1..self.rank())?;
        let first = Self::new(first.shape(), Self::col_major(filter_zeros(&first).shape())?.stride())?;
        tiled_product(&first, &Self::ordered(rest.shape(), rest.stride())?)
    }

    /// `block` repeated until it covers `shape`, the repeats in `order` (column-major for none).
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if the block has more modes; [`LayoutError::NotDivisible`] where the block does not
    /// divide the shape; what [`crate::algebra::logical_product`] refuses.
    ///
    /// Source: CuTe's `tile_to_shape`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// let l = Layout::tile_to_shape(&Layout::row_major((2, 4))?, (4, 16), None)?;
    /// assert_eq!(l.to_string(), "((2,2),(4,4)):((4,8),(1,16))");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn tile_to_shape(
        block: &Self,
        shape: impl Into<IntTuple>,
        order: Option<&IntTuple>,
    ) -> Result<Self, LayoutError> {
        let operation = "tile_to_shape";
        let shape = shape.into();
        if block.rank() > shape.rank() {
            let (expected, found) = (shape.rank(), block.rank());
            return Err(LayoutError::Rank { operation, what: "the block", expected, found });
        }
        let block = block.padded(shape.rank());
        let mut repeats = Vec::new();
        for (mode, (tile, target)) in block.modes().zip(shape.modes()).enumerate() {
            let (value, divisor) = (target.product()?, tile.size());
            if value.checked_rem(divisor) != Some(0) {
                let help = "pad the shape, or choose a block that divides it".into();
                return Err(LayoutError::NotDivisible { operation, mode, value, divisor, help });
            }
            repeats.push(value / divisor);
        }
        let repeats = IntTuple::flat(repeats);
        let tiler = match order {
            Some(order) => Self::ordered(repeats, order)?,
            None => Self::col_major(repeats)?,
        };
        blocked_product(&block, &tiler)
    }

    /// `composition(self, col_major(shape))`: the same elements under another shape of as many coordinates.
    ///
    /// # Errors
    /// As [`crate::algebra::composition`].
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::row_major((4, 8))?.with_shape((16, 2))?.to_string(), "((4,4),2):((8,1),4)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn with_shape(&self, shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        composition(self, &Self::col_major(shape)?)
    }

    /// `count` spread over the leaves of `shape`, each taking what it can divide evenly: a thread layout that fits.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] unless `count` is positive; as [`Layout::new`].
    ///
    /// Source: CuTe's `domain_distribute`.
    ///
    /// ```
    /// # use layout_core::Layout;
    /// assert_eq!(Layout::domain_distribute((12, 6), 8)?.to_string(), "(4,2):(1,12)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn domain_distribute(shape: impl Into<IntTuple>, count: i64) -> Result<Self, LayoutError> {
        let operation = "domain_distribute";
        if count <= 0 {
            let detail = format!("{count} parts; give 1 or more");
            return Err(LayoutError::Unsupported { operation, detail });
        }
        let shape = shape.into();
        let (mut left, mut step, mut modes) = (count, Some(1_i64), Vec::new());
        for &extent in shape.leaves() {
            let part = gcd(left, extent).max(1);
            if part > 1 {
                let overflow =
                    || LayoutError::Overflow { operation, detail: format!("the product of {shape}") };
                modes.push(Mode { shape: part, stride: step.ok_or_else(overflow)? });
            }
            left /= part;
            step = step.and_then(|step| step.checked_mul(extent));
        }
        Ok(coalesce(&Self::from_modes(Nest::flat(modes), operation)?))
    }
}

/// For each leaf of `shape` the value of `order` that is over it, or nothing if they do not nest alike.
fn spread(order: &IntTuple, shape: &IntTuple) -> Option<Vec<i64>> {
    let (mut keys, mut position) = (Vec::new(), 0);
    let nodes = shape.nodes();
    for node in order.nodes() {
        match (node, nodes.get(position)?) {
            (Node::Tuple(a), Node::Tuple(b)) if a == b => position += 1,
            (Node::Tuple(_), _) => return None,
            (Node::Leaf(key), _) => {
                let len = crate::nest::subtree_len(&nodes[position..]);
                let leaves =
                    nodes[position..position + len].iter().filter(|node| matches!(node, Node::Leaf(_)));
                keys.extend(leaves.map(|_| *key));
                position += len;
            }
        }
    }
    Some(keys)
}
