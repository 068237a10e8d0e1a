//! Random numbers by Philox4x32-10, which makes each from its place and a seed: no state, and the same bits on every device.
//!
//! ```text
//! counter:  number of the four (64 bits), stream (64 bits)     key: seed (64 bits)     result: four words, one for each element
//! ```
//!
//! Law: words, uniform numbers and what dropout keeps are the same bits everywhere. Normal numbers are by Box and Muller, within 4e-6
//! deviations of the exact ones: their last bits may differ from device to device.
//!
//! Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

use layout_cuda::tiled_kernels;

pub use philox::{dropout, random, sample};

#[tiled_kernels]
mod philox {
    // The four words of a counter under a seed.
    fn words(number: u64, stream: u64, seed: u64) -> [u32; 4] {
        let (mut a, mut b) = (number as u32, (number >> 32) as u32);
        let (mut c, mut d) = (stream as u32, (stream >> 32) as u32);
        let (mut k, mut l) = (seed as u32, (seed >> 32) as u32);
        for _ in unroll(0..10) {
            let (p, q) = (a as u64 * 0xd2511f53, c as u64 * 0xcd9e8d57);
            (a, b, c, d) = ((q >> 32) as u32 ^ b ^ k, q as u32, (p >> 32) as u32 ^ d ^ l, p as u32);
            k = k + 0x9e3779b9;
            l = l + 0xbb67ae85;
        }
        [a, b, c, d]
    }

    // 24 bits of a word, in [0, 1).
    fn unit(word: u32) -> f32 {
        (word >> 8).cast::<f32>() * 0.00000005960464478
    }

    fn uniform(words: [u32; 4], low: f32, width: f32) -> [f32; 4] {
        let mut numbers = [0.0; 4];
        for i in unroll(0..4) {
            numbers[i] = unit(words[i]).mul_add(width, low);
        }
        numbers
    }

    fn normal(words: [u32; 4], mean: f32, deviation: f32) -> [f32; 4] {
        let mut numbers = [0.0; 4];
        for i in unroll(0..2) {
            // In (0, 1]: its logarithm is finite.
            let radius = (-2.0 * (1.0 - unit(words[2 * i])).ln()).sqrt() * deviation;
            // From -π on, where the approximations are within 5e-7: both are then the negatives.
            let angle = (unit(words[2 * i + 1]) - 0.5) * 6.2831853;
            numbers[2 * i] = radius.mul_add(-angle.cos_approx(), mean);
            numbers[2 * i + 1] = radius.mul_add(-angle.sin_approx(), mean);
        }
        numbers
    }

    /// `out[i]`: number `i` of a stream under a seed, of `F`.
    #[tiled_kernel(
        F = [uniform, normal], T = [f32, bf16, f16], block = [256], grid = [N.div_ceil(1024)], deny(narrowed),
    )]
    pub fn random<T, const N: usize>(
        out: &mut LayoutTensor<T, RowMajor<N>>,
        seed: u64,
        stream: u64,
        a: f32,
        b: f32,
    ) {
        let four = block_idx.x * 256 + thread_idx.x;
        let numbers = F(words(four as u64, stream, seed), a, b);
        let mut own = local::<T>(row_major([4]));
        for i in unroll(0..4) {
            own[[i]] = numbers[i].cast::<T>();
        }
        out.window([4], [four * 4]).vectorize([4]).copy_from(&own.vectorize([4]));
    }

    /// `out[i]`: `x[i] / (1 - p)` where uniform number `i` is at least `p`, else 0.
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [N.div_ceil(1024)], deny(narrowed))]
    pub fn dropout<T, const N: usize>(
        x: &LayoutTensor<T, RowMajor<N>>,
        out: &mut LayoutTensor<T, RowMajor<N>>,
        seed: u64,
        stream: u64,
        p: f32,
    ) {
        let four = block_idx.x * 256 + thread_idx.x;
        let numbers = uniform(words(four as u64, stream, seed), 0.0, 1.0);
        let mut own = x.window([4], [four * 4]).vectorize([4]).to_local();
        for i in unroll(0..4) {
            own[[i]] = select(numbers[i] >= p, own[[i]].cast::<f32>() / (1.0 - p), 0.0).cast::<T>();
        }
        out.window([4], [four * 4]).vectorize([4]).copy_from(&own.vectorize([4]));
    }

    // A number whose order is that of the floats; NaN is below all.
    fn key(x: f32) -> u32 {
        let bits = x.to_bits();
        let ordered = select(bits >= 0x80000000, !bits, bits | 0x80000000);
        select(x == x, ordered, 0)
    }

    /// `out[i]`: a column of row `i`, drawn by `numbers[i]` in [0, 1) with the weights `e^(logits[i] / temperature)` of the `k` largest
    /// logits, and of these the largest that together have the share `p`; those that equal the least of them are in, too.
    #[tiled_kernel(T = [f32, bf16, f16], block = [256], grid = [M], deny(narrowed))]
    pub fn sample<T, const M: usize, const N: usize>(
        logits: &LayoutTensor<T, RowMajor<M, N>>,
        numbers: &LayoutTensor<f32, RowMajor<M>>,
        out: &mut LayoutTensor<u32, RowMajor<M>>,
        temperature: f32,
        k: u32,
        p: f32,
    ) {
        // The weight of a logit, and its order; the largest has weight 1, plus infinity too.
        fn weighed(x: f32, most: f32, scale: f32, least: u32) -> f32 {
            let weight = select(x == most, 1.0, ((x - most) * scale).exp2_approx());
            select(key(x) >= least, weight, 0.0)
        }
        let row = block_idx.x;
        let scale = 1.44269504 / temperature;
        let mut most = f32::MIN;
        for j in (thread_idx.x..N).step_by(256) {
            most = most.max(logits[[row, j]].cast::<f32>());
        }
        let most = most.block_max();
        // The greatest order that at least `k` logits have, bit by bit. That of minus infinity is in none.
        let mut least: u32 = 0x00800000;
        if k < N as u32 {
            let mut found: u32 = 0;
            for bit in 0..32 {
                let tried = found | (0x80000000 >> bit);
                let mut count: u32 = 0;
                for j in (thread_idx.x..N).step_by(256) {
                    count += (key(logits[[row, j]].cast::<f32>()) >= tried) as u32;
                }
                if count.block_sum() >= k {
                    found = tried;
                }
            }
            least = least.max(found);
        }
        if p < 1.0 {
            let mut total = 0.0;
            for j in (thread_idx.x..N).step_by(256) {
                total += weighed(logits[[row, j]].cast::<f32>(), most, scale, least);
            }
            let share = total.block_sum() * p;
            let mut found: u32 = 0;
            for bit in 0..32 {
                let tried = found | (0x80000000 >> bit);
                let mut sum = 0.0;
                for j in (thread_idx.x..N).step_by(256) {
                    sum += weighed(logits[[row, j]].cast::<f32>(), most, scale, least.max(tried));
                }
                if sum.block_sum() >= share {
                    found = tried;
                }
            }
            // The largest logit is always in.
            least = least.max(found.min(key(most)));
        }
        // A thread has neighbouring columns: so the sums of threads are in the columns' order.
        let each = N.div_ceil(256);
        let (first, end) = (thread_idx.x * each, (thread_idx.x * each + each).min(N));
        let mut own = 0.0;
        for j in first..end {
            own += weighed(logits[[row, j]].cast::<f32>(), most, scale, least);
        }
        let upto = own.block_prefix_sum();
        let total = own.block_sum();
        let wanted = numbers[[row]] * total;
        let mut sum = upto - own;
        let mut place = u32::MAX;
        // The last column that has any weight, for a number that roundings leave beyond the sum.
        let mut last: u32 = 0;
        for j in first..end {
            let weight = weighed(logits[[row, j]].cast::<f32>(), most, scale, least);
            sum += weight;
            if weight > 0.0 {
                last = j as u32;
                if sum > wanted {
                    place = place.min(j as u32);
                }
            }
        }
        let (place, last) = (place.block_min(), last.block_max());
        if thread_idx.x == 0 {
            out[[row]] = select(place == u32::MAX, last, place);
        }
    }
}

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 3] {
    [&random::DEFINITION, &dropout::DEFINITION, &sample::DEFINITION]
}
