//! The left operand of a product of a warpgroup in registers.
//!
//! Law: register `h + 2 j` of a step of 32 bytes of `k` is element `[h, j]` of the thread's part, which is row
//! `t % 32 / 4 + 8 h` of the warp's sixteen and column `t % 4 + 4 j`; each is rounded to tf32 before the product's fence.

use super::lower::{Failed, Lower, Out};
use crate::kernel::asynchronous::{MatrixSource, Signal};
use crate::kernel::elem::Elem;
use crate::kernel::index::Index;
use crate::kernel::origin::Origin;
use crate::kernel::program::{Math, Statement, StatementKind, Value};
use crate::kernel::view::View;

impl Lower {
    /// A left operand in registers, four for each 32 bytes of `k`; its rows; its `k`. Rounded to tf32 where it lies.
    pub(super) fn fragments(
        &mut self,
        view: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(Vec<MatrixSource>, i64, i64), Failed> {
        let place = self.tables.place(view.place).clone();
        let shape: Vec<_> = view.modes.iter().map(|mode| (mode.extent.as_constant(), mode.lanes)).collect();
        let steps = match shape.as_slice() {
            [(Some(2), 1), (Some(fours), 1)] if place.elem == Elem::F32 && fours % 2 == 0 => fours / 2,
            _ => {
                return self.fail(
                    origin,
                    format!("`wgmma` of `{}`, which is no operand in registers", place.name),
                    "there it is of f32 and a thread's part of 16 rows: \
                     `tile([16, k], [warp, 0]).distribute(row_major([8, 4]), lane).to_local()`",
                );
            }
        };
        // The fence of the product comes after what is written to its registers.
        let fence = out.pop_if(|last| matches!(last.kind, StatementKind::Signal(Signal::MatrixFence)));
        let mut list = Vec::new();
        for step in 0..steps {
            let mut parts = Vec::new();
            for (far, half) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let at = [Index::constant(half), Index::constant(2 * step + far)];
                let part = self.access(view, &at, &[0, 0], origin)?;
                let rounded = Value::Math(Math::RoundTf32, vec![Value::Load(Box::new(part.clone()))]);
                let kind = StatementKind::Store(part.clone(), rounded);
                out.push(Statement { kind, origin });
                parts.push(part);
            }
            list.push(MatrixSource::Registers(parts));
        }
        out.extend(fence);
        Ok((list, 64, 8 * steps))
    }
}
