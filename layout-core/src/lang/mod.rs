//! The words of the kernel language, as Rust sees them.
//!
//! A kernel is never run as Rust: `#[tiled_kernel]` turns it into CUDA C. The items here have the names and types of the
//! language and no meaning: rustc checks a kernel's body against them, and an editor completes it. The meaning of each word
//! is given by the compiler (`layout_compiler::specialise`). A kernel has all of these words in scope, and nothing else.
//!
//! Law: each member of `layout_compiler::intrinsic::Intrinsic` has a stub here or a method of Rust's own
//! numbers that represents it; a test names them all.
//!
//! | group | words |
//! |---|---|
//! | arguments | [`LayoutTensor`] with [`RowMajor`], [`ColMajor`], [`Pitched`], [`Contiguous`], [`Strided`] |
//! | elements | `f64 f32 i64 i32 i16 i8 u64 u32 u16 u8 bool`, [`struct@f16`], [`bf16`], [`e4m3`], [`e5m2`] |
//! | **[`vocabulary`]** | every word, by purpose, a line each |
//! | **[`numbers`]** | wrap-around, indices, precision, contraction, `fast_math` |
//! | constants | `f32::INFINITY`, `u32::MAX` and the like, [`Constants`] of a type parameter, `std::f32::consts::PI`, [`consts`] |
//! | places | [`shared`], [`local`] |
//! | layouts | [`row_major`], [`col_major`], [`layout`], [`Layout::swizzle`] |
//! | views | [`Tensor`]: `tile`, `window`, `vectorize`, `distribute`, `transpose`, `pad`, `dim`, `view[[i, j]]` |
//! | movement | [`Tensor::fill`], [`Tensor::copy_from`], [`Tensor::copy_from_async`], [`Tensor::to_local`], [`copy_dram_to_sram`], [`copy_dram_to_sram_async`], [`async_copy_commit_group`], [`async_copy_wait_group`], [`async_copy_wait_all`] |
//! | threads | [`thread_idx`], [`block_idx`], [`block_dim`], [`grid_dim`], [`lane_id`], [`warp_id`], [`barrier`], [`sync_warp`] |
//! | threads together | [`Number::shuffle`], `shuffle_up`, `shuffle_down`, `shuffle_xor`, [`Number::warp_sum`], `warp_max`, `warp_min`, [`Number::warp_prefix_sum`], [`Number::block_sum`], `block_max`, `block_min`, `block_prefix_sum`, [`ballot`], [`any`], [`all`], [`Atomic::atomic_add`], `atomic_max`, `atomic_min`, `atomic_and`, `atomic_or`, `atomic_xor` |
//! | TMA, matrix units | [`mbarriers`], [`pipeline_state`], [`tma_load`], [`tma_store`], [`tma_add`], [`bulk_commit_group`], [`fence_async_proxy`], [`fence_async_proxy_global`], [`accumulator`], [`wgmma`], [`wgmma_commit_group`], [`wgmma_wait_group`], [`store_matrix`], [`warp_group`], [`elect_one`], [`set_max_registers`], [`named_barrier`], [`cluster_rank`], [`cluster_barrier`], `map_shared_rank`, [`store_async`], [`grid_dependency_wait`], [`launch_dependents`] |
//! | tensor memory | [`tensor_memory`], [`tcgen05_mma`], [`tcgen05_commit`], [`tcgen05_load`], [`tcgen05_store`], [`tcgen05_wait_load`], [`tcgen05_wait_store`], [`tcgen05_fence_before_thread_sync`], [`tcgen05_fence_after_thread_sync`] |
//! | flags between blocks | [`Atomic::load_acquire`], [`Atomic::store_release`], `load_relaxed`, `store_relaxed`; between which threads: [`Atomic::block_scope`], `system_scope` |
//! | hints to the caches | [`Hinted::evict_first`], `evict_last`, `no_allocate`, `prefetch` |
//! | matrix units | [`mma_atom`] with [`TensorCore::load_a`], `load_b`, `mma`, `store_d`; with block scales `load_a_scales`, `load_b_scales`, [`TensorCore::mma_scaled`] |
//! | elements of an accumulator | [`accumulator_row`], [`accumulator_column`] |
//! | orders of tiles | [`grouped`], [`hilbert`] |
//! | rings of stages | [`Pipeline`], [`CopyPipeline`] |
//! | block-scaled numbers | [`e2m1_bits`], [`e2m1_value`], [`ue8m0_bits`], [`ue8m0_value`] |
//! | sums | [`group_sum`], [`group_max`], [`add_compensated`] |
//! | arithmetic | operators, `as`, [`Number::cast`], [`select`], [`outer_product_acc`], `div_ceil` |
//! | functions of floats | [`Float`]: `sin` to `hypot`, `floor` to `fract`, `min`, `max`, `clamp`, `mul_add`, `to_bits`; [`Approximate`]: `exp2_approx` and the like |
//! | functions of integers | [`Whole`]: `count_ones` to `swap_bytes`, `pow`, `wrapping_add` and the like, `saturating_add` and the like; [`byte_perm`], [`funnel_shift_left`], [`funnel_shift_right`], [`dot4`]; of bytes and pairs [`min_u8x4`] to [`eq_u16x2`] |
//! | control | `for` over a range, `.step_by(n)`, `.rev()`, [`unroll`], `while`, `loop`, `if`, `break`, `continue`, [`assume`] |
//! | macros | `println!`, `print!`, `dbg!`, `assert!`, `assert_eq!`, `assert_ne!`, `debug_assert!` and the like, `panic!`, `unreachable!`, `todo!` |
//!
//! ```
//! use layout_core::lang::*;
//!
//! const BLOCK: usize = 256;
//! fn vector_add<const N: usize>(
//!     a: &LayoutTensor<f32, RowMajor<N>>,
//!     b: &LayoutTensor<f32, RowMajor<N>>,
//!     c: &mut LayoutTensor<f32, RowMajor<N>>,
//! ) {
//!     let i = block_idx.x * BLOCK + thread_idx.x;
//!     if i < N {
//!         c[[i]] = a[[i]] + b[[i]];
//!     }
//! }
//! ```

mod accumulator;
mod atomic;
mod block_scale;
mod float;
mod hint;
mod layout;
mod matrix;
mod mbarrier;
mod movement;
mod number;
mod tma;
#[doc = include_str!("numbers.md")]
pub mod numbers {}
mod order;
mod pipeline;
mod small_float;
mod sum;
mod tcgen05;
mod tensor;
mod threads;
mod view;
pub mod vocabulary;
mod wgmma;
mod whole;

pub use accumulator::{accumulator_column, accumulator_row};
pub use atomic::*;
pub use block_scale::{e2m1_bits, e2m1_value, ue8m0_bits, ue8m0_value};
pub use float::{Approximate, Float};
pub use hint::*;
pub use layout::{ColMajor, Contiguous, Layout, Pitched, RowMajor, Strided, col_major, layout, row_major};
pub use matrix::*;
pub use mbarrier::*;
pub use movement::*;
pub use number::{Constants, Coordinates, Element, Integer, Literal, Number, assume, select, unroll};
pub use order::{grouped, hilbert};
pub use pipeline::{CopyPipeline, Pipeline};
pub use small_float::{bf16, e4m3, e5m2, f16};
#[doc(no_inline)]
pub use std::f32::consts;
pub use sum::{add_compensated, group_max, group_sum};
pub use tcgen05::*;
pub use tensor::Tensor;
pub use threads::*;
pub use tma::*;
pub use view::{LayoutTensor, Read, View, Write, local, read_of, shared, view_of};
pub use wgmma::*;
pub use whole::*;

/// What a stub does when it is called after all.
fn device_only<T>() -> T {
    unreachable!("the words of the kernel language mean something inside of `#[tiled_kernel]` only")
}
