//! The vocabulary of the kernel language.
//!
//! One table has a row for each word: its name in Rust, whether it is a function or a method, the number of its
//! arguments (the receiver included), its family, the feature that it requires, and `Host` where the attribute's
//! entries may call it. The elementwise words have a table of their own, [`super::math`], with their operands,
//! results and spelling in CUDA. The macro resolves names with the table, `lang` holds a documented stub for each row
//! (a test compares them), and [`super::specialise()`] gives the meaning.

use super::arch::Feature;
use super::math::Math;
use super::wire::wire;

/// Whether a member is called as `name(a)` or as `a.name()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `name(a, b)`
    Function,
    /// `a.name(b)`: the receiver is the first argument.
    Method,
    /// `T::name(a)`: a zero of the type is the first argument.
    Associated,
    /// By no name: the stages make it.
    Internal,
}

/// What a member of the vocabulary is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// One thread's values.
    Elementwise,
    /// One thread's values, by words that operators say.
    Composed,
    /// Conversions between values and sizes, choices and assumptions.
    Numbers,
    /// Layouts.
    Layouts,
    /// Places and views of them.
    Views,
    /// Copies, and what is done with whole views.
    Movement,
    /// Where a thread is, and the block's barrier.
    Threads,
    /// Threads together: collectives, atomics, flags.
    Together,
    /// Matrix instructions of a warp.
    Fragments,
    /// TMA, mbarriers, warpgroup products, clusters.
    Asynchronous,
    /// Tensor memory, and the products of one thread in it.
    TensorMemory,
}

/// Every member: the elementwise words, then the others.
const MEMBERS: [Intrinsic; Math::ALL.len() + OTHERS.len()] = {
    let mut members = [Intrinsic::Barrier; Math::ALL.len() + OTHERS.len()];
    let mut at = 0;
    while at < members.len() {
        members[at] = match at < Math::ALL.len() {
            true => Intrinsic::Math(Math::ALL[at]),
            false => OTHERS[at - Math::ALL.len()],
        };
        at += 1;
    }
    members
};

macro_rules! vocabulary {
    ($($(#[doc = $doc:literal])* $variant:ident = $name:literal, $form:ident, $least:literal..=$most:literal,
        $family:ident, $arch:expr $(, $host:ident)?;)+) => {
        wire! {
            /// A member of the vocabulary.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
            pub enum Intrinsic {
                /// An elementwise word.
                Math(word: Math),
                $($(#[doc = $doc])* $variant,)+
            }
        }

        /// The members but the elementwise words.
        const OTHERS: &[Intrinsic] = &[$(Intrinsic::$variant,)+];

        impl Intrinsic {
            /// Every member.
            pub const ALL: &'static [Intrinsic] = &MEMBERS;

            /// The name in Rust.
            pub const fn name(self) -> &'static str {
                match self {
                    Intrinsic::Math(word) => word.name(),
                    $(Intrinsic::$variant => $name,)+
                }
            }

            /// How it is called and what it does, in a line.
            pub fn summary(self) -> &'static str {
                match self {
                    Intrinsic::Math(word) => word.summary(),
                    $(Intrinsic::$variant => concat!($($doc),*).trim(),)+
                }
            }

            /// Function or method.
            pub const fn form(self) -> Form {
                match self {
                    Intrinsic::Math(word) => word.form(),
                    $(Intrinsic::$variant => Form::$form,)+
                }
            }

            /// The least and the most arguments, the receiver included.
            pub const fn arity(self) -> (usize, usize) {
                match self {
                    Intrinsic::Math(word) => (word.arity(), word.arity()),
                    $(Intrinsic::$variant => ($least, $most),)+
                }
            }

            /// Whether it means something on the host too, where the attribute's entries are evaluated.
            pub(crate) const fn on_host(self) -> bool {
                match self {
                    Intrinsic::Math(_) => true,
                    $(Intrinsic::$variant => {
                        const HOST: &[&str] = &[$(stringify!($host))?];
                        !HOST.is_empty()
                    })+
                }
            }

            /// What it is about, and so where its meaning is.
            pub(crate) const fn family(self) -> Family {
                match self {
                    Intrinsic::Math(_) => Family::Elementwise,
                    $(Intrinsic::$variant => Family::$family,)+
                }
            }

            /// The feature that it needs, where some architecture lacks it.
            pub(crate) const fn needs(self) -> Option<Feature> {
                match self {
                    Intrinsic::Math(word) => word.needs(),
                    $(Intrinsic::$variant => $arch,)+
                }
            }
        }
    };
}

vocabulary! {
    /// `row_major([m, n])`: the compact layout whose last mode is contiguous.
    RowMajor = "row_major", Function, 1..=1, Layouts, None;
    /// `col_major([m, n])`: the compact layout whose first mode is contiguous.
    ColMajor = "col_major", Function, 1..=1, Layouts, None;
    /// `layout([m, n], [s, t])`: shape and strides, compile-time.
    Layout = "layout", Function, 2..=2, Layouts, None;
    /// `layout.swizzle(bits, base, shift)`: the layout with `Swizzle<bits, base, shift>` over its element offsets.
    Swizzle = "swizzle", Method, 4..=4, Layouts, None;
    /// `shared::<T>(layout)`: a tensor in shared memory, one for the block, uninitialised.
    Shared = "shared", Function, 1..=1, Views, None;
    /// `local::<T>(layout)`: a tensor in registers, one for each thread, uninitialised.
    Local = "local", Function, 1..=1, Views, None;
    /// `view.tile([m, n], [i, j])`: tile `(i, j)` of extents `(m, n)`.
    Tile = "tile", Method, 3..=3, Views, None;
    /// `view.window([m, n], [i, j])`: the extents `(m, n)` from element `(i, j)` on, which may be before the first.
    Window = "window", Method, 3..=3, Views, None;
    /// `view.vectorize([1, 4])`: the view whose elements are vectors of these extents.
    Vectorize = "vectorize", Method, 2..=2, Views, None;
    /// `view.distribute(thread_layout, thread)`: the elements that belong to a thread, cyclically.
    Distribute = "distribute", Method, 3..=3, Views, None;
    /// `view.transpose()`: the modes in reverse order.
    Transpose = "transpose", Method, 1..=1, Views, None;
    /// `view.permute([2, 0, 1])`: the modes in another order: mode 0 is this one's mode 2.
    Permute = "permute", Method, 2..=2, Views, None;
    /// `view.squeeze(n)`: without mode `n`, which has one element.
    Squeeze = "squeeze", Method, 2..=2, Views, None;
    /// `view.reshape([m, n])`: other extents over the same elements in row-major order, where strides describe them.
    Reshape = "reshape", Method, 2..=2, Views, None;
    /// `view.bitcast::<T>()`: the same bytes as elements of another type.
    Bitcast = "bitcast", Method, 1..=1, Views, None;
    /// `view.pad(value)`: the view whose out-of-range elements read as `value`.
    Pad = "pad", Method, 2..=2, Views, None;
    /// `view.dim(n)`: the extent of mode `n`, cut at the tensor's edge for no tile: `a.dim(0)` is `M`.
    DimOf = "dim", Method, 2..=2, Views, None;
    /// `view.fill(value)`: writes `value` to every element; gives the view.
    Fill = "fill", Method, 2..=2, Movement, None;
    /// `dst.copy_from(&src)`: element by element, by each thread that runs it.
    CopyFrom = "copy_from", Method, 2..=2, Movement, None;
    /// `dst.copy_from_async(&src)`: from global to shared memory by each thread that runs it; lands at the wait.
    CopyFromAsync = "copy_from_async", Method, 2..=2, Movement, Some(Feature::AsyncCopy);
    /// `view.to_local()`: a copy in registers.
    ToLocal = "to_local", Method, 1..=1, Movement, None;
    /// `copy_dram_to_sram(&mut dst, &src, thread_layout)`: the block copies, each thread its part.
    CopyDramToSram = "copy_dram_to_sram", Function, 3..=3, Movement, None;
    /// `copy_dram_to_sram_async(&mut dst, &src, thread_layout)`: the same by `cp.async`; lands at the wait.
    CopyDramToSramAsync = "copy_dram_to_sram_async", Function, 3..=3, Movement, Some(Feature::AsyncCopy);
    /// `async_copy_commit_group()`: closes the group of the asynchronous copies issued since the last one.
    AsyncCopyCommitGroup = "async_copy_commit_group", Function, 0..=0, Movement, Some(Feature::AsyncCopy);
    /// `async_copy_wait_group(n)`: waits until at most `n` groups of this thread are in flight.
    AsyncCopyWaitGroup = "async_copy_wait_group", Function, 1..=1, Movement, Some(Feature::AsyncCopy);
    /// `async_copy_wait_all()`: waits for every asynchronous copy of this thread.
    AsyncCopyWaitAll = "async_copy_wait_all", Function, 0..=0, Movement, Some(Feature::AsyncCopy);
    /// `barrier()`: every thread of the block waits for every other; shared memory written before is seen after.
    Barrier = "barrier", Function, 0..=0, Threads, None;
    /// `outer_product_acc(&mut acc, &a, &b)`: `acc[i, j] += a[i] * b[j]`.
    OuterProductAcc = "outer_product_acc", Function, 3..=3, Movement, None;
    /// `lane_id()`: the thread's place in its warp.
    LaneId = "lane_id", Function, 0..=0, Threads, None;
    /// `warp_id()`: the warp's place in its block.
    WarpId = "warp_id", Function, 0..=0, Threads, None;
    /// `a.div_ceil(b)`
    DivCeil = "div_ceil", Method, 2..=2, Numbers, None, Host;
    /// `a.wrapping_add(b)`: as every sum of integers does.
    WrappingAdd = "wrapping_add", Method, 2..=2, Composed, None;
    /// `a.wrapping_sub(b)`
    WrappingSub = "wrapping_sub", Method, 2..=2, Composed, None;
    /// `a.wrapping_mul(b)`
    WrappingMul = "wrapping_mul", Method, 2..=2, Composed, None;
    /// `a.wrapping_div(b)`: of the least value and -1 the least value.
    WrappingDiv = "wrapping_div", Method, 2..=2, Composed, None;
    /// `a.wrapping_rem(b)`: of the least value and -1 zero.
    WrappingRem = "wrapping_rem", Method, 2..=2, Composed, None;
    /// `a.wrapping_shl(n)`: by `n` modulo the width.
    WrappingShl = "wrapping_shl", Method, 2..=2, Composed, None;
    /// `a.wrapping_shr(n)`: by `n` modulo the width.
    WrappingShr = "wrapping_shr", Method, 2..=2, Composed, None;
    /// `a.wrapping_neg()`
    WrappingNeg = "wrapping_neg", Method, 1..=1, Composed, None;
    /// `a.div_euclid(b)`: the quotient whose remainder is not negative.
    DivEuclid = "div_euclid", Method, 2..=2, Composed, None;
    /// `a.rem_euclid(b)`: the remainder that is not negative.
    RemEuclid = "rem_euclid", Method, 2..=2, Composed, None;
    /// `assume(condition)`: the condition holds here: the compiler builds on it, the simulator tests it.
    Assume = "assume", Function, 1..=1, Numbers, None;
    /// `select(condition, a, b)`: `a` where the condition holds, else `b`; both are evaluated.
    Select = "select", Function, 3..=3, Numbers, None;
    /// `x.shuffle(lane)`: the value of lane `lane % 32` of the warp. Every thread of the warp takes part.
    Shuffle = "shuffle", Method, 2..=2, Together, None;
    /// `x.shuffle_up(n)`: the value of the lane `n % 32` before this one, where there is one, else the own.
    ShuffleUp = "shuffle_up", Method, 2..=2, Together, None;
    /// `x.shuffle_down(n)`: the value of the lane `n % 32` after this one, where there is one, else the own.
    ShuffleDown = "shuffle_down", Method, 2..=2, Together, None;
    /// `x.shuffle_xor(n)`: the value of lane `lane_id() ^ (n % 32)`.
    ShuffleXor = "shuffle_xor", Method, 2..=2, Together, None;
    /// `x.warp_sum()`: the sum over the warp, in every lane.
    WarpSum = "warp_sum", Method, 1..=1, Together, None;
    /// `x.warp_max()`: the largest value of the warp, in every lane.
    WarpMax = "warp_max", Method, 1..=1, Together, None;
    /// `x.warp_min()`: the smallest value of the warp, in every lane.
    WarpMin = "warp_min", Method, 1..=1, Together, None;
    /// `x.warp_and()`: the bits that are one in every lane of the warp, in every lane.
    WarpAnd = "warp_and", Method, 1..=1, Together, None;
    /// `x.warp_or()`: the bits that are one in a lane of the warp.
    WarpOr = "warp_or", Method, 1..=1, Together, None;
    /// `x.warp_xor()`: the bits that are one in an odd number of lanes.
    WarpXor = "warp_xor", Method, 1..=1, Together, None;
    /// `x.warp_prefix_sum()`: the sum over the lanes up to this one, its own value included.
    WarpPrefixSum = "warp_prefix_sum", Method, 1..=1, Together, None;
    /// `x.block_sum()`: the sum over the block, in every thread; it waits for the block.
    BlockSum = "block_sum", Method, 1..=1, Together, None;
    /// `x.block_max()`: the largest value of the block, in every thread; it waits for the block.
    BlockMax = "block_max", Method, 1..=1, Together, None;
    /// `x.block_min()`: the smallest value of the block, in every thread; it waits for the block.
    BlockMin = "block_min", Method, 1..=1, Together, None;
    /// `x.block_prefix_sum()`: the sum over the threads up to this one, its own value included; it waits for the block.
    BlockPrefixSum = "block_prefix_sum", Method, 1..=1, Together, None;
    /// `ballot(condition)`: a `u32` whose bit `i` says whether the condition holds in lane `i`.
    Ballot = "ballot", Function, 1..=1, Together, None;
    /// `any(condition)`: whether the condition holds in a lane of the warp.
    Any = "any", Function, 1..=1, Together, None;
    /// `all(condition)`: whether the condition holds in all lanes of the warp.
    All = "all", Function, 1..=1, Together, None;
    /// `match_any(x)`: a `u32` whose bit `i` says whether lane `i` has the same bits.
    MatchAny = "match_any", Function, 1..=1, Together, None;
    /// `match_all(x)`: whether every lane of the warp has the same bits.
    MatchAll = "match_all", Function, 1..=1, Together, None;
    /// `view.atomic_add([i, j], x)`: adds to an element atomically; gives its old value.
    AtomicAdd = "atomic_add", Method, 3..=3, Together, None;
    /// `view.atomic_max([i, j], x)`: puts the larger there atomically; gives the old value.
    AtomicMax = "atomic_max", Method, 3..=3, Together, None;
    /// `view.atomic_min([i, j], x)`: puts the smaller there atomically; gives the old value.
    AtomicMin = "atomic_min", Method, 3..=3, Together, None;
    /// `view.atomic_and([i, j], x)`: keeps the bits that `x` has too atomically; gives the old value.
    AtomicAnd = "atomic_and", Method, 3..=3, Together, None;
    /// `view.atomic_or([i, j], x)`: sets the bits of `x` atomically; gives the old value.
    AtomicOr = "atomic_or", Method, 3..=3, Together, None;
    /// `view.atomic_xor([i, j], x)`: flips the bits of `x` atomically; gives the old value.
    AtomicXor = "atomic_xor", Method, 3..=3, Together, None;
    /// `view.atomic_exchange([i, j], x)`: puts a value there atomically; gives the old value.
    AtomicExchange = "atomic_exchange", Method, 3..=3, Together, None;
    /// `view.atomic_compare_exchange([i, j], expected, x)`: puts a value there where the expected one is; gives what was there.
    AtomicCompareExchange = "atomic_compare_exchange", Method, 4..=4, Together, None;
    /// `fence_block()`: orders this thread's accesses before and after it, for the threads of the block.
    FenceBlock = "fence_block", Function, 0..=0, Asynchronous, None;
    /// `fence_device()`: the same for the threads of the device.
    FenceDevice = "fence_device", Function, 0..=0, Asynchronous, None;
    /// `fence_system()`: the same for all threads, the host's too.
    FenceSystem = "fence_system", Function, 0..=0, Asynchronous, None;
    /// `size_of::<T>()`: the bytes of an element.
    SizeOf = "size_of", Function, 0..=0, Numbers, None, Host;
    /// `view.slice(i)`: element `i` of the first mode, without that mode.
    Slice = "slice", Method, 2..=2, Views, None;
    /// `view.bytes()`: the bytes of its elements.
    Bytes = "bytes", Method, 1..=1, Views, None;
    /// `layout.swizzle_bytes(128)`: the swizzle of a tensor map and of a warpgroup's matrices, over 32, 64 or 128 bytes.
    SwizzleBytes = "swizzle_bytes", Method, 2..=2, Layouts, None;
    /// `warp_group()`: the warpgroup's place in its block.
    WarpGroup = "warp_group", Function, 0..=0, Asynchronous, None;
    /// `cluster_rank()`: the block's place in its cluster.
    ClusterRank = "cluster_rank", Function, 0..=0, Asynchronous, Some(Feature::Clusters);
    /// `view.map_shared_rank(rank)`: the same view of the shared memory of block `rank` of the cluster.
    MapSharedRank = "map_shared_rank", Method, 2..=2, Asynchronous, Some(Feature::Clusters);
    /// `cluster_barrier()`: every thread of the cluster waits for every other.
    ClusterBarrier = "cluster_barrier", Function, 0..=0, Asynchronous, Some(Feature::Clusters);
    /// `grid_barrier()`: every thread of the grid waits for every other, in a kernel with `cooperative = true`.
    GridBarrier = "grid_barrier", Function, 0..=0, Threads, None;
    /// `grid_dependency_wait()`: waits for the launches before this one on the stream; it may begin before they end.
    GridDependencyWait = "grid_dependency_wait", Function, 0..=0, Asynchronous, None;
    /// `launch_dependents()`: the next launch on the stream may begin, where it waits for this one by itself.
    LaunchDependents = "launch_dependents", Function, 0..=0, Asynchronous, None;
    /// `named_barrier(id, threads)`: so many threads wait for each other at barrier `id`, 1 to 15.
    NamedBarrier = "named_barrier", Function, 2..=2, Asynchronous, None;
    /// `named_barrier_arrive(id, threads)`: this warp counts at barrier `id` and goes on.
    NamedBarrierArrive = "named_barrier_arrive", Function, 2..=2, Asynchronous, None;
    /// `set_max_registers(n)`: the warpgroup's threads have `n` registers from here on.
    SetMaxRegisters = "set_max_registers", Function, 1..=1, Asynchronous, Some(Feature::SetMaxRegisters);
    /// `mbarriers(count, arrivals)`: barriers in shared memory whose phases end after so many arrivals.
    Mbarriers = "mbarriers", Function, 2..=2, Asynchronous, Some(Feature::Mbarrier);
    /// `barriers.at(i)`: one of them.
    At = "at", Method, 2..=2, Asynchronous, None;
    /// `barrier.arrive()`
    Arrive = "arrive", Method, 1..=1, Asynchronous, None;
    /// `barrier.arrive_expect(bytes)`: arrives; the phase waits for the bytes that copies report, too.
    ArriveExpect = "arrive_expect", Method, 2..=2, Asynchronous, None;
    /// `barrier.arrive_remote(rank)`: arrives at the same barrier of another block of the cluster.
    ArriveRemote = "arrive_remote", Method, 2..=2, Asynchronous, None;
    /// `barrier.wait(parity)`: waits until the phase of this parity has ended.
    Wait = "wait", Method, 2..=2, Asynchronous, None;
    /// `pipeline_state(stages)`: where a thread is in a ring of stages: stage 0, phase 0.
    PipelineState = "pipeline_state", Function, 1..=1, Asynchronous, None;
    /// `state.stage()`: the stage.
    Stage = "stage", Method, 1..=1, Asynchronous, None;
    /// `state.phase()`: 0 or 1, the other one after each time round the ring.
    Phase = "phase", Method, 1..=1, Asynchronous, None;
    /// `state.advance()`: goes to the next stage.
    Advance = "advance", Method, 1..=1, Asynchronous, None;
    /// `tma_load(&mut dst, &src, barrier)`: one thread starts the copy of a tile; it reports its bytes to the barrier.
    TmaLoad = "tma_load", Function, 3..=3, Asynchronous, Some(Feature::Tma);
    /// `tma_load_multicast(&mut dst, &src, barrier, mask)`: to the blocks of the cluster that the mask names.
    TmaLoadMulticast = "tma_load_multicast", Function, 4..=4, Asynchronous, Some(Feature::Clusters);
    /// `tma_store(&mut dst, &src)`: one thread starts the copy of a tile from shared memory.
    TmaStore = "tma_store", Function, 2..=2, Asynchronous, Some(Feature::Tma);
    /// `tma_add(&mut dst, &src)`: as `tma_store`, but the elements are added to those of the tensor, each atomically.
    TmaAdd = "tma_add", Function, 2..=2, Asynchronous, Some(Feature::Tma);
    /// `store_async(&mut there, &registers, barrier)`: to shared memory of another block; its barrier counts the bytes.
    StoreAsync = "store_async", Function, 3..=3, Asynchronous, Some(Feature::Clusters);
    /// `bulk_commit_group()`: closes the group of the `tma_store`s and `tma_add`s that this thread issued since the last one.
    BulkCommitGroup = "bulk_commit_group", Function, 0..=0, Asynchronous, Some(Feature::Tma);
    /// `bulk_wait_group(n)`: waits until at most `n` groups of this thread are in flight.
    BulkWaitGroup = "bulk_wait_group", Function, 1..=1, Asynchronous, Some(Feature::Tma);
    /// `bulk_wait_group_read(n)`: likewise, until they have read shared memory.
    BulkWaitGroupRead = "bulk_wait_group_read", Function, 1..=1, Asynchronous, Some(Feature::Tma);
    /// `fence_async_proxy()`: the thread's accesses to shared memory before come before those of `tma_store` and `wgmma`.
    FenceAsyncProxy = "fence_async_proxy", Function, 0..=0, Asynchronous, Some(Feature::Tma);
    /// `accumulator([64, n])`: the warpgroup's part of a product, in registers: `(2, n / 8)` vectors of `(1, 2)`.
    Accumulator = "accumulator", Function, 1..=1, Asynchronous, Some(Feature::Wgmma);
    /// `accumulator_of::<i32>([64, n])`: the same of sums of another type, `i32` for products of integers.
    AccumulatorOf = "accumulator_of", Function, 1..=1, Fragments, Some(Feature::Wgmma);
    /// `wgmma(&mut acc, &a, &b, accumulate)`: `acc = a b` or `acc += a b`, by the warpgroup; in flight until the wait.
    Wgmma = "wgmma", Function, 4..=4, Asynchronous, Some(Feature::Wgmma);
    /// `wgmma_commit_group()`: closes the group of the products since the last one.
    WgmmaCommitGroup = "wgmma_commit_group", Function, 0..=0, Asynchronous, Some(Feature::Wgmma);
    /// `wgmma_wait_group(n)`: waits until at most `n` groups of the warpgroup are in flight.
    WgmmaWaitGroup = "wgmma_wait_group", Function, 1..=1, Asynchronous, Some(Feature::Wgmma);
    /// `store_matrix(&mut dst, &acc)`: by the warpgroup, rounded to the destination's type, with `stmatrix`.
    StoreMatrix = "store_matrix", Function, 2..=2, Asynchronous, Some(Feature::StoreMatrix);
    /// `view.load_relaxed([i, j])`: loads an element atomically, as it is in memory now; orders nothing.
    LoadRelaxed = "load_relaxed", Method, 2..=2, Together, None;
    /// `view.load_acquire([i, j])`: the same; what is after it sees what was written before the release.
    LoadAcquire = "load_acquire", Method, 2..=2, Together, None;
    /// `view.store_relaxed([i, j], x)`: stores an element atomically; orders nothing.
    StoreRelaxed = "store_relaxed", Method, 3..=3, Together, None;
    /// `view.store_release([i, j], x)`: the same, after all that this thread did before.
    StoreRelease = "store_release", Method, 3..=3, Together, None;
    /// `view.block_scope()`: the view whose atomic operations are between the threads of the block.
    BlockScope = "block_scope", Method, 1..=1, Views, None;
    /// `view.system_scope()`: the view whose atomic operations are between all threads, the host's too.
    SystemScope = "system_scope", Method, 1..=1, Views, None;
    /// `mma_atom::<T>([m, n, k])`: the matrix instruction of a warp for operands of type `T`.
    MmaAtom = "mma_atom", Function, 1..=1, Fragments, None;
    /// `core.load_a(&tile)`: the fragments of a tile of A, in registers.
    LoadA = "load_a", Method, 2..=2, Fragments, None;
    /// `core.load_b(&tile)`: the fragments of a tile of B, in registers.
    LoadB = "load_b", Method, 2..=2, Fragments, None;
    /// `core.mma(&mut acc, &a, &b)`: `acc += a b`, by the warp.
    Mma = "mma", Method, 4..=4, Fragments, None;
    /// `core.load_a_scales(&tile)`: the scales of a tile of A, one for each block of K, in registers.
    LoadAScales = "load_a_scales", Method, 2..=2, Fragments, Some(Feature::ScaledMma);
    /// `core.load_b_scales(&tile)`: the scales of a tile of B, in registers.
    LoadBScales = "load_b_scales", Method, 2..=2, Fragments, Some(Feature::ScaledMma);
    /// `core.mma_scaled(&mut acc, &a, &b, &a_scales, &b_scales)`: `acc += a b`, each block of K by its scales, by the warp.
    MmaScaled = "mma_scaled", Method, 6..=6, Fragments, Some(Feature::ScaledMma);
    /// `core.store_d(&mut tile, &acc)`: the accumulator to a tile.
    StoreD = "store_d", Method, 3..=3, Fragments, None;
    /// `view.evict_first()`: the view whose elements L2 gives up first, when they are moved.
    EvictFirst = "evict_first", Method, 1..=1, Views, Some(Feature::CachePolicy);
    /// `view.evict_last()`: the view whose elements L2 gives up last.
    EvictLast = "evict_last", Method, 1..=1, Views, Some(Feature::CachePolicy);
    /// `view.no_allocate()`: the view whose elements get no place in L1.
    NoAllocate = "no_allocate", Method, 1..=1, Views, None;
    /// `view.prefetch([i, j])`: L2 fetches the line of an element; nothing is read.
    Prefetch = "prefetch", Method, 2..=2, Asynchronous, None;
    /// `fence_async_proxy_global()`: the thread's accesses to global memory before come before those of TMA.
    FenceAsyncProxyGlobal = "fence_async_proxy_global", Function, 0..=0, Asynchronous, Some(Feature::Tma);
    /// `elect_one()`: whether this is the lane of its warp that was picked, always the same one.
    ElectOne = "elect_one", Function, 0..=0, Together, Some(Feature::ElectOne);
    /// `sync_warp()`: every thread of the warp waits for every other; what they wrote before is seen after.
    SyncWarp = "sync_warp", Function, 0..=0, Threads, None;
    /// `tensor_memory::<f32>([m, n])`: `m` rows of `n` columns of tensor memory, `[4, m / 4, n]`: a part for each warp.
    TensorMemory = "tensor_memory", Function, 1..=1, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_mma(&mut d, &a, &b, accumulate)`: `d = a b` or `d += a b` in tensor memory, by one thread; in flight until a commit.
    Tcgen05Mma = "tcgen05_mma", Function, 4..=4, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_commit(barrier)`: an arrival at the barrier when the products that this thread issued are complete.
    Tcgen05Commit = "tcgen05_commit", Function, 1..=1, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_load(&mut registers, &d.slice(warp))`: by a warp, its rows of tensor memory; in flight until the wait.
    Tcgen05Load = "tcgen05_load", Function, 2..=2, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_store(&mut d.slice(warp), &registers)`: by a warp, to its rows of tensor memory; in flight until the wait.
    Tcgen05Store = "tcgen05_store", Function, 2..=2, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_wait_load()`: waits for the warp's `tcgen05_load`s.
    Tcgen05WaitLoad = "tcgen05_wait_load", Function, 0..=0, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_wait_store()`: waits for the warp's `tcgen05_store`s.
    Tcgen05WaitStore = "tcgen05_wait_store", Function, 0..=0, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_fence_before_thread_sync()`: this thread's use of tensor memory comes before what its next synchronisation orders.
    Tcgen05FenceBefore = "tcgen05_fence_before_thread_sync", Function, 0..=0, TensorMemory, Some(Feature::Tcgen05);
    /// `tcgen05_fence_after_thread_sync()`: this thread's use of tensor memory comes after what its last synchronisation ordered.
    Tcgen05FenceAfter = "tcgen05_fence_after_thread_sync", Function, 0..=0, TensorMemory, Some(Feature::Tcgen05);
}

impl Intrinsic {
    /// The member of this name and form.
    pub fn from_name(name: &str, form: Form) -> Option<Intrinsic> {
        Intrinsic::ALL.iter().copied().find(|known| known.name() == name && known.form() == form)
    }

    /// Whether it is a method that may be written as a function too: `warp_sum(x)` for `x.warp_sum()`.
    pub fn is_free(self) -> bool {
        matches!(
            self,
            Intrinsic::WarpSum
                | Intrinsic::WarpMin
                | Intrinsic::WarpMax
                | Intrinsic::WarpAnd
                | Intrinsic::WarpOr
                | Intrinsic::WarpXor
        )
    }
}
