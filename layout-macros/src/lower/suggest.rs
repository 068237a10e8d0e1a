//! Suggestions for an unknown name: a near spelling, or the word for one of CUDA or of Rust's library.
//!
//! Law: a suggestion exists. It differs from the name by one slip in five letters, or is known to mean the same.

use layout_compiler::intrinsic::{Form, Intrinsic};

/// CUDA's and others' names, without `__` and a final `f`, in lower case with `_`; and ours.
const SYNONYMS: &[(&str, &str)] = &[
    ("syncthreads", "barrier"),
    ("sync_threads", "barrier"),
    ("sync_cube", "barrier"),
    ("workgroup_barrier", "barrier"),
    ("threadgroup_barrier", "barrier"),
    ("debug_barrier", "barrier"),
    ("syncwarp", "sync_warp"),
    ("warp_barrier", "sync_warp"),
    ("shfl_sync", "shuffle"),
    ("shfl", "shuffle"),
    ("shfl_up_sync", "shuffle_up"),
    ("shfl_down_sync", "shuffle_down"),
    ("shfl_xor_sync", "shuffle_xor"),
    ("ballot_sync", "ballot"),
    ("any_sync", "any"),
    ("all_sync", "all"),
    ("fma", "mul_add"),
    ("fabs", "abs"),
    ("fmin", "min"),
    ("fmax", "max"),
    ("log", "ln"),
    ("popc", "count_ones"),
    ("popcount", "count_ones"),
    ("clz", "leading_zeros"),
    ("ctz", "trailing_zeros"),
    ("brev", "reverse_bits"),
    ("dp4a", "dot4"),
    ("match_any_sync", "match_any"),
    ("match_all_sync", "match_all"),
    ("builtin_assume", "assume"),
    ("assert_unchecked", "assume"),
    ("vminu4", "min_u8x4"),
    ("vmaxu4", "max_u8x4"),
    ("atomic_cas", "atomic_compare_exchange"),
    ("atomic_exch", "atomic_exchange"),
    ("sizeof", "size_of"),
    ("ceildiv", "div_ceil"),
    ("cdiv", "div_ceil"),
    ("ceil_div", "div_ceil"),
    ("div_up", "div_ceil"),
    ("divup", "div_ceil"),
    ("shape", "dim"),
    ("extent", "dim"),
    ("shfl_up", "shuffle_up"),
    ("shfl_down", "shuffle_down"),
    ("shfl_xor", "shuffle_xor"),
    ("cp_async_wait_group", "async_copy_wait_group"),
    ("cp_async_commit_group", "async_copy_commit_group"),
    ("cp_async_wait_all", "async_copy_wait_all"),
    ("commit_group", "async_copy_commit_group"),
    ("fence_proxy_async", "fence_async_proxy"),
    ("setmaxnreg", "set_max_registers"),
    ("elect_sync", "elect_one"),
    ("cluster_sync", "cluster_barrier"),
    ("stmatrix", "store_matrix"),
    ("tma_reduce_add", "tma_add"),
    ("local_tile", "tile"),
    ("expect_tx", "arrive_expect"),
    ("try_wait", "wait"),
];

/// What is said otherwise here, of words that are no member's: in lower case with `_`, without `__` in front.
const ADVICE: &[(&[&str], &str)] = &[
    (&["get", "load", "read", "ldg", "at", "item"], "an element is read as `x[[i, j]]`"),
    (&["store", "set", "write", "put"], "an element is written as `x[[i, j]] = value;`"),
    (
        &["into", "from", "cast", "static_cast", "float", "int"],
        "a conversion is `x as f32`, or `x.cast::<f32>()`",
    ),
    (
        &["bitcast", "transmute", "reinterpret_cast", "float_as_int", "int_as_float", "float_as_uint"],
        "the bits of a number are `x.to_bits()`, and back `f32::from_bits(bits)`",
    ),
    (
        &["some", "none", "ok", "err", "unwrap", "expect", "unwrap_or", "is_some", "is_none"],
        "a kernel has no `Option` and no `Result`: keep a truth value beside the number, `(found, x)`",
    ),
    (
        &["global_idx", "get_global_id", "global_thread_id", "gtid", "global_invocation_id", "grid"],
        "it is `block_idx.x * block_dim.x + thread_idx.x`",
    ),
    (
        &["get_local_id", "local_idx", "unit_pos", "local_invocation_id"],
        "a thread's place in its block is `thread_idx.x`",
    ),
    (&["get_local_size", "cube_dim", "workgroup_size"], "the number of threads of a block is `block_dim.x`"),
    (
        &["get_num_groups", "num_programs", "cube_count", "num_workgroups"],
        "the number of blocks is `grid_dim.x`",
    ),
    (&["get_global_size"], "the number of threads is `grid_dim.x * block_dim.x`"),
    (&["mean", "average", "avg"], "a mean is a sum over a number: `sum / n as f32`"),
    (
        &["get_group_id", "program_id", "cube_pos", "workgroup_id"],
        "a block's place in the grid is `block_idx.x`",
    ),
    (&["arange"], "each thread has an element of its own, `thread_idx.x`; a loop is `for i in 0..n`"),
    (&["sigmoid", "silu", "swish"], "a sigmoid is `1.0 / (1.0 + (-x).exp())`"),
    (&["relu", "leaky_relu", "clip"], "bounds are `x.max(0.0)`, `x.min(1.0)`, `x.clamp(0.0, 1.0)`"),
    (&["sqr", "square"], "a power is `x * x`, `x.powi(3)`"),
    (
        &["gelu"],
        "GELU is `0.5 * x * (1.0 + (x * 0.707_106_77).erf())`, by a hyperbolic tangent \
         `0.5 * x * (1.0 + (0.797_884_56 * (x + 0.044_715 * x * x * x)).tanh())`",
    ),
    (&["erfc"], "the complement of the error function is `1.0 - x.erf()`"),
    (&["clone", "to_owned", "borrow", "as_ref", "as_mut"], "numbers and views are copied: leave it out"),
    (
        &["rows", "cols", "columns", "nrows", "ncols", "height", "width"],
        "the extent of a mode is `x.dim(0)`, or the dimension's name: `M`",
    ),
    (
        &["sort", "sort_unstable", "sort_by", "sort_by_key", "reverse"],
        "a kernel has no sort: a network of `a.min(b)` and `a.max(b)`, or `own.swap(i, j)` of an array",
    ),
    (
        &[
            "float2half",
            "float2half_rn",
            "half2float",
            "float2bfloat16",
            "bfloat162float",
            "to_f16",
            "to_bf16",
            "to_f32",
            "from_f32",
            "to_f64",
            "from_f64",
        ],
        "a conversion is `x.cast::<f16>()`, `x.cast::<bf16>()`, `x.cast::<f32>()`",
    ),
    (
        &["as_ptr", "as_mut_ptr", "ptr", "offset", "data", "data_ptr"],
        "a kernel has no pointers: an element is `x[[i, j]]`, a part `x.tile([m, n], [i, j])`",
    ),
    (
        &["dot", "matmul", "gemm"],
        "write the sum as a loop; matrix units are `mma_atom::<f16>([16, 8, 16])`, `wgmma`",
    ),
    (
        &["shared_memory", "shared_array", "smem", "shared"],
        "shared memory is `shared::<f32>(row_major([32, 32]))`",
    ),
    (
        &["flatten", "ravel", "view", "view_as", "unsqueeze"],
        "other extents over the same elements: `x.reshape([M * N])`",
    ),
    (&["t"], "a view with its modes in reverse order is `x.transpose()`"),
    (&["shape", "size", "dims", "extents", "strides", "numel", "len"], "the extent of a mode is `x.dim(0)`"),
    (
        &["printf", "print", "cout", "device_print", "println"],
        "a kernel prints by `println!(\"{i}: {}\", x[[i]])`; results are written to a `&mut` tensor",
    ),
    (
        &[
            "warp_reduce",
            "block_reduce",
            "reduce",
            "reduce_sum",
            "simd_sum",
            "reduce_add_sync",
            "subgroup_add",
            "sub_group_reduce_add",
        ],
        "a sum over a warp is `x.warp_sum()`, over a block `x.block_sum()`; so are maxima and minima",
    ),
    (
        &["stack_allocation", "tb", "alloc"],
        "shared memory is `shared::<f32>(row_major([32, 32]))`, registers are `local::<f32>(row_major([8, 8]))`",
    ),
    (&["malloc", "alloca"], "registers are `local::<f32>(row_major([n]))` or `[0.0; n]`"),
    (
        &["copy_sram_to_dram", "copy_local_to_dram", "copy_sram_to_local", "copy_local_to_sram"],
        "it is `to.copy_from(&from)` of each thread's part: \
         `c_tile.distribute(threads, thread_idx.x).copy_from(&c_smem.distribute(threads, thread_idx.x))`, or `to.copy_from(&registers)`",
    ),
    (
        &["mbarrier_init", "mbarrier_inval"],
        "it is `let barriers = mbarriers(count, arrivals);` by every thread, and one of them `barriers.at(i)`",
    ),
    (
        &["mbarrier_arrive_expect_tx_shared", "mbarrier_arrive_expect_tx", "mbarrier_arrive"],
        "it is `barriers.at(i).arrive_expect(bytes)`, without bytes `barriers.at(i).arrive()`",
    ),
    (
        &["mbarrier_try_wait_parity_shared", "mbarrier_try_wait", "mbarrier_test_wait"],
        "it is `barriers.at(i).wait(parity)`, which waits until the phase has ended",
    ),
    (
        &["cp_async_bulk_tensor_shared_cluster_global", "cp_async_bulk_tensor", "cp_async_bulk"],
        "it is `tma_load(&mut smem, &x.tile([m, n], [i, j]), barriers.at(k))`",
    ),
    (&["cp_async_bulk_tensor_global_shared_cta"], "it is `tma_store(&mut y.tile([m, n], [i, j]), &smem)`"),
    (&["tma_store_fence"], "it is `fence_async_proxy()`, before the `barrier()` in front of `tma_store`"),
    (
        &["create_tma_descriptor", "create_tensor_map"],
        "a kernel takes the tensor itself: each launch makes the descriptors that its `tma_load`s and `tma_store`s need",
    ),
    (
        &["mma_op", "mma_sync", "ldmatrix", "load_matrix", "load_matrix_sync"],
        "it is `core.mma(&mut acc, &core.load_a(&a), &core.load_b(&b))` with `let core = mma_atom::<f32>([16, 8, 8]);`",
    ),
    (
        &["simd_width_of", "simdwidthof"],
        "a vector of 16 bytes has `16 / size_of::<f32>()` elements: `x.vectorize([1, 4])`",
    ),
    (
        &["async_copy", "cp_async", "memcpy_async", "copy_async", "copy", "memcpy", "load_tile", "copy_tile"],
        "it is `copy_dram_to_sram_async(&mut tile, &view, threads)` of a block, `tile.copy_from_async(&view)` of a thread",
    ),
    (
        &["clear", "zero_", "zeros", "zeros_like", "ones_like", "full"],
        "elements get one value by `x.fill(0.0)`",
    ),
    (&["zero"], "zero is the literal `0.0`, or `T::ZERO`; elements get one value by `x.fill(0.0)`"),
    (
        &["row", "get_row", "col", "column"],
        "a row is the view `x.slice(i)`, a column `x.transpose().slice(j)`",
    ),
    (
        &["clock", "clock64", "globaltimer"],
        "a kernel reads no clock: time its launches, `layout_cuda::bench`",
    ),
    (
        &["threadfence", "memory_barrier"],
        "it is `fence_device()`; of a block's threads alone `fence_block()`",
    ),
    (&["threadfence_block"], "it is `fence_block()`"),
    (&["threadfence_system"], "it is `fence_system()`"),
    (
        &["warpgroup_arrive", "wgmma_fence"],
        "`wgmma` needs no fence before it: the compiler has it where it is due",
    ),
    (
        &["swizzle_128b", "swizzle128"],
        "the swizzle of TMA and `wgmma` is `row_major([64, 64]).swizzle_bytes(128)`",
    ),
    (&["isqrt"], "the root of an integer is `(n as f64).sqrt() as u32`, exact below 2^52"),
    (&["leading_ones"], "leading ones are `(!x).leading_zeros()`"),
    (&["trailing_ones"], "trailing ones are `(!x).trailing_zeros()`"),
    (&["unsigned_abs"], "the size of a number is `x.abs() as u32`"),
    (
        &["is_sign_negative", "is_sign_positive"],
        "the sign with that of zero is `x.to_bits() >> 31 == 1`; `x < 0.0` is without",
    ),
    (
        &["to_degrees", "to_radians"],
        "degrees are `x * (180.0 / PI)`, radians `x * (PI / 180.0)`, with `const PI: f32 = ..`",
    ),
    (
        &["total_cmp", "partial_cmp"],
        "numbers are compared by `<`, `==` and `>`, with a NaN none of them holds; the larger one is `a.max(b)`",
    ),
    (
        &["next_power_of_two"],
        "the next power of two of a `u32` above 1 is `1 << (32 - (x - 1).leading_zeros())`",
    ),
    (&["contains"], "a number is in a range where `low <= i && i < high`"),
    (
        &["checked_add", "checked_sub", "checked_mul", "overflowing_add", "overflowing_sub"],
        "a kernel has no `Option`: `a.wrapping_add(b)`, `a.saturating_add(b)`; whether a sum leaves a `u32` is `a > u32::MAX - b`",
    ),
    (&["to_le_bytes", "to_be_bytes", "to_ne_bytes"], "a byte of a number is `(x >> (8 * i)) as u8`"),
    (
        &["rand", "random", "curand"],
        "a kernel has no random numbers: compute them of a counter (Philox), or pass them",
    ),
];

/// The same of constants, which are alone.
const CONSTANTS: &[(&[&str], &str)] = &[
    (
        &["math", "np", "numpy", "torch", "tl", "cuda", "gpu", "jnp", "cub", "libdevice"],
        "no word of a kernel belongs to a module: `x.exp()`, `a.max(b)`, `barrier()`; `layout_cuda::lang` lists them",
    ),
    (
        &["nullptr", "null", "nil"],
        "a kernel has no pointers: a tensor is always there, with each extent 0 or more",
    ),
    (
        &[
            "tid",
            "tx",
            "thread_id",
            "local_id",
            "idx",
            "gid",
            "global_id",
            "global_invocation_id",
            "local_invocation_id",
        ],
        "a thread's place is `thread_idx.x`, over all blocks `block_idx.x * block_dim.x + thread_idx.x`",
    ),
    (&["num_workgroups", "num_groups"], "the number of blocks is `grid_dim.x`"),
    (&["bid", "bx", "block_id", "group_id"], "a block's place is `block_idx.x`"),
    (&["shared__", "smem"], "shared memory is `let mut held = shared::<f32>(row_major([32, 32]));`"),
    (&["none"], "a kernel has no `Option`: keep a truth value next to the number, `(found, x)`"),
    (&["warp_size"], "a warp has 32 lanes: write `32`, or a `const` of the kernel"),
    (
        &["pi", "e", "tau", "sqrt_2", "ln_2", "m_pi"],
        "constants are `consts::PI`, `std::f64::consts::PI` and their kind",
    ),
    (
        &["infinity", "nan", "inf", "flt_max", "int_max"],
        "constants of a type are `f32::INFINITY`, `f32::NAN`, `i32::MAX` and their kind",
    ),
];

/// What to write instead of a name that is no member's and no other name's, called or a field.
pub fn advice(text: &str) -> Option<&'static str> {
    said(text, ADVICE)
}

/// The same of a name that is alone.
pub fn constant(text: &str) -> Option<&'static str> {
    said(text, CONSTANTS)
}

fn said(text: &str, table: &[(&[&str], &'static str)]) -> Option<&'static str> {
    let plain = snake_case(text.trim_start_matches('_')).to_lowercase();
    let plain = if text.chars().all(|letter| !letter.is_lowercase()) { text.to_lowercase() } else { plain };
    table.iter().find(|(words, _)| words.contains(&plain.as_str())).map(|(_, way)| *way)
}

/// Types of other languages and of Rust's library, and what represents them.
const TYPES: [(&[&str], &str); 8] = [
    (
        &["mem"],
        "two places are exchanged by `(a, b) = (b, a);`, replaced by `let old = a; a = b;`, taken by `let old = a; a = 0;`",
    ),
    (
        &["int", "long", "short", "char"],
        "the integers are `i32`, `i64`, `i16`, `i8` and `u32`, `u64`, `u16`, `u8`; an index is `usize`",
    ),
    (&["float", "double", "half"], "the floats are `f32`, `f64`, `f16`, `bf16`"),
    (
        &["float2", "float4", "int2", "int4", "uint4", "float3", "half2"],
        "several elements at once are a view: `x.tile([1, 4], [i, j]).vectorize([1, 4]).to_local()`, or an array `[f32; 4]`",
    ),
    (
        &["Vec", "Box", "String", "HashMap", "Rc", "VecDeque"],
        "a kernel has no heap: an array `[0.0; 8]`, registers `local::<f32>(layout)`, or `shared::<f32>(layout)`",
    ),
    (
        &["Option", "Result"],
        "a kernel has no `Option` and no `Result`: keep a truth value beside the number, `(found, x)`",
    ),
    (
        &["SharedMemory", "SharedArray", "LayoutTensorBuild"],
        "shared memory is `shared::<f32>(row_major([32, 32]))`",
    ),
    (&["str", "char"], "a kernel has no text: numbers and truth values are all there is"),
];

/// What to write instead of a type of another language or of Rust's library, or of a function of one: `Vec::new`.
pub fn type_advice(text: &str) -> Option<&'static str> {
    let first = text
        .trim_start_matches('&')
        .trim_start_matches("std::")
        .trim_start_matches("core::")
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .next()?;
    TYPES.iter().find(|(words, _)| words.contains(&first)).map(|(_, way)| *way)
}

/// Names as a list.
pub fn list<'n>(names: impl Iterator<Item = &'n proc_macro2::Ident>) -> String {
    names.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// A type or a path as it is written.
pub fn text_of(node: &impl quote::ToTokens) -> String {
    let text = node.to_token_stream().to_string();
    text.replace(" :: ", "::")
        .replace(" < ", "<")
        .replace("< ", "<")
        .replace(" >", ">")
        .replace(" <", "<")
        .replace(" ;", ";")
}

/// A method as it is called, with its arguments where its line in the vocabulary shows them.
pub fn called(name: &str) -> String {
    let Some(word) = Intrinsic::from_name(name, Form::Method) else { return format!("x.{name}(..)") };
    let shown = word.summary().split('`').nth(1).filter(|shown| shown.contains(&format!(".{name}(")));
    match (word, shown) {
        (Intrinsic::Math(_), _) | (_, None) => {
            let others = ["y", "z", "w"].get(..word.arity().1 - 1).unwrap_or_default();
            format!("x.{name}({})", others.join(", "))
        }
        (_, Some(shown)) => shown.to_owned(),
    }
}

/// A help about `x` as one about the receiver.
pub fn of(receiver: &str, help: &str) -> String {
    let mut out = String::new();
    for (number, part) in help.split('`').enumerate() {
        if number > 0 {
            out.push('`');
        }
        let code = number % 2 == 1;
        let mut before = ' ';
        for (at, letter) in part.char_indices() {
            let after = part[at..].chars().nth(1).unwrap_or(' ');
            let word = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.');
            match code && letter == 'x' && !word(before) && (after == '.' || !word(after)) {
                true => out += receiver,
                false => out.push(letter),
            }
            before = letter;
        }
    }
    out
}

/// The special values' names in CUDA.
const PLACES: [(&str, &str); 4] = [
    ("threadIdx", "thread_idx"),
    ("blockIdx", "block_idx"),
    ("blockDim", "block_dim"),
    ("gridDim", "grid_dim"),
];

/// A member of the vocabulary as it is called.
pub fn member(name: &str) -> Option<String> {
    let own = |known: &&Intrinsic| known.name() == name && known.form() != Form::Internal;
    Intrinsic::ALL.iter().find(own).map(|known| match known.form() {
        Form::Function if known.arity().1 == 0 => format!("{name}()"),
        Form::Function => format!("{name}(..)"),
        Form::Method => called(name),
        Form::Associated => format!("T::{name}(x)"),
        Form::Internal => name.to_owned(),
    })
}

/// The member of the vocabulary that a name of CUDA or of Rust represents, as it is called.
pub fn synonym(text: &str) -> Option<String> {
    let plain = snake_case(text.trim_start_matches('_'));
    let short = plain.strip_suffix('f').unwrap_or(&plain);
    let meant = |name: &str| SYNONYMS.iter().find(|(other, _)| *other == name).map(|(_, own)| *own);
    meant(&plain)
        .or_else(|| meant(short))
        .and_then(member)
        .or_else(|| member(&plain).filter(|_| plain != text))
        .or_else(|| member(short).filter(|_| short != text))
        .or_else(|| member(plain.strip_prefix("cp_async_")?))
}

/// `threadIdx` and the like.
pub fn place(text: &str) -> Option<&'static str> {
    PLACES.iter().find(|(other, _)| *other == text).map(|(_, own)| *own)
}

/// The nearest of these names, if it is near enough to be meant. Capital letters count for nothing.
pub fn nearest<'n>(text: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let far = |known: &str| distance(&known.to_lowercase(), &text.to_lowercase());
    let near = names.map(|known| (far(known), known)).filter(|(distance, _)| *distance <= likely(text));
    near.min().map(|(_, name)| name)
}

/// How many slips a name may have and still be meant: a short one would be another word.
fn likely(text: &str) -> usize {
    match text.chars().count() {
        0..=3 => 0,
        letters => (letters / 5).max(1),
    }
}

/// `atomicAdd` as `atomic_add`.
fn snake_case(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        if letter.is_uppercase() && !out.is_empty() && !out.ends_with('_') {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

/// The letters to insert, remove or replace, and the neighbours to exchange, between two names.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::{advice, constant, nearest, synonym};
    use layout_compiler::intrinsic::Intrinsic;

    #[test]
    fn near_spellings_are_meant_and_other_words_are_not() {
        let near = |text| nearest(text, Intrinsic::ALL.iter().map(|known| known.name()));
        assert_eq!(near("tiel"), Some("tile"));
        assert_eq!(near("barier"), Some("barrier"));
        assert_eq!(near("Sqrt"), Some("sqrt"));
        assert_eq!(near("copy_dram_to_sram_asinc"), Some("copy_dram_to_sram_async"));
        for other in ["qux", "shape", "warp_barrier", "helper", "len"] {
            assert_eq!(near(other), None, "{other}");
        }
    }

    #[test]
    fn words_of_others_are_said_otherwise() {
        for word in ["get", "__ldg", "unwrap", "T", "Some", "into"] {
            assert!(advice(word).is_some(), "{word}");
        }
        assert!(["WARP_SIZE", "PI", "M_PI"].map(constant).iter().all(Option::is_some));
        assert_eq!(constant("SIZE"), None);
        for word in ["helper", "tile", "scale", "x"] {
            assert_eq!(advice(word), None, "{word}");
        }
    }

    /// Each word of the tutorials leads to one that is in the vocabulary, and a copy to the other direction to no opposite one.
    #[test]
    fn words_of_mojo_lead_to_ours() {
        for (word, ours) in [
            ("create_tma_descriptor", "tma_load"),
            ("mbarrier_init", "mbarriers("),
            ("mbarrier_arrive_expect_tx_shared", "arrive_expect("),
            ("mbarrier_try_wait_parity_shared", "wait("),
            ("cp_async_bulk_tensor_shared_cluster_global", "tma_load("),
            ("cp_async_bulk_tensor_global_shared_cta", "tma_store("),
            ("tma_store_fence", "fence_async_proxy()"),
            ("mma_op", "mma_atom::<"),
            ("simd_width_of", "size_of::<"),
            ("stack_allocation", "shared::<"),
            ("tb", "shared::<"),
            ("alloc", "shared::<"),
            ("copy_sram_to_dram", "c_tile.distribute("),
            ("copy_local_to_dram", "copy_from("),
        ] {
            let way = advice(word).unwrap_or_default();
            assert!(way.contains(ours), "{word}: {way}");
            let name = ours.trim_start_matches("c_tile.").split(['(', ':']).next().unwrap_or_default();
            assert!(Intrinsic::ALL.iter().any(|known| known.name() == name), "{name}");
        }
    }

    #[test]
    fn words_of_cuda_lead_to_ours() {
        for (text, ours) in [
            ("__syncthreads", "barrier()"),
            ("atomicAdd", "view.atomic_add([i, j], x)"),
            ("sqrtf", "x.sqrt()"),
            ("__expf", "x.exp()"),
            ("__shfl_xor_sync", "x.shuffle_xor(n)"),
            ("fmaf", "x.mul_add(y, z)"),
            ("logf", "x.ln()"),
            ("shape", "view.dim(n)"),
            ("ceildiv", "a.div_ceil(b)"),
            ("cp_async_bulk_commit_group", "bulk_commit_group()"),
        ] {
            assert_eq!(synonym(text).as_deref(), Some(ours), "{text}");
        }
        assert_eq!(synonym("helper"), None);
    }
}
