//! Small matrices by the thousand: factors by LU, Cholesky and QR, triangular systems, systems of equations; of up to 64 rows, `f32` and `f64`.
//!
//! Law: a batch is the first mode; sums are in the type of the elements. Nothing has run where the arguments do not fit.

use crate::kernels::linear as kernels;
use crate::{kept, same, set};
use layout_cuda::{
    Definition, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg,
    TensorArgMut, TensorView, TensorViewMut,
};

/// The most rows.
const MOST: usize = 64;

/// The types of the matrices here.
pub trait Scalar: Element {}
impl Scalar for f32 {}
impl Scalar for f64 {}

/// What of a matrix is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// On and below the diagonal.
    Lower,
    /// Below the diagonal, which is as if it were 1.
    UnitLower,
    /// On and above the diagonal.
    Upper,
    /// Above the diagonal, which is as if it were 1.
    UnitUpper,
}

/// Rows of a square matrix, up to [`MOST`], as the next power of two that has a kernel.
fn rows(of: &str, shape: [usize; 3]) -> Result<usize, Error> {
    same(of, "a", 2, shape[2], ("the number of rows", "a"), shape[1])?;
    same(of, "a", 1, shape[1], ("the nearest number of rows", "a"), shape[1].min(MOST))?;
    Ok(shape[1].next_power_of_two().max(8))
}

/// The sets of middle sizes and of float64.
#[doc(hidden)]
pub fn picked() -> Vec<(&'static Definition, ParamSet)> {
    let sets = [(16, Elem::F32), (32, Elem::F32), (32, Elem::F64), (64, Elem::F64)]
        .map(|(n, elem)| set(&[("N", n)]).with("T", ParamValue::Type(elem)));
    let of = |set: ParamSet| {
        let wide = set.clone().with("WIDE", ParamValue::Int(64));
        let triangular = (&kernels::triangular::DEFINITION, wide);
        let qr = (&kernels::qr::DEFINITION, set.clone());
        [(&kernels::lu::DEFINITION, set.clone()), (&kernels::cholesky::DEFINITION, set), triangular, qr]
    };
    sets.into_iter().flat_map(of).collect()
}

/// Factors with partial pivoting: in `out[m]` L below the diagonal, whose own diagonal is 1, and U elsewhere; row `i` of L U is row
/// `rows[m, i]` of `a[m]`. Asynchronous.
///
/// A singular matrix has a zero on the diagonal of U.
///
/// # Errors
/// More than 64 rows, matrices that are not square, extents that disagree, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let a = device.upload(&[1.0f32, 4.0, 2.0, 6.0], [1, 2, 2])?;
/// let (mut out, mut rows) = (device.zeros([1, 2, 2])?, device.zeros([1, 2])?);
/// layout_kernels::linear::lu(&device.stream(), &a, &mut out, &mut rows)?;
/// assert_eq!((out.download()?, rows.download()?), (vec![2.0, 6.0, 0.5, 1.0], vec![1, 0]));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn lu<T: Scalar>(
    stream: &Stream,
    a: &impl TensorArg<T, 3>,
    out: &mut impl TensorArgMut<T, 3>,
    rows_of: &mut impl TensorArgMut<u32, 2>,
) -> Result<(), Error> {
    let a = a.view();
    let set = set(&[("N", rows("lu", a.shape())?)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::lu::launch_with(config, stream, &a, out, rows_of)
}

/// `out[m]`: the lower triangle L with `a[m]` = L Lᵀ, zeros above it; the lower triangle of `a` is read. Asynchronous.
///
/// A matrix that is not positive definite gives NaN from the column on where that shows.
///
/// # Errors
/// More than 64 rows, matrices that are not square, extents that disagree, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let (a, mut out) = (device.upload(&[4.0f32, 0.0, 2.0, 10.0], [1, 2, 2])?, device.zeros([1, 2, 2])?);
/// layout_kernels::linear::cholesky(&device.stream(), &a, &mut out)?;
/// assert_eq!(out.download()?, [2.0, 0.0, 1.0, 3.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn cholesky<T: Scalar>(
    stream: &Stream,
    a: &impl TensorArg<T, 3>,
    out: &mut impl TensorArgMut<T, 3>,
) -> Result<(), Error> {
    let a = a.view();
    let set = set(&[("N", rows("cholesky", a.shape())?)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::cholesky::launch_with(config, stream, &a, out)
}

/// `q[m]` and `r[m]` with `a[m] = q[m] r[m]` by Householder's reflections: Q is orthogonal, R is 0 below its diagonal, whose numbers may have
/// either sign. Strides of `a` may be any. Asynchronous.
///
/// Q R is within some units in the last place of `a`, relative to its columns, and Q as near to an orthogonal matrix. A singular matrix has a 0, or
/// nearly, on the diagonal of R; a NaN or an infinity gives NaN from its column on.
///
/// # Errors
/// More than 64 rows, matrices that are not square, extents that disagree, gaps in `q` or `r`, and those of a launch.
///
/// ```
/// let device = layout_cuda::Device::simulator();
/// let a = device.upload(&[0.0f32, 2.0, 4.0, 3.0], [1, 2, 2])?;
/// let (mut q, mut r) = (device.zeros([1, 2, 2])?, device.zeros([1, 2, 2])?);
/// layout_kernels::linear::qr(&device.stream(), &a, &mut q, &mut r)?;
/// assert_eq!(q.download()?, [0.0, 1.0, -1.0, 0.0]);
/// assert_eq!(r.download()?, [-4.0, -3.0, 0.0, 2.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn qr<T: Scalar>(
    stream: &Stream,
    a: &impl TensorArg<T, 3>,
    q: &mut impl TensorArgMut<T, 3>,
    r: &mut impl TensorArgMut<T, 3>,
) -> Result<(), Error> {
    let a = a.view();
    let set = set(&[("N", rows("qr", a.shape())?)]);
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::qr::launch_with(config, stream, &a, q, r)
}

/// `x[m]` with `a[m] x[m] = b[m]`, of `a` one triangle; a view with its last strides exchanged is the transpose. Asynchronous.
///
/// # Errors
/// More than 64 rows, matrices that are not square, extents that disagree, a device without memory, and those of a launch.
///
/// ```
/// use layout_kernels::linear::{Triangle, solve_triangular};
///
/// let device = layout_cuda::Device::simulator();
/// let (a, b) = (device.upload(&[2.0f32, 0.0, 1.0, 3.0], [1, 2, 2])?, device.upload(&[4.0f32, 8.0], [1, 2, 1])?);
/// let mut x = device.zeros([1, 2, 1])?;
/// solve_triangular(&device.stream(), Triangle::Lower, &a, &b, &mut x)?;
/// assert_eq!(x.download()?, [2.0, 2.0]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn solve_triangular<T: Scalar>(
    stream: &Stream,
    triangle: Triangle,
    a: &impl TensorArg<T, 3>,
    b: &impl TensorArg<T, 3>,
    x: &mut impl TensorArgMut<T, 3>,
) -> Result<(), Error> {
    let a = a.view();
    let none = stream.zeros::<u32, 2>([0, a.shape()[1]])?;
    solve(stream, triangle, &a, &b.view(), &none.view(), &mut x.view_mut())
}

/// What [`lu_solve`] has between its launches; kept from call to call.
#[derive(Debug)]
pub struct Workspace<T: Scalar>(Option<Tensor<T, 1>>);

impl<T: Scalar> Default for Workspace<T> {
    fn default() -> Self {
        Workspace(None)
    }
}

/// `x[m]` with `a[m] x[m] = b[m]`, where `factors` and `rows` are what [`lu`] gave of `a`; of columns of ones and zeros the inverse.
/// Asynchronous.
///
/// # Errors
/// More than 64 rows, extents that disagree, a device without memory for the workspace, and those of a launch.
///
/// ```
/// use layout_kernels::linear::{Workspace, lu, lu_solve};
///
/// let device = layout_cuda::Device::simulator();
/// let a = device.upload(&[1.0f32, 4.0, 2.0, 6.0], [1, 2, 2])?;
/// let (mut factors, mut rows) = (device.zeros([1, 2, 2])?, device.zeros([1, 2])?);
/// lu(&device.stream(), &a, &mut factors, &mut rows)?;
/// let (ones, mut inverse) = (device.upload(&[1.0f32, 0.0, 0.0, 1.0], [1, 2, 2])?, device.zeros([1, 2, 2])?);
/// lu_solve(&device.stream(), &factors, &rows, &ones, &mut inverse, &mut Workspace::default())?;
/// assert_eq!(inverse.download()?, [-3.0, 2.0, 1.0, -0.5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn lu_solve<T: Scalar>(
    stream: &Stream,
    factors: &impl TensorArg<T, 3>,
    rows: &impl TensorArg<u32, 2>,
    b: &impl TensorArg<T, 3>,
    x: &mut impl TensorArgMut<T, 3>,
    workspace: &mut Workspace<T>,
) -> Result<(), Error> {
    let (factors, rows, b) = (factors.view(), rows.view(), b.view());
    let [m, k, r] = b.shape();
    let mut between = kept(stream, m * k * r, &mut workspace.0)?;
    let mut between = between.part_mut(0, [m, k, r], [k * r, r, 1])?;
    same("lu_solve", "rows", 0, rows.shape()[0], ("the number of matrices", "factors"), factors.shape()[0])?;
    solve(stream, Triangle::UnitLower, &factors, &b, &rows, &mut between)?;
    let none = rows.part(0, [0, k], [k, 1])?;
    solve(stream, Triangle::Upper, &factors, &between.view(), &none, &mut x.view_mut())
}

fn solve<T: Scalar>(
    stream: &Stream,
    triangle: Triangle,
    a: &TensorView<'_, T, 3>,
    b: &TensorView<'_, T, 3>,
    rows_of: &TensorView<'_, u32, 2>,
    x: &mut TensorViewMut<'_, T, 3>,
) -> Result<(), Error> {
    let is = |of: &[Triangle]| ParamValue::Bool(of.contains(&triangle));
    let n = rows("solve_triangular", a.shape())?;
    // Several matrices of few right sides are a block's, as far as they fit 32 KiB.
    let least = (64 * n * n * size_of::<T>()).div_ceil(1 << 15).next_power_of_two().clamp(8, 64);
    let wide = b.shape()[2].next_power_of_two().clamp(least, 64);
    let set = set(&[("N", n), ("WIDE", wide)])
        .with("UPPER", is(&[Triangle::Upper, Triangle::UnitUpper]))
        .with("UNIT", is(&[Triangle::UnitLower, Triangle::UnitUpper]))
        .with("MOVED", ParamValue::Bool(rows_of.shape()[0] > 0));
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    kernels::triangular::launch_with(config, stream, a, b, rows_of, x)
}
