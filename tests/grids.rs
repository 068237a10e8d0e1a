//! What a launch computes: a grid that `require` keeps from being negative, and numbers that come as arguments.

use layout_compiler::{Elem, LaunchArgument, Promises, compile};

/// The blocks of a launch over `N` elements with the argument `count`, or what is said.
fn launched(entries: &str, ty: &str, elements: usize, count: i64) -> String {
    let text = format!(
        "#[tiled_kernel({entries})]
         fn counted<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>, count: {ty}) {{
             let i = block_idx.x * 32 + thread_idx.x;
             if i < N {{ x[[i]] = 1.0; }}
         }}"
    );
    let kernel = match layout_text::kernel(&text) {
        Ok(kernel) => kernel,
        Err(errors) => return errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    };
    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
    let checked = match compile(&kernel, &set, Promises::USUAL) {
        Ok(checked) => checked,
        Err(errors) => return errors.to_string(),
    };
    let (shape, strides) = ([elements], [1]);
    let x = LaunchArgument::Tensor {
        elem: Elem::F32,
        shape: &shape,
        strides: &strides,
        address: 0,
        len: elements,
    };
    let count = match ty {
        "u32" => LaunchArgument::Scalar(Elem::U32, count as u64),
        _ => LaunchArgument::Index(count),
    };
    let of = |given| match checked.plan().bind(&[x, count], given) {
        Ok(bound) => bound.grid[0].to_string(),
        Err(error) => error.to_string(),
    };
    match entries.contains("grid =") {
        true => of(None),
        false => format!("{}, given 7: {}", of(None), of(Some([7, 1, 1]))),
    }
}

/// With a block alone in the attribute the grid that follows is what a launch has that gives none, and the body is masked for any grid.
#[test]
fn a_launch_may_give_another_grid_than_what_follows() {
    for elements in [0usize, 1, 32, 33, 1000] {
        let wanted = format!("{}, given 7: 7", elements.div_ceil(32));
        assert_eq!(launched("block = [32]", "usize", elements, 0), wanted);
    }
    let whole = launched("fast_math = false", "usize", 33, 0);
    assert!(whole.starts_with("2, given 7: the kernel has a `grid` of its own"), "{whole}");
}

fn all(rows: &[(&str, &str, usize, i64, &str)]) {
    for (entries, ty, elements, count, wanted) in rows {
        let found = launched(&format!("block = [32], {entries}"), ty, *elements, *count);
        assert!(found.contains(wanted), "{entries}, N = {elements}, count = {count}: {found}");
    }
}

#[test]
fn a_grid_relies_on_what_the_launch_requires() {
    all(&[
        ("grid = [N - 5], require(N >= 5)", "usize", 9, 0, "4"),
        ("grid = [N - 5], require(N >= 5)", "usize", 5, 0, "0"),
        ("grid = [N - 5], require(N >= 5)", "usize", 4, 0, "`require(N >= 5)` does not hold: N = 4"),
        ("grid = [N / 32 - 2], require(N / 32 >= 2)", "usize", 128, 0, "2"),
        ("grid = [2 * N - 10], require(N > 4)", "usize", 9, 0, "8"),
        ("grid = [N - 5], require(N >= 4)", "usize", 9, 0, "the entry `N - 5` of `grid` may be negative"),
        ("grid = [N - 5]", "usize", 9, 0, "promise that it is not: `require(N - 5 >= 0)`"),
    ]);
}

#[test]
fn numbers_of_a_launch_are_arguments_too() {
    all(&[
        ("grid = [count.div_ceil(32)]", "usize", 9, 70, "3"),
        ("grid = [count - 1], require(count > 0)", "usize", 9, 70, "69"),
        ("grid = [count - 1], require(count > 0)", "isize", 9, -3, "does not hold: N = 9, count = -3"),
        ("grid = [N.min(count)], require(count <= N)", "usize", 9, 7, "7"),
        (
            "grid = [1], require(N <= 32, count <= N)",
            "usize",
            9,
            70,
            "`require(count <= N)` does not hold: N = 9, count = 70",
        ),
        ("grid = [count]", "isize", 9, 70, "the entry `count` of `grid` may be negative"),
        ("grid = [1], require(N <= 32), variant_if(count % 4 == 0)", "usize", 9, 72, "1"),
    ]);
}

#[test]
fn what_else_an_entry_names_is_said() {
    all(&[
        ("grid = [count]", "u32", 9, 7, "make it an index, `count: usize`"),
        ("grid = [count]", "f32", 9, 7, "`count` has no value in the attribute"),
        ("grid = [x]", "usize", 9, 7, "`x` has no value in the attribute"),
        ("grid = [1], filter(count > 1)", "usize", 9, 7, "`count` is known at launch"),
        ("grid = [1], min_blocks = count", "usize", 9, 7, "`grid`, `require` and `variant_if` may name it"),
        ("grid = [counts]", "usize", 9, 7, "cannot find `counts`"),
    ]);
}
