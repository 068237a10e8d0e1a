//! Endless loops: a warp whose state repeats.
//!
//! Law: a loop is examined if it changes only registers, and reads only memory that no other thread changes. Then
//! equal registers in two iterations mean that it never ends. The warp is compared with a copy of its state that is
//! renewed whenever the number of iterations has doubled (Brent's algorithm), so a cycle of any length is found.

use crate::bytecode::LANES;
use crate::state::warp::Warp;

/// Iterations before the first comparison.
const FIRST: u64 = 1 << 12;

/// The iterations of a warp since its last side effect.
#[derive(Clone, Debug)]
pub(crate) struct LoopDetector {
    count: u64,
    next: u64,
    copy: Option<Box<Warp>>,
}

impl LoopDetector {
    pub(crate) fn new() -> LoopDetector {
        LoopDetector { count: 0, next: FIRST, copy: None }
    }

    /// At the end of an iteration; `still` if the loop changes registers only. Whether the loop is endless.
    #[inline]
    pub(crate) fn endless(&mut self, warp: &Warp, still: bool) -> bool {
        if !still {
            self.count = 0;
            return false;
        }
        self.count += 1;
        self.count >= FIRST && self.repeats(warp)
    }

    #[cold]
    fn repeats(&mut self, warp: &Warp) -> bool {
        if self.count == FIRST {
            (self.next, self.copy) = (FIRST, None);
        }
        if self.copy.as_ref().is_some_and(|copy| same(copy, warp)) {
            return true;
        }
        if self.count >= self.next {
            self.next = self.count.saturating_mul(2);
            self.copy = Some(Box::new(warp.clone()));
        }
        false
    }
}

/// Whether two warps have the same program counter, masks and registers.
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
