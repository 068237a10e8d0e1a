//! The accesses of a body, each with the instruction that moves its bytes.

use super::Transport;
use crate::program::{Access, AtomicChange, Operation, Part, Statement, StatementKind, walk};

/// Shows each access, and whether it writes.
pub(super) fn accesses<'a>(
    list: &'a [Statement<Access, Operation>],
    see: &mut impl FnMut(&'a Access, Transport, bool),
) {
    let (mut means, mut writes, mut updated) = (Transport::Thread, true, None);
    walk::statements(list, &mut |part| match part {
        Part::Statement(one) => {
            (means, writes, updated) = (means_of(&one.kind), !only_reads(&one.kind), updated_by(&one.kind));
        }
        // The write of an atomic operation reports its read, too.
        Part::Read(access) if updated.is_some_and(|target| std::ptr::eq(target, access)) => {}
        // What an atomic operation takes is read by the thread.
        Part::Read(access) if means == Transport::Atomic => see(access, Transport::Thread, false),
        Part::Read(access) => see(access, means, false),
        Part::Write(access) => see(access, means, writes),
        _ => {}
    });
}

/// The element that an atomic operation updates.
fn updated_by(kind: &StatementKind<Access, Operation>) -> Option<&Access> {
    if let StatementKind::Atomic { target, .. } = kind { Some(target) } else { None }
}

/// Whether it is an atomic load, whose one access counts as written elsewhere.
fn only_reads(kind: &StatementKind<Access, Operation>) -> bool {
    matches!(kind, StatementKind::Atomic { change: AtomicChange::Load(_), .. })
}

/// What moves the bytes of a statement's accesses.
fn means_of(kind: &StatementKind<Access, Operation>) -> Transport {
    match kind {
        StatementKind::Atomic { .. } => Transport::Atomic,
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
        | StatementKind::Assume(_)
        | StatementKind::Print(_)
        | StatementKind::Assert { .. }
        | StatementKind::SetMaxRegisters { .. } => Transport::Thread,
    }
}
