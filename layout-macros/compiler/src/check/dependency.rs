//! Programmatic dependent launch: kernels that start before the launches ahead of them have ended, and
//! `grid_dependency_wait()`.
//!
//! Law: in a kernel that calls it, every path calls it before its first access to global memory. Every thread has to
//! call it: the next launch takes the end of this one as the end of the launches before.

use super::lower::Out;
use crate::origin::{Errors, KernelError, Origin};
use crate::program::{
    Access, Operation, Part, Signal, Space, Statement, StatementKind, Tables,
    flow::{self, Analysis, Lattice},
    walk,
};

/// Whether every path has waited.
#[derive(Clone, Copy, PartialEq)]
struct Waited(bool);

impl Lattice for Waited {
    fn join(&mut self, other: &Waited) {
        self.0 &= other.0;
    }
}

struct Wait;

impl Analysis for Wait {
    type State = Waited;

    fn transfer(&self, statement: &Statement<Access, Operation>, waited: &mut Waited) {
        waited.0 |= waits(statement);
    }
}

fn waits(statement: &Statement<Access, Operation>) -> bool {
    matches!(statement.kind, StatementKind::Signal(Signal::DependencyWait))
}

/// Whether the kernel waits for the launches before it, and reports what it does too early.
pub(super) fn check(tables: &Tables, body: &Out, errors: &mut Errors) -> bool {
    let mut wait = None;
    let mut early = Vec::new();
    let end = flow::solve(&Wait, body, Waited(false), |statement, waited| {
        if waits(statement) {
            wait = Some(statement.origin);
        }
        if !waited.0 && uses_global(tables, statement) {
            early.push(statement.origin);
        }
    });
    let Some(wait) = wait else { return false };
    let mut fail = |message: &str, help: &str, origin: Origin| {
        errors.push(KernelError { message: message.into(), help: Some(help.into()), origin });
    };
    if end.is_some_and(|end| !end.0) {
        fail(
            "`grid_dependency_wait()` is not reached on every path",
            "every thread waits: put it at the top level of the kernel, ahead of any `return`",
            wait,
        );
        return true;
    }
    for origin in early {
        fail(
            "global memory is used before `grid_dependency_wait()`",
            "the launch before may still write it: wait first",
            origin,
        );
    }
    true
}

/// Whether a statement itself touches global memory, by threads or by TMA.
fn uses_global(tables: &Tables, statement: &Statement<Access, Operation>) -> bool {
    let mut found = false;
    walk::own(statement, &mut |part| match part {
        Part::Read(access) | Part::Write(access) => {
            found |= matches!(tables.place(access.place).space, Space::Global(_));
        }
        Part::Map(_) => found = true,
        _ => {}
    });
    found
}
