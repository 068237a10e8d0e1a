//! Programs that the language cannot express, or that `check` refuses: the simulator executes them and reports their
//! mistakes.

use super::build::{Build, as_floats, at, f32, floats, int, load, plus, times};
use crate::{FindingKind, Options, Report};
use layout_compiler::bind::BoundMap;
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::{Atom, Index};
use layout_compiler::program::{
    Access, BarrierAt, Comparison, MatrixSource, Operation, Participants, PlaceId, SharedMatrix, Signal,
    StatementKind, TensorLoad, TensorMap, TensorStore, Value, Wgmma,
};

fn signal(line: u32, signal: Signal) -> super::build::Code {
    at(line, StatementKind::Signal(signal))
}

fn operation(line: u32, operation: Operation) -> super::build::Code {
    at(line, StatementKind::Operation(operation))
}

/// The quotient and the remainder of an index.
fn parts(b: &mut Build, index: &Index, by: i64) -> (Index, Index) {
    let (left, right) = (Box::new(index.clone()), Box::new(int(by)));
    (b.atom(Atom::Div(left.clone(), right.clone())), b.atom(Atom::Rem(left, right)))
}

fn first(b: &mut Build, body: Vec<super::build::Code>) {
    let own = b.thread(0);
    let condition = Comparison { op: layout_compiler::ir::BinaryOp::Eq, left: own, right: int(0) };
    b.body.push(at(1, StatementKind::If(Value::Compare(condition), body, Vec::new())));
}

/// How a program of one box goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum Flaw {
    None,
    NotMade,
    NotFenced,
    Misaligned,
    Outside,
    NotWaited,
    Unfinished,
    NoGroup,
}

/// A block of 32 threads copies a box of 8 rows of 32 floats from `x` to `y`, by shared memory.
fn one_box(flaw: Flaw) -> (Report, Vec<f32>) {
    let mut b = Build::new([32, 1, 1], [1; 3], &[]);
    b.tensor("x", Elem::F32, false);
    b.tensor("y", Elem::F32, true);
    let tile = b.shared("tile", Elem::F32, 512);
    let place = b.shared("full", Elem::I64, 1);
    for argument in [0, 1] {
        let (modes, extents) = (vec![1, 0], vec![32, 8]);
        b.maps.push(TensorMap {
            argument,
            elem: Elem::F32,
            modes,
            extents,
            swizzle_bytes: 128,
            round_tf32: false,
            stored: false,
        });
        b.bound.maps.push(BoundMap { extents: vec![30, 7], strides: vec![128] });
    }
    let barrier = BarrierAt { place, index: int(0) };
    let mut making = Vec::new();
    if flaw != Flaw::NotMade {
        making.push(signal(2, Signal::BarrierInit { barrier: barrier.clone(), arrivals: 1 }));
    }
    if flaw != Flaw::NotFenced {
        making.push(signal(2, Signal::BarrierInitFence));
    }
    first(&mut b, making);
    b.body.push(at(3, StatementKind::Barrier(Participants::Block)));
    let from = match flaw {
        Flaw::Misaligned => 32,
        Flaw::Outside => 512,
        _ => 0,
    };
    let destination = b.access(tile, &int(from), &[], 4);
    let source = b.access(tile, &int(0), &[], 7);
    let (coordinates, expect) = (vec![int(-2), int(-1)], 1024);
    let load = TensorLoad {
        map: 0,
        destination,
        coordinates: coordinates.clone(),
        barrier: barrier.clone(),
        multicast: None,
        hint: None,
    };
    let store = TensorStore { map: 1, source, coordinates, hint: None, adds: false };
    let mut body = vec![
        signal(4, Signal::BarrierArrive { barrier: barrier.clone(), expect, rank: None }),
        operation(4, Operation::TensorLoad(load)),
    ];
    if flaw != Flaw::NotWaited {
        body.push(signal(5, Signal::BarrierWait { barrier: barrier.clone(), parity: int(0) }));
        body.push(operation(7, Operation::TensorStore(store)));
        if flaw != Flaw::NoGroup {
            body.push(signal(8, Signal::BulkCommit));
        }
        body.push(signal(9, Signal::BulkWait { groups: 0, read: true }));
    }
    if flaw == Flaw::Unfinished {
        body.push(signal(10, Signal::BarrierArrive { barrier, expect: 16, rank: None }));
    }
    first(&mut b, body);
    let x: Vec<f32> = (0..224).map(|i| i as f32).collect();
    let mut tensors = vec![floats(x), floats(vec![-1.0; 224])];
    let report = b.run_with(&mut tensors, &Options::default()).expect("it runs");
    (report, as_floats(&tensors[1]))
}

#[test]
fn a_box_at_the_edges_of_a_tensor() {
    let (report, y) = one_box(Flaw::None);
    assert!(report.clean(), "{report}");
    // The box begins at row -1 and column -2; the tensor has 7 rows and 30 columns, 32 apart.
    let copied = |i: usize| if i % 32 < 30 { i as f32 } else { -1.0 };
    assert!((0..224).all(|i| y[i] == copied(i)), "{y:?}");
    assert_eq!((report.totals.global_bytes_read, report.totals.global_bytes_written), (840, 840), "{report}");
}

#[test]
fn each_flaw_of_a_copy_is_found() {
    let table = [
        (
            Flaw::NotMade,
            FindingKind::Uninitialised,
            4,
            "read of element 0 of `full`, which no thread has written",
        ),
        (Flaw::NotMade, FindingKind::Deadlock, 5, "for mbarrier 0 of `full`, which is not initialised"),
        (Flaw::NotFenced, FindingKind::MissingFence, 4, "no fence after it"),
        (Flaw::Misaligned, FindingKind::Misaligned, 4, "it must be a multiple of 1024"),
        (Flaw::Outside, FindingKind::OutOfBounds, 4, "from element 512 on of `tile`, which has 512 elements"),
        (Flaw::NotWaited, FindingKind::InFlightAtEnd, 4, "ends with a tensor load of 1024 bytes in flight"),
        (Flaw::Unfinished, FindingKind::InFlightAtEnd, 2, "phase 1 of mbarrier 0 of `full`, with 1 of its 1"),
        (Flaw::NoGroup, FindingKind::InFlightAtEnd, 7, "no `bulk_wait_group_read(0)` after it"),
    ];
    for (flaw, kind, line, words) in table {
        let (report, _) = one_box(flaw);
        let found = report.findings.iter().find(|found| found.kind == kind && found.line == line);
        assert!(found.is_some_and(|found| found.message.contains(words)), "{words}:\n{report}");
    }
}

/// `c = a b` of 64 by 8 columns and 32 bytes of k, A from registers; `touched` reads the accumulator before the wait.
fn from_registers(elem: Elem, touched: bool) -> (Report, Vec<f32>) {
    let depth = 32 / i64::from(elem.bytes());
    let mut b = Build::new([128, 1, 1], [1; 3], &[]);
    let c = b.tensor("c", Elem::F32, true);
    let right = b.shared("right", elem, 256 * 4 / u64::from(elem.bytes()));
    let (left, acc) = (b.local("left", elem, depth as u64 / 2), b.local("acc", Elem::F32, 4));
    let thread = b.thread(0);
    // B holds k + 2 n, at n rows of 32 bytes whose halves are swapped where bit 2 of n is set.
    for step in 0..(8 * depth + 127) / 128 {
        let number = plus(&thread, &int(128 * step));
        let (n, k) = parts(&mut b, &number, depth);
        let value = Value::Index(plus(&k, &times(&n, &int(2))), elem);
        let (far, _) = parts(&mut b, &n, 4);
        let swapped = times(&far, &int(depth / 2));
        let within = b.atom(Atom::Xor(Box::new(k), Box::new(swapped)));
        let place = plus(&times(&n, &int(depth)), &within);
        let access = b.access(
            right,
            &place,
            &[super::build::compare(layout_compiler::ir::BinaryOp::Lt, &number, &int(8 * depth))],
            2,
        );
        b.body.push(at(2, StatementKind::Store(access, value)));
    }
    b.body.push(signal(3, Signal::AsyncProxyFence { global: false }));
    b.body.push(at(3, StatementKind::Barrier(Participants::Block)));
    // A holds m % 8 + k: register v of thread t as the atom says.
    let pack = i64::from(4 / elem.bytes());
    let (_, lane) = parts(&mut b, &thread, 32);
    let (row, column) = parts(&mut b, &lane, 4);
    let mut registers = Vec::new();
    for v in 0..depth / 2 {
        let (inner, far) = (v % pack, v / pack / 2);
        let k = plus(&times(&column, &int(pack)), &int(inner + 4 * pack * far));
        b.body.push(b.store(4, left, &int(v), Value::Index(plus(&k, &row), elem)));
        registers.push(b.access(left, &int(v), &[], 5));
    }
    let matrix = SharedMatrix {
        first: b.access(right, &int(0), &[], 5),
        k_major: true,
        swizzle_bytes: 32,
        leading_bytes: 0,
        stride_bytes: 256,
    };
    let product = Wgmma {
        n: 8,
        elem,
        accumulator: b.access(acc, &int(0), &[], 5),
        a: MatrixSource::Registers(registers),
        b: matrix,
        accumulate: Value::Constant(Constant::bool(false)),
    };
    b.body.push(operation(5, Operation::Wgmma(Box::new(product))));
    b.body.push(signal(6, Signal::MatrixCommit));
    if !touched {
        b.body.push(signal(6, Signal::MatrixWait(0)));
    }
    let (warp, _) = parts(&mut b, &thread, 32);
    for register in 0..4 {
        let row = plus(&times(&warp, &int(16)), &plus(&row, &int(8 * (register / 2))));
        let to = plus(&times(&row, &int(8)), &plus(&times(&column, &int(2)), &int(register % 2)));
        let value: Access = b.access(acc, &int(register), &[], 7);
        let store = b.store(7, c, &to, load(value));
        b.body.push(store);
    }
    b.body.push(signal(8, Signal::MatrixWait(0)));
    let mut tensors = vec![floats(vec![0.0; 512])];
    let report = b.run_with(&mut tensors, &Options::default()).expect("it runs");
    (report, as_floats(&tensors[0]))
}

#[test]
fn a_product_from_registers_of_every_type() {
    for elem in [Elem::F32, Elem::F16, Elem::Bf16, Elem::E5m2] {
        let (report, c) = from_registers(elem, false);
        assert!(report.clean(), "{elem}: {report}");
        // 8-bit floats hold few integers: the reference rounds as they do.
        let round = |value: i64| {
            let value = Constant::float(elem, value as f64).map_or(value as f64, Constant::as_f64);
            value as f32
        };
        for (place, found) in c.into_iter().enumerate() {
            let (m, n) = (place as i64 / 8, place as i64 % 8);
            let depth = 32 / i64::from(elem.bytes());
            let sum: f32 = (0..depth).map(|k| round(m % 8 + k) * round(k + 2 * n)).sum();
            assert_eq!(found, sum, "{elem} ({m}, {n})");
        }
    }
}

#[test]
fn an_accumulator_in_flight_is_not_to_be_touched() {
    let (report, _) = from_registers(Elem::Bf16, true);
    let found = report.find(FindingKind::MissingWait);
    assert!(found.is_some_and(|found| found.line == 7 && found.message.contains("`acc`")), "{report}");
}

/// A block of 128 threads in which each warp does something.
fn block(body: impl FnOnce(&mut Build, PlaceId)) -> Report {
    let mut b = Build::new([128, 1, 1], [1; 3], &[]);
    let c = b.tensor("c", Elem::F32, true);
    body(&mut b, c);
    b.run_with(&mut [floats(vec![0.0; 128])], &Options::default()).expect("it runs")
}

#[test]
fn a_wait_for_products_that_a_warp_never_issues_is_a_deadlock() {
    let report = block(|b, _| {
        let thread = b.thread(0);
        let before = Comparison { op: layout_compiler::ir::BinaryOp::Lt, left: thread, right: int(96) };
        let issued = vec![signal(2, Signal::MatrixCommit)];
        b.body.push(at(2, StatementKind::If(Value::Compare(before), issued, Vec::new())));
        b.body.push(signal(3, Signal::MatrixWait(0)));
    });
    let found = report.find(FindingKind::Deadlock);
    let words = "3 warps from 0 to 2 wait for group 1 of products";
    assert!(report.stopped && found.is_some_and(|found| found.message.contains(words)), "{report}");
}

#[test]
fn named_barriers_meet_as_many_threads_as_they_say() {
    let meets = |threads: [u32; 2]| {
        block(|b, c| {
            let thread = b.thread(0);
            let half =
                Comparison { op: layout_compiler::ir::BinaryOp::Lt, left: thread.clone(), right: int(64) };
            let named =
                |line, threads| signal(line, Signal::NamedBarrier { barrier: int(1), threads, waits: true });
            let store = b.store(2, c, &thread, f32(1.0));
            b.body.push(store);
            let (one, other) = (vec![named(3, threads[0])], vec![named(4, threads[1])]);
            b.body.push(at(3, StatementKind::If(Value::Compare(half), one, other)));
        })
    };
    assert!(meets([128, 128]).clean());
    // Two groups of 64 threads that share a number: which of their warps meet is chance.
    let report = meets([64, 64]);
    assert!(report.find(FindingKind::DivergentBarrier).is_some_and(|found| found.line == 4), "{report}");
    let report = meets([256, 256]);
    let found = report.find(FindingKind::DivergentBarrier);
    assert!(
        found.is_some_and(|found| found.message.contains("256 threads in a block of 4 warps")),
        "{report}"
    );
    let report = meets([128, 64]);
    let found = report.find(FindingKind::DivergentBarrier);
    assert!(
        found.is_some_and(|found| found.message.contains("warp 2 waits at barrier 1 for 64")),
        "{report}"
    );
}

#[test]
fn registers_beyond_the_blocks_are_a_deadlock() {
    let run = |low: u32, high: u32| {
        let mut b = Build::new([256, 1, 1], [1; 3], &[]);
        b.tensor("c", Elem::F32, true);
        let thread = b.thread(0);
        let half = Comparison { op: layout_compiler::ir::BinaryOp::Lt, left: thread, right: int(128) };
        let set = |line, registers, increase| {
            vec![at(line, StatementKind::SetMaxRegisters { registers, increase })]
        };
        let choice = StatementKind::If(Value::Compare(half), set(2, low, false), set(3, high, true));
        b.body.push(at(2, choice));
        b.run_with(&mut [floats(vec![0.0])], &Options::default()).expect("it runs")
    };
    assert!(run(240, 256).clean());
    let report = run(248, 256);
    let found = report.find(FindingKind::Deadlock);
    let words = "4 warps from 4 to 7 wait for 256 registers per thread";
    assert!(found.is_some_and(|found| found.line == 3 && found.message.contains(words)), "{report}");
}
