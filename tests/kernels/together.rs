//! Threads together: shuffles, votes, reductions of warps and blocks, atomic operations.

use crate::support::case::{Case, Outcome, around, output_of};
use crate::support::data::{Operand, floats, integers, untouched};
use layout_cuda::{ParamValue, tiled_kernel};

/// Every shuffle, as digits of one number: the lane that each lane reads.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn shuffles<const N: usize>(x: &LayoutTensor<i32, RowMajor<N>>, y: &mut LayoutTensor<i64, RowMajor<N>>) {
    let i = block_idx.x * 64 + thread_idx.x;
    let own = x.tile([64], [block_idx.x])[[thread_idx.x]];
    let mut all: i64 = 0;
    for n in 1..4 {
        all = all * 100 + own.shuffle_up(n).cast::<i64>();
        all = all * 100 + own.shuffle_down(n).cast::<i64>();
    }
    all = all * 100 + own.shuffle_xor(7).cast::<i64>();
    all = all * 100 + own.shuffle(31 - lane_id()).cast::<i64>();
    if i < N {
        y[[i]] = all;
    }
}

/// Reductions of each warp and each block, and votes.
#[tiled_kernel(T = [f32, f64, i32, u32, i64], WARPS = 3, block = [WARPS * 32], grid = [N.div_ceil(WARPS * 32)])]
pub fn reductions<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<8, N>>,
    votes: &mut LayoutTensor<u32, RowMajor<N>>,
    limit: T,
) {
    let i = block_idx.x * (WARPS * 32) + thread_idx.x;
    let own = x.tile([WARPS * 32], [block_idx.x])[[thread_idx.x]];
    let (sum, most, least) = (own.warp_sum(), own.warp_max(), own.warp_min());
    let before = own.warp_prefix_sum();
    let (of_block, most_of_block, least_of_block) = (own.block_sum(), own.block_max(), own.block_min());
    let below = ballot(own < limit);
    let (some, each) = (any(own < limit), all(own < limit));
    if i < N {
        y[[0, i]] = sum;
        y[[1, i]] = most;
        y[[2, i]] = least;
        y[[3, i]] = before;
        y[[4, i]] = of_block;
        y[[5, i]] = most_of_block;
        y[[6, i]] = least_of_block;
        y[[7, i]] = if some && !each { own } else { limit };
        votes[[i]] = below;
    }
}

/// Counts of values modulo `BINS`, and the largest and the smallest value of each bin: by block in shared memory, then
/// over blocks in global memory.
#[tiled_kernel(T = [i32, u32, f32], BINS = 16, block = [128], grid = [N.div_ceil(128)])]
pub fn bins<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    counts: &mut LayoutTensor<T, RowMajor<3, BINS>>,
    places: &mut LayoutTensor<u32, RowMajor<N>>,
    tickets: &mut LayoutTensor<u32, RowMajor<1>>,
) {
    let mut own = shared::<T>(row_major([3, BINS]));
    let i = block_idx.x * 128 + thread_idx.x;
    let global = counts.tile([3, BINS], [0, 0]);
    if thread_idx.x < BINS {
        own[[0, thread_idx.x]] = (0i32).cast::<T>();
        own[[1, thread_idx.x]] = (0i32).cast::<T>();
        own[[2, thread_idx.x]] = (1000i32).cast::<T>();
    }
    barrier();
    if i < N {
        let value = x[[i]];
        let bin = value.cast::<i32>() as usize % BINS;
        own.atomic_add([0, bin], (1i32).cast::<T>());
        own.atomic_max([1, bin], value);
        own.atomic_min([2, bin], value);
        places[[i]] = tickets.atomic_add([0], 1);
    }
    barrier();
    if thread_idx.x < BINS {
        global.atomic_add([0, thread_idx.x], own[[0, thread_idx.x]]);
        global.atomic_max([1, thread_idx.x], own[[1, thread_idx.x]]);
        global.atomic_min([2, thread_idx.x], own[[2, thread_idx.x]]);
    }
}

/// Bits that threads keep, set and flip together, in shared and in global memory; and what was there before.
#[tiled_kernel(T = [i32, u32, i64, u64], block = [64], grid = [N.div_ceil(64)])]
pub fn bits_together<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    bits: &mut LayoutTensor<T, RowMajor<3>>,
    own: &mut LayoutTensor<T, RowMajor<N>>,
    before: &mut LayoutTensor<T, RowMajor<N>>,
) {
    let mut block = shared::<T>(row_major([3]));
    let i = block_idx.x * 64 + thread_idx.x;
    if thread_idx.x < 3 {
        block[[thread_idx.x]] = select(thread_idx.x == 0, (-1i32).cast::<T>(), (0i32).cast::<T>());
    }
    barrier();
    if i < N {
        let value = x[[i]];
        block.atomic_and([0], value);
        block.atomic_or([1], value);
        block.atomic_xor([2], value);
        let first = own.atomic_xor([i], value);
        let second = own.atomic_and([i], first);
        before[[i]] = first ^ second ^ own.atomic_or([i], value);
    }
    barrier();
    if thread_idx.x == 0 {
        bits.atomic_and([0], block[[0]]);
        bits.atomic_or([1], block[[1]]);
        bits.system_scope().atomic_xor([2], block[[2]]);
    }
}

/// The sum of all threads of the block up to each.
#[tiled_kernel(WARPS = [1, 3], block = [WARPS * 32], grid = [N.div_ceil(WARPS * 32)])]
pub fn block_prefix<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    let upto = x.tile([WARPS * 32], [block_idx.x])[[thread_idx.x]].block_prefix_sum();
    let i = block_idx.x * (WARPS * 32) + thread_idx.x;
    if i < N {
        y[[i]] = upto;
    }
}

/// Each warp turns its own 32 elements round, through shared memory.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn turned_by_warps<const N: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    y: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    let mut held = shared::<i32>(row_major([2, 32]));
    held[[warp_id(), lane_id()]] = x.tile([64], [block_idx.x])[[thread_idx.x]];
    sync_warp();
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        y[[i]] = held[[warp_id(), 31 - lane_id()]];
    }
}

/// The sum of all blocks up to each: each block hands its sum on to the next.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn handed_on<const N: usize, const BLOCKS: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    sums: &mut LayoutTensor<i32, RowMajor<BLOCKS>>,
    flags: &mut LayoutTensor<u32, RowMajor<BLOCKS>>,
) {
    let own = x.tile([64], [block_idx.x])[[thread_idx.x]];
    let of_block = own.block_sum();
    if thread_idx.x == 0 && block_idx.x < BLOCKS {
        let mut before = 0i32;
        if block_idx.x > 0 {
            while flags.load_acquire([block_idx.x - 1]) == 0 {}
            before = sums[[block_idx.x - 1]];
        }
        sums[[block_idx.x]] = before + of_block;
        flags.store_release([block_idx.x], 1);
    }
}

/// Sums of each block, whose second warp waits for the first at the block's scope; sum, largest and smallest of all at
/// the system's.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn scoped<const N: usize, const BLOCKS: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    sums: &mut LayoutTensor<i32, RowMajor<BLOCKS>>,
    flags: &mut LayoutTensor<u32, RowMajor<BLOCKS>>,
    all: &mut LayoutTensor<i32, RowMajor<3>>,
    extremes: &mut LayoutTensor<f32, RowMajor<2>>,
) {
    let mut seen = shared::<f32>(row_major([1]));
    if thread_idx.x == 0 {
        seen.block_scope().store_relaxed([0], 0.0);
    }
    barrier();
    let own = x.tile([64], [block_idx.x])[[thread_idx.x]];
    seen.block_scope().atomic_max([0], own.cast::<f32>());
    let of_warp = own.warp_sum();
    if lane_id() == 0 && block_idx.x < BLOCKS {
        if warp_id() == 0 {
            sums[[block_idx.x]] = of_warp;
            flags.block_scope().store_release([block_idx.x], 1);
        } else {
            while flags.block_scope().load_acquire([block_idx.x]) == 0 {}
            sums[[block_idx.x]] += of_warp;
        }
        all.system_scope().atomic_add([0], of_warp);
    }
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        all.system_scope().atomic_max([1], own);
        all.system_scope().atomic_min([2], own);
        extremes.system_scope().atomic_min([1], own.cast::<f32>());
    }
    barrier();
    if thread_idx.x == 0 {
        extremes.system_scope().atomic_max([0], seen.block_scope().load_relaxed([0]));
    }
}

/// A case of `bins` with one element type.
macro_rules! bins_of {
    ($T:ty, $elem:ident) => {
        Case::new(&bins::DEFINITION, around(128), |run| {
            let [n, ..] = run.size;
            let x: Vec<$T> = integers(n, 5, 100).iter().map(|v| v.unsigned_abs() as $T).collect();
            let start = [vec![0 as $T; 32], vec![1000 as $T; 16]].concat();
            let (on_x, mut counts) = (run.tensor(&x, [n])?, run.tensor(&start, [3, 16])?);
            let (mut places, mut tickets) = (run.output::<u32, 1>([n])?, run.tensor(&[0u32], [1])?);
            let (mut on_counts, mut on_places) = (counts.view_mut()?, places.view_mut()?);
            let (config, stream) = (run.config(), run.stream());
            let on_tickets = &mut tickets.view_mut()?;
            bins::launch_with(config, &stream, &on_x.view()?, &mut on_counts, &mut on_places, on_tickets)?;
            let mut wanted = start;
            for value in &x {
                let bin = *value as usize % 16;
                wanted[bin] += 1 as $T;
                wanted[16 + bin] = wanted[16 + bin].max(*value);
                wanted[32 + bin] = wanted[32 + bin].min(*value);
            }
            // Whoever comes first: each ticket is drawn once.
            let mut drawn = places.read()?;
            drawn.sort_unstable();
            let all = Outcome::exact(drawn, 0..n as u32);
            Ok(Outcome::exact(counts.read()?, wanted).and(all))
        })
        .of(layout_compiler::Elem::$elem)
    };
}

/// A case of `bits_together` with one element type.
macro_rules! bits_of {
    ($T:ty, $elem:ident) => {
        Case::new(&bits_together::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<$T> =
                integers(n, 5, 1000).iter().map(|v| v.wrapping_mul(0x0123_4567_89ab) as $T).collect();
            let (start, held) = ([!0 as $T, 1, 0], vec![77 as $T; n]);
            let (on_x, mut bits) = (run.tensor(&x, [n])?, run.tensor(&start, [3])?);
            let (mut own, mut before) = (run.tensor(&held, [n])?, run.output::<$T, 1>([n])?);
            let (mut on_bits, mut on_own, mut on_before) =
                (bits.view_mut()?, own.view_mut()?, before.view_mut()?);
            let (config, stream) = (run.config(), run.stream());
            bits_together::launch_with(
                config,
                &stream,
                &on_x.view()?,
                &mut on_bits,
                &mut on_own,
                &mut on_before,
            )?;
            let all = x.iter().fold(start, |[and, or, xor], x| [and & x, or | x, xor ^ x]);
            let steps = |x: &$T| [77 as $T, 77 ^ x, (77 ^ x) & 77];
            let own = Outcome::exact(own.read()?, x.iter().map(|x| steps(x)[2] | x));
            let before =
                Outcome::exact(before.read()?, x.iter().map(|x| steps(x).into_iter().fold(0, |a, b| a ^ b)));
            Ok(Outcome::exact(bits.read()?, all).and(own).and(before))
        })
        .of(layout_compiler::Elem::$elem)
    };
}

/// A case of `reductions` with one element type. The sums are of small integers, so that they are exact in each type.
macro_rules! reductions_of {
    ($T:ty, $elem:ident) => {
        Case::new(&reductions::DEFINITION, around(96), |run| {
            let [n, ..] = run.size;
            let x: Vec<$T> = integers(n, 4, 100).iter().map(|v| v.unsigned_abs() as $T).collect();
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output::<$T, 2>([8, n])?);
            let mut votes = run.output::<u32, 1>([n])?;
            let limit = 50 as $T;
            let (mut on_y, mut on_votes) = (y.view_mut()?, votes.view_mut()?);
            let (config, stream) = (run.config(), run.stream());
            reductions::launch_with(config, &stream, &on_x.view()?, &mut on_y, &mut on_votes, limit)?;
            let value = |i: usize| x.get(i).copied().unwrap_or(0 as $T);
            let sum = |values: &[$T]| values.iter().fold(0 as $T, |a, b| a + b);
            let most = |values: &[$T]| values.iter().fold(values[0], |a, b| a.max(*b));
            let least = |values: &[$T]| values.iter().fold(values[0], |a, b| a.min(*b));
            let group = |i: usize, size: usize| {
                (i / size * size..i / size * size + size).map(value).collect::<Vec<$T>>()
            };
            let mut wanted = vec![0 as $T; 8 * n];
            let mut bits = Vec::new();
            for i in 0..n {
                let (warp, block) = (group(i, 32), group(i, 96));
                let below = (0..32).filter(|lane| warp[*lane] < limit).map(|lane| 1u32 << lane).sum::<u32>();
                let mixed = below != 0 && below != u32::MAX;
                let row = [
                    sum(&warp),
                    most(&warp),
                    least(&warp),
                    sum(&warp[..=i % 32]),
                    sum(&block),
                    most(&block),
                    least(&block),
                    if mixed { value(i) } else { limit },
                ];
                row.into_iter().enumerate().for_each(|(at, value)| wanted[at * n + i] = value);
                bits.push(below);
            }
            Ok(Outcome::exact(y.read()?, wanted).and(Outcome::exact(votes.read()?, bits)))
        })
        .of(layout_compiler::Elem::$elem)
    };
}

/// The cases of this file.
/// Each warp has eight rows moved by TMA, which one of its lanes asks.
#[tiled_kernel(arch = "sm_90a", WARPS = 2, block = [WARPS * 32], grid = [M.div_ceil(8 * WARPS)])]
pub fn elected<const M: usize>(
    x: &LayoutTensor<f32, RowMajor<M, 32>>,
    y: &mut LayoutTensor<f32, RowMajor<M, 32>>,
) {
    let held = shared::<f32>(row_major([WARPS, 8, 32]));
    let barriers = mbarriers(WARPS, 1);
    let at = block_idx.x * WARPS + warp_id();
    let (mut rows, full) = (held.slice(warp_id()), barriers.at(warp_id()));
    barrier();
    if elect_one() {
        full.arrive_expect(rows.bytes());
        tma_load(&mut rows, &x.tile([8, 32], [at, 0]), full);
        full.wait(0);
        tma_store(&mut y.tile([8, 32], [at, 0]), &rows);
        bulk_commit_group();
        bulk_wait_group(0);
    }
}

pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&elected::DEFINITION, [1, 7, 8, 9, 16, 17, 40].map(|m| [m, 1, 1]).to_vec(), |run| {
            let [m, ..] = run.size;
            let x = floats(m * 32, 5);
            // TMA wants addresses of 16 bytes.
            let rows = |values: &[f32]| Operand::new(run.device, values, 4 * run.skew, [m, 32], [32, 1]);
            let (on_x, mut y) = (rows(&x)?, rows(&vec![untouched(); m * 32])?);
            elected::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, x))
        }),
        Case::new(&shuffles::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| v.unsigned_abs() as i32 % 100).collect();
            let y = output_of!(run, shuffles(x: [n]) -> [n]);
            let wanted = (0..n).map(|i| {
                let (warp, lane) = (i / 32 * 32, i % 32);
                let of = |lane: usize| i64::from(x.get(warp + lane).copied().unwrap_or(0));
                let mut parts = Vec::new();
                for count in 1..4 {
                    parts.push(of(lane.checked_sub(count).unwrap_or(lane)));
                    parts.push(of(if lane + count < 32 { lane + count } else { lane }));
                }
                parts.extend([of(lane ^ 7), of(31 - lane)]);
                parts.into_iter().fold(0, |all, part| all * 100 + part)
            });
            Ok(Outcome::exact(y, wanted))
        }),
        Case::new(&block_prefix::DEFINITION, around(96), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let y = output_of!(run, block_prefix(x: [n]) -> [n]);
            let block = if run.set.get("WARPS") == Some(ParamValue::Int(1)) { 32 } else { 96 };
            Ok(Outcome::exact(y, (0..n).map(|i| x[i / block * block..=i].iter().sum::<i32>())))
        }),
        Case::new(&turned_by_warps::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let y = output_of!(run, turned_by_warps(x: [n]) -> [n]);
            let turned = |i: usize| x.get(i / 32 * 32 + 31 - i % 32).copied().unwrap_or(0);
            Ok(Outcome::exact(y, (0..n).map(turned)))
        }),
        Case::new(&handed_on::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let blocks = n.div_ceil(64);
            let (on_x, mut sums) = (run.tensor(&x, [n])?, run.output::<i32, 1>([blocks])?);
            let mut flags = run.tensor(&vec![0u32; blocks], [blocks])?;
            let (config, stream) = (run.config(), run.stream());
            let (mut on_sums, mut on_flags) = (sums.view_mut()?, flags.view_mut()?);
            handed_on::launch_with(config, &stream, &on_x.view()?, &mut on_sums, &mut on_flags)?;
            let upto = |block: usize| x[..((block + 1) * 64).min(n)].iter().sum::<i32>();
            let set = Outcome::exact(flags.read()?, vec![1u32; blocks]);
            Ok(Outcome::exact(sums.read()?, (0..blocks).map(upto)).and(set))
        }),
        Case::new(&scoped::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let blocks = n.div_ceil(64);
            let (on_x, mut sums) = (run.tensor(&x, [n])?, run.output::<i32, 1>([blocks])?);
            let mut flags = run.tensor(&vec![0u32; blocks], [blocks])?;
            let (mut all, mut extremes) = (run.tensor(&[0i32; 3], [3])?, run.tensor(&[0.0f32; 2], [2])?);
            let (config, stream) = (run.config(), run.stream());
            let (mut on_sums, mut on_flags) = (sums.view_mut()?, flags.view_mut()?);
            let (mut on_all, mut on_extremes) = (all.view_mut()?, extremes.view_mut()?);
            scoped::launch_with(
                config,
                &stream,
                &on_x.view()?,
                &mut on_sums,
                &mut on_flags,
                &mut on_all,
                &mut on_extremes,
            )?;
            let of = |block: usize| x[block * 64..((block + 1) * 64).min(n)].iter().sum::<i32>();
            let most = x.iter().fold(0, |most, x| most.max(*x));
            let least = x.iter().fold(0, |least, x| least.min(*x));
            let found = Outcome::exact(sums.read()?, (0..blocks).map(of));
            let found = found.and(Outcome::exact(all.read()?, [x.iter().sum(), most, least]));
            Ok(found.and(Outcome::exact(extremes.read()?, [most as f32, least as f32])))
        }),
        reductions_of!(f32, F32),
        reductions_of!(f64, F64),
        reductions_of!(i32, I32),
        reductions_of!(u32, U32),
        reductions_of!(i64, I64),
        bits_of!(i32, I32),
        bits_of!(u32, U32),
        bits_of!(i64, I64),
        bits_of!(u64, U64),
        bins_of!(i32, I32),
        bins_of!(u32, U32),
        bins_of!(f32, F32),
    ]
}
