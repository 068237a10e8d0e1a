//! The last write, or the last read, of each element of a range: which thread, at which line and step.
//!
//! Law: it observes events as an analysis does, and is on only while such an access is looked for.

use crate::bytecode::{Program, Target};
use crate::event::{self, AccessKind, Event};
use crate::memory::tensor_map::PIECE;
use crate::state::warp::{Warp, each_lane};
use std::collections::HashMap;
use std::ops::Range;

/// Memory whose accesses are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// A tensor argument.
    Global(u32),
    /// The shared memory of the cluster's blocks.
    Shared,
}

/// A write or a read of an element.
///
/// ```
/// # use layout_simulator::Access;
/// let access = Access { block: 0, warp: 1, lane: Some(3), line: 7, step: 40 };
/// assert_eq!(access.to_string(), "warp 1 lane 3, line 7, step 40");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The number of the block in the grid.
    pub block: u64,
    /// The warp of the cluster.
    pub warp: u32,
    /// The lane; `None` where an asynchronous copy wrote, which no thread did.
    pub lane: Option<u32>,
    /// The line in the kernel's Rust file.
    pub line: u32,
    /// The step.
    pub step: u64,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lane {
            Some(lane) => write!(f, "warp {} lane {lane}", self.warp)?,
            None => write!(f, "a copy")?,
        }
        write!(f, ", line {}, step {}", self.line, self.step)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Trail {
    pub memory: Memory,
    /// Bytes of the argument, or of the cluster's shared memory.
    pub bytes: Range<usize>,
    /// By the first byte of an element.
    pub last: HashMap<usize, Access>,
    /// Whether writes are looked for, or reads.
    pub writes: bool,
    /// Whether this memory began anew: a cluster started.
    pub begun: bool,
}

impl Trail {
    pub(crate) fn new(memory: Memory, bytes: Range<usize>, writes: bool) -> Trail {
        Trail { memory, bytes, last: HashMap::new(), writes, begun: false }
    }

    pub(crate) fn on_event(&mut self, event: &Event<'_>, program: &Program, step: u64) {
        match event {
            Event::Start if self.memory == Memory::Shared => {
                self.last.clear();
                self.begun = true;
            }
            Event::Access(access) => self.access(access, step),
            Event::LoadCompleted { site, pieces, size, .. }
                if self.writes && self.memory == Memory::Shared =>
            {
                let line = program.sites[*site as usize].line;
                let width = program.sites[*site as usize].bytes.max(1) as usize;
                for (address, _) in *pieces {
                    let first = *address as usize;
                    for byte in (first..first + size).step_by(width) {
                        self.note(byte, Access { block: 0, warp: 0, lane: None, line, step });
                    }
                }
            }
            Event::BoxStoreCompleted { warp, copy, .. } => {
                let plan = &program.async_ops.boxes[copy.plan as usize];
                if self.writes && self.memory == Memory::Global(plan.argument) {
                    let written = by(warp, copy.lane, program.sites[copy.sites.0 as usize].line, step);
                    plan.each(0, copy.coordinates, |piece| {
                        for element in piece.start..piece.end.min(PIECE as u32) {
                            let byte = piece.global + i64::from(element * plan.size);
                            self.note(usize::try_from(byte).unwrap_or(usize::MAX), written);
                        }
                    });
                }
            }
            _ => {}
        }
    }

    fn access(&mut self, access: &event::Access<'_>, step: u64) {
        let event::Access { warp, site, elements, .. } = access;
        let writes = match access.kind {
            AccessKind::Load(_) | AccessKind::AsyncRead => false,
            AccessKind::Store(..)
            | AccessKind::AsyncWrite
            | AccessKind::RemoteWrite
            | AccessKind::BarrierInit
            | AccessKind::Atomic(_) => true,
        };
        let base = match (site.target, self.memory) {
            (Target::Global(argument), Memory::Global(own)) if argument == own => 0,
            (Target::Shared(base), Memory::Shared) => i64::from(warp.shared + base),
            _ => return,
        };
        for lane in each_lane(if writes == self.writes { elements.active } else { 0 }) {
            let bytes = i64::from(site.bytes);
            for part in 0..i64::from(site.width) {
                let byte = base + (elements.index[lane] + part) * bytes;
                self.note(usize::try_from(byte).unwrap_or(usize::MAX), by(warp, lane, site.line, step));
            }
        }
    }

    fn note(&mut self, byte: usize, written: Access) {
        if self.bytes.contains(&byte) {
            self.last.insert(byte, written);
        }
    }
}

fn by(warp: &Warp, lane: usize, line: u32, step: u64) -> Access {
    Access { block: warp.block, warp: warp.number, lane: Some(lane as u32), line, step }
}
