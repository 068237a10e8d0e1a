//! Law: for any sequence of asynchronous operations, correct or not, the simulator ends with a report and without a
//! panic, and two runs give equal reports.

use super::build::{Build, Code, at, f32, floats, int, load, plus};
use crate::Options;
use layout_compiler::bind::BoundMap;
use layout_compiler::elem::{Constant, Elem};
use layout_compiler::index::{Index, VarId};
use layout_compiler::ir::BinaryOp;
use layout_compiler::program::tensor_memory::LANE;
use layout_compiler::program::{
    Access, BarrierAt, Comparison, MatrixSource, Operation, Participants, PlaceId, SharedMatrix, Signal,
    StatementKind, StoreMatrix, TensorLoad, TensorMap, TensorStore, Value, Wgmma,
};
use layout_compiler::program::{LeftMatrix, Scope, Space, TensorAt, TensorMove, TensorProduct};

/// Numbers that look random.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}

/// The places of a random program.
struct Places {
    thread: Index,
    tile: PlaceId,
    barriers: PlaceId,
    acc: PlaceId,
    address: PlaceId,
    tensor: PlaceId,
    base: VarId,
}

fn statement(n: &mut Numbers, b: &Build, p: &Places, line: u32) -> Code {
    let index = |n: &mut Numbers, limit: u64| {
        let base = int(n.below(limit) as i64 - 2);
        if n.below(4) == 0 { plus(&base, &p.thread) } else { base }
    };
    let barrier = |n: &mut Numbers| BarrierAt { place: p.barriers, index: index(n, 8) };
    let shared = |n: &mut Numbers, width| Access { width, ..b.access(p.tile, &index(n, 5000), &[], line) };
    let signal = |signal| at(line, StatementKind::Signal(signal));
    let operation = |operation| at(line, StatementKind::Operation(operation));
    match n.below(26) {
        0 | 1 => signal(Signal::BarrierInit { barrier: barrier(n), arrivals: n.below(70) as u32 }),
        2 => signal(Signal::BarrierInitFence),
        3 | 4 => {
            let rank = (n.below(3) == 0).then(|| int(n.below(4) as i64 - 1));
            let expect = [0, 16, 4096, 8192][n.below(4) as usize];
            signal(Signal::BarrierArrive { barrier: barrier(n), expect, rank })
        }
        5 => signal(Signal::BarrierWait { barrier: barrier(n), parity: index(n, 3) }),
        19 => signal(Signal::MemoryFence([Scope::Block, Scope::Device, Scope::System][n.below(3) as usize])),
        6 => signal(Signal::AsyncProxyFence { global: n.below(2) == 0 }),
        7 => signal(Signal::BulkCommit),
        8 => signal(Signal::BulkWait { groups: n.below(2) as u32, read: n.below(2) == 0 }),
        9 => signal(Signal::MatrixCommit),
        10 => signal(Signal::MatrixWait(n.below(2) as u32)),
        11 => signal(Signal::NamedBarrier {
            barrier: index(n, 4),
            threads: 32 * n.below(6) as u32,
            waits: n.below(2) == 0,
        }),
        12 => {
            let (registers, increase) = (8 * n.below(33) as u32, n.below(2) == 0);
            at(line, StatementKind::SetMaxRegisters { registers, increase })
        }
        13 => operation(Operation::TensorLoad(TensorLoad {
            map: n.below(2) as u32,
            destination: shared(n, 1),
            coordinates: vec![index(n, 100), index(n, 50)],
            barrier: barrier(n),
            multicast: (n.below(3) == 0).then(|| n.below(16) as u32),
            hint: None,
        })),
        14 => operation(Operation::TensorStore(TensorStore {
            map: n.below(2) as u32,
            source: shared(n, 1),
            coordinates: vec![index(n, 100), index(n, 50)],
            hint: None,
            adds: n.below(2) == 0,
        })),
        15 => {
            let matrix = |n: &mut Numbers| SharedMatrix {
                first: shared(n, 1),
                k_major: n.below(2) == 0,
                swizzle_bytes: [32, 64, 128][n.below(3) as usize],
                leading_bytes: n.below(1 << 20) as u32,
                stride_bytes: n.below(1 << 20) as u32,
            };
            operation(Operation::Wgmma(Box::new(Wgmma {
                n: 8,
                elem: Elem::F16,
                accumulator: b.access(p.acc, &int(0), &[], line),
                a: MatrixSource::Shared(matrix(n)),
                b: matrix(n),
                accumulate: Value::Constant(Constant::bool(n.below(2) == 0)),
            })))
        }
        16 => {
            let values = (0..8).map(|i| load(b.access(p.acc, &int(i % 4), &[], line))).collect();
            operation(Operation::StoreMatrix(StoreMatrix { destination: shared(n, 8), values }))
        }
        20 => signal(Signal::TensorCommit { barrier: barrier(n) }),
        21 => signal(Signal::TensorFence { after: n.below(2) == 0 }),
        22 => signal(Signal::TensorWait { stores: n.below(2) == 0 }),
        23 => match n.below(2) {
            0 => signal(Signal::TensorFree { columns: 32, base: p.base }),
            _ => {
                let address = BarrierAt { place: p.address, index: int(0) };
                signal(Signal::TensorAllocate { columns: 32, address })
            }
        },
        24 => {
            let matrix = |n: &mut Numbers| SharedMatrix {
                first: shared(n, 1),
                k_major: n.below(2) == 0,
                swizzle_bytes: [32, 64, 128][n.below(3) as usize],
                leading_bytes: n.below(1 << 20) as u32,
                stride_bytes: n.below(1 << 20) as u32,
            };
            operation(Operation::TensorProduct(Box::new(TensorProduct {
                m: [64, 128][n.below(2) as usize],
                n: 16,
                elem: Elem::F16,
                d: TensorAt { place: p.tensor, base: p.base, address: index(n, 520) },
                a: match n.below(2) {
                    0 => LeftMatrix::Shared(Box::new(matrix(n))),
                    _ => {
                        LeftMatrix::Tensor(TensorAt { place: p.tensor, base: p.base, address: index(n, 520) })
                    }
                },
                b: matrix(n),
                accumulate: Value::Constant(Constant::bool(n.below(2) == 0)),
            })))
        }
        25 => operation(Operation::TensorMove(Box::new(TensorMove {
            stores: n.below(2) == 0,
            columns: 4,
            tensor: TensorAt {
                place: p.tensor,
                base: p.base,
                address: plus(&index(n, 520), &int(32 * LANE * n.below(5) as i64)),
            },
            registers: b.access(p.acc, &int(0), &[], line),
        }))),
        17 => at(
            line,
            StatementKind::Barrier([Participants::Block, Participants::Cluster][n.below(2) as usize]),
        ),
        _ => b.store(line, p.acc, &int(n.below(4) as i64), f32(1.0)),
    }
}

#[test]
fn anything_gives_a_report() {
    let mut stopped = 0;
    for seed in 0..200 {
        let mut n = Numbers(seed);
        let threads = [32, 96, 128, 160][n.below(4) as usize];
        let ranks = 1 + n.below(2) as u32;
        let mut b = Build::new([threads, 1, 1], [2, 1, 1], &[]);
        b.cluster = [ranks, 1, 1];
        b.tensor("x", Elem::F16, true);
        let tile = b.shared("tile", Elem::F16, 4096);
        let barriers = b.shared("barriers", Elem::I64, 4);
        let acc = b.local("acc", Elem::F32, 4);
        for swizzle_bytes in [0, 128] {
            let (modes, extents) = (vec![1, 0], vec![64, 32]);
            b.maps.push(TensorMap {
                argument: 0,
                elem: Elem::F16,
                modes,
                extents,
                swizzle_bytes,
                round_tf32: false,
                stored: true,
            });
            b.bound.maps.push(BoundMap { extents: vec![70, 40], strides: vec![144] });
        }
        let address = b.shared("address", Elem::U32, 1);
        let base = VarId(0);
        let tensor = b.place("tensor", Space::Tensor { base, column: 0 }, Elem::F32, 128 * 16, true);
        let places = Places { thread: b.thread(0), tile, barriers, acc, address, tensor, base };
        for line in 1..40 {
            let mut next = statement(&mut n, &b, &places, line);
            if n.below(3) > 0 {
                let right = int(n.below(u64::from(threads)) as i64 + 1);
                let lanes = Comparison { op: BinaryOp::Lt, left: places.thread.clone(), right };
                next = at(line, StatementKind::If(Value::Compare(lanes), vec![next], Vec::new()));
            }
            b.body.push(next);
        }
        let run = |threads: usize, findings: bool| {
            let mut tensors = [floats(vec![0.5; 72 * 40 / 2])];
            let options = Options { threads, findings, ..Options::default() };
            (b.run_with(&mut tensors, &options).expect("a report"), tensors)
        };
        let first = run(1, true);
        assert!(first == run(2, true), "seed {seed}: {}", first.0);
        run(1, false);
        stopped += u32::from(first.0.stopped);
    }
    assert!(stopped > 0 && stopped < 200, "{stopped} of 200 stopped");
}
