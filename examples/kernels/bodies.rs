//! Bodies that attract one another: every pair of them, tile by tile through shared memory.
//!
//! Source: L. Nyland, M. Harris, J. Prins, "Fast N-Body Simulation with CUDA", GPU Gems 3, chapter 31, whose count is 20
//! operations a pair.

use layout_cuda::tiled_kernel;

/// `pull[i]` is the sum over `j` of `m_j d / (|d|² + softening)^1.5`, with `d = x_j - x_i`: acceleration where the constant of
/// gravitation is 1. A body is `x, y, z, m`. `softening` is above 0, so that a body does not pull itself: `0 · rsqrt(0)` is NaN. So it
/// is where `m / softening^1.5` leaves float32. A body farther than 10¹² pulls by up to `m` 10⁻³⁸ less than it does.
///
/// Precision: a pair's term is within 2⁻²⁰ of its size (`rsqrt_approx` is within 2⁻²²·⁹ and comes to the third power), and the sums are
/// those of float32, one body after the other.
#[tiled_kernel(T = 256, OWN = 2, block = [T], grid = [N.div_ceil(T * OWN)], deny(narrowed))]
pub fn attraction<const N: usize>(
    softening: f32,
    bodies: &LayoutTensor<f32, RowMajor<N, 4>>,
    pull: &mut LayoutTensor<f32, RowMajor<N, 3>>,
) {
    let mut held = shared::<f32>(row_major([T, 4]));
    let first = block_idx.x * T * OWN + thread_idx.x;
    let mut own = local::<f32>(row_major([OWN, 4]));
    let mut sum = local::<f32>(row_major([OWN, 3])).fill(0.0);
    for o in unroll(0..OWN) {
        let body = bodies.tile([1, 4], [first + o * T, 0]).vectorize([1, 4]);
        own.tile([1, 4], [o, 0]).vectorize([1, 4]).copy_from(&body);
    }
    for tile in 0..N.div_ceil(T) {
        // Beyond the last body are bodies without mass.
        let next = bodies.tile([1, 4], [tile * T + thread_idx.x, 0]).vectorize([1, 4]);
        held.tile([1, 4], [thread_idx.x, 0]).vectorize([1, 4]).copy_from(&next);
        barrier();
        for j in 0..T {
            let other = held.tile([1, 4], [j, 0]).vectorize([1, 4]).to_local();
            for o in unroll(0..OWN) {
                let x = other[[0, 0]] - own[[o, 0]];
                let y = other[[0, 1]] - own[[o, 1]];
                let z = other[[0, 2]] - own[[o, 2]];
                let inverse = (softening + x * x + y * y + z * z).rsqrt_approx();
                let by = other[[0, 3]] * inverse * inverse * inverse;
                sum[[o, 0]] += x * by;
                sum[[o, 1]] += y * by;
                sum[[o, 2]] += z * by;
            }
        }
        barrier();
    }
    for o in unroll(0..OWN) {
        let i = first + o * T;
        if i < N {
            for axis in unroll(0..3) {
                pull[[i, axis]] = sum[[o, axis]];
            }
        }
    }
}
