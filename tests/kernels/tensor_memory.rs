//! Products in tensor memory: a producer, one thread that multiplies, and four warps that store, tile after tile in turn.

use super::examples::product;
use crate::support::case::{Case, Outcome, Run};
use crate::support::data::{Operand, doubles, untouched};
use layout_compiler::Elem;
use layout_cuda::{E4m3, Element, Error, bf16, f16, tiled_kernel};

/// `c = a bᵀ` in tiles of 128 by 64: a block has one column of tiles and one accumulator, which it gives back when it is read.
#[tiled_kernel(T = [bf16, f16], STAGES = 3, arch = "sm_100f", block = [192], grid = [N.div_ceil(64)])]
fn tensor_memory_product<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Pitched<M, K>>,
    b: &LayoutTensor<T, Pitched<N, K>>,
    c: &mut LayoutTensor<T, Pitched<M, N>>,
) {
    let a_smem = shared::<T>(row_major([STAGES, 128, 64]).swizzle_bytes(128));
    let b_smem = shared::<T>(row_major([STAGES, 64, 64]).swizzle_bytes(128));
    let mut d = tensor_memory::<f32>([128, 64]);
    let (full, empty) = (mbarriers(STAGES, 1), mbarriers(STAGES, 1));
    let (done, free) = (mbarriers(1, 1), mbarriers(1, 128));
    barrier();
    let (warp, blocks) = (warp_id(), K.div_ceil(64));
    if warp == 4 {
        if elect_one() {
            let mut next = pipeline_state(STAGES);
            for tile in 0..M.div_ceil(128) {
                for block in 0..blocks {
                    let stage = next.stage();
                    let (mut a_stage, mut b_stage) = (a_smem.slice(stage), b_smem.slice(stage));
                    empty.at(stage).wait(1 - next.phase());
                    full.at(stage).arrive_expect(a_stage.bytes() + b_stage.bytes());
                    tma_load(&mut a_stage, &a.tile([128, 64], [tile, block]), full.at(stage));
                    tma_load(&mut b_stage, &b.tile([64, 64], [block_idx.x, block]), full.at(stage));
                    next.advance();
                }
            }
        }
    } else if warp == 5 {
        if elect_one() {
            let mut next = pipeline_state(STAGES);
            for tile in 0..M.div_ceil(128) {
                free.at(0).wait((tile + 1) % 2);
                tcgen05_fence_after_thread_sync();
                for block in 0..blocks {
                    let stage = next.stage();
                    full.at(stage).wait(next.phase());
                    tcgen05_mma(&mut d, &a_smem.slice(stage), &b_smem.slice(stage).transpose(), block > 0);
                    tcgen05_commit(empty.at(stage));
                    next.advance();
                }
                tcgen05_commit(done.at(0));
            }
        }
    } else {
        let mut row = local::<f32>(row_major([64]));
        for tile in 0..M.div_ceil(128) {
            // Without products it has the arrival at once.
            done.at(0).wait(tile % 2);
            tcgen05_fence_after_thread_sync();
            if blocks > 0 {
                tcgen05_load(&mut row, &d.slice(warp % 4));
                tcgen05_wait_load();
                tcgen05_fence_before_thread_sync();
            } else {
                row.fill(0.0);
            }
            free.at(0).arrive();
            let mut own = c.tile([128, 64], [tile, block_idx.x]).tile([1, 64], [thread_idx.x, 0]).squeeze(0);
            for j in unroll(0..64) {
                own[[j]] = row[[j]].cast::<T>();
            }
        }
    }
}

/// `c = i + a bᵀ` in row `i`, in tiles of 64 by 32 of TF32: the sums begin with what threads store.
#[tiled_kernel(arch = "sm_100f", block = [128], grid = [N.div_ceil(32), M.div_ceil(64)])]
fn tensor_memory_sums<const M: usize, const N: usize>(
    a: &LayoutTensor<f32, RowMajor<M, 32>>,
    b: &LayoutTensor<f32, RowMajor<N, 32>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut a_smem = shared::<f32>(row_major([64, 32]).swizzle_bytes(128));
    let mut b_smem = shared::<f32>(row_major([32, 32]).swizzle_bytes(128));
    let mut d = tensor_memory::<f32>([64, 32]);
    let (full, done) = (mbarriers(1, 1), mbarriers(1, 1));
    barrier();
    let (mut rows, line) = (d.slice(warp_id()), 16 * warp_id() + lane_id() % 16);
    let mut row = local::<f32>(row_major([32])).fill((64 * block_idx.y + line) as f32);
    tcgen05_store(&mut rows, &row);
    tcgen05_wait_store();
    tcgen05_fence_before_thread_sync();
    barrier();
    if thread_idx.x == 0 {
        tcgen05_fence_after_thread_sync();
        full.at(0).arrive_expect(a_smem.bytes() + b_smem.bytes());
        tma_load(&mut a_smem, &a.tile([64, 32], [block_idx.y, 0]), full.at(0));
        tma_load(&mut b_smem, &b.tile([32, 32], [block_idx.x, 0]), full.at(0));
        full.at(0).wait(0);
        tcgen05_mma(&mut d, &a_smem, &b_smem.transpose(), true);
        tcgen05_commit(done.at(0));
    }
    done.at(0).wait(0);
    tcgen05_fence_after_thread_sync();
    tcgen05_load(&mut row, &rows);
    tcgen05_wait_load();
    if lane_id() < 16 {
        c.tile([64, 32], [block_idx.y, block_idx.x]).tile([1, 32], [line, 0]).squeeze(0).copy_from(&row);
    }
}

/// `c = a bᵀ` in tiles of 128 by 32: each thread takes its row of A from memory to tensor memory, block by block of `k`.
#[tiled_kernel(
    T = [bf16, f16, e4m3, f32], BK = 128 / size_of::<T>(), arch = "sm_100f", block = [128],
    grid = [N.div_ceil(32), M.div_ceil(128)]
)]
fn tensor_memory_operand<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Pitched<M, K>>,
    b: &LayoutTensor<T, Pitched<N, K>>,
    c: &mut LayoutTensor<f32, RowMajor<M, N>>,
) {
    let mut b_smem = shared::<T>(row_major([32, BK]).swizzle_bytes(128));
    let (mut d, left) = (tensor_memory::<f32>([128, 32]), tensor_memory::<T>([128, BK]));
    let (full, done) = (mbarriers(1, 1), mbarriers(1, 1));
    barrier();
    let mut own = local::<T>(row_major([BK]));
    let mut row = local::<f32>(row_major([32])).fill(0.0);
    for block in 0..K.div_ceil(BK) {
        own.copy_from(&a.tile([128, BK], [block_idx.y, block]).tile([1, BK], [thread_idx.x, 0]).squeeze(0));
        tcgen05_store(&mut left.slice(warp_id()), &own);
        tcgen05_wait_store();
        tcgen05_fence_before_thread_sync();
        barrier();
        if thread_idx.x == 0 {
            tcgen05_fence_after_thread_sync();
            full.at(0).arrive_expect(b_smem.bytes());
            tma_load(&mut b_smem, &b.tile([32, BK], [block_idx.x, block]), full.at(0));
            full.at(0).wait(block % 2);
            tcgen05_mma(&mut d, &left, &b_smem.transpose(), block > 0);
            tcgen05_commit(done.at(0));
        }
        done.at(0).wait(block % 2);
        tcgen05_fence_after_thread_sync();
    }
    if K > 0 {
        tcgen05_load(&mut row, &d.slice(warp_id()));
        tcgen05_wait_load();
    }
    c.tile([128, 32], [block_idx.y, block_idx.x]).tile([1, 32], [thread_idx.x, 0]).squeeze(0).copy_from(&row);
}

/// `c = a bᵀ` of bytes in tiles of 128 by 32, exactly: A's even blocks of `k` by way of tensor memory, the odd ones from shared memory.
#[tiled_kernel(T = [i8, u8], arch = "sm_100a", block = [128], grid = [N.div_ceil(32), M.div_ceil(128)])]
fn tensor_memory_bytes<T, const M: usize, const N: usize, const K: usize>(
    a: &LayoutTensor<T, Pitched<M, K>>,
    b: &LayoutTensor<T, Pitched<N, K>>,
    c: &mut LayoutTensor<i32, RowMajor<M, N>>,
) {
    let mut a_smem = shared::<T>(row_major([128, 128]).swizzle_bytes(128));
    let mut b_smem = shared::<T>(row_major([32, 128]).swizzle_bytes(128));
    let (mut d, left) = (tensor_memory::<i32>([128, 32]), tensor_memory::<T>([128, 128]));
    let (full, done) = (mbarriers(1, 1), mbarriers(1, 1));
    barrier();
    let (mut own, mut row) = (local::<T>(row_major([128])), local::<i32>(row_major([32])).fill(0));
    // The sums begin with what threads store.
    tcgen05_store(&mut d.slice(warp_id()), &row);
    tcgen05_wait_store();
    for block in 0..K.div_ceil(128) {
        own.copy_from(&a.tile([128, 128], [block_idx.y, block]).tile([1, 128], [thread_idx.x, 0]).squeeze(0));
        tcgen05_store(&mut left.slice(warp_id()), &own);
        tcgen05_wait_store();
        tcgen05_fence_before_thread_sync();
        barrier();
        if thread_idx.x == 0 {
            tcgen05_fence_after_thread_sync();
            full.at(0).arrive_expect(a_smem.bytes() + b_smem.bytes());
            tma_load(&mut a_smem, &a.tile([128, 128], [block_idx.y, block]), full.at(0));
            tma_load(&mut b_smem, &b.tile([32, 128], [block_idx.x, block]), full.at(0));
            full.at(0).wait(block % 2);
            if block % 2 == 0 {
                tcgen05_mma(&mut d, &left, &b_smem.transpose(), true);
            } else {
                tcgen05_mma(&mut d, &a_smem, &b_smem.transpose(), true);
            }
            tcgen05_commit(done.at(0));
        }
        done.at(0).wait(block % 2);
        tcgen05_fence_after_thread_sync();
    }
    tcgen05_load(&mut row, &d.slice(warp_id()));
    tcgen05_wait_load();
    c.tile([128, 32], [block_idx.y, block_idx.x]).tile([1, 32], [thread_idx.x, 0]).squeeze(0).copy_from(&row);
}

/// The cases, one for each element type.
pub fn cases() -> Vec<Case> {
    let sizes = vec![[0, 64, 64], [64, 64, 0], [1, 1, 1], [128, 64, 64], [130, 65, 130], [300, 72, 264]];
    let left_sizes = vec![[0, 32, 64], [128, 32, 0], [1, 1, 1], [128, 32, 64], [129, 33, 65], [200, 40, 264]];
    vec![
        Case::new(&tensor_memory_product::DEFINITION, sizes.clone(), |run| run_of(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&tensor_memory_product::DEFINITION, sizes, |run| run_of(run, f16::from_f64)).of(Elem::F16),
        Case::new(&tensor_memory_operand::DEFINITION, left_sizes.clone(), |run| operand(run, bf16::from_f64))
            .of(Elem::Bf16),
        Case::new(&tensor_memory_operand::DEFINITION, left_sizes[4..].to_vec(), |run| {
            operand(run, f16::from_f64)
        })
        .of(Elem::F16),
        Case::new(&tensor_memory_operand::DEFINITION, left_sizes[3..].to_vec(), |run| {
            operand(run, |value| E4m3::from_f32(value as f32))
        })
        .of(Elem::E4m3),
        Case::new(&tensor_memory_operand::DEFINITION, left_sizes[3..].to_vec(), |run| {
            operand(run, |x| x as f32)
        })
        .of(Elem::F32),
        Case::new(&tensor_memory_bytes::DEFINITION, left_sizes[2..].to_vec(), |run| {
            bytes(run, |x| (4.0 * x) as i8)
        })
        .of(Elem::I8),
        Case::new(&tensor_memory_bytes::DEFINITION, left_sizes[2..].to_vec(), |run| {
            bytes(run, |x| (60.0 * x).abs() as u8)
        })
        .of(Elem::U8),
        Case::new(&tensor_memory_sums::DEFINITION, vec![[64, 32, 32], [1, 1, 32], [70, 45, 32]], sums),
    ]
}

fn run_of<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let rounded = |values: Vec<f64>| values.into_iter().map(round).collect::<Vec<T>>();
    let (a_values, b_values) = (doubles(m * k, 3), doubles(k * n, 4));
    let by_columns = (0..n * k).map(|at| b_values[at % k * n + at / k]).collect();
    // TMA wants addresses and pitches of 16 bytes.
    let pitched = |values: &[T], shape: [usize; 2]| {
        let pitch = shape[1].next_multiple_of(8).max(8);
        Operand::new(run.device, values, run.skew * 8, shape, [pitch, 1])
    };
    let (a, b) = (pitched(&rounded(a_values.clone()), [m, k])?, pitched(&rounded(by_columns), [n, k])?);
    let mut c = run.tensor(&vec![untouched::<T>(); m * n], [m, n])?;
    let (config, stream) = (run.config(), run.stream());
    tensor_memory_product::launch_with(config, &stream, &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    Ok(Outcome::exact(c.read()?, rounded(product(&a_values, &b_values, run.size))))
}

fn bytes<T: Element + Into<i32>>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let of = |count: usize, salt: u64| doubles(count, salt).into_iter().map(round).collect::<Vec<T>>();
    let (a_values, b_values) = (of(m * k, 9), of(n * k, 10));
    let (a, b) = (super::gemm::matrix(run, &a_values, [m, k])?, super::gemm::matrix(run, &b_values, [n, k])?);
    let mut c = run.output::<i32, 2>([m, n])?;
    let (config, stream) = (run.config(), run.stream());
    tensor_memory_bytes::launch_with(config, &stream, &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let sum = |at: usize| -> i32 {
        (0..k).map(|l| a_values[at / n * k + l].into() * b_values[at % n * k + l].into()).sum()
    };
    Ok(Outcome::exact(c.read()?, (0..m * n).map(sum)))
}

/// Operands of few bits, with a C of f32.
fn operand<T: Element>(run: &Run<'_>, round: fn(f64) -> T) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let (a_values, b_values) = (doubles(m * k, 7), doubles(k * n, 8));
    let rounded = |values: &mut dyn Iterator<Item = f64>| values.map(round).collect::<Vec<T>>();
    let a = super::gemm::matrix(run, &rounded(&mut a_values.iter().copied()), [m, k])?;
    let by_columns = rounded(&mut (0..n * k).map(|at| b_values[at % k * n + at / k]));
    let b = super::gemm::matrix(run, &by_columns, [n, k])?;
    let mut c = run.output::<f32, 2>([m, n])?;
    let (config, stream) = (run.config(), run.stream());
    tensor_memory_operand::launch_with(config, &stream, &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let products = product(&a_values, &b_values, run.size).into_iter().map(|sum| sum as f32);
    Ok(Outcome::exact(c.read()?, products))
}

fn sums(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, k] = run.size;
    let (a_values, b_values) = (doubles(m * k, 5), doubles(k * n, 6));
    let floats =
        |values: &mut dyn Iterator<Item = f64>| values.map(|value| value as f32).collect::<Vec<f32>>();
    // TMA wants addresses of 16 bytes.
    let rows =
        |values: Vec<f32>, rows: usize| Operand::new(run.device, &values, run.skew * 4, [rows, k], [k, 1]);
    let a = rows(floats(&mut a_values.iter().copied()), m)?;
    let b = rows(floats(&mut (0..n * k).map(|at| b_values[at % k * n + at / k])), n)?;
    let mut c = run.output::<f32, 2>([m, n])?;
    tensor_memory_sums::launch_with(run.config(), &run.stream(), &a.view()?, &b.view()?, &mut c.view_mut()?)?;
    let products = product(&a_values, &b_values, run.size).into_iter().enumerate();
    Ok(Outcome::exact(c.read()?, floats(&mut products.map(|(at, sum)| sum + (at / n) as f64))))
}
