//! Endless loops: a warp that is back where it was, with the same registers.
//!
//! Law: take a loop that changes only registers, and reads only what nobody changes meanwhile. Equal registers in two of
//! its rounds mean that it never ends. A copy of the warp is kept for comparison, and replaced after twice as many rounds
//! each time (Brent), so any period is found.

use crate::bytecode::LANES;
use crate::state::warp::Warp;

/// Iterations before the first look.
const FIRST: u64 = 1 << 12;

/// What is known of a warp's rounds since it last did something.
pub(crate) struct LoopDetector {
    count: u64,
    next: u64,
    known: Option<Box<Warp>>,
}

impl LoopDetector {
    /// Of a warp that goes on.
    pub(crate) fn new() -> LoopDetector {
        LoopDetector { count: 0, next: FIRST, known: None }
    }

    /// A round ends; `still` says that its loop changes registers only. Whether it never ends.
    #[inline]
    pub(crate) fn endless(&mut self, warp: &Warp, still: bool) -> bool {
        if !still {
            self.count = 0;
            return false;
        }
        self.count += 1;
        self.count >= FIRST && self.look(warp)
    }

    #[cold]
    fn look(&mut self, warp: &Warp) -> bool {
        if self.count == FIRST {
            (self.next, self.known) = (FIRST, None);
        }
        if self.known.as_ref().is_some_and(|known| same(known, warp)) {
            return true;
        }
        if self.count >= self.next {
            self.next = self.count.saturating_mul(2);
            self.known = Some(Box::new(warp.clone()));
        }
        false
    }
}

/// Whether a warp stands where another stood, with the same in its registers.
fn same(a: &Warp, b: &Warp) -> bool {
    let floats = |x: &[f32; LANES], y: &[f32; LANES]| x.map(f32::to_bits) == y.map(f32::to_bits);
    let doubles = |x: &[f64; LANES], y: &[f64; LANES]| x.map(f64::to_bits) == y.map(f64::to_bits);
    (a.pc, a.active, a.round, a.gone, a.broken) == (b.pc, b.active, b.round, b.gone, b.broken)
        && a.scalars == b.scalars
        && a.mask == b.mask
        && a.int == b.int
        && a.frames == b.frames
        && a.f32.iter().zip(&b.f32).all(|(x, y)| floats(x, y))
        && a.f64.iter().zip(&b.f64).all(|(x, y)| doubles(x, y))
}
