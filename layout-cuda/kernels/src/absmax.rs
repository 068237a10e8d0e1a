//! Numbers of eight bits with float32 scales of groups, both ways: e4m3, e5m2, i8.
//!
//! Law: a group's scale is its largest size over the type's greatest number (448, 57344, 127); a number is x over the scale, rounded to
//! float32, then to the nearest one of the type, of two the even one. So it is within half a step of what it was. A group of zeros has a
//! scale of 0; one with a NaN has a scale that is NaN, one with an infinity that infinity. Tensors are by rows without gaps. Nothing has run
//! where the arguments do not fit.

use crate::compact::{compact, compact_mut};
use crate::kernels::{absmax as kernels, block_scale::largest};
use crate::{Real, same};
use layout_cuda::{
    E4m3, E5m2, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorArgMut,
};

/// The types of eight bits.
pub trait Narrow: Element {}
impl Narrow for E4m3 {}
impl Narrow for E5m2 {}
impl Narrow for i8 {}

/// What has a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// The whole matrix.
    Tensor,
    /// A row.
    Row,
    /// 128 columns of a row.
    Columns,
    /// 128 columns of 128 rows.
    Block,
}

impl Group {
    fn extents(self, [m, n]: [usize; 2]) -> [usize; 2] {
        match self {
            Group::Tensor => [m.max(1), n.max(1)],
            Group::Row => [1, n.max(1)],
            Group::Columns => [1, 128],
            Group::Block => [128, 128],
        }
    }

    /// The extents of the scales of a matrix.
    ///
    /// ```
    /// use layout_kernels::absmax::Group;
    /// assert_eq!(Group::Columns.scales([3, 300]), [3, 3]);
    /// assert_eq!(Group::Tensor.scales([3, 300]), [1, 1]);
    /// ```
    pub fn scales(self, shape @ [m, n]: [usize; 2]) -> [usize; 2] {
        let [rows, columns] = self.extents(shape);
        match self {
            Group::Tensor => [1, 1],
            Group::Row => [m, 1],
            _ => [m.div_ceil(rows), n.div_ceil(columns)],
        }
    }

    fn fits(self, of: &str, shape: [usize; 2], out: [usize; 2], scales: [usize; 2]) -> Result<(), Error> {
        let wanted = self.scales(shape);
        for mode in 0..2 {
            same(of, "out", mode, out[mode], ("the extent", "x"), shape[mode])?;
            same(of, "scales", mode, scales[mode], ("the number of groups", "x"), wanted[mode])?;
        }
        Ok(())
    }
}

/// `out` and `scales`: the numbers of `x`. For sm_89 and later. Asynchronous.
///
/// # Errors
/// Extents that disagree, gaps, rows (of the whole matrix all elements) of 2³¹ or more, a device without memory for a workspace of four bytes,
/// and those of a launch.
///
/// ```
/// use layout_kernels::absmax::{Group, quantize};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[254.0f32, -3.0, 5.0, 1.0], [1, 4])?;
/// let (mut out, mut scales) = (device.zeros::<i8, 2>([1, 4])?, device.zeros([1, 1])?);
/// quantize(&device.stream(), Group::Row, &x, &mut out, &mut scales)?;
/// // Halves to the even number.
/// assert_eq!((out.download()?, scales.download()?), (vec![127, -2, 2, 0], vec![2.0]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn quantize<T: Real, U: Narrow>(
    stream: &Stream,
    group: Group,
    x: &impl TensorArg<T, 2>,
    out: &mut impl TensorArgMut<U, 2>,
    scales: &mut impl TensorArgMut<f32, 2>,
) -> Result<(), Error> {
    let (x, mut out, mut scales) = (x.view(), out.view_mut(), scales.view_mut());
    let shape @ [m, n] = x.shape();
    group.fits("quantize", shape, out.shape(), scales.shape())?;
    if m == 0 || n == 0 {
        let shape = scales.shape();
        return compact_mut("quantize", "scales", &mut scales, shape)?.clear(stream);
    }
    let is = |of: bool| ParamValue::Bool(of);
    let set = ParamSet::default().with("WHOLES", is(U::ELEM == Elem::I8));
    let set = match group {
        Group::Columns | Group::Block => set.with("SQUARE", is(group == Group::Block)),
        Group::Row | Group::Tensor => set.with("WHOLE", is(group == Group::Tensor)),
    };
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    match group {
        Group::Columns | Group::Block => {
            kernels::quantize_groups::launch_with(config, stream, &x, &mut out, &mut scales)
        }
        Group::Row => {
            let none = stream.zeros::<u32, 1>([0])?;
            kernels::quantize_rows::launch_with(config, stream, &x, &none, &mut out, &mut scales)
        }
        Group::Tensor => {
            // One row: the order of the elements in memory.
            let (all, mut to) =
                (compact("quantize", "x", &x, shape)?, compact_mut("quantize", "out", &mut out, shape)?);
            let (all, mut out) =
                (all.part(0, [1, m * n], [m * n, 1])?, to.part_mut(0, [1, m * n], [m * n, 1])?);
            let mut bits = stream.zeros::<u32, 1>([1])?;
            largest::launch(stream, &x, &mut bits)?;
            let x = all;
            kernels::quantize_rows::launch_with(config, stream, &x, &bits, &mut out, &mut scales)
        }
    }
}

/// `out`: the numbers of `x`, each times the scale of its group, rounded once. For sm_89 and later. Asynchronous.
///
/// # Errors
/// Extents that disagree, gaps, 2³² elements or more, and those of a launch.
///
/// ```
/// use layout_cuda::E4m3;
/// use layout_kernels::absmax::{Group, dequantize};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[E4m3::from_f32(448.0), E4m3::from_f32(-1.5)], [1, 2])?;
/// let (scales, mut out) = (device.upload(&[0.5f32], [1, 1])?, device.zeros::<f32, 2>([1, 2])?);
/// dequantize(&device.stream(), Group::Tensor, &x, &scales, &mut out)?;
/// assert_eq!(out.download()?, [224.0, -0.75]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn dequantize<T: Real, U: Narrow>(
    stream: &Stream,
    group: Group,
    x: &impl TensorArg<U, 2>,
    scales: &impl TensorArg<f32, 2>,
    out: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let (x, scales, mut out) = (x.view(), scales.view(), out.view_mut());
    let (shape, [rows, columns]) = (x.shape(), group.extents(x.shape()));
    group.fits("dequantize", shape, out.shape(), scales.shape())?;
    let most = |extent: usize| u32::try_from(extent).unwrap_or(u32::MAX);
    kernels::expand_groups::launch(stream, &x, &scales, &mut out, most(rows), most(columns))
}
