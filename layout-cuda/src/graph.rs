//! CUDA graphs: a chain of launches, recorded once and given to the device as one.
//!
//! ```
//! use layout_cuda::{Device, Tensor, graph::Graph, tiled_kernel};
//!
//! #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
//! fn doubled<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
//!     let i = 32 * block_idx.x + thread_idx.x;
//!     if i < N {
//!         x[[i]] = 2.0 * x[[i]];
//!     }
//! }
//!
//! let stream = Device::best().stream();
//! let x = stream.upload(&[1.0f32, 2.0, 3.0], [3])?;
//! // SAFETY: the chain launches on `x` alone, which is the graph's own, and nobody puts another tensor into its place.
//! let mut graph = unsafe {
//!     Graph::record(&stream, x, |stream, x: &mut Tensor<f32, 1>| {
//!         doubled::launch(stream, x)?;
//!         doubled::launch(stream, x)
//!     })
//! }?;
//! graph.launch()?;
//! graph.launch()?;
//! assert_eq!(graph.state().download()?, [16.0, 32.0, 48.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! A launch is recorded with its arguments as they are: addresses, extents, scalars. [`Graph::update`] records the chain
//! once more and gives the graph the new arguments. That costs far less than a new graph where the chain has as many
//! launches as before.
//!
//! Law: a replay does what the chain of launches does, in its order. On a GPU nothing runs while it is recorded, and a
//! replay uses the arguments of the recording; on the simulator a replay calls the chain.
//!
//! The nodes are made one by one, not captured from a stream: so the null stream works, cudarc's events are not in the way,
//! and other threads may go on. All tensors belong to the graph's stream. What other streams do with them waits for the replays
//! before, and a replay waits for what they have done since the one before. Anything that is no launch (an upload, [`Tensor::write`](crate::Tensor::write)) is done at once and not recorded.

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::driver::{CudaEvent, CudaFunction, CudaStream, sys};

use crate::device::Stream;
use crate::driver::check;
use crate::error::{Error, Result};
use crate::launch_error::LaunchError;
use crate::module::Shape;
use crate::order::{self, Order};

/// The launches of one recording, in their order.
#[derive(Default)]
pub(crate) struct Recording(Mutex<Driver>);

/// A graph of the driver's while it grows.
#[derive(Default)]
struct Driver {
    graph: Option<OwnedGraph>,
    nodes: Vec<Node>,
    /// The tensors that launches take, and whether they write them.
    uses: Vec<(Arc<Order>, bool)>,
    /// Whether the chain has returned, so that a launch would be in no graph.
    ended: bool,
}

/// One launch.
struct Node {
    node: sys::CUgraphNode,
    /// Keeps the module loaded.
    _function: CudaFunction,
}

struct OwnedGraph(sys::CUgraph);

// SAFETY: a handle of the driver, which may be used by any thread, one at a time: it is behind a lock or a `&mut`.
unsafe impl Send for OwnedGraph {}
// SAFETY: as above; a node is a part of its graph.
unsafe impl Send for Node {}

impl Drop for OwnedGraph {
    fn drop(&mut self) {
        // SAFETY: the graph came from `cuGraphCreate` and is destroyed once. No caller can receive a failure.
        let _ = unsafe { sys::cuGraphDestroy(self.0) };
    }
}

struct OwnedExec(sys::CUgraphExec);

// SAFETY: as of `OwnedGraph`.
unsafe impl Send for OwnedExec {}

impl Drop for OwnedExec {
    fn drop(&mut self) {
        // SAFETY: it came from `cuGraphInstantiate` and is destroyed once.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recording")
    }
}

impl Recording {
    /// Adds a launch behind those before it.
    ///
    /// # Safety
    /// - `parameters` points to as many values as the function takes, each of its type and alive until this returns.
    /// - At each replay the memory that they point to is there.
    pub(crate) unsafe fn add(
        &self,
        kernel: &str,
        function: &CudaFunction,
        shape: Shape,
        parameters: &mut [*mut c_void],
    ) -> Result<()> {
        if shape.cooperative {
            let why =
                "it is cooperative, and the counter of its blocks is a stream's; launch it beside the graph";
            return Err(LaunchError::NotInGraph { kernel: kernel.to_string(), why }.into());
        }
        // The lists are only ever pushed to, so that they are whole even if a holder of the lock panicked.
        let mut driver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if driver.ended {
            let why = "its stream is that of a recording which has ended; launch on the stream that the graph was made for";
            return Err(LaunchError::NotInGraph { kernel: kernel.to_string(), why }.into());
        }
        let graph = match &driver.graph {
            Some(graph) => graph.0,
            None => {
                let mut graph = ptr::null_mut();
                // SAFETY: the pointer is to a live handle.
                check("cuGraphCreate", unsafe { sys::cuGraphCreate(&mut graph, 0) }.result())?;
                driver.graph = Some(OwnedGraph(graph));
                graph
            }
        };
        let described = node_params(function, shape, parameters);
        let before = driver.nodes.last().map(|node| node.node);
        // One that waits by itself may begin before the one ahead has ended; drivers know such edges since CUDA 12.3.
        let waits_itself = before.is_some() && shape.dependent && crate::driver::version()? >= (12, 3);
        let ahead = before.as_slice().get(..usize::from(!waits_itself)).unwrap_or_default();
        let mut node = ptr::null_mut();
        // SAFETY: the graph and the node before are live; the driver copies the parameters, as the caller promises them.
        let added = unsafe {
            sys::cuGraphAddKernelNode_v2(&mut node, graph, ahead.as_ptr(), ahead.len(), &described)
        };
        check("cuGraphAddKernelNode", added.result())?;
        if let (true, Some(before)) = (waits_itself, before) {
            let edge = sys::CUgraphEdgeData {
                from_port: sys::CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC as u8,
                to_port: 0,
                type_: sys::CUgraphDependencyType_enum::CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC as u8,
                reserved: [0; 5],
            };
            // SAFETY: both nodes are this graph's kernels, the later of which waits for the earlier one by itself.
            let added = unsafe { sys::cuGraphAddDependencies_v2(graph, &before, &node, &edge, 1) };
            check("cuGraphAddDependencies", added.result())?;
        }
        driver.nodes.push(Node { node, _function: function.clone() });
        Ok(())
    }

    /// A launch takes a tensor, and may write it.
    pub(crate) fn uses(&self, order: &Arc<Order>, writes: bool) {
        let mut driver = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match driver.uses.iter_mut().find(|(known, _)| Arc::ptr_eq(known, order)) {
            Some((_, wrote)) => *wrote |= writes,
            None => driver.uses.push((order.clone(), writes)),
        }
    }
}

fn node_params(
    function: &CudaFunction,
    shape: Shape,
    parameters: &mut [*mut c_void],
) -> sys::CUDA_KERNEL_NODE_PARAMS {
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: function.cu_function(),
        gridDimX: shape.grid[0],
        gridDimY: shape.grid[1],
        gridDimZ: shape.grid[2],
        blockDimX: shape.block[0],
        blockDimY: shape.block[1],
        blockDimZ: shape.block[2],
        sharedMemBytes: shape.dynamic_shared_bytes,
        kernelParams: parameters.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}

/// What the driver has ready.
struct Ready {
    stream: Arc<CudaStream>,
    exec: OwnedExec,
    driver: Driver,
    /// Recorded after each replay.
    replayed: Arc<CudaEvent>,
}

type Chain<S> = Box<dyn FnMut(&Stream, &mut S) -> Result<()> + Send>;

/// A chain of launches on one stream, and what they are launched on.
pub struct Graph<S> {
    stream: Stream,
    state: S,
    chain: Chain<S>,
    /// `None` on the simulator, and where the chain launches nothing.
    ready: Option<Ready>,
}

impl<S> fmt::Debug for Graph<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("stream", &self.stream).field("launches", &self.len()).finish()
    }
}

impl<S> Graph<S> {
    /// Records the launches that `chain` makes on the stream that it is given; on a GPU none of them runs. Kernels that are
    /// not ready are compiled now.
    ///
    /// # Errors
    /// What the chain says; [`LaunchError::OtherStream`] for a tensor that is not of this stream,
    /// [`LaunchError::NotInGraph`] for a cooperative kernel; a failing call of the driver.
    ///
    /// # Safety
    /// - Every tensor that a launch of the chain takes stays allocated, where it is, as long as the graph and its replays:
    ///   `state` owns it or borrows it, and neither the chain nor anybody with [`Graph::state_mut`] puts another into its
    ///   place, unless [`Graph::update`] comes before the next replay.
    /// - Nobody touches a borrowed tensor on the host's side while a replay may still run.
    /// - Where the chain launches on memory that cudarc allocated, no other stream uses that memory while a replay may still run,
    ///   and no replay comes while another stream uses it: there is no list of its users.
    pub unsafe fn record(
        stream: &Stream,
        state: S,
        chain: impl FnMut(&Stream, &mut S) -> Result<()> + Send + 'static,
    ) -> Result<Graph<S>> {
        let mut graph = Graph { stream: stream.clone(), state, chain: Box::new(chain), ready: None };
        graph.ready =
            graph.recorded()?.map(|driver| instantiate(&graph.stream, driver)).transpose()?.flatten();
        Ok(graph)
    }

    /// The chain once more, into a graph that is not ready yet; `None` on the simulator.
    fn recorded(&mut self) -> Result<Option<Driver>> {
        if self.stream.cuda().is_none() {
            return Ok(None);
        }
        let recording = Arc::new(Recording::default());
        let made = (self.chain)(&self.stream.recorded(recording.clone()), &mut self.state);
        let mut driver = recording.0.lock().unwrap_or_else(PoisonError::into_inner);
        let driver = std::mem::replace(&mut *driver, Driver { ended: true, ..Driver::default() });
        made.map(|()| Some(driver))
    }

    /// Records the chain once more, with what `state` holds now. Replays take the new arguments; those that run already keep
    /// the old ones. On the simulator it does nothing, since a replay calls the chain.
    ///
    /// # Errors
    /// As [`Graph::record`]; the graph is as it was before.
    pub fn update(&mut self) -> Result<()> {
        let Some(driver) = self.recorded()? else {
            return Ok(());
        };
        match &mut self.ready {
            Some(ready) if ready.driver.nodes.len() == driver.nodes.len() && exec_update(ready, &driver)? => {
                ready.driver = driver;
                ready.register();
            }
            _ => self.ready = instantiate(&self.stream, driver)?,
        }
        Ok(())
    }

    /// Gives the whole chain to the device, and does not wait for it.
    ///
    /// # Errors
    /// A failing call of the driver; on the simulator what the chain says.
    pub fn launch(&mut self) -> Result<()> {
        let Some(cuda) = self.stream.cuda() else {
            return (self.chain)(&self.stream, &mut self.state);
        };
        let Some(ready) = &self.ready else { return Ok(()) };
        let managed = order::managed(cuda.context());
        for (order, writes) in ready.driver.uses.iter().filter(|_| managed) {
            // SAFETY: that the tensors are there is the duty of `record`.
            unsafe { order.before_replay(cuda, *writes) }?;
        }
        check("cuCtxSetCurrent", cuda.context().bind_to_thread())?;
        // SAFETY: the graph is live and of this stream's context; that its memory is there is the duty of `record`.
        let launched = unsafe { sys::cuGraphLaunch(ready.exec.0, cuda.cu_stream()) };
        check("cuGraphLaunch", launched.result())?;
        if managed {
            order::record(&ready.replayed, cuda)?;
        }
        Ok(())
    }

    /// Launches of the chain; 0 on the simulator, which does not know before it runs.
    pub fn len(&self) -> usize {
        self.ready.as_ref().map_or(0, |ready| ready.driver.nodes.len())
    }

    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the chain is launched on.
    pub fn state(&self) -> &S {
        &self.state
    }

    /// The same, to write new numbers into tensors, or other scalars before [`Graph::update`]. The duty of [`Graph::record`]
    /// holds: a tensor that was recorded stays.
    pub fn state_mut(&mut self) -> &mut S {
        &mut self.state
    }
}

/// A graph that can be launched; `None` where it has no launch.
fn instantiate(stream: &Stream, driver: Driver) -> Result<Option<Ready>> {
    let (Some(cuda), Some(graph)) = (stream.cuda(), &driver.graph) else {
        return Ok(None);
    };
    check("cuCtxSetCurrent", cuda.context().bind_to_thread())?;
    let mut exec = ptr::null_mut();
    // SAFETY: the graph is live, the pointer is to a live handle.
    let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut exec, graph.0, 0) };
    check("cuGraphInstantiate", made.result())?;
    let exec = OwnedExec(exec);
    let replayed = Arc::new(check("cuEventCreate", cuda.context().new_event(None))?);
    let ready = Ready { stream: cuda.clone(), exec, driver, replayed };
    ready.register();
    Ok(Some(ready))
}

impl Ready {
    /// Lets other streams' work on the tensors wait for replays from now on.
    fn register(&self) {
        self.driver
            .uses
            .iter()
            .for_each(|(order, writes)| order.replayed(&self.stream, &self.replayed, *writes));
    }
}

/// Gives a graph that is ready the nodes of another one; `false` where the driver wants a new graph instead.
fn exec_update(ready: &Ready, driver: &Driver) -> Result<bool> {
    let Some(graph) = &driver.graph else { return Ok(false) };
    check("cuCtxSetCurrent", ready.stream.context().bind_to_thread())?;
    let mut result = std::mem::MaybeUninit::uninit();
    // SAFETY: both graphs are live, the pointer is to room for the driver's result, which is not read.
    let updated = unsafe { sys::cuGraphExecUpdate_v2(ready.exec.0, graph.0, result.as_mut_ptr()) };
    match updated {
        sys::CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE => Ok(false),
        other => check("cuGraphExecUpdate", other.result()).map(|()| true).map_err(Error::from),
    }
}

impl<S> Drop for Graph<S> {
    /// Waits for the replays: what they read and write is freed afterwards.
    fn drop(&mut self) {
        if self.ready.is_some() {
            // A kernel that failed is reported by the next call on the stream.
            let _ = self.stream.synchronize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Argument;
    use crate::launch::{LaunchConfig, launch};
    use crate::test_gpu::devices;
    use crate::test_kernels::scale_add;
    use crate::{Device, Tensor};

    struct State {
        a: Tensor<f32, 1>,
        b: Tensor<f32, 1>,
        c: Tensor<f32, 1>,
        scale: f32,
        launches: usize,
    }

    /// `c = a scale + b`, then `b = c scale + a`, as often as the state says.
    fn chain(stream: &Stream, state: &mut State) -> Result<()> {
        let State { a, b, c, scale, launches } = state;
        for number in 0..*launches {
            let (from, into) = if number % 2 == 0 { (&*b, &mut *c) } else { (&*c, &mut *b) };
            let (a, from, mut into) = (a.view(), from.view(), into.view_mut());
            let mut arguments = [
                Argument::read(&a),
                Argument::read(&from),
                Argument::write(&mut into),
                Argument::scalar(*scale),
            ];
            launch(scale_add(), stream, LaunchConfig::default(), &mut arguments)?;
        }
        Ok(())
    }

    fn state(stream: &Stream, launches: usize) -> State {
        let up = |from: usize| {
            let data: Vec<f32> = (0..300).map(|i| ((i + from) % 7) as f32).collect();
            stream.upload(&data, [300]).expect("a tensor")
        };
        State { a: up(0), b: up(3), c: up(5), scale: 2.0, launches }
    }

    #[test]
    fn a_replay_is_the_chain() {
        for device in devices() {
            for stream in [device.stream(), device.new_stream().expect("a stream")] {
                let mut plain = state(&stream, 4);
                // SAFETY: all tensors are of the state and stay in it.
                let mut graph = unsafe { Graph::record(&stream, state(&stream, 4), chain) }.expect("a graph");
                assert_eq!(graph.len(), if device.is_simulator() { 0 } else { 4 });
                let untouched = graph.state().c.download().expect("data");
                assert_eq!(untouched, plain.c.download().expect("data"), "nothing runs while it is recorded");
                let mut same = |graph: &mut Graph<State>, what: &str| {
                    plain.scale = graph.state().scale;
                    plain.launches = graph.state().launches;
                    for _ in 0..3 {
                        chain(&stream, &mut plain).expect("launches");
                        graph.launch().expect("a replay");
                    }
                    assert_eq!(graph.state().b.download(), plain.b.download(), "{what}");
                    assert_eq!(graph.state().c.download(), plain.c.download(), "{what}");
                };
                same(&mut graph, "as recorded");
                graph.state_mut().scale = 0.5;
                graph.update().expect("an update");
                same(&mut graph, "another scalar");
                graph.state_mut().launches = 3;
                graph.update().expect("another chain");
                same(&mut graph, "a launch less");
            }
        }
    }

    #[test]
    fn nothing_is_recorded_of_an_error() {
        for device in devices() {
            let stream = device.stream();
            let wrong = || Error::from(crate::TensorError::TooLarge { shape: vec![7] });
            let fails = move |_: &Stream, _: &mut ()| Err(wrong());
            // SAFETY: nothing is launched.
            let graph = unsafe { Graph::record(&stream, (), fails) };
            // The simulator hears of it at the first replay.
            let error = graph.and_then(|mut graph| graph.launch()).expect_err("the chain's");
            assert_eq!(error, wrong());
        }
        let stream = Device::simulator().stream();
        // SAFETY: nothing is launched.
        let mut empty = unsafe { Graph::record(&stream, (), |_, ()| Ok(())) }.expect("no launches");
        assert!(empty.is_empty() && empty.launch().is_ok());
    }
}
