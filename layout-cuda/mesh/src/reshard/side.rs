//! What a rank sends or receives at once: a part of its tensor, and the buffer where that is not one run.

use super::pieces::{Pace, compact, is_run, transfer};
use crate::error::Result;
use layout_core::mesh::Piece;
use layout_cuda::{Element, Stream, Tensor, TensorView, TensorViewMut};

/// The elements of a message on one side.
#[derive(Debug)]
pub(super) struct Side<T: Element> {
    /// Between the tensor and the buffer.
    pieces: Vec<Piece>,
    /// Where it begins in the tensor, if it is one run of it.
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) buffer: Option<Tensor<T, 1>>,
}

impl<T: Element> Side<T> {
    /// These pieces, to be sent.
    pub(super) fn sent(stream: &Stream, pieces: &[Piece]) -> Result<Side<T>> {
        let of = |piece: &Piece| (piece.from, piece.source.clone());
        let packed = |piece: &Piece, at, buffered| Piece { to: at, target: buffered, ..piece.clone() };
        Side::new(stream, pieces, of, packed, true)
    }

    /// These pieces, to be received; `direct` lets them arrive in the tensor.
    pub(super) fn received(stream: &Stream, pieces: &[Piece], direct: bool) -> Result<Side<T>> {
        let of = |piece: &Piece| (piece.to, piece.target.clone());
        let packed = |piece: &Piece, at, buffered| Piece { from: at, source: buffered, ..piece.clone() };
        Side::new(stream, pieces, of, packed, direct)
    }

    fn new(
        stream: &Stream,
        pieces: &[Piece],
        of: impl Fn(&Piece) -> (i64, layout_core::Layout),
        packed: impl Fn(&Piece, i64, layout_core::Layout) -> Piece,
        direct: bool,
    ) -> Result<Side<T>> {
        let (mut own, mut len, mut run) = (Vec::new(), 0_i64, direct);
        let start = pieces.first().map_or(0, |piece| of(piece).0);
        for piece in pieces {
            let (at, layout) = of(piece);
            run &= is_run(&layout) && at == start + len;
            own.push(packed(piece, len, compact(&layout)?));
            len += layout.size();
        }
        // Offsets of memory, which are not negative.
        let (start, len) = (start as usize, len as usize);
        let buffer = if run { None } else { Some(stream.zeros([len])?) };
        Ok(Side { pieces: own, start, len, buffer })
    }

    /// The bytes of the message.
    pub(super) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Where the message is on a GPU, whose tensor begins at this address: work on the stream comes after the buffer's users.
    pub(super) fn address(&self, stream: &Stream, tensor: u64) -> Result<u64> {
        let buffer = self.buffer.as_ref().map(Tensor::view);
        let lent = buffer.as_ref().map(|buffer| buffer.read_on(stream)).transpose()?.flatten();
        let Some((address, reads)) = lent else { return Ok(tensor + (self.start * size_of::<T>()) as u64) };
        reads.end()?;
        Ok(address)
    }

    /// From the tensor into the buffer, if there is one.
    pub(super) fn pack<const R: usize>(
        &mut self,
        stream: &Stream,
        pace: Pace,
        source: &TensorView<'_, T, R>,
    ) -> Result<()> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        let mut buffer = buffer.view_mut();
        self.pieces.iter().try_for_each(|piece| transfer(stream, piece, (false, pace), source, &mut buffer))
    }

    /// From the buffer, if there is one, into the tensor.
    pub(super) fn unpack<const S: usize>(
        &self,
        stream: &Stream,
        adds: bool,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        let Some(buffer) = &self.buffer else { return Ok(()) };
        let buffer = buffer.view();
        self.pieces.iter().try_for_each(|piece| transfer(stream, piece, (adds, Pace::Whole), &buffer, target))
    }
}
