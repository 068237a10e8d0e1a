//! `store_async`: stores of registers to another block's shared memory that complete later.
//!
//! They are in flight like boxes (see [`super::transfer`]), and their bytes count at an mbarrier of the destination
//! block. They need no proxy fence. The destination block cannot end before they complete, since its phase waits for
//! them.

use super::load_store::shared_byte;
use crate::async_op::BarrierOperand;
use crate::bytecode::{LANES, Sum};
use crate::event::{Access, AccessKind, Event};
use crate::machine::Machine;
use crate::memory::tensor_map::PIECE;
use crate::state::lanes::Direction;
use crate::state::proxy::SharedCopy;
use crate::state::warp::{Warp, each_lane};

impl Machine<'_> {
    /// Each active lane stores registers `src ..`, one for each element of the site.
    pub(crate) fn remote_store(
        &mut self,
        warp: &mut Warp,
        (src, floats): (u32, bool),
        (address, number): (Sum, u32),
        barrier: &BarrierOperand,
    ) {
        let program = self.launch.program;
        let site = &program.sites[number as usize];
        let crate::bytecode::Target::Shared(base) = site.target else { return };
        let elements = self.placed(warp, address, None, number, Direction::Write);
        let barriers = self.ready(warp, barrier.index, None, barrier.site, Direction::Write);
        self.notify(&Event::Access(Access {
            warp,
            site,
            number,
            elements: &elements,
            kind: AccessKind::RemoteWrite,
        }));
        let (width, stride) = (site.width as usize, crate::state::cluster::stride(program) as usize);
        let mut open = elements.active & barriers.active;
        // The stores with one mbarrier complete together.
        while open != 0 {
            let first = open.trailing_zeros() as usize;
            let rank = shared_byte(warp, base, elements.index[first], site.bytes) / stride;
            let mut pieces = Vec::with_capacity(LANES);
            for lane in each_lane(open) {
                let byte = shared_byte(warp, base, elements.index[lane], site.bytes);
                if byte / stride != rank || barriers.index[lane] != barriers.index[first] {
                    continue;
                }
                let mut data = [0; PIECE];
                for at in 0..width {
                    let register = src as usize + at;
                    let bits = match floats {
                        true => warp.f32[register][lane].to_bits(),
                        false => warp.int[register][lane] as u32,
                    };
                    data[4 * at..4 * at + 4].copy_from_slice(&bits.to_le_bytes());
                }
                pieces.push((byte as u32, data));
                open &= !(1 << lane);
            }
            self.notify(&Event::BarrierAccess { warp, site: barrier.site, elements: &barriers, rank });
            let at = self.barrier_at(rank, barrier, barriers.index[first]);
            let size = 4 * width;
            let bytes = (size * pieces.len()) as u64;
            let copied =
                SharedCopy { site: number, bytes, size, by_threads: true, what: "an asynchronous store" };
            self.issue_load(warp, first, &copied, (at, barrier.site), pieces);
        }
        self.clocks.of(warp.number).tick();
    }
}
