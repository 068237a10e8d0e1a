//! Candle's memory on a GPU: launches go to candle's own stream, in its order.

use crate::launch::{Memory, with_types};
use candle_core::backend::BackendStorage;
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::{CudaStorage, DType, Error, Result, bail};
use layout_cuda::{Stream, TensorBytes};

macro_rules! gpu_memory {
    ($(($dtype:ident, $type:ty)),*) => {
        impl Memory for CudaStorage {
            fn dtype(&self) -> DType {
                BackendStorage::dtype(self)
            }

            fn stream(&self) -> Result<Stream> {
                Stream::from_cudarc(self.device.cuda_stream()).map_err(Error::wrap)
            }

            fn beside(&self, dtype: DType, len: usize) -> Result<CudaStorage> {
                // The driver gives no memory of no bytes.
                let (device, len) = (self.device.clone(), len.max(1));
                match dtype {
                    $(DType::$dtype => {
                        // SAFETY: whatever the memory holds are values of the type: candle has no `bool`. That a kernel writes
                        // it is a duty of the operation's, which `Call::output` states.
                        let slice = unsafe { device.alloc::<$type>(len) }?;
                        Ok(CudaStorage { slice: CudaStorageSlice::$dtype(slice), device })
                    })*
                    other => bail!("kernels have no elements of candle's type {other:?}"),
                }
            }

            fn read(&self, from: usize, to: Option<usize>) -> Option<TensorBytes<'_>> {
                match &self.slice {
                    $(CudaStorageSlice::$dtype(values) => {
                        values.try_slice(from..to.unwrap_or(values.len())).map(TensorBytes::from)
                    })*
                    _ => None,
                }
            }

            fn write(&mut self) -> Option<TensorBytes<'_>> {
                match &mut self.slice {
                    $(CudaStorageSlice::$dtype(values) => Some(TensorBytes::from(values)),)*
                    _ => None,
                }
            }
        }
    };
}
with_types!(gpu_memory);
