//! Banks, sectors, searches and coverage against counts made another way; the atoms against the PTX figures.

use layout_core::algebra::composition;
use layout_core::analysis::{
    Access, bank_conflicts, conflict_free_padding, conflict_free_swizzle, coverage, reference_cases, sectors,
};
use layout_core::atoms::{MatrixCopy, MmaAtom};
use layout_core::{ComposedLayout, Layout};
use std::collections::HashSet;

/// Wavefronts counted directly: for each group of lanes, by bank, the set of words.
fn wavefronts(access: &Access) -> i64 {
    let words = (access.width() / 4).max(1);
    let lanes: Vec<i64> = (0..access.lanes()).collect();
    let mut total = 0;
    for request in 0..access.requests() {
        for group in lanes.chunks((32 / words) as usize) {
            let wanted: HashSet<i64> = group
                .iter()
                .flat_map(|&lane| {
                    let first = access.address(lane, request).unwrap() / 4;
                    first..first + words
                })
                .collect();
            let fullest = (0..32).map(|bank| wanted.iter().filter(|&&word| word % 32 == bank).count()).max();
            total += fullest.unwrap() as i64;
        }
    }
    total
}

#[test]
fn reference_cases_cost_what_is_known() {
    let known = [0, 31, 0, 0, 0, 1, 3, 0, 0, 28, 30, 28, 0];
    let cases = reference_cases().unwrap();
    assert_eq!(cases.len(), known.len());
    for ((name, access), excess) in cases.iter().zip(known) {
        let report = bank_conflicts(access).unwrap();
        assert_eq!(report.excess(), excess, "{name}: {report:?}");
        assert_eq!(report.wavefronts, wavefronts(access), "{name}");
        assert_eq!(report.conflicts.is_empty(), excess == 0, "{name}");
    }
}

#[test]
fn strides_conflict_by_their_common_divisor_with_the_banks() {
    for stride in 1..=64_i64 {
        let access =
            Access::new(Layout::new(32 * stride, 1).unwrap(), Layout::new(32, stride).unwrap(), 1, 4)
                .unwrap();
        let report = bank_conflicts(&access).unwrap();
        let common = (1..=32).filter(|d| stride % d == 0 && 32 % d == 0).max().unwrap();
        assert_eq!(report.wavefronts, common, "stride {stride}");
        assert!(report.conflicts.iter().all(|c| c.words == common && c.lanes.len() as i64 == common));
        let bytes = (stride * 31 + 1) * 4;
        let touched = if stride >= 8 { 32 } else { (bytes + 31) / 32 };
        assert_eq!(sectors(&access).unwrap().sectors, touched, "stride {stride}");
    }
}

#[test]
fn searches_find_the_smallest() {
    for (rows, columns, bytes, vector) in
        [(32, 32, 4, 1), (8, 64, 2, 8), (16, 32, 4, 4), (64, 32, 4, 1), (8, 32, 4, 4)]
    {
        let tile = Layout::row_major((rows, columns)).unwrap();
        // Eight or thirty-two lanes down a column, and as many along a row.
        let lanes = 32 / (vector * bytes / 4).max(1);
        let column =
            Access::new(tile.clone(), Layout::new(lanes.min(rows), 1).unwrap(), vector, bytes).unwrap();
        let along = (columns / vector).min(lanes);
        let row =
            Access::new(tile.clone(), Layout::new(along, rows * vector).unwrap(), vector, bytes).unwrap();
        let accesses = [column, row];
        let swizzle = conflict_free_swizzle(&accesses).unwrap().expect("a power of two has a swizzle");
        let free = |w| {
            let composed = ComposedLayout::new(w, 0, tile.clone()).unwrap();
            [Layout::new(lanes.min(rows), 1).unwrap(), Layout::new(along, rows * vector).unwrap()]
                .into_iter()
                .all(|t| {
                    Access::new(composed.clone(), t, vector, bytes)
                        .is_ok_and(|access| bank_conflicts(&access).unwrap().excess() == 0)
                })
        };
        assert!(free(swizzle));
        // No swizzle of fewer bits does it.
        for bits in 0..swizzle.bits() {
            for (base, shift) in (0..10).flat_map(|base| (bits..10).map(move |shift| (base, shift))) {
                let Ok(smaller) = layout_core::Swizzle::new(bits, base, shift as i32) else { continue };
                assert!(
                    tile.cosize() % smaller.period() != 0 || !free(smaller),
                    "{smaller} is enough for {tile}"
                );
            }
        }
        let (padding, padded) = conflict_free_padding(&accesses).unwrap().expect("padding is always enough");
        assert_eq!(padding % vector, 0);
        assert_eq!(padded.stride(), (columns + padding, 1).into());
    }
}

#[test]
fn atoms_cover_their_tiles_once() {
    for atom in [8, 64, 128, 256].iter().flat_map(|&n| MmaAtom::all(n).unwrap()) {
        let (m, n, k) = atom.shape;
        assert!(coverage(&atom.c, m * n).unwrap().exact(), "C of {}", atom.name);
        assert_eq!(atom.c.mode(0).unwrap().size(), atom.threads);
        for (operand, size) in [(&atom.a, m * k), (&atom.b, n * k)] {
            let values = operand.mode(1).unwrap();
            let shared = operand.mode(0).unwrap().leaves().all(|mode| mode.stride == 0);
            assert_eq!(operand.mode(0).unwrap().size(), atom.threads);
            // Of an operand in shared memory each thread sees every element.
            let seen = if shared { &values } else { operand };
            assert!(coverage(seen, size).unwrap().exact(), "{operand} of {}", atom.name);
            assert!(!shared || atom.name.starts_with("wgmma"));
        }
    }
    assert!(
        MmaAtom::wgmma(12, 16).is_err() && MmaAtom::wgmma(64, 5).is_err() && MmaAtom::wgmma(264, 8).is_err()
    );
}

/// Row and column of a value, from the formulas of the PTX manual: groupID = lane / 4, t = lane % 4.
#[test]
fn atoms_are_those_of_the_manual() {
    let at = |layout: &Layout, rows: i64, lane: i64, value: i64| {
        let index = layout.crd2idx(&(lane, value).into()).unwrap();
        (index % rows, index / rows)
    };
    let (tf32, f16) = (MmaAtom::m16n8k8_tf32().unwrap(), MmaAtom::m16n8k16_f16().unwrap());
    let (s8, f64, wg) =
        (MmaAtom::m16n8k32_8bit().unwrap(), MmaAtom::m8n8k4_f64().unwrap(), MmaAtom::wgmma(64, 16).unwrap());
    let (k8, u8s) = (MmaAtom::m16n8k8_f16().unwrap(), MmaAtom::m8n8k16_8bit().unwrap());
    for lane in 0..32 {
        let (group, t) = (lane / 4, lane % 4);
        for i in 0..8 {
            let row = if i % 4 < 2 { group } else { group + 8 };
            let column = t * 2 + i % 2 + if i < 4 { 0 } else { 8 };
            assert_eq!(at(&f16.a, 16, lane, i), (row, column), "f16 A of lane {lane}, value {i}");
        }
        for i in 0..4 {
            let k = t * 2 + i % 2 + if i < 2 { 0 } else { 8 };
            assert_eq!(at(&f16.b, 8, lane, i), (group, k), "f16 B of lane {lane}, value {i}");
            let row = if i < 2 { group } else { group + 8 };
            for atom in [&f16, &tf32, &s8] {
                assert_eq!(at(&atom.c, 16, lane, i), (row, t * 2 + i % 2), "C of {}", atom.name);
            }
            let (row, k) = (if i % 2 == 0 { group } else { group + 8 }, if i < 2 { t } else { t + 4 });
            assert_eq!(at(&tf32.a, 16, lane, i), (row, k), "tf32 A of lane {lane}, value {i}");
        }
        for i in 0..16 {
            let row = if i % 8 < 4 { group } else { group + 8 };
            let column = t * 4 + i % 4 + if i < 8 { 0 } else { 16 };
            assert_eq!(at(&s8.a, 16, lane, i), (row, column), "8-bit A of lane {lane}, value {i}");
        }
        for i in 0..4 {
            let row = if i < 2 { group } else { group + 8 };
            assert_eq!(
                at(&k8.a, 16, lane, i),
                (row, t * 2 + i % 2),
                "f16 A of lane {lane}, value {i}, K of 8"
            );
            assert_eq!(
                at(&u8s.a, 8, lane, i),
                (group, t * 4 + i),
                "8-bit A of lane {lane}, value {i}, K of 16"
            );
        }
        assert_eq!((&k8.c, &u8s.b, &u8s.c), (&f16.c, &u8s.a, &f64.c));
        for i in 0..2 {
            assert_eq!(at(&k8.b, 8, lane, i), (group, t * 2 + i), "f16 B of lane {lane}, value {i}, K of 8");
            assert_eq!(at(&tf32.b, 8, lane, i), (group, t + 4 * i), "tf32 B of lane {lane}, value {i}");
            assert_eq!(at(&f64.c, 8, lane, i), (group, t * 2 + i), "f64 C of lane {lane}, value {i}");
        }
        assert_eq!((at(&f64.a, 8, lane, 0), at(&f64.b, 8, lane, 0)), ((group, t), (group, t)));
    }
    // Of A in registers, for each width: four registers of 32 bits, rows apart by 8, then columns by half the tile.
    for bits in [8, 16, 32] {
        let (a, packed) = (MmaAtom::wgmma_register_a(64, bits).unwrap().a, 32 / bits);
        for (thread, i) in (0..128).flat_map(|thread| (0..4 * packed).map(move |i| (thread, i))) {
            let (register, part) = (i / packed, i % packed);
            let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (register % 2);
            let column = packed * (thread % 4) + part + 4 * packed * (register / 2);
            assert_eq!(at(&a, 64, thread, i), (row, column), "{bits}-bit A of thread {thread}, value {i}");
        }
    }
    for thread in 0..128 {
        for i in 0..32 {
            let row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (i / 2 % 2);
            assert_eq!(at(&wg.c, 64, thread, i), (row, 8 * (i / 4) + 2 * (thread % 4) + i % 2));
        }
    }
}

/// Thread t has row t/4 and columns 2*(t%4) and the next of each matrix; transposed, the other way round.
#[test]
fn matrix_copies_are_those_of_the_manual() {
    for (matrices, transposed) in [1, 2, 4].into_iter().flat_map(|count| [(count, false), (count, true)]) {
        let load = MatrixCopy::ldmatrix(matrices, transposed).unwrap();
        let store = MatrixCopy::stmatrix(matrices, transposed).unwrap();
        assert_eq!((&load.rows, &load.registers), (&store.rows, &store.registers));
        assert!(load.name.starts_with("ldmatrix") && load.name.contains(".trans") == transposed);
        assert!(coverage(&load.registers, 64 * matrices).unwrap().exact());
        for (t, i) in (0..32).flat_map(|t| (0..2 * matrices).map(move |i| (t, i))) {
            let (along, pair, matrix) = (t / 4, 2 * (t % 4) + i % 2, i / 2);
            let (row, column) = if transposed { (pair, along) } else { (along, pair) };
            assert_eq!(load.registers.crd2idx(&(t, i).into()), Ok(column + 8 * row + 64 * matrix));
        }
        for (t, column) in (0..8 * matrices).flat_map(|t| (0..8).map(move |column| (t, column))) {
            assert_eq!(
                load.rows.crd2idx(&(t, column).into()),
                Ok(column + 8 * t),
                "thread t addresses row t"
            );
        }
        assert_eq!(load.rows.cosize(), 64 * matrices);
    }
    assert!(MatrixCopy::stmatrix(8, false).is_err() && MatrixCopy::ldmatrix(0, true).is_err());
}

/// What ldmatrix leaves in the registers is what mma takes from them, and stmatrix takes what it gives.
#[test]
fn matrix_copies_fit_the_products() {
    let f16 = MmaAtom::m16n8k16_f16().unwrap();
    let through =
        |tile: &str, copy: MatrixCopy| composition(&tile.parse().unwrap(), &copy.registers).unwrap();
    // Each tile takes (column, row, matrix) to the operand's own index.
    let four = through("(8,8,(2,2)):(16,1,(8,128))", MatrixCopy::ldmatrix(4, false).unwrap());
    assert!(four.same_function(&f16.a), "A, stored by rows: {four}");
    let two = through("(8,8,2):(8,1,64)", MatrixCopy::ldmatrix(2, false).unwrap());
    assert!(two.same_function(&f16.b), "B, stored by columns: {two}");
    let turned = through("(8,8,2):(1,8,64)", MatrixCopy::ldmatrix(2, true).unwrap());
    assert!(turned.same_function(&f16.b), "B, stored by rows: {turned}");
    let out = through("(8,8,2):(16,1,8)", MatrixCopy::stmatrix(2, false).unwrap());
    assert!(out.same_function(&f16.c), "C, stored by rows: {out}");
}

#[test]
fn bad_accesses_are_refused() {
    let tile = Layout::row_major((8, 8)).unwrap();
    let lanes = |text: &str| text.parse::<Layout>().unwrap();
    assert!(Access::new(tile.clone(), lanes("33:1"), 1, 4).is_err(), "33 lanes");
    assert!(Access::new(tile.clone(), lanes("8:10"), 1, 4).is_err(), "past the end");
    assert!(Access::new(tile.clone(), lanes("8:1"), 3, 4).is_err(), "12 bytes");
    assert!(
        Access::new(tile.clone(), lanes("8:1"), 0, 4).is_err()
            && Access::new(tile.clone(), lanes("0:1"), 1, 4).is_err()
    );
    assert!(Access::new(lanes("64:1"), lanes("8:1"), 4, 4).is_err(), "misaligned");
    assert!(conflict_free_swizzle(&[]).is_err());
    assert!(coverage(&lanes("4:1"), -1).is_err() && coverage(&lanes("4:1"), 1 << 40).is_err());
}
