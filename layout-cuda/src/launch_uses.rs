//! The words of a launch, one for each argument (a tensor's address, a scalar's bits), and what orders the launch behind the other
//! users of its tensors.
//!
//! Law: a launch that [`in_order`] takes is one that [`in_events`] would give no event and no error, and the same words.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceSlice};

use crate::argument::{Argument, Bytes, Kind};
use crate::device::Stream;
use crate::error::Result;
use crate::functions::KernelInstance;
use crate::launch::other_device;
use crate::launch_error::LaunchError;
use crate::order::{self, Use};
use crate::view::gpu_name;

/// Refuses tensors of another device, and of another stream where a graph is recorded, which would not wait for it. This comes
/// first: an event is not recorded on another context's stream.
fn refuse_elsewhere(
    family: &KernelInstance,
    stream: &Stream,
    cuda: &CudaStream,
    arguments: &[Argument<'_>],
) -> Result<()> {
    for (number, argument) in arguments.iter().enumerate() {
        let Kind::Tensor { bytes, .. } = &argument.0 else {
            continue;
        };
        let (context, name): (_, &dyn Fn() -> String) = match bytes {
            Bytes::Gpu(memory, _) => (Some(memory.stream().context()), &|| gpu_name(memory)),
            Bytes::GpuMut(memory, _) => (Some(memory.stream().context()), &|| gpu_name(memory)),
            Bytes::Host(..) | Bytes::HostMut(..) => (None, &|| "the simulator".to_string()),
        };
        if context.is_none_or(|context| context.cu_ctx() != cuda.context().cu_ctx()) {
            return Err(other_device(family, number, name(), stream.device().short_name()));
        }
        let own = match bytes {
            Bytes::Gpu(memory, _) => order::same(memory.stream(), cuda),
            Bytes::GpuMut(memory, _) => order::same(memory.stream(), cuda),
            Bytes::Host(..) | Bytes::HostMut(..) => true,
        };
        if stream.recording().is_some() && !own {
            return Err(
                LaunchError::OtherStream { kernel: family.name().to_string(), argument: number }.into()
            );
        }
    }
    Ok(())
}

/// The words of a launch that nothing orders but its stream: all tensors are the stream's own, cudarc keeps no events, and no graph is
/// recorded. Of any other launch it returns `false`, and the words are to be made anew.
pub(crate) fn in_order(
    stream: &Stream,
    cuda: &CudaStream,
    arguments: &[Argument<'_>],
    words: &mut [u64],
) -> bool {
    if order::managed(cuda.context()) || stream.recording().is_some() {
        return false;
    }
    for (word, argument) in words.iter_mut().zip(arguments) {
        *word = match &argument.0 {
            Kind::Tensor { bytes: Bytes::Gpu(memory, _), .. } if order::same(memory.stream(), cuda) => {
                order::address(memory)
            }
            Kind::Tensor { bytes: Bytes::GpuMut(memory, _), .. } if order::same(memory.stream(), cuda) => {
                order::address(memory)
            }
            Kind::Tensor { .. } => return false,
            Kind::Scalar(constant) => constant.bits,
            Kind::Index(_) => 0,
        };
    }
    true
}

/// The same words of any launch, and what orders it: every tensor is behind its users.
pub(crate) fn in_events<'a>(
    family: &KernelInstance,
    stream: &Stream,
    cuda: &'a Arc<CudaStream>,
    arguments: &'a mut [Argument<'_>],
    words: &mut [u64],
    uses: &mut [Option<Use<'a>>],
) -> Result<()> {
    refuse_elsewhere(family, stream, cuda, arguments)?;
    for (number, argument) in arguments.iter_mut().enumerate() {
        (words[number], uses[number]) = match &mut argument.0 {
            Kind::Tensor { bytes, .. } => used(bytes, stream, cuda)?,
            Kind::Scalar(constant) => (constant.bits, None),
            Kind::Index(_) => (0, None),
        };
    }
    Ok(())
}

/// The address of a tensor's memory, and its use by the launch: of one that is recorded, by the graph's replays.
fn used<'a>(
    bytes: &'a mut Bytes<'_>,
    stream: &Stream,
    cuda: &'a Arc<CudaStream>,
) -> Result<(u64, Option<Use<'a>>)> {
    if let Some(recording) = stream.recording() {
        let (address, order, writes) = match bytes {
            Bytes::Gpu(memory, order) => (order::address(memory), order, false),
            Bytes::GpuMut(memory, order) => (order::address(memory), order, true),
            Bytes::Host(..) | Bytes::HostMut(..) => return Ok((0, None)), // refused before
        };
        order.inspect(|order| recording.uses(order, writes));
        return Ok((address, None));
    }
    match bytes {
        Bytes::Gpu(memory, order) => Use::read(memory, order.map(|order| &**order), cuda),
        Bytes::GpuMut(memory, order) => Use::write(memory, order.map(|order| &**order), cuda),
        Bytes::Host(..) | Bytes::HostMut(..) => Ok((0, None)), // refused before
    }
}
