//! cuBLASLt as a peer to compare with: one product prepared, its best algorithms asked for and the fastest kept.
//!
//! Law: `c = a · b` with float32 sums, of f16, bf16, float32 in TF32, or 8-bit floats with fast accumulation (sums inside
//! the matrix unit, as warpgroup products have them). It is no part of any kernel's way; only benchmarks name it.
//!
//! As with cuBLAS, `cᵀ = bᵀ · aᵀ` is what it is asked for, since it counts columns first.

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::{CudaSlice, DevicePtr, DevicePtrMut, DeviceSlice};
use layout_core::kernel::Elem;

use crate::bench::{self, Options};
use crate::cublas::{BlasError, of_one_context, operation};
use crate::device::Stream;
use crate::driver::check;
use crate::element::Element;
use crate::error::Result;
use crate::loader;
use crate::nvrtc::search;
use crate::view::{Memory, MemoryMut, TensorArg, TensorArgMut, TensorView, TensorViewMut};

/// How many algorithms are asked for.
const ALGORITHMS: usize = 8;
/// Bytes of memory that an algorithm may use beside the operands.
const WORKSPACE: usize = 64 << 20;

type Handle = *mut c_void;
type Descriptor = *mut c_void;

/// An algorithm as the library's heuristic gives it: `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Heuristic {
    algorithm: [u64; 8],
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// The functions, all of the types that cublasLt.h gives them.
struct Table {
    create: unsafe extern "C" fn(*mut Handle) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    product_create: unsafe extern "C" fn(*mut Descriptor, c_int, c_int) -> c_int,
    product_set: unsafe extern "C" fn(Descriptor, c_int, *const c_void, usize) -> c_int,
    product_destroy: unsafe extern "C" fn(Descriptor) -> c_int,
    layout_create: unsafe extern "C" fn(*mut Descriptor, c_int, u64, u64, i64) -> c_int,
    layout_destroy: unsafe extern "C" fn(Descriptor) -> c_int,
    preference_create: unsafe extern "C" fn(*mut Descriptor) -> c_int,
    preference_set: unsafe extern "C" fn(Descriptor, c_int, *const c_void, usize) -> c_int,
    preference_destroy: unsafe extern "C" fn(Descriptor) -> c_int,
    heuristic: Ask,
    matmul: Matmul,
}

type Ask = unsafe extern "C" fn(
    Handle,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    Descriptor,
    c_int,
    *mut Heuristic,
    *mut c_int,
) -> c_int;

type Matmul = unsafe extern "C" fn(
    Handle,
    Descriptor,
    *const c_void,
    *const c_void,
    Descriptor,
    *const c_void,
    Descriptor,
    *const c_void,
    *const c_void,
    Descriptor,
    *mut c_void,
    Descriptor,
    *const u64,
    *mut c_void,
    usize,
    *mut c_void,
) -> c_int;

// Numbers of cublasLt.h and library_types.h.
const TRANSPOSE_FIRST: c_int = 3;
const TRANSPOSE_SECOND: c_int = 4;
const FAST_ACCUMULATION: c_int = 25;
const MOST_WORKSPACE: c_int = 1;
const SUMS_F32: c_int = 68;
const SUMS_F32_OF_TF32: c_int = 77;
const TYPE_F32: c_int = 0;

/// `cudaDataType_t` of an element type.
fn data_type(elem: Elem) -> Option<c_int> {
    match elem {
        Elem::F32 => Some(TYPE_F32),
        Elem::F16 => Some(2),
        Elem::Bf16 => Some(14),
        Elem::E4m3 => Some(28),
        Elem::E5m2 => Some(29),
        _ => None,
    }
}

/// One product of one shape, type and layout, on one stream.
pub struct Product {
    table: &'static Table,
    handle: Handle,
    product: Descriptor,
    /// Of `b`, `a` and `c`, in the library's order.
    layouts: [Descriptor; 3],
    algorithms: Vec<Heuristic>,
    chosen: usize,
    key: Key,
    workspace: CudaSlice<u8>,
    stream: Stream,
}

/// What a product was prepared for.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    elems: [Elem; 2],
    shapes: [[usize; 2]; 3],
    strides: [[usize; 2]; 3],
}

impl Key {
    fn of<T: Element, U: Element>(
        a: &TensorView<'_, T, 2>,
        b: &TensorView<'_, T, 2>,
        c: &TensorViewMut<'_, U, 2>,
    ) -> Key {
        Key {
            elems: [T::ELEM, U::ELEM],
            shapes: [a.shape(), b.shape(), c.shape()],
            strides: [a.strides(), b.strides(), c.strides()],
        }
    }
}

impl Product {
    /// Prepares `c = a · b` of shapes `[m, k]`, `[k, n]`, `[m, n]`, and asks for its best algorithms. Of `a` and `b` one
    /// mode is contiguous, of `c` the last. Operands of f32 are rounded to TF32; those of 8-bit floats have `k`
    /// contiguous and a result of 16-bit floats or f32.
    ///
    /// # Errors
    /// [`BlasError`]: no cuBLASLt, another device, shapes or types that it has no algorithm for, or a failing call.
    pub fn new<T: Element, U: Element>(
        stream: &Stream,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Result<Product> {
        let key = Key::of(&a.view(), &b.view(), &c.view_mut());
        let Key { elems, shapes, strides } = key;
        let [[m, k], [_, n], _] = shapes;
        let refused = || BlasError::Shape { shapes };
        if shapes != [[m, k], [k, n], [m, n]] {
            return Err(refused().into());
        }
        let [operand, result] = elems.map(data_type);
        let (operand, result) = (operand.ok_or_else(refused)?, result.ok_or_else(refused)?);
        let lies = |which: usize| operation(shapes[which], strides[which]).ok_or_else(refused);
        let ((a_op, a_leading), (b_op, b_leading), (c_op, c_leading)) = (lies(0)?, lies(1)?, lies(2)?);
        if c_op != 0 {
            return Err(refused().into());
        }
        let cuda = stream.cuda().ok_or(BlasError::OtherDevice)?;
        let table = table()?;
        check("cuCtxSetCurrent", cuda.context().bind_to_thread()).map_err(BlasError::Driver)?;
        let workspace =
            check("cuMemAllocAsync", cuda.alloc_zeros::<u8>(WORKSPACE)).map_err(BlasError::Driver)?;
        let mut this = Product {
            table,
            handle: ptr::null_mut(),
            product: ptr::null_mut(),
            layouts: [ptr::null_mut(); 3],
            algorithms: Vec::new(),
            chosen: 0,
            key,
            workspace,
            stream: stream.clone(),
        };
        let sums = if elems[0] == Elem::F32 { SUMS_F32_OF_TF32 } else { SUMS_F32 };
        // SAFETY: each pointer is to a live null handle of `this`, whose drop destroys what was made; the stream's
        // context is current.
        unsafe {
            status("cublasLtCreate", (table.create)(&mut this.handle))?;
            let made = (table.product_create)(&mut this.product, sums, TYPE_F32);
            status("cublasLtMatmulDescCreate", made)?;
        }
        this.set(TRANSPOSE_FIRST, b_op)?;
        this.set(TRANSPOSE_SECOND, a_op)?;
        if matches!(elems[0], Elem::E4m3 | Elem::E5m2) {
            this.set(FAST_ACCUMULATION, 1i8)?;
        }
        // A row-major matrix is a matrix of columns with rows and columns exchanged.
        let of_columns = |[rows, columns]: [usize; 2], op: c_int| match op {
            0 => (columns as u64, rows as u64),
            _ => (rows as u64, columns as u64),
        };
        let rows = [(shapes[1], b_op, b_leading, operand), (shapes[0], a_op, a_leading, operand)];
        let rows = rows.into_iter().chain([(shapes[2], 0, c_leading, result)]);
        for (slot, (shape, op, leading, kind)) in this.layouts.iter_mut().zip(rows) {
            let (rows, columns) = of_columns(shape, op);
            // SAFETY: the pointer is to a live null descriptor, which the drop destroys.
            let made = unsafe { (table.layout_create)(slot, kind, rows, columns, i64::from(leading)) };
            status("cublasLtMatrixLayoutCreate", made)?;
        }
        this.ask()?;
        Ok(this)
    }

    /// Sets an attribute of the product, of the size that the library gives it.
    fn set<V: Copy>(&mut self, attribute: c_int, value: V) -> std::result::Result<(), BlasError> {
        // SAFETY: the descriptor is live; the value is read at once, as many bytes as it has.
        let code = unsafe {
            (self.table.product_set)(self.product, attribute, (&raw const value).cast(), size_of::<V>())
        };
        status("cublasLtMatmulDescSetAttribute", code)
    }

    /// Asks for the best algorithms.
    fn ask(&mut self) -> std::result::Result<(), BlasError> {
        let mut preference = ptr::null_mut();
        let [b, a, c] = self.layouts;
        let mut list = [Heuristic::default(); ALGORITHMS];
        let mut count = 0;
        // SAFETY: the pointers are to live values; the preference is destroyed once; `list` has as many places as are
        // asked for.
        let code = unsafe {
            status("cublasLtMatmulPreferenceCreate", (self.table.preference_create)(&mut preference))?;
            let most = WORKSPACE as u64;
            let set = (self.table.preference_set)(
                preference,
                MOST_WORKSPACE,
                (&raw const most).cast(),
                size_of::<u64>(),
            );
            let asked = match set {
                0 => (self.table.heuristic)(
                    self.handle,
                    self.product,
                    b,
                    a,
                    c,
                    c,
                    preference,
                    ALGORITHMS as c_int,
                    list.as_mut_ptr(),
                    &mut count,
                ),
                failed => failed,
            };
            (self.table.preference_destroy)(preference);
            asked
        };
        status("cublasLtMatmulAlgoGetHeuristic", code)?;
        let count = usize::try_from(count).unwrap_or(0).min(ALGORITHMS);
        self.algorithms = list[..count].iter().filter(|found| found.state == 0).copied().collect();
        match self.algorithms.is_empty() {
            true => Err(BlasError::Shape { shapes: self.key.shapes }),
            false => Ok(()),
        }
    }

    /// How many algorithms there are, the library's own choice first.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// The algorithm that [`Product::run`] takes: 0, the library's own choice, until [`Product::tune`].
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// Times each algorithm on these operands and keeps the fastest.
    ///
    /// # Errors
    /// As [`Product::run`], where no algorithm runs.
    pub fn tune<T: Element, U: Element>(
        &mut self,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Result<()> {
        let (stream, options) =
            (self.stream.clone(), Options { warm_up: 3, samples: 7, calls: 3, flush_l2: false });
        let mut best: Option<(f64, usize)> = None;
        let mut failed = None;
        for number in 0..self.algorithms.len() {
            self.chosen = number;
            // An algorithm that the heuristic gave may still refuse; the others are tried.
            match bench::time(&stream, &options, || self.run(a, b, c)) {
                Ok(timing) if best.is_none_or(|(ms, _)| timing.median_ms() < ms) => {
                    best = Some((timing.median_ms(), number));
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        self.chosen = best.map_or(0, |(_, number)| number);
        match (best, failed) {
            (None, Some(error)) => Err(error),
            _ => Ok(()),
        }
    }

    /// The product, asynchronous.
    ///
    /// # Errors
    /// [`BlasError`]: operands of another shape, type, layout or device than it was prepared for, or a failing call.
    pub fn run<T: Element, U: Element>(
        &mut self,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Result<()> {
        let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
        let key = Key::of(&a, &b, &c);
        if key != self.key {
            return Err(BlasError::Shape { shapes: key.shapes }.into());
        }
        let cuda = self.stream.cuda().ok_or(BlasError::OtherDevice)?.clone();
        let (Memory::Gpu(a), Memory::Gpu(b), MemoryMut::Gpu(c)) = (a.memory(), b.memory(), c.parts().0)
        else {
            return Err(BlasError::OtherDevice.into());
        };
        of_one_context(&cuda, [a.stream(), b.stream(), c.stream()])?;
        let ((a, _a), (b, _b), (c, _c)) = (a.device_ptr(&cuda), b.device_ptr(&cuda), c.device_ptr_mut(&cuda));
        let (workspace, _workspace) = self.workspace.device_ptr_mut(&cuda);
        let (one, zero) = (1.0f32, 0.0f32);
        let [b_layout, a_layout, c_layout] = self.layouts;
        let Some(chosen) = self.algorithms.get(self.chosen) else {
            return Err(BlasError::Shape { shapes: key.shapes }.into());
        };
        check("cuCtxSetCurrent", cuda.context().bind_to_thread()).map_err(BlasError::Driver)?;
        // SAFETY: handle and descriptors are live; the memory of the three is as large as the shapes and strides of the
        // descriptors say, lies on the stream's device, and stays borrowed until the call is in the stream, whose order
        // the guards keep. The workspace is this product's own, of the size that the algorithm was asked for.
        let code = unsafe {
            (self.table.matmul)(
                self.handle,
                self.product,
                (&raw const one).cast(),
                b as *const c_void,
                b_layout,
                a as *const c_void,
                a_layout,
                (&raw const zero).cast(),
                c as *const c_void,
                c_layout,
                c as *mut c_void,
                c_layout,
                chosen.algorithm.as_ptr(),
                workspace as *mut c_void,
                WORKSPACE,
                cuda.cu_stream().cast(),
            )
        };
        Ok(status("cublasLtMatmul", code)?)
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        let Product { table, handle, product, layouts, .. } = self;
        // SAFETY: each was made by its create and is destroyed once. There is nobody to tell of a failure.
        unsafe {
            for layout in layouts.iter().filter(|layout| !layout.is_null()) {
                (table.layout_destroy)(*layout);
            }
            if !product.is_null() {
                (table.product_destroy)(*product);
            }
            if !handle.is_null() {
                (table.destroy)(*handle);
            }
        }
    }
}

fn status(call: &'static str, code: c_int) -> std::result::Result<(), BlasError> {
    match code {
        0 => Ok(()),
        code => Err(BlasError::Call { call, code }),
    }
}

/// The process's cuBLASLt, loaded at the first call.
fn table() -> std::result::Result<&'static Table, BlasError> {
    static TABLE: OnceLock<std::result::Result<Table, BlasError>> = OnceLock::new();
    TABLE.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> std::result::Result<Table, BlasError> {
    let mut refused = Vec::new();
    let folders = search::folders(&search::surroundings());
    let mut places: Vec<PathBuf> =
        folders.iter().flat_map(|folder| search::children(folder, "libcublasLt.so.")).collect();
    places.sort_by_key(|path| std::cmp::Reverse(path.file_name().map(|name| name.to_owned())));
    places.extend(["libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"].map(PathBuf::from));
    for path in places {
        match load_from(&path) {
            Ok(table) => return Ok(table),
            Err(why) => refused.push((path, why)),
        }
    }
    Err(BlasError::NotFound { refused })
}

fn load_from(path: &Path) -> std::result::Result<Table, String> {
    let library = loader::load(path)?;
    // SAFETY: the types are those of cublasLt.h.
    let table = unsafe {
        Table {
            create: loader::function(library, c"cublasLtCreate")?,
            destroy: loader::function(library, c"cublasLtDestroy")?,
            product_create: loader::function(library, c"cublasLtMatmulDescCreate")?,
            product_set: loader::function(library, c"cublasLtMatmulDescSetAttribute")?,
            product_destroy: loader::function(library, c"cublasLtMatmulDescDestroy")?,
            layout_create: loader::function(library, c"cublasLtMatrixLayoutCreate")?,
            layout_destroy: loader::function(library, c"cublasLtMatrixLayoutDestroy")?,
            preference_create: loader::function(library, c"cublasLtMatmulPreferenceCreate")?,
            preference_set: loader::function(library, c"cublasLtMatmulPreferenceSetAttribute")?,
            preference_destroy: loader::function(library, c"cublasLtMatmulPreferenceDestroy")?,
            heuristic: loader::function(library, c"cublasLtMatmulAlgoGetHeuristic")?,
            matmul: loader::function(library, c"cublasLtMatmul")?,
        }
    };
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::gpu;
    use crate::{Device, E4m3, Error};
    use half::bf16;

    #[test]
    fn simulator_has_none() {
        let device = Device::simulator();
        let a = device.zeros::<f32, 2>([2, 2]).expect("a");
        let mut c = device.zeros::<f32, 2>([2, 2]).expect("c");
        let error = Product::new(&device.stream(), &a, &a, &mut c).err();
        assert_eq!(error, Some(Error::Blas(BlasError::OtherDevice)));
        let b = device.zeros::<f32, 2>([3, 2]).expect("b");
        let error = Product::new(&device.stream(), &a, &b, &mut c).err();
        assert!(matches!(error, Some(Error::Blas(BlasError::Shape { .. }))), "{error:?}");
    }

    #[test]
    fn the_heuristic_is_as_large_as_the_librarys() {
        assert_eq!(size_of::<Heuristic>(), 96);
    }

    #[test]
    fn products_of_every_type() {
        let Some(device) = gpu() else {
            return;
        };
        let stream = device.stream();
        let n = 64;
        // Small whole numbers: exact in every type, and so is every sum.
        let value = |i: usize, seed: usize| ((i * 7 + i / n * 3 + seed) % 5) as f32 - 2.0;
        let matrix = |seed: usize| (0..n * n).map(|i| value(i, seed)).collect::<Vec<f32>>();
        let (a, b) = (matrix(1), matrix(2));
        let dot = |i: usize| (0..n).map(|k| a[i / n * n + k] * b[k * n + i % n]).sum::<f32>();
        let want: Vec<f32> = (0..n * n).map(dot).collect();
        let b_by_columns: Vec<f32> = (0..n * n).map(|i| b[i % n * n + i / n]).collect();

        let mut c = device.zeros::<f32, 2>([n, n]).expect("c");
        let on_a = device.upload(&a, [n, n]).expect("a");
        for (data, strides) in [(&b, [n, 1]), (&b_by_columns, [1, n])] {
            let on_b = device.upload_strided(data, [n, n], strides).expect("b");
            let mut product = Product::new(&stream, &on_a, &on_b, &mut c).expect("a product");
            product.tune(&on_a, &on_b, &mut c).expect("timed");
            c.poison().expect("poisoned");
            product.run(&on_a, &on_b, &mut c).expect("run");
            assert_eq!(c.download().expect("data"), want, "strides {strides:?}");
        }

        let halves = |values: &[f32]| values.iter().map(|v| bf16::from_f32(*v)).collect::<Vec<_>>();
        let on_a = device.upload(&halves(&a), [n, n]).expect("a");
        let on_b = device.upload(&halves(&b), [n, n]).expect("b");
        let mut product = Product::new(&stream, &on_a, &on_b, &mut c).expect("a product");
        product.run(&on_a, &on_b, &mut c).expect("run");
        assert_eq!(c.download().expect("data"), want);

        if device.properties().is_some_and(|properties| properties.compute_capability >= (8, 9)) {
            let bytes = |values: &[f32]| values.iter().map(|v| E4m3::from_f32(*v)).collect::<Vec<_>>();
            let on_a = device.upload(&bytes(&a), [n, n]).expect("a");
            let on_b = device.upload_strided(&bytes(&b_by_columns), [n, n], [1, n]).expect("b");
            let mut c = device.zeros::<bf16, 2>([n, n]).expect("c");
            let mut product = Product::new(&stream, &on_a, &on_b, &mut c).expect("a product");
            product.run(&on_a, &on_b, &mut c).expect("run");
            assert_eq!(c.download().expect("data"), halves(&want));
        }
    }
}
