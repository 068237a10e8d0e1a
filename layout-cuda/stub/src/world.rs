//! What the driver has: contexts, streams, events, memory; and the judge of their order.
//!
//! Law: work of a stream comes after what was given to it before, after the events that it waits for, and after what the host
//! has waited for. Of two uses of an allocation, one of which writes, one comes after the other, or there is a finding; to
//! allocate and to free is to write.

use crate::clock::{Clock, Epoch};
use crate::graphs::Graphs;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// What calls return.
pub const INVALID_VALUE: u32 = 1;
pub const OUT_OF_MEMORY: u32 = 2;
pub const INVALID_CONTEXT: u32 = 201;
pub const INVALID_HANDLE: u32 = 400;
pub const NOT_READY: u32 = 600;

/// The first GPU's primary context; the next one's is twice that.
pub const FIRST_CONTEXT: usize = 16;

/// What a call does, or its failure.
pub type Answer = Result<(), u32>;

/// A stream. Its handle may be another one's after its end; its number is not.
pub struct Stream {
    pub number: usize,
    pub context: usize,
    pub clock: Clock,
}

/// An event, and what was before its last record.
#[derive(Default)]
pub struct Event {
    pub context: usize,
    pub clock: Option<Clock>,
}

/// An allocation of a GPU.
pub struct Memory {
    pub bytes: Vec<u8>,
    write: (Epoch, String),
    reads: Vec<(Epoch, String)>,
    freed: bool,
}

/// Page-locked memory of the host, and the copies that read it.
pub struct Locked {
    pub bytes: Box<[u8]>,
    pub reads: Vec<Epoch>,
}

/// The driver's state.
#[derive(Default)]
pub struct World {
    /// By handle. The null stream of a context has the context's.
    pub streams: BTreeMap<usize, Stream>,
    /// Handles of streams that have ended. They are given out again, as the driver does.
    pub spare: VecDeque<usize>,
    pub events: BTreeMap<usize, Event>,
    pub memory: BTreeMap<u64, Memory>,
    pub locked: BTreeMap<usize, Locked>,
    pub graphs: Graphs,
    /// What the host has waited for.
    pub host: Clock,
    /// What kernels do with their parameters: the beginning of the name, and a letter for each of the first parameters.
    pub kernels: Vec<(String, String)>,
    pub functions: BTreeMap<usize, String>,
    pub findings: Vec<String>,
    pub calls: u64,
    /// The number of the call that fails.
    pub failing: Option<u64>,
    pub failed: Option<&'static str>,
    /// Random bits for what the driver may answer either way; 0 for none.
    pub bits: u64,
    streams_made: usize,
    handles: usize,
}

/// The state, which is one for the process.
pub fn world() -> MutexGuard<'static, World> {
    static WORLD: LazyLock<Mutex<World>> = LazyLock::new(Mutex::default);
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// A handle that nothing has had before.
    pub fn handle(&mut self) -> usize {
        self.handles += 1;
        0x10_0000 + 16 * self.handles
    }

    /// A new stream under this handle.
    pub fn make_stream(&mut self, handle: usize, context: usize) {
        self.streams_made += 1;
        let stream = Stream { number: self.streams_made, context, clock: Clock::default() };
        self.streams.insert(handle, stream);
    }

    /// The stream of a handle; null and `CU_STREAM_LEGACY` are the current context's.
    pub fn stream(&mut self, handle: usize, context: usize) -> Result<&mut Stream, u32> {
        let handle = match handle {
            0 | 1 if context == 0 => return Err(INVALID_CONTEXT),
            0 | 1 => context,
            handle => handle,
        };
        // `CU_STREAM_PER_THREAD` is one stream here, since tests have one thread.
        if (handle == context || handle == 2) && !self.streams.contains_key(&handle) {
            self.make_stream(handle, context);
        }
        match self.streams.get_mut(&handle) {
            Some(stream) => Ok(stream),
            None => {
                self.findings.push(format!("a stream is used that is none: {handle:#x}"));
                Err(INVALID_HANDLE)
            }
        }
    }

    /// One more operation of a stream, and what is before it.
    pub fn step(&mut self, handle: usize, context: usize) -> Result<(Epoch, Clock), u32> {
        let host = self.host.clone();
        let stream = self.stream(handle, context)?;
        stream.clock.join(&host);
        let epoch = stream.clock.step(stream.number);
        Ok((epoch, stream.clock.clone()))
    }

    /// The event of a handle.
    pub fn event(&mut self, handle: usize, call: &str) -> Result<&mut Event, u32> {
        if !self.events.contains_key(&handle) {
            self.findings.push(format!("{call} of an event that is none: {handle:#x}"));
        }
        self.events.get_mut(&handle).ok_or(INVALID_HANDLE)
    }

    /// New memory, which the operation has made.
    pub fn allocate(&mut self, bytes: usize, epoch: Epoch) -> u64 {
        let address = 256
            * self
                .memory
                .last_key_value()
                .map_or(0x1000, |(last, memory)| (last + memory.bytes.len() as u64).div_ceil(256) + 1);
        let write = (epoch, "its allocation".to_string());
        let memory = Memory { bytes: vec![0xcd; bytes], write, reads: vec![], freed: false };
        self.memory.insert(address, memory);
        address
    }

    /// An operation uses the allocation that an address is in.
    pub fn access(
        &mut self,
        address: u64,
        (epoch, clock): &(Epoch, Clock),
        writes: bool,
        what: &str,
    ) -> Answer {
        let found = self.memory.range_mut(..=address).next_back();
        let found = found.filter(|(first, memory)| address < **first + memory.bytes.len() as u64);
        let Some((first, memory)) = found else {
            self.findings.push(format!("{what} at {address:#x}, where no memory is"));
            return Err(INVALID_VALUE);
        };
        if memory.freed {
            self.findings.push(format!("{what} at {first:#x} after it was freed"));
            return Ok(());
        }
        let before = std::iter::once(&memory.write).chain(memory.reads.iter().filter(|_| writes));
        for (earlier, name) in before.filter(|(earlier, _)| !clock.reaches(*earlier)) {
            let [from, to] = [earlier.stream, epoch.stream];
            self.findings
                .push(format!("{what} at {first:#x} on stream {to} does not wait for {name} on {from}"));
        }
        match writes {
            true => {
                memory.write = (*epoch, what.to_string());
                memory.reads.clear();
            }
            false => memory.reads.push((*epoch, what.to_string())),
        }
        Ok(())
    }

    /// An allocation ends, in the order of an operation or, without one, after what the host has waited for.
    pub fn free(&mut self, address: u64, at: Option<(Epoch, Clock)>) -> Answer {
        match self.memory.get(&address).map(|memory| memory.freed) {
            None => self.findings.push(format!("{address:#x} is freed, where no memory begins")),
            Some(true) => self.findings.push(format!("{address:#x} is freed twice")),
            Some(false) => {
                let at = at.unwrap_or((Epoch { stream: 0, count: 0 }, self.host.clone()));
                self.access(address, &at, true, "its end")?;
                if let Some(memory) = self.memory.get_mut(&address) {
                    memory.freed = true;
                }
            }
        }
        Ok(())
    }

    /// Allocations that are not freed.
    pub fn allocated(&self) -> usize {
        self.memory.values().filter(|memory| !memory.freed).count()
    }

    /// Forgets all memory and all order, as if everything so far had ended: for long tests.
    pub fn restart(&mut self) {
        self.memory.clear();
        self.host = Clock::default();
        self.events.values_mut().for_each(|event| event.clock = None);
        self.streams_made = self.streams.len();
        for (number, stream) in self.streams.values_mut().enumerate() {
            (stream.number, stream.clock) = (number + 1, Clock::default());
        }
    }

    /// The bytes between an address and the end of its allocation.
    pub fn bytes(&mut self, address: u64) -> &mut [u8] {
        match self.memory.range_mut(..=address).next_back() {
            Some((first, memory)) => memory.bytes.get_mut((address - first) as usize..).unwrap_or_default(),
            None => &mut [],
        }
    }

    /// A random bit where the driver may answer either way; `false` where a test has not called `stub_chance`.
    pub fn chance(&mut self) -> bool {
        if self.bits == 0 {
            return false;
        }
        self.bits = self.bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.bits >> 63 == 1
    }
}
