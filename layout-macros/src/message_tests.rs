//! Messages about what is typed in a first hour: each names what was written, and leads on in the user's names.

use crate::tests::{expand, messages};

/// Errors of a kernel of two matrices with this body.
fn of_body(body: &str) -> Vec<String> {
    let item = format!(
        "fn kernel<const M: usize, const N: usize>(
            a: &LayoutTensor<f32, RowMajor<M, N>>, c: &mut LayoutTensor<f32, RowMajor<M, N>>, n: usize,
        ) {{ {body} }}"
    );
    messages("block = [32], grid = [M]", &item)
}

#[test]
fn the_first_mistakes_lead_on() {
    for (body, message, way) in [
        (
            "let p = [1, 2]; let q = [1, 2]; if p == q { c[[0, 0]] = 1.0; }",
            "`==` of an array and an array",
            "`a[0] == b[0]`",
        ),
        ("let p = (1, n); if p != (2, 3) { c[[0, 0]] = 1.0; }", "`!=` of a tuple and a tuple", "`a.0 == b.0"),
        (
            "let p = [1.0, 2.0, 3.0]; let q = p[1..3];",
            "a range of indices of `p`",
            "for k in 1..3 { .. p[k] .. }",
        ),
        ("let p = [1.0, 2.0, 3.0]; let q = &p[..];", "a range of indices of `p`", "for k in 0..p.len()"),
        ("let p = [0.0; 4]; let q = p[..=n];", "a range of indices of `p`", "for k in 0..=n"),
        (
            "let p = [1.0, 2.0]; let q = [1.0, 2.0]; for (a, b) in p.iter().zip(&q) { c[[0, 0]] = a * b; }",
            "a `for` over `.zip(..)`",
            "for i in 0..p.len() { let (a, b) = (p[i], q[i]); .. }",
        ),
        (
            "for (i, j) in 0..4 { c[[i, j]] = 0.0; }",
            "the variable of a `for` is one plain name",
            "for i in 0..n",
        ),
        ("let v = if n > 0 { 1.0 }; c[[0, 0]] = v;", "`v` is an `if` without `else`", "else { .. }"),
        (
            "let v = if n > 0 { 1.0; } else { 2.0; };",
            "its block ends in `1.0;`",
            "leave the `;` out after `1.0`",
        ),
        ("let v = { n + 1; };", "its block ends in `n + 1;`", "leave the `;` out"),
        ("c[[0, 0]] = a[[0, 0]] << 2;", "`<<` does not apply to a value of type f32", "`x * 4.0`"),
        ("let x = 1.5 | 2;", "`|` does not apply to a float literal", "`x.to_bits()`"),
        ("if n < N && 1 { c[[0, 0]] = 1.0; }", "`&&` of an index (usize), which is no bool", "`x != 0`"),
        ("if a[[0, 0]] || n < N { c[[0, 0]] = 1.0; }", "`||` of a value of type f32", "`x != 0.0`"),
        ("if !(n % 2) { c[[0, 0]] = 1.0; }", "`!` does not apply to an index", "a comparison, `x == 0`"),
        (
            "let i = thread_idx(); c[[0, i]] = 0.0;",
            "there is no function `thread_idx`",
            "fields: `thread_idx.x`",
        ),
        ("if n == usize::MAX { c[[0, 0]] = 0.0; }", "a number of 63 bits", "`u32::MAX as usize`"),
        ("let (p, .., q) = (n, n, n);", "`..` in a pattern", "`pair.1`"),
        (
            "if a[[0, 0]].is_sign_negative() { c[[0, 0]] = 0.0; }",
            "is_sign_negative",
            "`x.to_bits() >> 31 == 1`",
        ),
        ("c[[0, 0]] = square(2.0);", "there is no function `square`", "`fn square(..) { .. }`"),
        ("let k = ceil_div(n, 2);", "there is no function `ceil_div`", "`a.div_ceil(b)`"),
        (
            "#[unroll(4)] for k in 0..4 { c[[0, k]] = 0.0; }",
            "an attribute inside of a kernel",
            "for k in unroll(0..4)",
        ),
        (
            "fn put(o: &mut LayoutTensor<f32, RowMajor<M, N>>) { o[[0, 0]] = 1.0; } put(c);",
            "does not see the dimension `M`",
            "`o: View<f32, Write>`",
        ),
        (
            "fn get(x: &LayoutTensor<f32, RowMajor<4, { 2 * N }>>) -> f32 { x[[0, 0]] } get(a);",
            "does not see the dimension `N`",
            "`x: View<f32, Read>`, `x.dim(0)`",
        ),
        (
            "if a[[0, 0]] == f32::NAN { c[[0, 0]] = 1.0; }",
            "`a[[0, 0]] == f32::NAN` is always false",
            "write `a[[0, 0]].is_nan()`",
        ),
        ("if f32::NAN != a[[0, 0]] { c[[0, 0]] = 1.0; }", "is always true", "write `!a[[0, 0]].is_nan()`"),
        ("c[[0, -1]] = 1.0;", "element -1 in mode 1 of `c`", "`c.dim(1) - 1`"),
        (
            "let t = a.tile([1, 64], [block_idx.x, 0]); for k in (0..N).step_by(8) { c[[0, 0]] = a.tile([1, 8], [0, k])[[0, 0]] + t[[0, 0]]; }",
            "`k` in mode 1 of a `tile` of `a` is the number of an element: its tiles of 8",
            "write `k / 8`",
        ),
        (
            "for k in 0..N.div_ceil(8) { c[[0, 0]] = a.tile([1, 8], [0, k * 8])[[0, 0]]; }",
            "`8 * k` in mode 1 of a `tile` of `a`",
            "write `k`; the part that begins at an element is `a.window(..)`",
        ),
    ] {
        let found = of_body(body);
        assert_eq!(found.len(), 1, "{body}: {found:#?}");
        assert!(found[0].contains(message), "{body}: {found:#?}");
        assert!(
            found[0].split("= help: ").nth(1).is_some_and(|help| help.contains(way)),
            "{body}: {found:#?}"
        );
    }
}

#[test]
fn what_a_newcomer_types_is_of_the_language() {
    for body in [
        "let i = 0.5 as usize; let j = -1.5 as i32; c[[0, i]] = j as f32 + 300.0 as u8 as f32;",
        "c[[0, 0]] = match n { 0 => 1.0, 1 => 2.0, _ => panic!(\"{n}\") };",
        "let v = match n { 0 => [1.0, 2.0], k if k > 7 => unreachable!(), _ => todo!() }; c[[0, 0]] = v[1];",
        "let i = if n > 3 { panic!() } else { n + 1 }; c[[0, i]] = 1.0;",
        "let k = 8; for k in (0..N).step_by(8) { c[[0, k]] = a.tile([1, 8], [0, k / 8])[[0, 0]]; } let x = k;",
        "for k in 0..N.div_ceil(8) { c[[0, k]] = a.window([1, 8], [0, k * 8])[[0, 0]]; }",
        // Every fourth tile, and tiles of several warps.
        "c.tile([1, 8], [block_idx.x, 4 * thread_idx.x])[[0, 0]] = 1.0;",
        "if n < N && (a[[0, 0]] > 0.0 || !(n % 2 == 0)) { c[[0, 0]] = 1.0; }",
    ] {
        let found = of_body(body);
        assert!(found.is_empty(), "{body}: {found:#?}");
    }
}

/// A kernel of one vector, as it is written.
fn of_vector(attribute: &str, item: &str) -> Vec<String> {
    messages(attribute, &item.replace("Y", "y: &mut LayoutTensor<f32, RowMajor<N>>"))
}

#[test]
fn a_grid_with_too_few_blocks_is_a_warning() {
    let by_index =
        "fn k<const N: usize>(Y) { let i = block_idx.x * 256 + thread_idx.x; if i < N { y[[i]] = 1.0; } }";
    let by_tile =
        "fn k<const N: usize>(Y) { let mut own = y.tile([BM], [block_idx.x]); own[[thread_idx.x]] = 1.0; }";
    for (attribute, item, found) in [
        ("block = [256], grid = [1]", by_index, "`grid` is `1` along `block_idx.x`"),
        ("block = [256], grid = [4]", by_index, "promise it: `require(N <= 1024)`"),
        ("block = [256], grid = [N / 256]", by_index, "promise it: `require(N % 256 == 0)`"),
        ("BM = 64, block = [BM], grid = [N / BM]", by_tile, "write `N.div_ceil(BM)`"),
        ("BM = [64, 128], block = [BM], grid = [8]", by_tile, "promise it: `require(N <= 8 * BM)`"),
        ("block = [256], grid = [4], require(N <= 1024)", by_index, ""),
        ("block = [256], grid = [N / 256], require(N % 512 == 0 && N > 0)", by_index, ""),
        ("block = [256], grid = [N / 256], require(N.is_multiple_of(512))", by_index, ""),
        ("N = 1024, block = [256], grid = [4]", by_index, ""),
        ("block = [256], grid = [N.div_ceil(256) + 1]", by_index, ""),
        ("BM = 64, block = [BM], grid = [N.div_ceil(BM)]", by_tile, ""),
    ] {
        assert_eq!(of_vector(attribute, item), Vec::<String>::new(), "{attribute}");
        let out = expand(attribute, &item.replace("Y", "y: &mut LayoutTensor<f32, RowMajor<N>>"));
        assert_eq!(out.contains("deprecated"), !found.is_empty(), "{attribute}: {out}");
        assert!(out.contains(found), "{attribute}: {out}");
    }
}

#[test]
fn coordinates_of_tiles_by_blocks_are_numbers_of_tiles() {
    for (attribute, at, wrong) in [
        ("block = [64], grid = [N.div_ceil(64)]", "block_idx.x * 64", true),
        ("block = [64], grid = [N / 64], require(N % 64 == 0)", "64 * block_idx.x", true),
        ("block = [64], grid = [N.div_ceil(256)]", "(block_idx.x * 4 + thread_idx.x / 16) * 64", true),
        ("block = [64], grid = [N.div_ceil(64)]", "block_idx.x", false),
        ("block = [64], grid = [N.div_ceil(64 * 64)]", "block_idx.x * 64 + thread_idx.x", false),
        ("block = [64], grid = [N.div_ceil(64 * 64)]", "block_idx.x * 64", false),
        ("block = [64]", "block_idx.x * 64", false),
    ] {
        let item = format!(
            "fn k<const N: usize>(Y) {{ let start = {at}; y.tile([64], [start])[[thread_idx.x]] = 1.0; }}"
        );
        let found = of_vector(attribute, &item);
        let named =
            found.iter().any(|message| message.contains("is the number of an element: its tiles of 64"));
        assert_eq!((named, found.len()), (wrong, usize::from(wrong)), "{attribute}, {at}: {found:#?}");
    }
}

#[test]
fn extents_and_arguments_that_are_none_lead_on() {
    for (item, message, way) in [
        ("fn k<N>(Y) { y[[0]] = 1.0; }", "the dimension `N` is written as a type", "`const N: usize`"),
        (
            "fn k(y: &mut LayoutTensor<f32, RowMajor<n>>, n: usize) { y[[0]] = n as f32; }",
            "an extent of `y` is `n`, which is an argument, known at launch",
            "`fn k<const N: usize>(..)`, and write `N` here",
        ),
        (
            "fn k(y: &mut LayoutTensor<f32, RowMajor<4, rows>>) { y[[0, 0]] = 1.0; }",
            "an extent of `y` is `rows`, which is no dimension",
            "`fn k<const ROWS: usize>(..)`",
        ),
        (
            "fn k<const N: usize>(f: fn(f32) -> f32, Y) { y[[0]] = f(1.0); }",
            "cannot be passed to a kernel",
            "`#[tiled_kernel(F = name, ..)]`",
        ),
        (
            "fn k<const N: usize>(f: impl Fn(f32) -> f32, Y) { y[[0]] = f(1.0); }",
            "cannot be passed to a kernel",
            "call `F(x)`",
        ),
        ("fn k<const N: usize>(Y) { let x = y[0, 1]; }", "expected `]`", "`x[[i, j]]`"),
    ] {
        let found = of_vector("block = [32], grid = [1]", item);
        assert_eq!(found.len(), 1, "{item}: {found:#?}");
        assert!(found[0].contains(message) && found[0].contains(way), "{item}: {found:#?}");
    }
}

/// What rustc's own lints report: names that the body binds and does not read, tensors that it may write and does not.
#[test]
fn what_is_not_used_is_left_to_the_lints_of_rustc() {
    let lints = |body: &str| {
        let item = format!("fn k<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, Y) {{ {body} }}");
        let item = item.replace("Y", "y: &mut LayoutTensor<f32, RowMajor<N>>");
        let out = expand("block = [32], grid = [N.div_ceil(32)]", &item);
        assert!(!out.contains("compile_error"), "{body}: {out}");
        let own = out.split("fn unused_arguments").nth(1).unwrap_or_default();
        let names = own.split("let ").skip(1).filter_map(|rest| rest.split(' ').next()).map(str::to_owned);
        (names.collect::<Vec<_>>(), out.contains("nothing writes `y`"))
    };
    let i = "let i = block_idx.x * 32 + thread_idx.x;";
    for (body, names, only_read) in [
        ("if i < N { y[[i]] = x[[i]]; }", &[] as &[&str], false),
        ("let v = x[[i]]; let _w = v; y[[i]] = v;", &[], false),
        ("let v = x[[i]]; let w = 2.0; y[[i]] = 1.0;", &["v", "w"], false),
        ("let mut sum = 0.0; sum += x[[i]]; y[[i]] = 1.0;", &["sum"], false),
        ("let mut sum = 0.0; let r = &mut sum; *r = x[[i]]; y[[i]] = sum;", &[], false),
        (
            "let (v, w) = (1.0, 2.0); for k in 0..4 { y[[i]] = v; } let f = |p: f32, q: f32| p; y[[i]] = f(1.0, 2.0);",
            &["w", "k", "q"],
            false,
        ),
        ("let v = x[[i]]; println!(\"{v}\"); y[[i]] = 1.0;", &[], false),
        ("println!(\"{}\", x[[i]] + y[[i]]);", &[], true),
        ("let mut own = y.tile([32], [block_idx.x]); own[[thread_idx.x]] = x[[i]];", &[], false),
        ("y.atomic_add([i], x[[i]]);", &[], false),
    ] {
        assert_eq!(
            lints(&format!("{i} {body}")),
            (names.iter().map(|name| (*name).to_owned()).collect(), only_read),
            "{body}"
        );
    }
}
