//! All-gathers, reduce-scatters and all-reduces: NCCL's, with what is packed before and unpacked afterwards.
//!
//! Law: the buffer that NCCL reads is the messages one after the other, in the order of the group, or the source where it is that
//! already; so with the buffer that it writes and the target.

use super::pieces::{Pace, transfer};
use super::side::Side;
use crate::error::Result;
use crate::member::Member;
use crate::sum::Reduction;
use layout_core::mesh::{Collective, Piece, Reshard, Transfer};
use layout_cuda::{Element, Stream, TensorView, TensorViewMut};

/// What a rank does in its group.
#[derive(Debug)]
pub(super) struct Collected<T: Element> {
    kind: Collective,
    /// None where this rank exchanges nothing, which is then all that it keeps.
    group: Option<Member>,
    out: Side<T>,
    back: Side<T>,
    kept: Vec<Piece>,
}

impl<T: Element> Collected<T> {
    pub(super) fn new(plan: &Reshard, member: &Member, stream: &Stream) -> Result<Collected<T>> {
        let group = member.split(plan.groups())?;
        let (kind, own) = (plan.collective(), member.rank());
        // Within a group the transfers to one rank are in the order of the terms and then of the senders; so they do here.
        let mut sent: Vec<&Transfer> =
            plan.transfers().iter().filter(|transfer| transfer.from == own).collect();
        let mut received: Vec<&Transfer> =
            plan.transfers().iter().filter(|transfer| transfer.to == own).collect();
        sent.sort_by_key(|transfer| transfer.to);
        received.sort_by_key(|transfer| transfer.from);
        let kept = match group {
            Some(_) => vec![],
            None => sent.iter().flat_map(|transfer| transfer.pieces.clone()).collect(),
        };
        // Of an all-gather every message of this rank is the same one, of a sum every message to it goes to one place.
        match kind {
            Collective::AllGather => sent.truncate(1),
            Collective::ReduceScatter => received.truncate(1),
            _ => {
                sent.truncate(1);
                received.truncate(1);
            }
        }
        let pieces = |messages: &[&Transfer]| -> Vec<Piece> {
            messages.iter().flat_map(|message| message.pieces.clone()).collect()
        };
        let out = Side::sent(stream, &pieces(&sent))?;
        let back = Side::received(stream, &pieces(&received), true)?;
        Ok(Collected { kind, group, out, back, kept })
    }

    pub(super) fn run<const R: usize, const S: usize>(
        &mut self,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        let Some(group) = &self.group else {
            return self
                .kept
                .iter()
                .try_for_each(|piece| transfer(stream, piece, (false, Pace::Whole), source, target));
        };
        self.out.pack(stream, Pace::Whole, source)?;
        let from = match &self.out.buffer {
            Some(buffer) => buffer.view(),
            None => source.part(self.out.start, [self.out.len], [1])?,
        };
        match &mut self.back.buffer {
            Some(buffer) => start(self.kind, group, stream, &from, &mut buffer.view_mut())?,
            None => {
                let mut to = target.part_mut(self.back.start, [self.back.len], [1])?;
                start(self.kind, group, stream, &from, &mut to)?;
            }
        }
        self.back.unpack(stream, false, target)
    }
}

fn start<T: Element>(
    kind: Collective,
    group: &Member,
    stream: &Stream,
    from: &TensorView<'_, T, 1>,
    to: &mut TensorViewMut<'_, T, 1>,
) -> Result<()> {
    match kind {
        Collective::ReduceScatter => group.reduce_scatter(stream, Reduction::Sum, from, to),
        Collective::AllReduce => group.all_reduce(stream, Reduction::Sum, from, to),
        _ => group.all_gather(stream, from, to),
    }
}
