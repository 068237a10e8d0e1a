//! What the epilogue of a product may do to a sum, one function each.
//!
//! Law: a function is given the sum in float32, the elements of the vectors over columns and over rows and of the matrix `beside` at its
//! coordinates, and a scale; what it returns is rounded once.

use layout_cuda::tiled_kernels;

#[tiled_kernels(open = product_epilogues)]
mod functions {
    /// `gelu(sum + column)`, by tanh: bias and activation.
    fn bias_gelu(sum: f32, column: f32, _row: f32, _beside: f32, _scale: f32) -> f32 {
        let x = sum + column;
        let half = 0.5 * x;
        half.mul_add((x * (x * x).mul_add(0.035677407, 0.7978846)).tanh_approx(), half)
    }

    /// `sum + scale beside`: the residual.
    fn plus(sum: f32, _column: f32, _row: f32, beside: f32, scale: f32) -> f32 {
        beside.mul_add(scale, sum)
    }

    /// `silu(sum) beside`: a gate, `silu(x) = x / (1 + exp(-x))`.
    fn silu_times(sum: f32, _column: f32, _row: f32, beside: f32, _scale: f32) -> f32 {
        let half = 0.5 * sum;
        half.mul_add(half.tanh_approx(), half) * beside
    }

    /// `scale sum`: before a narrower type.
    fn scaled(sum: f32, _column: f32, _row: f32, _beside: f32, scale: f32) -> f32 {
        sum * scale
    }

    /// `row column sum`: of quantised rows of A and columns of B.
    fn scaled_both(sum: f32, column: f32, row: f32, _beside: f32, _scale: f32) -> f32 {
        sum * row * column
    }
}
