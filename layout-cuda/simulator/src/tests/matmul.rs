//! Tiled matrix product: `M`, `N`, `K` of any size, tiles of 16, a thread for each element of `c`.

use super::build::{Build, Code, as_floats, at, binary, compare, f32, floats, int, load, plus, times};
use crate::Options;
use layout_compiler::elem::Elem;
use layout_compiler::index::Index;
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::{Participants, StatementKind, Value};

const TILE: i64 = 16;

/// The product, with barriers unless `racy`.
pub(super) fn matmul(m: i64, n: i64, k: i64, racy: bool) -> Build {
    let tiles = |extent: i64| ((extent + TILE - 1) / TILE) as u32;
    let grid = [tiles(n), tiles(m), 1];
    let mut b = Build::new([TILE as u32, TILE as u32, 1], grid, &[m, n, k]);
    let (a, w, c) =
        (b.tensor("a", Elem::F32, false), b.tensor("b", Elem::F32, false), b.tensor("c", Elem::F32, true));
    let (sa, sb) =
        (b.shared("a_smem", Elem::F32, TILE as u64 * TILE as u64), b.shared("b_smem", Elem::F32, 256));
    let (tx, ty, bx, by) = (b.thread(0), b.thread(1), b.block(0), b.block(1));
    let (dm, dn, dk) = (b.dim(0), b.dim(1), b.dim(2));
    let row = plus(&times(&by, &int(TILE)), &ty);
    let col = plus(&times(&bx, &int(TILE)), &tx);
    let acc = b.element("acc", Elem::F32);
    let ((step, tile), (kv, inner)) = (b.counter("tile", false), b.counter("k", false));
    let (ka, kb) = (plus(&times(&tile, &int(TILE)), &tx), plus(&times(&tile, &int(TILE)), &ty));
    let lt = |a: &Index, b: &Index| compare(BinaryOp::Lt, a, b);
    let here = plus(&times(&ty, &int(TILE)), &tx);
    let from_a = load(b.access(a, &plus(&times(&row, &dk), &ka), &[lt(&row, &dm), lt(&ka, &dk)], 5));
    let from_b = load(b.access(w, &plus(&times(&kb, &dn), &col), &[lt(&kb, &dk), lt(&col, &dn)], 6));
    let product = binary(
        BinaryOp::Mul,
        load(b.access(sa, &plus(&times(&ty, &int(TILE)), &inner), &[], 9)),
        load(b.access(sb, &plus(&times(&inner, &int(TILE)), &tx), &[], 9)),
    );
    let sum = StatementKind::Assign(acc, binary(BinaryOp::Add, Value::Variable(acc), product));
    let barrier = |line: u32| -> Vec<Code> {
        if racy { Vec::new() } else { vec![at(line, StatementKind::Barrier(Participants::Block))] }
    };
    let mut body = vec![b.store(5, sa, &here, from_a), b.store(6, sb, &here, from_b)];
    body.extend(barrier(7));
    let (start, end) = (int(0), int(TILE));
    let inner_loop = StatementKind::For {
        variable: kv,
        start,
        end,
        step: 1,
        unroll: true,
        reversed: false,
        body: vec![at(9, sum)],
    };
    body.push(at(8, inner_loop));
    body.extend(barrier(10));
    b.body.push(at(1, StatementKind::Let(acc, Some(f32(0.0)))));
    let end = int((k + TILE - 1) / TILE);
    let (start, step_by) = (int(0), 1);
    b.body.push(at(
        4,
        StatementKind::For {
            variable: step,
            start,
            end,
            step: step_by,
            unroll: false,
            reversed: false,
            body,
        },
    ));
    let target = b.access(c, &plus(&times(&row, &dn), &col), &[lt(&row, &dm), lt(&col, &dn)], 12);
    b.body.push(at(12, StatementKind::Store(target, Value::Variable(acc))));
    b
}

/// Inputs whose products and sums are exact.
fn inputs(m: i64, n: i64, k: i64) -> [Vec<f32>; 3] {
    let numbers = |count: i64, seed: i64| (0..count).map(|i| ((i * seed + 3) % 17 - 8) as f32).collect();
    [numbers(m * k, 7), numbers(k * n, 5), vec![-1.0; (m * n) as usize]]
}

fn reference(a: &[f32], b: &[f32], m: usize, n: usize, k: usize) -> Vec<f32> {
    let element = |at: usize| (0..k).map(|i| a[at / n * k + i] * b[i * n + at % n]).sum();
    (0..m * n).map(element).collect()
}

#[test]
fn equals_the_reference_at_any_size() {
    for (m, n, k) in [(1, 1, 1), (16, 16, 16), (100, 76, 52), (17, 33, 5), (3, 5, 0)] {
        let [a, b, c] = inputs(m, n, k);
        let mut tensors = [floats(a.clone()), floats(b.clone()), floats(c)];
        let report = matmul(m, n, k, false).run(&mut tensors).expect("it runs");
        assert!(report.clean(), "{m}x{n}x{k}: {report}");
        assert_eq!(
            as_floats(&tensors[2]),
            reference(&a, &b, m as usize, n as usize, k as usize),
            "{m}x{n}x{k}"
        );
    }
}

#[test]
fn counts_what_a_person_counts() {
    let [a, b, c] = inputs(64, 64, 64);
    let mut tensors = [floats(a), floats(b), floats(c)];
    let report = matmul(64, 64, 64, false).run(&mut tensors).expect("it runs");
    assert_eq!(report.blocks, 16);
    assert_eq!(report.totals.flops, 2 * 64 * 64 * 64);
    // Every block reads a row of tiles of a and a column of tiles of b: 64 * 16 elements each.
    assert_eq!(report.totals.global_bytes_read, 16 * 2 * 64 * 16 * 4);
    assert_eq!(report.totals.global_bytes_written, 64 * 64 * 4);
    // A warp's 32 elements are two rows of 16: two sectors each.
    assert_eq!(report.totals.global_sectors, (16 * 2 * 64 * 16 + 64 * 64) * 4 / 32);
    assert_eq!(report.totals.bank_conflicts, 0);
    let line = report.lines.iter().find(|(line, _)| *line == 9).map(|(_, counts)| *counts);
    assert_eq!(line.map(|counts| counts.shared_requests), Some(2 * 64 * 64 * 64 / 32));
}

#[test]
fn without_barriers_it_is_a_race() {
    use crate::FindingKind;
    let [a, b, c] = inputs(32, 32, 32);
    let mut tensors = [floats(a), floats(b), floats(c)];
    let report = matmul(32, 32, 32, true).run(&mut tensors).expect("it runs");
    let race = report.find(FindingKind::ReadWriteRace).expect("a race is found");
    assert_eq!(race.line, 9, "{report}");
    assert_eq!(race.place.as_deref(), Some("a_smem"));
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    for racy in [false, true] {
        let [a, b, c] = inputs(50, 70, 40);
        let all: Vec<_> = [1, 2, 3, 7]
            .into_iter()
            .map(|threads| {
                let mut tensors = [floats(a.clone()), floats(b.clone()), floats(c.clone())];
                let options = Options { threads, ..Options::default() };
                let report = matmul(50, 70, 40, racy).run_with(&mut tensors, &options).expect("it runs");
                (report, tensors[2].clone())
            })
            .collect();
        for other in &all[1..] {
            assert_eq!(all[0], *other);
        }
    }
}
