//! `C = A B` on Hopper's matrix units, of any shape: where the copy engine cannot address a matrix, its rows are moved.
//!
//! Law: the same product as the kernels give; a [`Workspace`] decides only where the operands lie while they are read.

use crate::kernels::gemm::{gemm, gemm_by_columns, gemm_swapped};
use crate::kernels::{gemm_pair, gemm_split, sgemm_fed, turn};
use layout_core::kernel::BindError;
use layout_cuda::{
    Definition, Element, Error, LaunchConfig, LaunchError, ParamSet, ParamValue, Stream, Tensor, TensorView,
    TensorViewMut,
};
use workspace::{
    LINE_BYTES, Matrix, ROW_BYTES, columns_mut, corner_mut, operand, result, whole_rows, with, written,
};

mod workspace;

pub use workspace::Workspace;

/// The multiprocessors that the kernels are written for.
const SMS: usize = 132;

/// `c = a b` of 16-bit floats. Of each operand either mode is contiguous: it lies by rows or by columns. C lies by rows.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_cuda::{Device, LaunchConfig, bf16};
/// use layout_examples::gemm::{Workspace, gemm};
///
/// let device = Device::simulator();
/// let stream = device.stream();
/// let values = |count: usize| (0..count).map(|i| bf16::from_f32((i % 5) as f32)).collect::<Vec<_>>();
/// let a = device.upload(&values(15), [3, 5])?;
/// // The columns of B one after another: 0 1 2 3 4 each.
/// let b = device.upload_strided(&values(35), [5, 7], [1, 5])?;
/// let mut c = device.zeros([3, 7])?;
/// gemm(&stream, LaunchConfig::default(), &mut Workspace::new(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?[0], bf16::from_f32(30.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn gemm<T: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<T, T>,
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tensor<T, 2>,
) -> Result<(), Error> {
    let [m, n] = c.shape();
    agree("gemm", b, 1, n)?;
    let a = operand(stream, a, a.shape(), &mut workspace.a)?;
    let b = operand(stream, b, b.shape(), &mut workspace.b)?;
    let modes = modes(&a, &b);
    let whole = if config.set.is_some() { n } else { columns_of_whole_tiles([m, n]) };
    for range in [0..whole, whole..n] {
        if !range.is_empty() {
            let (b, mut c) = (b.columns(range.clone())?, columns_mut(c, m, range)?);
            by_shape(stream, config, modes, &a.view()?, &b, &mut c)?;
        }
    }
    Ok(())
}

/// What no kernel can see, since it is given parts of the matrices: the mode of `b` has as many columns as `c`.
fn agree<T: Element>(kernel: &str, b: &Tensor<T, 2>, mode: usize, columns: usize) -> Result<(), Error> {
    let found = b.shape()[mode];
    if found == columns {
        return Ok(());
    }
    let dim = Some(("N".to_owned(), "c".to_owned()));
    let expected = i64::try_from(columns).unwrap_or(i64::MAX);
    let error = BindError::Extent { argument: "b".to_owned(), mode, found, expected, dim };
    Err(LaunchError::Arguments { kernel: kernel.to_owned(), error }.into())
}

/// How the operands lie, as the kernels' parameters say it.
type Modes = [(&'static str, ParamValue); 2];

fn modes<T: Element>(a: &Matrix<'_, T>, b: &Matrix<'_, T>) -> Modes {
    [("A_MODE", ParamValue::Int(a.mode() as i64)), ("B_MODE", ParamValue::Int(b.mode() as i64))]
}

/// The product of matrices that the copy engine can address, by the kernel and the tiles that are for its shape. As measured
/// on an H200: where C has few tiles smaller ones win, down to those of 64 by 64, and of very few and many blocks of k
/// clusters that share each.
fn by_shape<T: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    modes: Modes,
    a: &TensorView<'_, T, 2>,
    b: &TensorView<'_, T, 2>,
    c: &mut TensorViewMut<'_, T, 2>,
) -> Result<(), Error> {
    let ([m, n], [k, _], [pitch, _]) = (c.shape(), b.shape(), c.strides());
    let engine = pitch % (ROW_BYTES / size_of::<T>()) == 0 && n % (ROW_BYTES / size_of::<T>()) == 0;
    let mut changes = modes.to_vec();
    changes.push(("DIRECT", ParamValue::Bool(!engine)));
    let pairs = 2 * m.div_ceil(128) * n.div_ceil(64);
    if config.set.is_none() && 2 * pairs <= SMS && k >= 2048 && n > 64 {
        let set = with::<T, T>(&self::gemm_split::DEFINITION, &modes);
        return gemm_split::launch_with(LaunchConfig { set: set.as_ref(), ..config }, stream, a, b, c);
    }
    if config.set.is_none() && pairs <= SMS {
        let set = with::<T, T>(&self::gemm_pair::DEFINITION, &modes);
        return gemm_pair::launch_with(LaunchConfig { set: set.as_ref(), ..config }, stream, a, b, c);
    }
    let tiles = |columns: usize| m.div_ceil(128) * n.div_ceil(columns);
    let number = |name, value| (name, ParamValue::Int(value));
    match config.set {
        Some(_) => {}
        None if tiles(64) <= SMS => {
            changes.extend([number("BN", 64), number("STAGES", 8), number("SLABS", 1)]);
        }
        None if tiles(128) <= SMS => changes.extend([number("BN", 128), number("STAGES", 6)]),
        None => {}
    }
    let set = changed::<T>(config.set, &self::gemm::DEFINITION, &changes);
    self::gemm::launch_with(LaunchConfig { set: set.as_ref(), ..config }, stream, a, b, c)
}

/// The set that was asked for, or the kernel's own, with these values.
fn changed<T: Element>(
    asked: Option<&ParamSet>,
    definition: &Definition,
    changes: &[(&str, ParamValue)],
) -> Option<ParamSet> {
    match asked {
        Some(set) => Some(changes.iter().fold(set.clone(), |set, (name, value)| set.with(name, *value))),
        None => with::<T, T>(definition, changes),
    }
}

/// The columns of C that are computed first; those after by themselves, where they are few and their tiles of 128 by 256
/// would only begin another wave.
fn columns_of_whole_tiles([m, n]: [usize; 2]) -> usize {
    let waves = |columns: usize| (m.div_ceil(128) * columns.div_ceil(256)).div_ceil(SMS);
    let rest = n % 256;
    if rest <= 64 && waves(n) > waves(n - rest) { n - rest } else { n }
}

/// As [`gemm()`], by clusters that share each tile.
///
/// # Errors
/// Those of a launch.
pub fn gemm_split<T: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<T, T>,
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tensor<T, 2>,
) -> Result<(), Error> {
    let a = operand(stream, a, a.shape(), &mut workspace.a)?;
    let b = operand(stream, b, b.shape(), &mut workspace.b)?;
    let set = changed::<T>(config.set, &self::gemm_split::DEFINITION, &modes(&a, &b));
    let config = LaunchConfig { set: set.as_ref(), ..config };
    self::gemm_split::launch_with(config, stream, &a.view()?, &b.view()?, c)
}

/// As [`gemm()`], by pairs of blocks with tiles of 64 by 64.
///
/// # Errors
/// Those of a launch.
pub fn gemm_pair<T: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<T, T>,
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tensor<T, 2>,
) -> Result<(), Error> {
    let a = operand(stream, a, a.shape(), &mut workspace.a)?;
    let b = operand(stream, b, b.shape(), &mut workspace.b)?;
    let set = changed::<T>(config.set, &self::gemm_pair::DEFINITION, &modes(&a, &b));
    let config = LaunchConfig { set: set.as_ref(), ..config };
    self::gemm_pair::launch_with(config, stream, &a.view()?, &b.view()?, c)
}

/// `c = a b`, all row-major, of float32 as TF32.
///
/// # Errors
/// Those of a launch.
pub fn gemm_swapped(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<f32, f32>,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &mut Tensor<f32, 2>,
) -> Result<(), Error> {
    agree("gemm_swapped", b, 1, c.shape()[1])?;
    workspace.around(stream, [a, b], c, |a, b, c| self::gemm_swapped::launch_with(config, stream, a, b, c))
}

/// `c = a b`, all row-major, of float32 in full, fed by the copy engine.
///
/// # Errors
/// Those of a launch.
pub fn sgemm(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<f32, f32>,
    a: &Tensor<f32, 2>,
    b: &Tensor<f32, 2>,
    c: &mut Tensor<f32, 2>,
) -> Result<(), Error> {
    agree("sgemm_fed", b, 1, c.shape()[1])?;
    workspace.around(stream, [a, b], c, |a, b, c| sgemm_fed::launch_with(config, stream, a, b, c))
}

/// `c = a bᵀ`, all row-major, of 16-bit and 8-bit floats and, as TF32, of float32.
///
/// # Errors
/// Those of a launch.
pub fn gemm_by_columns<T: Element, U: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<T, U>,
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tensor<U, 2>,
) -> Result<(), Error> {
    agree("gemm_by_columns", b, 0, c.shape()[1])?;
    let shape = [written::<U>(b.shape()[0]), b.shape()[1]];
    let a = operand(stream, a, a.shape(), &mut workspace.a)?.view()?;
    let b = operand(stream, b, shape, &mut workspace.b)?;
    result(stream, c, &mut workspace.c, |c| by_columns(stream, config, &a, &b, c))
}

/// The product of matrices that the copy engine can address, `b` of all columns that are computed.
fn by_columns<T: Element, U: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    a: &TensorView<'_, T, 2>,
    b: &Matrix<'_, T>,
    c: &mut Tensor<U, 2>,
) -> Result<(), Error> {
    let ([m, _], [computed, k]) = (c.shape(), b.shape());
    let whole = if config.set.is_some() { computed } else { columns_of_whole_tiles([m, computed]) };
    for range in [0..whole, whole..computed] {
        if range.is_empty() {
            continue;
        }
        let own = set_by_columns::<T, U>([m, range.len(), k]);
        let config = LaunchConfig { set: config.set.or(own.as_ref()), ..config };
        let mut c = columns_mut(c, m, range.clone())?;
        self::gemm_by_columns::launch_with(config, stream, a, &b.rows(range)?, &mut c)?;
    }
    Ok(())
}

/// The set for a shape where it is not the kernel's own. As measured on an H200: the narrowest tiles, where they are no more
/// than there are multiprocessors; more room for C, whose stores weigh more, where 8-bit operands have few blocks of k.
fn set_by_columns<T: Element, U: Element>([m, n, k]: [usize; 3]) -> Option<ParamSet> {
    let columns = 2 * LINE_BYTES / size_of::<U>();
    let number = |name, value: usize| (name, ParamValue::Int(value as i64));
    let changes = match size_of::<T>() {
        _ if m.div_ceil(128) * n.div_ceil(columns) <= SMS => vec![number("BN", columns), number("STAGES", 6)],
        1 if k <= 4096 => vec![number("STAGES", 3), number("BUFFERS", 2), number("GROUP", 8)],
        4 if k > 4096 => vec![number("AHEAD", 0), number("GROUP", 8)],
        _ => return None,
    };
    with::<T, U>(&self::gemm_by_columns::DEFINITION, &changes)
}

/// `c = a b`, all row-major, of 8-bit floats and, as TF32, of float32, whose products want B by columns: it is turned
/// first.
///
/// # Errors
/// Those of a launch.
///
/// ```
/// use layout_cuda::{Device, LaunchConfig};
/// use layout_examples::gemm::{Workspace, gemm_turned};
///
/// let device = Device::simulator();
/// let stream = device.stream();
/// let values = |count: usize| (0..count).map(|i| (i % 5) as f32).collect::<Vec<_>>();
/// let (a, b) = (device.upload(&values(15), [3, 5])?, device.upload(&values(35), [5, 7])?);
/// let mut c = device.zeros::<f32, 2>([3, 7])?;
/// gemm_turned(&stream, LaunchConfig::default(), &mut Workspace::new(), &a, &b, &mut c)?;
/// // Row 0 of A is 0 1 2 3 4, column 0 of B is 0 2 4 1 3.
/// assert_eq!(c.download()?[0], 25.0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn gemm_turned<T: Element, U: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    workspace: &mut Workspace<T, U>,
    a: &Tensor<T, 2>,
    b: &Tensor<T, 2>,
    c: &mut Tensor<U, 2>,
) -> Result<(), Error> {
    let [k, n] = b.shape();
    agree("gemm_by_columns", b, 1, c.shape()[1])?;
    let shape = [written::<U>(n), k];
    let turned = whole_rows(stream, shape, &mut workspace.b)?;
    turn::launch(stream, b, &mut corner_mut(turned, [n, k])?)?;
    let turned = Matrix::corner(turned, shape);
    let a = operand(stream, a, a.shape(), &mut workspace.a)?.view()?;
    result(stream, c, &mut workspace.c, |c| by_columns(stream, config, &a, &turned, c))
}
