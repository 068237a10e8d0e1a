//! `IdentityLayout`: coordinates as values, for predicates and tensor maps.
//!
//! Law: `I(c) == c`; after any operation, element c of the result is the coordinate, in the tensor the identity was made
//! for, of the element that the same operation gives on the tensor's layout. CuTe writes the strides as basis vectors,
//! `(4,8):(1@0,1@1)`; here they are one layout for each dimension.

use crate::algebra::{Tile, composition, composition_by_mode, logical_divide_by_mode, zipped_divide_by_mode};
use crate::{IntTuple, Layout, LayoutError};
use std::fmt;

/// The identity on the coordinates of a shape, and what operations make of it.
///
/// ```
/// use layout_core::{IdentityLayout, algebra::Tile};
///
/// let i = IdentityLayout::new((10, 7))?;
/// assert_eq!(i.to_string(), "(10,7):(1@0,1@1)");
/// let tiles = i.zipped_divide_by_mode(&[Tile::of(4)?, Tile::of(4)?])?;
/// // Element (3,2) of tile (2,1) would be row 11, column 6 of 10 x 7: masked.
/// assert_eq!(tiles.at(&((3, 2), (2, 1)).into())?, [11, 6]);
/// assert!(!tiles.exists(&((3, 2), (2, 1)).into())?);
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityLayout {
    extents: Vec<i64>,
    dimensions: Vec<Layout>,
}

impl IdentityLayout {
    /// The identity on a shape; each top-level mode is one dimension, counted through if it nests.
    ///
    /// # Errors
    /// As [`Layout::new`].
    ///
    /// ```
    /// # use layout_core::IdentityLayout;
    /// assert_eq!(IdentityLayout::new((4, (2, 3)))?.at(&(1, (1, 2)).into())?, [1, 5]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn new(shape: impl Into<IntTuple>) -> Result<Self, LayoutError> {
        let shape = shape.into();
        let extents: Vec<i64> = shape.modes().map(|mode| mode.product()).collect::<Result<_, _>>()?;
        let dimension = |number: usize| {
            let strides = shape.modes().enumerate().map(|(mode, extents)| {
                let mut step = i64::from(mode == number);
                extents.map(|extent| {
                    let here = step;
                    step = step.wrapping_mul(*extent);
                    here
                })
            });
            match shape.is_leaf() {
                true => Layout::new(shape.clone(), 1),
                false => Layout::new(shape.clone(), IntTuple::tuple(strides.collect::<Vec<_>>())),
            }
        };
        let dimensions = (0..extents.len()).map(dimension).collect::<Result<_, _>>()?;
        Ok(Self { extents, dimensions })
    }

    /// The shape of the domain.
    ///
    /// ```
    /// # use layout_core::IdentityLayout;
    /// assert_eq!(IdentityLayout::new((4, 8))?.shape(), (4, 8).into());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn shape(&self) -> IntTuple {
        self.dimensions.first().map_or_else(|| IntTuple::tuple([]), Layout::shape)
    }

    /// The coordinate that element `coord` is, one number a dimension.
    ///
    /// # Errors
    /// As [`Layout::crd2idx`].
    ///
    /// ```
    /// # use layout_core::IdentityLayout;
    /// assert_eq!(IdentityLayout::new((4, 8))?.at(&9.into())?, [1, 2]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn at(&self, coord: &IntTuple) -> Result<Vec<i64>, LayoutError> {
        self.dimensions.iter().map(|dimension| dimension.crd2idx(coord)).collect()
    }

    /// Whether that coordinate is within the shape the identity was made for: CuTe's `elem_less`.
    ///
    /// # Errors
    /// As [`IdentityLayout::at`].
    ///
    /// ```
    /// # use layout_core::IdentityLayout;
    /// assert!(IdentityLayout::new((4, 8))?.exists(&(3, 7).into())?);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn exists(&self, coord: &IntTuple) -> Result<bool, LayoutError> {
        Ok(self.at(coord)?.iter().zip(&self.extents).all(|(at, extent)| (0..*extent).contains(at)))
    }

    /// The identity after `layout`: which coordinates it picks.
    ///
    /// # Errors
    /// As [`composition`].
    ///
    /// ```
    /// # use layout_core::{IdentityLayout, Layout};
    /// let diagonal = IdentityLayout::new((4, 4))?.composition(&Layout::new(4, 5)?)?;
    /// assert_eq!(diagonal.at(&2.into())?, [2, 2]);
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn composition(&self, layout: &Layout) -> Result<Self, LayoutError> {
        self.each(|dimension| composition(dimension, layout))
    }

    /// [`composition_by_mode`] on every dimension.
    ///
    /// # Errors
    /// As [`composition_by_mode`].
    ///
    /// ```
    /// # use layout_core::{IdentityLayout, algebra::Tile};
    /// let part = IdentityLayout::new((4, 4))?.composition_by_mode(&[Tile::of(2)?, Tile::Keep])?;
    /// assert_eq!(part.shape(), (2, 4).into());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn composition_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        self.each(|dimension| composition_by_mode(dimension, tiler))
    }

    /// [`logical_divide_by_mode`] on every dimension.
    ///
    /// # Errors
    /// As [`logical_divide_by_mode`].
    ///
    /// ```
    /// # use layout_core::{IdentityLayout, algebra::Tile};
    /// let part = IdentityLayout::new((4, 4))?.logical_divide_by_mode(&[Tile::of(2)?])?;
    /// assert_eq!(part.shape(), ((2, 2), 4).into());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn logical_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        self.each(|dimension| logical_divide_by_mode(dimension, tiler))
    }

    /// [`zipped_divide_by_mode`] on every dimension.
    ///
    /// # Errors
    /// As [`zipped_divide_by_mode`].
    ///
    /// ```
    /// # use layout_core::{IdentityLayout, algebra::Tile};
    /// let part = IdentityLayout::new((4, 4))?.zipped_divide_by_mode(&[Tile::of(2)?, Tile::of(4)?])?;
    /// assert_eq!(part.shape(), ((2, 4), (2, 1)).into());
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn zipped_divide_by_mode(&self, tiler: &[Tile]) -> Result<Self, LayoutError> {
        self.each(|dimension| zipped_divide_by_mode(dimension, tiler))
    }

    fn each(&self, f: impl Fn(&Layout) -> Result<Layout, LayoutError>) -> Result<Self, LayoutError> {
        let dimensions: Vec<Layout> = self.dimensions.iter().map(f).collect::<Result<_, _>>()?;
        Ok(Self { extents: self.extents.clone(), dimensions })
    }
}

impl fmt::Display for IdentityLayout {
    /// `(4,8):(1@0,1@1)`: a stride as its step and dimension, `0` where no dimension moves.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(first) = self.dimensions.first() else { return f.write_str("():()") };
        let mut basis = vec![String::new(); first.leaves().count()];
        for (number, dimension) in self.dimensions.iter().enumerate() {
            for (text, mode) in basis.iter_mut().zip(dimension.leaves()).filter(|(_, mode)| mode.stride != 0)
            {
                let plus = if text.is_empty() { "" } else { "+" };
                text.push_str(&format!("{plus}{}@{number}", mode.stride));
            }
        }
        let mut leaves = basis.into_iter().map(|text| if text.is_empty() { "0".into() } else { text });
        write!(f, "{}:{}", first.shape(), first.shape().map(|_| leaves.next().unwrap_or_default()))
    }
}
