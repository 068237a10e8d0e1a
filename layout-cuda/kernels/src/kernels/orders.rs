//! Orders of rows: the first of them and short rows by a block in shared memory, long rows by radix, eight bits a pass.
//!
//! ```text
//! key:    the bits of an element as a number in the order of its type
//! block:  keys with places below, so that no two are equal: those before the k-th so far are kept;  2048 are sorted, k stay
//! radix:  counts of every digit of a row, then for each digit: rank in the warp, in the tile, and before the tile by look-back
//! ```
//!
//! Of numbers in no order few are before the k-th so far, so that [`top_k`] reads a row once and sorts little of it. Chunks come by turns far
//! apart, so that this holds of rows in order, too; a row may be made for the worst, where every 1024 elements are sorted. In [`radix_pass`] a
//! block waits for blocks of lower numbers, and GPUs start blocks in the order of their numbers.
//!
//! Source: Adinets, Merrill, "Onesweep: a faster least significant digit radix sort for GPUs", 2022.

use layout_cuda::{Definition, tiled_kernels};

pub use orders::{radix_count, radix_pass, sort_short, top_k};

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 4] {
    [&top_k::DEFINITION, &sort_short::DEFINITION, &radix_count::DEFINITION, &radix_pass::DEFINITION]
}

#[tiled_kernels]
mod orders {
    // The bits of an element as a number in the order of its type, where `LEAST` is 0 those of an unsigned number, where it is 1 of one with
    // a sign, else of a float whose minus infinity comes to `LEAST` without the negative NaNs, which go behind the others.
    fn key(x: T) -> U {
        const TOP: U = 1 << (8 * size_of::<U>() - 1);
        if LEAST == 0 {
            x as U
        } else if LEAST == 1 {
            x as U ^ TOP
        } else {
            let bits = x.to_bits();
            select(bits >= TOP, !bits, bits | TOP) - LEAST as U
        }
    }

    // Elements `0..1 << bits` in order, 8 at least; it waits for the block before and after. A thread has eight at three distances at once.
    fn sort(mut held: View<W, Write>, bits: u32) {
        barrier();
        for level in 2..bits {
            let mut top = level + 1;
            while top > 0 {
                let low = if top > 3 { top - 3 } else { 0 };
                let mut group = thread_idx.x as u32;
                while group < (1 << bits) / 8 {
                    let first = (group >> low << (low + 3)) + (group & ((1 << low) - 1));
                    let is_up = first >> (level + 1) & 1 == 0;
                    let mut own = [0; 8];
                    for i in unroll(0..8) {
                        own[i] = held[[(first + ((i as u32) << low)) as usize % SIZE]];
                    }
                    // At first eight by themselves: neighbours, those two apart, neighbours again.
                    for stage in unroll(0..6) {
                        let apart = if stage == 3 {
                            4
                        } else if stage == 1 || stage == 4 {
                            2
                        } else {
                            1
                        };
                        if if stage < 3 { level == 2 } else { low + 5 - (stage as u32) < top } {
                            for pair in unroll(0..4) {
                                let i = pair / apart * 2 * apart + pair % apart;
                                let (a, b) = (own[i], own[i + apart]);
                                let is_own = if stage == 0 { i & 2 == 0 } else { i & 4 == 0 };
                                let is_moved = (a > b) == if stage < 3 { is_own } else { is_up };
                                own[i] = select(is_moved, b, a);
                                own[i + apart] = select(is_moved, a, b);
                            }
                        }
                    }
                    for i in unroll(0..8) {
                        held[[(first + ((i as u32) << low)) as usize % SIZE]] = own[i];
                    }
                    group += THREADS as u32;
                }
                top = low;
                barrier();
            }
        }
    }

    /// `values[i, p, r]` and `indices[i, p, r]`: the element number `r` in the order of part `p` of row `i`, and where it is in the row, or with
    /// `PLACED` what `places` has there. The parts but the first and the last have 8 `THREADS` `len` elements each. With `flip` all ones the
    /// largest is first; `hole` is all ones. Rows begin at any address.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [u32, u16], LEAST = [0x7fffff, 0x7f, 0x3ff], PLACED = [false, true], W = [u64],
        THREADS = 128, SIZE = 2048,
        filter(
            if T == f32 { U == u32 } else { U == u16 }, !PLACED || T == f32,
            LEAST == if T == f32 { 0x7fffff } else if T == bf16 { 0x7f } else { 0x3ff },
        ),
        block = [THREADS], grid = [M * PARTS], deny(narrowed),
    )]
    pub fn top_k<T, U, W, const M: usize, const N: usize, const PARTS: usize, const K: usize>(
        x: &LayoutTensor<T, RowMajor<M, N>>,
        places: &LayoutTensor<u32, Strided<M, N>>,
        values: &mut LayoutTensor<T, Strided<M, PARTS, K>>,
        indices: &mut LayoutTensor<u32, Strided<M, PARTS, K>>,
        flip: U,
        hole: W,
        len: u32,
    ) {
        const V: usize = 16 / size_of::<T>();
        const CHUNK: usize = THREADS * 8;
        let (row, part) = (block_idx.x / PARTS, block_idx.x % PARTS);
        let before = (row * N % V) as isize;
        let (first, chunks) = (part * len as usize, (N + V - 1).div_ceil(CHUNK));
        let end = (first + if part + 1 == PARTS { chunks } else { len as usize }).min(chunks);
        let mut held = shared::<W>(row_major([SIZE]).swizzle(4, 0, 4));
        let mut counter = shared::<u32>(row_major([1]));
        let mut count: u32 = 0;
        let mut worst = hole;
        // A prime above their number visits each chunk once.
        let (number, mut turn) = ((end - first) as u32, 0u32);
        for visited in first..end {
            let chunk = (first + turn as usize).min(chunks - 1);
            turn += 2654435761 % number;
            turn = if turn >= number { turn - number } else { turn };
            let at = (chunk * CHUNK + thread_idx.x * 8) as isize - before;
            let mut own = [hole; 8];
            if at >= 0 && at + 8 <= N as isize {
                let eight = x.window([1, 8], [row as isize, at]).vectorize([1, V]).to_local();
                for i in unroll(0..8) {
                    own[i] = ((key(eight[[0, i]]) ^ flip) as u64) << 32 | (at + i as isize) as u64;
                }
            } else {
                for i in unroll(0..8) {
                    let j = at + i as isize;
                    if j >= 0 && j < N as isize {
                        own[i] = ((key(x[[row, j as usize]]) ^ flip) as u64) << 32 | j as u64;
                    }
                }
            }
            if visited == first {
                for i in unroll(0..8) {
                    held[[i * THREADS + thread_idx.x]] = own[i];
                }
                count = CHUNK as u32;
            } else {
                for i in unroll(0..8) {
                    if own[i] < worst {
                        held[[counter.atomic_add([0], 1) as usize % SIZE]] = own[i];
                    }
                }
                barrier();
                count = counter[[0]];
                barrier();
            }
            // After the first, where the next might not find room, and at the end.
            if visited == first || count as usize > SIZE - CHUNK || visited + 1 == end {
                let bits = (32 - (count - 1).leading_zeros()).max(3);
                let mut rest = count + thread_idx.x as u32;
                while rest < 1 << bits {
                    held[[rest as usize % SIZE]] = hole;
                    rest += THREADS as u32;
                }
                sort(held, bits);
                worst = held[[(K - 1) % SIZE]];
                if thread_idx.x == 0 {
                    counter[[0]] = K as u32;
                }
                barrier();
            }
        }
        for r in (thread_idx.x..K).step_by(THREADS) {
            let at = (held[[r % SIZE]] & 0xffffffff) as usize;
            if at < N {
                values[[row, part, r]] = x[[row, at]];
                indices[[row, part, r]] = if PLACED { places[[row, at]] } else { at as u32 };
            }
        }
    }

    /// `values[i, r]` and `indices[i, r]`: as [`top_k`] of rows of at most `SIZE` elements, a power of two, of any strides.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [u32, u16], LEAST = [0x7fffff, 0x7f, 0x3ff], PLACED = [false, true], W = [u64, u32],
        SIZE = [256, 4096], THREADS = SIZE / 8,
        filter(
            if T == f32 { U == u32 } else { U == u16 },
            LEAST == if T == f32 { 0x7fffff } else if T == bf16 { 0x7f } else { 0x3ff },
            if T == f32 { W == u64 } else { W == u32 },
            T == f32 && PLACED == (SIZE == 256) || SIZE == 256 && !PLACED,
        ),
        block = [THREADS], grid = [M], require(N <= SIZE), deny(narrowed),
    )]
    pub fn sort_short<
        T,
        U,
        W,
        const M: usize,
        const N: usize,
        const A: usize,
        const B: usize,
        const C: usize,
        const D: usize,
    >(
        x: &LayoutTensor<T, Strided<M, N>>,
        places: &LayoutTensor<u32, Strided<M, N>>,
        values: &mut LayoutTensor<T, Strided<A, B>>,
        indices: &mut LayoutTensor<u32, Strided<C, D>>,
        flip: U,
        hole: W,
    ) {
        const HALF: u32 = 4 * size_of::<W>() as u32;
        let row = block_idx.x;
        let mut held = shared::<W>(row_major([SIZE]).swizzle(4, 0, 4));
        for i in unroll(0..SIZE / THREADS) {
            let j = i * THREADS + thread_idx.x;
            let mut own = hole;
            if j < N {
                own = (((key(x[[row, j]]) ^ flip) as W) << HALF) + j as W;
            }
            held[[j]] = own;
        }
        sort(held, SIZE.ilog2());
        for i in unroll(0..SIZE / THREADS) {
            let j = i * THREADS + thread_idx.x;
            let at = (held[[j]] & ((1 << HALF) - 1)) as usize;
            if j < N && at < N {
                if row < A && j < B {
                    values[[row, j]] = x[[row, at]];
                }
                if row < C && j < D {
                    indices[[row, j]] = if PLACED { places[[row, at]] } else { at as u32 };
                }
            }
        }
    }

    // Digit `shift / 8` of an element.
    fn digit_of(x: T, flip: U, shift: u32) -> u32 {
        ((key(x) ^ flip) >> shift) as u32 & 255
    }

    /// Adds to `counts[i, 256 p + d]` how often digit `p` of the elements of row `i` is `d`.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [u32, u16], LEAST = [0x7fffff, 0x7f, 0x3ff], filter(
            if T == f32 { U == u32 } else { U == u16 },
            LEAST == if T == f32 { 0x7fffff } else if T == bf16 { 0x7f } else { 0x3ff },
        ),
        block = [256], grid = [M * N.div_ceil(16384)], deny(narrowed),
    )]
    pub fn radix_count<T, U, const M: usize, const N: usize, const DIGITS: usize>(
        x: &LayoutTensor<T, Strided<M, N>>,
        counts: &mut LayoutTensor<u32, RowMajor<M, DIGITS>>,
        flip: U,
    ) {
        const PASSES: usize = size_of::<T>();
        let spans = N.div_ceil(16384);
        let (row, span) = (block_idx.x / spans, block_idx.x % spans);
        // Neighbouring lanes count apart: digits of floats are often the same.
        let mut own = shared::<u32>(row_major([PASSES * 256, 4]));
        for i in (thread_idx.x..PASSES * 1024).step_by(256) {
            own[[i / 4, i % 4]] = 0;
        }
        barrier();
        for round in 0..8 {
            let first = span * 16384 + round * 2048 + thread_idx.x;
            let mut some = [T::ZERO; 8];
            for i in unroll(0..8) {
                if first + i * 256 < N {
                    some[i] = x[[row, first + i * 256]];
                }
            }
            for i in unroll(0..8) {
                if first + i * 256 < N {
                    for pass in unroll(0..PASSES) {
                        let digit = digit_of(some[i], flip, pass as u32 * 8) as usize;
                        own.atomic_add([pass * 256 + digit, lane_id() % 4], 1);
                    }
                }
            }
        }
        barrier();
        for i in (thread_idx.x..PASSES * 256).step_by(256) {
            let count = own[[i, 0]] + own[[i, 1]] + own[[i, 2]] + own[[i, 3]];
            if count > 0 {
                counts.atomic_add([row, i], count);
            }
        }
    }

    // The lanes of the warp that have the same digit: votes are quicker than `match_any`.
    fn peers(digit: u32) -> u32 {
        let mut peers = u32::MAX;
        for bit in unroll(0..8) {
            let own = digit >> bit & 1;
            peers = peers & (ballot(own == 1) ^ (own - 1));
        }
        peers
    }

    // How often the tiles up to `last` have a digit: back to one that has its sum.
    fn look_back(state: impl Tensor<Elem = u32, Access = Write>, last: usize, digit: usize) -> u32 {
        let mut before: u32 = 0;
        let mut back = last;
        loop {
            let seen = state.load_relaxed([back, digit]);
            if seen >= 0x40000000 {
                before += seen & 0x3fffffff;
                if seen >= 0x80000000 {
                    break;
                }
                back -= 1;
            }
        }
        before
    }

    // How many elements of the digit the warp has had, those of lower lanes among them; these and the others are counted.
    fn rank_in_warp(mut counts: View<u32, Write>, digit: u32) -> u32 {
        let peers = peers(digit);
        let before = counts[[warp_id(), digit as usize]];
        let lower = peers & ((1 << lane_id() as u32) - 1);
        sync_warp();
        if lower == 0 {
            counts[[warp_id(), digit as usize]] = before + peers.count_ones();
        }
        sync_warp();
        before + lower.count_ones()
    }

    /// Each row of `out` is that of `x` by the digit at bit `shift`, elements of one digit in the order of `x`, as far as `out` goes; so is `to`
    /// of `places`, with `PLACES` 2, or of the places in the row, with 1. `counts` are those of the digit, `state` is zero before: for each
    /// tile and digit 0, or how often the tile has it and 2³⁰, or how often the tile and those before it have it and 2³¹.
    #[tiled_kernel(
        T = [f32, bf16, f16], U = [u32, u16], LEAST = [0x7fffff, 0x7f, 0x3ff], PLACES = [0, 1, 2],
        ITEMS = 12, THREADS = 512,
        filter(
            if T == f32 { U == u32 } else { U == u16 }, T == f32 || PLACES == 0,
            LEAST == if T == f32 { 0x7fffff } else if T == bf16 { 0x7f } else { 0x3ff },
        ),
        min_blocks = 1024 / THREADS, block = [THREADS], grid = [M * N.div_ceil(THREADS * ITEMS)], deny(narrowed),
    )]
    pub fn radix_pass<
        T,
        U,
        const M: usize,
        const N: usize,
        const A: usize,
        const B: usize,
        const C: usize,
        const D: usize,
        const E: usize,
        const F: usize,
        const TILES: usize,
    >(
        x: &LayoutTensor<T, Strided<M, N>>,
        out: &mut LayoutTensor<T, Strided<A, B>>,
        places: &LayoutTensor<u32, Strided<C, D>>,
        to: &mut LayoutTensor<u32, Strided<E, F>>,
        counts: &LayoutTensor<u32, Strided<M, 256>>,
        state: &mut LayoutTensor<u32, RowMajor<TILES, 256>>,
        flip: U,
        shift: u32,
    ) {
        const TILE: usize = THREADS * ITEMS;
        const WARPS: usize = THREADS / 32;
        let tiles = N.div_ceil(TILE);
        let (row, tile) = (block_idx.x / tiles, block_idx.x % tiles);
        let mut of_warps = shared::<u32>(row_major([WARPS, 256]));
        let mut starts = shared::<u32>(row_major([256]));
        let mut held = shared::<T>(row_major([TILE]));
        for i in unroll(0..8) {
            of_warps[[warp_id(), i * 32 + lane_id()]] = 0;
        }
        sync_warp();
        let first = tile * TILE + warp_id() * (ITEMS * 32) + lane_id();
        let mut own = [T::ZERO; ITEMS];
        let mut ranks = [0u32; ITEMS];
        for i in unroll(0..ITEMS) {
            if first + i * 32 < N {
                own[i] = x[[row, first + i * 32]];
            }
        }
        for i in unroll(0..ITEMS) {
            // What is beyond the row is behind all that is in it.
            let digit = select(first + i * 32 < N, digit_of(own[i], flip, shift), 255);
            ranks[i] = digit << 16 | rank_in_warp(of_warps, digit);
        }
        barrier();
        let own_digit = thread_idx.x % 256;
        let mut count: u32 = 0;
        if thread_idx.x < 256 {
            for warp in unroll(0..WARPS) {
                count += of_warps[[warp, own_digit]];
            }
            if tile > 0 {
                state.store_relaxed([row * tiles + tile, own_digit], count | 0x40000000);
            }
        }
        let start = count.block_prefix_sum() - count;
        let mut before: u32 = 0;
        if tile == 0 {
            if thread_idx.x < 256 {
                before = counts[[row, own_digit]];
            }
            before = before.block_prefix_sum() - before;
        }
        if thread_idx.x < 256 {
            let mut sum = start;
            for warp in unroll(0..WARPS) {
                let of_warp = of_warps[[warp, own_digit]];
                of_warps[[warp, own_digit]] = sum;
                sum += of_warp;
            }
            if tile > 0 {
                before += look_back(state, row * tiles + tile - 1, own_digit);
            }
            state.store_relaxed([row * tiles + tile, own_digit], (before + count) | 0x80000000);
            starts[[own_digit]] = before - start;
        }
        barrier();
        let valid = TILE.min(N - tile * TILE);
        for i in unroll(0..ITEMS) {
            ranks[i] = of_warps[[warp_id(), (ranks[i] >> 16) as usize % 256]] + (ranks[i] & 0xffff);
            held[[ranks[i] as usize % TILE]] = own[i];
        }
        barrier();
        let mut bound = [0u32; ITEMS];
        for i in unroll(0..ITEMS) {
            let at = i * THREADS + thread_idx.x;
            bound[i] = starts[[digit_of(held[[at]], flip, shift) as usize]] + at as u32;
            let goal = bound[i] as usize;
            if at < valid && row < A && goal < B {
                out[[row, goal]] = held[[at]];
            }
        }
        if PLACES > 0 {
            let mut held = shared::<u32>(row_major([TILE]));
            for i in unroll(0..ITEMS) {
                let at = first + i * 32;
                let mut place = at as u32;
                if PLACES == 2 {
                    if at < D && row < C {
                        place = places[[row, at]];
                    }
                }
                held[[ranks[i] as usize % TILE]] = place;
            }
            barrier();
            for i in unroll(0..ITEMS) {
                let (at, goal) = (i * THREADS + thread_idx.x, bound[i] as usize);
                if at < valid && row < E && goal < F {
                    to[[row, goal]] = held[[at]];
                }
            }
        }
    }
}
