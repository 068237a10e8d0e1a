//! Layouts: of arguments as types, of shared and local tensors and of threads as values.

use super::device_only;
use super::number::Integer;

/// The value of an extent that is not written.
const NONE: usize = usize::MAX;

/// A layout of one to five extents.
macro_rules! of_extents {
    ($(#[$meta:meta])* $vis:vis struct $name:ident;) => {
        $(#[$meta])*
        $vis struct $name<
            const D0: usize,
            const D1: usize = NONE,
            const D2: usize = NONE,
            const D3: usize = NONE,
            const D4: usize = NONE,
        >;
    };
}

of_extents! {
    /// The compact layout whose last mode is contiguous: `RowMajor<M, K>`. Extents: 1 to 5, each a dimension, a
    /// parameter or a number.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn second(x: &LayoutTensor<i32, RowMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     y[[0]] = x[[1, 0]]; // the fourth in memory
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&[1, 2, 3, 4, 5, 6], [2, 3])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// second::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [4]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct RowMajor;
}

of_extents! {
    /// The compact layout whose first mode is contiguous: `ColMajor<M, K>`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn second(x: &LayoutTensor<i32, ColMajor<2, 3>>, y: &mut LayoutTensor<i32, RowMajor<1>>) {
    ///     y[[0]] = x[[1, 0]]; // the second in memory
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload_strided(&[1, 2, 3, 4, 5, 6], [2, 3], [1, 2])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// second::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [2]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct ColMajor;
}

of_extents! {
    /// The last mode contiguous, every other stride taken from the tensor at launch: `Pitched<M, K>`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn second<const M: usize, const N: usize>(
    ///     x: &LayoutTensor<i32, Pitched<M, N>>,
    ///     y: &mut LayoutTensor<i32, RowMajor<1>>,
    /// ) {
    ///     y[[0]] = x[[1, 0]];
    /// }
    /// # let device = Device::simulator();
    /// // Rows of three, four apart.
    /// let x = device.upload_strided(&[1, 2, 3, 0, 4, 5, 6, 0], [2, 3], [4, 1])?;
    /// let mut y = device.zeros::<i32, 1>([1])?;
    /// second::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [4]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct Pitched;
}

/// One mode contiguous, every other stride taken from the tensor at launch: `Contiguous<1, M, K>` is `Pitched<M, K>`, and
/// `Contiguous<0, M, K>` has contiguous columns. The mode is a number or a parameter, so one kernel serves both.
///
/// ```
/// # use layout_cuda::{Device, LaunchConfig, ParamSet, ParamValue, tiled_kernel};
/// #[tiled_kernel(MODE = [1, 0], block = [1], grid = [1])]
/// fn second<const M: usize, const N: usize>(
///     x: &LayoutTensor<i32, Contiguous<MODE, M, N>>,
///     y: &mut LayoutTensor<i32, RowMajor<1>>,
/// ) {
///     y[[0]] = x[[1, 0]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 1>([1])?;
/// for (strides, mode, wanted) in [([4, 1], 1, 4), ([1, 2], 0, 2)] {
///     let x = device.upload_strided(&[1, 2, 3, 0, 4, 5, 6, 0], [2, 3], strides)?;
///     let set = ParamSet(vec![("MODE".into(), ParamValue::Int(mode))]);
///     let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
///     second::launch_with(config, &device.stream(), &x, &mut y)?;
///     assert_eq!(y.download()?, [wanted]);
/// }
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Contiguous<
    const MODE: usize,
    const D0: usize,
    const D1: usize = NONE,
    const D2: usize = NONE,
    const D3: usize = NONE,
    const D4: usize = NONE,
>;

of_extents! {
    /// Every stride taken from the tensor at launch: `Strided<M, K>`.
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// #[tiled_kernel(block = [1], grid = [1])]
    /// fn second<const M: usize, const N: usize>(
    ///     x: &LayoutTensor<i32, Strided<M, N>>,
    ///     y: &mut LayoutTensor<i32, RowMajor<2>>,
    /// ) {
    ///     y[[0]] = x[[1, 0]];
    ///     y[[1]] = x[[0, 1]];
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload_strided(&[1, 2, 3, 4, 5, 6], [2, 2], [1, 4])?;
    /// let mut y = device.zeros::<i32, 1>([2])?;
    /// second::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, [2, 5]);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug)]
    pub struct Strided;
}

/// A layout as a compile-time value: of [`shared`](super::shared) and [`local`](super::local) tensors, and of the
/// threads that share a copy.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // The threads that share a copy form a 2 x 4 grid.
/// #[tiled_kernel(block = [8], grid = [1])]
/// fn copy(x: &LayoutTensor<i32, RowMajor<2, 4>>, y: &mut LayoutTensor<i32, RowMajor<2, 4>>) {
///     let threads = row_major([2, 4]);
///     y.distribute(threads, thread_idx.x).copy_from(&x.distribute(threads, thread_idx.x));
/// }
/// # let device = Device::simulator();
/// let x = device.upload(&[1, 2, 3, 4, 5, 6, 7, 8], [2, 4])?;
/// let mut y = device.zeros::<i32, 2>([2, 4])?;
/// copy::launch(&device.stream(), &x, &mut y)?;
/// assert_eq!(y.download()?, x.download()?);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Layout(());

/// The compact layout whose last mode is contiguous: `row_major([4, 8])` is `(4,8):(8,1)`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Which thread has which element.
/// #[tiled_kernel(block = [6], grid = [1])]
/// fn owners(y: &mut LayoutTensor<i32, RowMajor<2, 3>>) {
///     y.distribute(row_major([2, 3]), thread_idx.x).fill(thread_idx.x as i32);
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 2>([2, 3])?;
/// owners::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 1, 2, 3, 4, 5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn row_major<I: Integer, const R: usize>(_shape: [I; R]) -> Layout {
    device_only()
}

/// The compact layout whose first mode is contiguous: `col_major([4, 8])` is `(4,8):(1,4)`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Which thread has which element.
/// #[tiled_kernel(block = [6], grid = [1])]
/// fn owners(y: &mut LayoutTensor<i32, RowMajor<2, 3>>) {
///     y.distribute(col_major([2, 3]), thread_idx.x).fill(thread_idx.x as i32);
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<i32, 2>([2, 3])?;
/// owners::launch(&device.stream(), &mut y)?;
/// assert_eq!(y.download()?, [0, 2, 4, 1, 3, 5]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn col_major<I: Integer, const R: usize>(_shape: [I; R]) -> Layout {
    device_only()
}

/// The layout of a shape and strides in elements: `layout([4, 8], [9, 1])` is `(4,8):(9,1)`.
///
/// ```
/// # use layout_cuda::{Device, tiled_kernel};
/// // Rows of 33 words: a column occupies 32 different banks.
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn columns(y: &mut LayoutTensor<f32, RowMajor<32>>) {
///     let mut tile = shared::<f32>(layout([32, 32], [33, 1]));
///     for j in 0..32 {
///         tile[[thread_idx.x, j]] = 1.0;
///     }
///     y[[thread_idx.x]] = tile[[thread_idx.x, 0]];
/// }
/// # let device = Device::simulator();
/// let mut y = device.zeros::<f32, 1>([32])?;
/// let report = columns::simulate(&mut y)?;
/// assert_eq!(report.totals.bank_conflicts, 0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn layout<I: Integer, J: Integer, const R: usize>(_shape: [I; R], _strides: [J; R]) -> Layout {
    device_only()
}

impl Layout {
    /// The layout with `Swizzle<bits, base, shift>` over its element offsets: it keeps the lowest `base` bits, and xors the
    /// `bits` bits above them with those that are `shift` higher.
    ///
    /// ```
    /// # use layout_cuda::{Device, LaunchConfig, Options, ParamSet, ParamValue, tiled_kernel};
    /// // Vectors of four down a column: each row permutes its vectors differently, so no two of a column share a bank.
    /// #[tiled_kernel(SWIZZLE = [true, false], block = [8], grid = [1])]
    /// fn column(x: &LayoutTensor<f32, RowMajor<8, 32>>, y: &mut LayoutTensor<f32, RowMajor<8, 4>>) {
    ///     let plain = row_major([8, 32]);
    ///     let mut tile = shared::<f32>(if SWIZZLE { plain.swizzle(3, 2, 3) } else { plain });
    ///     copy_dram_to_sram(&mut tile, x, row_major([1, 8]));
    ///     barrier();
    ///     let own = tile.tile([1, 4], [thread_idx.x, 0]).vectorize([1, 4]);
    ///     y.tile([1, 4], [thread_idx.x, 0]).vectorize([1, 4]).copy_from(&own);
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..256).map(|i| i as f32).collect::<Vec<_>>(), [8, 32])?;
    /// let mut y = device.zeros::<f32, 2>([8, 4])?;
    /// let report = column::simulate(&x, &mut y)?;
    /// assert_eq!((report.totals.bank_conflicts, y.download()?[4]), (0, 32.0));
    /// let without = ParamSet::default().with("SWIZZLE", ParamValue::Bool(false));
    /// let config = LaunchConfig { set: Some(&without), ..LaunchConfig::default() };
    /// let report = column::simulate_with(config, &Options::default(), &x, &mut y)?;
    /// assert_eq!(report.totals.bank_conflicts, 7);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn swizzle(self, _bits: usize, _base: usize, _shift: usize) -> Layout {
        device_only()
    }

    /// The layout with the hardware's swizzle over 32, 64 or 128 bytes: the 16-byte pieces of a row are permuted by the
    /// row's number, whatever the element type. Rows are as long as the swizzle. See [`tma_load`](super::tma_load) and
    /// [`wgmma`](super::wgmma).
    ///
    /// ```
    /// # use layout_cuda::{Device, tiled_kernel};
    /// // As TMA lays rows of 128 bytes.
    /// #[tiled_kernel(arch = "sm_90a", block = [32], grid = [1])]
    /// fn through(x: &LayoutTensor<f32, RowMajor<8, 32>>, y: &mut LayoutTensor<f32, RowMajor<8, 32>>) {
    ///     let mut tile = shared::<f32>(row_major([8, 32]).swizzle_bytes(128));
    ///     let full = mbarriers(1, 1);
    ///     barrier();
    ///     if thread_idx.x == 0 {
    ///         full.at(0).arrive_expect(tile.bytes());
    ///         tma_load(&mut tile, &x.tile([8, 32], [0, 0]), full.at(0));
    ///     }
    ///     full.at(0).wait(0);
    ///     for i in 0..8 {
    ///         y[[i, thread_idx.x]] = tile[[i, thread_idx.x]];
    ///     }
    /// }
    /// # let device = Device::simulator();
    /// let x = device.upload(&(0..256).map(|i| i as f32).collect::<Vec<_>>(), [8, 32])?;
    /// let mut y = device.zeros::<f32, 2>([8, 32])?;
    /// through::launch(&device.stream(), &x, &mut y)?;
    /// assert_eq!(y.download()?, x.download()?);
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn swizzle_bytes(self, _bytes: usize) -> Layout {
        device_only()
    }
}
