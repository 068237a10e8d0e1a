//! Orders along the last mode: the first `k` of each row, rows in order, and where their elements were.
//!
//! Law: the order is total: minus infinity, .., -0, +0, .., infinity, NaNs, those with a sign last. Elements of the same bits are in the order
//! of their places, so a result is the same in every run. Elements keep their bits. Tensors have any strides, as long as the modes before
//! the last are one without gaps.

use crate::kernels::orders as kernels;
use crate::movement::permute;
use crate::three::Three;
use crate::{kept, set};
use layout_cuda::{
    BindError, Element, Error, LaunchConfig, LaunchError, ParamValue, Stream, Tensor, TensorArg,
    TensorArgMut, TensorView, TensorViewMut, bf16, f16,
};

/// A type of elements that have an order: `f32`, `bf16`, `f16`, `i32`, `u32`, `f64`, `i64`, `u64`.
pub trait Ordered: Element {
    /// An unsigned number of the same size.
    type Bits: Element;
    /// One that holds these bits and a place below them.
    type Word: Element;
    /// What the kernels call `LEAST`.
    const LEAST: usize;
}

macro_rules! ordered {
    ($($ty:ty: $bits:ty, $word:ty, $least:expr;)*) => {$(
        impl Ordered for $ty {
            type Bits = $bits;
            type Word = $word;
            const LEAST: usize = $least;
        }
    )*};
}
ordered! {
    f32: u32, u64, 0x7f_ffff;
    bf16: u16, u32, 0x7f;
    f16: u16, u32, 0x3ff;
    f64: u64, u64, 0xf_ffff_ffff_ffff;
    i32: u32, u64, 1;
    i64: u64, u64, 1;
    u32: u32, u64, 0;
    u64: u64, u64, 0;
}

/// Which elements are first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The smallest.
    Ascending,
    /// The largest, NaN before all.
    Descending,
}

impl Order {
    /// What turns the numbers of elements around.
    fn flip<U: Element>(self) -> U {
        U::from_bits(if self == Order::Descending { u64::MAX } else { 0 })
    }
}

/// Memory for what an operation has on the way, kept from call to call. It has none at first: a call that needs some, or more, takes it; a
/// call of the same shapes as the last takes none.
#[derive(Debug)]
pub struct Workspace<T: Element> {
    keys: [Option<Tensor<T, 1>>; 2],
    places: [Option<Tensor<u32, 1>>; 2],
    counts: Option<Tensor<u32, 1>>,
    state: Option<Tensor<u32, 1>>,
}

impl<T: Element> Default for Workspace<T> {
    fn default() -> Workspace<T> {
        Workspace { keys: [None, None], places: [None, None], counts: None, state: None }
    }
}

/// The longest rows that a block sorts, and the most that [`top_k`] has without sorting the row.
const SHORT: usize = 4096;
const MOST: usize = 1024;
/// Elements of a row that are worth a block, and blocks that are worth it.
const PART: usize = 16384;
const BLOCKS: usize = 1056;
/// Threads of a block of a pass by radix.
const THREADS: usize = 512;

/// `values[.., r]` and `indices[.., r]`: the element number `r` in the order of each row of `x`, and where it is in the row. Their last
/// extent is `k`, at most that of `x`. Asynchronous.
///
/// For `k` up to 1024 a row is read once; how little of it is sorted depends on the values. Beyond that the row is sorted.
///
/// # Errors
/// A `k` above the row, extents that disagree, modes before the last that are not one without gaps, rows of 2³⁰ elements or more, a device
/// without memory for the workspace, and those of a launch.
///
/// ```
/// use layout_kernels::orders::{Order, Workspace, top_k};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[2.0f32, 7.0, -1.0, 7.0, 5.0, f32::NAN, 0.0, -0.0], [2, 4])?;
/// let (mut values, mut indices) = (device.zeros([2, 2])?, device.zeros([2, 2])?);
/// top_k(&device.stream(), Order::Descending, &x, &mut values, &mut indices, &mut Workspace::default())?;
/// assert_eq!(indices.download()?, [1, 3, 1, 0]);
/// assert_eq!(values.download()?[..2], [7.0, 7.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn top_k<T: Ordered, const R: usize>(
    stream: &Stream,
    order: Order,
    x: &impl TensorArg<T, R>,
    values: &mut impl TensorArgMut<T, R>,
    indices: &mut impl TensorArgMut<u32, R>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (x, mut values, mut indices) = (x.view(), values.view_mut(), indices.view_mut());
    let (k, n) = (*values.shape().last().unwrap_or(&0), *x.shape().last().unwrap_or(&0));
    if k > n {
        return Err(too_long("top_k", "values", [R.max(1) - 1, k, n], ("the largest k", "x")));
    }
    let mut wanted = x.shape();
    *wanted.last_mut().unwrap_or(&mut 0) = k;
    let x = rows("top_k", "x", &x, x.shape())?;
    let mut values = rows_mut("top_k", "values", &mut values, wanted)?;
    let mut indices = rows_mut("top_k", "indices", &mut indices, wanted)?;
    let [m, n] = x.shape();
    if m == 0 || k == 0 {
        return Ok(());
    }
    if n <= SHORT || k > MOST || size_of::<T>() > 4 {
        return ordered(stream, order, &x, None, Some(values), Some(indices), workspace);
    }
    let Workspace { keys: [copy, of_parts], places: [at_parts, none], .. } = workspace;
    let none = kept(stream, 1, none)?;
    let is_compact = x.strides() == [n, 1];
    let mut copy = kept(stream, if is_compact { 1 } else { m * n }, copy)?;
    if !is_compact {
        permute(stream, [0, 1], &x, &mut copy.part_mut(0, [m, n], [n, 1])?)?;
    }
    let x = if is_compact { x } else { copy.view().part(0, [m, n], [n, 1])? };
    // A row of few is in parts, of whose first elements the first are the row's.
    let parts = (BLOCKS / m).clamp(1, (n / PART.max(16 * k)).max(1));
    // Half of what a block holds is what it reads at once, eight elements a thread; `k` is at most a quarter.
    let threads = if k <= MOST / 2 { 128 } else { 256 };
    let (flip, len) = (order.flip::<T::Bits>(), (n / parts / (8 * threads)) as u32);
    let run = |is_placed,
               x: &TensorView<'_, T, 2>,
               places: &TensorView<'_, u32, 2>,
               values: &mut TensorViewMut<'_, T, 3>,
               indices: &mut TensorViewMut<'_, u32, 3>| {
        let set = set(&[("LEAST", T::LEAST), ("THREADS", threads), ("SIZE", 16 * threads)])
            .with("PLACED", ParamValue::Bool(is_placed));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        kernels::top_k::launch_with(config, stream, x, places, values, indices, flip, u64::MAX, len)
    };
    let [of_values, of_indices] = [values.strides(), indices.strides()].map(|[row, one]| [row, row, one]);
    let mut values = values.part_mut(0, [m, 1, k], of_values)?;
    let mut indices = indices.part_mut(0, [m, 1, k], of_indices)?;
    let none = none.view().part(0, [m, n], [0, 0])?;
    if parts == 1 {
        return run(false, &x, &none, &mut values, &mut indices);
    }
    let (shape, strides) = ([m, parts, k], [parts * k, k, 1]);
    let mut first = kept(stream, m * parts * k, of_parts)?;
    let mut places = kept(stream, m * parts * k, at_parts)?;
    run(false, &x, &none, &mut first.part_mut(0, shape, strides)?, &mut places.part_mut(0, shape, strides)?)?;
    let (shape, strides) = ([m, parts * k], [parts * k, 1]);
    let (first, places) = (first.view().part(0, shape, strides)?, places.view().part(0, shape, strides)?);
    run(true, &first, &places, &mut values, &mut indices)
}

/// `out`: each row of `x` in order, equal elements in their order in `x`. Asynchronous.
///
/// # Errors
/// Extents that disagree, modes before the last that are not one without gaps, rows of 2³⁰ elements or more, a device without memory for the
/// workspace, and those of a launch.
///
/// ```
/// use layout_kernels::orders::{Order, Workspace, sort};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[2.0f32, 7.0, -1.0, 0.5], [1, 4])?, device.zeros([1, 4])?);
/// sort(&device.stream(), Order::Ascending, &x, &mut out, &mut Workspace::default())?;
/// assert_eq!(out.download()?, [-1.0, 0.5, 2.0, 7.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn sort<T: Ordered, const R: usize>(
    stream: &Stream,
    order: Order,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    let (shape, x) = (x.shape(), rows("sort", "x", &x, x.shape())?);
    ordered(stream, order, &x, None, Some(rows_mut("sort", "out", &mut out, shape)?), None, workspace)
}

/// `out`: where the elements of each row of `x` are in its order: `x[.., out[.., j]]` is element `j` of the row that [`sort`] gives.
/// Asynchronous.
///
/// # Errors
/// As [`sort`].
///
/// ```
/// use layout_kernels::orders::{Order, Workspace, argsort};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[2, 7, -1, 7], [4])?, device.zeros([4])?);
/// argsort(&device.stream(), Order::Descending, &x, &mut out, &mut Workspace::default())?;
/// assert_eq!(out.download()?, [1, 3, 0, 2]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn argsort<T: Ordered, const R: usize>(
    stream: &Stream,
    order: Order,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<u32, R>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    let (shape, x) = (x.shape(), rows("argsort", "x", &x, x.shape())?);
    ordered(stream, order, &x, None, None, Some(rows_mut("argsort", "out", &mut out, shape)?), workspace)
}

/// `out` as [`sort`] of `x` gives it, and in `to` the numbers of `values`, each with its element. Asynchronous.
///
/// # Errors
/// As [`sort`].
///
/// ```
/// use layout_kernels::orders::{Order, Workspace, sort_pairs};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, values) = (device.upload(&[2u32, 1], [2])?, device.upload(&[20u32, 10], [2])?);
/// let (mut out, mut to) = (device.zeros([2])?, device.zeros([2])?);
/// sort_pairs(&device.stream(), Order::Ascending, &x, &values, &mut out, &mut to, &mut Workspace::default())?;
/// assert_eq!((out.download()?, to.download()?), (vec![1, 2], vec![10, 20]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn sort_pairs<T: Ordered, const R: usize>(
    stream: &Stream,
    order: Order,
    x: &impl TensorArg<T, R>,
    values: &impl TensorArg<u32, R>,
    out: &mut impl TensorArgMut<T, R>,
    to: &mut impl TensorArgMut<u32, R>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (x, values, mut out, mut to) = (x.view(), values.view(), out.view_mut(), to.view_mut());
    let (shape, x) = (x.shape(), rows("sort_pairs", "x", &x, x.shape())?);
    let values = rows("sort_pairs", "values", &values, shape)?;
    let out = rows_mut("sort_pairs", "out", &mut out, shape)?;
    let to = rows_mut("sort_pairs", "to", &mut to, shape)?;
    ordered(stream, order, &x, Some(values), Some(out), Some(to), workspace)
}

/// The elements of each row in order and their places, or what `values` has at these, as far as there is an output for them.
fn ordered<T: Ordered>(
    stream: &Stream,
    order: Order,
    x: &TensorView<'_, T, 2>,
    values: Option<TensorView<'_, u32, 2>>,
    out: Option<TensorViewMut<'_, T, 2>>,
    places: Option<TensorViewMut<'_, u32, 2>>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let [m, n] = x.shape();
    if m == 0 || n == 0 {
        return Ok(());
    }
    if n > SHORT || size_of::<T>() > 4 {
        return by_radix(stream, order, x, values, out, places, workspace);
    }
    let Workspace { keys: [none, _], places: [no_places, not_given], .. } = workspace;
    let (mut none, mut no_places) = (kept(stream, 1, none)?, kept(stream, 1, no_places)?);
    let not_given = kept(stream, 1, not_given)?;
    let mut out = out.unwrap_or(none.part_mut(0, [0, 0], [1, 1])?);
    let mut places = places.unwrap_or(no_places.part_mut(0, [0, 0], [1, 1])?);
    let set = set(&[("LEAST", T::LEAST), ("SIZE", n.next_power_of_two().clamp(256, SHORT))])
        .with("PLACED", ParamValue::Bool(values.is_some()));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let given = match values {
        Some(values) => values,
        None => not_given.view().part(0, [m, n], [0, 0])?,
    };
    let (flip, hole) = (order.flip::<T::Bits>(), T::Word::from_bits(u64::MAX));
    kernels::sort_short::launch_with(config, stream, x, &given, &mut out, &mut places, flip, hole)
}

/// [`ordered`] by a pass for each byte, from one of two places in the workspace to the other, at last to the outputs.
fn by_radix<T: Ordered>(
    stream: &Stream,
    order: Order,
    x: &TensorView<'_, T, 2>,
    values: Option<TensorView<'_, u32, 2>>,
    mut out: Option<TensorViewMut<'_, T, 2>>,
    mut places: Option<TensorViewMut<'_, u32, 2>>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (whole @ [m, n], flip, passes) = (x.shape(), order.flip::<T::Bits>(), size_of::<T>());
    // As many elements of a thread as stay in registers.
    let items = if passes > 4 { 8 } else { 12 };
    let (tiles, has_places) = (m * n.div_ceil(THREADS * items), places.is_some());
    let count = |is_used: bool| if is_used { m * n } else { 1 };
    let Workspace { keys: [a, b], places: [c, d], counts, state } = workspace;
    let (mut keys, mut next_keys) = (kept(stream, count(passes > 2), a)?, kept(stream, m * n, b)?);
    let mut own_places = kept(stream, count(has_places && passes > 2), c)?;
    let mut next_places = kept(stream, count(has_places), d)?;
    let mut counts = kept(stream, m * passes * 256, counts)?;
    let mut state = kept(stream, tiles * 256, state)?;
    counts.clear(stream)?;
    let of_type = set(&[("LEAST", T::LEAST)]);
    let config = LaunchConfig { set: Some(&of_type), ..LaunchConfig::default() };
    let mut all_counts = counts.part_mut(0, [m, passes * 256], [passes * 256, 1])?;
    kernels::radix_count::launch_with(config, stream, x, &mut all_counts, flip)?;
    let (lines, none) = ([n, 1], [0, 0]);
    for pass in 0..passes {
        state.clear(stream)?;
        let (is_first, is_last) = (pass == 0, pass + 1 == passes);
        let from =
            if is_first { x.part(0, whole, x.strides())? } else { keys.view().part(0, whole, lines)? };
        let (kind, given) = match &values {
            _ if !has_places => (0, own_places.view().part(0, none, lines)?),
            Some(values) if is_first => (2, values.part(0, whole, values.strides())?),
            None if is_first => (1, own_places.view().part(0, none, lines)?),
            _ => (2, own_places.view().part(0, whole, lines)?),
        };
        let mut to_keys = match &mut out {
            Some(out) if is_last => all_of(out)?,
            _ => next_keys.part_mut(0, if is_last { none } else { whole }, lines)?,
        };
        let mut to_places = match &mut places {
            Some(places) if is_last => all_of(places)?,
            _ => next_places.part_mut(0, if has_places { whole } else { none }, lines)?,
        };
        let of_digit = counts.view().part(pass * 256, [m, 256], [passes * 256, 1])?;
        let mut state = state.part_mut(0, [tiles, 256], [256, 1])?;
        let set = set(&[("LEAST", T::LEAST), ("ITEMS", items), ("PLACES", kind)]);
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        let (of_digit, shift) = (&of_digit, 8 * pass as u32);
        kernels::radix_pass::launch_with(
            config,
            stream,
            &from,
            &mut to_keys,
            &given,
            &mut to_places,
            of_digit,
            &mut state,
            flip,
            shift,
        )?;
        std::mem::swap(&mut keys, &mut next_keys);
        std::mem::swap(&mut own_places, &mut next_places);
    }
    Ok(())
}

/// The same once more.
fn all_of<'a, T: Element>(x: &'a mut TensorViewMut<'_, T, 2>) -> Result<TensorViewMut<'a, T, 2>, Error> {
    let (shape, strides) = (x.shape(), x.strides());
    x.part_mut(0, shape, strides)
}

/// A tensor as its rows.
fn rows<'a, T: Element, const R: usize>(
    of: &str,
    name: &str,
    x: &TensorView<'a, T, R>,
    wanted: [usize; R],
) -> Result<TensorView<'a, T, 2>, Error> {
    let Three { shape: [m, n, _], strides: [row, one, _] } = last(of, name, x.shape(), x.strides(), wanted)?;
    x.part(0, [m, n], [row, one])
}

/// One to be written as its rows.
fn rows_mut<'a, T: Element, const R: usize>(
    of: &str,
    name: &str,
    x: &'a mut TensorViewMut<'_, T, R>,
    wanted: [usize; R],
) -> Result<TensorViewMut<'a, T, 2>, Error> {
    let Three { shape: [m, n, _], strides: [row, one, _] } = last(of, name, x.shape(), x.strides(), wanted)?;
    x.part_mut(0, [m, n], [row, one])
}

/// A tensor around its last mode.
fn last<const R: usize>(
    of: &str,
    name: &str,
    shape: [usize; R],
    strides: [usize; R],
    wanted: [usize; R],
) -> Result<Three, Error> {
    const { assert!(R > 0, "there are rows where there is a mode") };
    let mut three = Three::new(of, name, R - 1, shape, strides, wanted)?;
    if three.shape[1] >= 1 << 30 {
        return Err(too_long(of, name, [R - 1, three.shape[1], (1 << 30) - 1], ("the longest row", name)));
    }
    if three.shape[0] == 1 {
        three.strides[0] = three.shape[1].max(1) * three.strides[1];
    }
    Ok(three)
}

/// An extent of a mode that is above the largest one.
fn too_long(of: &str, name: &str, [mode, found, most]: [usize; 3], (dim, other): (&str, &str)) -> Error {
    let (argument, dim) = (name.to_owned(), Some((dim.to_owned(), other.to_owned())));
    let error = BindError::Extent { argument, mode, found, expected: most as i64, dim };
    LaunchError::Arguments { kernel: of.to_owned(), error }.into()
}
