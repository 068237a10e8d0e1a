//! A function of one, two or three elements at each place of tensors of any rank, with broadcasting; rotary embedding.
//!
//! Law: elements are `f32`, `bf16` or `f16`, computed in float32 and rounded once. Strides are any. A tensor that is read may have an extent
//! of 1 where `out` has another one: its element is that of each place. A NaN stays one. Nothing has run where the arguments do not fit.
//!
//! Functions of one's own are kernels of one's own: these are ready ones.

use crate::kernels::elementwise as kernels;
use crate::modes::{Modes, layout, layout_mut};
use crate::{Real, same, set};
use layout_cuda::{Error, LaunchConfig, ParamSet, ParamValue, Stream, TensorArg, TensorArgMut};

/// A function of one element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unary {
    /// `x`, rounded to the type of `out`.
    Cast,
    /// `a x + b`, rounded once.
    Affine(f32, f32),
    /// eˣ
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
    /// `1 / (1 + e⁻ˣ)`
    Sigmoid,
    /// `x`, 0 where it is negative.
    Relu,
    /// Between two bounds.
    Clamp(f32, f32),
    /// `x sigmoid(x)`
    Silu,
    /// `x Φ(x)`, `Φ` the normal distribution's: within 2e-6 of it, relative.
    Gelu,
    /// `x (1 + tanh(√(2 / π) (x + 0.044715 x³))) / 2`
    GeluTanh,
}

impl Unary {
    /// The kernel's function, and its numbers.
    fn parts(self) -> (&'static str, f32, f32) {
        match self {
            Unary::Cast => ("identity", 0.0, 0.0),
            Unary::Affine(a, b) => ("affine", a, b),
            Unary::Exp => ("exp", 0.0, 0.0),
            Unary::Log => ("log", 0.0, 0.0),
            Unary::Sqrt => ("sqrt", 0.0, 0.0),
            Unary::Sigmoid => ("sigmoid", 0.0, 0.0),
            Unary::Relu => ("relu", 0.0, 0.0),
            Unary::Clamp(low, high) => ("clamp", low, high),
            Unary::Silu => ("silu", 0.0, 0.0),
            Unary::Gelu => ("gelu", 0.0, 0.0),
            Unary::GeluTanh => ("gelu_tanh", 0.0, 0.0),
        }
    }
}

/// A function of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `x + y`
    Add,
    /// `x - y`
    Sub,
    /// `x y`
    Mul,
    /// `x / y`
    Div,
    /// The larger; NaN where one is, and -0 is below 0.
    Maximum,
    /// The smaller, as the larger.
    Minimum,
    /// `silu(x) y`
    Swiglu,
}

impl Binary {
    /// The kernel's function.
    fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Maximum => "maximum",
            Binary::Minimum => "minimum",
            Binary::Swiglu => "swiglu",
        }
    }
}

fn function(name: &'static str) -> ParamSet {
    ParamSet::default().with("F", ParamValue::Function(name))
}

/// `out = f(x)`, each element rounded to the type of `out`. Asynchronous.
///
/// # Errors
/// Extents that disagree, more than four modes that do not follow one another without gaps, and those of a launch.
///
/// ```
/// use layout_cuda::bf16;
/// use layout_kernels::elementwise::{Unary, unary};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[-1.0f32, 0.0, 3.0], [3])?, device.zeros::<bf16, 1>([3])?);
/// unary(&device.stream(), Unary::Relu, &x, &mut out)?;
/// assert_eq!(out.download()?.map_to_f32(), [0.0, 0.0, 3.0]);
/// # trait Wide { fn map_to_f32(self) -> Vec<f32>; }
/// # impl Wide for Vec<bf16> { fn map_to_f32(self) -> Vec<f32> { self.into_iter().map(bf16::to_f32).collect() } }
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn unary<T: Real, U: Real, const R: usize>(
    stream: &Stream,
    f: Unary,
    x: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<U, R>,
) -> Result<(), Error> {
    let (name, a, b) = f.parts();
    let [shapes, strides] = [0, 1].map(|of| [layout_mut(out)[of], layout(x)[of]]);
    let (modes, x, mut out) = (Modes::new("unary", ["out", "x"], shapes, strides)?, x.view(), out.view_mut());
    let set = modes.set(&function(name));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    match modes.flat() {
        _ if modes.is_empty() => Ok(()),
        Some(n) => {
            let set = function(name);
            let config = LaunchConfig { set: Some(&set), ..config };
            kernels::unary::launch_with(
                config,
                stream,
                &x.part(0, [n], [1])?,
                &mut out.part_mut(0, [n], [1])?,
                a,
                b,
            )
        }
        None => {
            let (x, mut out) = (modes.read(1, &x)?, modes.write(&mut out)?);
            kernels::unary_strided::launch_with(config, stream, &x, &mut out, a, b)
        }
    }
}

/// `out = f(x, y)`. Asynchronous.
///
/// # Errors
/// As [`unary`].
///
/// ```
/// use layout_kernels::elementwise::{Binary, binary};
///
/// let device = layout_cuda::Device::simulator();
/// let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])?;
/// let of_columns = device.upload(&[10.0f32, 20.0, 30.0], [1, 3])?;
/// let mut out = device.zeros::<f32, 2>([2, 3])?;
/// binary(&device.stream(), Binary::Add, &x, &of_columns, &mut out)?;
/// assert_eq!(out.download()?, [11.0, 22.0, 33.0, 14.0, 25.0, 36.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn binary<T: Real, const R: usize>(
    stream: &Stream,
    f: Binary,
    x: &impl TensorArg<T, R>,
    y: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let [shapes, strides] = [0, 1].map(|of| [layout_mut(out)[of], layout(x)[of], layout(y)[of]]);
    let modes = Modes::new("binary", ["out", "x", "y"], shapes, strides)?;
    let (x, y, mut out, own) = (x.view(), y.view(), out.view_mut(), function(f.name()));
    match modes.flat() {
        _ if modes.is_empty() => Ok(()),
        Some(n) => {
            let config = LaunchConfig { set: Some(&own), ..LaunchConfig::default() };
            let (x, y) = (x.part(0, [n], [1])?, y.part(0, [n], [1])?);
            kernels::binary::launch_with(config, stream, &x, &y, &mut out.part_mut(0, [n], [1])?)
        }
        None => {
            let set = modes.set(&own);
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            let (x, y) = (modes.read(1, &x)?, modes.read(2, &y)?);
            kernels::binary_strided::launch_with(config, stream, &x, &y, &mut modes.write(&mut out)?)
        }
    }
}

/// `out`: `x` where the mask is true, else `y`, bit for bit. Asynchronous.
///
/// # Errors
/// As [`unary`].
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let mask = device.upload(&[true, false, true], [3])?;
/// let (x, y) = (device.upload(&[1.0f32, 2.0, 3.0], [3])?, device.upload(&[-1.0f32], [1])?);
/// let mut out = device.zeros([3])?;
/// layout_kernels::elementwise::choose(&device.stream(), &mask, &x, &y, &mut out)?;
/// assert_eq!(out.download()?, [1.0, -1.0, 3.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn choose<T: Real, const R: usize>(
    stream: &Stream,
    mask: &impl TensorArg<bool, R>,
    x: &impl TensorArg<T, R>,
    y: &impl TensorArg<T, R>,
    out: &mut impl TensorArgMut<T, R>,
) -> Result<(), Error> {
    let [shapes, strides] =
        [0, 1].map(|of| [layout_mut(out)[of], layout(mask)[of], layout(x)[of], layout(y)[of]]);
    let modes = Modes::new("choose", ["out", "mask", "x", "y"], shapes, strides)?;
    let (mask, x, y, mut out) = (mask.view(), x.view(), y.view(), out.view_mut());
    match modes.flat() {
        _ if modes.is_empty() => Ok(()),
        Some(n) => {
            let (mask, x, y) = (mask.part(0, [n], [1])?, x.part(0, [n], [1])?, y.part(0, [n], [1])?);
            kernels::choose::launch(stream, &mask, &x, &y, &mut out.part_mut(0, [n], [1])?)
        }
        None => {
            let set = modes.set(&ParamSet::default());
            let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
            let (mask, x, y) = (modes.read(1, &mask)?, modes.read(2, &x)?, modes.read(3, &y)?);
            kernels::choose_strided::launch_with(config, stream, &mask, &x, &y, &mut modes.write(&mut out)?)
        }
    }
}

/// Which elements of a head [`rope`] turns together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairs {
    /// `x[i]` and `x[i + D / 2]`.
    Halves,
    /// `x[2 i]` and `x[2 i + 1]`.
    Adjacent,
}

/// Rotary embedding: pair `i` of each head of token `t` is turned by the angle whose cosine and sine are `cos[t, i]` and `sin[t, i]`. The
/// modes of `x` and `out` are token, head, element, without gaps. Asynchronous.
///
/// # Errors
/// Shapes that disagree, heads of an odd number of elements, and those of a launch.
///
/// ```
/// use layout_kernels::elementwise::{Pairs, rope};
///
/// let device = layout_cuda::Device::simulator();
/// let (x, mut out) = (device.upload(&[1.0f32, 2.0, 3.0, 4.0], [1, 1, 4])?, device.zeros([1, 1, 4])?);
/// let (cos, sin) = (device.upload(&[0.0f32; 2], [1, 2])?, device.upload(&[1.0f32; 2], [1, 2])?);
/// rope(&device.stream(), Pairs::Halves, &x, &cos, &sin, &mut out)?;
/// assert_eq!(out.download()?, [-3.0, -4.0, 1.0, 2.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn rope<T: Real>(
    stream: &Stream,
    pairs: Pairs,
    x: &impl TensorArg<T, 3>,
    cos: &impl TensorArg<f32, 2>,
    sin: &impl TensorArg<f32, 2>,
    out: &mut impl TensorArgMut<T, 3>,
) -> Result<(), Error> {
    let [_, _, d] = x.view().shape();
    same("rope", "cos", 1, cos.view().shape()[1], ("D / 2", "x"), d.div_ceil(2))?;
    let set = set(&[("V", if d.is_multiple_of(16) { 8 } else { 1 })]);
    let set = set.with("ADJACENT", ParamValue::Bool(pairs == Pairs::Adjacent));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::rope::launch_with(config, stream, x, cos, sin, out)
}
