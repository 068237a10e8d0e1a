//! `C = A B` on Hopper's matrix units, of any shape: where the copy engine cannot address a matrix, its rows are moved.
//!
//! Law: the same product as the kernels give; a [`Workspace`] decides only where the operands lie while they are read.
//!
//! The copy engine wants each row at a multiple of 16 bytes. A matrix with other rows is copied to the workspace first, a
//! C with other rows is written there and copied back: only the distance of rows changes, no zeros are added, and the
//! copy engine itself keeps to the true extents.

use crate::kernels::gemm::{gemm, gemm_by_columns, gemm_swapped};
use crate::kernels::{repitch, sgemm_fed, turn};
use layout_cuda::{
    Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView, TensorViewMut,
};

/// Rows of the copy engine begin at multiples of so many bytes.
const ROW_BYTES: usize = 16;

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

/// Zeros of `shape`, each row of whole 16 bytes.
fn whole_rows<T: Element>(stream: &Stream, [rows, columns]: [usize; 2]) -> Result<Tensor<T, 2>, Error> {
    stream.zeros([rows, columns.next_multiple_of(ROW_BYTES / size_of::<T>())])
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

/// `columns` of C, rounded up to what the copy engine writes at once.
fn written<U: Element>(columns: usize) -> usize {
    columns.next_multiple_of(ROW_BYTES / size_of::<U>())
}

impl<T: Element, U: Element> Workspace<T, U> {
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
        for (matrix, moved) in [(a, &mut self.a), (b, &mut self.b)] {
            if let Some(moved) = moved {
                repitch::launch(stream, matrix, &mut corner_mut(moved, matrix.shape())?)?;
            }
        }
        let a = match &self.a {
            Some(moved) => corner(moved, a.shape())?,
            None => a.view(),
        };
        let b = match &self.b {
            Some(moved) => corner(moved, self.b_shape)?,
            None => b.view(),
        };
        let Some(moved) = &mut self.c else {
            return product(&a, &b, &mut c.view_mut());
        };
        let [rows, _] = c.shape();
        product(&a, &b, &mut corner_mut(moved, [rows, self.columns])?)?;
        repitch::launch(stream, &corner(moved, c.shape())?, c)
    }
}

/// `c = a b`, all row-major, of 16-bit floats. The workspace is one of [`Workspace::rows`] for these shapes.
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
/// let mut workspace = Workspace::rows(&stream, [3, 7, 5])?;
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
    let narrow = config.set.is_none().then(|| narrow(c.shape())).flatten();
    let config = LaunchConfig { set: narrow.as_ref().or(config.set), ..config };
    workspace.around(stream, [a, b], c, |a, b, c| self::gemm::launch_with(config, stream, a, b, c))
}

/// Tiles of 64 columns where those of 256 would leave half of the multiprocessors without work. Measured on an H200 at
/// 1024 x 512 x 2048: 9.8 us instead of 22.5.
fn narrow([m, n]: [usize; 2]) -> Option<ParamSet> {
    let first = self::gemm::DEFINITION.variants.first()?;
    let number = |wanted: &str| {
        let found = first.parameters.iter().find(|(name, _)| *name == wanted);
        found.and_then(
            |(_, value)| if let ParamValue::Int(value) = value { usize::try_from(*value).ok() } else { None },
        )
    };
    let tiles = m.div_ceil(number("BM")?) * n.div_ceil(number("BN")?);
    if 2 * tiles > number("SMS")? {
        return None;
    }
    let set = ParamSet(first.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
    let changes = [("BN", 64), ("STAGES", 8), ("SLABS", 1)];
    Some(changes.into_iter().fold(set, |set, (name, value)| set.with(name, ParamValue::Int(value))))
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
    workspace.around(stream, [a, b], c, |a, b, c| self::gemm_by_columns::launch_with(config, stream, a, b, c))
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
