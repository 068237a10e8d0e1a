//! The left operand of a warpgroup product in registers.
//!
//! Law: with `e` elements in 32 bits, element `h`, `e j + i` of the thread's part is in row `t % 32 / 4 + 8 h` of the
//! warp's sixteen rows and in column `e (t % 4) + i + 4 e j`. Its register is `h + 2 j`; four successive registers
//! are the operand of a step over 32 bytes of `k`. An f32 is rounded to tf32 before the product's fence.

use super::lower::{Failed, Lower, Out};
use crate::elem::Elem;
use crate::index::Index;
use crate::math::Math;
use crate::origin::Origin;
use crate::program::{Access, MatrixSource, Signal, Statement, StatementKind, Value};
use crate::view::View;

impl Lower {
    /// A left operand in registers, four for each 32 bytes of `k`; its rows; its `k`. An f32 is rounded to tf32 where it is.
    pub(super) fn fragments(
        &mut self,
        view: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(Vec<MatrixSource>, i64, i64), Failed> {
        let place = self.tables.place(view.place).clone();
        let shape: Vec<_> = view.modes.iter().map(|mode| (mode.extent.as_constant(), mode.lanes)).collect();
        let lanes = view.modes.last().map_or(1, |mode| mode.lanes);
        // Elements of a register, which are neighbours.
        let pack = 4 / i64::from(place.elem.bytes()).clamp(1, 4);
        let steps = match shape.as_slice() {
            [(Some(2), 1), (Some(vectors), lanes)] if vectors * lanes % (2 * pack) == 0 => {
                vectors * lanes / (2 * pack)
            }
            _ => {
                return self.fail(
                    origin,
                    format!("`wgmma` of `{}`, which is no operand in registers", place.name),
                    &format!(
                        "there it is a thread's part of 16 rows: \
                         `tile([16, k], [warp, 0]).vectorize([1, {pack}]).distribute(row_major([8, 4]), lane).to_local()`"
                    ),
                );
            }
        };
        // The fence of the product comes after what is written to its registers.
        let fence = out.pop_if(|last| matches!(last.kind, StatementKind::Signal(Signal::MatrixFence)));
        let mut list = Vec::new();
        for step in 0..steps {
            let mut parts = Vec::new();
            for (far, half) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let mut word: Option<Access> = None;
                for lane in 0..pack {
                    let column = pack * (2 * step + far) + lane;
                    let at = [Index::constant(half), Index::constant(column / lanes)];
                    let part = self.access(view, &at, &[0, column % lanes], origin)?;
                    if place.elem == Elem::F32 {
                        let rounded = Value::Math(Math::RoundTf32, vec![Value::Load(Box::new(part.clone()))]);
                        let kind = StatementKind::Store(part.clone(), rounded);
                        out.push(Statement { kind, origin });
                    }
                    let index = part.index.as_constant();
                    let begin = word.as_ref().map_or(index, |first| first.index.as_constant());
                    if index.is_none()
                        || begin.is_none_or(|at| at % pack != 0)
                        || index != begin.map(|at| at + lane)
                    {
                        return self.fail(
                            origin,
                            format!(
                                "`wgmma` of `{}`, whose {pack} neighbours in `k` are not adjacent in its registers",
                                place.name
                            ),
                            "make the vectors contiguous, as `to_local()` does",
                        );
                    }
                    word.get_or_insert(part);
                }
                parts.extend(word.map(|first| Access { width: pack as u32, ..first }));
            }
            list.push(MatrixSource::Registers(parts));
        }
        out.extend(fence);
        Ok((list, 64, 8 * pack * steps))
    }
}
