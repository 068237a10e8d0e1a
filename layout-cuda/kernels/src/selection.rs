//! Places in sorted rows, and parts of a vector that a mask or its runs choose.
//!
//! Law: elements keep their bits and their order. How many there are is on the device, so nothing waits; what an output has beyond that
//! is left as it was, and what it has no room for is left out.

use crate::kernels::selection as kernels;
use crate::{kept, same};
use layout_cuda::{
    Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut, TensorView,
    TensorViewMut,
};

/// Elements of a tile.
const TILE: usize = 4096;

/// The counts of tiles; kept from call to call.
#[derive(Debug, Default)]
pub struct Workspace {
    tiles: Tiles,
    places: Option<Tensor<u32, 1>>,
}

#[derive(Debug, Default)]
struct Tiles {
    state: Option<Tensor<u32, 1>>,
    none: Option<Tensor<u8, 1>>,
}

/// Which place of equal elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Before them: as many as are less.
    Left,
    /// Behind them: as many as are not greater.
    Right,
}

/// `out[i, k]`: where `values[i, k]` is to go in row `i` of `sorted`, which ascends, so that it stays in order. NaN is above every
/// number. Strides may be any. Asynchronous.
///
/// # Errors
/// Extents that disagree, rows of 2³¹ elements or more, 2³² - 1024 values or more, and those of a launch.
///
/// ```
/// use layout_kernels::selection::{Side, searchsorted};
///
/// let device = layout_cuda::Device::simulator();
/// let sorted = device.upload(&[1.0f32, 3.0, 3.0, 7.0], [1, 4])?;
/// let (values, mut out) = (device.upload(&[3.0f32, 8.0, f32::NAN], [1, 3])?, device.zeros([1, 3])?);
/// searchsorted(&device.stream(), Side::Left, &sorted, &values, &mut out)?;
/// assert_eq!(out.download()?, [1, 4, 4]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn searchsorted<T: Element>(
    stream: &Stream,
    side: Side,
    sorted: &impl TensorArg<T, 2>,
    values: &impl TensorArg<T, 2>,
    out: &mut impl TensorArgMut<u32, 2>,
) -> Result<(), Error> {
    let set = ParamSet::default().with("RIGHT", ParamValue::Bool(side == Side::Right));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::search::launch_with(config, stream, sorted, values, out)
}

/// `out[..count]`: the elements of `x` whose mask is not 0. Asynchronous.
///
/// # Errors
/// Extents that disagree, 2³⁰ elements or more, a device without memory for the workspace, and those of a launch.
///
/// ```
/// use layout_kernels::selection::{Workspace, select};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mask) = (device.upload(&[5, 6, 7], [3])?, device.upload(&[1u8, 0, 1], [3])?);
/// let (mut out, mut count) = (device.zeros::<i32, 1>([3])?, device.zeros([1])?);
/// select(&device.stream(), &x, &mask, &mut out, &mut count, &mut Workspace::default())?;
/// assert_eq!((out.download()?, count.download()?), (vec![5, 7, 0], vec![2]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn select<T: Element>(
    stream: &Stream,
    x: &impl TensorArg<T, 1>,
    mask: &impl TensorArg<u8, 1>,
    out: &mut impl TensorArgMut<T, 1>,
    count: &mut impl TensorArgMut<u32, 1>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let (x, mask, mut out) = (x.view(), mask.view(), out.view_mut());
    same("select", "mask", 0, mask.shape()[0], ("the extent", "x"), x.shape()[0])?;
    let mut none = kept(stream, 1, &mut workspace.places)?;
    let mut none = none.part_mut(0, [0], [1])?;
    run(stream, &x, Some(&mask), &mut out, &mut none, &mut count.view_mut(), &mut workspace.tiles)
}

/// `out[..count]`: the elements of `x` that are unlike the one before, and `places` where they are in `x`: the distinct elements, where
/// equal ones are next to each other, as those of [`sort`](crate::orders::sort) are. The length of a run is the distance to the next place. A NaN is
/// unlike each element. Asynchronous.
///
/// # Errors
/// 2³⁰ elements or more, a device without memory for the workspace, and those of a launch.
///
/// ```
/// use layout_kernels::selection::{Workspace, unique};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[5, 5, 7, 5], [4])?;
/// let (mut out, mut places, mut count) = (device.zeros::<i32, 1>([4])?, device.zeros([4])?, device.zeros([1])?);
/// unique(&device.stream(), &x, &mut out, &mut places, &mut count, &mut Workspace::default())?;
/// assert_eq!((out.download()?, places.download()?, count.download()?), (vec![5, 7, 5, 0], vec![0, 2, 3, 0], vec![3]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn unique<T: Element>(
    stream: &Stream,
    x: &impl TensorArg<T, 1>,
    out: &mut impl TensorArgMut<T, 1>,
    places: &mut impl TensorArgMut<u32, 1>,
    count: &mut impl TensorArgMut<u32, 1>,
    workspace: &mut Workspace,
) -> Result<(), Error> {
    let (mut out, mut places) = (out.view_mut(), places.view_mut());
    run(stream, &x.view(), None, &mut out, &mut places, &mut count.view_mut(), &mut workspace.tiles)
}

fn run<T: Element>(
    stream: &Stream,
    x: &TensorView<'_, T, 1>,
    mask: Option<&TensorView<'_, u8, 1>>,
    out: &mut TensorViewMut<'_, T, 1>,
    places: &mut TensorViewMut<'_, u32, 1>,
    count: &mut TensorViewMut<'_, u32, 1>,
    workspace: &mut Tiles,
) -> Result<(), Error> {
    let of = if mask.is_some() { "select" } else { "unique" };
    same(of, "count", 0, count.shape()[0], ("one number", "count"), 1)?;
    let tiles = x.shape()[0].div_ceil(TILE);
    if tiles == 0 {
        return count.clear(stream);
    }
    let set = ParamSet::default().with("RUNS", ParamValue::Bool(mask.is_none()));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let none = kept(stream, 1, &mut workspace.none)?;
    let none = none.view().part(0, [0], [1])?;
    let mut state = kept(stream, tiles, &mut workspace.state)?;
    let mut state = state.part_mut(0, [tiles], [1])?;
    state.clear(stream)?;
    kernels::keep::launch_with(config, stream, x, mask.unwrap_or(&none), out, places, count, &mut state)
}
