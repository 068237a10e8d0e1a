//! The layouts of the views that `let` binds.
//!
//! Law: a view is as specialisation has it. One that is bound in every round of a loop is that of the first round.

use super::words::Words;
use crate::check::Checked;
use crate::origin::Position;
use crate::program::{Named, NamedValue};
use std::fmt;

/// A view that has a name.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, compile, views};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn turned(x: &mut LayoutTensor<f32, RowMajor<32, 64>>) {
///     let mut part = x.tile([8, 64], [0, 0]).vectorize([1, 4]);
///     part.fill(thread_idx.x as f32);
/// }
/// let views = views(&compile(&turned::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?);
/// assert_eq!(views[0].to_string(), "[8, 16] : [64, 4], vectors of 4");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExplainedView {
    /// Where its name is in the kernel's Rust file.
    pub position: Position,
    /// The extent of each mode, in vectors.
    pub extents: Vec<String>,
    /// Elements from one vector of the mode to the next.
    pub strides: Vec<String>,
    /// Elements of a vector.
    pub lanes: i64,
    /// Whether a swizzle is over its offsets.
    pub swizzled: bool,
}

/// The views of a variant, in the order of the kernel's lines.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, compile, views};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn filled(x: &mut LayoutTensor<f32, RowMajor<32, 64>>) {
///     let mut row = x.slice(thread_idx.x);
///     row.fill(1.0);
/// }
/// let views = views(&compile(&filled::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?);
/// assert_eq!((views.len(), views[0].extents.join(", ").as_str()), (1, "64"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn views(checked: &Checked) -> Vec<ExplainedView> {
    let words = Words::new(checked);
    let tables = checked.tables();
    let mut list = Vec::new();
    for Named { origin, value, .. } in &tables.named {
        let NamedValue::View { modes, vector, swizzle, .. } = value else { continue };
        list.push(ExplainedView {
            position: tables.positions.get(origin.0 as usize).copied().unwrap_or_default(),
            extents: modes.iter().map(|[extent, _]| words.index(extent)).collect(),
            strides: modes.iter().map(|[_, stride]| words.index(stride)).collect(),
            lanes: vector.iter().filter_map(|[extent, _]| extent.as_constant()).product(),
            swizzled: swizzle.is_some(),
        });
    }
    // Of several of one name the first stays: the sort is stable.
    list.sort_by_key(|view: &ExplainedView| view.position);
    list.dedup_by_key(|view| view.position);
    list
}

impl fmt::Display for ExplainedView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] : [{}]", self.extents.join(", "), self.strides.join(", "))?;
        if self.lanes > 1 {
            write!(f, ", vectors of {}", self.lanes)?;
        }
        if self.swizzled {
            f.write_str(", swizzled")?;
        }
        Ok(())
    }
}
