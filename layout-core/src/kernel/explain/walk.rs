//! The accesses of a body, each with what moves its bytes.

use super::Means;
use crate::kernel::program::{Access, AtomicChange, Operation, Part, Statement, StatementKind, walk};

/// Shows each access, and whether it writes.
pub(super) fn accesses<'a>(
    list: &'a [Statement<Access, Operation>],
    see: &mut impl FnMut(&'a Access, Means, bool),
) {
    let (mut means, mut writes) = (Means::Thread, true);
    walk::statements(list, &mut |part| match part {
        Part::Statement(one) => (means, writes) = (means_of(&one.kind), !only_reads(&one.kind)),
        // Of an atomic operation the write says all.
        Part::Read(access) if means != Means::Atomic => see(access, means, false),
        Part::Write(access) => see(access, means, writes),
        _ => {}
    });
}

/// Whether it is an atomic load, whose one access counts as written elsewhere.
fn only_reads(kind: &StatementKind<Access, Operation>) -> bool {
    matches!(kind, StatementKind::Atomic { change: AtomicChange::Load(_), .. })
}

/// What moves the bytes of a statement's accesses.
fn means_of(kind: &StatementKind<Access, Operation>) -> Means {
    match kind {
        StatementKind::Atomic { .. } => Means::Atomic,
        StatementKind::Operation(operation) => operation.means(),
        StatementKind::Let(..)
        | StatementKind::LetIndex(..)
        | StatementKind::Assign(..)
        | StatementKind::AssignIndex(..)
        | StatementKind::Store(..)
        | StatementKind::Signal(_)
        | StatementKind::Collective(..)
        | StatementKind::For { .. }
        | StatementKind::While(..)
        | StatementKind::If(..)
        | StatementKind::Break
        | StatementKind::Continue
        | StatementKind::Barrier(_)
        | StatementKind::SetMaxRegisters { .. } => Means::Thread,
    }
}
