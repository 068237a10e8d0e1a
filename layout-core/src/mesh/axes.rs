//! `Mesh`: devices along named axes.
//!
//! Law: the layout of the ranks is a bijection between coordinates and `0..size`, so a rank has one coordinate.

use crate::algebra::right_inverse;
use crate::{IntTuple, Layout, LayoutError};
use std::fmt;

const NAME: &str = "mesh";
/// Plans look at every pair of ranks.
const MOST: i64 = 1 << 10;

/// Devices along named axes: a layout from coordinates to ranks, and a name for each of its modes.
///
/// ```
/// use layout_core::mesh::Mesh;
///
/// let mesh = Mesh::new([("node", 2), ("gpu", 4)])?;
/// assert_eq!(mesh.to_string(), "node=2,gpu=4");
/// assert_eq!((mesh.size(), mesh.coordinate(6)?), (8, vec![1, 2]));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mesh {
    names: Vec<String>,
    extents: Vec<i64>,
    ranks: Layout,
}

fn refuse<T>(detail: String) -> Result<T, LayoutError> {
    Err(LayoutError::Unsupported { operation: NAME, detail })
}

impl Mesh {
    /// Axes of these names and extents. The last axis counts the ranks fastest, as launchers number them: the processes
    /// of one machine are neighbours.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for no axis, two of one name, an extent below 1, or more than 1024 ranks.
    ///
    /// ```
    /// # use layout_core::mesh::Mesh;
    /// assert!(Mesh::new([("gpu", 2), ("gpu", 2)]).is_err());
    /// assert_eq!(Mesh::new([("gpu", 4)])?.size(), 4);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new<'a>(axes: impl IntoIterator<Item = (&'a str, i64)>) -> Result<Self, LayoutError> {
        let (names, extents): (Vec<&str>, Vec<i64>) = axes.into_iter().unzip();
        let ranks = Layout::row_major(IntTuple::flat(extents))?;
        Self::with_ranks(names, ranks)
    }

    /// Axes whose ranks the layout says: mode i is the axis of the i-th name.
    ///
    /// # Errors
    /// As [`Mesh::new`], and for a layout that is no bijection onto `0..size`.
    ///
    /// ```
    /// # use layout_core::mesh::Mesh;
    /// let mesh = Mesh::with_ranks(["row", "column"], "(2,2):(1,2)".parse()?)?;
    /// assert_eq!(mesh.coordinate(1)?, [1, 0]);
    /// assert!(Mesh::with_ranks(["row", "column"], "(2,2):(1,1)".parse()?).is_err());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn with_ranks<'a>(
        names: impl IntoIterator<Item = &'a str>,
        ranks: Layout,
    ) -> Result<Self, LayoutError> {
        let names: Vec<String> = names.into_iter().map(String::from).collect();
        if names.is_empty() || names.len() != ranks.rank() {
            let axes = names.len();
            return refuse(format!(
                "{axes} names for the {} modes of {ranks}; give one for each",
                ranks.rank()
            ));
        }
        if let Some(twice) = names.iter().enumerate().find(|(i, name)| names[..*i].contains(name)) {
            return refuse(format!("two axes are named `{}`; give each its own name", twice.1));
        }
        let size = ranks.size();
        if !(1..=MOST).contains(&size) {
            return refuse(format!("{ranks} has {size} ranks; a mesh has 1 to {MOST}"));
        }
        let inverse = right_inverse(&ranks)?;
        if ranks.leaves().any(|mode| mode.stride < 0) || inverse.size() != size || ranks.cosize() != size {
            return refuse(format!("{ranks} is no bijection onto the ranks 0..{size}"));
        }
        let extents = ranks.modes().map(|mode| mode.size()).collect();
        Ok(Self { names, extents, ranks })
    }

    /// How many ranks there are.
    ///
    /// ```
    /// # use layout_core::mesh::Mesh;
    /// assert_eq!(Mesh::new([("x", 2), ("y", 3)])?.size(), 6);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn size(&self) -> usize {
        self.ranks.size() as usize
    }

    /// The layout from coordinates to ranks.
    ///
    /// ```
    /// # use layout_core::mesh::Mesh;
    /// assert_eq!(Mesh::new([("x", 2), ("y", 3)])?.ranks().to_string(), "(2,3):(3,1)");
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn ranks(&self) -> &Layout {
        &self.ranks
    }

    /// The names and extents of the axes.
    ///
    /// ```
    /// # use layout_core::mesh::Mesh;
    /// assert_eq!(Mesh::new([("x", 2), ("y", 3)])?.axes().last(), Some(("y", 3)));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn axes(&self) -> impl DoubleEndedIterator<Item = (&str, i64)> {
        self.names.iter().map(String::as_str).zip(self.extents.iter().copied())
    }

    /// The coordinate of a rank, a number an axis.
    ///
    /// # Errors
    /// [`LayoutError::Coordinate`] unless `rank < size`.
    ///
    /// ```
    /// # use layout_core::mesh::Mesh;
    /// assert_eq!(Mesh::new([("x", 2), ("y", 3)])?.coordinate(4)?, [1, 1]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn coordinate(&self, rank: usize) -> Result<Vec<i64>, LayoutError> {
        let extent = self.ranks.size();
        let coordinate = i64::try_from(rank).unwrap_or(i64::MAX);
        let index = self.ranks.offsets().position(|at| at == coordinate);
        let index = index.ok_or(LayoutError::Coordinate { mode: 0, coordinate, extent })?;
        let mut rest = index as i64;
        let digit = |extent: &i64| {
            let digit = rest % extent;
            rest /= extent;
            digit
        };
        Ok(self.extents.iter().map(digit).collect())
    }

    /// The number of the axis of this name.
    pub(super) fn axis(&self, name: &str) -> Result<usize, LayoutError> {
        match self.names.iter().position(|own| own == name) {
            Some(axis) => Ok(axis),
            None => refuse(format!("no axis is named `{name}`; the mesh is {self}")),
        }
    }

    pub(super) fn extents(&self) -> &[i64] {
        &self.extents
    }
}

impl fmt::Display for Mesh {
    /// `node=2,gpu=4`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (name, extent)) in self.axes().enumerate() {
            write!(f, "{}{name}={extent}", if number == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
