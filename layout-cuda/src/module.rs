//! Device code on a GPU: loaded, made ready, and started.

use std::ffi::c_void;

use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use cudarc::driver::{CudaFunction, CudaStream, result, sys};
use cudarc::nvrtc::Ptx;

use crate::device::Gpu;
use crate::driver::{DriverError, check};

/// Clusters of up to so many blocks are taken by every device that has clusters.
const PORTABLE_CLUSTER: u32 = 8;

/// Device code, as the driver takes it.
pub(crate) enum Image {
    /// Machine code.
    Cubin(Vec<u8>),
    /// What the driver compiles.
    Ptx(String),
}

/// Loads code and finds its entry. `dynamic_shared_bytes` is what launches will ask for, `cluster` the blocks of one.
///
/// # Errors
/// The failure of a call, as where the driver is older than the code.
pub(crate) fn load(
    gpu: &Gpu,
    image: Image,
    entry: &str,
    dynamic_shared_bytes: u32,
    cluster: u32,
) -> Result<CudaFunction, DriverError> {
    let image = match image {
        Image::Cubin(cubin) => Ptx::from_binary(cubin),
        Image::Ptx(text) => Ptx::from_src(text),
    };
    let module = check("cuModuleLoadData", gpu.context.load_module(image))?;
    let function = check("cuModuleGetFunction", module.load_function(entry))?;
    if dynamic_shared_bytes > 0 {
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(dynamic_shared_bytes).unwrap_or(i32::MAX);
        check("cuCtxSetCurrent", gpu.context.bind_to_thread())?;
        check("cuFuncSetAttribute", function.set_attribute(attribute, bytes))?;
    }
    if cluster > PORTABLE_CLUSTER {
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        check("cuCtxSetCurrent", gpu.context.bind_to_thread())?;
        check("cuFuncSetAttribute", function.set_attribute(attribute, 1))?;
    }
    Ok(function)
}

/// How a function is started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared_bytes: u32,
    /// Whether it may begin before what is before it on the stream ends: it waits by itself.
    pub dependent: bool,
    /// Whether all blocks run at the same time.
    pub cooperative: bool,
}

/// Starts a function and does not wait for it.
///
/// # Errors
/// The failure of the call, or one that an earlier call of cudarc could not return.
///
/// # Safety
/// - `parameters` points to as many values as the function takes, each of its type and alive until this returns.
/// - The function, for this grid and block and these values, keeps inside the memory that its pointers are to; the
///   memory stays allocated until the stream has come past the launch.
/// - A dependent one touches no memory that others use before it has waited for them.
pub(crate) unsafe fn start(
    stream: &CudaStream,
    function: &CudaFunction,
    shape: Shape,
    parameters: &mut [*mut c_void],
) -> Result<(), DriverError> {
    check("cuCtxSetCurrent", stream.context().bind_to_thread())?;
    let Shape { grid, block, dynamic_shared_bytes, dependent, cooperative } = shape;
    if dependent {
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid[0],
            gridDimY: grid[1],
            gridDimZ: grid[2],
            blockDimX: block[0],
            blockDimY: block[1],
            blockDimZ: block[2],
            sharedMemBytes: dynamic_shared_bytes,
            hStream: stream.cu_stream(),
            attrs: &raw mut attribute,
            numAttrs: 1,
        };
        let (function, pointers) = (function.cu_function(), parameters.as_mut_ptr());
        // SAFETY: as the caller promises; the configuration and its one attribute live until the call returns.
        let started =
            unsafe { sys::cuLaunchKernelEx(&raw const config, function, pointers, std::ptr::null_mut()) };
        return check("cuLaunchKernelEx", started.result());
    }
    let launch = if cooperative { result::launch_cooperative_kernel } else { result::launch_kernel };
    let name = if cooperative { "cuLaunchCooperativeKernel" } else { "cuLaunchKernel" };
    // SAFETY: as the caller promises; the function's module is loaded as long as the function lives.
    let started = unsafe {
        launch(
            function.cu_function(),
            (grid[0], grid[1], grid[2]),
            (block[0], block[1], block[2]),
            dynamic_shared_bytes,
            stream.cu_stream(),
            parameters,
        )
    };
    check(name, started)
}

/// Clusters of so many blocks, of so many threads each, that the device holds at the same time.
///
/// # Errors
/// The failure of the call.
pub(crate) fn clusters_at_once(
    function: &CudaFunction,
    [cluster, block]: [[u32; 3]; 2],
    dynamic_shared_bytes: u32,
    stream: &CudaStream,
) -> Result<u32, DriverError> {
    let config = cudarc::driver::LaunchConfig {
        grid_dim: cluster.into(),
        block_dim: block.into(),
        shared_mem_bytes: dynamic_shared_bytes,
    };
    check("cuOccupancyMaxActiveClusters", function.occupancy_max_active_clusters(config, stream))
}

/// Blocks of this shape that the device holds at the same time.
///
/// # Errors
/// The failure of the call.
pub(crate) fn resident_blocks(gpu: &Gpu, function: &CudaFunction, shape: Shape) -> Result<u64, DriverError> {
    check("cuCtxSetCurrent", gpu.context.bind_to_thread())?;
    let threads = shape.block.iter().product();
    let bytes = shape.dynamic_shared_bytes as usize;
    let each = function.occupancy_max_active_blocks_per_multiprocessor(threads, bytes, None);
    let each = check("cuOccupancyMaxActiveBlocksPerMultiprocessor", each)?;
    Ok(u64::from(each) * u64::from(gpu.properties.multiprocessors))
}
