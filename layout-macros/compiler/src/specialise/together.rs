//! The meaning of the words for collectives: shuffles, votes and reductions of a warp or a block; and for atomic
//! operations.
//!
//! A block's reduction is built from other words: a reduction in each warp, one element of shared memory for each
//! warp, a barrier, the elements combined in order (of 32 warps by shuffles again), and a barrier before that memory
//! is reused.

use super::datum::StaticValue;
use super::evaluator::{Evaluator, Outcome};
use super::tile::TileAccess;
use super::vocabulary::Call;
use crate::elem::{Constant, Elem};
use crate::index::Index;
use crate::intrinsic::Intrinsic;
use crate::ir::BinaryOp;
use crate::math::Math;
use crate::origin::Origin;
use crate::program::{
    AtomicChange, Collective, Comparison, Ordering, Participants, Place, PlaceId, Scope, Space, Statement,
    StatementKind, Value, VariableKind,
};
use crate::view::View;

use Ordering::{Relaxed, Synchronising};

const LANES: i64 = 32;

impl Evaluator<'_> {
    /// A word about several threads.
    pub(super) fn together(&mut self, call: Call<'_>) -> Outcome<StaticValue> {
        let Call { word: intrinsic, values, origin, .. } = call;
        let name = intrinsic.name();
        let collective = match intrinsic {
            Intrinsic::Shuffle => Collective::Shuffle,
            Intrinsic::ShuffleUp => Collective::ShuffleUp,
            Intrinsic::ShuffleDown => Collective::ShuffleDown,
            Intrinsic::ShuffleXor => Collective::ShuffleXor,
            Intrinsic::WarpSum | Intrinsic::BlockSum => Collective::Sum,
            Intrinsic::WarpMax | Intrinsic::BlockMax => Collective::Max,
            Intrinsic::WarpMin | Intrinsic::BlockMin => Collective::Min,
            Intrinsic::WarpAnd => Collective::And,
            Intrinsic::WarpOr => Collective::Or,
            Intrinsic::WarpXor => Collective::Xor,
            Intrinsic::MatchAny => Collective::MatchAny,
            Intrinsic::MatchAll => Collective::MatchAll,
            Intrinsic::WarpPrefixSum | Intrinsic::BlockPrefixSum => Collective::PrefixSum,
            Intrinsic::Ballot => Collective::Ballot,
            Intrinsic::Any => Collective::Any,
            Intrinsic::All => Collective::All,
            Intrinsic::ElectOne => Collective::ElectOne,
            Intrinsic::AtomicAdd => return self.atomic(AtomicChange::Add, name, values, origin),
            Intrinsic::AtomicMax => return self.atomic(AtomicChange::Max, name, values, origin),
            Intrinsic::AtomicMin => return self.atomic(AtomicChange::Min, name, values, origin),
            Intrinsic::AtomicAnd => return self.atomic(AtomicChange::And, name, values, origin),
            Intrinsic::AtomicOr => return self.atomic(AtomicChange::Or, name, values, origin),
            Intrinsic::AtomicXor => return self.atomic(AtomicChange::Xor, name, values, origin),
            Intrinsic::AtomicExchange => {
                return self.atomic(AtomicChange::Exchange, name, values, origin);
            }
            Intrinsic::AtomicCompareExchange => {
                return self.atomic(AtomicChange::CompareExchange, name, values, origin);
            }
            Intrinsic::LoadRelaxed => {
                return self.atomic(AtomicChange::Load(Relaxed), name, values, origin);
            }
            Intrinsic::LoadAcquire => {
                return self.atomic(AtomicChange::Load(Synchronising), name, values, origin);
            }
            Intrinsic::StoreRelaxed => {
                return self.atomic(AtomicChange::Store(Relaxed), name, values, origin);
            }
            Intrinsic::StoreRelease => {
                return self.atomic(AtomicChange::Store(Synchronising), name, values, origin);
            }
            _ => return self.fail(origin, format!("`{name}` is about one thread")),
        };
        let threads: i64 = self.block.iter().map(|extent| i64::from(*extent)).product();
        if threads % LANES != 0 {
            return self.fail_help(
                origin,
                format!("`{name}` is about whole warps and the block has {threads} threads"),
                "make the block a multiple of 32 threads",
            );
        }
        let mut values = values.into_iter();
        let first = values.next().unwrap_or(StaticValue::Unknown);
        let (value, elem) = match collective {
            Collective::ElectOne => (Value::Constant(Constant::bool(true)), Elem::Bool),
            Collective::Ballot | Collective::Any | Collective::All => {
                (self.coerce(first, Elem::Bool, origin)?, Elem::Bool)
            }
            _ => self.moved(first, collective, name, origin)?,
        };
        let mut parts = vec![value];
        if let Some(lane) = values.next() {
            let lane = self.expect_index(lane, origin)?;
            parts.push(Value::Index(lane, Elem::I32));
        }
        let result = match collective {
            Collective::Ballot | Collective::MatchAny => Elem::U32,
            Collective::Any | Collective::All | Collective::MatchAll | Collective::ElectOne => Elem::Bool,
            _ => elem,
        };
        let block = matches!(
            intrinsic,
            Intrinsic::BlockSum | Intrinsic::BlockMax | Intrinsic::BlockMin | Intrinsic::BlockPrefixSum
        );
        let called = if collective == Collective::ElectOne { "elected" } else { name };
        let var = self.unnamed(called, VariableKind::Elem(result), false, origin);
        self.push(origin, StatementKind::Collective(var, collective, parts));
        let value = Value::Variable(var);
        let value =
            if block { self.over_warps(collective, value, elem, threads / LANES, origin)? } else { value };
        Ok(StaticValue::Scalar(value, result))
    }

    /// The value, where other threads can read it from a register.
    fn moved(
        &mut self,
        datum: StaticValue,
        collective: Collective,
        name: &str,
        origin: Origin,
    ) -> Outcome<(Value<TileAccess>, Elem)> {
        let elem = match &datum {
            StaticValue::Scalar(_, elem) => *elem,
            StaticValue::Float(_) => Elem::F32,
            StaticValue::Bool(_) => Elem::Bool,
            StaticValue::Unknown => return Err(super::evaluator::Failed),
            other => {
                let message = format!("`{name}` does not apply to {}", other.kind());
                let help = match other {
                    StaticValue::View(_) => format!("it is of a number of each thread: `x[[i, j]].{name}()`"),
                    _ => "convert it: `x as u32`".to_owned(),
                };
                return self.fail_help(origin, message, help);
            }
        };
        let (applies, there_are, help) = match collective {
            _ if collective.of_bits() => (elem.is_integer(), "the integers", "convert it: `x as u32`"),
            Collective::Sum | Collective::Max | Collective::Min | Collective::PrefixSum => (
                elem.is_integer() || elem.bytes() >= 4,
                "the integers, f32 and f64",
                "convert it: `x.cast::<f32>()`",
            ),
            // A shuffle moves every type of 1 to 8 bytes, and bits of every type are compared.
            _ => (true, "", ""),
        };
        if !applies {
            let message = format!("`{name}` does not apply to {elem}; there are {there_are}");
            return self.fail_help(origin, message, help);
        }
        Ok((self.coerce(datum, elem, origin)?, elem))
    }

    /// One value of each warp, in every thread of the block.
    fn over_warps(
        &mut self,
        collective: Collective,
        value: Value<TileAccess>,
        elem: Elem,
        warps: i64,
        origin: Origin,
    ) -> Outcome<Value<TileAccess>> {
        if warps == 1 {
            return Ok(value);
        }
        let thread = self.linear_thread(origin)?;
        let (lane, warp) = {
            let atoms = &mut self.tables.atoms;
            let size = Index::constant(LANES);
            (atoms.rem(&thread, &size), atoms.div(&thread, &size))
        };
        let (lane, warp) = (self.index(origin, lane)?, self.index(origin, warp)?);
        let space = self.shared_memory(warps as u64 * u64::from(elem.bytes()), 16, origin)?;
        let place = PlaceId(self.tables.places.len() as u32);
        self.tables.scratch.push(place);
        self.tables.places.push(Place {
            name: "of_warps".to_owned(),
            space,
            elem,
            len: warps as u64,
            align: 16,
            mutable: true,
            origin,
        });
        let view = View::whole(place, vec![Index::constant(warps)], vec![Index::constant(1)], true);
        let element = |at: Index| TileAccess { view: view.clone(), coordinates: vec![at], origin };
        let (own, warp_of_thread) = (value.clone(), warp.clone());
        let store = Statement { kind: StatementKind::Store(element(warp), value), origin };
        let lane_of_warp = lane.clone();
        let scan = collective == Collective::PrefixSum;
        // Of a prefix sum the last lane has the warp's.
        let teller = Index::constant(if scan { LANES - 1 } else { 0 });
        let first = Comparison { op: BinaryOp::Eq, left: lane, right: teller };
        self.push(origin, StatementKind::If(Value::Compare(first), vec![store], Vec::new()));
        self.push(origin, StatementKind::Barrier(Participants::Block));
        let load = |at: i64| Value::Load(Box::new(element(Index::constant(at))));
        let zero = Value::Constant(Constant::zero(elem));
        let before = |at: i64| {
            let later =
                Comparison { op: BinaryOp::Gt, left: warp_of_thread.clone(), right: Index::constant(at) };
            Value::Select(Box::new(Value::Compare(later)), Box::new(load(at)), Box::new(zero.clone()))
        };
        let add = |a, b| Value::Binary(BinaryOp::Add, Box::new(a), Box::new(b));
        let upto = (1..warps - 1).fold(before(0), |all, at| add(all, before(at)));
        let combined = (1..warps).fold(load(0), |all, at| match collective {
            Collective::PrefixSum => all,
            Collective::Max => Value::Math(Math::Max, vec![all, load(at)]),
            Collective::Min => Value::Math(Math::Min, vec![all, load(at)]),
            _ => Value::Binary(BinaryOp::Add, Box::new(all), Box::new(load(at))),
        });
        let var = self.unnamed("of_block", VariableKind::Elem(elem), false, origin);
        self.push(
            origin,
            match warps {
                // As many as a warp has lanes: each warp does it once more.
                _ if scan => StatementKind::Let(var, Some(add(upto, own))),
                LANES => StatementKind::Collective(
                    var,
                    collective,
                    vec![Value::Load(Box::new(element(lane_of_warp)))],
                ),
                _ => StatementKind::Let(var, Some(combined)),
            },
        );
        self.push(origin, StatementKind::Barrier(Participants::Block));
        Ok(Value::Variable(var))
    }

    /// An atomic operation on an element, loads and stores included.
    fn atomic(
        &mut self,
        change: AtomicChange,
        name: &str,
        values: Vec<StaticValue>,
        origin: Origin,
    ) -> Outcome<StaticValue> {
        let mut values = values.into_iter();
        let (target, scope, elem) = self.target(name, &mut values, origin)?;
        let (applies, there_are) = match change {
            AtomicChange::CompareExchange => (elem.bytes() >= 2, "the types of 2, 4 and 8 bytes"),
            AtomicChange::Max | AtomicChange::Min => {
                (elem.bytes() >= 4 && elem != Elem::F64, "i32, u32, i64, u64 and f32")
            }
            AtomicChange::And | AtomicChange::Or | AtomicChange::Xor => {
                (elem.bytes() >= 4 && elem.is_integer(), "i32, u32, i64 and u64")
            }
            AtomicChange::Add | AtomicChange::Exchange | AtomicChange::Load(_) | AtomicChange::Store(_) => {
                (elem.bytes() >= 4, "i32, u32, f32, i64, u64 and f64")
            }
        };
        if !applies {
            let message = format!("`{name}` does not apply to {elem}");
            return self.fail_help(origin, message, format!("there are {there_are}"));
        }
        let operands: Vec<StaticValue> = values.collect();
        let values = operands.into_iter().map(|value| self.coerce(value, elem, origin));
        let values = values.collect::<Outcome<Vec<_>>>()?;
        if let AtomicChange::Store(_) = change {
            self.push(origin, StatementKind::Atomic { change, scope, target, values, old: None });
            return Ok(StaticValue::Unit);
        }
        let old = if let AtomicChange::Load(_) = change { "seen" } else { "before" };
        let var = self.unnamed(old, VariableKind::Elem(elem), false, origin);
        self.push(origin, StatementKind::Atomic { change, scope, target, values, old: Some(var) });
        Ok(StaticValue::Scalar(Value::Variable(var), elem))
    }

    /// The element of an atomic operation and its scope, from the first two operands.
    fn target(
        &mut self,
        name: &str,
        values: &mut impl Iterator<Item = StaticValue>,
        origin: Origin,
    ) -> Outcome<(TileAccess, Scope, Elem)> {
        let mut next = || values.next().unwrap_or(StaticValue::Unknown);
        let (mut view, coordinates) = (next(), next());
        let scope = if let StaticValue::View(view) = &mut view { view.scope.take() } else { None };
        let view = self.written(view, name, origin)?;
        let view = self.without_hint(view, name, origin)?;
        let (StaticValue::Array(coordinates) | StaticValue::Tuple(coordinates)) = coordinates else {
            return self.fail_help(
                origin,
                format!("the coordinates of `{name}` are an array: `[i, j]`"),
                format!("write `y.{name}([i], ..)`, with a coordinate for each mode"),
            );
        };
        let place = self.tables.place(view.place).clone();
        if coordinates.len() != view.rank() || view.lanes() != 1 {
            let (given, rank) = (coordinates.len(), view.rank());
            let message =
                format!("`{name}` with {given} coordinates of a view of `{}` of rank {rank}", place.name);
            return self.fail_help(
                origin,
                message,
                "give one for each mode, of a view that is not vectorised",
            );
        }
        if place.space == Space::Local {
            let message = format!("`{name}` on `{}`, which each thread has for itself", place.name);
            return self.fail_help(origin, message, "write `view[[i, j]] += x`");
        }
        if matches!(place.space, Space::Remote { .. }) {
            let message = format!("`{name}` on `{}` of another block", place.name);
            return self.fail_help(origin, message, "update the own block's memory, and read that of the others after a `cluster_barrier()`: `x.map_shared_rank(rank)[[i]]`");
        }
        let coordinates = self.coordinates(&view, coordinates, &[], origin)?;
        Ok((TileAccess { view, coordinates, origin }, scope.unwrap_or_default(), place.elem))
    }
}
