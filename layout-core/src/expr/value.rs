//! What an expression can be: integers, tuples, layouts, tilers, patterns, swizzles and verdicts.
//!
//! Law: the text of a value of the first kinds is read back as that value.

use crate::algebra::{Pattern, Tile};
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Nest, Swizzle};
use std::fmt;

/// A value of the expression language.
///
/// ```
/// use layout_core::expr::{Value, evaluate};
/// assert_eq!(evaluate("(2,(3,4))")?, Value::Tuple((2, (3, 4)).into()));
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Value {
    /// An integer.
    Int(i64),
    /// A tuple of integers: a shape, a coordinate, a tiler of extents.
    Tuple(IntTuple),
    /// A coordinate with open places: `(1,_)`.
    Pattern(Pattern),
    /// A tiler with layouts in it: `(2:1,_,4:2)`.
    Tiler(Vec<Tile>),
    /// A layout.
    Layout(Layout),
    /// A layout and the offset of its first element.
    Slice(Layout, i64),
    /// A swizzle.
    Swizzle(Swizzle),
    /// A swizzled layout.
    Composed(ComposedLayout),
    /// A verdict.
    Bool(bool),
    /// Two coordinates of one offset, if there are any.
    Witness(Option<(IntTuple, IntTuple)>),
}

impl Value {
    /// What kind of value this is, in words.
    ///
    /// ```
    /// assert_eq!(layout_core::expr::Value::Int(3).kind(), "an integer");
    /// ```
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Int(_) => "an integer",
            Self::Tuple(_) => "a tuple",
            Self::Pattern(_) => "a pattern",
            Self::Tiler(_) => "a tiler",
            Self::Layout(_) => "a layout",
            Self::Slice(..) => "a layout at an offset",
            Self::Swizzle(_) => "a swizzle",
            Self::Composed(_) => "a swizzled layout",
            Self::Bool(_) => "a verdict",
            Self::Witness(_) => "a witness",
        }
    }

    /// The offsets in the order of the linear index, for values that have them.
    ///
    /// ```
    /// use layout_core::expr::evaluate;
    /// let table = evaluate("Sw<1,0,1> o 0 o 4:1")?.offsets().map(|table| table.collect::<Vec<_>>());
    /// assert_eq!(table, Some(vec![0, 1, 3, 2]));
    /// # Ok::<(), layout_core::LayoutError>(())
    /// ```
    pub fn offsets(&self) -> Option<Box<dyn Iterator<Item = i64> + '_>> {
        match self {
            Self::Layout(layout) | Self::Slice(layout, _) => Some(Box::new(layout.offsets())),
            Self::Composed(composed) => Some(Box::new(composed.offsets())),
            _ => None,
        }
    }

    pub(super) fn wrong(&self, wanted: &str) -> LayoutError {
        let detail = format!("{self} is {}, {wanted} is needed", self.kind());
        LayoutError::Unsupported { operation: "expression", detail }
    }

    pub(super) fn int(&self) -> Result<i64, LayoutError> {
        match self {
            Self::Int(value) => Ok(*value),
            other => Err(other.wrong("an integer")),
        }
    }

    pub(super) fn index(&self) -> Result<usize, LayoutError> {
        usize::try_from(self.int()?).map_err(|_| self.wrong("the number of a mode"))
    }

    pub(super) fn tuple(&self) -> Result<IntTuple, LayoutError> {
        match self {
            Self::Int(value) => Ok(IntTuple::from(*value)),
            Self::Tuple(tuple) => Ok(tuple.clone()),
            other => Err(other.wrong("a tuple of integers")),
        }
    }

    pub(super) fn swizzle(&self) -> Result<Swizzle, LayoutError> {
        match self {
            Self::Swizzle(swizzle) => Ok(*swizzle),
            other => Err(other.wrong("a swizzle such as Sw<3,4,3>")),
        }
    }

    /// A layout; an integer n represents n:1.
    pub(super) fn layout(&self) -> Result<Layout, LayoutError> {
        match self {
            Self::Layout(layout) => Ok(layout.clone()),
            Self::Int(extent) => Layout::new(*extent, 1),
            other => Err(other.wrong("a layout such as (4,8):(8,1)")),
        }
    }

    pub(super) fn pattern(&self) -> Result<Pattern, LayoutError> {
        match self {
            Self::Pattern(pattern) => Ok(pattern.clone()),
            Self::Int(value) => Ok(Nest::leaf(Some(*value))),
            Self::Tuple(tuple) => Ok(tuple.map(|value| Some(*value))),
            other => Err(other.wrong("a pattern such as (1,_)")),
        }
    }

    /// A tiler for each mode, or nothing where the value is one layout for the whole.
    pub(super) fn tiler(&self) -> Result<Option<Vec<Tile>>, LayoutError> {
        match self {
            Self::Tiler(tiler) => Ok(Some(tiler.clone())),
            Self::Tuple(tuple) => {
                let extents = tuple.modes().map(|mode| match mode.as_int() {
                    Some(extent) => Tile::of(extent),
                    // A nested shape tiles its mode as the compact layout of that shape.
                    None => Ok(Tile::Layout(Layout::col_major(mode)?)),
                });
                Ok(Some(extents.collect::<Result<_, _>>()?))
            }
            Self::Pattern(pattern) => {
                let entries = pattern.modes().map(|mode| match mode.as_leaf() {
                    Some(None) => Ok(Tile::Keep),
                    Some(Some(extent)) => Tile::of(*extent),
                    None => Err(self.wrong("a tiler without `_` inside a nested mode")),
                });
                Ok(Some(entries.collect::<Result<_, _>>()?))
            }
            Self::Layout(_) | Self::Int(_) => Ok(None),
            other => Err(other.wrong("a tiler: a layout, or a tuple of extents, layouts and _")),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Tuple(tuple) => write!(f, "{tuple}"),
            Self::Pattern(pattern) => {
                crate::nest::write_nest(f, pattern.nodes(), ",", |f, part| match part {
                    Some(value) => write!(f, "{value}"),
                    None => f.write_str("_"),
                })
            }
            Self::Tiler(tiler) => {
                f.write_str("(")?;
                for (i, tile) in tiler.iter().enumerate() {
                    f.write_str(if i > 0 { "," } else { "" })?;
                    match tile {
                        Tile::Keep => f.write_str("_")?,
                        Tile::Layout(layout) => write!(f, "{layout}")?,
                    }
                }
                f.write_str(")")
            }
            Self::Layout(layout) => write!(f, "{layout}"),
            Self::Slice(layout, offset) => write!(f, "{layout} at {offset}"),
            Self::Swizzle(swizzle) => write!(f, "{swizzle}"),
            Self::Composed(composed) => write!(f, "{composed}"),
            Self::Bool(verdict) => write!(f, "{verdict}"),
            Self::Witness(Some((a, b))) => write!(f, "{a} and {b} have one offset"),
            Self::Witness(None) => f.write_str("none"),
        }
    }
}
