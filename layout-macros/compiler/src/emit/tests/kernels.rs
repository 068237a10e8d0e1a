//! Whole kernels.

use super::build::*;
use super::check;
use crate::check::Checked;
use crate::elem::Elem;
use crate::emit::dynamic_shared_bytes;
use crate::ir::{BinaryOp, Special};
use crate::program::{Access, Operation, Participants, Signal, StatementKind, VariableKind};

fn mask(mut access: Access, mask: Vec<crate::program::Comparison>) -> Access {
    access.mask = mask;
    access
}

/// `c[[i]] = alpha * a[[i]] + b[[i]]`
fn axpy(narrow: bool) -> Checked {
    let mut b = Build::new(narrow, [256, 1, 1]);
    let (x, y) = (b.tensor("x", Elem::F32, false), b.tensor("y", Elem::F32, true));
    let alpha = b.scalar("alpha", Elem::F32);
    let n = b.dim("N", 1);
    let (block, thread) = (b.special(Special::BlockIdx, 0), b.special(Special::ThreadIdx, 0));
    let (i, index) = b.index("i", 0, 65535 * 256 + 1023);
    let global = plus(&times(&block, &number(256)), &thread);
    let inside = vec![compare(BinaryOp::Lt, &index, &n)];
    let read = |place| load(mask(b.at(place, &index), inside.clone()));
    let value = binary(BinaryOp::Add, binary(BinaryOp::Mul, alpha, read(x)), read(y));
    let target = mask(b.at(y, &index), inside.clone());
    let body = vec![b.line(StatementKind::LetIndex(i, global)), b.line(StatementKind::Store(target, value))];
    b.finish("axpy", body)
}

#[test]
fn masked_loads_and_stores() {
    check("axpy", &axpy(true));
    check("axpy_wide", &axpy(false));
}

/// One step of a tiled product: asynchronous copies, registers, an outer product.
fn tiled() -> Checked {
    let mut b = Build::new(true, [64, 1, 1]);
    let a = b.tensor("a", Elem::F32, false);
    let c = b.tensor("c", Elem::F32, true);
    let (m, k) = (b.dim("M", 1), b.dim("K", 8));
    let a_smem = b.shared("a_smem", Elem::F32, 512);
    let acc = b.local("acc", Elem::F32, 16);
    let a_reg = b.local("a_reg", Elem::F32, 4);
    let (block, thread) = (b.special(Special::BlockIdx, 1), b.special(Special::ThreadIdx, 0));
    let (row, row_index) = b.index("row", 0, 65535 * 64 + 63);
    let tile = b.variable("a_tile", VariableKind::Pointer(a));
    let (i, i_index) = b.index("i", 0, 3);
    let (j, j_index) = b.index("j", 0, 3);
    let (block_k, block_k_index) = b.index("block", 0, 1 << 24);
    let (step, step_index) = b.index("k", 0, 7);

    let at = b.at(acc, &plus(&times(&i_index, &number(4)), &j_index));
    let zero = b.line(StatementKind::Store(at.clone(), float(0.0)));
    let zero = b.count(j, 0, &number(4), true, vec![zero]);
    let zero = b.count(i, 0, &number(4), true, vec![zero]);

    let mut destination = b.at(a_smem, &times(&thread, &number(4)));
    let source_index = plus(&times(&block_k_index, &number(8)), &times(&thread, &number(4)));
    let mut source = mask(b.at(a, &source_index), vec![compare(BinaryOp::Lt, &row_index, &m)]);
    (destination.width, source.width) = (4, 4);
    source.pointer = Some(tile);
    let copy = b.line(StatementKind::Operation(Operation::AsyncCopy { destination, source }));
    let commit = b.line(StatementKind::Signal(Signal::CopyCommit));
    let wait = b.line(StatementKind::Signal(Signal::CopyWait(0)));
    let barrier = b.line(StatementKind::Barrier(Participants::Block));

    let smem = b.at(a_smem, &plus(&times(&step_index, &number(64)), &i_index));
    let fill = b.line(StatementKind::Store(b.at(a_reg, &i_index), load(smem)));
    let fill = b.count(i, 0, &number(4), true, vec![fill]);
    let product = binary(BinaryOp::Mul, load(b.at(a_reg, &i_index)), load(b.at(a_reg, &j_index)));
    let sum = b.line(StatementKind::Store(at.clone(), binary(BinaryOp::Add, load(at), product)));
    let sum = b.count(j, 0, &number(4), true, vec![sum]);
    let sum = b.count(i, 0, &number(4), true, vec![sum]);
    let steps = b.count(step, 0, &number(8), true, vec![fill, sum]);
    let blocks = k.exact_div(8).expect("a multiple");
    let all = b.count(block_k, 0, &blocks, false, vec![copy, commit, wait, barrier.clone(), steps, barrier]);

    let mut destination = b.at(c, &plus(&times(&row_index, &k), &times(&i_index, &number(4))));
    let mut source = b.at(acc, &times(&i_index, &number(4)));
    (destination.width, source.width) = (4, 4);
    let write = b.line(StatementKind::Operation(Operation::Move { destination, source }));
    let write = b.count(i, 0, &number(4), true, vec![write]);

    let global = plus(&times(&block, &number(64)), &thread);
    let body = vec![
        b.line(StatementKind::LetIndex(row, global)),
        b.line(StatementKind::LetIndex(tile, times(&row_index, &k))),
        zero,
        all,
        write,
    ];
    b.finish("tiled_BM64", body)
}

#[test]
fn a_tiled_kernel() {
    let checked = tiled();
    assert_eq!(dynamic_shared_bytes(&checked), 0);
    check("tiled", &checked);
}
