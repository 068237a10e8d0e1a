//! The operations that expressions can call: one table, in the field's names.
//!
//! Law: `OPERATIONS[i].call(arguments)` is the function of that name; where CuTe overloads (a tuple tiler divides by
//! mode, a layout as one dimension), so do the names here.

use super::Value;
use crate::algebra::*;
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle, crd2crd, idx2crd};

/// An operation of the expression language.
///
/// ```
/// use layout_core::expr::OPERATIONS;
/// let divide = OPERATIONS.iter().find(|operation| operation.name == "logical_divide");
/// assert_eq!(divide.map(|operation| operation.arguments), Some(["layout", "tiler"].as_slice()));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    /// The name it is called by.
    pub name: &'static str,
    /// The names of its arguments; one that ends in `?` may be left out.
    pub arguments: &'static [&'static str],
    /// What it does, in a line.
    pub summary: &'static str,
    run: fn(&Arguments) -> Result<Value, LayoutError>,
}

/// The arguments of a call, with the checks that every operation needs.
struct Arguments<'a>(&'a [Value]);

impl Arguments<'_> {
    fn get(&self, index: usize) -> Result<&Value, LayoutError> {
        let error = || LayoutError::Rank {
            operation: "expression",
            what: "the call",
            expected: index + 1,
            found: self.0.len(),
        };
        self.0.get(index).ok_or_else(error)
    }

    fn layout(&self, index: usize) -> Result<Layout, LayoutError> {
        self.get(index)?.layout()
    }

    fn int(&self, index: usize) -> Result<i64, LayoutError> {
        self.get(index)?.int()
    }

    fn tuple(&self, index: usize) -> Result<IntTuple, LayoutError> {
        self.get(index)?.tuple()
    }

    fn swizzle(&self, index: usize) -> Result<Swizzle, LayoutError> {
        self.get(index)?.swizzle()
    }

    /// By mode where argument 1 is a tuple, else as one dimension.
    fn tiled(
        &self,
        whole: fn(&Layout, &Layout) -> Result<Layout, LayoutError>,
        by_mode: fn(&Layout, &[Tile]) -> Result<Layout, LayoutError>,
    ) -> Result<Value, LayoutError> {
        let layout = self.layout(0)?;
        Ok(Value::Layout(match self.get(1)?.tiler()? {
            Some(tiler) => by_mode(&layout, &tiler)?,
            None => whole(&layout, &self.layout(1)?)?,
        }))
    }

    fn composed(&self) -> Option<&ComposedLayout> {
        match self.0.first() {
            Some(Value::Composed(composed)) => Some(composed),
            _ => None,
        }
    }
}

impl Operation {
    /// Calls the operation.
    ///
    /// # Errors
    /// As [`super::evaluate`].
    ///
    /// ```
    /// use layout_core::expr::{OPERATIONS, Value};
    /// let size = OPERATIONS.iter().find(|operation| operation.name == "size");
    /// assert_eq!(size.map(|size| size.call(&[Value::Int(4)])), Some(Ok(Value::Int(4))));
    /// ```
    pub fn call(&self, arguments: &[Value]) -> Result<Value, LayoutError> {
        let needed = self.arguments.iter().filter(|name| !name.ends_with('?')).count();
        if arguments.len() < needed || arguments.len() > self.arguments.len() {
            let takes = self.arguments.join(", ");
            let detail = format!("{} takes ({takes}), not {} arguments", self.name, arguments.len());
            return Err(LayoutError::Unsupported { operation: "expression", detail });
        }
        (self.run)(&Arguments(arguments))
    }
}

/// A call as text.
pub(super) fn text(name: &str, arguments: &[Value]) -> String {
    let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
    format!("{name}({})", arguments.join(", "))
}

/// The operation of a name; `_by_mode` and the oracle's `_tiler` are the same operation.
pub(super) fn find(name: &str) -> Result<&'static Operation, LayoutError> {
    let plain = name.strip_suffix("_by_mode").or_else(|| name.strip_suffix("_tiler")).unwrap_or(name);
    OPERATIONS.iter().find(|operation| operation.name == plain).ok_or_else(|| {
        let names: Vec<&str> = OPERATIONS.iter().map(|operation| operation.name).collect();
        let near = names.iter().map(|known| (slips(known, name), known)).min();
        let near = near.filter(|(slips, _)| *slips <= name.len().div_ceil(3));
        let meant =
            near.map_or("; there are".to_owned(), |(_, near)| format!("; is `{near}` meant? There are"));
        let detail = format!("there is no operation `{name}`{meant} {}", names.join(", "));
        LayoutError::Unsupported { operation: "expression", detail }
    })
}

/// The letters to insert, remove or replace between two names.
fn slips(a: &str, b: &str) -> usize {
    let first: Vec<usize> = (0..=b.len()).collect();
    let last = a.bytes().enumerate().fold(first, |above, (i, letter)| {
        let mut row = vec![i + 1];
        for (j, other) in b.bytes().enumerate() {
            let replaced = above[j] + usize::from(letter != other);
            row.push(replaced.min(above[j + 1] + 1).min(row[j] + 1));
        }
        row
    });
    last[b.len()]
}

const fn op(
    name: &'static str,
    arguments: &'static [&'static str],
    summary: &'static str,
    run: fn(&Arguments) -> Result<Value, LayoutError>,
) -> Operation {
    Operation { name, arguments, summary, run }
}

/// A layout operation of one layout.
macro_rules! unary {
    ($a:ident => $value:expr) => {
        |arguments| {
            let $a = arguments.layout(0)?;
            Ok(Value::Layout($value))
        }
    };
}

const L: &[&str] = &["layout"];
const AB: &[&str] = &["a", "b"];
const TILED: &[&str] = &["layout", "tiler"];
const PRODUCT: &[&str] = &["block", "tiler"];

/// Every operation, in the order in which they build on each other.
///
/// ```
/// use layout_core::expr::OPERATIONS;
/// assert!(OPERATIONS.iter().any(|operation| operation.name == "complement"));
/// ```
pub static OPERATIONS: &[Operation] = &[
    op("make_layout", &["shape", "stride"], "shape:stride", |a| {
        Ok(Value::Layout(Layout::new(a.tuple(0)?, a.tuple(1)?)?))
    }),
    op("row_major", &["shape"], "compact, last mode fastest", |a| {
        Ok(Value::Layout(Layout::row_major(a.tuple(0)?)?))
    }),
    op("make_layout_right", &["shape"], "compact, last mode fastest", |a| {
        Ok(Value::Layout(Layout::row_major(a.tuple(0)?)?))
    }),
    op("col_major", &["shape"], "compact, first mode fastest", |a| {
        Ok(Value::Layout(Layout::col_major(a.tuple(0)?)?))
    }),
    op("make_layout_left", &["shape"], "compact, first mode fastest", |a| {
        Ok(Value::Layout(Layout::col_major(a.tuple(0)?)?))
    }),
    op("make_ordered_layout", &["shape", "order"], "compact, modes in this order", |a| {
        Ok(Value::Layout(Layout::ordered(a.tuple(0)?, a.tuple(1)?)?))
    }),
    op("make_layout_like", L, "compact in the order of these strides", unary!(l => l.like()?)),
    op("make_fragment_like", L, "compact for registers", unary!(l => l.fragment_like()?)),
    op("tile_to_shape", &["block", "shape", "order?"], "the block repeated over the shape", |a| {
        let order = a.0.get(2).map(Value::tuple).transpose()?;
        Ok(Value::Layout(Layout::tile_to_shape(&a.layout(0)?, a.tuple(1)?, order.as_ref())?))
    }),
    op("domain_distribute", &["shape", "n"], "n spread over the shape", |a| {
        Ok(Value::Layout(Layout::domain_distribute(a.tuple(0)?, a.int(1)?)?))
    }),
    op("size", L, "the number of coordinates", |a| Ok(Value::Int(a.layout(0)?.size()))),
    op("cosize", L, "the offsets it reaches", |a| Ok(Value::Int(a.layout(0)?.cosize()))),
    op("rank", L, "the number of modes", |a| Ok(Value::Int(a.layout(0)?.rank() as i64))),
    op("depth", L, "how deep it nests", |a| Ok(Value::Int(a.layout(0)?.depth() as i64))),
    op("crd2idx", &["layout", "coord"], "the offset of a coordinate", |a| match a.composed() {
        Some(composed) => Ok(Value::Int(composed.crd2idx(&a.tuple(1)?)?)),
        None => Ok(Value::Int(a.layout(0)?.crd2idx(&a.tuple(1)?)?)),
    }),
    op("idx2crd", &["index", "shape"], "the coordinate of an index", |a| {
        Ok(Value::Tuple(idx2crd(a.int(0)?, &a.tuple(1)?)?))
    }),
    op("crd2crd", &["coord", "src", "dst"], "a coordinate in another shape", |a| {
        Ok(Value::Tuple(crd2crd(&a.tuple(0)?, &a.tuple(1)?, &a.tuple(2)?)?))
    }),
    op("is_injective", L, "no offset twice", |a| Ok(Value::Bool(a.layout(0)?.is_injective()?))),
    op("is_surjective", L, "every offset below the cosize", |a| {
        Ok(Value::Bool(a.layout(0)?.is_surjective()))
    }),
    op("is_bijective", L, "every offset once", |a| Ok(Value::Bool(a.layout(0)?.is_bijective()))),
    op("is_contiguous", L, "index i at offset i", |a| Ok(Value::Bool(a.layout(0)?.is_contiguous()))),
    op("aliasing", L, "two coordinates of one offset", |a| Ok(Value::Witness(a.layout(0)?.aliasing()?))),
    op("same_function", AB, "equal as functions", |a| {
        Ok(Value::Bool(a.layout(0)?.same_function(&a.layout(1)?)))
    }),
    op("congruent", AB, "shapes that nest alike", |a| Ok(Value::Bool(a.tuple(0)?.congruent(&a.tuple(1)?)))),
    op("weakly_congruent", AB, "a nests like b or more coarsely", |a| {
        Ok(Value::Bool(a.tuple(0)?.weakly_congruent(&a.tuple(1)?)))
    }),
    op("compatible", AB, "coordinates of a are coordinates of b", |a| {
        Ok(Value::Bool(a.tuple(0)?.compatible(&a.tuple(1)?)))
    }),
    op("weakly_compatible", AB, "a multiple of a is compatible with b", |a| {
        Ok(Value::Bool(a.tuple(0)?.weakly_compatible(&a.tuple(1)?)))
    }),
    op("evenly_divides", AB, "b divides a", |a| Ok(Value::Bool(a.tuple(0)?.evenly_divides(&a.tuple(1)?)))),
    op("coalesce", &["layout", "profile?"], "the fewest modes", |a| match (a.composed(), a.0.get(1)) {
        (Some(composed), None) => Ok(Value::Composed(composed.coalesce())),
        (_, Some(profile)) => Ok(Value::Layout(coalesce_by_profile(&a.layout(0)?, &profile.tuple()?)?)),
        (None, None) => Ok(Value::Layout(coalesce(&a.layout(0)?))),
    }),
    op("coalesce_profile", &["layout", "profile"], "the fewest modes under a profile", |a| {
        Ok(Value::Layout(coalesce_by_profile(&a.layout(0)?, &a.tuple(1)?)?))
    }),
    op("filter", L, "without modes that do not move", unary!(l => filter(&l))),
    op("filter_zeros", L, "extents of stride 0 set to 1", unary!(l => filter_zeros(&l))),
    op("flatten", L, "all leaves in one tuple", unary!(l => l.flatten())),
    op("zip", L, "modes regrouped pairwise", unary!(l => l.zip()?)),
    op("group", &["layout", "begin", "end"], "modes gathered into one", |a| {
        Ok(Value::Layout(a.layout(0)?.group(a.get(1)?.index()?..a.get(2)?.index()?)?))
    }),
    op("take", &["layout", "begin", "end"], "a range of modes", |a| {
        Ok(Value::Layout(a.layout(0)?.take(a.get(1)?.index()?..a.get(2)?.index()?)?))
    }),
    op("select", &["layout", "modes"], "the modes with these numbers", |a| {
        let modes: Result<Vec<usize>, _> =
            a.tuple(1)?.leaves().map(|&mode| Value::Int(mode).index()).collect();
        Ok(Value::Layout(a.layout(0)?.select(&modes?)?))
    }),
    op("append", &["layout", "x"], "one more mode at the end", |a| {
        Ok(Value::Layout(a.layout(0)?.append(a.layout(1)?)?))
    }),
    op("prepend", &["layout", "x"], "one more mode in front", |a| {
        Ok(Value::Layout(a.layout(0)?.prepend(a.layout(1)?)?))
    }),
    op("slice", &["layout", "coord"], "the open modes at a coordinate", |a| match a.composed() {
        Some(composed) => Ok(Value::Composed(composed.slice(&a.get(1)?.pattern()?)?)),
        None => {
            slice(&a.layout(0)?, &a.get(1)?.pattern()?).map(|(layout, offset)| Value::Slice(layout, offset))
        }
    }),
    op("dice", &["layout", "coord"], "the fixed modes", |a| {
        Ok(Value::Layout(dice(&a.layout(0)?, &a.get(1)?.pattern()?)?))
    }),
    op("composition", AB, "a after b", |a| match (a.composed(), a.get(1)?.tiler()?) {
        (Some(composed), Some(tiler)) => Ok(Value::Composed(composed.composition_by_mode(&tiler)?)),
        (Some(composed), None) => Ok(Value::Composed(composed.composition(&a.layout(1)?)?)),
        _ => a.tiled(composition, composition_by_mode),
    }),
    op("with_shape", &["a", "shape"], "the same elements in another shape", |a| {
        Ok(Value::Layout(a.layout(0)?.with_shape(a.tuple(1)?)?))
    }),
    op("complement", &["layout", "cotarget?"], "what the layout leaves out", |a| {
        let layout = a.layout(0)?;
        let cotarget = a.0.get(1).map_or(Ok(layout.cosize()), Value::int)?;
        Ok(Value::Layout(complement(&layout, cotarget)?))
    }),
    op("right_inverse", L, "indices of offsets 0, 1, 2, ..", unary!(l => right_inverse(&l)?)),
    op("left_inverse", L, "from offsets back to indices", unary!(l => left_inverse(&l)?)),
    op("nullspace", L, "the directions that do not move", unary!(l => nullspace(&l)?)),
    op("max_common_layout", AB, "the longest run that is one in both", |a| {
        Ok(Value::Layout(max_common_layout(&a.layout(0)?, &a.layout(1)?)?))
    }),
    op("max_common_vector", AB, "its length", |a| {
        Ok(Value::Int(max_common_vector(&a.layout(0)?, &a.layout(1)?)?))
    }),
    op("max_alignment", L, "the widest vector it is made of", |a| {
        Ok(Value::Int(max_alignment(&a.layout(0)?)?))
    }),
    op("upcast", &["layout", "n"], "in units of n elements", |a| match a.get(0)? {
        Value::Swizzle(swizzle) => Ok(Value::Swizzle(swizzle.upcast(a.int(1)?)?)),
        _ => Ok(Value::Layout(upcast(&a.layout(0)?, a.int(1)?)?)),
    }),
    op("downcast", &["layout", "n"], "in units of a n-th of an element", |a| match a.get(0)? {
        Value::Swizzle(swizzle) => Ok(Value::Swizzle(swizzle.downcast(a.int(1)?)?)),
        _ => Ok(Value::Layout(downcast(&a.layout(0)?, a.int(1)?)?)),
    }),
    op("recast_layout", &["layout", "old_bits", "new_bits"], "elements of another width", |a| {
        match a.composed() {
            Some(composed) => Ok(Value::Composed(composed.recast(a.int(1)?, a.int(2)?)?)),
            None => Ok(Value::Layout(recast_layout(&a.layout(0)?, a.int(1)?, a.int(2)?)?)),
        }
    }),
    op("logical_divide", TILED, "(tile, rest)", |a| match (a.composed(), a.get(1)?.tiler()?) {
        (Some(composed), Some(tiler)) => Ok(Value::Composed(composed.logical_divide_by_mode(&tiler)?)),
        (Some(composed), None) => Ok(Value::Composed(composed.logical_divide(&a.layout(1)?)?)),
        _ => a.tiled(logical_divide, logical_divide_by_mode),
    }),
    op("zipped_divide", TILED, "((tiles), (rests))", |a| a.tiled(zipped_divide, zipped_divide_by_mode)),
    op("tiled_divide", TILED, "((tiles), rest, ..)", |a| a.tiled(tiled_divide, tiled_divide_by_mode)),
    op("flat_divide", TILED, "(tile, .., rest, ..)", |a| a.tiled(flat_divide, flat_divide_by_mode)),
    op("ceil_div", &["target", "tiler"], "the extents of the rest", |a| {
        Ok(Value::Tuple(ceil_div(a.int(0)?, &a.layout(1)?)?))
    }),
    op("logical_product", PRODUCT, "(block, repeats)", |a| a.tiled(logical_product, logical_product_by_mode)),
    op("zipped_product", PRODUCT, "((blocks), (repeats))", |a| {
        a.tiled(logical_product, zipped_product_by_mode)
    }),
    op("tiled_product", PRODUCT, "((blocks), repeat, ..)", |a| a.tiled(tiled_product, tiled_product_by_mode)),
    op("flat_product", PRODUCT, "(block, .., repeat, ..)", |a| a.tiled(flat_product, flat_product_by_mode)),
    op("blocked_product", PRODUCT, "blocks side by side", |a| {
        Ok(Value::Layout(blocked_product(&a.layout(0)?, &a.layout(1)?)?))
    }),
    op("raked_product", PRODUCT, "blocks interleaved", |a| {
        Ok(Value::Layout(raked_product(&a.layout(0)?, &a.layout(1)?)?))
    }),
    op("swizzle", &["swizzle", "offset"], "a swizzled offset", |a| {
        Ok(Value::Int(a.swizzle(0)?.apply(a.int(1)?)))
    }),
    op("swizzle_compose", AB, "a after b", |a| Ok(Value::Swizzle(a.swizzle(0)?.compose(&a.swizzle(1)?)?))),
    op("make_swizzle", &["y", "z"], "the swizzle of two masks", |a| {
        Ok(Value::Swizzle(Swizzle::of_masks(a.int(0)?, a.int(1)?)?))
    }),
    op("make_composed", &["swizzle", "offset", "layout"], "a swizzled layout", |a| {
        Ok(Value::Composed(ComposedLayout::new(a.swizzle(0)?, a.int(1)?, a.layout(2)?)?))
    }),
];
