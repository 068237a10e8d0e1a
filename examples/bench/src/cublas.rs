//! cuBLAS and cuBLASLt as peers to compare with, through cudarc's bindings: products and a dot product on tensors of ours.
//!
//! Law: `c = a b` of matrices with sums in float32 (of float64 in float64), and `out[0] = sum of x[i] y[i]`; asynchronous, in the
//! order of one stream. Only benchmarks name this, and it is the only file of the examples with `unsafe` in it.
//!
//! The libraries count columns first, so that they see each row-major matrix as its transpose: `cᵀ = bᵀ aᵀ` is what they are
//! asked for.
#![allow(unsafe_code)]

use cudarc::cublas::{result as blas, sys as blas_sys};
use cudarc::cublaslt::{result as lt, sys as lt_sys};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceSlice};
use layout_compiler::Elem;
use layout_cuda::bench::{self, Options};
use layout_cuda::nvrtc::search;
use layout_cuda::{Element, Stream, TensorArg, TensorArgMut, TensorView, TensorViewMut};
use libloading::Library;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// How float32 operands are multiplied; of 16-bit ones the products are exact in either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// In full float32.
    F32,
    /// Rounded to TF32 first: 10 bits of fraction.
    Tf32,
}

/// The mode of a matrix that is contiguous, as the libraries take it: whether it is transposed, and its leading dimension.
fn operation(name: &str, [rows, columns]: [usize; 2], strides: [usize; 2]) -> Outcome<(bool, c_int)> {
    let (transposed, leading) = match strides {
        [leading, 1] if leading >= columns => (false, leading),
        [1, leading] if leading >= rows => (true, leading),
        _ => return Err(format!("cuBLAS: {name} of strides {strides:?} has no contiguous mode").into()),
    };
    Ok((transposed, c_int::try_from(leading.max(1))?))
}

/// M, N and K of a product of these shapes.
fn extents([a, b, c]: [[usize; 2]; 3]) -> Outcome<[c_int; 3]> {
    if [a[0], b[1]] != c || a[1] != b[0] {
        return Err(
            format!("cuBLAS: matrices of shapes {a:?} and {b:?} have no product of shape {c:?}").into()
        );
    }
    Ok([c_int::try_from(c[0])?, c_int::try_from(c[1])?, c_int::try_from(a[1])?])
}

/// The stream of a GPU, whose context is made current, with the libraries loaded.
fn ready(stream: &Stream) -> Outcome<Arc<CudaStream>> {
    let cuda = stream.cuda().ok_or("cuBLAS needs a GPU's stream")?;
    if !loaded() {
        let way = "install it with `pip install nvidia-cublas` or with the CUDA toolkit";
        return Err(format!("cuBLAS was not found; {way}").into());
    }
    cuda.context().bind_to_thread()?;
    Ok(cuda.clone())
}

/// Whether cudarc finds both libraries by their bare names: those of PyPI's packages and of toolkits are loaded first, by
/// their places, so that the bare names mean them.
fn loaded() -> bool {
    static LOADED: OnceLock<bool> = OnceLock::new();
    *LOADED.get_or_init(|| {
        let folders = search::folders(&search::surroundings());
        for prefix in ["libcublasLt.so.", "libcublas.so."] {
            let files =
                folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
            let named = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with(prefix);
            let mut files: Vec<_> =
                files.map(|file| file.path()).filter(|path| path.file_name().is_some_and(named)).collect();
            files.sort_by_key(|path| std::cmp::Reverse(path.file_name().map(|name| name.to_owned())));
            files.retain(|path| layout_cuda::trusted::refusal(path).is_none());
            // SAFETY: loading runs the initialisers of NVIDIA's library, as a program that uses it wants, from a place that others
            // cannot write.
            if let Some(library) = files.iter().find_map(|path| unsafe { Library::new(path) }.ok()) {
                std::mem::forget(library);
            }
        }
        // SAFETY: the same libraries, by the names that cudarc knows.
        unsafe { lt_sys::is_culib_present() && blas_sys::is_culib_present() }
    })
}

/// Addresses of three operands on the stream's GPU; what is returned beside them keeps the stream's order until it goes.
macro_rules! addresses {
    ($cuda:expr, $a:ident, $b:ident, $c:ident) => {{
        let elsewhere = "cuBLAS: an operand is not on the stream's device";
        let (a, b, c) =
            ($a.cuda().ok_or(elsewhere)?, $b.cuda().ok_or(elsewhere)?, $c.cuda_mut().ok_or(elsewhere)?);
        let here = $cuda.context().cu_ctx();
        if [a.stream(), b.stream(), c.stream()].iter().any(|stream| stream.context().cu_ctx() != here) {
            return Err(elsewhere.into());
        }
        (a.device_ptr(&$cuda), b.device_ptr(&$cuda), c.device_ptr_mut(&$cuda))
    }};
}

/// cuBLAS on one stream.
pub struct Blas {
    handle: blas_sys::cublasHandle_t,
    stream: Arc<CudaStream>,
}

impl Blas {
    /// cuBLAS for this stream.
    ///
    /// # Errors
    /// The simulator's stream, no cuBLAS, or a failing call.
    pub fn new(stream: &Stream) -> Outcome<Blas> {
        let blas = Blas { stream: ready(stream)?, handle: blas::create_handle()? };
        // SAFETY: handle and stream are live, and of one context.
        unsafe { blas::set_stream(blas.handle, blas.stream.cu_stream().cast())? };
        Ok(blas)
    }

    /// `c = a b` of shapes `[m, k]`, `[k, n]` and `[m, n]`. Of `a` and `b` one mode is contiguous, of `c` the last. All of
    /// float64 or float32, or `a` and `b` of one 16-bit float and `c` of the same or of float32.
    ///
    /// # Errors
    /// Operands that do not fit, or a failing call.
    pub fn gemm<T: Element, U: Element>(
        &self,
        compute: Compute,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Outcome<()> {
        use blas_sys::cublasComputeType_t as Sums;
        use blas_sys::cublasOperation_t::{CUBLAS_OP_N, CUBLAS_OP_T};
        let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
        let [m, n, k] = extents([a.shape(), b.shape(), c.shape()])?;
        let (a_op, a_leading) = operation("a", a.shape(), a.strides())?;
        let (b_op, b_leading) = operation("b", b.shape(), b.strides())?;
        let (c_op, c_leading) = operation("c", c.shape(), c.strides())?;
        if c_op {
            return Err("cuBLAS: c is column-major".into());
        }
        let kind = |elem: Elem| {
            Ok(match elem {
                Elem::F64 => blas_sys::cudaDataType_t::CUDA_R_64F,
                Elem::F32 => blas_sys::cudaDataType_t::CUDA_R_32F,
                Elem::F16 => blas_sys::cudaDataType_t::CUDA_R_16F,
                Elem::Bf16 => blas_sys::cudaDataType_t::CUDA_R_16BF,
                other => return Err(format!("cuBLAS: {} is not multiplied here", other.name())),
            })
        };
        let (operand, result) = (kind(T::ELEM)?, kind(U::ELEM)?);
        let (narrow, wide) = ([1.0f32, 0.0], [1.0f64, 0.0]);
        let (sums, scales): (_, [*const c_void; 2]) = match T::ELEM {
            Elem::F64 => {
                (Sums::CUBLAS_COMPUTE_64F, [(&raw const wide[0]).cast(), (&raw const wide[1]).cast()])
            }
            elem => {
                let fast = elem == Elem::F32 && compute == Compute::Tf32;
                let sums = if fast { Sums::CUBLAS_COMPUTE_32F_FAST_TF32 } else { Sums::CUBLAS_COMPUTE_32F };
                (sums, [(&raw const narrow[0]).cast(), (&raw const narrow[1]).cast()])
            }
        };
        let turned = |op: bool| if op { CUBLAS_OP_T } else { CUBLAS_OP_N };
        let ((a, _a), (b, _b), (c, _c)) = addresses!(self.stream, a, b, c);
        let algorithm = blas_sys::cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT;
        // SAFETY: the handle is live; the memory of the three is as large as their shapes and strides say, is on the
        // handle's device, and stays borrowed until the call is in the stream, whose order the guards keep.
        unsafe {
            blas::gemm_ex(
                self.handle,
                turned(b_op),
                turned(a_op),
                n,
                m,
                k,
                scales[0],
                b as *const c_void,
                operand,
                b_leading,
                a as *const c_void,
                operand,
                a_leading,
                scales[1],
                c as *mut c_void,
                result,
                c_leading,
                sums,
                algorithm,
            )?;
        }
        Ok(())
    }

    /// `out[0] = sum of x[i] y[i]`, of contiguous vectors of one length; the result stays on the GPU.
    ///
    /// # Errors
    /// Vectors that do not fit, or a failing call.
    pub fn sdot(
        &self,
        x: &impl TensorArg<f32, 1>,
        y: &impl TensorArg<f32, 1>,
        out: &mut impl TensorArgMut<f32, 1>,
    ) -> Outcome<()> {
        use blas_sys::cublasPointerMode_t::{CUBLAS_POINTER_MODE_DEVICE, CUBLAS_POINTER_MODE_HOST};
        let (x, y, mut out) = (x.view(), y.view(), out.view_mut());
        let [length] = x.shape();
        let fit = [y.shape(), out.shape()] == [[length], [1]] && [x.strides(), y.strides()] == [[1], [1]];
        if !fit {
            return Err(
                format!("cuBLAS: no dot product of {:?} and {:?} elements", x.shape(), y.shape()).into()
            );
        }
        let n = c_int::try_from(length)?;
        let ((x, _x), (y, _y), (out, _out)) = addresses!(self.stream, x, y, out);
        // SAFETY: the handle is live; x and y have `n` elements and the result one, on the handle's device, where the
        // pointer mode says it is; they stay borrowed until the call is in the stream, whose order the guards keep.
        unsafe {
            blas_sys::cublasSetPointerMode_v2(self.handle, CUBLAS_POINTER_MODE_DEVICE).result()?;
            let done = blas_sys::cublasSdot_v2(
                self.handle,
                n,
                x as *const f32,
                1,
                y as *const f32,
                1,
                out as *mut f32,
            );
            blas_sys::cublasSetPointerMode_v2(self.handle, CUBLAS_POINTER_MODE_HOST).result()?;
            done.result()?;
        }
        Ok(())
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle came from its create and is destroyed once. No caller can receive a failure.
        let _ = unsafe { blas::destroy_handle(self.handle) };
    }
}

/// How many algorithms cuBLASLt is asked for.
const ALGORITHMS: usize = 8;
/// Bytes of memory that an algorithm may use beside the operands.
const WORKSPACE: usize = 64 << 20;

/// A product of one shape, type and layout, prepared by cuBLASLt: the best algorithms that it knows.
///
/// Of f16, bf16, float32 in TF32, or 8-bit floats with fast accumulation (sums inside the matrix unit, as warpgroup products
/// have them).
pub struct Prepared {
    handle: lt_sys::cublasLtHandle_t,
    product: lt_sys::cublasLtMatmulDesc_t,
    /// Of `b`, `a` and `c`, in the library's order.
    layouts: Vec<lt_sys::cublasLtMatrixLayout_t>,
    algorithms: Vec<lt_sys::cublasLtMatmulHeuristicResult_t>,
    chosen: usize,
    problem: Problem,
    workspace: CudaSlice<u8>,
    stream: Stream,
    cuda: Arc<CudaStream>,
}

/// The problem that a product was prepared for: types, shapes and strides.
type Problem = ([Elem; 2], [[usize; 2]; 3], [[usize; 2]; 3]);

fn problem<T: Element, U: Element>(
    a: &TensorView<'_, T, 2>,
    b: &TensorView<'_, T, 2>,
    c: &TensorViewMut<'_, U, 2>,
) -> Problem {
    ([T::ELEM, U::ELEM], [a.shape(), b.shape(), c.shape()], [a.strides(), b.strides(), c.strides()])
}

impl Prepared {
    /// Prepares `c = a b` of shapes `[m, k]`, `[k, n]`, `[m, n]`. Of `a` and `b` one mode is contiguous, of `c` the last.
    /// Operands of f32 are rounded to TF32; those of 8-bit floats have `k` contiguous.
    ///
    /// # Errors
    /// No cuBLASLt, operands that it has no algorithm for, or a failing call.
    pub fn new<T: Element, U: Element>(
        stream: &Stream,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Outcome<Prepared> {
        use lt_sys::cublasComputeType_t::{CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
        use lt_sys::cublasLtMatmulDescAttributes_t as Attribute;
        let problem = problem(&a.view(), &b.view(), &c.view_mut());
        let (elems, shapes, strides) = problem;
        extents(shapes)?;
        let cuda = ready(stream)?;
        let sums = if elems[0] == Elem::F32 { CUBLAS_COMPUTE_32F_FAST_TF32 } else { CUBLAS_COMPUTE_32F };
        let mut this = Prepared {
            handle: lt::create_handle()?,
            product: lt::create_matmul_desc(sums, lt_sys::cudaDataType_t::CUDA_R_32F)?,
            layouts: Vec::new(),
            algorithms: Vec::new(),
            chosen: 0,
            problem,
            workspace: cuda.alloc_zeros::<u8>(WORKSPACE)?,
            stream: stream.clone(),
            cuda,
        };
        for (number, name) in [(1, "b"), (0, "a"), (2, "c")] {
            let (shape, elem) = (shapes[number], elems[number / 2]);
            let (transposed, leading) = operation(name, shape, strides[number])?;
            let [rows, columns] = shape.map(|extent| extent as u64);
            // A row-major matrix is a matrix of columns with rows and columns exchanged.
            let (rows, columns) = if transposed { (rows, columns) } else { (columns, rows) };
            this.layouts.push(lt::create_matrix_layout(kind(elem)?, rows, columns, i64::from(leading))?);
            match number {
                1 => this.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSA, i32::from(transposed))?,
                0 => this.set(Attribute::CUBLASLT_MATMUL_DESC_TRANSB, i32::from(transposed))?,
                _ if transposed => return Err("cuBLASLt: c is column-major".into()),
                _ => {}
            }
        }
        if matches!(elems[0], Elem::E4m3 | Elem::E5m2) {
            this.set(Attribute::CUBLASLT_MATMUL_DESC_FAST_ACCUM, 1i8)?;
        }
        this.ask()?;
        Ok(this)
    }

    /// Sets an attribute of the product, of the size that the library gives it.
    fn set<V: Copy>(&self, attribute: lt_sys::cublasLtMatmulDescAttributes_t, value: V) -> Outcome<()> {
        // SAFETY: the descriptor is live; the value is read at once, as many bytes as it has.
        unsafe {
            lt::set_matmul_desc_attribute(self.product, attribute, (&raw const value).cast(), size_of::<V>())?
        };
        Ok(())
    }

    /// Asks for the best algorithms.
    fn ask(&mut self) -> Outcome<()> {
        use lt_sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES as MOST;
        let [b, a, c] = self.layouts[..] else {
            return Err("cuBLASLt: three matrices make a product".into());
        };
        let preference = lt::create_matmul_pref()?;
        let (most, mut count) = (WORKSPACE as u64, 0);
        let mut list: Vec<lt_sys::cublasLtMatmulHeuristicResult_t> = Vec::with_capacity(ALGORITHMS);
        // SAFETY: all descriptors are live, and the preference is destroyed once; `list` has room for as many results as are
        // asked for, and `count` of them are written.
        unsafe {
            let set =
                lt::set_matmul_pref_attribute(preference, MOST, (&raw const most).cast(), size_of::<u64>());
            let asked = set.and_then(|()| {
                let asked = lt_sys::cublasLtMatmulAlgoGetHeuristic(
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
                );
                asked.result()
            });
            lt::destroy_matmul_pref(preference)?;
            asked?;
            list.set_len(usize::try_from(count)?.min(ALGORITHMS));
        }
        list.retain(|found| found.state == lt_sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        self.algorithms = list;
        match self.algorithms.is_empty() {
            true => Err(format!("cuBLASLt has no algorithm for {:?}", self.problem).into()),
            false => Ok(()),
        }
    }

    /// How many algorithms there are, the library's own choice first.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// The algorithm that [`Prepared::run`] takes: 0, the library's own choice, until [`Prepared::tune`].
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// Times each algorithm on these operands and keeps the fastest.
    ///
    /// # Errors
    /// As [`Prepared::run`], where no algorithm runs.
    pub fn tune<T: Element, U: Element>(
        &mut self,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Outcome<()> {
        let (stream, options) =
            (self.stream.clone(), Options { warm_up: 3, samples: 7, calls: 3, flush_l2: false });
        let (mut best, mut failed): (Option<(f64, usize)>, _) = (None, None);
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

    /// The product.
    ///
    /// # Errors
    /// Operands of another shape, type, layout or device than it was prepared for, or a failing call.
    pub fn run<T: Element, U: Element>(
        &mut self,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Outcome<()> {
        let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
        let found = problem(&a, &b, &c);
        let [b_layout, a_layout, c_layout] = self.layouts[..] else {
            return Err("cuBLASLt: no product".into());
        };
        let chosen = self.algorithms.get(self.chosen).filter(|_| found == self.problem);
        let chosen =
            chosen.ok_or_else(|| format!("cuBLASLt: prepared for {:?}, not {found:?}", self.problem))?;
        self.cuda.context().bind_to_thread()?;
        let ((a, _a), (b, _b), (c, _c)) = addresses!(self.cuda, a, b, c);
        let (workspace, _workspace) = self.workspace.device_ptr_mut(&self.cuda);
        let (one, zero) = (1.0f32, 0.0f32);
        // SAFETY: handle and descriptors are live; the memory of the three is as large as the shapes and strides of the
        // descriptors say, is on the stream's device, and stays borrowed until the call is in the stream, whose order
        // the guards keep. The workspace is this product's own, of the size that the algorithm was asked for.
        unsafe {
            lt::matmul(
                self.handle,
                self.product,
                (&raw const one).cast(),
                (&raw const zero).cast(),
                b as *const c_void,
                b_layout,
                a as *const c_void,
                a_layout,
                c as *const c_void,
                c_layout,
                c as *mut c_void,
                c_layout,
                &raw const chosen.algo,
                workspace as *mut c_void,
                WORKSPACE,
                self.cuda.cu_stream().cast(),
            )?;
        }
        Ok(())
    }
}

/// An element type as cuBLASLt names it.
fn kind(elem: Elem) -> Outcome<lt_sys::cudaDataType_t> {
    Ok(match elem {
        Elem::F32 => lt_sys::cudaDataType_t::CUDA_R_32F,
        Elem::F16 => lt_sys::cudaDataType_t::CUDA_R_16F,
        Elem::Bf16 => lt_sys::cudaDataType_t::CUDA_R_16BF,
        Elem::E4m3 => lt_sys::cudaDataType_t::CUDA_R_8F_E4M3,
        Elem::E5m2 => lt_sys::cudaDataType_t::CUDA_R_8F_E5M2,
        other => return Err(format!("cuBLASLt: {} is not multiplied here", other.name()).into()),
    })
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // SAFETY: each was made by its create and is destroyed once. No caller can receive a failure.
        unsafe {
            for layout in self.layouts.drain(..) {
                let _ = lt::destroy_matrix_layout(layout);
            }
            let _ = lt::destroy_matmul_desc(self.product);
            let _ = lt::destroy_handle(self.handle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout_cuda::{Device, E4m3, bf16};

    #[test]
    fn contiguous_modes() {
        let of = |shape, strides| operation("a", shape, strides).ok();
        assert_eq!(of([3, 4], [4, 1]), Some((false, 4)));
        assert_eq!(of([3, 4], [9, 1]), Some((false, 9)));
        assert_eq!(of([3, 4], [1, 3]), Some((true, 3)));
        assert_eq!(of([3, 4], [8, 2]), None);
        assert_eq!(of([0, 0], [0, 1]), Some((false, 1)));
    }

    #[test]
    fn the_simulator_has_none() {
        assert!(Blas::new(&Device::simulator().stream()).is_err());
    }

    /// Small products of each type, by rows and by columns, where there is a GPU.
    #[test]
    fn small_products() -> Outcome<()> {
        let device = match Device::gpu(0) {
            Ok(device) => device,
            Err(error) if std::env::var_os("REQUIRE_GPU").is_some() => return Err(error.into()),
            Err(_) => {
                println!("skipped: no device");
                return Ok(());
            }
        };
        fn product<T: Element, U: Element>(device: &Device, of: fn(f32) -> T, lt: bool) -> Outcome<Vec<U>> {
            const N: usize = 16;
            let stream = device.stream();
            let values =
                |step: usize| (0..N * N).map(move |i| of((i * step % 7) as f32 - 3.0)).collect::<Vec<T>>();
            let a = device.upload(&values(3), [N, N])?;
            // The transposed matrix by columns is the same matrix.
            let by_columns = device.upload_strided(&values(5), [N, N], [1, N])?;
            let mut c = device.zeros::<U, 2>([N, N])?;
            match lt {
                true => Prepared::new(&stream, &a, &by_columns, &mut c)?.run(&a, &by_columns, &mut c)?,
                false => Blas::new(&stream)?.gemm(Compute::F32, &a, &by_columns, &mut c)?,
            }
            Ok(c.download()?)
        }
        let wanted = product::<f64, f64>(&device, f64::from, false)?;
        let narrow: Vec<f32> = wanted.iter().map(|value| *value as f32).collect();
        assert_eq!(product::<f32, f32>(&device, |x| x, false)?, narrow);
        assert_eq!(product::<bf16, f32>(&device, bf16::from_f32, false)?, narrow);
        assert_eq!(product::<f32, f32>(&device, |x| x, true)?, narrow);
        assert_eq!(product::<bf16, f32>(&device, bf16::from_f32, true)?, narrow);
        if device.properties().is_some_and(|gpu| gpu.compute_capability >= (8, 9)) {
            assert_eq!(product::<E4m3, f32>(&device, E4m3::from_f32, true)?, narrow);
        }
        let x = device.upload(&[1.0f32, 2.0, 3.0], [3])?;
        let mut out = device.zeros::<f32, 1>([1])?;
        Blas::new(&device.stream())?.sdot(&x, &x, &mut out)?;
        assert_eq!(out.download()?, [14.0]);
        Ok(())
    }
}
