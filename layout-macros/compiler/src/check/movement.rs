//! Copies, fills and outer products as loops over elements and vectors.
//!
//! A copy moves vectors where both sides are contiguous and aligned and no vector crosses an edge. Elsewhere it moves
//! the same elements one by one: it is narrower, never wrong.

use super::lower::{Failed, Lower, Out};
use super::vectors::Narrowed;
use super::versioning::{FEW_PIECES, FEW_ROUNDS, Whose, asks, ends_only};
use crate::elem::Constant;
use crate::index::Index;
use crate::ir::BinaryOp;
use crate::origin::Origin;
use crate::program::{
    Access, Comparison, Mask, MissedOptimization, Operation, Pad, Reason, Space, Statement, StatementKind,
    Value, Variable, VariableKind,
};
use crate::specialise::{TileAccess, TileOperation, thread_coordinates};
use crate::view::View;
use layout_core::Layout;

/// What is inside a nest of loops, given the coordinates.
pub(super) type Element<'a> = dyn FnMut(&mut Lower, &[Index], &mut Out) -> Result<(), Failed> + 'a;

const COUNTERS: [&str; 5] = ["i", "j", "l", "m", "n"];

impl Lower {
    pub(super) fn operation(
        &mut self,
        operation: &TileOperation,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        match operation {
            TileOperation::Copy { destination, source, threads: None, asynchronous } => {
                self.thread_copy((destination, source), *asynchronous, origin, out)
            }
            TileOperation::Copy { destination, source, threads: Some(threads), asynchronous } => {
                self.block_copy(destination, source, threads, *asynchronous, origin, out)
            }
            TileOperation::Prefetch(access) => {
                let line = self.element(access)?;
                out.push(Statement { kind: StatementKind::Operation(Operation::Prefetch(line)), origin });
                Ok(())
            }
            TileOperation::Fill { destination, value } => self.fill(destination, value, origin, out),
            TileOperation::LoadFragments { core, operand, destination, source } => {
                self.load_fragments(*core, *operand, destination, source, origin, out)
            }
            TileOperation::StoreFragments { core, destination, source } => {
                self.store_fragments(*core, destination, source, origin, out)
            }
            TileOperation::Mma { core, accumulator, left, right, scales } => {
                self.mma(*core, accumulator, [left, right], scales.as_deref(), origin, out)
            }
            TileOperation::OuterProduct { accumulator, left, right } => {
                self.outer_product(accumulator, left, right, origin, out)
            }
            TileOperation::TensorLoad { destination, source, barrier, multicast } => {
                self.tensor_load(destination, source, barrier, *multicast, origin, out)
            }
            TileOperation::TensorStore { destination, source, adds } => {
                self.tensor_store(destination, source, *adds, origin, out)
            }
            TileOperation::RemoteStore { destination, source, barrier } => {
                self.remote_store(destination, source, barrier, origin, out)
            }
            TileOperation::Wgmma { accumulator, a, b, accumulate } => {
                self.wgmma(accumulator, a, b, accumulate, origin, out)
            }
            TileOperation::TensorProduct { d, a, b, accumulate } => {
                self.tensor_product(d, [a, b], accumulate, origin, out)
            }
            TileOperation::TensorMove { stores, tensor, registers } => {
                self.tensor_move(*stores, tensor, registers, origin, out)
            }
            TileOperation::StoreMatrix { destination, source } => {
                self.store_matrix(destination, source, origin, out)
            }
        }
    }

    /// Loops `0..extents[i]`, unrolled or not, around what `body` makes of the coordinates.
    pub(super) fn nest(
        &mut self,
        extents: &[i64],
        unroll: bool,
        origin: Origin,
        out: &mut Out,
        body: &mut Element<'_>,
    ) -> Result<(), Failed> {
        let mut coordinates = Vec::new();
        let mut counters = Vec::new();
        for (mode, extent) in extents.iter().enumerate() {
            if *extent == 1 {
                coordinates.push(Index::constant(0));
            } else {
                let (var, atom) = self.counter(COUNTERS[mode.min(4)], *extent, origin);
                coordinates.push(atom);
                counters.push((var, *extent));
            }
        }
        let mut inner = Vec::new();
        body(self, &coordinates, &mut inner)?;
        for (var, extent) in counters.into_iter().rev() {
            let kind = StatementKind::For {
                variable: var,
                start: Index::constant(0),
                end: Index::constant(extent),
                step: 1,
                unroll,
                reversed: false,
                body: inner,
            };
            inner = vec![Statement { kind, origin }];
        }
        out.append(&mut inner);
        Ok(())
    }

    /// The extents of a view; specialise has seen to it that they are numbers.
    pub(super) fn extents(&mut self, view: &View, origin: Origin) -> Result<Vec<i64>, Failed> {
        let extents: Option<Vec<i64>> = view.modes.iter().map(|mode| mode.extent.as_constant()).collect();
        match extents {
            Some(extents) if extents.len() <= COUNTERS.len() => Ok(extents),
            Some(extents) => self.fail(
                origin,
                format!(
                    "an operation on a view of {} modes; at most {} are possible",
                    extents.len(),
                    COUNTERS.len()
                ),
                "merge modes by `reshape`, or take `squeeze` of those with one element",
            ),
            None => self.fail(
                origin,
                "an operation on a view whose extents are not known at compile time",
                "take a `tile` first",
            ),
        }
    }

    pub(super) fn thread_copy(
        &mut self,
        sides: (&View, &View),
        asynchronous: bool,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let mut masked = Vec::new();
        let pieces = self.own_pieces(sides, [&[], &[]], asynchronous, origin, &mut masked)?;
        let mut inside = match pieces >= FEW_PIECES && asks(&masked) {
            true => self.both_inside(sides, Whose::Blocks, origin)?,
            false => None,
        };
        if inside.as_ref().is_some_and(|(all, _)| !ends_only(all))
            && let Some(own) = self.both_inside(sides, Whose::Threads, origin)?
            && !ends_only(&own.0)
        {
            inside = Some(own);
        }
        let Some((inside, own)) = inside else {
            out.extend(masked);
            return Ok(());
        };
        if let [Statement { kind: StatementKind::If(asked, ..), .. }] = &masked[..]
            && condition(&inside).as_ref() == Some(asked)
        {
            // One vector, which asks the same.
            out.extend(masked);
            return Ok(());
        }
        let mut plain = Vec::new();
        let fewer = self.knowing(&inside, |this| {
            this.own_pieces(sides, [&own[0], &own[1]], asynchronous, origin, &mut plain)
        })?;
        let gains = self.loops > 0 || fewer.saturating_mul(2) <= pieces;
        // One vector with a test of its own serves the vectors of an edge tile as well.
        let own_test = matches!(&masked[..], [Statement { kind: StatementKind::If(_, _, rest), .. }] if !rest.is_empty());
        if !gains || asks(&plain) || (fewer == 1 && own_test) {
            out.extend(masked);
            return Ok(());
        }
        if ends_only(&inside) {
            masked.clear();
            self.cutting(|this| this.own_pieces(sides, [&[], &[]], asynchronous, origin, &mut masked))?;
        }
        Lower::branch_on(&inside, plain, masked, origin, out);
        Ok(())
    }

    /// A thread's own copy, in pieces as wide as is known to be right, where `tests` of both sides hold; how many they are.
    fn own_pieces(
        &mut self,
        (destination, source): (&View, &View),
        tests: [&[Comparison]; 2],
        asynchronous: bool,
        origin: Origin,
        out: &mut Out,
    ) -> Result<i64, Failed> {
        let (target, source, narrowed) = &self.widened(destination, source, origin)?;
        let losses = tests.map(|test| MissedOptimization::tested(narrowed, test));
        let extents = self.extents(target, origin)?;
        let mut pieces = count(&extents);
        self.nest(&extents, true, origin, out, &mut |this, coordinates, out| {
            // The modes of one element may be elsewhere on the other side.
            let mut rest =
                (0..target.rank()).filter(|mode| !unit(target, *mode)).map(|mode| &coordinates[mode]);
            let other: Vec<Index> = (0..source.rank())
                .map(|mode| match unit(source, mode) {
                    true => Index::constant(0),
                    false => rest.next().cloned().unwrap_or_default(),
                })
                .collect();
            let sides = ((target, coordinates), (source, &other[..]));
            let own = this.vector(sides.0, sides.1, asynchronous, &losses, origin, out)?;
            pieces = pieces.saturating_mul(own);
            Ok(())
        })?;
        Ok(pieces)
    }

    fn block_copy(
        &mut self,
        destination: &View,
        source: &View,
        threads: &Layout,
        asynchronous: bool,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        if source.rank() != destination.rank() {
            return self.fail(origin, "both sides of the copy need the same rank", "");
        }
        let (destination, source, threads, narrowed) =
            &self.narrowed(destination, source, threads, origin)?;
        let extents = self.extents(destination, origin)?;
        let thread = self.thread.clone();
        let own = thread_coordinates(threads, self.atoms(), &thread);
        let own = self.index(origin, own)?;
        let names = if own.len() == 2 { ["thread_row", "thread_col"] } else { ["thread", "thread"] };
        let own: Vec<Index> = own
            .iter()
            .enumerate()
            .map(|(mode, index)| self.thread_index(names[mode.min(1)], index, origin))
            .collect();
        let shape: Vec<i64> = threads.leaves().map(|mode| mode.shape).collect();
        let rounds: Vec<i64> =
            extents.iter().zip(&shape).map(|(extent, count)| (extent + count - 1) / count).collect();
        let mut guard = Mask::new();
        if threads.size() < self.threads {
            let size = Index::constant(threads.size());
            guard.push(Comparison { op: BinaryOp::Lt, left: thread, right: size });
        }
        let inside = match count(&rounds) {
            0..FEW_ROUNDS => Mask::new(),
            _ => self.inside(source, &extents, Whose::Blocks, origin)?.unwrap_or_default(),
        };
        let pieces = |this: &mut Self, unroll: bool, out: &mut Out| {
            let tested = if unroll { &inside[..] } else { &[] };
            let losses =
                [MissedOptimization::tested(narrowed, &[]), MissedOptimization::tested(narrowed, tested)];
            this.nest(&rounds, unroll, origin, out, &mut |this, round, out| {
                let mut guard = guard.clone();
                let mut coordinates = Vec::new();
                for mode in 0..round.len() {
                    let at = round[mode].scale(shape[mode]).and_then(|at| at.add(&own[mode]));
                    let at = this.index(origin, at)?;
                    let right = Index::constant(extents[mode]);
                    let inside = Comparison { op: BinaryOp::Lt, left: at.clone(), right };
                    if !this.facts.holds(&this.tables.atoms, &inside) {
                        guard.push(inside);
                    }
                    coordinates.push(at);
                }
                this.guarded(guard, origin, out, &mut |this, out| {
                    let sides = ((destination, &coordinates[..]), (source, &coordinates[..]));
                    this.vector(sides.0, sides.1, asynchronous, &losses, origin, out).map(drop)
                })
            })
        };
        // Tiles at the edges are few: their loop stays a loop, since its unrolled addresses would take the registers
        // of the others.
        let mut masked = Vec::new();
        match ends_only(&inside) && !inside.is_empty() {
            true => self.cutting(|this| pieces(this, false, &mut masked))?,
            false => pieces(self, inside.is_empty(), &mut masked)?,
        }
        let mut plain = Vec::new();
        if !inside.is_empty() {
            self.knowing(&inside, |this| pieces(this, true, &mut plain))?;
        }
        Lower::branch(&inside, plain, masked, origin, out);
        Ok(())
    }

    /// What `body` makes, under `if (mask)`.
    fn guarded(
        &mut self,
        mask: Mask,
        origin: Origin,
        out: &mut Out,
        body: &mut dyn FnMut(&mut Self, &mut Out) -> Result<(), Failed>,
    ) -> Result<(), Failed> {
        let Some(condition) = condition(&mask) else { return body(self, out) };
        let mut inner = Vec::new();
        self.knowing(&mask, |this| body(this, &mut inner))?;
        out.push(Statement { kind: StatementKind::If(condition, inner, Vec::new()), origin });
        Ok(())
    }

    /// Moves the vector at a coordinate, in the widest pieces that both sides allow. One that an edge may cut is moved whole where
    /// it is inside, and in pieces where it does not. Gives how many pieces it is at most.
    fn vector(
        &mut self,
        destination: (&View, &[Index]),
        source: (&View, &[Index]),
        asynchronous: bool,
        losses: &[MissedOptimization; 2],
        origin: Origin,
        out: &mut Out,
    ) -> Result<i64, Failed> {
        let aligned = self.pieces(destination, source, Begins::Aligned, origin)?;
        let lost = |narrowed: &Narrowed, guards: &[Comparison]| {
            losses.clone().map(|mut loss| {
                loss.narrowed = loss.narrowed.or(narrowed.clone());
                loss.guards.extend_from_slice(guards);
                loss
            })
        };
        let mut begins = Begins::Aligned;
        let mut best = aligned.clone();
        if !asynchronous
            && let Some((wanted, Reason::Start { .. } | Reason::Alignment { .. })) = aligned.narrowed
        {
            let anywhere = self.pieces(destination, source, Begins::Anywhere, origin)?;
            let edge = matches!(anywhere.narrowed, Some((_, Reason::Edge { .. })));
            if edge || anywhere.pays(wanted, &aligned) {
                (begins, best) = (Begins::Anywhere, anywhere);
            }
        }
        if let Some((wanted, Reason::Edge { .. })) = best.narrowed
            && !asynchronous
            && !self.cut
            && let Some(inside) = self.vectors_inside([destination, source], origin)?
        {
            let whole = self.knowing(&inside, |this| this.pieces(destination, source, begins, origin))?;
            let pays = begins == Begins::Aligned || whole.pays(wanted, &aligned);
            if whole.narrowed.is_none() && whole.width() == i64::from(wanted) && pays {
                let misaligned = aligned.narrowed.clone().filter(|_| begins == Begins::Anywhere);
                let (under, apart) = (lost(&misaligned, &inside), lost(&misaligned, &[]));
                let (mut first, mut rest) = (Vec::new(), Vec::new());
                self.knowing(&inside, |this| {
                    this.in_pieces(destination, source, asynchronous, (&whole, &under), origin, &mut first)
                })?;
                let sides = (destination, source);
                let count =
                    self.in_pieces(sides.0, sides.1, asynchronous, (&aligned, &apart), origin, &mut rest)?;
                Lower::branch(&inside, first, rest, origin, out);
                return Ok(count);
            }
        }
        if best.narrowed.is_some() {
            best = aligned.clone();
        }
        let losses = lost(&aligned.narrowed, &[]);
        self.in_pieces(destination, source, asynchronous, (&best, &losses), origin, out)
    }

    /// The conditions, beyond the known facts, under which every element of both sides' vectors exists; `None` where they
    /// cannot be said.
    fn vectors_inside(
        &mut self,
        sides: [(&View, &[Index]); 2],
        origin: Origin,
    ) -> Result<Option<Mask>, Failed> {
        let mut mask = Mask::new();
        for (view, at) in sides {
            let element = view.element(at, &vec![0; view.rank()]);
            let (_, edges) = self.index(origin, element)?;
            for (bound, (first, extent)) in view.bounds.iter().zip(edges) {
                let mut last = first.clone();
                for (step, mode) in
                    bound.lane_steps.iter().zip(&view.modes).filter(|(_, mode)| mode.lanes > 1)
                {
                    if step.as_constant().is_none_or(|step| step < 0) {
                        return Ok(None);
                    }
                    let sum = last.add_scaled(step, mode.lanes - 1);
                    last = self.index(origin, sum)?;
                }
                for end in [&first, &last] {
                    self.computed(end, &mut mask, origin)?;
                }
                let above = Comparison { op: BinaryOp::Ge, left: first, right: Index::constant(0) };
                let below = Comparison { op: BinaryOp::Lt, left: last, right: extent };
                for comparison in [above, below] {
                    if !mask.contains(&comparison) && !self.facts.holds(&self.tables.atoms, &comparison) {
                        mask.push(comparison);
                    }
                }
            }
        }
        Ok((!mask.is_empty()).then_some(mask))
    }

    /// Moves the vector at a coordinate, by pieces of these elements along each mode.
    fn in_pieces(
        &mut self,
        (destination, to): (&View, &[Index]),
        (source, from): (&View, &[Index]),
        asynchronous: bool,
        (pieces, losses): (&Pieces, &[MissedOptimization; 2]),
        origin: Origin,
        out: &mut Out,
    ) -> Result<i64, Failed> {
        let lanes: Vec<i64> = destination.modes.iter().map(|mode| mode.lanes).collect();
        let (total, width) = (lanes.iter().product::<i64>(), pieces.width());
        let mut lane = vec![0i64; lanes.len()];
        let count = total / width.max(1);
        for _ in 0..count {
            let source_lane = matching(destination, &lane, source);
            let mut write = self.access(destination, to, &lane, origin)?;
            let mut read = self.access(source, from, &source_lane, origin)?;
            write.width = width as u32;
            read.width = width as u32;
            [write.unaligned, read.unaligned] = pieces.unaligned;
            [write.loss, read.loss] = losses.clone();
            self.piece(write, read, asynchronous, origin, out);
            for at in 0..lane.len() {
                lane[at] += pieces.steps[at];
                if lane[at] < lanes[at] {
                    break;
                }
                lane[at] = 0;
            }
        }
        Ok(count)
    }

    fn piece(
        &mut self,
        mut write: Access,
        mut read: Access,
        asynchronous: bool,
        origin: Origin,
        out: &mut Out,
    ) {
        let bytes = self.tables.place(write.place).elem.bytes() * write.width;
        let zero = Constant::zero(self.tables.place(read.place).elem);
        let padded = read.mask.is_empty() || read.pad == Pad::Constant(zero);
        if asynchronous {
            let reason = match bytes {
                4 | 8 | 16 if !write.mask.is_empty() => Some(Reason::Written),
                4 | 8 | 16 if !padded => Some(Reason::Pad),
                4 | 8 | 16 => None,
                bytes => Some(Reason::Bytes(bytes)),
            };
            (write.loss.synchronous, read.loss.synchronous) = (reason.clone(), reason.clone());
            if reason.is_none() {
                let kind =
                    StatementKind::Operation(Operation::AsyncCopy { destination: write, source: read });
                out.push(Statement { kind, origin });
                return;
            }
        }
        if write.width == 1 {
            let elem = |access: &Access| self.tables.place(access.place).elem;
            let (to, from) = (elem(&write), elem(&read));
            let value = Value::Load(Box::new(read));
            let value = if to == from { value } else { Value::Cast(to, Box::new(value)) };
            out.push(Statement { kind: StatementKind::Store(write, value), origin });
            return;
        }
        // What the write's mask has asked already, the read's need not ask again.
        let rest: Mask =
            read.mask.iter().filter(|comparison| !write.mask.contains(comparison)).cloned().collect();
        let (outer, inner) = (condition(&write.mask), condition(&rest));
        let pads: Out = (0..i64::from(write.width))
            .filter_map(|lane| {
                let index = write.index.plus(lane).ok()?;
                let one = Access { index, width: 1, mask: Mask::new(), ..write.clone() };
                Some(Statement { kind: StatementKind::Store(one, read.pad.value()), origin })
            })
            .collect();
        for access in [&mut write, &mut read] {
            access.loss.guards.append(&mut access.mask);
        }
        let whole = Operation::Move { destination: write, source: read };
        let mut body = vec![Statement { kind: StatementKind::Operation(whole), origin }];
        if let Some(inner) = inner {
            body = vec![Statement { kind: StatementKind::If(inner, body, pads), origin }];
        }
        if let Some(outer) = outer {
            body = vec![Statement { kind: StatementKind::If(outer, body, Vec::new()), origin }];
        }
        out.append(&mut body);
    }

    /// How many elements along each mode are moved at once, and why they are fewer than could be.
    fn pieces(
        &mut self,
        (destination, to): (&View, &[Index]),
        (source, from): (&View, &[Index]),
        begins: Begins,
        origin: Origin,
    ) -> Result<Pieces, Failed> {
        let single = |narrowed: Narrowed| Pieces {
            steps: vec![1; destination.rank()],
            unaligned: [false; 2],
            narrowed,
        };
        let (written, read) =
            (self.tables.place(destination.place).clone(), self.tables.place(source.place).clone());
        let most = 16 / i64::from(written.elem.bytes().max(read.elem.bytes()));
        let run = self.run(destination, source);
        let lanes = match run.as_slice() {
            [] => destination.lanes(),
            run => run.iter().map(|(_, _, lanes)| lanes).product(),
        };
        let wanted = power_of_two(lanes).min(most);
        if wanted == 1 {
            return Ok(single(None));
        }
        let lost = |reason: Reason| Some((wanted as u32, reason));
        if written.elem != read.elem {
            let free = written.space == Space::Local && read.space == Space::Local;
            let reason = lost(Reason::Converts(read.elem, written.elem)).filter(|_| !free);
            return Ok(single(reason));
        }
        let mut first = None;
        let mut width = wanted;
        while width > 1 {
            match along(&run, width) {
                None => {
                    let apart = |view: &View| -> Option<Index> {
                        let mode = view.modes.iter().rev().find(|mode| mode.lanes > 1)?;
                        Some(mode.lane_stride.clone())
                    };
                    let side = if apart(source) == Some(Index::constant(1)) { destination } else { source };
                    let reason = Reason::Apart { place: side.place, stride: apart(side) };
                    first = first.or(lost(reason));
                }
                Some(parts) => {
                    let own: Vec<(usize, i64)> = parts.iter().map(|(to, _, count)| (*to, *count)).collect();
                    let other: Vec<(usize, i64)> =
                        parts.iter().map(|(_, from, count)| (*from, *count)).collect();
                    let reason = match self.whole(destination, to, &own, begins, origin)? {
                        None => self.whole(source, from, &other, begins, origin)?,
                        reason => reason,
                    };
                    match reason {
                        None => {
                            let mut pieces = single(first);
                            own.iter().for_each(|(mode, count)| pieces.steps[*mode] = *count);
                            if begins == Begins::Anywhere {
                                let aligned = Begins::Aligned;
                                pieces.unaligned = [
                                    self.whole(destination, to, &own, aligned, origin)?.is_some(),
                                    self.whole(source, from, &other, aligned, origin)?.is_some(),
                                ];
                            }
                            return Ok(pieces);
                        }
                        Some(reason) => first = first.or(lost(reason)),
                    }
                }
            }
            width /= 2;
        }
        Ok(single(first))
    }

    /// The modes along which the lanes of both sides follow one another in memory, the fastest first: each one's number on
    /// both sides, and its lanes.
    fn run(&self, destination: &View, source: &View) -> Vec<(usize, usize, i64)> {
        let mut run: Vec<(usize, usize, i64)> = Vec::new();
        let mut step = 1;
        loop {
            let next = (0..destination.rank()).find_map(|mode| {
                let own = &destination.modes[mode];
                if own.lanes <= 1
                    || own.lane_stride != Index::constant(step)
                    || run.iter().any(|known| known.0 == mode)
                {
                    return None;
                }
                let mut lane = vec![0; destination.rank()];
                lane[mode] = 1;
                let other = matching(destination, &lane, source).iter().position(|lane| *lane == 1)?;
                let same = source.modes[other].lane_stride == Index::constant(step);
                (same && source.modes[other].lanes == own.lanes).then_some((mode, other, own.lanes))
            });
            let Some(next) = next else { return run };
            step *= next.2;
            run.push(next);
        }
    }

    fn divides(&self, index: &Index, by: i64) -> bool {
        self.tables.atoms.divides(index, by)
    }

    /// Why vectors of `parts` elements at a coordinate (so many along each of these modes, which follow one another in
    /// memory) cannot be moved whole: they are aligned, unbroken by a swizzle, and wholly in or out of range, else the reason.
    pub(super) fn whole(
        &mut self,
        view: &View,
        at: &[Index],
        parts: &[(usize, i64)],
        begins: Begins,
        origin: Origin,
    ) -> Result<Option<Reason>, Failed> {
        let (id, place) = (view.place, self.tables.place(view.place));
        let width: i64 = parts.iter().map(|(_, count)| count).product();
        let wanted = (i64::from(place.elem.bytes()) * width) as u32;
        let global = matches!(place.space, Space::Global(_)) && view.hint.is_none();
        let anywhere = begins == Begins::Anywhere && global;
        if !anywhere && place.align < wanted {
            return Ok(Some(Reason::Alignment { place: id, known: place.align, wanted }));
        }
        if let Some(swizzle) = view.swizzle
            && width > 1 << swizzle.base().min(16)
        {
            return Ok(Some(Reason::Swizzle { place: id, run: 1 << swizzle.base().min(16) }));
        }
        let zeros = vec![0; view.rank()];
        let element = view.element(at, &zeros);
        let (offset, edges) = self.index(origin, element)?;
        let base = view.pointer.as_ref().map_or(Index::constant(0), |(_, index)| index.clone());
        let full = base.add(&offset);
        let full = self.index(origin, full)?;
        if !anywhere && !self.divides(&full, width) {
            return Ok(Some(Reason::Start { place: id, index: full, by: width }));
        }
        // Strides to the other lanes of the vector keep the alignment too, being lanes of the same mode.
        let taken = |mode: usize| parts.iter().find(|(known, _)| *known == mode).map(|(_, count)| *count);
        for (mode, own) in view.modes.iter().enumerate() {
            let first = own.lanes > 1 && taken(mode).is_none();
            if first && !anywhere && !self.divides(&own.lane_stride, width) {
                return Ok(Some(Reason::Start { place: id, index: own.lane_stride.clone(), by: width }));
            }
        }
        for (bound, (start, extent)) in view.bounds.iter().zip(edges) {
            let mut crossed = None;
            for (mode, count) in parts.iter().filter(|(_, count)| *count > 1) {
                match bound.lane_steps[*mode].as_constant() {
                    Some(0) => {}
                    Some(1) if crossed.is_none() => crossed = Some((*mode, *count)),
                    _ => return Ok(Some(Reason::Edge { place: id, extent, by: width })),
                }
            }
            let Some((mode, count)) = crossed else { continue };
            let aligned = self.divides(&start, count) && self.divides(&extent, count);
            let last = start.plus(view.modes[mode].lanes - 1);
            let last = self.index(origin, last)?;
            let inside = Comparison { op: BinaryOp::Lt, left: last, right: extent.clone() };
            let first = Comparison { op: BinaryOp::Ge, left: start, right: Index::constant(0) };
            let atoms = &self.tables.atoms;
            let proved = || self.facts.holds(atoms, &inside) && self.facts.holds(atoms, &first);
            if !aligned && !proved() {
                return Ok(Some(Reason::Edge { place: id, extent, by: count }));
            }
        }
        Ok(None)
    }

    fn fill(
        &mut self,
        destination: &View,
        value: &Value<TileAccess>,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let mut value = self.value(value)?;
        if !matches!(value, Value::Constant(_) | Value::Argument(..) | Value::Variable(_)) {
            let elem = self.tables.place(destination.place).elem;
            let var = crate::index::VarId(self.tables.variables.len() as u32);
            let kind = VariableKind::Elem(elem);
            self.tables.variables.push(Variable {
                name: "value".into(),
                kind,
                mutable: false,
                origin,
                unnamed: true,
            });
            out.push(Statement { kind: StatementKind::Let(var, Some(value)), origin });
            value = Value::Variable(var);
        }
        let extents = self.extents(destination, origin)?;
        self.nest(&extents, true, origin, out, &mut |this, coordinates, out| {
            for lane in all_lanes(destination) {
                let access = this.access(destination, coordinates, &lane, origin)?;
                out.push(Statement { kind: StatementKind::Store(access, value.clone()), origin });
            }
            Ok(())
        })
    }

    fn outer_product(
        &mut self,
        accumulator: &View,
        left: &View,
        right: &View,
        origin: Origin,
        out: &mut Out,
    ) -> Result<(), Failed> {
        let extents = self.extents(accumulator, origin)?;
        self.nest(&extents, true, origin, out, &mut |this, coordinates, out| {
            let side = |this: &mut Self, view: &View, at: &Index| {
                let coordinates: Vec<Index> = (0..view.rank())
                    .map(|mode| if unit(view, mode) { Index::constant(0) } else { at.clone() })
                    .collect();
                this.access(view, &coordinates, &vec![0; view.rank()], origin)
            };
            let a = side(this, left, &coordinates[0])?;
            let b = side(this, right, &coordinates[1])?;
            let target = this.access(accumulator, coordinates, &[0, 0], origin)?;
            let product = Value::Binary(
                BinaryOp::Mul,
                Box::new(Value::Load(Box::new(a))),
                Box::new(Value::Load(Box::new(b))),
            );
            let old = Value::Load(Box::new(target.clone()));
            let sum = Value::Binary(BinaryOp::Add, Box::new(old), Box::new(product));
            out.push(Statement { kind: StatementKind::Store(target, sum), origin });
            Ok(())
        })
    }
}

/// Where the vectors of a copy begin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begins {
    /// At multiples of their width.
    Aligned,
    /// In global memory at any element.
    Anywhere,
}

/// How a vector is moved.
#[derive(Clone)]
struct Pieces {
    /// The elements along each mode that move at once.
    steps: Vec<i64>,
    /// Whether the destination's pieces, the source's may begin at any element.
    unaligned: [bool; 2],
    /// Why they are fewer than could be.
    narrowed: Narrowed,
}

impl Pieces {
    fn width(&self) -> i64 {
        self.steps.iter().product()
    }

    /// Whether whole vectors that begin anywhere are quicker than aligned pieces. Each is two accesses with shifts between them, whose
    /// registers four floats do not make up for: `dot_of_parts` had spills.
    fn pays(&self, wanted: u32, aligned: &Pieces) -> bool {
        self.narrowed.is_none() && i64::from(wanted) > 4 * aligned.width()
    }
}

/// The largest power of two that divides a number.
pub(super) fn power_of_two(number: i64) -> i64 {
    if number == 0 { 1 } else { 1 << number.trailing_zeros().min(16) }
}

/// The elements along each mode of a run that make `width` together; `None` where fewer follow one another.
fn along(run: &[(usize, usize, i64)], width: i64) -> Option<Vec<(usize, usize, i64)>> {
    let mut left = width;
    let mut parts = Vec::new();
    for (to, from, lanes) in run {
        let count = left.min(*lanes);
        if lanes % count != 0 || left % count != 0 {
            return None;
        }
        parts.push((*to, *from, count));
        left /= count;
        if left == 1 {
            return Some(parts);
        }
        // Only whole modes are followed by the next.
        if count != *lanes {
            return None;
        }
    }
    None
}

/// How many elements a view of these extents has.
fn count(extents: &[i64]) -> i64 {
    extents.iter().fold(1, |count, extent| count.saturating_mul(*extent))
}

/// Whether a mode has one element.
pub(super) fn unit(view: &View, mode: usize) -> bool {
    view.modes[mode].lanes == 1 && view.modes[mode].extent.as_constant() == Some(1)
}

/// The lane of the other view that corresponds, modes of one element aside.
fn matching(view: &View, lane: &[i64], other: &View) -> Vec<i64> {
    let mut rest = (0..view.rank()).filter(|mode| !unit(view, *mode)).map(|mode| lane[mode]);
    (0..other.rank()).map(|mode| if unit(other, mode) { 0 } else { rest.next().unwrap_or(0) }).collect()
}

/// Every lane of a vector of the view.
fn all_lanes(view: &View) -> Vec<Vec<i64>> {
    view.modes.iter().fold(vec![Vec::new()], |lanes, mode| {
        lanes
            .into_iter()
            .flat_map(|lane| (0..mode.lanes).map(move |next| [lane.as_slice(), &[next]].concat()))
            .collect()
    })
}

/// The conjunction, where there is one.
pub(super) fn condition(mask: &Mask) -> Option<Value<Access>> {
    let mut parts = mask.iter().cloned().map(Value::Compare);
    let first = parts.next()?;
    Some(parts.fold(first, |all, next| Value::Binary(BinaryOp::And, Box::new(all), Box::new(next))))
}
