//! Each rank reads what it gets from the others' memory, between GPUs of one process: nothing is packed, and nothing is sent.
//!
//! ```text
//! stream  offer ─► what stays ──────────► done by all
//!           └►                            ▲
//! beside      read of 1 ─► read of 2 ─────┘
//! ```
//!
//! Law: a rank reads a peer's source when the peer's stream has come to its call, and the peer's stream goes on when all have read. Terms
//! are added in the plan's order.

use super::pieces::{Pace, transfer};
use crate::copies::{Lines, copy_lines};
use crate::error::{MeshError, Result};
use crate::member::Member;
use layout_core::mesh::{Piece, Reshard, Transfer};
use layout_cuda::cudarc::driver::{CudaSlice, CudaStream, DriverError};
use layout_cuda::{Element, Stream, TensorArg, TensorView, TensorViewMut};
use std::mem::ManuallyDrop;
use std::sync::Arc;

/// Who reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Kernels, with all of the device.
    Kernels,
    /// The copy engines.
    Copies,
}

/// What a rank reads.
#[derive(Debug)]
pub(super) struct Reached {
    /// What this rank has afterwards, in the plan's order.
    arriving: Vec<Transfer>,
    /// Who reads of this rank.
    readers: Vec<usize>,
    beside: Stream,
    how: Reach,
    pace: Pace,
    /// How long a source is, the same on each rank.
    len: usize,
}

/// Memory that another one owns, as a slice: given back as it is.
struct Lent<T>(ManuallyDrop<CudaSlice<T>>);

impl<T> Lent<T> {
    /// # Safety
    /// - So many elements are there until this is dropped and the stream has done what uses them.
    unsafe fn new(stream: &Arc<CudaStream>, address: u64, len: usize) -> Lent<T> {
        // SAFETY: as the caller promises; it is never freed.
        Lent(ManuallyDrop::new(unsafe { stream.upgrade_device_ptr(address, len) }))
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here.
        let own = unsafe { ManuallyDrop::take(&mut self.0) };
        let _ = own.leak();
    }
}

/// The addresses of both tensors, used at this point of the stream: what the stream does next comes after their users so far, and who
/// uses them in another stream, or frees them, comes after this point. So it is said once before other streams get the addresses, and
/// once more when the stream has come after those.
pub(super) fn touch<T: Element, const R: usize, const S: usize>(
    stream: &Stream,
    source: &TensorView<'_, T, R>,
    target: &mut TensorViewMut<'_, T, S>,
) -> Result<[u64; 2]> {
    let (mut from, mut to) = (0, 0);
    if let Some((address, reads)) = source.read_on(stream)? {
        from = address;
        reads.end()?;
    }
    if let Some((address, writes)) = target.write_on(stream)? {
        to = address;
        writes.end()?;
    }
    Ok([from, to])
}

fn driver(error: DriverError) -> MeshError {
    MeshError::Nccl { call: "cuStreamWaitEvent", code: error.0 as i32, words: format!("{:?}", error.0) }
}

/// Copies a piece by rows, those of its longest other mode at once.
///
/// # Safety
/// - The piece is at both addresses, as of [`copy_lines`].
unsafe fn copy<T: Element>(stream: &CudaStream, piece: &Piece, from: u64, to: u64) -> Result<()> {
    let modes = piece.source.leaves().zip(piece.target.leaves());
    let mut modes: Vec<[usize; 3]> = modes
        .map(|(from, to)| [from.shape, from.stride, to.stride].map(|value| value.max(0) as usize))
        .filter(|[extent, ..]| *extent > 1)
        .collect();
    let size = size_of::<T>();
    let row = modes.iter().position(|[_, from, to]| (*from, *to) == (1, 1));
    let row = row.map_or(1, |row| modes.remove(row)[0]);
    modes.sort_unstable_by_key(|[extent, ..]| *extent);
    let [count, from_step, to_step] = modes.pop().unwrap_or([1, row, row]);
    let lines = Lines { count, bytes: row * size, from_pitch: from_step * size, to_pitch: to_step * size };
    let steps: usize = modes.iter().map(|[extent, ..]| extent).product();
    for step in 0..steps {
        let mut rest = step;
        let (mut source, mut target) = (piece.from as usize, piece.to as usize);
        for [extent, from_step, to_step] in &modes {
            let digit = rest % extent;
            rest /= extent;
            (source, target) = (source + digit * from_step, target + digit * to_step);
        }
        let (source, target) = (from + (source * size) as u64, to + (target * size) as u64);
        // SAFETY: as the caller promises.
        unsafe { copy_lines(stream, source, target, lines)? };
    }
    Ok(())
}

impl Reached {
    pub(super) fn new(plan: &Reshard, (how, pace): (Reach, Pace), member: &Member) -> Result<Reached> {
        let own = member.rank();
        let arriving: Vec<Transfer> =
            plan.transfers().iter().filter(|transfer| transfer.to == own).cloned().collect();
        let readers = plan.transfers().iter().filter(|transfer| transfer.from == own && transfer.to != own);
        let readers = readers.map(|transfer| transfer.to).collect();
        let len = plan.source().memory().cosize() as usize;
        Ok(Reached { arriving, readers, beside: member.stream_beside()?, how, pace, len })
    }

    pub(super) fn run<T: Element, const R: usize, const S: usize>(
        &mut self,
        member: &Member,
        stream: &Stream,
        source: &TensorView<'_, T, R>,
        target: &mut TensorViewMut<'_, T, S>,
    ) -> Result<()> {
        let (Some(cuda), Some(beside)) = (stream.cuda(), self.beside.cuda().cloned()) else { return Ok(()) };
        // Addresses once, in the order of `stream`, as of messages: what `beside` does is ordered by what joins the two.
        let [from, to] = touch(stream, source, target)?;
        let room = TensorArg::view(target).len();
        beside.join(cuda).map_err(driver)?;
        let offers: Vec<(usize, u64)> = self.readers.iter().map(|reader| (*reader, from)).collect();
        let (own, adds) = (member.rank(), self.arriving.iter().any(|transfer| transfer.adds));
        let read = member.offered(&self.beside, &offers, |offers| {
            for arriving in &self.arriving {
                let here = arriving.from == own;
                let address = if here { Some(from) } else { offers.of(arriving.from)?.first().copied() };
                let Some(address) = address else { continue };
                // What stays goes beside what is read, unless the order counts.
                let stream = if here && !adds { stream } else { &self.beside };
                // SAFETY: the sources are of one length on all ranks, which have agreed on the plan, and stay as they are until all have
                // read; the target is borrowed here. `cuda` waits below for all of `beside`.
                unsafe { self.take::<T>(stream, arriving, (address, to, room), here)? };
            }
            Ok(())
        });
        cuda.join(&beside).map_err(driver)?;
        touch(stream, source, target)?;
        read
    }

    /// Brings what one rank has for this one.
    ///
    /// # Safety
    /// - A source of the plan is at the first address, and so many elements of a target at the second one, until the stream has
    ///   done it; nobody writes the one or touches the other meanwhile.
    unsafe fn take<T: Element>(
        &self,
        stream: &Stream,
        arriving: &Transfer,
        (from, to, room): (u64, u64, usize),
        here: bool,
    ) -> Result<()> {
        let Some(cuda) = stream.cuda() else { return Ok(()) };
        if self.how == Reach::Copies && !here && !arriving.adds {
            // SAFETY: as the caller promises.
            return arriving.pieces.iter().try_for_each(|piece| unsafe { copy::<T>(cuda, piece, from, to) });
        }
        // Beside kernels that read what is far, what stays takes few blocks.
        let pace = if here && self.how == Reach::Kernels { self.pace } else { Pace::Whole };
        // SAFETY: as the caller promises.
        let (source, mut target) = unsafe { (Lent::new(cuda, from, self.len), Lent::new(cuda, to, room)) };
        let source = TensorView::<T, 1>::over(source.0.slice(..), [self.len])?;
        // SAFETY: the slice of this type is only here, and nothing reads its values.
        let mut target =
            unsafe { TensorViewMut::<T, 1>::over_bytes_of(target.0.slice_mut(..), [room], [1]) }?;
        let mut pieces = arriving.pieces.iter();
        pieces.try_for_each(|piece| transfer(stream, piece, (arriving.adds, pace), &source, &mut target))
    }
}
