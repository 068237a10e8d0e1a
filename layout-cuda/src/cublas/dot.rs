//! The dot product by cuBLAS, whose result stays on the GPU.
//!
//! Law: `out[0] = sum of x[i] y[i]`, in the stream's order, without waiting for it.

use super::{Blas, BlasError, of_one_context, status};
use crate::view::{Memory, MemoryMut, TensorArg, TensorArgMut};
use cudarc::driver::{DevicePtr, DevicePtrMut, DeviceSlice};
use std::ffi::c_int;

const ON_HOST: c_int = 0;
const ON_DEVICE: c_int = 1;

impl Blas {
    /// `out[0] = sum of x[i] y[i]`, asynchronous, of contiguous vectors of one length.
    ///
    /// # Errors
    /// [`BlasError::Lengths`], [`BlasError::OtherDevice`], or a failing call.
    pub fn sdot(
        &self,
        x: &impl TensorArg<f32, 1>,
        y: &impl TensorArg<f32, 1>,
        out: &mut impl TensorArgMut<f32, 1>,
    ) -> Result<(), BlasError> {
        let (x, y, mut out) = (x.view(), y.view(), out.view_mut());
        let lengths = [x.shape()[0], y.shape()[0], out.shape()[0]];
        let contiguous = [x.strides(), y.strides()] == [[1], [1]];
        let Ok(n) = c_int::try_from(lengths[0]) else { return Err(BlasError::Lengths { lengths }) };
        if lengths[0] != lengths[1] || lengths[2] != 1 || !contiguous {
            return Err(BlasError::Lengths { lengths });
        }
        let cuda = self.stream.cuda().ok_or(BlasError::OtherDevice)?;
        let (Memory::Gpu(x), Memory::Gpu(y), MemoryMut::Gpu(out)) = (x.memory(), y.memory(), out.parts().0)
        else {
            return Err(BlasError::OtherDevice);
        };
        of_one_context(cuda, [x.stream(), y.stream(), out.stream()])?;
        let ((x, _x), (y, _y), (out, _out)) =
            (x.device_ptr(cuda), y.device_ptr(cuda), out.device_ptr_mut(cuda));
        // SAFETY: the handle is live; x and y have `n` elements and the result one, on the handle's device, where the
        // pointer mode says it is; they stay borrowed until the call is in the stream, whose order the guards keep.
        let codes = unsafe {
            [
                (self.table.set_pointer_mode)(self.handle, ON_DEVICE),
                (self.table.sdot)(self.handle, n, x as *const f32, 1, y as *const f32, 1, out as *mut f32),
                (self.table.set_pointer_mode)(self.handle, ON_HOST),
            ]
        };
        ["cublasSetPointerMode", "cublasSdot", "cublasSetPointerMode"]
            .into_iter()
            .zip(codes)
            .try_for_each(|(call, code)| status(call, code))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_gpu::gpu;

    #[test]
    fn small_product() {
        let Some(device) = gpu() else {
            return;
        };
        let stream = device.stream();
        let x = device.upload(&[1.0f32, 2.0, 3.0], [3]).expect("x");
        let mut out = device.zeros::<f32, 1>([1]).expect("out");
        let blas = Blas::new(&stream).expect("cuBLAS, which this test needs");
        blas.sdot(&x, &x, &mut out).expect("a product");
        assert_eq!(out.download().expect("data"), [14.0]);
        let short = device.upload(&[1.0f32], [1]).expect("short");
        let error = blas.sdot(&x, &short, &mut out).expect_err("no product");
        assert_eq!(error, BlasError::Lengths { lengths: [3, 1, 1] });
    }
}
