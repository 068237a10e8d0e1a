//! What Rust is here and what is not.
//!
//! A kernel is a Rust function that rustc type-checks and that the attribute compiles itself. Each statement of this page has an
//! example that runs on the simulator; what is refused is refused with a way out.
//!
//! # Statements
//!
//! `let`, also with a value that comes later, `const` items, nested `fn`s, `if`, `match`, `for` over ranges, `while`, `loop`, `break`
//! and `continue` with labels, `break` with a value, blocks with labels, `return`, assignments to names, elements and tuples.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernel};
//! #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
//! fn classes<const N: usize>(x: &LayoutTensor<i32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>) {
//!     let i = block_idx.x * 32 + thread_idx.x;
//!     if i >= N {
//!         return;
//!     }
//!     let (mut a, mut b) = (1, 1);
//!     'rounds: for round in 0..10 {
//!         for _ in 0..round {
//!             (a, b) = (b, a + b);
//!             if b > x[[i]] {
//!                 break 'rounds;
//!             }
//!         }
//!     }
//!     y[[i]] = match b {
//!         ..0 => -1,
//!         1 | 2 => 1,
//!         3..=9 => 2,
//!         n if n % 2 == 0 => n,
//!         _ => 0,
//!     };
//! }
//! let device = Device::simulator();
//! let mut y = device.zeros::<i32, 1>([4])?;
//! classes::launch(&device.stream(), &device.upload(&[0, 2, 7, 30], [4])?, &mut y)?;
//! assert_eq!(y.download()?, [1, 2, 2, 34]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! - A branch may `return`, `break` or `continue` where the other one has the value, `let x = if i < n { i } else { return };`, wherever
//!   a value is: `sum += x[[k]] * if k == last { break } else { 2.0 };`, also in the condition of a `while`.
//! - The value of an `if` or of a `match` may be a tuple or an array.
//! - A `match` is over numbers, truth values, tuples and structs of them: literals, constants, ranges, `|`, `_`, names, `name @ range`, guards.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernel};
//! #[tiled_kernel(block = [32], grid = [1])]
//! fn searched(x: &LayoutTensor<f32, RowMajor<32>>, y: &mut LayoutTensor<f32, RowMajor<3>>) {
//!     fn first_above(x: View<f32, Read>, least: f32) -> i32 {
//!         for k in 0..32 {
//!             if x[[k]] > least {
//!                 return k as i32;
//!             }
//!         }
//!         -1
//!     }
//!     let mut k = 0;
//!     let below = loop {
//!         if x[[k]] < 0.0 || k == 31 {
//!             break k;
//!         }
//!         k += 1;
//!     };
//!     let sign;
//!     if below < 31 {
//!         sign = -1.0;
//!     } else {
//!         sign = 1.0;
//!     }
//!     let mut best = (0, 0.0);
//!     for k in 0..32 {
//!         if x[[k]] > best.1 {
//!             best = (k, x[[k]]);
//!         }
//!     }
//!     if thread_idx.x == 0 {
//!         y[[0]] = first_above(x, 4.0) as f32; // a tensor, where a view is asked for
//!         y[[1]] = sign * below as f32;
//!         y[[2]] = best.0 as f32;
//!     }
//! }
//! let device = Device::simulator();
//! let mut x: Vec<f32> = (0..32).map(|i| i as f32).collect();
//! x[20] = -7.0;
//! let mut y = device.zeros::<f32, 1>([3])?;
//! searched::launch(&device.stream(), &device.upload(&x, [32])?, &mut y)?;
//! assert_eq!(y.download()?, [5.0, -20.0, 31.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! - A `for` runs over `a..b` or `a..=b`, with `.step_by(n)`, `.rev()` and `unroll(..)`; its ends may be of any integer type. Or it
//!   runs over an array: `a`, `&a`, `&mut a`, `a.iter()`, `a.iter_mut()`, each perhaps with `.enumerate()` and `.rev()`.
//! - `?`, `if let`, `unsafe` and `async` are not here, nor are macros but for the next ones.
//!
//! # Printing and asserting
//!
//! ```
//! use layout_cuda::{Device, FindingKind, tiled_kernel};
//! #[tiled_kernel(B = [4], block = [B], grid = [1])]
//! fn roots(x: &mut LayoutTensor<f32, RowMajor<4>>) {
//!     assert!(B % 4 == 0); // of parameters: the compiler tests it
//!     let i = thread_idx.x;
//!     assert!(x[[i]] >= 0.0, "x[{i}] is {}", x[[i]]);
//!     x[[i]] = dbg!(x[[i]].sqrt());
//!     println!("{i}: {:.2}", x[[i]]);
//! }
//! let mut x = Device::simulator().upload(&[4.0f32, -1.0, 2.25, 9.0], [4])?;
//! let report = roots::simulate(&mut x)?; // prints, too, as a launch does
//! assert_eq!(report.printed[1].text, "0: 2.00\n");
//! let failed = report.find(FindingKind::AssertionFailed).unwrap();
//! assert_eq!((failed.message.as_str(), failed.thread), ("x[1] is -1", [1, 0, 0]));
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! - `println!` and `print!` take numbers, bools, arrays and tuples of them under `{:?}`, and views whose extents are known at compile time,
//!   of at most 256 elements: by their coordinates, a line for each row. Widths and precisions are numbers; what `printf`
//!   does not have is refused: `{:b}`, `{:^8}`, `{:*<8}`, `{:#8x}`. `dbg!(x)` prints its place, its text and `{:?}` of its value,
//!   and is the value.
//! - The simulator writes what Rust's `format!` writes, when the launch ends, by blocks, then by threads, then in the program's order; `Report::printed`
//!   has it, too, and [`Options::located`](crate::Options::located) adds the thread and the line. A GPU calls `printf`, whose order is not defined and
//!   which is written at the next wait. It differs for floats without a precision: they have as many digits as give the
//!   value back (`%.9g` of an `f32`, `%.17g` of an `f64`), an exponent has at least two digits, and NaN is `nan`.
//! - A condition that is known at compile time is tested there: a false one is an error with the parameters' values. Else it is tested
//!   in each thread, and is a fact for proofs to the end of its block, as that of `assume` is: masks behind `assert!(i < N)` go.
//!   The simulator reports the first thread that fails, and goes on. On a GPU a thread that fails writes where it is and
//!   the message's values to the host's memory and stops the grid: the next call that waits returns
//!   [`DriverError::Assertion`](crate::driver::DriverError::Assertion), and the context has ended.
//! - `debug_assert!` and the like are tested on the simulator only and are facts nowhere. `panic!`, `unreachable!`, `todo!` and `unimplemented!` fail
//!   wherever a thread comes to them; they are statements.
//!
//! # Literals
//!
//! An integer literal has the type that rustc finds for it: from the other operand, the variable it is assigned to, the
//! parameter it is given to, the other branch. One that meets nothing of a type is an index.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernel};
//! #[tiled_kernel(block = [1], grid = [1])]
//! fn marked(count: u32, y: &mut LayoutTensor<u32, RowMajor<1>>) {
//!     let mut best = 0;
//!     for k in 0..8 {
//!         if k * k < count {
//!             best = k;
//!         }
//!     }
//!     y[[0]] = best | (if count > 9 { 0x80000000 } else { 0x40000000 });
//! }
//! let device = Device::simulator();
//! let mut y = device.zeros::<u32, 1>([1])?;
//! marked::launch(&device.stream(), 10, &mut y)?;
//! assert_eq!(y.download()?, [0x80000003]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # Arrays
//!
//! An array is a value; its elements are numbers, tuples or arrays. A table is a `const`; `let mut` makes registers, 256 at most, and
//! `&mut` hands them on. An index must be shown to be in range, where Rust would stop: a loop's variable, a number, `i % LENGTH`.
//! Registers have no addresses: a loop over known numbers whose variable is such an index is written out, and an index that is
//! known only at run time is compared with each of at most 64.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernel};
//! #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
//! fn smooth<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
//!     const TAPS: [f32; 3] = [0.25, 0.5, 0.25];
//!     let i = block_idx.x * 32 + thread_idx.x;
//!     let near = x.window([3], [i as isize - 1]);
//!     let mut parts = [0.0; 3];
//!     for k in unroll(0..3) {
//!         parts[k] = TAPS[k] * near[[k]];
//!     }
//!     if i < N {
//!         y[[i]] = parts[0] + parts[1] + parts[2] + TAPS[i % 3];
//!     }
//! }
//! let device = Device::simulator();
//! let mut y = device.zeros::<f32, 1>([4])?;
//! smooth::launch(&device.stream(), &device.upload(&[4.0f32, 0.0, 8.0, 4.0], [4])?, &mut y)?;
//! assert_eq!(y.download()?, [2.25, 3.5, 5.25, 4.25]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # Functions
//!
//! Functions are inlined. They are inside of the kernel, or beside it in a module under
//! [`tiled_kernels`](macro@crate::tiled_kernels); nothing else of the program is seen. A function or a closure may be given to a
//! function, and a function may be a parameter of the kernel: one variant for each, chosen at launch by its name.
//!
//! ```
//! # use layout_cuda::{Device, LaunchConfig, ParamSet, ParamValue, tiled_kernel};
//! #[tiled_kernel(EPILOGUE = [identity, relu], block = [1], grid = [1])]
//! fn folded<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<2>>) {
//!     fn identity(x: f32) -> f32 {
//!         x
//!     }
//!     fn relu(x: f32) -> f32 {
//!         x.max(0.0)
//!     }
//!     fn fold(x: View<f32, Read>, n: usize, f: impl Fn(f32, f32) -> f32) -> f32 {
//!         let mut all = x[[0]];
//!         for i in 1..n {
//!             all = f(all, x[[i]]);
//!         }
//!         all
//!     }
//!     let scale = 0.5;
//!     y[[0]] = EPILOGUE(fold(x.tile([4], [0]), 4, |all, x| all + x * scale));
//!     y[[1]] = EPILOGUE(fold(x.tile([4], [0]), 4, |all, x| if x < all { x } else { all }));
//! }
//! let device = Device::simulator();
//! let x = device.upload(&[-8.0f32, 2.0, 4.0, 6.0], [4])?;
//! let mut y = device.zeros::<f32, 1>([2])?;
//! folded::launch(&device.stream(), &x, &mut y)?;
//! assert_eq!(y.download()?, [-2.0, -8.0]);
//! let set = ParamSet::default().with("EPILOGUE", ParamValue::Function("relu"));
//! let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
//! folded::launch_with(config, &device.stream(), &x, &mut y)?;
//! assert_eq!(y.download()?, [0.0, 0.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! - A closure sees the names around it, and changes their variables; `move` is left out.
//! - A `&mut` parameter is given `&mut x`: a variable, an element or a part of one, an array.
//! - A function does not call itself: write a loop.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernel};
//! #[tiled_kernel(block = [1], grid = [1])]
//! fn counts(y: &mut LayoutTensor<i32, RowMajor<2>>) {
//!     fn sort(pair: &mut [i32; 2]) {
//!         if pair[0] > pair[1] {
//!             pair.swap(0, 1);
//!         }
//!     }
//!     let mut count = 0;
//!     let mut add = |x: i32| count += x;
//!     add(7);
//!     add(4);
//!     let mut pairs = [[count, 5]; 2];
//!     sort(&mut pairs[1]);
//!     y[[0]] = pairs[0][0];
//!     y[[1]] = pairs[1][0];
//! }
//! let device = Device::simulator();
//! let mut y = device.zeros::<i32, 1>([2])?;
//! counts::launch(&device.stream(), &mut y)?;
//! assert_eq!(y.download()?, [11, 5]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # Structs
//!
//! A `struct` is inside of the kernel, or beside it in a module under `#[tiled_kernels]`: with named fields, with numbered ones, or with
//! none. It is its fields, each in a register of its own, and nothing of it is left in the text: a struct in memory does not exist, and a
//! kernel's argument is none. Fields are numbers, truth values, views, mbarriers, arrays, tuples and other structs.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernels};
//! #[tiled_kernels]
//! mod lines {
//!     #[derive(Clone, Copy)]
//!     struct Point {
//!         x: f32,
//!         y: f32,
//!     }
//!
//!     impl Point {
//!         const ORIGIN: Self = Self { x: 0.0, y: 0.0 };
//!
//!         fn of(points: View<f32, Read>, i: usize) -> Self {
//!             Self { x: points[[i, 0]], y: points[[i, 1]] }
//!         }
//!
//!         fn distance(&self, Point { x, y }: Point) -> f32 {
//!             ((self.x - x) * (self.x - x) + (self.y - y) * (self.y - y)).sqrt()
//!         }
//!     }
//!
//!     /// A way, and how long it is.
//!     struct Walk {
//!         at: Point,
//!         length: f32,
//!     }
//!
//!     impl Walk {
//!         const THREADS: usize = 1;
//!
//!         fn go(&mut self, to: Point) {
//!             self.length += self.at.distance(to);
//!             self.at = to;
//!         }
//!     }
//!
//!     #[tiled_kernel(block = [Walk::THREADS], grid = [1])]
//!     pub fn lengths<const N: usize>(points: &LayoutTensor<f32, RowMajor<N, 2>>, y: &mut LayoutTensor<f32, RowMajor<2>>) {
//!         let mut walk = Walk { at: Point::ORIGIN, length: 0.0 };
//!         for i in 0..N {
//!             walk.go(Point::of(points, i));
//!         }
//!         let Walk { length, at: Point { x, .. } } = walk;
//!         y[[0]] = length;
//!         let beside = Walk { at: Point { x: x + 4.0, ..walk.at }, ..walk };
//!         y[[1]] = beside.at.distance(walk.at);
//!     }
//! }
//! let device = Device::simulator();
//! let points = device.upload(&[3.0f32, 4.0, 3.0, 10.0], [2, 2])?;
//! let mut y = device.zeros::<f32, 1>([2])?;
//! lines::lengths::launch(&device.stream(), &points, &mut y)?;
//! assert_eq!(y.download()?, [11.0, 4.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! - Literals with `..rest`, patterns in `let`, parameters, `for` and `match`, methods by value, by `&self` and by `&mut self`, associated
//!   functions and constants, which the attribute may name: `block = [Walk::THREADS]`.
//! - What a value's struct is must be known where a field or a method is named: from a literal, a declared type, a function's result. A
//!   closure's parameter has its type written, `|p: Point| p.x`, where two structs have such a field.
//! - A struct has type and const parameters, with defaults, and names the kernel's as well: `x: [T; SIZE]`. Its `impl` blocks are for every
//!   argument, `impl<T, const N: usize> Window<T, N>`. `#[derive(Clone, Copy)]` is the one attribute.
//! - A module's struct that no kernel names is the program's own, and stays as it is; the others are the kernels' alone, as functions are.
//!
//! A struct with parameters is one for each combination of arguments. An argument is a type, a number, a constant, a parameter of the
//! attribute, or an expression in braces; a function has such parameters as well. Where it is not written, it follows from the type of the place of the value, `let w: Window<f32, 4> =
//! ..`, a parameter, a result, a field, or from the types of the values that the struct is made of.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernels};
//! #[tiled_kernels]
//! mod windows {
//!     /// The last values.
//!     struct Window<T, const N: usize> {
//!         values: [T; N],
//!         next: usize,
//!     }
//!
//!     impl<T: Number, const N: usize> Window<T, N> {
//!         const LAST: usize = N - 1;
//!
//!         fn of(x: T) -> Self {
//!             Self { values: [x; N], next: 0 }
//!         }
//!
//!         fn push(&mut self, x: T) {
//!             self.values[self.next] = x;
//!             self.next = if self.next == Self::LAST { 0 } else { self.next + 1 };
//!         }
//!     }
//!
//!     fn largest<const N: usize>(window: &Window<f32, N>) -> f32 {
//!         let mut most = window.values[0];
//!         for i in 1..N {
//!             most = most.max(window.values[i]);
//!         }
//!         most
//!     }
//!
//!     #[tiled_kernel(SIZE = 2, block = [1], grid = [1])]
//!     pub fn walk<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<2>>) {
//!         let mut some = Window::<f32, { SIZE * 2 }>::of(0.0);
//!         let mut count = Window { values: [0u32, 0], next: 0 };
//!         for i in 0..N {
//!             some.push(x[[i]]);
//!             count.push(i as u32);
//!         }
//!         y[[0]] = largest(&some);
//!         y[[1]] = (count.values[0] + count.values[1]) as f32;
//!     }
//! }
//! let device = Device::simulator();
//! let x = device.upload(&[9.0f32, 1.0, 7.0, 2.0, 3.0], [5])?;
//! let mut y = device.zeros::<f32, 1>([2])?;
//! windows::walk::launch(&device.stream(), &x, &mut y)?;
//! assert_eq!(y.download()?, [7.0, 7.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # Constants, the attribute, the signature
//!
//! The attribute and the signature see the `const` items at the head of the kernel's body and of its module under
//! `#[tiled_kernels]`, the parameters, and each other. A macro sees the tokens of its own item and nothing else of the program: a
//! constant of another place is passed as an argument, or is in the module.
//!
//! ```
//! # use layout_cuda::{Device, tiled_kernels};
//! #[tiled_kernels]
//! mod steps {
//!     pub const WIDTH: usize = 16;
//!
//!     #[tiled_kernel(WARPS = [1, 2], THREADS = 32 * WARPS, block = [THREADS], grid = [N.div_ceil(THREADS)])]
//!     pub fn differences<const N: usize>(
//!         x: &LayoutTensor<f32, RowMajor<{ N + 1 }>>,
//!         base: &LayoutTensor<f32, RowMajor<WIDTH>>,
//!         y: &mut LayoutTensor<f32, RowMajor<N>>,
//!     ) {
//!         let i = block_idx.x * THREADS + thread_idx.x;
//!         if i < N {
//!             y[[i]] = x[[i + 1]] - x[[i]] + base[[i % WIDTH]];
//!         }
//!     }
//! }
//! let device = Device::simulator();
//! let x = device.upload(&[1.0f32, 4.0, 9.0], [3])?;
//! let base = device.zeros::<f32, 1>([steps::WIDTH])?;
//! let mut y = device.zeros::<f32, 1>([2])?;
//! steps::differences::launch(&device.stream(), &x, &base, &mut y)?;
//! assert_eq!(y.download()?, [3.0, 5.0]);
//! # Ok::<(), layout_cuda::Error>(())
//! ```
//!
//! # What is absent
//!
//! | absent | instead |
//! |---|---|
//! | enums, traits and operators of one's own | a number and `match`; methods |
//! | lifetimes, references that are kept | views are values: `&` and `*` change nothing; a tensor will do where a function asks for a `View` or an `impl Tensor`; `&mut` of a variable, of an array's element and of a view's is given to a function or bound by `let` |
//! | collections, iterators, strings, `format!` | tensors; `for` over indices |
//! | `panic!`, overflow checks | an access out of range is masked, the simulator reports it; integers wrap around |
