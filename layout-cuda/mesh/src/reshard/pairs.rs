//! Messages between pairs: packed and sent in rounds, so that a round is packed while the one before is on its way.
//!
//! ```text
//! stream  pack 0 ─► pack 1 ─► pack 2 ─► what stays ─► unpack 0 ─► unpack 1 ─► unpack 2
//!              └►        └►        └►                 ▲           ▲           ▲
//! beside       exchange 0 ─► exchange 1 ─► exchange 2 ┘ as each is done
//! ```
//!
//! Law: a message is cut in the same way on both sides, by its own size alone. Terms are added in the plan's order, when all are
//! there.

use super::pieces::{Pace, transfer};
use super::reach::touch;
use super::side::Side;
use crate::error::{MeshError, Result};
use crate::member::Member;
use layout_core::mesh::{Piece, Reshard, Transfer};
use layout_core::{IntTuple, Layout};
use layout_cuda::cudarc::driver::{CudaStream, DriverError};
use layout_cuda::{Element, Stream, TensorView, TensorViewMut};

/// A part of a message.
#[derive(Debug)]
struct Part<T: Element> {
    peer: usize,
    round: usize,
    side: Side<T>,
}

/// What this rank has in its tensor, in the plan's order.
#[derive(Debug)]
struct Arrival {
    adds: bool,
    /// The pieces that stay here, or the parts that come, by number.
    kept: Vec<Piece>,
    parts: Vec<usize>,
}

/// All messages of a rank.
#[derive(Debug)]
pub(super) struct Pairs<T: Element> {
    sends: Vec<Part<T>>,
    receives: Vec<Part<T>>,
    arrivals: Vec<Arrival>,
    rounds: usize,
    beside: Stream,
    /// Where the buffers were allocated, and are freed.
    home: Stream,
    pace: Pace,
}

/// How many parts a message of elements of `size` bytes has: of so many bytes at least, and so many at most.
fn count(transfer: &Transfer, size: usize, [part, most]: [usize; 2]) -> usize {
    match transfer.pieces[..] {
        [_] => (transfer.size() as usize * size / part).clamp(1, most),
        _ => 1,
    }
}

/// The parts: along the last mode, which the sender's memory steps through the slowest.
fn parts(transfer: &Transfer, count: usize) -> Result<Vec<Vec<Piece>>> {
    let [piece] = &transfer.pieces[..] else { return Ok(vec![transfer.pieces.clone()]) };
    let last = piece.source.leaves().next_back().map_or(1, |mode| mode.shape);
    let each = (last - 1) / count as i64 + 1;
    let cut = |layout: &Layout, first: i64| -> Result<(i64, Layout)> {
        let (mut shape, stride): (Vec<i64>, Vec<i64>) =
            layout.leaves().map(|mode| (mode.shape, mode.stride)).unzip();
        if let Some(extent) = shape.last_mut() {
            *extent = each.min(last - first);
        }
        let offset = stride.last().map_or(0, |stride| first * stride);
        Ok((offset, Layout::new(IntTuple::flat(shape), IntTuple::flat(stride))?))
    };
    let firsts = (0..count as i64).map(|part| part * each).take_while(|first| *first < last);
    let part = |first: i64| {
        let ((from, source), (to, target)) = (cut(&piece.source, first)?, cut(&piece.target, first)?);
        Ok(vec![Piece { from: piece.from + from, to: piece.to + to, source, target }])
    };
    firsts.map(part).collect()
}

fn driver(error: DriverError) -> MeshError {
    MeshError::Nccl { call: "cuStreamWaitEvent", code: error.0 as i32, words: format!("{:?}", error.0) }
}

impl<T: Element> Pairs<T> {
    pub(super) fn new(
        plan: &Reshard,
        (part, pace): ([usize; 2], Pace),
        member: &Member,
        stream: &Stream,
    ) -> Result<Pairs<T>> {
        let (own, size) = (member.rank(), size_of::<T>());
        let (mut sends, mut receives, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
        let mut rounds = 0;
        for message in plan.transfers() {
            let (from, to) = (message.from, message.to);
            if from != to {
                rounds = rounds.max(count(message, size, part));
            }
            if from == own && to == own {
                arrivals.push(Arrival { adds: message.adds, kept: message.pieces.clone(), parts: vec![] });
            } else if from == own || to == own {
                let parts = parts(message, count(message, size, part))?;
                if to == own {
                    let numbers = receives.len()..receives.len() + parts.len();
                    arrivals.push(Arrival { adds: message.adds, kept: vec![], parts: numbers.collect() });
                }
                for (round, pieces) in parts.iter().enumerate() {
                    // What is added, or comes on a simulator, comes into a buffer.
                    let direct = !message.adds && stream.cuda().is_some();
                    if to == own {
                        let side = Side::received(stream, pieces, direct)?;
                        receives.push(Part { peer: from, round, side });
                    } else {
                        sends.push(Part { peer: to, round, side: Side::sent(stream, pieces)? });
                    }
                }
            }
        }
        let beside = member.stream_beside()?;
        Ok(Pairs { sends, receives, arrivals, rounds, beside, home: stream.clone(), pace })
    }

    pub(super) fn run<const R: usize, const S: usize>(
        &mut self,
        member: &Member,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        match (stream.cuda(), self.beside.cuda().cloned()) {
            (Some(cuda), Some(beside)) => self.on_gpu(member, stream, (cuda, &beside), source, target),
            _ => self.on_simulator(member, stream, source, target),
        }
    }

    fn on_simulator<const R: usize, const S: usize>(
        &mut self,
        member: &Member,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        for round in 0..self.rounds {
            let mut sends = Vec::new();
            for part in self.sends.iter_mut().filter(|part| part.round == round) {
                part.side.pack(stream, Pace::Whole, source)?;
            }
            for part in self.sends.iter().filter(|part| part.round == round) {
                let view = match &part.side.buffer {
                    Some(buffer) => buffer.view(),
                    None => source.part(part.side.start, [part.side.len], [1])?,
                };
                sends.push((part.peer, view));
            }
            let own = self.receives.iter_mut().filter(|part| part.round == round);
            let mut receives: Vec<_> =
                own.filter_map(|part| Some((part.peer, part.side.buffer.as_mut()?.view_mut()))).collect();
            member.exchange(stream, &sends, &mut receives)?;
        }
        self.arrive(stream, source, target, |_| Ok(()))
    }

    fn on_gpu<const R: usize, const S: usize>(
        &mut self,
        member: &Member,
        stream: &Stream,
        (cuda, beside): (&std::sync::Arc<CudaStream>, &std::sync::Arc<CudaStream>),
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        // Addresses once, in the order of `stream`: what `beside` does in between is ordered by the events below, and cudarc,
        // which orders whole allocations, would make it wait for what stays.
        let [from, to] = touch(stream, source, target)?;
        // The buffers may be those of a run in another stream, whose messages have to be done.
        cuda.join(beside).map_err(driver)?;
        let own = |list: &[Part<T>], tensor: u64| -> Result<Vec<_>> {
            list.iter()
                .map(|part| {
                    Ok((part.round, (part.peer, part.side.address(stream, tensor)?, part.side.bytes())))
                })
                .collect()
        };
        let (sends, receives) = (own(&self.sends, from)?, own(&self.receives, to)?);
        let mut done = Vec::new();
        for round in 0..self.rounds {
            // The first part goes at once, the others beside messages.
            let pace = if round == 0 { Pace::Whole } else { self.pace };
            for part in self.sends.iter_mut().filter(|part| part.round == round) {
                part.side.pack(stream, pace, source)?;
            }
            beside.join(cuda).map_err(driver)?;
            let [sends, receives] = [&sends, &receives].map(|all| -> Vec<_> {
                all.iter().filter(|(own, _)| *own == round).map(|(_, message)| *message).collect()
            });
            // SAFETY: the addresses are of the views that this call borrows and of buffers that live longer; `cuda` waits below for
            // all of `beside` before this comes back, so that whoever uses them in the stream's order comes after.
            let started = unsafe { member.exchange_at(&self.beside, &sends, &receives) };
            done.push(beside.record_event(None).map_err(driver)?);
            if started.is_err() {
                cuda.join(beside).map_err(driver)?;
                touch(stream, source, target)?;
                return started;
            }
        }
        let wait = |round: usize| done.get(round).map_or(Ok(()), |event| cuda.wait(event).map_err(driver));
        let arrived = self.arrive(stream, source, target, wait);
        cuda.join(beside).map_err(driver)?;
        touch(stream, source, target)?;
        // The buffers are freed in the order of the stream that they were made in, which may be another one.
        if let Some(home) = self.home.cuda().filter(|home| home.cu_stream() != cuda.cu_stream()) {
            home.join(beside).map_err(driver)?;
        }
        arrived
    }

    /// Puts everything in its place: what stays first, where nothing is added, then what comes, by rounds.
    fn arrive<const R: usize, const S: usize>(
        &self,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
        wait: impl Fn(usize) -> Result<()>,
    ) -> Result<()> {
        if self.arrivals.iter().any(|arrival| arrival.adds) {
            (0..self.rounds).try_for_each(wait)?;
            for Arrival { adds, kept, parts } in &self.arrivals {
                kept.iter()
                    .try_for_each(|piece| transfer(stream, piece, (*adds, Pace::Whole), source, target))?;
                parts.iter().try_for_each(|part| self.receives[*part].side.unpack(stream, *adds, target))?;
            }
            return Ok(());
        }
        // Beside messages what stays goes at their pace.
        let pace = if self.rounds > 0 { self.pace } else { Pace::Whole };
        let kept = self.arrivals.iter().flat_map(|arrival| &arrival.kept);
        for piece in kept {
            transfer(stream, piece, (false, pace), source, target)?;
        }
        for round in 0..self.rounds {
            wait(round)?;
            for part in self.receives.iter().filter(|part| part.round == round) {
                part.side.unpack(stream, false, target)?;
            }
        }
        Ok(())
    }
}
