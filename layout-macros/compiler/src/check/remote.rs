//! `store_async`: stores of registers to another block's shared memory.
//!
//! Law: the pieces are those of a thread's own copy, of 4, 8 or 16 bytes each, and none has a mask.

use super::lower::{Failed, Lower, Out};
use crate::origin::Origin;
use crate::program::{Access, BarrierAt, Operation, RemoteStore, Space, Statement, StatementKind, Value};
use crate::view::View;

impl Lower {
    pub(super) fn remote_store(
        &mut self,
        destination: &View,
        source: &View,
        barrier: &BarrierAt,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let (to, from) = (self.tables.place(destination.place), self.tables.place(source.place));
        if !matches!(to.space, Space::Remote { .. }) || from.space != Space::Local {
            let message = format!("`store_async` from `{}` to `{}`", from.name, to.name);
            return self.fail(origin, message, "from registers to `shared_view.map_shared_rank(rank)`");
        }
        if to.elem.bytes() != 4 {
            let message = format!("`store_async` of {}", to.elem);
            return self.fail(origin, message, "elements have 4 bytes");
        }
        let mut copies = Out::new();
        self.thread_copy((destination, source), false, origin, &mut copies)?;
        match copies.into_iter().map(|copy| stored(copy, barrier)).collect::<Option<Out>>() {
            Some(stores) => out.extend(stores),
            None => {
                let help = "the views must be within the bounds of their tensors";
                return self.fail(origin, "`store_async` of elements that may not exist", help);
            }
        }
        Ok(())
    }
}

/// The store that a copy becomes; `None` where it has a mask.
fn stored(copy: Statement<Access, Operation>, barrier: &BarrierAt) -> Option<Statement<Access, Operation>> {
    let store = |destination: Access, source: Access| {
        let plain = destination.mask.is_empty() && source.mask.is_empty();
        let store = RemoteStore { destination, source, barrier: barrier.clone() };
        plain.then(|| StatementKind::Operation(Operation::RemoteStore(Box::new(store))))
    };
    let Statement { kind, origin } = copy;
    let kind = if let StatementKind::Operation(Operation::Move { destination, source }) = kind {
        store(destination, source)?
    } else if let StatementKind::Store(destination, Value::Load(source)) = kind {
        store(destination, *source)?
    } else if let StatementKind::For { variable, start, end, step, unroll, reversed, body } = kind {
        let body = body.into_iter().map(|inner| stored(inner, barrier)).collect::<Option<_>>()?;
        StatementKind::For { variable, start, end, step, unroll, reversed, body }
    } else {
        // A guard: the copy has a mask.
        return None;
    };
    Some(Statement { kind, origin })
}
