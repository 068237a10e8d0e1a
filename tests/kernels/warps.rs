//! What a warp makes together of every type, warps that hand something on, atomic exchanges, fences.

use crate::support::case::{Case, Outcome, around};
use crate::support::data::integers;
use layout_compiler::Elem;
use layout_cuda::{Element, LaunchConfig, bf16, f16, tiled_kernel};

/// Sums, extremes and bits of each warp, of integers of every size; which lanes have the same value.
#[tiled_kernel(T = [u8, i8, u16, i16, u32, i32, u64, i64], block = [64], grid = [N.div_ceil(64)])]
pub fn of_warps<T, const N: usize>(
    x: &LayoutTensor<T, RowMajor<N>>,
    y: &mut LayoutTensor<T, RowMajor<N, 7>>,
    same: &mut LayoutTensor<u32, RowMajor<N, 2>>,
) {
    let own = x.tile([64], [block_idx.x])[[thread_idx.x]];
    let (sum, least, most) = (own.warp_sum(), warp_min(own), own.warp_max());
    let (all, some, odd) = (warp_and(own), own.warp_or(), own.warp_xor());
    let upto = own.warp_prefix_sum();
    let (equal, one) = (match_any(own), match_all(own));
    let i = block_idx.x * 64 + thread_idx.x;
    if i < N {
        y[[i, 0]] = sum;
        y[[i, 1]] = least;
        y[[i, 2]] = most;
        y[[i, 3]] = all;
        y[[i, 4]] = some;
        y[[i, 5]] = odd;
        y[[i, 6]] = upto;
        same[[i, 0]] = equal;
        same[[i, 1]] = one as u32;
    }
}

/// Lanes with the same bits, of the types that are no integers.
#[tiled_kernel(T = [f64, f32, f16, bf16, bool], block = [32], grid = [1])]
pub fn same_bits<T>(x: &LayoutTensor<T, RowMajor<32>>, same: &mut LayoutTensor<u32, RowMajor<32>>) {
    let lane = lane_id();
    let all = match_all(x[[lane]]);
    same[[lane]] = match_any(x[[lane]]) + all as u32;
}

/// The first warp makes rows, the second takes them, two ahead: each only counts where the other waits.
#[tiled_kernel(block = [64], grid = [1])]
pub fn passed_on<const N: usize>(x: &LayoutTensor<i32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>) {
    let mut held = shared::<i32>(row_major([2, 32]));
    let lane = lane_id();
    let rounds = N.div_ceil(32);
    if warp_id() == 0 {
        for round in 0..rounds {
            if round >= 2 {
                named_barrier(3 + round % 2, 64);
            }
            held[[round % 2, lane]] = x.tile([32], [round])[[lane]] + 1;
            named_barrier_arrive(1 + round % 2, 64);
        }
    } else {
        for round in 0..rounds {
            named_barrier(1 + round % 2, 64);
            let taken = held[[round % 2, 31 - lane]];
            if round + 2 < rounds {
                named_barrier_arrive(3 + round % 2, 64);
            }
            let i = round * 32 + 31 - lane;
            if i < N {
                y[[i]] = taken;
            }
        }
    }
}

/// A number that blocks change one after the other, behind a lock.
#[tiled_kernel(block = [32])]
pub fn locked(lock: &mut LayoutTensor<u16, RowMajor<1>>, state: &mut LayoutTensor<i32, RowMajor<2>>) {
    if thread_idx.x == 0 {
        while lock.atomic_compare_exchange([0], 0, 1) != 0 {}
        fence_device();
        state[[0]] += 1;
        state[[1]] += state[[0]];
        fence_device();
        lock.atomic_compare_exchange([0], 1, 0);
    }
}

/// The block that comes last adds up what the others have written.
#[tiled_kernel(block = [64], grid = [N.div_ceil(64)])]
pub fn last_block<const N: usize, const BLOCKS: usize>(
    x: &LayoutTensor<i32, RowMajor<N>>,
    parts: &mut LayoutTensor<i32, RowMajor<BLOCKS>>,
    drawn: &mut LayoutTensor<u32, RowMajor<1>>,
    y: &mut LayoutTensor<i32, RowMajor<1>>,
) {
    let sum = x.tile([64], [block_idx.x])[[thread_idx.x]].block_sum();
    if thread_idx.x == 0 && block_idx.x < BLOCKS {
        parts[[block_idx.x]] = sum;
        fence_device();
        if drawn.atomic_add([0], 1) as usize == BLOCKS - 1 {
            fence_device();
            let mut all = 0;
            for block in 0..BLOCKS {
                all += parts[[block]];
            }
            y[[0]] = all;
        }
    }
}

/// Rounds of one launch, each over the whole grid: what the round before has written is read.
#[tiled_kernel(cooperative = true, block = [64], grid = [N.div_ceil(64)])]
pub fn rounds_of_the_grid<const N: usize>(x: &mut LayoutTensor<i32, RowMajor<2, N>>, rounds: usize) {
    let i = block_idx.x * 64 + thread_idx.x;
    for round in 0..rounds {
        let from = round % 2;
        if i < N {
            x[[1 - from, i]] = x[[from, i]] + x[[from, (i + 65) % N]];
        }
        grid_barrier();
    }
}

/// Exchanges of every type that has them, in shared and in global memory.
#[tiled_kernel(T = [i32, u32, f32, i64, u64, f64], block = [32], grid = [1])]
pub fn exchanged<T>(
    x: &LayoutTensor<T, RowMajor<32>>,
    y: &mut LayoutTensor<T, RowMajor<4>>,
    before: &mut LayoutTensor<T, RowMajor<4>>,
) {
    let mut held = shared::<T>(row_major([1]));
    if thread_idx.x == 0 {
        held[[0]] = x[[0]];
        before[[0]] = y.atomic_exchange([0], x[[1]]);
        before[[1]] = y.system_scope().atomic_exchange([1], x[[2]]);
        before[[2]] = held.block_scope().atomic_exchange([0], x[[3]]);
        before[[3]] = held.atomic_exchange([0], x[[4]]);
        y[[3]] = held[[0]];
    }
}

/// Exchanges where the expected value is found, and where it is not.
#[tiled_kernel(
    T = [u16, i16, f16, bf16, i32, u32, f32, i64, u64, f64],
    block = [32], grid = [1],
)]
pub fn compared<T>(
    x: &LayoutTensor<T, RowMajor<32>>,
    y: &mut LayoutTensor<T, RowMajor<4>>,
    before: &mut LayoutTensor<T, RowMajor<4>>,
) {
    if thread_idx.x == 0 {
        before[[0]] = y.atomic_compare_exchange([0], x[[0]], x[[1]]);
        before[[1]] = y.system_scope().atomic_compare_exchange([1], x[[1]], x[[2]]);
        before[[2]] = y.block_scope().atomic_compare_exchange([2], x[[2]], T::ONE);
        before[[3]] = y.atomic_compare_exchange([3], T::ZERO, x[[3]]);
    }
}

/// A case of `of_warps` with one element type.
macro_rules! of_warps_of {
    ($T:ty, $elem:ident) => {
        Case::new(&of_warps::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            // Every other warp has one value in all lanes.
            let random = integers(n, 6, 9);
            let value = |i: usize| if i / 32 % 2 == 1 { -77 } else { random[i] as i64 * 29 };
            let x: Vec<$T> = (0..n).map(|i| value(i) as $T).collect();
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output::<$T, 2>([n, 7])?);
            let mut same = run.output::<u32, 2>([n, 2])?;
            let (config, stream) = (run.config(), run.stream());
            of_warps::launch_with(config, &stream, &on_x.view()?, &mut y.view_mut()?, &mut same.view_mut()?)?;
            let (mut wanted, mut lanes) = (Vec::new(), Vec::new());
            for i in 0..n {
                let warp: Vec<$T> =
                    (i / 32 * 32..i / 32 * 32 + 32).map(|i| x.get(i).copied().unwrap_or(0)).collect();
                let fold = |of: fn($T, $T) -> $T| warp.iter().copied().reduce(of).unwrap_or(0);
                wanted.extend([
                    fold(<$T>::wrapping_add),
                    fold(Ord::min),
                    fold(Ord::max),
                    fold(|a, b| a & b),
                    fold(|a, b| a | b),
                    fold(|a, b| a ^ b),
                    warp[..=i % 32].iter().fold(0, |sum: $T, x| sum.wrapping_add(*x)),
                ]);
                let equal =
                    (0..32).filter(|lane| warp[*lane] == x[i]).fold(0u32, |all, lane| all | 1 << lane);
                lanes.extend([equal, u32::from(equal == u32::MAX)]);
            }
            Ok(Outcome::exact(y.read()?, wanted).and(Outcome::exact(same.read()?, lanes)))
        })
        .of(Elem::$elem)
    };
}

/// A case of `same_bits` with one element type.
fn same_bits_of<T: Element>(
    run: &crate::support::case::Run<'_>,
    value: fn(usize) -> T,
) -> Result<Outcome, layout_cuda::Error> {
    let x: Vec<T> = (0..32).map(value).collect();
    let (on_x, mut same) = (run.tensor(&x, [32])?, run.output::<u32, 1>([32])?);
    same_bits::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut same.view_mut()?)?;
    let bits: Vec<u64> = x.iter().map(|value| Element::to_bits(*value)).collect();
    let all = bits.iter().all(|bits_of_one| *bits_of_one == bits[0]);
    let lanes = |own: u64| (0..32).filter(|lane| bits[*lane] == own).fold(0u32, |all, lane| all | 1 << lane);
    Ok(Outcome::exact(same.read()?, bits.iter().map(|own| lanes(*own).wrapping_add(u32::from(all)))))
}

/// Cases of `exchanged` and `compared` with one element type.
macro_rules! exchanges_of {
    ($kernel:ident, $T:ty, $elem:ident, $from:expr) => {
        Case::new(&$kernel::DEFINITION, vec![[0; 3]], |run| {
            let from: fn(i8) -> $T = $from;
            let x: Vec<$T> = (0..32i8).map(|i| from(i + 2)).collect();
            let start = [x[0], x[5], x[2], x[7]];
            let (on_x, mut y) = (run.tensor(&x, [32])?, run.tensor(&start, [4])?);
            let mut before = run.output::<$T, 1>([4])?;
            let (config, stream) = (run.config(), run.stream());
            $kernel::launch_with(
                config,
                &stream,
                &on_x.view()?,
                &mut y.view_mut()?,
                &mut before.view_mut()?,
            )?;
            let (found, seen) = match stringify!($kernel) {
                "exchanged" => ([x[1], x[2], x[2], x[4]], [x[0], x[5], x[0], x[3]]),
                // The first and the third are what was expected.
                _ => ([x[1], x[5], from(1), x[7]], start),
            };
            let bits = |values: Vec<$T>| values.into_iter().map(|value| Element::to_bits(value) as u32);
            let outcome = Outcome::exact(bits(y.read()?).collect::<Vec<_>>(), bits(found.to_vec()));
            Ok(outcome.and(Outcome::exact(bits(before.read()?).collect::<Vec<_>>(), bits(seen.to_vec()))))
        })
        .of(Elem::$elem)
    };
}

/// The cases of this file.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        of_warps_of!(u8, U8),
        of_warps_of!(i8, I8),
        of_warps_of!(u16, U16),
        of_warps_of!(i16, I16),
        of_warps_of!(u32, U32),
        of_warps_of!(i32, I32),
        of_warps_of!(u64, U64),
        of_warps_of!(i64, I64),
        Case::new(&same_bits::DEFINITION, vec![[0; 3]], |run| {
            same_bits_of::<f64>(run, |i| [0.0, -0.0, 1e300][i % 3])
        })
        .of(Elem::F64),
        Case::new(&same_bits::DEFINITION, vec![[0; 3]], |run| same_bits_of::<f32>(run, |_| 2.5))
            .of(Elem::F32),
        Case::new(&same_bits::DEFINITION, vec![[0; 3]], |run| {
            same_bits_of::<f16>(run, |i| f16::from_f32((i / 5) as f32 - 3.0))
        })
        .of(Elem::F16),
        Case::new(&same_bits::DEFINITION, vec![[0; 3]], |run| {
            same_bits_of::<bf16>(run, |i| bf16::from_f32((i % 7) as f32))
        })
        .of(Elem::Bf16),
        Case::new(&same_bits::DEFINITION, vec![[0; 3]], |run| same_bits_of::<bool>(run, |i| i % 5 == 0))
            .of(Elem::Bool),
        Case::new(&passed_on::DEFINITION, around(96), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let (on_x, mut y) = (run.tensor(&x, [n])?, run.output::<i32, 1>([n])?);
            passed_on::launch_with(run.config(), &run.stream(), &on_x.view()?, &mut y.view_mut()?)?;
            Ok(Outcome::exact(y.read()?, x.iter().map(|x| x + 1)))
        }),
        Case::new(&locked::DEFINITION, [1, 2, 33].map(|n| [n, 1, 1]).to_vec(), |run| {
            let [n, ..] = run.size;
            let (mut lock, mut state) = (run.tensor(&[0u16], [1])?, run.tensor(&[0i32, 0], [2])?);
            let config = LaunchConfig { grid: Some([n as u32, 1, 1]), ..run.config() };
            locked::launch_with(config, &run.stream(), &mut lock.view_mut()?, &mut state.view_mut()?)?;
            let n = n as i32;
            Ok(Outcome::exact(state.read()?, [n, n * (n + 1) / 2]).and(Outcome::exact(lock.read()?, [0u16])))
        }),
        Case::new(&rounds_of_the_grid::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let first: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let start = [first.clone(), vec![0; n]].concat();
            let mut x = run.tensor(&start, [2, n])?;
            rounds_of_the_grid::launch_with(run.config(), &run.stream(), &mut x.view_mut()?, 3)?;
            let mut rows = [first, vec![0; n]];
            for round in 0..3 {
                let from = &rows[round % 2];
                rows[1 - round % 2] = (0..n).map(|i| from[i] + from[(i + 65) % n]).collect();
            }
            Ok(Outcome::exact(x.read()?, rows.concat()))
        }),
        Case::new(&last_block::DEFINITION, around(64), |run| {
            let [n, ..] = run.size;
            let x: Vec<i32> = integers(n, 3, 100).iter().map(|v| *v as i32).collect();
            let blocks = n.div_ceil(64);
            let (on_x, mut parts) = (run.tensor(&x, [n])?, run.output::<i32, 1>([blocks])?);
            let (mut drawn, mut y) = (run.tensor(&[0u32], [1])?, run.tensor(&[0i32], [1])?);
            let (config, stream) = (run.config(), run.stream());
            let (mut on_parts, mut on_drawn) = (parts.view_mut()?, drawn.view_mut()?);
            last_block::launch_with(
                config,
                &stream,
                &on_x.view()?,
                &mut on_parts,
                &mut on_drawn,
                &mut y.view_mut()?,
            )?;
            Ok(Outcome::exact(y.read()?, [x.iter().sum::<i32>()]))
        }),
    ];
    cases.extend([
        exchanges_of!(exchanged, i32, I32, |i| -i32::from(i)),
        exchanges_of!(exchanged, u32, U32, |i| i as u32),
        exchanges_of!(exchanged, f32, F32, f32::from),
        exchanges_of!(exchanged, i64, I64, |i| i64::from(i)),
        exchanges_of!(exchanged, u64, U64, |i| i as u64),
        exchanges_of!(exchanged, f64, F64, f64::from),
        exchanges_of!(compared, u16, U16, |i| i as u16),
        exchanges_of!(compared, i16, I16, i16::from),
        exchanges_of!(compared, f16, F16, |i| f16::from_f32(i.into())),
        exchanges_of!(compared, bf16, Bf16, |i| bf16::from_f32(i.into())),
        exchanges_of!(compared, i32, I32, i32::from),
        exchanges_of!(compared, u32, U32, |i| i as u32),
        exchanges_of!(compared, f32, F32, f32::from),
        exchanges_of!(compared, i64, I64, i64::from),
        exchanges_of!(compared, u64, U64, |i| i as u64),
        exchanges_of!(compared, f64, F64, f64::from),
    ]);
    cases
}
