//! Moves: rows and elements by index, sums by index, tensors permuted, padded, rolled, flipped and joined.
//!
//! Law: elements are of any type and keep their bits where it stays; another type is Rust's `as`. Indices are `u32`: what one names beyond
//! the tensor is 0 where it is read, and left out where it is written. Nothing has run where the arguments do not fit.

use crate::kernels::movement as kernels;
use crate::three::Three;
use crate::{same, separate, set};
use layout_cuda::{
    Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorArgMut, TensorView,
    TensorViewMut,
};

/// `out[i] = x[index[i]]`: rows of a table, such as an embedding. Tables are by rows without gaps. Asynchronous.
///
/// # Errors
/// Shapes that disagree, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let table = device.upload(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
/// let (index, mut out) = (device.upload(&[1u32, 0, 9], [3])?, device.zeros([3, 2])?);
/// layout_kernels::movement::select_rows(&device.stream(), &table, &index, &mut out)?;
/// assert_eq!(out.download()?, [3.0, 4.0, 1.0, 2.0, 0.0, 0.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn select_rows<T: Element>(
    stream: &Stream,
    x: &impl TensorArg<T, 2>,
    index: &impl TensorArg<u32, 1>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let of_vector = 16 / size_of::<T>();
    let is_whole = x.view().shape()[1].is_multiple_of(of_vector);
    let set = set(&[("V", if is_whole { of_vector } else { 1 })]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::select_rows::launch_with(config, stream, x, index, out)
}

/// `out[.., i, ..] = x[.., index[.., i, ..], ..]` in mode `axis`; the other modes of the three have the same extents. Asynchronous.
///
/// # Errors
/// No such mode, extents that disagree, modes before or behind `axis` that are not one without gaps, more than 2³² - 1024 elements, and
/// those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0], [2, 2])?;
/// let (index, mut out) = (device.upload(&[1u32, 0], [2, 1])?, device.zeros([2, 1])?);
/// layout_kernels::movement::gather(&device.stream(), 1, &x, &index, &mut out)?;
/// assert_eq!(out.download()?, [2.0, 3.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn gather<T: Element, const R: usize>(
    stream: &Stream,
    axis: usize,
    x: &impl TensorArg<T, R>,
    index: &impl TensorArg<u32, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let (x, index, mut out) = (x.view(), index.view(), out.view_mut());
    let [of_x, of_index, of_out] = around(
        "gather",
        axis,
        [
            ("x", x.shape(), x.strides()),
            ("index", index.shape(), index.strides()),
            ("out", out.shape(), out.strides()),
        ],
        0,
    )?;
    let (x, index) = (x.part(0, of_x.shape, of_x.strides)?, index.part(0, of_index.shape, of_index.strides)?);
    kernels::gather::launch(stream, &x, &index, &mut out.part_mut(0, of_out.shape, of_out.strides)?)
}

/// Adds `x[.., i, ..]` to `out[.., index[.., i, ..], ..]` in mode `axis`, as [`gather`]. Sums are float32 in an order that is open, so that
/// the last bits may differ from run to run; subnormal numbers are zero. Asynchronous.
///
/// # Errors
/// As [`gather`].
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
/// let (index, mut out) = (device.upload(&[1u32, 0, 1], [3])?, device.zeros([2])?);
/// layout_kernels::movement::scatter_add(&device.stream(), 0, &x, &index, &mut out)?;
/// assert_eq!(out.download()?, [2.0, 4.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn scatter_add<T: crate::Real, const R: usize>(
    stream: &Stream,
    axis: usize,
    x: &impl TensorArg<T, R>,
    index: &impl TensorArg<u32, R>,
    out: &mut impl TensorArgMut<f32, R>,
) -> Result<(), Error> {
    let (x, index, mut out) = (x.view(), index.view(), out.view_mut());
    let [of_x, of_index, of_out] = around(
        "scatter_add",
        axis,
        [
            ("x", x.shape(), x.strides()),
            ("index", index.shape(), index.strides()),
            ("out", out.shape(), out.strides()),
        ],
        2,
    )?;
    let (x, index) = (x.part(0, of_x.shape, of_x.strides)?, index.part(0, of_index.shape, of_index.strides)?);
    kernels::scatter_add::launch(stream, &x, &index, &mut out.part_mut(0, of_out.shape, of_out.strides)?)
}

/// Three tensors around a mode, of which the one with this number may have another extent in it.
fn around<const R: usize>(
    of: &str,
    axis: usize,
    tensors: [(&str, [usize; R], [usize; R]); 3],
    free: usize,
) -> Result<[Three; 3], Error> {
    let mut found = [Three { shape: [0; 3], strides: [0; 3] }; 3];
    for (number, (name, shape, strides)) in tensors.into_iter().enumerate() {
        let mut wanted = tensors[1].1;
        if let (true, Some(extent)) = (number == free, wanted.get_mut(axis)) {
            *extent = shape[axis];
        }
        found[number] = Three::new(of, name, axis, shape, strides, wanted)?;
    }
    Ok(found)
}

/// How each mode of a move finds its elements: `x[first + step c]` for coordinate `c`, with `wraps` around the end.
struct Way<const R: usize> {
    first: [isize; R],
    step: [isize; R],
    wraps: bool,
}

fn move_by<T: Element, U: Element, const R: usize>(
    stream: &Stream,
    way: &Way<R>,
    value: U,
    x: &TensorView<'_, T, R>,
    out: &mut TensorViewMut<'_, U, R>,
) -> Result<(), Error> {
    const { assert!(R <= 4, "at most four modes are moved") };
    fn four<V: Copy, const R: usize>(of: [V; R], missing: V) -> [V; 4] {
        std::array::from_fn(|mode| if mode + R < 4 { missing } else { of[mode + R - 4] })
    }
    let x = x.part(0, four(x.shape(), 1), four(x.strides(), 0))?;
    let (shape, strides) = (four(out.shape(), 1), four(out.strides(), 0));
    let (first, step) = (four(way.first, 0), four(way.step, 1));
    let set = ParamSet::default().with("WRAPS", ParamValue::Bool(way.wraps));
    let has_rows = T::ELEM == U::ELEM
        && (step[3] == 1 || !way.wraps)
        && shape[3] > 1
        && strides[3] == 1
        && x.strides()[3] == 1;
    let mut out = out.part_mut(0, shape, strides)?;
    if has_rows {
        let is_reversed = step[3] == -1;
        let set = set
            .with("SHIFTED", ParamValue::Bool(way.wraps || is_reversed || first[3] != 0))
            .with("REVERSED", ParamValue::Bool(is_reversed));
        let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
        return kernels::moved_rows::launch_with(
            config, stream, &x, &mut out, value, first[0], first[1], first[2], first[3], step[0], step[1],
            step[2],
        );
    }
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::moved::launch_with(
        config, stream, &x, &mut out, value, first[0], first[1], first[2], first[3], step[0], step[1],
        step[2], step[3],
    )
}

/// The same extents.
fn as_large<const R: usize>(of: &str, x: [usize; R], out: [usize; R]) -> Result<(), Error> {
    (0..R).try_for_each(|mode| same(of, "out", mode, out[mode], ("the extent", "x"), x[mode]))
}

/// `out`: `x` with its modes in another order, mode `m` of `out` being mode `order[m]` of `x`; of up to four modes, in any type.
/// [`transpose`](crate::memory::transpose) of a matrix goes by vectors. Asynchronous.
///
/// # Errors
/// An order that does not have each mode once, extents that disagree, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// use layout_cuda::f16;
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [1, 2, 3])?;
/// let mut out = device.zeros::<f16, 3>([3, 1, 2])?;
/// layout_kernels::movement::permute(&device.stream(), [2, 0, 1], &x, &mut out)?;
/// assert_eq!(out.download()?[1].to_f32(), 4.0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn permute<T: Element, U: Element, const R: usize>(
    stream: &Stream,
    order: [usize; R],
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<U, R>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    if (0..R).any(|mode| !order.contains(&mode)) {
        let condition = format!("order has each of the {R} modes of `x` once");
        return crate::refused("permute", &condition, format!("{order:?}"));
    }
    let (shape, strides) = (order.map(|mode| x.shape()[mode]), order.map(|mode| x.strides()[mode]));
    as_large("permute", shape, out.shape())?;
    let way = Way { first: [0; R], step: [1; R], wraps: false };
    move_by(stream, &way, U::from_bits(0), &x.part(0, shape, strides)?, &mut out)
}

/// `out`: `x` from the coordinates `before` on, and `value` around it. Asynchronous.
///
/// # Errors
/// An `out` that `x` reaches beyond, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0], [2])?, device.zeros([5])?);
/// layout_kernels::movement::pad(&device.stream(), [1], -1.0, &x, &mut out)?;
/// assert_eq!(out.download()?, [-1.0, 1.0, 2.0, -1.0, -1.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn pad<T: Element, const R: usize>(
    stream: &Stream,
    before: [usize; R],
    value: T,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    for (mode, (before, own)) in before.iter().zip(x.shape()).enumerate() {
        let end = before.saturating_add(own);
        same("pad", "out", mode, out.shape()[mode].min(end), ("the end", "x"), end)?;
    }
    let way = Way { first: before.map(|before| -(before as isize)), step: [1; R], wraps: false };
    move_by(stream, &way, value, &x, &mut out)
}

/// `out`: `x` moved on by so many places in each mode, around its end. Asynchronous.
///
/// # Errors
/// Extents that disagree, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1, 2, 3, 4], [4])?, device.zeros([4])?);
/// layout_kernels::movement::roll(&device.stream(), [-1], &x, &mut out)?;
/// assert_eq!(out.download()?, [2, 3, 4, 1]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn roll<T: Element, const R: usize>(
    stream: &Stream,
    shifts: [isize; R],
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    as_large("roll", x.shape(), out.shape())?;
    let first = |mode: usize| {
        let extent = x.shape()[mode].max(1) as isize;
        (extent - shifts[mode].rem_euclid(extent)) % extent
    };
    let way = Way { first: std::array::from_fn(first), step: [1; R], wraps: true };
    move_by(stream, &way, T::from_bits(0), &x, &mut out)
}

/// `out`: `x` backwards in the modes that are said. Asynchronous.
///
/// # Errors
/// As [`roll`].
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1, 2, 3, 4], [2, 2])?, device.zeros([2, 2])?);
/// layout_kernels::movement::flip(&device.stream(), [false, true], &x, &mut out)?;
/// assert_eq!(out.download()?, [2, 1, 4, 3]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn flip<T: Element, const R: usize>(
    stream: &Stream,
    modes: [bool; R],
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let (x, mut out) = (x.view(), out.view_mut());
    as_large("flip", x.shape(), out.shape())?;
    let first = |mode: usize| if modes[mode] { x.shape()[mode] as isize - 1 } else { 0 };
    let step = modes.map(|is_flipped| if is_flipped { -1 } else { 1 });
    move_by(
        stream,
        &Way { first: std::array::from_fn(first), step, wraps: false },
        T::from_bits(0),
        &x,
        &mut out,
    )
}

/// `out`: the parts one behind the other in mode `axis`; a launch for each. Asynchronous.
///
/// # Errors
/// No such mode, extents that disagree, more than 2³² - 1024 elements, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (a, b) = (device.upload(&[1, 2], [2, 1])?, device.upload(&[3, 4, 5, 6], [2, 2])?);
/// let mut out = device.zeros([2, 3])?;
/// layout_kernels::movement::concat(&device.stream(), 1, &[a.view(), b.view()], &mut out)?;
/// assert_eq!(out.download()?, [1, 3, 4, 2, 5, 6]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn concat<T: Element, const R: usize>(
    stream: &Stream,
    axis: usize,
    parts: &[TensorView<'_, T, R>],
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let mut out = out.view_mut();
    let (mut shape, strides) = (out.shape(), out.strides());
    crate::is_mode("concat", "out", axis, R)?;
    let whole = shape[axis];
    for part in parts {
        shape[axis] = part.shape()[axis];
        as_large("concat", shape, part.shape())?;
    }
    let sum = parts.iter().map(|part| part.shape()[axis]).sum();
    same("concat", "out", axis, whole, ("the sum of extents", "parts"), sum)?;
    separate("concat", "out", &out)?;
    let (way, mut first) = (Way { first: [0; R], step: [1; R], wraps: false }, 0);
    for part in parts.iter().filter(|part| !part.shape().contains(&0)) {
        let mut to = out.part_mut(first * strides[axis], part.shape(), strides)?;
        move_by(stream, &way, T::from_bits(0), part, &mut to)?;
        first += part.shape()[axis];
    }
    Ok(())
}
