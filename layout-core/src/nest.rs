//! `Nest<T>`: a value or a tuple of nests, the shape that every shape, stride, coordinate and layout has.
//!
//! Invariant: `nodes` is one nest in prefix order; `Node::Tuple(n)` is followed by exactly `n` nests. Stored flat, so
//! that no depth of nesting can overflow the stack and a layout is one allocation.

use crate::LayoutError;
use std::fmt;

/// One node in prefix order: a leaf, or the head of a tuple of so many nests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node<T> {
    Leaf(T),
    Tuple(usize),
}

/// A leaf, or a tuple of nests, to any depth: `5`, `(2,(3,4))`, `()`.
///
/// `5` and `(5)` are different: the first is a leaf, the second a tuple of one.
///
/// ```
/// use layout_core::{IntTuple, Nest};
///
/// let t = IntTuple::from((2, (3, 4)));
/// assert_eq!((t.rank(), t.depth(), t.is_leaf()), (2, 2, false));
/// assert_eq!(t.mode(1), Some(IntTuple::from((3, 4))));
/// assert_eq!(t.leaves().copied().collect::<Vec<_>>(), [2, 3, 4]);
/// assert_eq!(Nest::tuple([t, Nest::leaf(7)]).to_string(), "((2,(3,4)),7)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Nest<T> {
    nodes: Vec<Node<T>>,
}

impl<T> Nest<T> {
    /// A single leaf.
    ///
    /// ```
    /// assert_eq!(layout_core::Nest::leaf(5).to_string(), "5");
    /// ```
    pub fn leaf(value: T) -> Self {
        Self { nodes: vec![Node::Leaf(value)] }
    }

    /// The tuple of the given nests.
    ///
    /// ```
    /// use layout_core::Nest;
    /// assert_eq!(Nest::tuple([Nest::leaf(5), Nest::tuple([])]).to_string(), "(5,())");
    /// ```
    pub fn tuple(modes: impl IntoIterator<Item = Self>) -> Self {
        let mut nodes = vec![Node::Tuple(0)];
        let mut count = 0;
        for mode in modes {
            nodes.extend(mode.nodes);
            count += 1;
        }
        nodes[0] = Node::Tuple(count);
        Self { nodes }
    }

    /// The flat tuple of the given leaves.
    ///
    /// ```
    /// assert_eq!(layout_core::Nest::flat(1..4).to_string(), "(1,2,3)");
    /// ```
    pub fn flat(leaves: impl IntoIterator<Item = T>) -> Self {
        let mut nodes = vec![Node::Tuple(0)];
        nodes.extend(leaves.into_iter().map(Node::Leaf));
        nodes[0] = Node::Tuple(nodes.len() - 1);
        Self { nodes }
    }

    pub(crate) fn from_nodes(nodes: Vec<Node<T>>) -> Self {
        debug_assert_eq!(subtree_len(&nodes), nodes.len());
        Self { nodes }
    }

    pub(crate) fn nodes(&self) -> &[Node<T>] {
        &self.nodes
    }

    /// Whether this is a leaf and not a tuple.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert!(!t.is_leaf() && IntTuple::from(2).is_leaf());
    /// ```
    pub fn is_leaf(&self) -> bool {
        matches!(self.nodes[0], Node::Leaf(_))
    }

    /// The value, if this is a leaf.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!((t.as_leaf(), IntTuple::from(2).as_leaf()), (None, Some(&2)));
    /// ```
    pub fn as_leaf(&self) -> Option<&T> {
        match &self.nodes[0] {
            Node::Leaf(value) => Some(value),
            Node::Tuple(_) => None,
        }
    }

    /// The number of top-level modes; a leaf has 1.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!((t.rank(), IntTuple::from(2).rank()), (2, 1));
    /// ```
    pub fn rank(&self) -> usize {
        match self.nodes[0] {
            Node::Leaf(_) => 1,
            Node::Tuple(n) => n,
        }
    }

    /// How deep tuples nest; a leaf has 0.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!((t.depth(), IntTuple::from(2).depth()), (2, 0));
    /// ```
    pub fn depth(&self) -> usize {
        let (mut open, mut depth) = (Vec::new(), 0);
        for node in &self.nodes {
            while open.last() == Some(&0) {
                open.pop();
            }
            if let Some(left) = open.last_mut() {
                *left -= 1;
            }
            if let Node::Tuple(n) = node {
                open.push(*n);
                depth = depth.max(open.len());
            }
        }
        depth
    }

    /// All leaves, left to right.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert!(t.leaves().eq(&[2, 3, 4]));
    /// ```
    pub fn leaves(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.nodes.iter().filter_map(|node| match node {
            Node::Leaf(value) => Some(value),
            Node::Tuple(_) => None,
        })
    }

    /// The same nesting with every leaf replaced.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!(t.map(|leaf| leaf * 10), IntTuple::from((20, (30, 40))));
    /// ```
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Nest<U> {
        let nodes = self.nodes.iter().map(|node| match node {
            Node::Leaf(value) => Node::Leaf(f(value)),
            Node::Tuple(n) => Node::Tuple(*n),
        });
        Nest { nodes: nodes.collect() }
    }

    /// Whether both nest alike, whatever the leaves are.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert!(t.congruent(&IntTuple::from((0, (0, 0)))) && !t.congruent(&IntTuple::from((0, 0, 0))));
    /// ```
    pub fn congruent<U>(&self, other: &Nest<U>) -> bool {
        self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(|pair| match pair {
                (Node::Leaf(_), Node::Leaf(_)) => true,
                (Node::Tuple(a), Node::Tuple(b)) => a == b,
                _ => false,
            })
    }

    /// The nodes of each top-level mode; a leaf is its own only mode.
    pub(crate) fn mode_nodes(&self) -> impl Iterator<Item = &[Node<T>]> {
        let mut rest = match self.nodes[0] {
            Node::Leaf(_) => &self.nodes[..],
            Node::Tuple(_) => &self.nodes[1..],
        };
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (mode, tail) = rest.split_at(subtree_len(rest));
            rest = tail;
            Some(mode)
        })
    }
}

impl<T: Clone> Nest<T> {
    /// The top-level modes, left to right; a leaf is its own only mode.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert!(t.modes().eq([2.into(), (3, 4).into()]));
    /// ```
    pub fn modes(&self) -> impl Iterator<Item = Self> {
        self.mode_nodes().map(|nodes| Self { nodes: nodes.to_vec() })
    }

    /// The mode at `index`, or nothing if the rank is smaller.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!((t.mode(1), t.mode(2)), (Some((3, 4).into()), None));
    /// ```
    pub fn mode(&self, index: usize) -> Option<Self> {
        self.mode_nodes().nth(index).map(|nodes| Self { nodes: nodes.to_vec() })
    }

    /// The same leaves in one flat tuple; a leaf stays a leaf.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!(t.flatten(), (2, 3, 4).into());
    /// ```
    pub fn flatten(&self) -> Self {
        if self.is_leaf() { self.clone() } else { Self::flat(self.leaves().cloned()) }
    }

    /// These leaves, nested like `profile`.
    ///
    /// # Errors
    /// [`LayoutError::Rank`] if the numbers of leaves differ.
    ///
    /// ```
    /// # use layout_core::IntTuple;
    /// let t = IntTuple::from((2, (3, 4)));
    /// assert_eq!(IntTuple::from((7, 8, 9)).unflatten(&t)?, (7, (8, 9)).into());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn unflatten<U>(&self, profile: &Nest<U>) -> Result<Self, LayoutError> {
        let (expected, found) = (profile.leaves().count(), self.leaves().count());
        if expected != found {
            return Err(LayoutError::Rank {
                operation: "unflatten",
                what: "the flat tuple",
                expected,
                found,
            });
        }
        let mut leaves = self.leaves().cloned();
        let nodes = profile.nodes.iter().filter_map(|node| match node {
            Node::Leaf(_) => leaves.next().map(Node::Leaf),
            Node::Tuple(n) => Some(Node::Tuple(*n)),
        });
        Ok(Self { nodes: nodes.collect() })
    }
}

/// How many nodes the first nest in `nodes` has.
pub(crate) fn subtree_len<T>(nodes: &[Node<T>]) -> usize {
    let (mut pending, mut len) = (1, 0);
    while pending > 0 && len < nodes.len() {
        pending -= 1;
        if let Node::Tuple(n) = nodes[len] {
            pending += n;
        }
        len += 1;
    }
    len
}

impl<T: fmt::Display> fmt::Display for Nest<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_nest(f, &self.nodes, ",", |f, leaf| write!(f, "{leaf}"))
    }
}

/// Writes a nest with the given separator; the one printer of nests.
pub(crate) fn write_nest<T, W: fmt::Write>(
    out: &mut W,
    nodes: &[Node<T>],
    separator: &str,
    mut leaf: impl FnMut(&mut W, &T) -> fmt::Result,
) -> fmt::Result {
    let mut open: Vec<usize> = Vec::new();
    for node in nodes {
        match node {
            Node::Leaf(value) => leaf(out, value)?,
            Node::Tuple(n) => {
                out.write_char('(')?;
                open.push(*n);
                if *n > 0 {
                    continue;
                }
            }
        }
        // A nest has ended: close every tuple whose last mode it was.
        if matches!(node, Node::Tuple(0)) {
            open.pop();
            out.write_char(')')?;
        }
        while let Some(left) = open.last_mut() {
            *left -= 1;
            if *left > 0 {
                out.write_str(separator)?;
                break;
            }
            open.pop();
            out.write_char(')')?;
        }
    }
    Ok(())
}
