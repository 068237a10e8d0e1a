//! Products on the tensor cores: `cublasGemmEx`, of float32 rounded to TF32, and of 16-bit floats.
//!
//! Law: `c = a · b` with float32 sums; what is rounded before is said by [`Compute`].

use std::ffi::{c_int, c_void};

use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};
use layout_core::kernel::Elem;

use super::{Blas, BlasError, of_one_context, status};
use crate::element::Element;
use crate::view::{Memory, MemoryMut, TensorArg, TensorArgMut};

/// How float32 operands are multiplied; of 16-bit ones the products are exact in either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// In full float32.
    F32,
    /// Rounded to TF32 first: 10 bits of fraction.
    Tf32,
}

/// `cublasGemmEx`, of the type that cublas_v2.h gives it.
pub(super) type GemmEx = unsafe extern "C" fn(
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    c_int,
    c_int,
    *const c_void,
    *mut c_void,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;

/// `cudaDataType_t` of an element type.
fn data_type(elem: Elem) -> Option<c_int> {
    match elem {
        Elem::F32 => Some(0),
        Elem::F64 => Some(1),
        Elem::F16 => Some(2),
        Elem::Bf16 => Some(14),
        _ => None,
    }
}

/// `CUBLAS_OP_N` or `CUBLAS_OP_T`, and the leading dimension, of a matrix that one mode of lies contiguous.
pub(crate) fn operation([rows, columns]: [usize; 2], strides: [usize; 2]) -> Option<(c_int, c_int)> {
    let (transposed, leading) = match strides {
        [leading, 1] if leading >= columns => (0, leading),
        [1, leading] if leading >= rows => (1, leading),
        _ => return None,
    };
    Some((transposed, c_int::try_from(leading.max(1)).ok()?))
}

impl Blas {
    /// `c = a · b`, asynchronous, of shapes `[m, k]`, `[k, n]` and `[m, n]`. Of `a` and `b` one mode is contiguous, of
    /// `c` the last. All of float64 (with float64 sums: a reference) or float32, or `a` and `b` of one 16-bit float and
    /// `c` of the same or of float32.
    ///
    /// # Errors
    /// [`BlasError::Shape`], [`BlasError::OtherDevice`], or a failing call: cuBLAS refuses types that do not go together.
    pub fn gemm<T: Element, U: Element>(
        &self,
        compute: Compute,
        a: &impl TensorArg<T, 2>,
        b: &impl TensorArg<T, 2>,
        c: &mut impl TensorArgMut<U, 2>,
    ) -> Result<(), BlasError> {
        let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
        let shapes = [a.shape(), b.shape(), c.shape()];
        let [[m, k], [_, n], _] = shapes;
        let shape_error = || BlasError::Shape { shapes };
        let types = (data_type(T::ELEM), data_type(U::ELEM));
        let (Some(operand), Some(result)) = types else { return Err(shape_error()) };
        let (Some((a_op, a_leading)), Some((b_op, b_leading)), Some((0, c_leading))) = (
            operation(a.shape(), a.strides()),
            operation(b.shape(), b.strides()),
            operation(c.shape(), c.strides()),
        ) else {
            return Err(shape_error());
        };
        if shapes != [[m, k], [k, n], [m, n]] {
            return Err(shape_error());
        }
        let int = |extent: usize| c_int::try_from(extent).map_err(|_| shape_error());
        let (m, n, k) = (int(m)?, int(n)?, int(k)?);
        let cuda = self.stream.cuda().ok_or(BlasError::OtherDevice)?;
        let (Memory::Gpu(a), Memory::Gpu(b), MemoryMut::Gpu(c)) = (a.memory(), b.memory(), c.parts().0)
        else {
            return Err(BlasError::OtherDevice);
        };
        of_one_context(cuda, [a.stream(), b.stream(), c.stream()])?;
        let ((a, _a), (b, _b), (c, _c)) = (a.device_ptr(cuda), b.device_ptr(cuda), c.device_ptr_mut(cuda));
        let (one, zero, wide_one, wide_zero) = (1.0f32, 0.0f32, 1.0f64, 0.0f64);
        let (in_full, fast_tf32, in_double) = (68, 77, 70);
        let (sums, one, zero): (_, *const c_void, *const c_void) = match T::ELEM {
            Elem::F64 => (in_double, (&raw const wide_one).cast(), (&raw const wide_zero).cast()),
            Elem::F32 if compute == Compute::Tf32 => {
                (fast_tf32, (&raw const one).cast(), (&raw const zero).cast())
            }
            _ => (in_full, (&raw const one).cast(), (&raw const zero).cast()),
        };
        let any_algorithm = -1;
        // SAFETY: the handle is live; the memory of the three is as large as their shapes and strides say, lies on the
        // handle's device, and stays borrowed until the call is in the stream, whose order the guards keep.
        let code = unsafe {
            (self.table.gemm_ex)(
                self.handle,
                b_op,
                a_op,
                n,
                m,
                k,
                one,
                b as *const c_void,
                operand,
                b_leading,
                a as *const c_void,
                operand,
                a_leading,
                zero,
                c as *mut c_void,
                result,
                c_leading,
                sums,
                any_algorithm,
            )
        };
        status("cublasGemmEx", code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::gpu;
    use half::bf16;

    #[test]
    fn contiguous_modes() {
        assert_eq!(operation([3, 4], [4, 1]), Some((0, 4)));
        assert_eq!(operation([3, 4], [9, 1]), Some((0, 9)));
        assert_eq!(operation([3, 4], [1, 3]), Some((1, 3)));
        assert_eq!(operation([3, 4], [8, 2]), None);
        assert_eq!(operation([0, 0], [0, 1]), Some((0, 1)));
    }

    #[test]
    fn small_products() {
        let Some(device) = gpu() else {
            return;
        };
        let blas = Blas::new(&device.stream()).expect("cuBLAS, which this test needs");
        let halves = |values: &[f32]| values.iter().map(|v| bf16::from_f32(*v)).collect::<Vec<_>>();
        let a = device.upload(&halves(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [2, 3]).expect("a");
        let b = device.upload(&halves(&[1.0, 0.0, 2.0, 1.0, 0.0, 3.0]), [3, 2]).expect("b");
        let by_columns = device.upload_strided(&halves(&[1.0, 2.0, 0.0, 0.0, 1.0, 3.0]), [3, 2], [1, 3]);
        let by_columns = by_columns.expect("b by columns");
        let wanted = [5.0, 11.0, 14.0, 23.0];
        let mut wide = device.zeros::<f32, 2>([2, 2]).expect("c");
        blas.gemm(Compute::F32, &a, &b, &mut wide).expect("a product");
        assert_eq!(wide.download().expect("data"), wanted);
        let mut c = device.zeros::<bf16, 2>([2, 2]).expect("c");
        blas.gemm(Compute::F32, &a, &by_columns, &mut c).expect("a product");
        assert_eq!(c.download().expect("data"), halves(&wanted).as_slice());
        let a = device.upload(&[1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]).expect("a");
        let b = device.upload(&[1.0f64, 0.0, 2.0, 1.0, 0.0, 3.0], [3, 2]).expect("b");
        let mut c = device.zeros::<f64, 2>([2, 2]).expect("c");
        blas.gemm(Compute::F32, &a, &b, &mut c).expect("a product");
        assert_eq!(c.download().expect("data"), [5.0, 11.0, 14.0, 23.0]);
        let a = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]).expect("a");
        let b = device.upload(&[1.0f32, 0.0, 2.0, 1.0, 0.0, 3.0], [3, 2]).expect("b");
        for compute in [Compute::Tf32, Compute::F32] {
            wide.poison().expect("poison");
            blas.gemm(compute, &a, &b, &mut wide).expect("a product");
            assert_eq!(wide.download().expect("data"), wanted);
        }
        let error = blas.gemm(Compute::F32, &a, &a, &mut wide).expect_err("no product");
        assert!(matches!(error, BlasError::Shape { .. }), "{error}");
    }
}
