//! `C = A B` on Hopper's matrix units, of any shape: where the copy engine cannot address a matrix, its rows are moved.
//!
//! Law: the same product as the kernels give; a [`Workspace`] decides only where the operands lie while they are read.
//!
//! The copy engine wants each row at a multiple of 16 bytes. A matrix with other rows is copied to the workspace first, a
//! C with other rows is written there and copied back: only the distance of rows changes, no zeros are added, and the
//! copy engine itself keeps to the true extents.

use crate::kernels::gemm::{gemm, gemm_by_columns, gemm_swapped};
use crate::kernels::{gemm_pair, gemm_split, repitch, sgemm_fed, turn};
use layout_cuda::{
    Definition, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView, TensorViewMut,
};
use std::ops::Range;

/// Rows of the copy engine begin at multiples of so many bytes.
const ROW_BYTES: usize = 16;
/// Those of a workspace at multiples of so many.
const LINE_BYTES: usize = 128;

/// Memory for the matrices of one product whose rows the copy engine cannot address; none for the others.
#[derive(Debug)]
pub struct Workspace<T: Element, U: Element> {
    a: Option<Tensor<T, 2>>,
    b: Option<Tensor<T, 2>>,
    c: Option<Tensor<U, 2>>,
    /// Columns of C that are computed: the copy engine writes whole 16 bytes.
    columns: usize,
    /// The shape of the B that is multiplied, with those columns.
    b_shape: [usize; 2],
}

/// A tensor for rows of `shape` at multiples of 16 bytes, where those of a compact one are not.
fn moved<T: Element>(stream: &Stream, [rows, columns]: [usize; 2]) -> Result<Option<Tensor<T, 2>>, Error> {
    match columns.is_multiple_of(ROW_BYTES / size_of::<T>()) {
        true => Ok(None),
        false => whole_rows(stream, [rows, columns]).map(Some),
    }
}

/// Zeros of `shape`, each row of whole lines of the cache: those of a box are read at once.
fn whole_rows<T: Element>(stream: &Stream, [rows, columns]: [usize; 2]) -> Result<Tensor<T, 2>, Error> {
    stream.zeros([rows, columns.next_multiple_of(LINE_BYTES / size_of::<T>())])
}

/// Copies a matrix to rows that begin elsewhere. A row's blocks have equal parts of it.
fn repitched<T: Element>(
    stream: &Stream,
    from: &TensorView<'_, T, 2>,
    to: &mut TensorViewMut<'_, T, 2>,
) -> Result<(), Error> {
    let [_, columns] = from.shape();
    let rounds = columns.div_ceil(256 * columns.div_ceil(256 * 16).max(1)).max(1);
    let set = with::<T, T>(&repitch::DEFINITION, &[("ROUNDS", ParamValue::Int(rounds as i64))]);
    repitch::launch_with(LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() }, stream, from, to)
}

/// The parameter set of the kernel for elements `T`, and `U` of C, with other values in it.
fn with<T: Element, U: Element>(definition: &Definition, changes: &[(&str, ParamValue)]) -> Option<ParamSet> {
    let of_type = |(name, value): &(&str, ParamValue)| match *name {
        "T" => *value == ParamValue::Type(T::ELEM),
        "U" => *value == ParamValue::Type(U::ELEM),
        _ => true,
    };
    let own = definition.variants.iter().find(|variant| variant.parameters.iter().all(of_type))?;
    let own = ParamSet(own.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
    Some(changes.iter().fold(own, |set, (name, value)| set.with(name, *value)))
}

/// The first rows and columns of a tensor.
fn corner<T: Element>(tensor: &Tensor<T, 2>, shape: [usize; 2]) -> Result<TensorView<'_, T, 2>, Error> {
    tensor.part(0, shape, [tensor.shape()[1], 1])
}

fn corner_mut<T: Element>(
    tensor: &mut Tensor<T, 2>,
    shape: [usize; 2],
) -> Result<TensorViewMut<'_, T, 2>, Error> {
    let pitch = tensor.shape()[1];
    tensor.part_mut(0, shape, [pitch, 1])
}

/// The matrix, or where its rows were moved to.
fn aligned<'m, T: Element>(
    stream: &Stream,
    matrix: &'m Tensor<T, 2>,
    moved: &'m mut Option<Tensor<T, 2>>,
) -> Result<&'m Tensor<T, 2>, Error> {
    let Some(moved) = moved else { return Ok(matrix) };
    repitched(stream, &matrix.view(), &mut corner_mut(moved, matrix.shape())?)?;
    Ok(moved)
}

/// Some columns of the first `rows`.
fn columns<T: Element>(
    tensor: &Tensor<T, 2>,
    rows: usize,
    range: Range<usize>,
) -> Result<TensorView<'_, T, 2>, Error> {
    tensor.part(range.start, [rows, range.len()], [tensor.shape()[1], 1])
}

fn columns_mut<T: Element>(
    tensor: &mut Tensor<T, 2>,
    rows: usize,
    range: Range<usize>,
) -> Result<TensorViewMut<'_, T, 2>, Error> {
    let pitch = tensor.shape()[1];
    tensor.part_mut(range.start, [rows, range.len()], [pitch, 1])
}

/// `columns` of C, rounded up to what the copy engine writes at once.
fn written<U: Element>(columns: usize) -> usize {
    columns.next_multiple_of(ROW_BYTES / size_of::<U>())
}

impl<T: Element, U: Element> Workspace<T, U> {
    /// For `a` of shape `[m, k]` and `b` of `[k, n]`, row-major, and a `c` whose rows may begin anywhere.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn operands(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Workspace<T, U>, Error> {
        let (a, b) = (moved(stream, [m, k])?, moved(stream, [k, n])?);
        Ok(Workspace { a, b, c: None, columns: n, b_shape: [k, n] })
    }

    /// For `a` of shape `[m, k]`, `b` of `[k, n]` and `c` of `[m, n]`, all row-major.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn rows(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Workspace<T, U>, Error> {
        let columns = written::<U>(n);
        // Where more columns are computed than B has, the others are the workspace's zeros.
        let b_shape = [k, columns];
        let b = if columns == n { moved(stream, [k, n])? } else { Some(whole_rows(stream, b_shape)?) };
        Ok(Workspace { a: moved(stream, [m, k])?, b, c: moved(stream, [m, n])?, columns, b_shape })
    }

    /// The same for `b` of shape `[n, k]`, whose rows are the columns of B.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn columns(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Workspace<T, U>, Error> {
        let columns = written::<U>(n);
        let b_shape = [columns, k];
        let b = if columns == n { moved(stream, [n, k])? } else { Some(whole_rows(stream, b_shape)?) };
        Ok(Workspace { a: moved(stream, [m, k])?, b, c: moved(stream, [m, n])?, columns, b_shape })
    }

    /// For `b` of shape `[k, n]` that is turned on the way: [`gemm_turned`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn turned(stream: &Stream, [m, n, k]: [usize; 3]) -> Result<Workspace<T, U>, Error> {
        let columns = written::<U>(n);
        let b_shape = [columns, k];
        let b = Some(whole_rows(stream, b_shape)?);
        Ok(Workspace { a: moved(stream, [m, k])?, b, c: moved(stream, [m, n])?, columns, b_shape })
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let operands = [&self.a, &self.b].into_iter().flatten().map(|tensor| tensor.len() * size_of::<T>());
        operands.sum::<usize>() + self.c.as_ref().map_or(0, |tensor| tensor.len() * size_of::<U>())
    }

    /// Launches `product` on the matrices where the copy engine can address them.
    fn around(
        &mut self,
        stream: &Stream,
        [a, b]: [&Tensor<T, 2>; 2],
        c: &mut Tensor<U, 2>,
        product: impl Fn(
            &TensorView<'_, T, 2>,
            &TensorView<'_, T, 2>,
            &mut TensorViewMut<'_, U, 2>,
        ) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let a = corner(aligned(stream, a, &mut self.a)?, a.shape())?;
        let b_shape = if self.b.is_some() { self.b_shape } else { b.shape() };
        let b = corner(aligned(stream, b, &mut self.b)?, b_shape)?;
        let Some(moved) = &mut self.c else {
            return product(&a, &b, &mut c.view_mut());
        };
        let [rows, _] = c.shape();
        product(&a, &b, &mut corner_mut(moved, [rows, self.columns])?)?;
        repitched(stream, &corner(moved, c.shape())?, &mut c.view_mut())
    }
}

/// `c = a b`, all row-major, of 16-bit floats. The workspace is one of [`Workspace::operands`] for these shapes.
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
/// let (a, b) = (device.upload(&values(15), [3, 5])?, device.upload(&values(35), [5, 7])?);
/// let mut c = device.zeros([3, 7])?;
/// let mut workspace = Workspace::operands(&stream, [3, 7, 5])?;
/// gemm(&stream, LaunchConfig::default(), &mut workspace, &a, &b, &mut c)?;
/// // Row 0 of A is 0 1 2 3 4, column 0 of B is 0 2 4 1 3.
/// assert_eq!(c.download()?[0], bf16::from_f32(25.0));
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
    let ([m, n], [k, _]) = (c.shape(), b.shape());
    let a = corner(aligned(stream, a, &mut workspace.a)?, a.shape())?;
    let b = aligned(stream, b, &mut workspace.b)?;
    let whole = if config.set.is_some() { n } else { columns_of_whole_tiles([m, n]) };
    for range in [0..whole, whole..n] {
        if !range.is_empty() {
            let (b, mut c) = (columns(b, k, range.clone())?, columns_mut(c, m, range)?);
            by_shape(config, stream, &a, &b, &mut c)?;
        }
    }
    Ok(())
}

/// The product of matrices that the copy engine can address, by the kernel and the tiles that are for its shape. As measured
/// on an H200: where C has few tiles smaller ones win, down to those of 64 by 64, and of very few and many blocks of k
/// clusters that share each.
fn by_shape<T: Element>(
    config: LaunchConfig<'_>,
    stream: &Stream,
    a: &TensorView<'_, T, 2>,
    b: &TensorView<'_, T, 2>,
    c: &mut TensorViewMut<'_, T, 2>,
) -> Result<(), Error> {
    if config.set.is_some() {
        return self::gemm::launch_with(config, stream, a, b, c);
    }
    let ([m, n], [k, _], [pitch, _]) = (c.shape(), b.shape(), c.strides());
    let pairs = 2 * m.div_ceil(128) * n.div_ceil(64);
    if 2 * pairs <= SMS && k >= 2048 && n > 64 {
        return gemm_split::launch_with(config, stream, a, b, c);
    }
    if pairs <= SMS {
        return gemm_pair::launch_with(config, stream, a, b, c);
    }
    let tiles = |columns: usize| m.div_ceil(128) * n.div_ceil(columns);
    let number = |name, value| (name, ParamValue::Int(value));
    let mut changes = match () {
        () if tiles(64) <= SMS => vec![number("BN", 64), number("STAGES", 8), number("SLABS", 1)],
        () if tiles(128) <= SMS => vec![number("BN", 128), number("STAGES", 6)],
        () => Vec::new(),
    };
    let engine = pitch % (ROW_BYTES / size_of::<T>()) == 0 && n % (ROW_BYTES / size_of::<T>()) == 0;
    changes.push(("DIRECT", ParamValue::Bool(!engine)));
    let set = with::<T, T>(&self::gemm::DEFINITION, &changes);
    self::gemm::launch_with(LaunchConfig { set: set.as_ref(), ..config }, stream, a, b, c)
}

/// The multiprocessors that the kernels are written for.
const SMS: usize = 132;

/// The columns of C that are computed first; those after by themselves, where they are few and their tiles of 128 by 256
/// would only begin another wave.
fn columns_of_whole_tiles([m, n]: [usize; 2]) -> usize {
    let waves = |columns: usize| (m.div_ceil(128) * columns.div_ceil(256)).div_ceil(SMS);
    let rest = n % 256;
    if rest <= 64 && waves(n) > waves(n - rest) { n - rest } else { n }
}

/// `c = a b`, all row-major, of 16-bit floats, by clusters that share each tile. The workspace is one of
/// [`Workspace::operands`] for these shapes.
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
    workspace.around(stream, [a, b], c, |a, b, c| gemm_split::launch_with(config, stream, a, b, c))
}

/// `c = a b`, all row-major, of 16-bit floats, by pairs of blocks with tiles of 64 by 64. The workspace is one of
/// [`Workspace::operands`] for these shapes.
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
    workspace.around(stream, [a, b], c, |a, b, c| gemm_pair::launch_with(config, stream, a, b, c))
}

/// `c = a b`, all row-major, of float32 as TF32. The workspace is one of [`Workspace::rows`] for these shapes.
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
    workspace.around(stream, [a, b], c, |a, b, c| self::gemm_swapped::launch_with(config, stream, a, b, c))
}

/// `c = a b`, all row-major, of float32 in full, fed by the copy engine. The workspace is one of [`Workspace::rows`] for
/// these shapes.
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
    workspace.around(stream, [a, b], c, |a, b, c| sgemm_fed::launch_with(config, stream, a, b, c))
}

/// `c = a bᵀ`, all row-major, of 16-bit and 8-bit floats and, as TF32, of float32. The workspace is one of
/// [`Workspace::columns`] for these shapes.
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
    let (shape, [_, k], computed) = (c.shape(), b.shape(), workspace.columns);
    let a = corner(aligned(stream, a, &mut workspace.a)?, a.shape())?;
    let b = aligned(stream, b, &mut workspace.b)?;
    let whole = if config.set.is_some() { computed } else { columns_of_whole_tiles([shape[0], computed]) };
    let target = match &mut workspace.c {
        Some(moved) => moved,
        None => &mut *c,
    };
    for range in [0..whole, whole..computed] {
        if range.is_empty() {
            continue;
        }
        let narrow = narrow_by_columns::<T, U>([shape[0], range.len()]);
        let config = LaunchConfig { set: config.set.or(narrow.as_ref()), ..config };
        let rows_of_b = b.part(range.start * b.shape()[1], [range.len(), k], [b.shape()[1], 1])?;
        let mut c = columns_mut(target, shape[0], range)?;
        self::gemm_by_columns::launch_with(config, stream, &a, &rows_of_b, &mut c)?;
    }
    match &workspace.c {
        Some(moved) => repitched(stream, &corner(moved, shape)?, &mut c.view_mut()),
        None => Ok(()),
    }
}

/// The narrowest tiles, where they are no more than there are multiprocessors.
fn narrow_by_columns<T: Element, U: Element>([m, n]: [usize; 2]) -> Option<ParamSet> {
    let columns = 2 * LINE_BYTES / size_of::<U>();
    let changes = [("BN", ParamValue::Int(columns as i64)), ("STAGES", ParamValue::Int(6))];
    let few = m.div_ceil(128) * n.div_ceil(columns) <= SMS;
    few.then(|| with::<T, U>(&self::gemm_by_columns::DEFINITION, &changes)).flatten()
}

/// `c = a b`, all row-major, of 8-bit floats and, as TF32, of float32, whose products want B by columns: it is turned
/// first. The workspace is one of [`Workspace::turned`] for these shapes.
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
/// let mut workspace = Workspace::turned(&stream, [3, 7, 5])?;
/// gemm_turned(&stream, LaunchConfig::default(), &mut workspace, &a, &b, &mut c)?;
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
    // The turned B is the workspace's; it is taken out while the product runs around the other two.
    let [k, n] = b.shape();
    let shape = workspace.b_shape;
    let mut own = match workspace.b.take() {
        Some(own) => own,
        None => whole_rows(stream, shape)?,
    };
    let turned = corner_mut(&mut own, [n, k]).and_then(|mut own| turn::launch(stream, b, &mut own));
    let done = turned.and_then(|()| {
        let by_columns = corner(&own, shape)?;
        workspace.around(stream, [a, b], c, |a, _, c| {
            self::gemm_by_columns::launch_with(config, stream, a, &by_columns, c)
        })
    });
    workspace.b = Some(own);
    done
}
