//! `cp.async`: issued, in flight, landed.
//!
//! The source is read when the copy is issued; the destination changes when the thread that issued it waits. In between
//! the destination's shadow says that a copy is in flight, so that whoever touches it is found, and the source's, so that
//! whoever writes it is.

use super::bytecode::{LANES, Sum, Target};
use super::machine::Machine;
use super::memory;
use super::touch::Kind;
use super::warp::{Pending, Source, Warp, each_lane};
use super::watch::Write;

impl Machine<'_> {
    /// Issues `cp.async`: the source is read now, the destination is in flight until the wait.
    pub(super) fn copy_async(
        &mut self,
        warp: &mut Warp,
        (destination, destination_site): (Sum, u32),
        (source, source_site): (Sum, u32),
        mask: Option<u32>,
    ) {
        let program = self.launch.program;
        let (to, from) = (&program.sites[destination_site as usize], &program.sites[source_site as usize]);
        let (Target::Shared(base), Target::Global(argument)) = (to.target, from.target) else { return };
        let read = self.ready(warp, source, mask, source_site, Kind::Read);
        self.watch_reads_of(warp, from, source_site, &read, true);
        self.cover_reads(warp, (from, source_site), &read);
        self.count(from, source_site, &read, Kind::Read);
        let written = self.ready(warp, destination, None, destination_site, Kind::Write);
        self.watch_writes(warp, to, destination_site, &written, 0, Write::InFlight);
        self.count(to, destination_site, &written, Kind::Write);
        let mut pending = Pending {
            lanes: written.open,
            groups: warp.committed,
            offsets: [0; LANES],
            data: [[0; 16]; LANES],
            bytes: to.width * to.bytes,
            site: destination_site,
            source: self.launch.shadows.get(argument as usize).and_then(Option::as_ref).map(|_| {
                Box::new(Source { argument, index: read.index, open: read.open, width: from.width })
            }),
        };
        let global = &self.launch.globals[argument as usize];
        for lane in each_lane(written.open) {
            pending.offsets[lane] = warp.shared + base + written.index[lane] as u32 * to.bytes;
            if read.open >> lane & 1 == 0 {
                continue;
            }
            for part in 0..from.width {
                let byte = (read.index[lane] as usize + part as usize) * from.bytes as usize;
                let bits = global.read(byte, from.bytes);
                memory::write(&mut pending.data[lane], (part * from.bytes) as usize, from.bytes, bits);
            }
        }
        warp.pending.push(pending);
    }

    /// Lands the copies of all but the last `groups` groups of each active lane.
    pub(super) fn wait(&mut self, warp: &mut Warp, groups: u32) {
        let shift = self.launch.program.granule.trailing_zeros();
        let (active, committed) = (warp.active, warp.committed);
        let who = self.clocks.who(warp.number, warp.active);
        for pending in &mut warp.pending {
            for lane in each_lane(pending.lanes & active) {
                if u64::from(pending.groups[lane]) + u64::from(groups) >= u64::from(committed[lane]) {
                    continue;
                }
                pending.lanes &= !(1 << lane);
                let (offset, bytes) = (pending.offsets[lane] as usize, pending.bytes as usize);
                if let Some(part) = self.shared.get_mut(offset..offset + bytes) {
                    part.copy_from_slice(&pending.data[lane][..bytes]);
                }
                if let Some(Source { argument, index, open, width }) = pending.source.as_deref()
                    && let Some(Some(shadow)) = self.launch.shadows.get(*argument as usize)
                    && open >> lane & 1 != 0
                {
                    let first = index[lane] as usize;
                    let elements = first..first + *width as usize;
                    elements.for_each(|element| shadow.land_read(element, who.lane(lane)));
                }
                if let Some(shadow) = &mut self.shadow {
                    let first = offset >> shift;
                    for cell in first..first + (bytes >> shift).max(1) {
                        shadow.land(cell, who.lane(lane), pending.site);
                    }
                }
            }
        }
        warp.pending.retain(|pending| pending.lanes != 0);
    }
}
