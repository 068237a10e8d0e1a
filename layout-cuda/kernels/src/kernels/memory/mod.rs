//! Kernels at the speed of memory, for any size: sums and the like, sums of rows and columns, prefix sums, softmax and layer
//! norm, RMS norm, cross entropy, convolutions and poolings, transposition, histograms, a matrix times a vector, bytes of an image.
//!
//! Law: the result does not depend on the run: a sum's order is fixed by its length, and the histogram's counts are
//! integers; only the sums of `bincount` are in an open order. Each thread loads 16 bytes at once, several times before it waits for the first.

mod axis;
mod boxes;
mod count;
mod entropy;
mod image;
mod long;
mod norm;
mod passes;
mod place;
mod plain;
mod prefix;
mod product;
mod reduce;
mod rms;
mod rows;
mod staged;
mod stencil;
mod transposition;

pub use axis::{column_sums, column_sums_of_parts, row_sums};
pub use boxes::transpose_by_boxes;
pub use count::{bincount, histogram};
pub use entropy::cross_entropy;
pub use image::scale_bytes;
pub use long::{layer_norm_in_parts, softmax_in_parts};
pub use norm::layer_norm;
pub use passes::{layer_norm_in_passes, softmax_in_passes};
pub use place::{argmax_of_parts, total_argmax};
pub use plain::{copy, noise};
pub use prefix::{scan, scan_start};
pub use product::gemv;
pub use reduce::{dot_of_parts, max_of_parts, sum_of_parts, total_max, total_sum};
pub use rms::rms_norm;
pub use rows::softmax;
pub use staged::{layer_norm_staged, softmax_staged};
pub use stencil::{conv1d, conv2d, pool1d, pool2d};
pub use transposition::{transpose, transpose_by_elements, transpose_by_pairs};

use layout_cuda::Definition;

/// Every kernel here.
pub fn definitions() -> [&'static Definition; 36] {
    [
        &copy::DEFINITION,
        &noise::DEFINITION,
        &sum_of_parts::DEFINITION,
        &dot_of_parts::DEFINITION,
        &max_of_parts::DEFINITION,
        &total_sum::DEFINITION,
        &total_max::DEFINITION,
        &row_sums::DEFINITION,
        &column_sums::DEFINITION,
        &column_sums_of_parts::DEFINITION,
        &softmax::DEFINITION,
        &softmax_in_parts::DEFINITION,
        &layer_norm_in_parts::DEFINITION,
        &softmax_staged::DEFINITION,
        &layer_norm_staged::DEFINITION,
        &softmax_in_passes::DEFINITION,
        &layer_norm_in_passes::DEFINITION,
        &transpose::DEFINITION,
        &transpose_by_elements::DEFINITION,
        &transpose_by_pairs::DEFINITION,
        &transpose_by_boxes::DEFINITION,
        &histogram::DEFINITION,
        &bincount::DEFINITION,
        &layer_norm::DEFINITION,
        &argmax_of_parts::DEFINITION,
        &total_argmax::DEFINITION,
        &conv1d::DEFINITION,
        &conv2d::DEFINITION,
        &pool1d::DEFINITION,
        &pool2d::DEFINITION,
        &scan::DEFINITION,
        &scan_start::DEFINITION,
        &gemv::DEFINITION,
        &rms_norm::DEFINITION,
        &cross_entropy::DEFINITION,
        &scale_bytes::DEFINITION,
    ]
}
