//! What the threads of a launch print.
//!
//! Law: the texts are in the order of blocks, then of threads, then of the program, for any number of host threads. A
//! launch keeps at most [`MOST`] of them, the first in this order, and a block at most [`MOST_OF_BLOCK`].

use crate::report::Printed;
use std::collections::HashMap;

/// The most texts of a launch.
const MOST: usize = 1 << 18;
/// The most texts of a block.
const MOST_OF_BLOCK: usize = 1 << 16;

/// The texts of one host thread, each with the numbers of its block and its thread.
#[derive(Default)]
pub(crate) struct Printing {
    texts: Vec<(u64, u32, Printed)>,
    /// The number of texts of each block.
    blocks: HashMap<u64, usize>,
    left_out: u64,
}

impl Printing {
    pub(crate) fn add(&mut self, block: u64, thread: u32, text: impl FnOnce() -> Printed) {
        let earlier = self.texts.len();
        let own = self.blocks.entry(block).or_default();
        // A block that begins behind so many texts of blocks before it has none of the first ones.
        if *own >= MOST_OF_BLOCK || earlier - *own >= MOST {
            self.left_out += 1;
            return;
        }
        *own += 1;
        self.texts.push((block, thread, text()));
    }

    pub(crate) fn merge(&mut self, other: Printing) {
        self.texts.extend(other.texts);
        self.left_out += other.left_out;
    }

    /// The texts in order, and the number of those that were left out.
    pub(crate) fn finish(mut self) -> (Vec<Printed>, u64) {
        self.texts.sort_by_key(|(block, thread, _)| (*block, *thread));
        self.left_out += self.texts.len().saturating_sub(MOST) as u64;
        self.texts.truncate(MOST);
        (self.texts.into_iter().map(|(_, _, text)| text).collect(), self.left_out)
    }
}
