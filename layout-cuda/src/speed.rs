//! What removes a mask, what makes a vector, what keeps a copy asynchronous.
//!
//! A kernel is right whatever its tensors are; how fast it is depends on what can be shown of them. `kernel::explain(..)` says
//! of each access how many bytes move at once and what it lost, with the reason and the way out;
//! `deny(narrowed, masked, synchronous)` in the attribute makes that a compile error. Each statement of this page is held by its
//! example. `cargo run -p layout-bench --bin explain -- NAME` prints the same for the kernels of the examples.
//!
//! # Masks
//!
//! An access is masked where it is not shown to be in range. Shown is what follows from intervals, divisors and two of the
//! conditions in force:
//!
//! - a condition around it: `if i < N`, an early `return` or `continue` where it does not hold, `&&` to its left;
//! - the bounds of a loop: `for k in 0..N`, `for k in i..N.min(i + 8)`;
//! - the grid: `grid = [N / 64]` says `block_idx.x < N / 64`;
//! - a remainder, `i % N` where `N` is shown to be positive, and `clamp`, `min` and `max` in any order;
//! - an extent that is a number, or a multiple of the tile: `require(N % 64 == 0)`, or `variant_if` for one variant of two.
//!
//! ```
//! # use layout_cuda::{RemarkKind, Device, LaunchConfig, tiled_kernel};
//! #[tiled_kernel(block = [64], grid = [N / 64], require(N % 64 == 0), deny(masked))]
//! fn shown<const N: usize>(
//!     x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>, n: usize, shift: isize,
//! ) {
//!     let i = block_idx.x * 64 + thread_idx.x; // by the grid
//!     let mut sum = x[[(i + n) % N]]; // by the remainder
//!     for k in i..N.min(i + 8) {
//!         sum += x[[k]]; // by the loop
//!         if k + n >= N {
//!             continue;
//!         }
//!         sum += x[[k + n]]; // by the condition
//!     }
//!     let last = N as isize - 1;
//!     let near = i as isize + shift;
//!     y[[i]] = sum + x[[near.max(0).min(last)]] + x[[near.min(last).max(0)]] + x[[near.clamp(0, last)]];
//! }
//! # let device = Device::simulator();
//! let (x, mut y) = (device.zeros::<f32, 1>([128])?, device.zeros::<f32, 1>([128])?);
//! let explanation = shown::explain(LaunchConfig::default(), &x, &mut y, 3, -1)?;
//! assert!(explanation.accesses.iter().all(|access| access.degraded.is_empty()), "{explanation}");
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! Not shown is what depends on the value of an element, and what needs a product of two indices to be compared with another:
//!
//! ```
//! # use layout_cuda::{RemarkKind, Device, LaunchConfig, tiled_kernel};
//! #[tiled_kernel(block = [64], grid = [1])]
//! fn gathered<const N: usize>(
//!     x: &LayoutTensor<f32, RowMajor<N>>, at: &LayoutTensor<i32, RowMajor<64>>, y: &mut LayoutTensor<f32, RowMajor<64>>,
//! ) {
//!     y[[thread_idx.x]] = x[[at[[thread_idx.x]] as usize]];
//! }
//! # let device = Device::simulator();
//! # let (x, at, mut y) = (device.zeros::<f32, 1>([9])?, device.zeros::<i32, 1>([64])?, device.zeros::<f32, 1>([64])?);
//! let explanation = gathered::explain(LaunchConfig::default(), &x, &at, &mut y)?;
//! let masked: Vec<&str> = explanation
//!     .accesses
//!     .iter()
//!     .filter(|access| access.degraded.iter().any(|lost| lost.what == RemarkKind::Masked))
//!     .map(|access| access.tensor.as_str())
//!     .collect();
//! assert_eq!(masked, ["x"]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! A mask costs a comparison and, around a vector, a branch. A copy by all threads of a block of more than three pieces each asks
//! once for the whole tile.
//!
//! # Vectors
//!
//! `vectorize([1, 4])` asks for vectors, and a thread's own copy of elements that are adjacent takes the widest by itself; a
//! single element `x[[i]]` stays one. An instruction moves at most 16 bytes. Vectors are moved whole where on both sides
//!
//! - the elements follow one another in memory (over the end of a row, too, where the rows do);
//! - the tensor begins at a multiple of 16 bytes: asked at launch, other tensors get another variant;
//! - the first element is a multiple of the vector by its form, so the length of a row must be one: a number, `require(K % 4 == 0)`,
//!   any equation that says so (`require(K == 128 * G)`), `variant_if(K % 4 == 0)`, or a `Pitched` tensor;
//! - no edge is inside of a vector: the extent is a multiple of it, or the vector is shown to be in range. Of vectors that were asked
//!   for, one that an edge may cut has a test: whole where it is inside, element by element where not;
//! - the types are the same. `.cast()` of a view loads first and converts in registers.
//!
//! ```
//! # use layout_cuda::{RemarkKind, Device, LaunchConfig, tiled_kernel};
//! #[tiled_kernel(block = [32], grid = [M], require(K == 128 * G), deny(narrowed, masked))]
//! fn rows<const M: usize, const K: usize, const G: usize>(
//!     x: &LayoutTensor<f32, RowMajor<M, K>>, scale: &LayoutTensor<f32, RowMajor<M, G>>,
//!     y: &mut LayoutTensor<bf16, RowMajor<M, K>>,
//! ) {
//!     let threads = row_major([1, 32]);
//!     for k in 0..G {
//!         let own = x.tile([1, 128], [block_idx.x, k]).vectorize([1, 4]).distribute(threads, thread_idx.x);
//!         let mut out = y.tile([1, 128], [block_idx.x, k]).vectorize([1, 4]).distribute(threads, thread_idx.x);
//!         out.copy_from(&own.cast::<bf16>());
//!     }
//! }
//! # let device = Device::simulator();
//! let (x, scale) = (device.zeros::<f32, 2>([2, 256])?, device.zeros::<f32, 2>([2, 2])?);
//! let mut y = device.zeros::<layout_cuda::bf16, 2>([2, 256])?;
//! let explanation = rows::explain(LaunchConfig::default(), &x, &scale, &mut y)?;
//! let bytes = explanation.accesses.iter().map(|access| (access.tensor.as_str(), access.bytes));
//! assert_eq!(bytes.collect::<Vec<_>>(), [("y", 8), ("x", 16)]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! Of contiguous rows several are one vector; a window at any element is none:
//!
//! ```
//! # use layout_cuda::{RemarkKind, Device, LaunchConfig, tiled_kernel};
//! #[tiled_kernel(block = [32], grid = [1], require(M % 2 == 0))]
//! fn pairs<const M: usize>(x: &LayoutTensor<f32, RowMajor<M, 2>>, y: &mut LayoutTensor<f32, RowMajor<64, 2>>, from: usize) {
//!     let mut out = y.vectorize([2, 2]).distribute(row_major([32, 1]), thread_idx.x);
//!     out.copy_from(&x.tile([64, 2], [0, 0]).vectorize([2, 2]).distribute(row_major([32, 1]), thread_idx.x));
//!     out.copy_from(&x.window([64, 2], [from, 0]).vectorize([2, 2]).distribute(row_major([32, 1]), thread_idx.x));
//! }
//! # let device = Device::simulator();
//! # let (x, mut y) = (device.zeros::<f32, 2>([70, 2])?, device.zeros::<f32, 2>([64, 2])?);
//! let explanation = pairs::explain(LaunchConfig::default(), &x, &mut y, 3)?;
//! let reads: Vec<_> = explanation.accesses.iter().filter(|access| access.tensor == "x").collect();
//! assert_eq!([reads[0].bytes, reads[1].bytes], [16, 8]);
//! assert!(reads[1].degraded[0].reason.contains("is not known to be a multiple of 4"), "{explanation}");
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # Rows that begin anywhere
//!
//! A row whose length is no multiple of the vector begins at any element. Its vectors begin at the aligned address before it, with a
//! window that starts so much earlier: `a - a % 4` is a multiple of 4 whatever `a` is. The vectors inside are moved whole; the first and
//! the last one, which the row's ends cut, in pieces; what is before and behind the row reads as the pad and is not written.
//!
//! ```
//! # use layout_cuda::{Device, LaunchConfig, tiled_kernel};
//! #[tiled_kernel(block = [32], grid = [M], deny(narrowed))]
//! fn doubled<const M: usize, const N: usize>(x: &mut LayoutTensor<f32, RowMajor<M, N>>) {
//!     let row = block_idx.x;
//!     let before = row * N % 4;
//!     for tile in 0..(N + before).div_ceil(128) {
//!         let start = (tile * 128) as isize - before as isize;
//!         let vectors = x.window([1, 128], [row as isize, start]).vectorize([1, 4]);
//!         let mut own = vectors.distribute(row_major([1, 32]), thread_idx.x);
//!         let mut held = own.to_local();
//!         for i in unroll(0..4) {
//!             held[[0, i]] *= 2.0;
//!         }
//!         own.copy_from(&held.vectorize([1, 4]));
//!     }
//! }
//! # let device = Device::simulator();
//! let values: Vec<f32> = (0..5 * 203).map(|i| i as f32).collect();
//! let mut x = device.upload(&values, [5, 203])?;
//! let explanation = doubled::explain(LaunchConfig::default(), &mut x)?;
//! assert_eq!(explanation.accesses.iter().map(|access| access.bytes).max(), Some(16), "{explanation}");
//! doubled::launch(&device.stream(), &mut x)?;
//! assert!(x.download()?.iter().zip(&values).all(|(found, value)| *found == 2.0 * value));
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # Asynchronous copies
//!
//! `copy_dram_to_sram_async` and `copy_from_async` become `cp.async` where a piece is 4, 8 or 16 bytes (elements of one or two
//! bytes need vectors), where what is beyond the edge is read as zero, and where the tile in shared memory needs no mask.
//! Else the same elements are copied at once, by loads and stores.
//!
//! ```
//! # use layout_cuda::{RemarkKind, Device, LaunchConfig, Transport, tiled_kernel};
//! #[tiled_kernel(block = [128], grid = [M.div_ceil(64)], variant_if(K % 8 == 0), deny(synchronous))]
//! fn staged<const M: usize, const K: usize>(
//!     x: &LayoutTensor<bf16, RowMajor<M, K>>, y: &mut LayoutTensor<bf16, RowMajor<M, 64>>,
//! ) {
//!     let mut tile = shared::<bf16>(row_major([64, 64]));
//!     let own = x.tile([64, 64], [block_idx.x, 0]);
//!     copy_dram_to_sram_async(tile.vectorize([1, 8]), own.vectorize([1, 8]), row_major([16, 8]));
//!     async_copy_wait_all();
//!     barrier();
//!     y.tile([64, 64], [block_idx.x, 0])[[thread_idx.x / 2, 0]] = tile[[thread_idx.x / 2, 0]];
//! }
//! # let device = Device::simulator();
//! for (k, means) in [(64, Transport::CopyAsync), (63, Transport::Thread)] {
//!     let x = device.zeros::<layout_cuda::bf16, 2>([70, k])?;
//!     let mut y = device.zeros::<layout_cuda::bf16, 2>([70, 64])?;
//!     let explanation = staged::explain(LaunchConfig::default(), &x, &mut y)?;
//!     assert_eq!(explanation.accesses[0].means, means, "{explanation}");
//! }
//! # Ok::<(), layout_cuda::Error>(())
//! ```
