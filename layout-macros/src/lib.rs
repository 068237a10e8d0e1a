//! The attributes `#[tiled_kernel]` and `#[tiled_kernels]`.
//!
//! This crate only turns tokens into a [`layout_compiler::Kernel`], asks layout-core for its CUDA C, and writes
//! the module that takes the function's place. `compile::run` is the table of contents.
#![forbid(unsafe_code)]

mod attr;
mod compile;
mod depth;
mod expand;
mod library;
mod lower;
mod open;
mod report;
mod returns;
mod share;
mod signature;
mod span;
mod stub;

use proc_macro::TokenStream;

/// Compiles a function of the kernel language to CUDA C.
///
/// The function becomes a module of its name, with `launch`, `launch_with`, `simulate`, `explain`, `SOURCE`, `variants()` and
/// `DEFINITION`. The entries of the attribute:
///
/// | entry | meaning |
/// |---|---|
/// | `BM = 64` | binds a parameter: an integer, a truth value or an element type |
/// | `BM = [32, 64]` | a variant for each value, and for each combination where there are several lists |
/// | `BM = 64 * WARPS` | a parameter that is an expression over others: integers, `if`, `div_ceil`, `min`, `max`, `size_of` |
/// | `filter(c, ..)` | of the combinations those for which the conditions hold: `filter(T == bf16 || STAGES < 4)` |
/// | `block = [x, y, z]` | threads of a block, over parameters; 1 to 3 axes; left out, what the body says |
/// | `grid = [x, y, z]` | blocks of the grid, over parameters, dimensions and arguments of type `usize` or `isize`; `require` may keep it from being negative; left out, what the body says |
/// | `cluster = [x, y, z]` | blocks of a cluster |
/// | `arch = "sm_90a"` | the only architecture the kernel is for; `if TMA { "sm_90a" } else { "sm_80" }` depends on the parameters; left out, sm_80 and later. For `sm_75` asynchronous copies by threads are ordinary ones |
/// | `min_blocks = n` | blocks that a multiprocessor must be able to hold |
/// | `fast_math = true` | quotients, roots and functions of `f32` by the hardware's approximations, and no subnormal numbers; `a * b + c` is contracted in any case |
/// | `opt_level = n` | how hard ptxas optimises, 0 to 3, its default; at 1 instructions stay nearly in the order of the source |
/// | `certified`, `certified(races)`, `certified(bounds)` | what is not proved of the order of accesses, or of their bounds, for all launch sizes is an error |
/// | `deny(narrowed, masked, synchronous, wide)` | an access that lost one of these is an error, in the variant that keeps every promise (each `variant_if`, where there is one); `explain` says the same without refusing; `#[allow(narrowed)]` before a statement excepts it |
/// | `require(c, ..)` | launch refuses where a condition is false |
/// | `variant_if(c, ..)` | a second variant that relies on the conditions; launch takes it where they hold; `deny(..)` among them is of this variant alone |
///
/// `block` follows from `block_idx.x * SIZE + thread_idx.x` where a tensor is written, from `thread_idx` as the place in a tile of a tensor that is
/// written, from loops over `(thread_idx.x..n).step_by(SIZE)` and from thread layouts. `grid` follows from the parts of written tensors that
/// `block_idx` selects: `c.tile([BM, BN], [block_idx.y, block_idx.x])` has `[N.div_ceil(BN), M.div_ceil(BM)]`. What follows is in the module's
/// documentation and in `explain`; where nothing does, the error says what was found. With `block` written and `grid` not, a launch
/// may give another grid.
///
/// A const generic of the function is a dimension: static where the attribute binds it, else taken from the tensors
/// at launch. An extent may be an expression, `RowMajor<{ M + 1 }, K>`, if some tensor has the plain dimension. Attribute
/// and signature see the `const` items at the head of the body and, under `#[tiled_kernels]`, those of the module; nothing
/// else of the program. The language itself is described in `layout_cuda::lang`.
#[proc_macro_attribute]
pub fn tiled_kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    guarded(compile::run, attribute, item)
}

/// Lets the kernels of a module share functions, structs and constants.
///
/// A `fn` of the module without `#[tiled_kernel]` is a function of the kernel language. Each kernel that calls it,
/// directly or through another, is compiled as if it were nested in it: it sees the kernel's parameters, is inlined, and may
/// take views, `Mbarriers`, a `PipelineState`. So is a `struct` with its `impl` blocks, where a kernel names it. A `const` of the module is seen by the kernels, their attributes and
/// signatures, and by the program.
///
/// ```text
/// #[tiled_kernels]
/// mod scaled {
///     /// What both kernels do with an element.
///     fn scale(x: f32) -> f32 {
///         x * 2.0
///     }
///
///     #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
///     pub fn doubled<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
///         let i = block_idx.x * 32 + thread_idx.x;
///         if i < N {
///             y[[i]] = scale(x[[i]]);
///         }
///     }
/// }
/// ```
///
/// An example that runs is at `layout_cuda::tiled_kernels`. `open = NAME` makes the module's text a macro `NAME!`, under which others bind
/// parameters to functions of their own; `functions = NAME` lets this module's kernels call the functions of an open one.
#[proc_macro_attribute]
pub fn tiled_kernels(attribute: TokenStream, item: TokenStream) -> TokenStream {
    guarded(share::run, attribute, item)
}

/// A panic here is a mistake of this crate; the message says so, and the caller's crate stays checkable.
fn guarded(
    run: fn(proc_macro2::TokenStream, proc_macro2::TokenStream) -> proc_macro2::TokenStream,
    attribute: TokenStream,
    item: TokenStream,
) -> TokenStream {
    let (attribute, item) = (attribute.into(), proc_macro2::TokenStream::from(item));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe({
        let item = item.clone();
        move || run(attribute, item)
    }));
    result.unwrap_or_else(|_| compile::after_panic(item)).into()
}
