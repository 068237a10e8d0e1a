//! Tensor memory of the blocks of a cluster, and the products that fill it.
//!
//! Law: a word is found by its lane and its column, each within its bound; before the first write it is poison.

use layout_compiler::program::tensor_memory::{COLUMNS, LANES};

#[derive(Clone, Debug, Default)]
pub(crate) struct TensorMemory {
    /// 32 bits of each block, lane and column.
    words: Vec<u32>,
    /// For each block the warp and the site of its allocation.
    pub allocated: Vec<Option<(u32, u32)>>,
    /// The products that each warp has issued.
    pub issued: Vec<u32>,
    /// The threads that issued products, and the number of the last one among its warp's.
    pub last: Vec<(u32, u32)>,
    /// Products that no commit follows: the issuing thread and the site.
    pub uncommitted: Vec<(u32, u32)>,
}

impl TensorMemory {
    /// For `ranks` blocks; without tensor memory there are none.
    pub(crate) fn start(&mut self, ranks: usize, warps: usize) {
        self.words.clear();
        self.words.resize(ranks * (LANES * COLUMNS) as usize, u32::MAX);
        self.allocated.clear();
        self.allocated.resize(ranks, None);
        self.issued.clear();
        self.issued.resize(warps, 0);
        self.last.clear();
        self.uncommitted.clear();
    }

    /// The number of a word.
    fn at(rank: usize, lane: u32, column: u32) -> usize {
        ((rank as u32 * LANES + lane % LANES) * COLUMNS + column % COLUMNS) as usize
    }

    pub(crate) fn read(&self, rank: usize, lane: u32, column: u32) -> u32 {
        self.words.get(TensorMemory::at(rank, lane, column)).copied().unwrap_or(u32::MAX)
    }

    pub(crate) fn write(&mut self, rank: usize, lane: u32, column: u32, word: u32) {
        if let Some(known) = self.words.get_mut(TensorMemory::at(rank, lane, column)) {
            *known = word;
        }
    }
}
