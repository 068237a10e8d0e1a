//! Each kind of finding: a program that has it, and one that does not.

use super::build::{Build, as_floats, at, binary, compare, f32, floats, i32, int, ints, load, plus, times};
use crate::{FindingKind, Options, Report};
use layout_compiler::elem::Elem;
use layout_compiler::index::{Atom, Index};
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::{Access, Operation, Participants, Signal, StatementKind, Value};

/// Runs a program of one tensor `c` of 64 floats, a block of 64 threads.
fn check(build: impl FnOnce(&mut Build)) -> Report {
    let mut b = Build::new([64, 1, 1], [1; 3], &[64]);
    let mut tensors = vec![floats(vec![1.0; 64])];
    b.tensor("c", Elem::F32, true);
    build(&mut b);
    let options = Options { max_steps: 10_000, ..Options::default() };
    b.run_with(&mut tensors, &options).expect("it runs")
}

fn c() -> layout_compiler::program::PlaceId {
    layout_compiler::program::PlaceId(0)
}

/// The kinds that a report has, with the line of each.
fn kinds(report: &Report) -> Vec<(FindingKind, u32)> {
    report.findings.iter().map(|finding| (finding.kind, finding.line)).collect()
}

fn barrier(line: u32) -> super::build::Code {
    at(line, StatementKind::Barrier(Participants::Block))
}

#[test]
fn out_of_bounds() {
    let program = |offset: i64, direct: bool, masked: bool| {
        check(|b| {
            let t = b.thread(0);
            let index = plus(&t, &int(offset));
            let mask = if masked { vec![compare(BinaryOp::Lt, &index, &int(64))] } else { vec![] };
            let access = Access { direct, ..b.access(c(), &index, &mask, 3) };
            b.body.push(at(3, StatementKind::Store(access, f32(2.0))));
        })
    };
    let report = program(1, true, true);
    assert_eq!(kinds(&report), [(FindingKind::OutOfBounds, 3)]);
    let finding = &report.findings[0];
    assert_eq!(
        (finding.thread, finding.block, finding.index, finding.count),
        ([63, 0, 0], [0; 3], Some(64), 1)
    );
    assert_eq!(finding.message, "write of element 64 of `c`, which has 64 elements");
    assert!(program(1, false, true).clean());
    assert!(program(0, true, true).clean());
    assert_eq!(program(-2, false, false).findings[0].count, 2);
}

#[test]
fn uninitialised_shared_local_and_variable() {
    let program = |write: bool| {
        check(|b| {
            let t = b.thread(0);
            let (s, l, v) =
                (b.shared("s", Elem::F32, 64), b.local("l", Elem::F32, 2), b.element("v", Elem::F32));
            b.body.push(at(1, StatementKind::Let(v, None)));
            if write {
                b.body.push(b.store(2, s, &t, f32(1.0)));
                b.body.push(b.store(2, l, &int(1), f32(1.0)));
                b.body.push(at(2, StatementKind::Assign(v, f32(1.0))));
            }
            let read = |place, index: &Index, line| load(b.access(place, index, &[], line));
            let store = [
                b.store(3, c(), &t, read(s, &t, 3)),
                b.store(4, c(), &t, read(l, &int(1), 4)),
                b.store(5, c(), &t, Value::Variable(v)),
            ];
            b.body.extend(store);
        })
    };
    let report = program(false);
    let kind = FindingKind::Uninitialised;
    assert_eq!(kinds(&report), [(kind, 3), (kind, 4), (kind, 5)], "{report}");
    assert_eq!(report.findings[0].count, 64);
    let report = program(true);
    assert!(report.clean(), "{report}");
}

#[test]
fn races_in_shared_memory() {
    let program = |value: fn(Index) -> super::build::Val, with_barrier: bool| {
        check(|b| {
            let t = b.thread(0);
            let s = b.shared("s", Elem::F32, 64);
            let half = b.atom(Atom::Div(Box::new(t.clone()), Box::new(int(2))));
            b.body.push(b.store(2, s, &half, value(t.clone())));
            if with_barrier {
                b.body.push(barrier(3));
            }
            let next = b.atom(Atom::Rem(Box::new(plus(&half, &int(1))), Box::new(int(32))));
            b.body.push(b.store(4, c(), &t, load(b.access(s, &next, &[], 4))));
        })
    };
    let own: fn(Index) -> super::build::Val = |t| Value::Index(t, Elem::F32);
    let report = program(own, true);
    assert_eq!(kinds(&report), [(FindingKind::WriteWriteRace, 2)], "{report}");
    assert_eq!(report.findings[0].thread, [1, 0, 0]);
    assert_eq!(
        report.findings[0].message,
        "write of element 0 of `s`, which thread (0, 0, 0) writes in line 2; no barrier between them"
    );
    let report = program(|_| f32(1.0), true);
    assert_eq!(kinds(&report), [(FindingKind::EqualWrites, 2)], "{report}");
    let report = program(|_| f32(1.0), false);
    assert_eq!(report.find(FindingKind::ReadWriteRace).map(|found| found.line), Some(4), "{report}");
}

#[test]
fn a_write_after_others_read_is_a_race() {
    let program = |with_barrier: bool| {
        check(|b| {
            let t = b.thread(0);
            let s = b.shared("s", Elem::F32, 64);
            b.body.push(b.store(1, s, &t, f32(1.0)));
            b.body.push(barrier(2));
            b.body.push(b.store(3, c(), &t, load(b.access(s, &int(5), &[], 3))));
            if with_barrier {
                b.body.push(barrier(4));
            }
            b.body.push(b.store(5, s, &t, f32(2.0)));
        })
    };
    let report = program(false);
    // The second warp reads what the first has written already.
    assert_eq!(
        kinds(&report),
        [(FindingKind::ReadWriteRace, 5), (FindingKind::ReadWriteRace, 3)],
        "{report}"
    );
    assert_eq!((report.findings[0].thread, report.findings[0].index), ([5, 0, 0], Some(5)));
    assert!(program(true).clean());
}

#[test]
fn global_races_within_and_between_blocks() {
    let program = |blocks: u32, apart: bool| {
        let mut b = Build::new([32, 1, 1], [blocks, 1, 1], &[64]);
        let mut tensors = vec![floats(vec![0.0; 64])];
        let c = b.tensor("c", Elem::F32, true);
        let (t, block) = (b.thread(0), b.block(0));
        let index = if apart { plus(&times(&block, &int(32)), &t) } else { int(0) };
        let value = plus(&times(&block, &int(32)), &t);
        b.body.push(b.store(2, c, &index, Value::Index(value, Elem::F32)));
        let report = b.run(&mut tensors).expect("it runs");
        (report, as_floats(&tensors[0])[0])
    };
    assert!(program(2, true).0.clean());
    let (report, value) = program(2, false);
    assert_eq!(kinds(&report), [(FindingKind::WriteWriteRace, 2)], "{report}");
    assert_eq!((report.findings[0].count, value), (63, 63.0));
}

#[test]
fn divergent_barriers() {
    let program = |threads: i64| {
        check(|b| {
            let t = b.thread(0);
            let condition = Value::Compare(compare(BinaryOp::Lt, &t, &int(threads)));
            b.body.push(at(2, StatementKind::If(condition, vec![barrier(3)], Vec::new())));
        })
    };
    assert!(program(64).clean());
    let part = program(8);
    assert_eq!(part.findings[0].kind, FindingKind::DivergentBarrier);
    assert_eq!((part.findings[0].line, part.findings[0].thread), (3, [8, 0, 0]));
    // A whole warp that has ended is not waited for.
    assert!(program(32).clean());
}

#[test]
fn asynchronous_copies_land_at_the_wait() {
    let program = |wait: bool, barrier_after: bool| {
        let mut b = Build::new([64, 1, 1], [1; 3], &[]);
        let (a, c) = (b.tensor("a", Elem::F32, false), b.tensor("c", Elem::F32, true));
        let s = b.shared("s", Elem::F32, 256);
        let t = b.thread(0);
        let four = times(&t, &int(4));
        let valid = vec![compare(BinaryOp::Lt, &t, &int(60))];
        let source = Access { mask: valid, ..b.vector(a, &four, 4, 2) };
        let destination = b.vector(s, &four, 4, 2);
        b.body.push(at(2, StatementKind::Operation(Operation::AsyncCopy { destination, source })));
        b.body.push(at(3, StatementKind::Signal(Signal::CopyCommit)));
        if wait {
            b.body.push(at(4, StatementKind::Signal(Signal::CopyWait(0))));
        }
        if barrier_after {
            b.body.push(barrier(5));
        }
        let other = times(&plus(&int(63), &t.scale(-1).unwrap_or_default()), &int(4));
        b.body.push(b.store(6, c, &t, load(b.access(s, &other, &[], 6))));
        let mut tensors = [floats((0..256).map(|i| i as f32)), floats(vec![-1.0; 64])];
        (b.run(&mut tensors).expect("it runs"), as_floats(&tensors[1]))
    };
    let (report, out) = program(true, true);
    assert!(report.clean(), "{report}");
    let expected = (0..64).map(|t| if 63 - t < 60 { (63 - t) as f32 * 4.0 } else { 0.0 });
    assert_eq!(out, expected.collect::<Vec<_>>());
    assert_eq!(kinds(&program(false, true).0), [(FindingKind::MissingWait, 6)]);
    assert!(program(true, false).0.find(FindingKind::ReadWriteRace).is_some());
}

#[test]
fn a_barrier_without_which_a_landed_copy_is_a_race() {
    let mut b = Build::new([32, 1, 1], [1; 3], &[]);
    let (a, c) = (b.tensor("a", Elem::F32, false), b.tensor("c", Elem::F32, true));
    let s = b.shared("s", Elem::F32, 32);
    let t = b.thread(0);
    let (destination, source) = (b.vector(s, &t, 1, 2), b.vector(a, &t, 1, 2));
    b.body.push(at(2, StatementKind::Operation(Operation::AsyncCopy { destination, source })));
    b.body.push(at(3, StatementKind::Signal(Signal::CopyCommit)));
    b.body.push(at(4, StatementKind::Signal(Signal::CopyWait(0))));
    let other = plus(&int(31), &t.scale(-1).unwrap_or_default());
    b.body.push(b.store(6, c, &t, load(b.access(s, &other, &[], 6))));
    let mut tensors = [floats(vec![1.0; 32]), floats(vec![0.0; 32])];
    let report = b.run(&mut tensors).expect("it runs");
    assert_eq!(kinds(&report), [(FindingKind::ReadWriteRace, 6)], "{report}");
}

#[test]
fn groups_of_copies_are_waited_for_in_order() {
    let mut b = Build::new([1; 3], [1; 3], &[]);
    let (a, c) = (b.tensor("a", Elem::F32, false), b.tensor("c", Elem::F32, true));
    let s = b.shared("s", Elem::F32, 2);
    for number in 0..2 {
        let (destination, source) = (b.vector(s, &int(number), 1, 2), b.vector(a, &int(number), 1, 2));
        b.body.push(at(2, StatementKind::Operation(Operation::AsyncCopy { destination, source })));
        b.body.push(at(3, StatementKind::Signal(Signal::CopyCommit)));
    }
    b.body.push(at(4, StatementKind::Signal(Signal::CopyWait(1))));
    for number in 0..2 {
        let value = load(b.access(s, &int(number), &[], 5 + number as u32));
        b.body.push(b.store(5, c, &int(number), value));
    }
    let mut tensors = [floats([3.0, 4.0]), floats([0.0, 0.0])];
    let report = b.run(&mut tensors).expect("it runs");
    assert_eq!(kinds(&report), [(FindingKind::MissingWait, 6)], "{report}");
    assert_eq!(as_floats(&tensors[1])[0], 3.0);
}

#[test]
fn misaligned_vectors() {
    let program = |offset: i64| {
        check(|b| {
            let l = b.local("l", Elem::F32, 4);
            let t = b.thread(0);
            let lane = b.atom(Atom::Rem(Box::new(t), Box::new(int(15))));
            let index = plus(&times(&lane, &int(4)), &int(offset));
            let (destination, source) = (b.vector(l, &int(0), 4, 2), b.vector(c(), &index, 4, 2));
            b.body.push(at(2, StatementKind::Operation(Operation::Move { destination, source })));
        })
    };
    assert!(program(0).clean());
    assert_eq!(kinds(&program(2)), [(FindingKind::Misaligned, 2)]);
}

#[test]
fn division_by_zero_of_integers() {
    let program = |divisor: i128| {
        let mut b = Build::new([32, 1, 1], [1; 3], &[]);
        let c = b.tensor("c", Elem::I32, true);
        let t = b.thread(0);
        let difference = binary(BinaryOp::Sub, Value::Index(t.clone(), Elem::I32), i32(divisor));
        b.body.push(b.store(2, c, &t, binary(BinaryOp::Div, i32(64), difference)));
        let mut tensors = [ints(vec![0; 32])];
        b.run(&mut tensors).expect("it runs")
    };
    assert!(program(-1).clean());
    let report = program(7);
    assert_eq!(kinds(&report), [(FindingKind::DivisionByZero, 2)]);
    assert_eq!((report.findings[0].thread, report.findings[0].count), ([7, 0, 0], 1));
}

#[test]
fn an_endless_loop_is_stopped() {
    let program = |endless: bool| {
        check(|b| {
            let v = b.element("v", Elem::I32);
            b.body.push(at(1, StatementKind::Let(v, Some(i32(0)))));
            let condition = binary(BinaryOp::Lt, Value::Variable(v), i32(5));
            let step = binary(BinaryOp::Add, Value::Variable(v), i32(if endless { 0 } else { 1 }));
            let body = vec![at(3, StatementKind::Assign(v, step))];
            b.body.push(at(2, StatementKind::While(condition, body)));
        })
    };
    assert!(program(false).clean());
    let report = program(true);
    assert_eq!(kinds(&report), [(FindingKind::StepLimit, 2)], "{report}");
    assert!(report.stopped);
}

#[test]
fn bank_conflicts_by_stride() {
    // The stride in floats and the passes that a warp's load takes.
    for (stride, passes) in [(0, 1), (1, 1), (2, 2), (3, 1), (4, 4), (8, 8), (16, 16), (32, 32), (33, 1)] {
        let mut b = Build::new([32, 1, 1], [1; 3], &[]);
        let (c, s) = (b.tensor("c", Elem::F32, true), b.shared("s", Elem::F32, 1056));
        let t = b.thread(0);
        b.body.push(b.store(2, c, &t, load(b.access(s, &times(&t, &int(stride)), &[], 2))));
        let mut tensors = [floats(vec![0.0; 32])];
        let report = b.run(&mut tensors).expect("it runs");
        assert_eq!(report.totals.bank_conflicts, passes - 1, "stride {stride}");
    }
}
