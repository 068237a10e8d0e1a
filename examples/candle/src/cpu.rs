//! Candle's memory on the CPU: kernels run on the simulator, which is for tests and small sizes.

use crate::launch::{Memory, with_types};
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, DType, Result, bail};
use layout_cuda::{Device, Stream, TensorBytes};

macro_rules! cpu_memory {
    ($(($dtype:ident, $type:ty)),*) => {
        impl Memory for CpuStorage {
            fn dtype(&self) -> DType {
                BackendStorage::dtype(self)
            }

            fn stream(&self) -> Result<Stream> {
                Ok(Device::simulator().stream())
            }

            fn beside(&self, dtype: DType, len: usize) -> Result<CpuStorage> {
                match dtype {
                    $(DType::$dtype => Ok(CpuStorage::$dtype(vec![<$type>::default(); len])),)*
                    other => bail!("kernels have no elements of candle's type {other:?}"),
                }
            }

            fn read(&self, from: usize, to: Option<usize>) -> Option<TensorBytes<'_>> {
                match self {
                    $(CpuStorage::$dtype(values) => {
                        values.get(from..to.unwrap_or(values.len())).map(TensorBytes::from)
                    })*
                    _ => None,
                }
            }

            fn write(&mut self) -> Option<TensorBytes<'_>> {
                match self {
                    $(CpuStorage::$dtype(values) => Some(TensorBytes::from(values.as_mut_slice())),)*
                    _ => None,
                }
            }
        }
    };
}
with_types!(cpu_memory);
