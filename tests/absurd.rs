//! What is absurd: refused where it is, in words.

use layout_compiler::{Promises, compile};
use layout_core::algebra::left_inverse;
use layout_core::{Layout, LayoutError};
use layout_cuda::{Device, Error, TensorError};

/// What is said of a kernel with these entries of the attribute, and an argument of this name.
fn said(entries: &str, argument: &str) -> String {
    let text = format!(
        "#[tiled_kernel({entries}, grid = [1])]\n\
         fn absurd({argument}: &mut LayoutTensor<f32, RowMajor<32>>) {{ {argument}[[thread_idx.x]] = 1.0; }}"
    );
    let kernel = match layout_text::kernel(&text) {
        Ok(kernel) => kernel,
        Err(errors) => return format!("{errors:?}"),
    };
    let set = match kernel.listed() {
        Ok(sets) => sets.into_iter().next().expect("a set"),
        Err(errors) => return errors.to_string(),
    };
    match compile(&kernel, &set, Promises::USUAL) {
        Ok(_) => "nothing".into(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn entries_that_no_gpu_takes() {
    for (entries, argument, wanted) in [
        ("block = [32]", "x", "nothing"),
        ("block = [32], min_blocks = 1000000", "x", "a multiprocessor holds at most 32 blocks of 32 threads"),
        ("block = [256], min_blocks = 17", "x", "a multiprocessor holds at most 8 blocks of 256 threads"),
        ("block = [32], min_blocks = 0", "x", "0 is no entry of `min_blocks`"),
        ("block = [100000]", "x", "a GPU takes at most 1024"),
        ("block = [0]", "x", "0 is no entry of `block`"),
        ("block = [32], arch = \"sm_999\"", "x", "`sm_999` is no architecture"),
        ("block = [32], arch = \"sm_90a\", cluster = [16]", "x", "nothing"),
        (
            "block = [32], arch = \"sm_90a\", cluster = [4, 5]",
            "x",
            "a cluster of 20 blocks; sm_90a runs at most 16",
        ),
        ("block = [32], arch = \"sm_120\", cluster = [16]", "x", "sm_120 runs at most 8 as one"),
        ("block = [32], opt_level = 77", "x", "it may be 0 to 3"),
        ("block = [32]", "DEFINITION", "an argument is called `DEFINITION`"),
        ("block = [32]", "SOURCE", "an argument is called `SOURCE`"),
    ] {
        let found = said(entries, argument);
        assert!(found.contains(wanted), "{entries}, {argument}: {found}");
    }
}

/// Before one of them is compiled: that would take minutes.
#[test]
fn long_lists_are_refused_at_once() {
    let list: Vec<String> = (0..100_000).map(|value: u32| value.to_string()).collect();
    let found = said(&format!("block = [32], B = [{}]", list.join(", ")), "x");
    assert!(found.contains("`B` has 100000 values"), "{found}");
}

#[test]
fn a_tensor_takes_no_other_shape() -> Result<(), Error> {
    let device = Device::simulator();
    let from = device.upload(&[1.0f32; 12], [3, 4])?;
    let mut other = device.zeros::<f32, 2>([4, 3])?;
    let refused = other.copy_from(&from).expect_err("another shape");
    assert!(matches!(refused, Error::Tensor(TensorError::Unlike { .. })), "{refused}");
    assert_eq!(other.download()?, [0.0; 12]);
    Ok(())
}

/// What is said of a kernel with this body; nothing where it is one.
fn said_of(body: &str) -> String {
    let text = format!(
        "#[tiled_kernel(B = 64, block = [32], grid = [1])]
fn absurd<const N: usize>(x: &LayoutTensor<f32, RowMajor<8, 8>>, y: &mut LayoutTensor<f32, RowMajor<N>>, k: usize) {{
    const USED: usize = B;
    let i = thread_idx.x;
    {body}
}}"
    );
    let kernel = match layout_text::kernel(&text) {
        Ok(kernel) => kernel,
        Err(errors) => return format!("{errors:?}"),
    };
    let set = kernel.parameter_sets().into_iter().next().expect("a set");
    compile(&kernel, &set, Promises::USUAL).err().map_or(String::new(), |errors| errors.to_string())
}

fn all_said(rows: &[(&str, &str)]) {
    let missed: Vec<String> = rows
        .iter()
        .map(|(body, wanted)| (body, wanted, said_of(body)))
        .filter(
            |(_, wanted, found)| if wanted.is_empty() { !found.is_empty() } else { !found.contains(*wanted) },
        )
        .map(|(body, wanted, found)| format!("{body}: {wanted:?} is not in {found}"))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// A thread layout numbers each thread once, as on the host; and nothing that is composed with a layout is lost.
#[test]
fn layouts_of_threads_and_swizzles() {
    all_said(&[
        ("let own = x.distribute(row_major([4, 2]), i % 8).to_local(); y[[0]] = own[[0, 0]];", ""),
        ("let own = x.distribute(layout([4, 2], [1, 4]), i % 8).to_local(); y[[0]] = own[[0, 0]];", ""),
        ("let own = x.distribute(layout([4, 1], [1, 7]), i % 4).to_local(); y[[0]] = own[[0, 0]];", ""),
        (
            "let own = x.distribute(row_major([4, 2]).swizzle(0, 0, 1), i).to_local(); y[[0]] = own[[0, 0]];",
            "",
        ),
        (
            "let own = y.distribute(row_major([8]).swizzle(1, 0, 1), i % 8).to_local();",
            "the threads (8):(1) of `distribute` are swizzled",
        ),
        (
            "let own = x.distribute(row_major([4, 4]).swizzle_bytes(32), i).to_local();",
            "the threads (4,4):(4,1) of `distribute` are swizzled",
        ),
        (
            "let mut s = shared::<f32>(row_major([8, 8])); copy_dram_to_sram(&mut s, x, row_major([4, 8]).swizzle(1, 0, 2));",
            "of `copy_dram_to_sram` are swizzled",
        ),
        (
            "let own = x.distribute(layout([3, 3], [1, 1]), i % 9).to_local();",
            "the threads (3,3):(1,1) of `distribute` do not number each of 0 to 8 once",
        ),
        (
            "let own = x.distribute(layout([4, 2], [2, 0]), i).to_local();",
            "do not number each of 0 to 7 once",
        ),
        (
            "let own = x.distribute(layout([4, 2], [4, 1]), i).to_local();",
            "do not number each of 0 to 7 once",
        ),
        (
            "let mut s = shared::<f32>(row_major([8, 8])); copy_dram_to_sram_async(&mut s, x, layout([4, 4], [8, 1]));",
            "of `copy_dram_to_sram_async` do not number each of 0 to 15 once",
        ),
        (
            "let s = shared::<f32>(row_major([8, 8]).swizzle(1, 0, 3).swizzle(2, 0, 3));",
            "is swizzled already",
        ),
        (
            "let s = shared::<f32>(row_major([8, 8]).swizzle_bytes(32).swizzle(2, 0, 3));",
            "is swizzled already",
        ),
        (
            "let s = shared::<f32>(row_major([8, 8]).swizzle(2, 0, 3).swizzle_bytes(32));",
            "is swizzled already",
        ),
    ]);
}

/// A number written as a coordinate names an element, or is refused: of shared memory, of an argument, and of their tiles.
#[test]
fn elements_that_are_nowhere() {
    let shared = "let mut s = shared::<f32>(row_major([64])); ";
    let rows = [
        ("s[[63]] = 1.0;", ""),
        (
            "s[[64]] = 1.0;",
            "element 64 in mode 0 of `s`, whose extent there is 64\n  = help: the coordinates are 0 to 63",
        ),
        ("y[[0]] = s[[-1]];", "element -1 in mode 0 of `s`"),
        ("s[[B]] += 1.0;", "element 64"),
        ("let at = B + 1; y[[0]] = s[[at - 1]];", "element 64"),
        ("if k < 9 { let r = &mut s[[64]]; *r = 1.0; }", "element 64"),
        ("y[[0]] = s[[i + 64]];", "elements 64 to 95 in mode 0 of `s`"),
        ("if k < 9 { y[[0]] = s[[i + 64]]; }", "elements 64 to 95"),
        ("let t = s.tile([8], [i % 8]); y[[0]] = t[[8]];", "element 8 in mode 0 of a tile of `s`"),
        ("let t = s.tile([8], [i + 8]); y[[0]] = t[[0]];", "tiles 8 to 39 in mode 0 of `s`"),
        ("let mut own = local::<f32>(row_major([2, 4])); own[[2, 0]] = 1.0;", "element 2 in mode 0 of `own`"),
        ("y[[0]] = x[[0, 7]];", ""),
        ("y[[0]] = x[[0, 8]];", "element 8 in mode 1 of `x`, whose extent there is 8"),
        ("let c = x.dim(0); y[[0]] = x[[c, 0]];", "element 8 in mode 0 of `x`"),
        ("let t = x.tile([4, 4], [0, 1]); y[[0]] = t[[0, 4]];", "element 4 in mode 1 of a tile of `x`"),
        ("let t = x.tile([1, 8], [0, 0]).vectorize([1, 4]); y[[0]] = t[[0, 7]];", ""),
        ("let t = x.tile([1, 8], [0, 0]).vectorize([1, 4]); y[[0]] = t[[0, 8]];", "whose extent there is 8"),
        (
            "let t = x.tile([4, 8], [2, 0]); y[[0]] = t[[0, 0]];",
            "tile 2 in mode 0 of `x`, whose extent there is 8\n  = help: with elements: tiles 0 to 1",
        ),
        // Of an extent that only the launch has.
        (
            "y[[N]] = 1.0;",
            "an element at `N` or beyond it, in mode 0 of `y`, whose extent there is `N`\n  = help: the coordinates are 0 to `N` - 1",
        ),
        ("y[[N + i]] = 1.0;", "an element at `N` or beyond it"),
        ("y[[N + i - 32]] = 1.0;", ""),
        // 32-bit sizes never reach it, other ones do.
        ("if N > 4294967295 { y[[N]] = 1.0; }", "an element at `N` or beyond it"),
        ("if N > 4294967295 { y[[N - 1]] = 1.0; }", ""),
        (
            "if N < 4294967296 { y[[N - 1]] = 1.0; } else { y[[4611686018427387904]] = 1.0; }",
            "an element at `N`",
        ),
        ("for r in 0..k { y[[N - 1 + r]] = 1.0; }", ""),
        ("x.prefetch([0, i % 8]); y.prefetch([i]);", ""),
        ("s.prefetch([0]);", "`prefetch` of `s`, which is not in global memory"),
        ("x.prefetch([0]);", "1 coordinate for a view of `x` of rank 2"),
        ("x.prefetch([0, 8]);", "element 8 in mode 1 of `x`"),
        // Quotients of what is near the ends of 64 bits.
        ("let far = (k * k) as isize - 9223372036854775807; y[[0]] = (far % 6 + far / 6) as f32;", ""),
        ("y[[0]] = (k * k / 4294967296 / 4294967296) as f32;", ""),
        // Outside in the launches of the variant with 32-bit offsets alone.
        ("y[[2147483648]] = 1.0;", ""),
        ("y[[0]] = s[[4294967295 - k]];", ""),
        // The part of a tile beyond the tensor is masked.
        ("let t = x.tile([5, 8], [1, 0]); y[[0]] = t[[4, 0]];", ""),
        ("let t = x.window([3, 3], [-2, 7]); y[[0]] = t[[0, 0]];", ""),
        ("let t = x.window([3, 3], [-3, 0]); y[[0]] = t[[0, 0]];", "window -3 in mode 0 of `x`"),
        ("let t = x.window([3, 3], [0, 8]); y[[0]] = t[[0, 0]];", "window 8 in mode 1 of `x`"),
        ("let t = x.slice(7); y[[0]] = t[[8]];", "element 8 in mode 0 of `x`"),
        ("let t = x.slice(i + 8); y[[0]] = t[[0]];", "slices 8 to 39 in mode 0 of `x`"),
    ];
    let rows: Vec<_> = rows.map(|(body, wanted)| (format!("{shared}{body}"), wanted)).into();
    all_said(&rows.iter().map(|(body, wanted)| (body.as_str(), *wanted)).collect::<Vec<_>>());
}

/// A loop with known rounds is outside where one of them is; what the parameters, a condition of the run or a `break` may leave
/// out is no mistake.
#[test]
fn rounds_that_are_nowhere() {
    let element_8 = "element 8 in mode 0 of `x`, whose extent there is 8\n  = help: the coordinates are 0 to 7; `r` runs from";
    all_said(&[
        ("for r in unroll(0..8) { y[[r]] = x[[r + 1, 0]]; }", element_8),
        ("for r in 0..8 { y[[r]] = x[[r + 1, 0]]; }", element_8),
        ("for r in (0..8).step_by(3) { y[[r]] = x[[r + 2, 0]]; }", element_8),
        ("for r in (0..8).step_by(3) { y[[r]] = x[[r + 1, 0]]; }", ""),
        ("for r in (0..8).rev() { y[[r]] = x[[r - 1, 0]]; }", "element -1 in mode 0 of `x`"),
        ("for r in 0..8 { for c in 0..8 { y[[r]] = x[[r, c + r]]; } }", "element 14 in mode 1 of `x`"),
        ("for r in 0..8 { for c in 0..8 - r { y[[r]] = x[[r, c + r]]; } }", ""),
        ("for r in 8..k { y[[0]] = x[[r, 0]]; }", "elements from 8 on in mode 0 of `x`"),
        ("for r in 0..16 { y[[r]] = x[[r / 2, r % 8]]; }", ""),
        ("if B > 64 { y[[0]] = x[[8, 0]]; }", ""),
        ("for r in unroll(0..B - 64) { y[[0]] = x[[r + 8, 0]]; }", ""),
        ("for r in 0..8 { if r < 7 { y[[r]] = x[[r + 1, 0]]; } }", ""),
        ("for r in 0..8 { if r + k < 7 { y[[r]] = x[[r + 1, 0]]; } }", ""),
        ("for r in unroll(0..4) { if 32 * r < N { y[[r]] = x[[4 * r, 0]]; } }", ""),
        ("for r in 0..8 { if r + k < 7 && x[[r + 1, 0]] > 0.0 { y[[r]] = 1.0; } }", ""),
        ("for r in 0..8 { if r + k > 6 { break; } y[[r]] = x[[r + 1, 0]]; }", ""),
        ("for r in 0..8 { if r + k > 6 { continue; } y[[r]] = x[[r + 1, 0]]; }", ""),
        ("for r in 0..8 { y[[r]] = x[[r + 1, 0]]; if y[[r]] > 0.0 { break; } }", ""),
        ("while B > 64 { y[[0]] = x[[8, 0]]; }", ""),
        ("for r in i + 8..8 + grid_dim.x - grid_dim.x { y[[0]] = x[[r, 0]]; }", ""),
        (
            "fn at(v: View<f32, Read>, i: usize) -> f32 { v[[i, 0]] } y[[0]] = at(x, 8);",
            "element 8 in mode 0 of `x`",
        ),
        (
            "fn at(v: View<f32, Read>, i: usize, n: usize) -> f32 { if i < n { v[[i, 0]] } else { 0.0 } } y[[0]] = at(x, 8, k);",
            "",
        ),
        (
            "fn at(v: View<f32, Read>, i: usize, n: usize) -> f32 { if i >= n { return 0.0; } v[[i, 0]] } y[[0]] = at(x, 8, k);",
            "",
        ),
    ]);
}

/// The help of a sequence that is refused names the same sequence.
#[test]
fn a_step_behind_rev() {
    all_said(&[
        (
            "for k in (0..8).rev().step_by(3) { y[[k]] = 1.0; }",
            "(b - a + n - 1) / n { let i = b - 1 - k * n;",
        ),
        ("for k in (0..8).step_by(3).rev() { y[[k]] = 1.0; }", ""),
        ("for k in (0..8).step_by(2).step_by(3) { y[[k]] = 1.0; }", "of what has a step"),
    ]);
    for (a, b, n) in [(0usize, 8usize, 3usize), (2, 11, 3), (4, 5, 7), (3, 3, 2)] {
        #[allow(clippy::manual_div_ceil)] // as the help has it, for signed numbers too
        let written: Vec<usize> = (0..(b - a + n - 1) / n).map(|k| b - 1 - k * n).collect();
        assert_eq!(written, (a..b).rev().step_by(n).collect::<Vec<usize>>());
    }
}

/// Words without their arguments are refused, in every form in which they are called.
#[test]
fn words_without_arguments() {
    all_said(&[
        ("let v = warp_or();", "`warp_or` takes 1 argument, 0 were given"),
        ("let v = warp_sum();", "`warp_sum` takes 1 argument, 0 were given"),
        ("let v = i.shuffle();", "`shuffle` takes 1 argument, 0 were given"),
        ("let v = f32::max();", "`max` takes 2 arguments, 0 were given"),
        ("let v = f32::from_bits();", "`from_bits` takes 1 argument, 0 were given"),
        ("let v = 1.0.max();", "`max` takes 1 argument, 0 were given"),
    ]);
}

#[test]
fn an_inverse_that_leaves_64_bits() {
    let layout: Layout = "(4294967296,5):(1,1)".parse().expect("a layout");
    let refused = left_inverse(&layout).expect_err("it leaves 64 bits");
    assert!(matches!(refused, LayoutError::NotInjective { .. }), "{refused}");
}
