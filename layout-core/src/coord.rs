//! What a coordinate is: an integer or a tuple that nests like the shape or more coarsely; leftmost modes run fastest.
//!
//! Law: `idx2crd(crd2idx(c)) == c`, and an integer where the shape has a tuple counts that tuple's coordinates.

use crate::layout::Mode;
use crate::nest::{Node, subtree_len};
use crate::{IntTuple, Layout, LayoutError};

/// The offset of a coordinate under `shape:stride`, as `Layout::crd2idx`.
///
/// # Errors
/// As [`Layout::new`] and [`Layout::crd2idx`].
///
/// ```
/// use layout_core::{IntTuple, crd2idx};
/// assert_eq!(crd2idx(&IntTuple::from((1, 2)), &(3, 4).into(), &(4, 1).into()), Ok(6));
/// ```
pub fn crd2idx(coord: &IntTuple, shape: &IntTuple, stride: &IntTuple) -> Result<i64, LayoutError> {
    Layout::new(shape, stride)?.crd2idx(coord)
}

/// The coordinate, nested like `shape`, of a linear index; leftmost modes run fastest.
///
/// # Errors
/// [`LayoutError::Coordinate`] unless `0 <= index < product(shape)`; [`LayoutError::NegativeExtent`].
///
/// ```
/// use layout_core::{IntTuple, idx2crd};
/// assert_eq!(idx2crd(7, &IntTuple::from((3, (2, 2)))), Ok(IntTuple::from((1, (0, 1)))));
/// ```
pub fn idx2crd(index: i64, shape: &IntTuple) -> Result<IntTuple, LayoutError> {
    if let Some(&extent) = shape.leaves().find(|&&extent| extent < 0) {
        return Err(LayoutError::NegativeExtent { operation: "idx2crd", extent });
    }
    let size = shape.product()?;
    if !(0..size).contains(&index) {
        return Err(LayoutError::Coordinate { mode: 0, coordinate: index, extent: size });
    }
    let mut rest = index;
    Ok(shape.map(|&extent| {
        let digit = rest % extent;
        rest /= extent;
        digit
    }))
}

/// The offset of `coord`, every part of it checked against its mode's extent.
pub(crate) fn offset(modes: &[Node<Mode>], coord: &IntTuple) -> Result<i64, LayoutError> {
    let mut coords = coord.nodes().iter();
    let (mut position, mut leaf, mut offset) = (0, 0, 0);
    for node in &mut coords {
        let Some(head) = modes.get(position) else {
            return Err(mismatch(modes, coord));
        };
        match (node, head) {
            (Node::Tuple(a), Node::Tuple(b)) if a == b => position += 1,
            (Node::Tuple(_), _) => return Err(mismatch(modes, coord)),
            (Node::Leaf(value), _) => {
                let len = subtree_len(&modes[position..]);
                offset += digits(&modes[position..position + len], *value, &mut leaf)?;
                position += len;
            }
        }
    }
    Ok(offset)
}

/// The offset of the linear coordinate `value` within the leaves of `modes`; moves `leaf` past them.
fn digits(modes: &[Node<Mode>], value: i64, leaf: &mut usize) -> Result<i64, LayoutError> {
    let leaves =
        || modes.iter().filter_map(|node| if let Node::Leaf(mode) = node { Some(mode) } else { None });
    let extent = leaves().map(|mode| mode.shape).product::<i64>();
    if !(0..extent).contains(&value) {
        return Err(LayoutError::Coordinate { mode: *leaf, coordinate: value, extent });
    }
    let (mut rest, mut offset) = (value, 0);
    for mode in leaves() {
        offset += rest % mode.shape * mode.stride;
        rest /= mode.shape;
        *leaf += 1;
    }
    Ok(offset)
}

fn mismatch(modes: &[Node<Mode>], coord: &IntTuple) -> LayoutError {
    let shape = crate::Nest::from_nodes(modes.to_vec()).map(|mode| mode.shape);
    LayoutError::Profile { operation: "crd2idx", left: coord.to_string(), right: shape.to_string() }
}
