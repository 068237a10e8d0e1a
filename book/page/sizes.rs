//! The sizes of a launch, typed as `M = 64, N = 32`, and the arguments that they make.
//!
//! A tensor that is read holds small whole numbers, one that is written the same where the kernel may read it first; a
//! scalar is what was typed, or 1.

use layout_compiler::launch::{Extent, LaunchPlan, PlanArgumentKind};
use layout_compiler::{BindError, Checked, Constant, Kernel, LaunchArgument, ParamSet, Promises, compile};
use layout_workbench::{Given, Tensor};
use std::collections::BTreeMap;

/// The most elements of all tensors of a launch together.
const MOST: i64 = 1 << 22;

/// `M = 64, N = 32` as a table. What is left out of the dimensions is 64.
pub fn table(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let mut sizes = BTreeMap::new();
    for part in text.split([',', '\n', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').ok_or(format!("`{part}`: sizes are `M = 64, N = 32`"))?;
        let value = value.trim().parse().map_err(|_| format!("`{}` is no number", value.trim()))?;
        sizes.insert(name.trim().to_owned(), value);
    }
    Ok(sizes)
}

/// A variant, for its plan: the shapes of the arguments are the same in all.
pub fn any_variant(kernel: &Kernel, set: &ParamSet) -> Option<Checked> {
    compile(kernel, set, Promises::USUAL).or_else(|_| compile(kernel, set, Promises::default())).ok()
}

/// Arguments of these sizes.
///
/// # Errors
/// More than 2²² elements, or an extent that no size makes.
pub fn arguments(plan: &LaunchPlan, sizes: &BTreeMap<String, f64>) -> Result<Vec<Given>, String> {
    let dims: Vec<i64> =
        plan.dims.iter().map(|name| sizes.get(name).map_or(64, |value| *value as i64)).collect();
    let mut shapes: Vec<Vec<usize>> = vec![];
    let mut elements = 0i64;
    for argument in &plan.arguments {
        let PlanArgumentKind::Tensor { extents, .. } = &argument.kind else {
            shapes.push(vec![]);
            continue;
        };
        let extent = |extent: &Extent| match extent {
            Extent::Dim(dim) => dims.get(*dim as usize).copied().unwrap_or(0),
            Extent::Static(extent) => *extent,
            // Found below: the plan says what it should have been.
            Extent::Computed(_) => 1,
        };
        let shape: Vec<i64> = extents.iter().map(extent).collect();
        let size = shape.iter().fold(1i64, |size, extent| size.saturating_mul((*extent).max(0)));
        elements = elements.saturating_add(size);
        shapes.push(shape.iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect());
    }
    computed(plan, &mut shapes, sizes)?;
    let all = shapes
        .iter()
        .map(|shape| shape.iter().fold(1i64, |size, extent| size.saturating_mul(*extent as i64)));
    let elements = elements.max(all.fold(0i64, i64::saturating_add));
    if elements > MOST {
        return Err(format!("{elements} elements are too many for a page: at most {MOST}"));
    }
    let given = plan.arguments.iter().zip(&shapes).map(|(argument, shape)| match argument.kind {
        PlanArgumentKind::Tensor { .. } => Tensor::of(shape, |i| (i * 7 % 11) as f64 - 5.0).into(),
        PlanArgumentKind::Scalar(_) => Given::Scalar(sizes.get(&argument.name).copied().unwrap_or(1.0)),
        PlanArgumentKind::Index => Given::Index(sizes.get(&argument.name).map_or(1, |value| *value as i64)),
    });
    Ok(given.collect())
}

/// Sets the extents that are expressions over dimensions, which binding gives one by one.
fn computed(
    plan: &LaunchPlan,
    shapes: &mut [Vec<usize>],
    sizes: &BTreeMap<String, f64>,
) -> Result<(), String> {
    let modes: usize = shapes.iter().map(Vec::len).sum();
    for _ in 0..=modes {
        let strides: Vec<Vec<usize>> = shapes.iter().map(|shape| vec![1; shape.len()]).collect();
        let face = |((argument, shape), strides): (
            (&layout_compiler::launch::PlanArgument, &'_ Vec<usize>),
            &'_ Vec<usize>,
        )| match &argument.kind {
            PlanArgumentKind::Tensor { elem, .. } => (Some(*elem), shape.clone(), strides.clone()),
            PlanArgumentKind::Scalar(_) | PlanArgumentKind::Index => (None, vec![], vec![]),
        };
        let faces: Vec<_> = plan.arguments.iter().zip(shapes.iter()).zip(&strides).map(face).collect();
        let list: Vec<LaunchArgument<'_>> = plan
            .arguments
            .iter()
            .zip(&faces)
            .map(|(argument, (elem, shape, strides))| match (&argument.kind, elem) {
                (_, Some(elem)) => {
                    LaunchArgument::Tensor { elem: *elem, shape, strides, address: 0, len: usize::MAX }
                }
                (PlanArgumentKind::Scalar(elem), None) => {
                    let value = sizes.get(&argument.name).copied().unwrap_or(1.0);
                    LaunchArgument::Scalar(
                        *elem,
                        Constant::float(*elem, value).map_or(0, |constant| constant.bits),
                    )
                }
                _ => LaunchArgument::Index(1),
            })
            .collect();
        match plan.bind(&list, Some([1; 3]).filter(|_| !plan.has_grid())) {
            Err(BindError::Computed { argument, mode, expected: Some(expected), .. }) => {
                let at = plan.arguments.iter().position(|known| known.name == argument);
                let slot = at.and_then(|at| shapes.get_mut(at)).and_then(|shape| shape.get_mut(mode));
                let extent = usize::try_from(expected)
                    .map_err(|_| format!("`{argument}` has an extent of {expected}"))?;
                *slot.ok_or_else(|| format!("`{argument}` has no mode {mode}"))? = extent;
            }
            // What else does not fit is reported where the launch is prepared.
            Ok(_) | Err(_) => return Ok(()),
        }
    }
    Ok(())
}
