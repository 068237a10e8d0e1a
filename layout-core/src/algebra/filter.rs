//! `filter` and `filter_zeros`: a layout without the modes that do not move; `coalesce_by_profile`.
//!
//! Law: `filter(L)` has the offsets of L, as a set, and no stride 0 unless it is a single offset.

use super::coalesce::coalesce;
use crate::layout::Mode;
use crate::nest::{Node, subtree_len};
use crate::{IntTuple, Layout, LayoutError, Nest};

/// The same nesting with the extent of every mode of stride 0 set to 1.
///
/// ```
/// use layout_core::{Layout, algebra::filter_zeros};
/// assert_eq!(filter_zeros(&"(4,(3,2)):(1,(0,4))".parse()?).to_string(), "(4,(1,2)):(1,(0,4))");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn filter_zeros(layout: &Layout) -> Layout {
    Layout::trusted(layout.modes_nest().map(|mode| match mode {
        Mode { shape: 1.., stride: 0 } => Mode { shape: 1, stride: 0 },
        mode => *mode,
    }))
}

/// The layout without modes of stride 0 or extent 1, coalesced: the same set of offsets.
///
/// ```
/// use layout_core::{Layout, algebra::filter};
/// assert_eq!(filter(&"(4,(3,2)):(1,(0,4))".parse()?).to_string(), "8:1");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn filter(layout: &Layout) -> Layout {
    coalesce(&filter_zeros(layout))
}

/// Coalesces each part of the layout that is where `profile` has an integer; modes beyond the profile stay.
///
/// # Errors
/// [`LayoutError::Rank`] if the profile has more modes somewhere than the layout.
///
/// Source: CuTe's `coalesce` with a target profile.
///
/// ```
/// use layout_core::{Layout, algebra::coalesce_by_profile};
///
/// let l: Layout = "((4,3),(2,2)):((1,4),(12,24))".parse()?;
/// assert_eq!(coalesce_by_profile(&l, &(1, 1).into())?.to_string(), "(12,4):(1,12)");
/// assert_eq!(coalesce_by_profile(&l, &1.into())?.to_string(), "48:1");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
pub fn coalesce_by_profile(layout: &Layout, profile: &IntTuple) -> Result<Layout, LayoutError> {
    let (mut nodes, modes) = (Vec::new(), layout.nodes());
    let mut position = 0;
    // For each open tuple of the profile: how many of its modes, and of the layout's beside them, are to come.
    let mut open: Vec<(usize, usize)> = Vec::new();
    for part in profile.nodes() {
        match part {
            Node::Leaf(_) => {
                let len = subtree_len(&modes[position..]);
                let part = Layout::trusted(Nest::from_nodes(modes[position..position + len].to_vec()));
                nodes.extend_from_slice(coalesce(&part).nodes());
                position += len;
            }
            Node::Tuple(expected) => {
                let found = match modes.get(position) {
                    Some(Node::Tuple(found)) => *found,
                    _ => 1,
                };
                let leaf = !matches!(modes.get(position), Some(Node::Tuple(_)));
                if *expected > found || (leaf && *expected != 1) {
                    let (operation, what) = ("coalesce_by_profile", "the profile");
                    return Err(LayoutError::Rank { operation, what, expected: found, found: *expected });
                }
                nodes.push(Node::Tuple(found));
                position += usize::from(!leaf);
                open.push((*expected, found));
                if *expected > 0 {
                    continue;
                }
            }
        }
        // A part has ended; at the end of a tuple the layout's further modes follow as they are.
        if matches!(part, Node::Tuple(0)) {
            position = close(&mut open, &mut nodes, modes, position);
        }
        while let Some(top) = open.last_mut() {
            top.0 -= 1;
            top.1 -= 1;
            if top.0 > 0 {
                break;
            }
            position = close(&mut open, &mut nodes, modes, position);
        }
    }
    Layout::from_modes(Nest::from_nodes(nodes), "coalesce_by_profile")
}

/// Takes the innermost open tuple off, copying the modes of the layout that the profile leaves out.
fn close(
    open: &mut Vec<(usize, usize)>,
    nodes: &mut Vec<Node<Mode>>,
    modes: &[Node<Mode>],
    mut position: usize,
) -> usize {
    for _ in 0..open.pop().map_or(0, |(_, left)| left) {
        let len = subtree_len(&modes[position..]);
        nodes.extend_from_slice(&modes[position..position + len]);
        position += len;
    }
    position
}
