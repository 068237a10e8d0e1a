//! Places in sorted rows by bisection, and elements that are kept, one behind the other, in one pass.
//!
//! ```text
//! tile:   4096 elements; a vote for each 32, the counts of these summed by prefix, so that each kept element has its place in the tile
//! tiles:  the count of a tile, then the sum with those before it, by look-back of a warp; then the elements are written
//! ```
//!
//! A block waits for blocks of lower numbers; GPUs start blocks in the order of their numbers.
//!
//! Source: Merrill, Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016.

use layout_cuda::{Definition, tiled_kernels};

pub use selection::{keep, search};

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 2] {
    [&search::DEFINITION, &keep::DEFINITION]
}

#[tiled_kernels]
mod selection {
    fn is_number(x: T) -> bool {
        let same = x;
        same >= x
    }

    // NaN is above every number.
    fn is_less(a: T, b: T) -> bool {
        if is_number(b) { a < b } else { is_number(a) }
    }

    /// `out[i, k]`: how many elements of row `i` of `sorted` are less than `values[i, k]`, with `RIGHT` not greater.
    #[tiled_kernel(
        T = [f32, bf16], RIGHT = [false, true],
        block = [256], grid = [(M * K).div_ceil(256)], require(M * K < 4294966272, N < 2147483648), deny(narrowed),
    )]
    pub fn search<T, const M: usize, const N: usize, const K: usize>(
        sorted: &LayoutTensor<T, Strided<M, N>>,
        values: &LayoutTensor<T, Strided<M, K>>,
        out: &mut LayoutTensor<u32, Strided<M, K>>,
    ) {
        let at = (block_idx.x * 256 + thread_idx.x) as u32;
        if at < (M * K) as u32 {
            let (row, k) = ((at / K as u32) as usize, (at % K as u32) as usize);
            assume(row < M && k < K);
            let value = values[[row, k]];
            let (mut low, mut high) = (0u32, N as u32);
            while low < high {
                let middle = (low + high) / 2;
                let element = sorted[[row, middle as usize]];
                if if RIGHT { !is_less(value, element) } else { is_less(element, value) } {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            out[[row, k]] = low;
        }
    }

    // How many are kept before a tile that is not the first; its own number is there for the tiles behind it at once. A lane looks at one
    // tile, the nearest ones first, up to one that has its sum.
    fn look_back(mut state: impl Tensor<Elem = u32, Access = Write>, tile: usize, own: u32) -> u32 {
        if lane_id() == 0 {
            state.store_relaxed([tile], own | 0x40000000);
        }
        let mut before: u32 = 0;
        let mut behind = tile;
        loop {
            let mut seen = 0x80000000;
            if lane_id() < behind {
                seen = state.load_relaxed([behind - 1 - lane_id()]);
            }
            // Again until each has one of both.
            if all(seen >= 0x40000000) {
                let sums = ballot(seen >= 0x80000000);
                let upto = if sums == 0 { u32::MAX } else { sums ^ (sums - 1) };
                before += select(upto >> lane_id() as u32 & 1 != 0, seen & 0x3fffffff, 0).warp_sum();
                if sums != 0 {
                    break;
                }
                behind -= 32;
            }
        }
        before
    }

    /// `out[k]` and `places[k]`: element `k` of those of `x` that are kept, and where it is in `x`, as far as these go; `count`: how many
    /// there are. Kept are those whose mask is not 0, with `RUNS` those that are unlike the one before. `state` is zero before.
    #[tiled_kernel(
        T = [f32, bf16], RUNS = [false, true], ITEMS = 16,
        block = [256], grid = [N.div_ceil(256 * ITEMS)], require(N < 1073741824), deny(narrowed),
    )]
    pub fn keep<T, const N: usize, const L: usize, const K: usize, const P: usize, const TILES: usize>(
        x: &LayoutTensor<T, Strided<N>>,
        mask: &LayoutTensor<u8, Strided<L>>,
        out: &mut LayoutTensor<T, Strided<K>>,
        places: &mut LayoutTensor<u32, Strided<P>>,
        count: &mut LayoutTensor<u32, RowMajor<1>>,
        state: &mut LayoutTensor<u32, RowMajor<TILES>>,
    ) {
        let first = block_idx.x * (256 * ITEMS) + thread_idx.x;
        // Of 32 elements: how many are kept, then how many of the tile before these.
        let mut counts = shared::<u32>(row_major([257]));
        let mut before_tile = shared::<u32>(row_major([1]));
        let mut votes = [0u32; ITEMS];
        let mut own = [T::ZERO; ITEMS];
        counts[[thread_idx.x]] = 0;
        barrier();
        for i in unroll(0..ITEMS) {
            let at = first + i * 256;
            let mut is_kept = false;
            if at < N {
                own[i] = x[[at]];
                if RUNS {
                    is_kept = true;
                    if at > 0 {
                        is_kept = own[i] != x[[at - 1]];
                    }
                } else if at < L {
                    is_kept = mask[[at]] != 0;
                }
            }
            votes[i] = ballot(is_kept);
            if lane_id() == 0 {
                counts[[i * 8 + warp_id()]] = votes[i].count_ones();
            }
        }
        barrier();
        let of_warp = counts[[thread_idx.x]];
        let upto = of_warp.block_prefix_sum();
        counts[[thread_idx.x]] = upto - of_warp;
        if thread_idx.x == 255 {
            counts[[256]] = upto;
        }
        barrier();
        if warp_id() == 0 {
            let (tile, count_of_tile) = (block_idx.x, counts[[256]]);
            let before = if tile == 0 { 0 } else { look_back(state, tile, count_of_tile) };
            if lane_id() == 0 {
                state.store_relaxed([tile], (before + count_of_tile) | 0x80000000);
                before_tile[[0]] = before;
                if tile + 1 == N.div_ceil(256 * ITEMS) {
                    count[[0]] = before + count_of_tile;
                }
            }
        }
        barrier();
        for i in unroll(0..ITEMS) {
            let at = first + i * 256;
            let lower = votes[i] & ((1 << lane_id() as u32) - 1);
            let to = (before_tile[[0]] + counts[[i * 8 + warp_id()]] + lower.count_ones()) as usize;
            if votes[i] >> lane_id() as u32 & 1 != 0 && at < N {
                if to < K {
                    out[[to]] = own[i];
                }
                if to < P {
                    places[[to]] = at as u32;
                }
            }
        }
    }
}
