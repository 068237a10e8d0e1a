//! `block` and `grid` that follow from the body: the same launches as with the entries written, or an error with its reason.

mod random;
mod tiles;
mod turing;

use layout_compiler::launch::{Extent, LaunchPlan, PlanArgumentKind};
use layout_compiler::{Kernel, LaunchArgument, Promises, compile};

/// The book's first kernel and the kernels to learn from: their entries are the ones that follow unless [`REFUSED`] names them.
const SOURCES: [&str; 12] = [
    include_str!("../../book/listings/first.rs"),
    include_str!("../../examples/kernels/banks.rs"),
    include_str!("../../examples/kernels/bodies.rs"),
    include_str!("../../examples/kernels/elementwise.rs"),
    include_str!("../../examples/kernels/matmul.rs"),
    include_str!("../../examples/kernels/register_tiles.rs"),
    include_str!("../../examples/kernels/schedule.rs"),
    include_str!("../../examples/kernels/puzzles/convolution.rs"),
    include_str!("../../examples/kernels/puzzles/matmul.rs"),
    include_str!("../../examples/kernels/puzzles/reduce.rs"),
    include_str!("../../examples/kernels/puzzles/scan.rs"),
    include_str!("../../examples/kernels/puzzles/stencil.rs"),
];

/// Kernels whose bodies do not say the threads of a block: their indices are made of `block_dim`.
const REFUSED: [&str; 7] = [
    "naive",
    "coalescing",
    "matmul_naive",
    "conv_1d_block_boundary",
    "pooling",
    "prefix_sum_add_totals",
    "prefix_sum_local",
];

fn kernel(text: &str) -> Result<Kernel, String> {
    crate::kernel(text)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// The kernels of a file: each `#[tiled_kernel(..)]` with its function.
fn functions(source: &str) -> Vec<String> {
    let file = syn::parse_file(source).expect("a file");
    let functions = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Fn(mut function) => {
            function.attrs.retain(|attribute| attribute.path().is_ident("tiled_kernel"));
            function.attrs.first()?;
            Some(quote::quote!(#function).to_string())
        }
        _ => None,
    });
    functions.collect()
}

/// The text without `block` or without both entries.
fn without(text: &str, names: &[&str]) -> String {
    let mut function: syn::ItemFn = syn::parse_str(text).expect("a function");
    let syn::Meta::List(list) = &mut function.attrs[0].meta else { panic!("entries") };
    let kept = crate::attr::split(list.tokens.clone()).into_iter().filter(|entry| {
        let first = entry.clone().into_iter().next().map(|tree| tree.to_string());
        !first.is_some_and(|first| names.contains(&first.as_str()))
    });
    let kept: Vec<proc_macro2::TokenStream> = kept.collect();
    list.tokens = quote::quote!(#(#kept),*);
    quote::quote!(#function).to_string()
}

/// Block and grid of a launch whose dimensions have these values, or why there is none.
fn launched(plan: &LaunchPlan, sizes: &[i64]) -> Result<([u32; 3], [u32; 3]), String> {
    let dim = |number: u32| sizes[number as usize % sizes.len()] as usize;
    let shapes: Vec<Vec<usize>> = plan
        .arguments
        .iter()
        .map(|argument| match &argument.kind {
            PlanArgumentKind::Tensor { extents, .. } => extents
                .iter()
                .map(|extent| match extent {
                    Extent::Dim(number) => dim(*number),
                    Extent::Static(value) => *value as usize,
                    Extent::Computed(_) => 1,
                })
                .collect(),
            _ => vec![],
        })
        .collect();
    let strides: Vec<Vec<usize>> = shapes
        .iter()
        .map(|shape| (0..shape.len()).map(|mode| shape[mode + 1..].iter().product()).collect())
        .collect();
    let arguments: Vec<LaunchArgument<'_>> = plan
        .arguments
        .iter()
        .enumerate()
        .map(|(number, argument)| match &argument.kind {
            PlanArgumentKind::Tensor { elem, .. } => LaunchArgument::Tensor {
                elem: *elem,
                shape: &shapes[number],
                strides: &strides[number],
                address: 0,
                len: shapes[number].iter().product(),
            },
            PlanArgumentKind::Scalar(elem) => LaunchArgument::Scalar(*elem, 1),
            PlanArgumentKind::Index => LaunchArgument::Index(1),
        })
        .collect();
    let bound = plan.bind(&arguments, None).map_err(|error| error.to_string())?;
    Ok((bound.block, bound.grid))
}

/// The launches of a kernel's sets, over several sizes.
fn launches(kernel: &Kernel) -> Vec<String> {
    let mut out = vec![];
    for set in kernel.parameter_sets() {
        let checked = compile(kernel, &set, Promises { narrow: true, aligned: false, variant_if: None });
        let checked = checked.unwrap_or_else(|errors| panic!("{}: {errors}", kernel.name));
        for sizes in [[1, 1, 1], [7, 5, 3], [8, 8, 8], [64, 64, 64], [100, 300, 77], [1028, 1024, 2048]] {
            out.push(format!("{:?}", launched(checked.plan(), &sizes)));
        }
    }
    out
}

#[test]
fn the_kernels_to_learn_from_have_the_same_launches_without_their_entries() {
    let mut follow = 0;
    for text in SOURCES.iter().flat_map(|source| functions(source)) {
        let written = kernel(&text).unwrap_or_else(|error| panic!("{error}"));
        let bare = kernel(&without(&text, &["block", "grid"]));
        if REFUSED.contains(&written.name.as_str()) {
            let error = bare.expect_err("a body that does not say it");
            assert!(error.contains("says how many threads a block has"), "{}: {error}", written.name);
            assert!(error.contains("`block_dim` is what `block` says"), "{}: {error}", written.name);
            // The grid of all but one follows once there is a block.
            match (kernel(&without(&text, &["grid"])), written.name == "prefix_sum_local") {
                (Ok(half), false) => assert_eq!(launches(&written), launches(&half), "{}", written.name),
                (half, _) => assert_eq!(half.expect("a kernel").grid, None, "{}", written.name),
            }
            continue;
        }
        let bare = bare.unwrap_or_else(|error| panic!("{}: {error}", written.name));
        assert_eq!(launches(&written), launches(&bare), "{}", written.name);
        follow += 1;
    }
    assert_eq!(follow, 19);
}

/// A body that does not say an entry, with the reason and the way out.
#[test]
fn what_does_not_follow_says_what_was_found_and_what_to_write() {
    let tensors = "x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>, z: &mut LayoutTensor<f32, RowMajor<M>>";
    for (entries, body, words) in [
        (
            "",
            "let i = block_idx.x * block_dim.x + thread_idx.x; if i < N { y[[i]] = 1.0; }",
            [
                "how many threads a block has: nothing says how many threads there are; `block_dim` is what `block` says",
                "write `block = [256]`",
            ],
        ),
        (
            "",
            "for i in (thread_idx.x..N).step_by(64) { y[[i]] = 1.0; } for i in (thread_idx.x..M).step_by(32) { z[[i]] = 1.0; }",
            [
                "the body says `64` of `thread_idx.x` in one place and `32` in another",
                "`block = [64]` or `block = [32]`",
            ],
        ),
        (
            "",
            "let i = block_idx.y * 8 + thread_idx.y; if i < N { y[[i]] = x[[i]] * thread_idx.x as f32; }",
            ["nothing says how many `thread_idx.x` there are", "write `block = [32, 8]`"],
        ),
        (
            "",
            "let mut s = shared::<f32>(row_major([64])); copy_dram_to_sram(&mut s, &x.tile([64], [block_idx.x]), row_major([64])); barrier();
             let mut k = thread_idx.x; while k < 64 { y.tile([64], [block_idx.x])[[k]] = s[[k]]; k += 128; }",
            [
                "its thread layouts may be of a part of the threads, and the places of `y` that they write are not understood",
                "write `block = [256]`",
            ],
        ),
        (
            "",
            "y.tile([32], [block_idx.x]).fill(1.0);",
            ["it names no `thread_idx` and no thread layout", "write `block = [256]`"],
        ),
        (
            "",
            "if thread_idx.x < 10 { y.tile([10], [block_idx.x])[[thread_idx.x]] = 1.0; }",
            ["nothing says how many threads there are", "write `block = [256]`"],
        ),
        (
            "BLOCK = 32,",
            "for i in (block_idx.x * BLOCK + thread_idx.x..N).step_by(BLOCK * grid_dim.x) { y[[i]] = 1.0; } z.tile([BLOCK], [block_idx.x])[[thread_idx.x]] = 0.0;",
            ["how many blocks the grid has: it names `grid_dim`", "with an argument `blocks: usize`"],
        ),
        (
            "",
            "let i = block_idx.x * 32 + thread_idx.x; if i < N { y[[i]] = 1.0; } if i < M { z[[i]] = 1.0; }",
            [
                "`y` has N.div_ceil(32) parts along `block_idx.x`, and `z` has M.div_ceil(32)",
                "`N.div_ceil(32)` or `M.div_ceil(32)`",
            ],
        ),
        (
            "",
            "let i = thread_idx.x; if i < 64 { let _ = x[[i]]; } y.tile([64], [0])[[i]] = 1.0;",
            [
                "it names no `block_idx`, and one block covers 64 of the N elements of mode 0 of `y`",
                "write `grid = [1]`",
            ],
        ),
        (
            "",
            "let i = block_idx.x * 32 + thread_idx.x; if i < N { y[[N - 1 - i]] = 1.0; } y.tile([32], [block_idx.x])[[thread_idx.x]] = 2.0;",
            [
                "`N - 1 - 32 * block_idx.x - thread_idx.x` of mode 0 of `y` is not `block_idx` times the length of a block's part",
                "write `grid = [",
            ],
        ),
        (
            "",
            "let i = block_idx.x * 32 + thread_idx.x; if i < N { y[[x[[i]] as usize]] = 1.0; z.tile([32], [block_idx.x])[[thread_idx.x]] = 1.0; }",
            ["a coordinate of mode 0 of `y` is read from memory", "write `grid = ["],
        ),
        (
            "",
            "let i = block_idx.x * 32 + thread_idx.x; if i < N { y[[i]] = 1.0; z.atomic_add([0], 1.0); }",
            ["`z` gathers what several blocks have", "write `grid = ["],
        ),
        (
            "",
            "let i = block_idx.x * 32 + thread_idx.x; if i < N { y[[i]] = 1.0; z[[block_idx.x / 8]] = 1.0; }",
            ["a coordinate of mode 0 of `z` is a quotient or a remainder of `block_idx`", "write `grid = ["],
        ),
        (
            "",
            "let i = block_idx.x * 32 + thread_idx.x; if i < N { y[[i]] = 1.0; z[[0]] = 1.0; }",
            ["no coordinate of `z` has `block_idx.x`, which the body names", "write `grid = ["],
        ),
        (
            "",
            "let mut i = block_idx.x; y.tile([32], [block_idx.x])[[thread_idx.x]] = 1.0; while i < M { z[[i]] = 1.0; i += 7; }",
            ["a coordinate of mode 0 of `z` is a variable that the body changes", "write `grid = ["],
        ),
    ] {
        let text = format!(
            "#[tiled_kernel({entries})] fn random<const N: usize, const M: usize>({tensors}) {{ {body} }}"
        );
        let error = kernel(&text).map(|_| String::new()).unwrap_or_else(|error| error);
        assert!(words.iter().all(|words| error.contains(words)), "{body}\n{error}\nwanted {words:?}");
    }
}
