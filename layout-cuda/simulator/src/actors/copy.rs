//! `cp.async`: issued, in flight, complete.
//!
//! The source is read at the issue, and the destination is written when the issuing thread waits. In between, the
//! shadows of both memories mark the elements as in flight, so an access to the destination or a write to the source
//! is a finding.

use crate::bytecode::{LANES, Sum, Target};
use crate::event::{Access, AccessKind, Event};
use crate::machine::Machine;
use crate::memory::bytes;
use crate::state::lanes::Direction;
use crate::state::warp::CopySource;
use crate::state::warp::{PendingCopy, Warp, each_lane};

impl Machine<'_> {
    pub(crate) fn copy_async(
        &mut self,
        warp: &mut Warp,
        (destination, destination_site): (Sum, u32),
        (source, source_site): (Sum, u32),
        mask: Option<u32>,
    ) {
        let program = self.launch.program;
        let (to, from) = (&program.sites[destination_site as usize], &program.sites[source_site as usize]);
        let (Target::Shared(base), Target::Global(argument)) = (to.target, from.target) else { return };
        let read = self.ready(warp, source, mask, source_site, Direction::Read);
        let (number, elements, kind) = (source_site, &read, AccessKind::AsyncRead);
        self.notify(&Event::Access(Access { warp, site: from, number, elements, kind }));
        let written = self.ready(warp, destination, None, destination_site, Direction::Write);
        let (number, elements, kind) = (destination_site, &written, AccessKind::AsyncWrite);
        self.notify(&Event::Access(Access { warp, site: to, number, elements, kind }));
        let mut pending = PendingCopy {
            lanes: written.active,
            groups: warp.committed,
            offsets: [0; LANES],
            data: [[0; 16]; LANES],
            bytes: to.width * to.bytes,
            site: destination_site,
            source: CopySource {
                argument,
                index: read.index.map(|index| index.wrapping_mul(i64::from(from.cells))),
                active: read.active,
                width: from.width * from.cells,
            },
        };
        let global = &self.launch.globals[argument as usize];
        for lane in each_lane(written.active) {
            pending.offsets[lane] = warp.shared + base + written.index[lane] as u32 * to.bytes;
            if read.active >> lane & 1 == 0 {
                continue;
            }
            for part in 0..from.width {
                let byte = (read.index[lane] as usize + part as usize) * from.bytes as usize;
                let bits = global.read(byte, from.bytes);
                bytes::write(&mut pending.data[lane], (part * from.bytes) as usize, from.bytes, bits);
            }
        }
        warp.pending.push(pending);
    }

    /// Completes all copies of each active lane except those of the last `groups` groups.
    pub(crate) fn wait(&mut self, warp: &mut Warp, groups: u32) {
        let (active, committed) = (warp.active, warp.committed);
        let mut pending = std::mem::take(&mut warp.pending);
        for copy in &mut pending {
            let done = |lane: &usize| {
                u64::from(copy.groups[*lane]) + u64::from(groups) < u64::from(committed[*lane])
            };
            let lanes = each_lane(copy.lanes & active).filter(done).fold(0, |lanes, lane| lanes | 1 << lane);
            copy.lanes &= !lanes;
            let bytes = copy.bytes as usize;
            for lane in each_lane(lanes) {
                let offset = copy.offsets[lane] as usize;
                if let Some(part) = self.shared.get_mut(offset..offset + bytes) {
                    part.copy_from_slice(&copy.data[lane][..bytes]);
                }
            }
            if lanes != 0 {
                self.notify(&Event::CopyCompleted { warp, lanes, copy });
            }
        }
        pending.retain(|copy| copy.lanes != 0);
        if groups == 0 {
            let left = pending.iter().filter(|copy| copy.lanes & active != 0);
            let places = left.map(|copy| self.launch.program.sites[copy.site as usize].place);
            self.diagnostics.borrow_mut().uncommitted.extend(places);
        }
        warp.pending = pending;
    }
}
