//! What a launch would do to memory, without launching it.
//!
//! Law: the variant is the one that a launch of the same arguments takes, on whatever device they are.

use layout_compiler::{Definition, Explanation, LaunchArgument};

use crate::argument::{Argument, Bytes, Kind};
use crate::error::Result;
use crate::functions::on_simulator;
use crate::launch::{LaunchConfig, choose};
use crate::order;

/// Reports each access of the variant that a launch of these arguments takes, on any device, what the code does.
///
/// # Errors
/// [`LaunchError`](crate::LaunchError): the arguments do not fit.
///
/// ```
/// use layout_cuda::{Device, LaunchConfig, tiled_kernel};
/// #[tiled_kernel(block = [32], grid = [M], variant_if(K % 4 == 0))]
/// fn copied<const M: usize, const K: usize>(
///     x: &LayoutTensor<f32, RowMajor<M, K>>, y: &mut LayoutTensor<f32, RowMajor<M, K>>,
/// ) {
///     for k in 0..K.div_ceil(128) {
///         let threads = row_major([1, 32]);
///         let own = x.tile([1, 128], [block_idx.x, k]).vectorize([1, 4]).distribute(threads, thread_idx.x);
///         let mut out = y.tile([1, 128], [block_idx.x, k]).vectorize([1, 4]).distribute(threads, thread_idx.x);
///         out.copy_from(&own);
///     }
/// }
/// let device = Device::simulator();
/// for (k, bytes) in [(256, 16), (250, 4)] {
///     let (x, mut y) = (device.zeros::<f32, 2>([3, k])?, device.zeros::<f32, 2>([3, k])?);
///     let explanation = copied::explain(LaunchConfig::default(), &x, &mut y)?;
///     assert_eq!(explanation.accesses[0].bytes, bytes, "{explanation}");
/// }
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn explain(
    definition: &'static Definition,
    config: LaunchConfig<'_>,
    arguments: &[Argument<'_>],
) -> Result<Explanation> {
    let plain: Vec<LaunchArgument<'_>> = arguments.iter().map(placed).collect();
    let family = on_simulator().family(definition, config.set, &plain)?;
    let (candidate, _) = choose(&family, config, &plain)?;
    Ok(layout_compiler::explain(family.checked(candidate)?))
}

/// What an argument is to the plan, with the address that its alignment is judged by.
fn placed<'a>(argument: &'a Argument<'_>) -> LaunchArgument<'a> {
    match &argument.0 {
        Kind::Tensor { elem, shape, strides, len, bytes } => {
            let address = match bytes {
                Bytes::Host(_, offset) | Bytes::HostMut(_, offset) => *offset as u64,
                Bytes::Gpu(memory, _) => order::address(memory),
                Bytes::GpuMut(memory, _) => order::address(memory),
            };
            LaunchArgument::Tensor { elem: *elem, shape, strides, address, len: *len }
        }
        Kind::Scalar(constant) => LaunchArgument::Scalar(constant.elem, constant.bits),
        Kind::Index(value) => LaunchArgument::Index(*value),
    }
}
