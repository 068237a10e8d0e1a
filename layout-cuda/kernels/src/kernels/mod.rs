//! The kernels: products on the matrix units and in float32, attention, and what runs at the speed of memory.

#[cfg(feature = "matmul")]
#[macro_use]
mod epilogues;
#[cfg(feature = "matmul")]
#[macro_use]
mod ring;
#[cfg(feature = "attention")]
#[macro_use]
mod scores;

#[cfg(feature = "block-scale")]
pub mod absmax;
#[cfg(feature = "attention")]
pub mod attention;
#[cfg(feature = "attention")]
pub mod attention_mma;
#[cfg(feature = "attention")]
pub mod backward;
#[cfg(feature = "attention")]
pub mod backward_mma;
#[cfg(feature = "block-scale")]
pub mod block_scale;
#[cfg(feature = "matmul")]
pub mod blockwise;
#[cfg(feature = "convolution")]
pub mod convolution;
#[cfg(feature = "attention")]
pub mod decode;
#[cfg(feature = "matmul")]
mod doubles;
#[cfg(feature = "matmul")]
mod edges;
#[cfg(feature = "elementwise")]
pub mod elementwise;
#[cfg(feature = "experts")]
pub mod experts;
#[cfg(feature = "matmul")]
mod few;
#[cfg(feature = "matmul")]
pub mod gemm;
#[cfg(feature = "matmul")]
#[macro_use]
pub mod gemm_mma;
#[cfg(feature = "matmul")]
pub mod gemm_tcgen05;
#[cfg(feature = "matmul")]
pub mod grouped;
#[cfg(feature = "linear")]
pub mod linear;
#[cfg(feature = "memory")]
pub mod memory;
#[cfg(feature = "mesh")]
pub mod mesh;
#[cfg(feature = "movement")]
pub mod movement;
#[cfg(feature = "matmul")]
mod multipliers;
#[cfg(feature = "orders")]
pub mod orders;
#[cfg(feature = "matmul")]
mod padding;
#[cfg(feature = "matmul")]
mod pair;
#[cfg(feature = "convolution")]
pub mod pooling;
#[cfg(feature = "quantized")]
pub mod quantized;
#[cfg(feature = "random")]
pub mod random;
#[cfg(feature = "reductions")]
pub mod reductions;
#[cfg(feature = "rows")]
pub mod rows;
#[cfg(feature = "selection")]
pub mod selection;
#[cfg(feature = "matmul")]
mod split;
#[cfg(feature = "matmul")]
mod tensor_cores;
#[cfg(feature = "transforms")]
pub mod transforms;

#[cfg(feature = "matmul")]
pub use {
    doubles::dgemm,
    edges::{last_columns, last_rows},
    few::few_rows,
    multipliers::{sgemm, sgemm_fed},
    padding::{resize, resize_both, transpose_pitched},
    pair::gemm_pair,
    split::gemm_split,
    tensor_cores::tensor_core,
};

use layout_cuda::Definition;

/// Those of products.
#[cfg(feature = "matmul")]
pub fn of_products() -> [&'static Definition; 22] {
    [
        &tensor_core::DEFINITION,
        &sgemm::DEFINITION,
        &sgemm_fed::DEFINITION,
        &dgemm::DEFINITION,
        &gemm_pair::DEFINITION,
        &gemm_split::DEFINITION,
        &few_rows::DEFINITION,
        &last_rows::DEFINITION,
        &last_columns::DEFINITION,
        &resize::DEFINITION,
        &resize_both::DEFINITION,
        &transpose_pitched::DEFINITION,
        &gemm::gemm::DEFINITION,
        &gemm::gemm_swapped::DEFINITION,
        &gemm::gemm_then::DEFINITION,
        &gemm_mma::gemm_mma::DEFINITION,
        &gemm_mma::gemm_mma_then::DEFINITION,
        &gemm_tcgen05::gemm_tcgen05::DEFINITION,
        &gemm_tcgen05::gemm_tcgen05_then::DEFINITION,
        &grouped::grouped_gemm::DEFINITION,
        &grouped::grouped_gemm_mma::DEFINITION,
        &blockwise::gemm_blockwise::DEFINITION,
    ]
}

/// Those of attention: forward, decoding, backward.
#[cfg(feature = "attention")]
pub fn of_attention() -> [&'static Definition; 10] {
    [
        &attention::attention::DEFINITION,
        &attention_mma::attention_mma::DEFINITION,
        &decode::decode::DEFINITION,
        &decode::combine::DEFINITION,
        &backward::prepare::DEFINITION,
        &backward::of_keys::DEFINITION,
        &backward::of_queries::DEFINITION,
        &backward::finish::DEFINITION,
        &backward_mma::of_keys_mma::DEFINITION,
        &backward_mma::of_queries_mma::DEFINITION,
    ]
}

/// Those of quantised matrices.
#[cfg(feature = "quantized")]
pub fn of_quantized() -> [&'static Definition; 3] {
    [
        &quantized::few_rows_quantized::DEFINITION,
        &quantized::quantize::DEFINITION,
        &quantized::dequantize::DEFINITION,
    ]
}

/// Every kernel here but those of a mesh.
pub fn definitions() -> Vec<&'static Definition> {
    let families: &[&[&'static Definition]] = &[
        #[cfg(feature = "matmul")]
        &of_products(),
        #[cfg(feature = "attention")]
        &of_attention(),
        #[cfg(feature = "block-scale")]
        &absmax::definitions(),
        #[cfg(feature = "block-scale")]
        &block_scale::definitions(),
        #[cfg(feature = "convolution")]
        &convolution::definitions(),
        #[cfg(feature = "convolution")]
        &pooling::definitions(),
        #[cfg(feature = "elementwise")]
        &elementwise::definitions(),
        #[cfg(feature = "experts")]
        &experts::definitions(),
        #[cfg(feature = "linear")]
        &linear::definitions(),
        #[cfg(feature = "memory")]
        &memory::definitions(),
        #[cfg(feature = "movement")]
        &movement::definitions(),
        #[cfg(feature = "orders")]
        &orders::definitions(),
        #[cfg(feature = "quantized")]
        &of_quantized(),
        #[cfg(feature = "random")]
        &random::definitions(),
        #[cfg(feature = "reductions")]
        &reductions::definitions(),
        #[cfg(feature = "rows")]
        &rows::definitions(),
        #[cfg(feature = "selection")]
        &selection::definitions(),
        #[cfg(feature = "transforms")]
        &transforms::definitions(),
    ];
    families.concat()
}
