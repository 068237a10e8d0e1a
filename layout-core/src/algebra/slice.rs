//! `slice` and `dice`: fixing some coordinates of a layout.
//!
//! Law: with `(R, offset) = slice(p, L)`, `offset + R(c) == L(p with c in its open places)`; dice keeps what slice
//! drops.

use crate::layout::Mode;
use crate::nest::{Node, subtree_len};
use crate::{IntTuple, Layout, LayoutError, Nest};

/// A coordinate with open places: `None` keeps its mode, `Some(i)` fixes it; CuTe's `_`.
///
/// ```
/// use layout_core::{Nest, algebra::Pattern};
/// let row: Pattern = Nest::flat([Some(1), None]); // (1,_)
/// assert_eq!(row.leaves().filter(|place| place.is_none()).count(), 1);
/// ```
pub type Pattern = Nest<Option<i64>>;

/// The open modes of `layout` and the offset of the fixed ones; nested tuples of the pattern are flattened.
///
/// # Errors
/// [`LayoutError::Profile`] if the pattern does not nest like the layout; [`LayoutError::Coordinate`].
///
/// Source: CuTe's `slice_and_offset`.
///
/// ```
/// use layout_core::{Layout, Nest, algebra::slice};
///
/// let l: Layout = "(4,(2,3)):(6,(3,1))".parse()?;
/// let (row, offset) = slice(&l, &Nest::flat([Some(2), None]))?;
/// assert_eq!((row.to_string(), offset), ("((2,3)):((3,1))".to_string(), 12));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn slice(layout: &Layout, pattern: &Pattern) -> Result<(Layout, i64), LayoutError> {
    let coord: IntTuple = pattern.map(|part| part.unwrap_or(0));
    // An open mode of an empty layout has no coordinate 0; its offset counts for nothing.
    let offset = if layout.size() == 0 { 0 } else { layout.crd2idx(&coord)? };
    if matches!(pattern.as_leaf(), Some(None)) {
        return Ok((layout.clone(), offset));
    }
    Ok((chosen(layout, pattern, false)?, offset))
}

/// The modes of `layout` whose coordinates the pattern fixes.
///
/// # Errors
/// [`LayoutError::Profile`] if the pattern does not nest like the layout.
///
/// Source: CuTe's `dice`.
///
/// ```
/// use layout_core::{Layout, Nest, algebra::dice};
/// let l: Layout = "(4,(2,3)):(6,(3,1))".parse()?;
/// assert_eq!(dice(&l, &Nest::flat([Some(2), None]))?.to_string(), "(4):(6)");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn dice(layout: &Layout, pattern: &Pattern) -> Result<Layout, LayoutError> {
    match pattern.as_leaf() {
        Some(Some(_)) => Ok(layout.clone()),
        _ => chosen(layout, pattern, true),
    }
}

/// The parts of the layout beside the fixed, or beside the open, places of the pattern.
fn chosen(layout: &Layout, pattern: &Pattern, fixed: bool) -> Result<Layout, LayoutError> {
    let (mut parts, mut position) = (Vec::new(), 0);
    let nodes = layout.nodes();
    for node in pattern.nodes() {
        match (node, nodes.get(position)) {
            (Node::Tuple(a), Some(Node::Tuple(b))) if a == b => position += 1,
            (Node::Leaf(part), Some(_)) => {
                let len = subtree_len(&nodes[position..]);
                if part.is_some() == fixed {
                    parts.push(Nest::from_nodes(nodes[position..position + len].to_vec()));
                }
                position += len;
            }
            _ => {
                let left = pattern.map(|part| part.unwrap_or(0)).to_string();
                return Err(LayoutError::Profile {
                    operation: "slice",
                    left,
                    right: layout.shape().to_string(),
                });
            }
        }
    }
    Ok(Layout::trusted(Nest::<Mode>::tuple(parts)))
}
