//! The meaning of the words for TMA, for matrix products of a warpgroup, and for their waits and fences.

use super::datum::{LayoutDatum, StaticValue};
use super::evaluator::{Evaluator, Failed, Outcome};
use super::tile::TileOperation;
use super::vocabulary::Call;
use crate::elem::Elem;
use crate::index::{Index, VarId, Width};
use crate::intrinsic::Intrinsic;
use crate::ir::{BinaryOp, Special, TypeRef};
use crate::origin::Origin;
use crate::program::{
    BarrierAt, Comparison, Participants, Place, PlaceId, Scope, Signal, Space, Statement, StatementKind,
    Value, VariableKind,
};
use crate::view::View;
use layout_core::{IntTuple, Layout};

/// Threads of a warpgroup.
const GROUP: i64 = 128;

impl Evaluator<'_> {
    /// A word about asynchronous work, or about who does it.
    pub(super) fn asynchronous(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, values, origin, .. } = call;
        let name = intrinsic.name();
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or(StaticValue::Unknown);
        let signal = match intrinsic {
            Intrinsic::WarpGroup => {
                let thread = self.linear_thread(origin)?;
                let group = self.tables.atoms.div(&thread, &Index::constant(GROUP));
                return Ok(StaticValue::Index(self.index(origin, group)?));
            }
            Intrinsic::ClusterRank => return self.cluster_rank(origin),
            Intrinsic::MapSharedRank => {
                let view = self.view(next(), name, origin)?;
                let rank = self.expect_index(next(), origin)?;
                return self.map_shared_rank(view, &rank, origin);
            }
            Intrinsic::ClusterBarrier => {
                return self.effect(origin, StatementKind::Barrier(Participants::Cluster));
            }
            Intrinsic::Mbarriers => return self.mbarriers(next(), next(), origin),
            Intrinsic::At => return self.barrier_at(next(), next(), origin),
            Intrinsic::Arrive => {
                Signal::BarrierArrive { barrier: self.barrier(next(), name, origin)?, expect: 0, rank: None }
            }
            Intrinsic::ArriveExpect => {
                let barrier = self.barrier(next(), name, origin)?;
                let expect =
                    self.number(next(), (1 << 20) - 1, "the bytes that a phase waits for", origin)?;
                Signal::BarrierArrive { barrier, expect, rank: None }
            }
            Intrinsic::ArriveRemote => {
                let barrier = self.barrier(next(), name, origin)?;
                let rank = Some(self.expect_index(next(), origin)?);
                Signal::BarrierArrive { barrier, expect: 0, rank }
            }
            Intrinsic::Wait => {
                let barrier = self.barrier(next(), name, origin)?;
                let round = self.expect_index(next(), origin)?;
                Signal::BarrierWait { barrier, parity: self.parity(round, origin)? }
            }
            Intrinsic::NamedBarrier | Intrinsic::NamedBarrierArrive => {
                let barrier = self.expect_index(next(), origin)?;
                let threads = self.number(next(), 1024, "the threads of a barrier", origin)?;
                if threads % 32 != 0 || threads == 0 {
                    let message = format!("a barrier of {threads} threads");
                    return self.fail_help(origin, message, "whole warps meet there: a multiple of 32");
                }
                Signal::NamedBarrier { barrier, threads, waits: intrinsic == Intrinsic::NamedBarrier }
            }
            Intrinsic::SetMaxRegisters => {
                let registers = self.number(next(), 256, "the registers of a thread", origin)?;
                if registers < 24 || registers % 8 != 0 {
                    let message = format!("{registers} registers; there may be 24 to 256, a multiple of 8");
                    return self.fail(origin, message);
                }
                let threads: u32 = self.block.iter().product();
                let at_start = (65_536 / threads.max(1)).min(255) / 8 * 8;
                let increase = registers > at_start;
                return self.effect(origin, StatementKind::SetMaxRegisters { registers, increase });
            }
            Intrinsic::FenceBlock => Signal::MemoryFence(Scope::Block),
            Intrinsic::FenceDevice => Signal::MemoryFence(Scope::Device),
            Intrinsic::FenceSystem => Signal::MemoryFence(Scope::System),
            Intrinsic::BulkCommitGroup => Signal::BulkCommit,
            Intrinsic::BulkWaitGroup | Intrinsic::BulkWaitGroupRead => {
                let groups = self.number(next(), 64, "the number of groups", origin)?;
                Signal::BulkWait { groups, read: intrinsic == Intrinsic::BulkWaitGroupRead }
            }
            Intrinsic::GridDependencyWait => Signal::DependencyWait,
            Intrinsic::LaunchDependents => Signal::LaunchDependents,
            Intrinsic::FenceAsyncProxy => Signal::AsyncProxyFence { global: false },
            Intrinsic::FenceAsyncProxyGlobal => Signal::AsyncProxyFence { global: true },
            Intrinsic::WgmmaCommitGroup => Signal::MatrixCommit,
            Intrinsic::WgmmaWaitGroup => {
                Signal::MatrixWait(self.number(next(), 7, "the number of groups", origin)?)
            }
            Intrinsic::PipelineState => {
                let stages = self.number(next(), 1024, "the stages of a ring", origin)?;
                return self.pipeline(i64::from(stages.max(1)), origin);
            }
            Intrinsic::Stage | Intrinsic::Phase | Intrinsic::Advance => {
                let (stage, phase, stages) = match next() {
                    StaticValue::Pipeline(stage, phase, stages) => (stage, phase, stages),
                    StaticValue::Unknown => return Err(Failed),
                    other => {
                        let message =
                            format!("`{name}` applies to a state of a pipeline, not to {}", other.kind());
                        return self.fail_help(origin, message, "`let mut state = pipeline_state(STAGES)`");
                    }
                };
                return match intrinsic {
                    Intrinsic::Stage => Ok(StaticValue::Index(self.read_index(stage))),
                    Intrinsic::Phase => Ok(StaticValue::Index(self.read_index(phase))),
                    _ => self.advance(stage, phase, stages, origin),
                };
            }
            Intrinsic::Prefetch => return self.prefetch(next(), next(), origin),
            Intrinsic::TmaLoad | Intrinsic::TmaLoadMulticast => {
                let destination = self.written(next(), name, origin)?;
                let source = self.view(next(), name, origin)?;
                let source = self.past_l1(source, name, origin)?;
                let barrier = self.barrier(next(), name, origin)?;
                let multicast = match intrinsic {
                    Intrinsic::TmaLoad => None,
                    _ => Some(self.number(next(), 0xffff, "the mask of blocks", origin)?),
                };
                let load = TileOperation::TensorLoad { destination, source, barrier, multicast };
                return self.effect(origin, StatementKind::Operation(load));
            }
            Intrinsic::TmaStore | Intrinsic::TmaAdd => {
                let destination = self.written(next(), name, origin)?;
                let destination = self.past_l1(destination, name, origin)?;
                let source = self.view(next(), name, origin)?;
                let store =
                    TileOperation::TensorStore { destination, source, adds: intrinsic == Intrinsic::TmaAdd };
                return self.effect(origin, StatementKind::Operation(store));
            }
            Intrinsic::StoreAsync => {
                let destination = self.written(next(), name, origin)?;
                let source = self.view(next(), name, origin)?;
                let barrier = self.barrier(next(), name, origin)?;
                let store = TileOperation::RemoteStore { destination, source, barrier };
                return self.effect(origin, StatementKind::Operation(store));
            }
            Intrinsic::Accumulator => {
                let extents = self.sizes(next(), name, origin)?;
                return self.accumulator(&extents, Elem::F32, origin);
            }
            Intrinsic::Wgmma => {
                let accumulator = self.written(next(), name, origin)?;
                let (a, b) = (self.view(next(), name, origin)?, self.view(next(), name, origin)?);
                let accumulate = self.coerce(next(), Elem::Bool, origin)?;
                self.push(origin, StatementKind::Signal(Signal::MatrixFence));
                let product = TileOperation::Wgmma { accumulator, a, b, accumulate };
                return self.effect(origin, StatementKind::Operation(product));
            }
            Intrinsic::StoreMatrix => {
                let destination = self.written(next(), name, origin)?;
                let source = self.view(next(), name, origin)?;
                let store = TileOperation::StoreMatrix { destination, source };
                return self.effect(origin, StatementKind::Operation(store));
            }
            _ => return self.fail(origin, format!("`{name}` is about no asynchronous work")),
        };
        self.effect(origin, StatementKind::Signal(signal))
    }

    /// `view.prefetch([i, j])`
    fn prefetch(
        &mut self,
        view: StaticValue,
        coordinates: StaticValue,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let view = self.view(view, "prefetch", origin)?;
        let place = self.tables.place(view.place);
        if !matches!(place.space, Space::Global(_)) {
            let message = format!("`prefetch` of `{}`, which is not in global memory", place.name);
            return self.fail_help(origin, message, "it takes an argument, or a tile of one");
        }
        let (StaticValue::Array(coordinates) | StaticValue::Tuple(coordinates)) = coordinates else {
            let message = "the coordinates of `prefetch` are an array: `[i, j]`";
            return self.fail_help(
                origin,
                message,
                "write `x.prefetch([i])`, with a coordinate for each mode",
            );
        };
        let (access, _) = self.place(StaticValue::View(view), (&[], coordinates), origin)?;
        self.effect(origin, StatementKind::Operation(TileOperation::Prefetch(access)))
    }

    /// The block's place in its cluster, `x` fastest.
    fn cluster_rank(&mut self, origin: Origin) -> Outcome<StaticValue> {
        let mut rank = Index::constant(0);
        let mut stride = 1i64;
        for axis in 0..3u32 {
            let count = i64::from(self.cluster[axis as usize]);
            if count > 1 {
                let block = self.special(Special::BlockIdx, axis, origin)?;
                let block = self.expect_index(block, origin)?;
                let place = self.tables.atoms.rem(&block, &Index::constant(count));
                let next = self.index(origin, place)?.scale(stride).and_then(|place| rank.add(&place));
                rank = self.index(origin, next)?;
            }
            stride *= count;
        }
        Ok(StaticValue::Index(rank))
    }

    /// A place that represents another block's, and the variable that holds that block's rank.
    fn map_shared_rank(&mut self, view: View, rank: &Index, origin: Origin) -> Outcome<StaticValue> {
        let place = self.tables.place(view.place).clone();
        let blocks: u32 = self.cluster.iter().product();
        let range = self.tables.atoms.range(rank);
        if !matches!(place.space, Space::Shared { .. }) {
            let message =
                format!("`map_shared_rank` of `{}`, which is no shared tensor of this block", place.name);
            return self.fail_help(origin, message, "it takes a view of `shared::<T>(..)`");
        }
        if range.high < 0 || range.low >= i128::from(blocks) {
            let message = format!(
                "rank {} of a cluster of {blocks}",
                if range.high < 0 { range.high } else { range.low }
            );
            return self.fail_help(
                origin,
                message,
                "ranks count from 0; the attribute says how many: `cluster = [4, 1, 1]`",
            );
        }
        let var = self.unnamed("rank", VariableKind::Index(Width::Int), false, origin);
        self.push(origin, StatementKind::LetIndex(var, rank.clone()));
        let id = PlaceId(self.tables.places.len() as u32);
        self.tables.places.push(Place { space: Space::Remote { of: view.place, rank: var }, ..place });
        let offset = self.index(origin, view.full_offset())?;
        Ok(StaticValue::View(View { place: id, pointer: None, offset, ..view }))
    }

    /// The array, and its making by the block's first threads.
    fn mbarriers(
        &mut self,
        count: StaticValue,
        arrivals: StaticValue,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let count = self.number(count, 1024, "the number of mbarriers", origin)?;
        let arrivals = self.number(arrivals, (1 << 20) - 1, "the arrivals of a phase", origin)?;
        if arrivals == 0 {
            return self.fail(origin, format!("{count} mbarriers of {arrivals} arrivals"));
        }
        if count == 0 {
            // No place: `at` refuses them.
            return Ok(StaticValue::Barriers(PlaceId(u32::MAX), 0));
        }
        let place = PlaceId(self.tables.places.len() as u32);
        let space = self.shared_memory(u64::from(count) * 8, 8, origin)?;
        self.tables.places.push(Place {
            name: "mbarriers".to_owned(),
            space,
            elem: Elem::I64,
            len: u64::from(count),
            align: 8,
            mutable: true,
            origin,
        });
        let thread = self.linear_thread(origin)?;
        // Each by a thread of its own, where there are so many.
        let threads: u32 = self.block.iter().product();
        let (rounds, making_threads) = if count <= threads { (1, count) } else { (count, 1) };
        let (making, ()) = self.nested(|this| {
            for at in 0..i64::from(rounds) {
                let index = if making_threads > 1 { thread.clone() } else { Index::constant(at) };
                let barrier = BarrierAt { place, index };
                this.push(origin, StatementKind::Signal(Signal::BarrierInit { barrier, arrivals }));
            }
            this.push(origin, StatementKind::Signal(Signal::BarrierInitFence));
        });
        // One thread is thread 0; of a block that has no other nothing is asked.
        let (op, right) =
            if making_threads == 1 { (BinaryOp::Eq, 0) } else { (BinaryOp::Lt, i64::from(making_threads)) };
        if threads == 1 {
            self.out.extend(making);
        } else {
            let first = Comparison { op, left: thread, right: Index::constant(right) };
            self.push(origin, StatementKind::If(Value::Compare(first), making, Vec::new()));
        }
        Ok(StaticValue::Barriers(place, i64::from(count)))
    }

    /// The parity of a round: PTX takes 0 and 1 only, so what may be another number is taken modulo 2.
    fn parity(&mut self, round: Index, origin: Origin) -> Outcome<Index> {
        if self.is_within(&round, 2) {
            return Ok(round);
        }
        let (atoms, two) = (&mut self.tables.atoms, Index::constant(2));
        let rest = atoms.rem(&round, &two);
        let rest = match atoms.range(&round).low >= 0 {
            true => rest,
            false => rest.and_then(|rest| atoms.rem(&rest.add(&two)?, &two)),
        };
        self.index(origin, rest)
    }

    fn barrier_at(&mut self, barriers: StaticValue, at: StaticValue, origin: Origin) -> Outcome<StaticValue> {
        let StaticValue::Barriers(place, count) = barriers else {
            return self.fail_help(
                origin,
                format!("`at` applies to mbarriers, not to {}", barriers.kind()),
                "an element of a tensor is `x[[i, j]]`, of an array `a[i]`",
            );
        };
        let index = self.expect_index(at, origin)?;
        if count == 0 {
            let help = "under a condition over parameters, make them and name them under the same one";
            return self.fail_help(origin, "an element of `mbarriers(0, ..)`, which are none", help);
        }
        let range = self.tables.atoms.range(&index);
        if !self.is_within(&index, count) {
            if self.require_below(&index, count) {
                return Err(Failed);
            }
            let name = self.tables.place(place).name.clone();
            return self.fail_help(
                origin,
                match range.fits_i32() {
                    true => format!(
                        "the index of `{name}` may be {} to {}, and its mbarriers are 0 to {}",
                        range.low,
                        range.high,
                        count - 1
                    ),
                    false => format!(
                        "the index of `{name}` may be any number, and its mbarriers are 0 to {}",
                        count - 1
                    ),
                },
                format!("take the index modulo {count}"),
            );
        }
        Ok(StaticValue::Barrier(BarrierAt { place, index }))
    }

    pub(super) fn barrier(&mut self, datum: StaticValue, name: &str, origin: Origin) -> Outcome<BarrierAt> {
        match datum {
            StaticValue::Barrier(barrier) => Ok(barrier),
            StaticValue::Barriers(place, 1) => Ok(BarrierAt { place, index: Index::constant(0) }),
            StaticValue::Unknown => Err(Failed),
            other => {
                let message = format!("`{name}` applies to an mbarrier, not to {}", other.kind());
                self.fail_help(origin, message, "take one of them: `barriers.at(i)`")
            }
        }
    }

    /// Two variables: the stage, and the phase, the number of rounds modulo 2.
    fn pipeline(&mut self, stages: i64, origin: Origin) -> Outcome<StaticValue> {
        let mut declare = |name: &str, last: i64| {
            let var = self.variable(name, VariableKind::Index(Width::Int), true, origin);
            self.push(origin, StatementKind::LetIndex(var, Index::constant(0)));
            self.bounded.insert(var, last);
            self.forget(var);
            var
        };
        let (stage, phase) = (declare("stage", stages - 1), declare("phase", 1));
        Ok(StaticValue::Pipeline(stage, phase, stages))
    }

    /// `phase = (phase + (stage + 1) / stages) % 2; stage = (stage + 1) % stages;`
    fn advance(&mut self, stage: VarId, phase: VarId, stages: i64, origin: Origin) -> Outcome<StaticValue> {
        let (at, old) = (self.read_index(stage), self.read_index(phase));
        let next = (|| Ok((at.plus(1)?, old.scale(-1)?.plus(1)?)))();
        let (next, turned) = self.index(origin, next)?;
        let last = Comparison { op: BinaryOp::Eq, left: at, right: Index::constant(stages - 1) };
        let assign = |var, index| Statement { kind: StatementKind::AssignIndex(var, index), origin };
        let around = vec![assign(stage, Index::constant(0)), assign(phase, turned)];
        let on = vec![assign(stage, next)];
        self.push(origin, StatementKind::If(Value::Compare(last), around, on));
        self.forget(phase);
        self.forget(stage);
        Ok(StaticValue::Unit)
    }

    /// Registers of a thread for the warpgroup's `(64, n)`: row `lane / 4 + 8 h`, columns `8 j + 2 (lane % 4)` and the
    /// next are vector `(h, j)`.
    pub(super) fn accumulator(
        &mut self,
        extents: &[i64],
        elem: Elem,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let (64, n @ 8..=256) = (extents.first().copied().unwrap_or(0), extents.get(1).copied().unwrap_or(0))
        else {
            let message = format!("an accumulator of extents {extents:?}");
            return self.fail_help(
                origin,
                message,
                "a warpgroup's product has 64 rows and 8 to 256 columns: `accumulator([64, 128])`",
            );
        };
        if n % 8 != 0 || extents.len() != 2 {
            return self.fail(origin, format!("an accumulator of {n} columns, which is no multiple of 8"));
        }
        let layout = Layout::new(IntTuple::flat(vec![2, n / 4]), IntTuple::flat(vec![2, 1]));
        let layout = match layout {
            Ok(layout) => layout,
            Err(error) => return self.fail(origin, error.to_string()),
        };
        let datum = StaticValue::Layout(LayoutDatum { layout, swizzle: None, swizzle_bytes: None });
        let StaticValue::View(mut view) = self.allocate(datum, &[TypeRef::Elem(elem)], false, origin)? else {
            return Err(Failed);
        };
        self.tables.places[view.place.0 as usize].len = (n / 2) as u64;
        let vectors = view
            .vectorize(&[1, 2], &mut |extent, by| extent.exact_div(by).ok_or(crate::index::IndexOverflow));
        view = self.index(origin, vectors)?;
        view.modes[1].stride = Index::constant(4);
        Ok(StaticValue::View(view))
    }
}
