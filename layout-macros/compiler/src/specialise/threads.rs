//! The meaning of the words for the indices of a thread, and for barriers.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use crate::index::{Atom, Index, Range};
use crate::intrinsic::Intrinsic;
use crate::ir::Special;
use crate::origin::Origin;
use crate::program::{Participants, StatementKind};

impl Evaluator<'_> {
    pub(super) fn thread_word(&mut self, intrinsic: Intrinsic, origin: Origin) -> Outcome<StaticValue> {
        match intrinsic {
            Intrinsic::Barrier => self.effect(origin, StatementKind::Barrier(Participants::Block)),
            Intrinsic::GridBarrier if !self.cooperative => self.fail_help(
                origin,
                "`grid_barrier()` in a kernel whose blocks need not run at the same time",
                "write `cooperative = true` in the attribute",
            ),
            Intrinsic::GridBarrier => self.effect(origin, StatementKind::Barrier(Participants::Grid)),
            Intrinsic::SyncWarp => self.effect(origin, StatementKind::Barrier(Participants::Warp)),
            Intrinsic::LaneId | Intrinsic::WarpId => {
                let thread = self.linear_thread(origin)?;
                let warp = Index::constant(32);
                let atoms = &mut self.tables.atoms;
                let result = if intrinsic == Intrinsic::LaneId {
                    atoms.rem(&thread, &warp)
                } else {
                    atoms.div(&thread, &warp)
                };
                Ok(StaticValue::Index(self.index(origin, result)?))
            }
            _ => self.meaningless(intrinsic.name(), origin),
        }
    }

    /// The thread's number in its block, `x` fastest.
    pub(super) fn linear_thread(&mut self, origin: Origin) -> Outcome<Index> {
        let mut sum = Index::constant(0);
        let mut stride = 1i64;
        for axis in 0..3u32 {
            let count = i64::from(self.block[axis as usize]);
            if count > 1 {
                let range = Range::new(0, i128::from(count - 1));
                let atom = self.tables.atoms.intern(Atom::Special(Special::ThreadIdx, axis), range, 1, None);
                let next = sum.add_scaled(&Index::atom(atom), stride);
                sum = self.index(origin, next)?;
            }
            stride *= count;
        }
        Ok(sum)
    }
}
