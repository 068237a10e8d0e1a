//! Integers: a pass of a radix sort, counts, a hash table, sparse rows, cells that live.

use crate::support::case::{Case, Outcome};
use crate::support::data::{floats, noise};
use layout_cuda::tiled_kernel;

/// A pass of a radix sort of one block: each key and its place, by eight bits from `shift` on, stable.
#[tiled_kernel(THREADS = 256, ITEMS = 4, block = [THREADS], grid = [1])]
pub fn sorted_by_digit<const N: usize>(
    shift: u32,
    keys: &LayoutTensor<u32, RowMajor<N>>,
    out: &mut LayoutTensor<u32, RowMajor<N>>,
) {
    const WARPS: usize = THREADS / 32;
    let (warp, lane) = (warp_id(), lane_id() as u32);
    let mut counts = shared::<u32>(row_major([WARPS, 256]));
    let mut starts = shared::<u32>(row_major([256]));
    let mut own = [(0u32, 0u32); ITEMS];
    for digit in (thread_idx.x..WARPS * 256).step_by(THREADS) {
        counts[[digit / 256, digit % 256]] = 0;
    }
    barrier();
    for k in 0..ITEMS {
        let at = warp * 32 * ITEMS + k * 32 + lane_id();
        let there = at < N;
        let key = if there { keys[[at]] } else { u32::MAX };
        let digit = (key >> shift) & 0xff;
        // Those that are not there come last of all: they are no digit's.
        let same = match_any(if there { digit } else { 256 });
        let before = (same & ((1 << lane) - 1)).count_ones();
        let count = counts[[warp, digit as usize]];
        sync_warp();
        if there && before == 0 {
            counts[[warp, digit as usize]] = count + same.count_ones();
        }
        sync_warp();
        own[k] = (key, count + before);
    }
    barrier();
    let mut sum = 0;
    let digit = thread_idx.x;
    for w in 0..WARPS {
        let count = counts[[w, digit]];
        counts[[w, digit]] = sum;
        sum += count;
    }
    starts[[digit]] = sum.block_prefix_sum() - sum;
    barrier();
    for (k, (key, rank)) in own.into_iter().enumerate() {
        let digit = ((key >> shift) & 255) as usize;
        let to = starts[[digit]] + counts[[warp, digit]] + rank;
        if warp * 32 * ITEMS + k * 32 + lane_id() < N {
            out[[to as usize]] = key;
        }
    }
}

/// How often each value of 16 bits occurs.
#[tiled_kernel(block = [256], grid = [N.div_ceil(1024)])]
pub fn counted<const N: usize>(
    x: &LayoutTensor<u16, RowMajor<N>>,
    counts: &mut LayoutTensor<u32, RowMajor<65536>>,
) {
    for k in 0..4 {
        let at = block_idx.x * 1024 + k * 256 + thread_idx.x;
        if at < N {
            counts.atomic_add([x[[at]] as usize], 1);
        }
    }
}

/// Keys put into a table of `SLOTS` by open addressing; gives the slot of each.
#[tiled_kernel(SLOTS = 512, block = [64], grid = [N.div_ceil(64)])]
pub fn inserted<const N: usize>(
    keys: &LayoutTensor<u32, RowMajor<N>>,
    table: &mut LayoutTensor<u32, RowMajor<SLOTS>>,
    slots: &mut LayoutTensor<i32, RowMajor<N>>,
) {
    fn hash(key: u32) -> usize {
        let mut h = key.wrapping_mul(0x9e3779b1);
        h ^= h >> 15;
        (h % SLOTS as u32) as usize
    }
    let i = block_idx.x * 64 + thread_idx.x;
    if i >= N {
        return;
    }
    let key = keys[[i]];
    let mut slot = hash(key);
    let found = 'search: {
        for _ in 0..SLOTS {
            let there = table.atomic_compare_exchange([slot], u32::MAX, key);
            if there == u32::MAX || there == key {
                break 'search slot as i32;
            }
            slot = (slot + 1) % SLOTS;
        }
        -1
    };
    slots[[i]] = found;
}

/// `y = A x` of a sparse matrix by rows (CSR), a warp a row.
#[tiled_kernel(WARPS = 4, block = [32 * WARPS], grid = [M.div_ceil(WARPS)])]
pub fn sparse_rows<const M: usize, const K: usize, const NNZ: usize>(
    starts: &LayoutTensor<i32, RowMajor<{ M + 1 }>>,
    columns: &LayoutTensor<i32, RowMajor<NNZ>>,
    values: &LayoutTensor<f32, RowMajor<NNZ>>,
    x: &LayoutTensor<f32, RowMajor<K>>,
    y: &mut LayoutTensor<f32, RowMajor<M>>,
) {
    let row = block_idx.x * WARPS + warp_id();
    if row >= M {
        return;
    }
    let (begin, end) = (starts[[row]] as usize, starts[[row + 1]] as usize);
    let mut sum = 0.0;
    for k in (begin + lane_id()..end).step_by(32) {
        sum += values[[k]] * x[[columns[[k]] as usize]];
    }
    let sum = sum.warp_sum();
    if lane_id() == 0 {
        y[[row]] = sum;
    }
}

/// A step of Conway's game of life on a torus, a byte a cell.
#[tiled_kernel(T = 16, block = [T, T], grid = [N.div_ceil(T), M.div_ceil(T)])]
pub fn lived<const M: usize, const N: usize>(
    cells: &LayoutTensor<u8, RowMajor<M, N>>,
    next: &mut LayoutTensor<u8, RowMajor<M, N>>,
) {
    let (i, j) = (block_idx.y * T + thread_idx.y, block_idx.x * T + thread_idx.x);
    if i >= M || j >= N {
        return;
    }
    let mut around = 0u8;
    for di in [M - 1, 0, 1] {
        for dj in [N - 1, 0, 1] {
            if !(di == 0 && dj == 0) {
                around += cells[[(i + di) % M, (j + dj) % N]];
            }
        }
    }
    next[[i, j]] = match (cells[[i, j]], around) {
        (1, 2 | 3) | (0, 3) => 1,
        _ => 0,
    };
}

pub fn cases() -> Vec<Case> {
    vec![
        Case::new(&sorted_by_digit::DEFINITION, vec![[1, 0, 0], [777, 8, 0], [1024, 24, 0]], |run| {
            let [n, shift, _] = run.size;
            let keys: Vec<u32> = noise(n, 4).map(|bits| (bits >> 7) as u32 & 0x0f0f_3f07).collect();
            let mut out = run.output::<u32, 1>([n])?;
            let there = run.tensor(&keys, [n])?;
            let (config, stream) = (run.config(), run.stream());
            sorted_by_digit::launch_with(
                config,
                &stream,
                shift as u32,
                &there.view()?,
                &mut out.view_mut()?,
            )?;
            let mut wanted = keys;
            wanted.sort_by_key(|key| (key >> shift) & 255);
            Ok(Outcome::exact(out.read()?, wanted))
        }),
        Case::new(&counted::DEFINITION, vec![[1500, 0, 0], [1, 0, 0]], |run| {
            let [n, ..] = run.size;
            let x: Vec<u16> = noise(n, 4).map(|bits| (bits >> 9) as u16 & 0x81ff).collect();
            let mut counts = run.tensor(&vec![0u32; 65536], [65536])?;
            let there = run.tensor(&x, [n])?;
            counted::launch_with(run.config(), &run.stream(), &there.view()?, &mut counts.view_mut()?)?;
            let mut wanted = vec![0u32; 65536];
            x.iter().for_each(|x| wanted[usize::from(*x)] += 1);
            Ok(Outcome::exact(counts.read()?, wanted))
        }),
        Case::new(&inserted::DEFINITION, vec![[200, 0, 0], [1, 0, 0]], |run| {
            let [n, ..] = run.size;
            let keys: Vec<u32> = noise(n, 4).map(|bits| (bits >> 9) as u32 % 150).collect();
            let mut table = run.tensor(&vec![u32::MAX; 512], [512])?;
            let mut slots = run.output::<i32, 1>([n])?;
            let there = run.tensor(&keys, [n])?;
            inserted::launch_with(
                run.config(),
                &run.stream(),
                &there.view()?,
                &mut table.view_mut()?,
                &mut slots.view_mut()?,
            )?;
            // Which slot is whose depends on the order; each key is where its slot says, once.
            let (table, slots) = (table.read()?, slots.read()?);
            let found: Vec<u32> = slots.iter().map(|slot| table[*slot as usize]).collect();
            let held = table.iter().filter(|key| **key != u32::MAX).count();
            let mut all = keys.clone();
            all.sort_unstable();
            all.dedup();
            Ok(Outcome::exact(found, keys).and(Outcome::exact(vec![held as u32], [all.len() as u32])))
        }),
        Case::new(&sparse_rows::DEFINITION, vec![[37, 50, 0], [1, 1, 0]], |run| {
            let [m, k, _] = run.size;
            let lens: Vec<usize> = noise(m, 8).map(|bits| (bits >> 20) as usize % 80).collect();
            let starts: Vec<i32> = (0..=m).map(|row| lens[..row].iter().sum::<usize>() as i32).collect();
            let count = lens.iter().sum::<usize>();
            let columns: Vec<i32> = noise(count, 2).map(|bits| ((bits >> 20) % k as u64) as i32).collect();
            let (values, x) = (floats(count, 3), floats(k, 4));
            let mut y = run.output::<f32, 1>([m])?;
            let [starts_there, columns_there] =
                [run.tensor(&starts, [m + 1])?, run.tensor(&columns, [count])?];
            let [values_there, x_there] = [run.tensor(&values, [count])?, run.tensor(&x, [k])?];
            sparse_rows::launch_with(
                run.config(),
                &run.stream(),
                &starts_there.view()?,
                &columns_there.view()?,
                &values_there.view()?,
                &x_there.view()?,
                &mut y.view_mut()?,
            )?;
            let row = |row: usize| {
                let own = starts[row] as usize..starts[row + 1] as usize;
                own.map(|at| values[at] * x[columns[at] as usize]).sum::<f32>()
            };
            Ok(Outcome::exact(y.read()?, (0..m).map(row)))
        }),
        Case::new(&lived::DEFINITION, vec![[33, 17, 0], [3, 3, 0], [1, 40, 0]], |run| {
            let [m, n, _] = run.size;
            let cells: Vec<u8> = noise(m * n, 6).map(|bits| (bits >> 33) as u8 & 1).collect();
            let mut next = run.output::<u8, 2>([m, n])?;
            let there = run.tensor(&cells, [m, n])?;
            lived::launch_with(run.config(), &run.stream(), &there.view()?, &mut next.view_mut()?)?;
            let cell = |at: usize| {
                let (i, j) = (at / n, at % n);
                let steps = |len: usize| [len - 1, 0, 1];
                let around = steps(m).into_iter().flat_map(|di| steps(n).map(|dj| (di, dj)));
                let around = around.filter(|step| *step != (0, 0));
                let count: u8 = around.map(|(di, dj)| cells[(i + di) % m * n + (j + dj) % n]).sum();
                u8::from(count == 3 || cells[at] == 1 && count == 2)
            };
            Ok(Outcome::exact(next.read()?, (0..m * n).map(cell)))
        }),
    ]
}
