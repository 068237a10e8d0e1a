//! CUDA's calls, as far as cudarc and `layout-cuda` make them.
//!
//! Law: a call that fails does nothing.

use crate::clock::Clock;
use crate::world::{
    Answer, Event, FIRST_CONTEXT, INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, Locked, NOT_READY,
    OUT_OF_MEMORY, World, world,
};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// GPUs.
const DEVICES: c_int = 2;

thread_local! {
    /// The context of the thread; 0 is none.
    static CURRENT: Cell<usize> = const { Cell::new(0) };
}

/// Does a call, unless it is the one that is to fail.
fn call(name: &'static str, act: impl FnOnce(&mut World, usize) -> Answer) -> u32 {
    let mut world = world();
    world.calls += 1;
    if world.failing == Some(world.calls) {
        world.failed = Some(name);
        return OUT_OF_MEMORY;
    }
    act(&mut world, CURRENT.get()).err().unwrap_or(0)
}

macro_rules! calls {
    ($(fn $name:ident($($argument:ident: $kind:ty),*) |$world:ident, $context:ident| $act:block)*) => {$(
        /// The call of that name.
        ///
        /// # Safety
        /// - As CUDA's documentation says of it: pointers are to what it reads or writes.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> u32 {
            call(stringify!($name), |$world, $context| {
                let _ = (&$world, $context);
                // SAFETY: as the caller promises.
                #[allow(unused_unsafe)]
                unsafe { $act }
            })
        }
    )*};
}

calls! {
    fn cuInit(_flags: c_uint) |world, context| { Ok(()) }
    fn cuDriverGetVersion(version: *mut c_int) |world, context| { *version = 13_000; Ok(()) }
    fn cuDeviceGetCount(count: *mut c_int) |world, context| { *count = DEVICES; Ok(()) }
    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) |world, context| { *device = ordinal; Ok(()) }
    fn cuDeviceGetName(name: *mut c_char, _room: c_int, _device: c_int) |world, context| {
        let own = c"Stub";
        std::ptr::copy_nonoverlapping(own.as_ptr(), name, own.count_bytes() + 1);
        Ok(())
    }
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, _device: c_int) |world, context| {
        *value = match attribute {
            75 => 9, // the compute capability's major number
            76 => 0,
            16 => 132, // multiprocessors
            97 => 232_448, // bytes of shared memory of a block
            38 => 50 << 20, // bytes of the L2 cache
            115 => 1, // pools of memory
            _ => 0,
        };
        Ok(())
    }
    fn cuDevicePrimaryCtxRetain(made: *mut usize, device: c_int) |world, context| {
        *made = FIRST_CONTEXT * (1 + device as usize);
        Ok(())
    }
    fn cuDevicePrimaryCtxRelease_v2(_device: c_int) |world, context| { Ok(()) }
    fn cuCtxGetCurrent(current: *mut usize) |world, context| { *current = context; Ok(()) }
    fn cuCtxSetCurrent(current: usize) |world, context| { CURRENT.set(current); Ok(()) }
    fn cuCtxSynchronize() |world, context| {
        let own = world.streams.values().filter(|stream| stream.context == context);
        let clocks: Vec<Clock> = own.map(|stream| stream.clock.clone()).collect();
        clocks.iter().for_each(|clock| world.host.join(clock));
        Ok(())
    }

    fn cuStreamCreate(stream: *mut usize, _flags: c_uint) |world, context| {
        if context == 0 {
            return Err(INVALID_CONTEXT);
        }
        let handle = match world.spare.pop_front() {
            Some(spare) => spare,
            None => world.handle(),
        };
        world.make_stream(handle, context);
        *stream = handle;
        Ok(())
    }
    fn cuStreamDestroy_v2(stream: usize) |world, context| {
        world.stream(stream, context)?;
        world.streams.remove(&stream);
        world.spare.push_back(stream);
        Ok(())
    }
    fn cuStreamSynchronize(stream: usize) |world, context| {
        let clock = world.stream(stream, context)?.clock.clone();
        world.host.join(&clock);
        Ok(())
    }
    fn cuStreamWaitEvent(stream: usize, event: usize, _flags: c_uint) |world, context| {
        let clock = world.event(event, "a wait")?.clock.clone();
        let stream = world.stream(stream, context)?;
        clock.iter().for_each(|clock| stream.clock.join(clock));
        Ok(())
    }

    fn cuEventCreate(event: *mut usize, _flags: c_uint) |world, context| {
        if context == 0 {
            return Err(INVALID_CONTEXT);
        }
        let handle = world.handle();
        world.events.insert(handle, Event { context, clock: None });
        *event = handle;
        Ok(())
    }
    fn cuEventDestroy_v2(event: usize) |world, context| {
        world.event(event, "the end")?;
        world.events.remove(&event);
        Ok(())
    }
    fn cuEventRecord(event: usize, stream: usize) |world, context| {
        let host = world.host.clone();
        let stream = world.stream(stream, context)?;
        stream.clock.join(&host);
        let (own, clock) = (stream.context, stream.clock.clone());
        let event = world.event(event, "a record")?;
        if event.context != own {
            return Err(INVALID_HANDLE);
        }
        event.clock = Some(clock);
        Ok(())
    }
    fn cuEventQuery(event: usize) |world, context| {
        let clock = world.event(event, "a query")?.clock.clone().unwrap_or_default();
        // What has not been waited for may have ended, too.
        if !world.host.covers(&clock) && !world.chance() {
            return Err(NOT_READY);
        }
        world.host.join(&clock);
        Ok(())
    }
    fn cuEventSynchronize(event: usize) |world, context| {
        let clock = world.event(event, "a wait of the host")?.clock.clone().unwrap_or_default();
        world.host.join(&clock);
        Ok(())
    }

    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) |world, context| {
        (*free, *total) = (1 << 30, 1 << 31);
        Ok(())
    }
    fn cuMemAllocAsync(address: *mut u64, bytes: usize, stream: usize) |world, context| {
        if bytes == 0 || bytes > 1 << 30 {
            return Err(if bytes == 0 { INVALID_VALUE } else { OUT_OF_MEMORY });
        }
        let (epoch, _) = world.step(stream, context)?;
        *address = world.allocate(bytes, epoch);
        Ok(())
    }
    fn cuMemFreeAsync(address: u64, stream: usize) |world, context| {
        let at = world.step(stream, context)?;
        world.free(address, Some(at))
    }
    fn cuMemsetD8Async(address: u64, byte: u8, bytes: usize, stream: usize) |world, context| {
        let at = world.step(stream, context)?;
        world.access(address, &at, true, "a fill")?;
        world.bytes(address).get_mut(..bytes).ok_or(INVALID_VALUE)?.fill(byte);
        Ok(())
    }
    fn cuMemcpyHtoDAsync_v2(address: u64, from: *const u8, bytes: usize, stream: usize) |world, context| {
        let at = world.step(stream, context)?;
        world.access(address, &at, true, "a copy from the host")?;
        let source = std::slice::from_raw_parts(from, bytes);
        world.bytes(address).get_mut(..bytes).ok_or(INVALID_VALUE)?.copy_from_slice(source);
        let found = world.locked.range_mut(..=from as usize).next_back();
        if let Some((_, locked)) = found.filter(|(first, locked)| (from as usize) < **first + locked.bytes.len()) {
            locked.reads.push(at.0);
        }
        Ok(())
    }
    fn cuMemcpyDtoHAsync_v2(to: *mut u8, address: u64, bytes: usize, stream: usize) |world, context| {
        let at = world.step(stream, context)?;
        world.access(address, &at, false, "a copy to the host")?;
        let source = world.bytes(address).get(..bytes).ok_or(INVALID_VALUE)?;
        std::ptr::copy_nonoverlapping(source.as_ptr(), to, bytes);
        Ok(())
    }
    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: usize) |world, context| {
        copy(world, context, [to, from], bytes, stream)
    }
    fn cuMemcpyPeerAsync(to: u64, _there: usize, from: u64, _here: usize, bytes: usize, stream: usize) |world, context| {
        copy(world, context, [to, from], bytes, stream)
    }
    fn cuMemHostAlloc(made: *mut *mut c_void, bytes: usize, _flags: c_uint) |world, context| {
        let mut bytes = vec![0u8; bytes].into_boxed_slice();
        let address = bytes.as_mut_ptr();
        world.locked.insert(address as usize, Locked { bytes, reads: vec![] });
        *made = address.cast();
        Ok(())
    }
    fn cuMemFreeHost(address: usize) |world, context| {
        world.locked.remove(&address).map(drop).ok_or(INVALID_VALUE)
    }
    fn cuPointerGetAttribute(value: *mut c_uint, _attribute: c_uint, address: u64) |world, context| {
        let found = world.locked.range(..=address as usize).next_back();
        let inside = |(first, locked): &(&usize, &Locked)| (address as usize) < **first + locked.bytes.len();
        found.filter(inside).ok_or(INVALID_VALUE)?;
        *value = 1;
        Ok(())
    }

    fn cuModuleLoadData(module: *mut usize, _image: *const c_void) |world, context| {
        *module = world.handle();
        Ok(())
    }
    fn cuModuleUnload(_module: usize) |world, context| { Ok(()) }
    fn cuModuleGetFunction(function: *mut usize, _module: usize, name: *const c_char) |world, context| {
        let handle = world.handle();
        world.functions.insert(handle, CStr::from_ptr(name).to_string_lossy().into_owned());
        *function = handle;
        Ok(())
    }
    fn cuFuncSetAttribute(_function: usize, _attribute: c_uint, _value: c_int) |world, context| { Ok(()) }
    fn cuFuncGetAttribute(value: *mut c_int, _attribute: c_uint, _function: usize) |world, context| {
        *value = 0;
        Ok(())
    }
    fn cuLaunchKernel(
        function: usize,
        _gx: c_uint,
        _gy: c_uint,
        _gz: c_uint,
        _bx: c_uint,
        _by: c_uint,
        _bz: c_uint,
        _shared: c_uint,
        stream: usize,
        parameters: *const *const u64,
        _extra: *const c_void
    ) |world, context| {
        let uses = world.uses(function, parameters)?;
        world.launch(&uses, stream, context)
    }

    fn cuGraphCreate(graph: *mut usize, _flags: c_uint) |world, context| {
        *graph = world.handle();
        world.graphs.growing.insert(*graph, vec![]);
        Ok(())
    }
    fn cuGraphDestroy(graph: usize) |world, context| {
        world.graphs.growing.remove(&graph).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuGraphAddKernelNode_v2(
        node: *mut usize,
        graph: usize,
        _before: *const usize,
        _count: usize,
        described: *const Node
    ) |world, context| {
        let uses = world.uses((*described).function, (*described).parameters)?;
        *node = world.handle();
        world.graphs.growing.get_mut(&graph).ok_or(INVALID_HANDLE)?.push(uses);
        Ok(())
    }
    fn cuGraphAddDependencies_v2(
        graph: usize,
        _from: *const usize,
        _to: *const usize,
        _edges: *const c_void,
        _count: usize
    ) |world, context| {
        // Nodes run in the order in which they were added, which every edge follows.
        world.graphs.growing.get(&graph).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuGraphInstantiateWithFlags(ready: *mut usize, graph: usize, _flags: u64) |world, context| {
        let nodes = world.graphs.growing.get(&graph).ok_or(INVALID_HANDLE)?.clone();
        *ready = world.handle();
        world.graphs.ready.insert(*ready, nodes);
        Ok(())
    }
    fn cuGraphExecUpdate_v2(ready: usize, graph: usize, _result: *mut c_void) |world, context| {
        let nodes = world.graphs.growing.get(&graph).ok_or(INVALID_HANDLE)?.clone();
        *world.graphs.ready.get_mut(&ready).ok_or(INVALID_HANDLE)? = nodes;
        Ok(())
    }
    fn cuGraphExecDestroy(ready: usize) |world, context| {
        world.graphs.ready.remove(&ready).map(drop).ok_or(INVALID_HANDLE)
    }
    fn cuGraphLaunch(ready: usize, stream: usize) |world, context| {
        let nodes = world.graphs.ready.get(&ready).ok_or(INVALID_HANDLE)?.clone();
        nodes.iter().try_for_each(|uses| world.launch(uses, stream, context))
    }
}

/// `CUDA_KERNEL_NODE_PARAMS`, as far as it is read.
#[repr(C)]
pub struct Node {
    function: usize,
    _extents: [c_uint; 6],
    _shared: c_uint,
    parameters: *const *const u64,
}

fn copy(world: &mut World, context: usize, [to, from]: [u64; 2], bytes: usize, stream: usize) -> Answer {
    let at = world.step(stream, context)?;
    world.access(from, &at, false, "a copy's read")?;
    world.access(to, &at, true, "a copy's write")?;
    let source = world.bytes(from).get(..bytes).ok_or(INVALID_VALUE)?.to_vec();
    world.bytes(to).get_mut(..bytes).ok_or(INVALID_VALUE)?.copy_from_slice(&source);
    Ok(())
}
