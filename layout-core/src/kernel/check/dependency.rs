//! Programmatic dependent launch: kernels that begin before the launches ahead of them have ended, and
//! `grid_dependency_wait()`.
//!
//! Law: such a kernel touches no global memory before it has waited, and every thread waits: the wait stands outside of
//! conditions and loops, ahead of every access.

use super::finish::Uses;
use super::lower::Out;
use crate::kernel::origin::{Errors, KernelError, Origin};
use crate::kernel::program::{Signal, Space, Statement, StatementKind, Tables};

/// Whether the kernel waits for the launches before it, and reports what it does too early.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) -> bool {
    let waits =
        |statement: &Statement<_, _>| matches!(statement.kind, StatementKind::Signal(Signal::DependencyWait));
    let mut fail = |message: &str, help: &str, origin: Origin| {
        errors.push(KernelError { message: message.into(), help: Some(help.into()), origin });
    };
    if let Some(origin) = body.iter().find_map(inside) {
        fail(
            "`grid_dependency_wait()` in a condition or a loop",
            "every thread waits once: put it at the top level of the kernel",
            origin,
        );
        return true;
    }
    let Some(wait) = body.iter().position(waits) else { return false };
    for statement in &body[..wait] {
        let mut uses = Uses::default();
        uses.statement(tables, statement);
        let global = |place: &u32| matches!(tables.places[*place as usize].space, Space::Global(_));
        if uses.touched.iter().any(global) || !uses.maps.is_empty() {
            fail(
                "global memory is used before `grid_dependency_wait()`",
                "the launch before may still write it: wait first",
                statement.origin,
            );
        }
    }
    true
}

/// Where a wait stands in a condition or a loop.
fn inside<A, O>(statement: &Statement<A, O>) -> Option<Origin> {
    statement.kind.lists().into_iter().flatten().find_map(|inner| {
        let waits = matches!(inner.kind, StatementKind::Signal(Signal::DependencyWait));
        if waits { Some(inner.origin) } else { inside(inner) }
    })
}
