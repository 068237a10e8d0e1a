//! cuBLAS as a peer to compare with: found and loaded like NVRTC, two calls of it.
//!
//! Law: `c = a · b` of matrices, and the dot product of two vectors. It is no part of any kernel's way; only benchmarks name it.
//!
//! cuBLAS counts columns first, so that it sees each row-major matrix as its transpose, and `cᵀ = bᵀ · aᵀ` is what it
//! is asked for.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;

use cudarc::driver::CudaStream;

use crate::device::Stream;
use crate::driver::{DriverError, check};
use crate::loader;
use crate::nvrtc::search;

mod gemm;

pub use gemm::Compute;
pub(crate) use gemm::operation;
mod dot;

/// Why there is no product by cuBLAS.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BlasError {
    /// No cuBLAS was found, or none that was found could be loaded.
    NotFound {
        /// The libraries that did not load, each with the loader's words.
        refused: Vec<(PathBuf, String)>,
    },
    /// The stream is the simulator's, or a matrix lies elsewhere than the stream.
    OtherDevice,
    /// The matrices do not fit each other, are not row-major, or have an extent beyond `i32`.
    Shape {
        /// The shapes of a, b and c.
        shapes: [[usize; 2]; 3],
    },
    /// The vectors do not fit each other, are not contiguous, or are longer than an `i32` counts.
    Lengths {
        /// The lengths of x and y, and of the result, which has one element.
        lengths: [usize; 3],
    },
    /// A call failed.
    Call {
        /// The function of cuBLAS.
        call: &'static str,
        /// Its status.
        code: i32,
    },
    /// The driver failed.
    Driver(DriverError),
}

impl fmt::Display for BlasError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BlasError::NotFound { refused } => {
                write!(
                    f,
                    "cuBLAS was not found; install it with `pip install nvidia-cublas` or with the CUDA toolkit"
                )?;
                refused
                    .iter()
                    .try_for_each(|(path, why)| write!(f, "\n  {} does not load: {why}", path.display()))
            }
            BlasError::OtherDevice => write!(f, "cuBLAS needs a GPU's stream and operands on that GPU"),
            BlasError::Shape { shapes: [a, b, c] } => {
                write!(
                    f,
                    "cuBLAS: row-major matrices of shapes {a:?} and {b:?} have no product of shape {c:?} here"
                )
            }
            BlasError::Lengths { lengths: [x, y, out] } => {
                write!(
                    f,
                    "cuBLAS: vectors of {x} and {y} elements have no dot product of {out} elements here"
                )
            }
            BlasError::Call { call, code } => write!(f, "{call} failed with status {code}"),
            BlasError::Driver(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BlasError {}

type Handle = *mut c_void;

/// The functions, all of the types that cublas_v2.h gives them.
struct Table {
    create: unsafe extern "C" fn(*mut Handle) -> c_int,
    destroy: unsafe extern "C" fn(Handle) -> c_int,
    set_stream: unsafe extern "C" fn(Handle, *mut c_void) -> c_int,
    gemm_ex: gemm::GemmEx,
    set_pointer_mode: unsafe extern "C" fn(Handle, c_int) -> c_int,
    #[allow(clippy::type_complexity)]
    sdot: unsafe extern "C" fn(Handle, c_int, *const f32, c_int, *const f32, c_int, *mut f32) -> c_int,
}

/// cuBLAS on one stream.
pub struct Blas {
    table: &'static Table,
    handle: Handle,
    stream: Stream,
}

impl Blas {
    /// cuBLAS for this stream.
    ///
    /// # Errors
    /// [`BlasError::NotFound`], [`BlasError::OtherDevice`] for the simulator's stream, or a failing call.
    pub fn new(stream: &Stream) -> Result<Blas, BlasError> {
        let cuda = stream.cuda().ok_or(BlasError::OtherDevice)?;
        let table = table()?;
        check("cuCtxSetCurrent", cuda.context().bind_to_thread()).map_err(BlasError::Driver)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a live handle, and the stream's context is current.
        status("cublasCreate", unsafe { (table.create)(&mut handle) })?;
        let blas = Blas { table, handle, stream: stream.clone() };
        // SAFETY: handle and stream are live, and of one context.
        status("cublasSetStream", unsafe { (table.set_stream)(handle, cuda.cu_stream().cast()) })?;
        Ok(blas)
    }
}

/// Refuses operands of another context than the stream's.
pub(crate) fn of_one_context<const N: usize>(
    cuda: &CudaStream,
    operands: [&CudaStream; N],
) -> Result<(), BlasError> {
    let here = cuda.context().cu_ctx();
    match operands.iter().all(|stream| stream.context().cu_ctx() == here) {
        true => Ok(()),
        false => Err(BlasError::OtherDevice),
    }
}

impl Drop for Blas {
    fn drop(&mut self) {
        // SAFETY: the handle came from cublasCreate and is destroyed once. There is nobody to tell of a failure.
        unsafe { (self.table.destroy)(self.handle) };
    }
}

fn status(call: &'static str, code: c_int) -> Result<(), BlasError> {
    match code {
        0 => Ok(()),
        code => Err(BlasError::Call { call, code }),
    }
}

/// The process's cuBLAS, loaded at the first call.
fn table() -> Result<&'static Table, BlasError> {
    static TABLE: OnceLock<Result<Table, BlasError>> = OnceLock::new();
    TABLE.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Table, BlasError> {
    let mut refused = Vec::new();
    let mut places: Vec<PathBuf> = Vec::new();
    for folder in search::folders(&search::surroundings()) {
        places.extend(search::children(&folder, "libcublas.so."));
    }
    places.sort_by_key(|path| std::cmp::Reverse(path.file_name().map(|name| name.to_owned())));
    places.extend(["libcublas.so.13", "libcublas.so.12", "libcublas.so"].map(PathBuf::from));
    for path in places {
        match load_from(&path) {
            Ok(table) => return Ok(table),
            Err(why) => refused.push((path, why)),
        }
    }
    Err(BlasError::NotFound { refused })
}

fn load_from(path: &Path) -> Result<Table, String> {
    if let Some(folder) = path.parent().filter(|folder| folder.is_dir()) {
        // cuBLAS opens its lighter half by a bare name; one loaded already is found by that name.
        for light in search::children(folder, "libcublasLt.so.") {
            // One that does not load is missed, if at all, by cuBLAS itself, which then says so.
            let _ = loader::load(light);
        }
    }
    let library = loader::load(path)?;
    // SAFETY: the types are those of cublas_v2.h.
    let table = unsafe {
        Table {
            create: loader::function(library, c"cublasCreate_v2")?,
            destroy: loader::function(library, c"cublasDestroy_v2")?,
            set_stream: loader::function(library, c"cublasSetStream_v2")?,
            gemm_ex: loader::function(library, c"cublasGemmEx")?,
            set_pointer_mode: loader::function(library, c"cublasSetPointerMode_v2")?,
            sdot: loader::function(library, c"cublasSdot_v2")?,
        }
    };
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn simulator_has_none() {
        let error = Blas::new(&Device::simulator().stream()).err();
        assert_eq!(error, Some(BlasError::OtherDevice));
    }
}
