//! Lines that strangers typed, each as it was: it is a kernel, or it is refused in words that lead on.
//!
//! What the kernels compute is held elsewhere (`tests/rust.rs`, `tests/numbers.rs`, `tests/order.rs`); rustc's half of the check
//! is theirs too. Kernels are texts here, for every variant.

use layout_core::kernel::{Promises, compile, emit};

/// A kernel around a body.
fn with_body(body: &str) -> String {
    format!(
        "#[tiled_kernel(arch = \"sm_90a\", WGS = 2, BM = 64 * WGS, block = [BM], grid = [M.div_ceil(BM)])]
fn line<const M: usize, const N: usize, const K: usize>(
    x: &LayoutTensor<f32, RowMajor<M, K>>, b: &LayoutTensor<bf16, RowMajor<N, K>>, c: &mut LayoutTensor<f32, RowMajor<M, N>>,
    keys: &mut LayoutTensor<u32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>, n: usize, last: f32, s: usize,
) {{
    let i = block_idx.x * BM + thread_idx.x;
    {body}
}}"
    )
}

/// Everything wrong with a kernel, in any variant.
fn wrong(text: &str) -> Vec<String> {
    let kernel = match layout_text::kernel(text) {
        Ok(kernel) => kernel,
        Err(errors) => return errors.into_iter().map(|error| error.message).collect(),
    };
    let mut all = vec![];
    for set in kernel.parameter_sets() {
        for (narrow, aligned) in [(true, true), (false, true), (false, false)] {
            match compile(&kernel, &set, Promises { narrow, aligned, variant_if: None }) {
                Ok(checked) => assert!(!emit(&checked).text.is_empty()),
                Err(errors) => all.extend(errors.as_slice().iter().map(ToString::to_string)),
            }
        }
    }
    all
}

#[test]
fn what_was_refused_is_a_kernel() {
    let mut refused = vec![];
    for body in [
        // 1. What was wrong code is code.
        "y[[i * s * n % N]] = 7;",
        "y[[(i * 6364136223846793005 + 1442695040888963407) % N]] = 7;",
        "y.tile([32], [s * n])[[0]] = 1; y.window([32], [s * 70000 * 70000])[[0]] = 1;",
        "let mut v: u16 = 65535; v += 1; y[[0]] = v as i32;",
        "let (mut a, mut b) = (30usize, 12usize); while b != 0 { let t = b; b = a % b; a = t; } y[[0]] = a as i32;",
        "let mut k = s; let v = k; k = 4; y[[0]] = v as i32 + k as i32;",
        "y[[0]] = y[[0]] * 100 + y.atomic_add([0], 5);",
        "let mut k = 3i32; y[[0]] = k * 100 + { k = 5; k };",
        "let mut k = 0; let t = keys.tile([1], [k]); k = 2; y[[k]] = t[[0]] as i32;",
        "y[[(keys[[0]] as usize).min(63)]] = 1; y[[(keys[[0]] as usize).max(0)]] = 1;",
        "y[[((4294967295usize - s) % 9) ^ 1]] = 1; y[[(4294967295usize - s).div_ceil(4) & 7]] = 1;",
        // 3. Rust that was refused.
        "match i % 3 { 0 => return, 1 | 2 if n > 4 => y[[0]] = 1, _ => {} }",
        "'rows: for r in 0..4 { for k in 0..K { if x[[r, k]] > 1.0 { continue 'rows; } if k > 9 { break 'rows; } } }",
        "const C: [f32; 3] = [0.25, 0.5, 0.25]; let mut p = [0.0; 4]; for k in unroll(0..3) { p[k] = C[k]; } c[[0, 0]] = p[0] + C[i % 3];",
        "let (mut a, mut b) = (1, 2); (a, b) = (b, a); y[[0]] = a - b;",
        "const WIDE: usize = 16 / size_of::<f32>(); y[[0]] = WIDE as i32;",
        "for which in unroll(0..2) { let held = if which == 0 { x } else { x }; c[[0, 0]] = held[[which, 0]]; }",
        "let count = keys[[0]]; keys[[0]] = count | (if i > 3 { 0x80000000 } else { 0x40000000 });",
        "let mut last = -1; if y[[0]] == last { last = y[[1]]; } y[[2]] = last;",
        "let count = if i > 3 { 1 } else { 0 }; y[[0]] = y[[1]] / count;",
        "y[[0]] = -2147483648i32;",
        "for k in unroll(0..4) { y[[k]] = (1 << k) as i32 + (16 >> k) as i32; }",
        "for k in (0..N).step_by(s) { y[[k]] = 1; }",
        "c[[0, 0]] = x.pad(last).tile([1, 4], [0, K / 4])[[0, 3]];",
        "c[[0, 0]] = b.pad(f32::NEG_INFINITY).tile([1, 4], [0, 0])[[0, 3]].cast::<f32>();",
        "let (begin, end) = (y[[0]] as usize, y[[1]] as usize); y[[(end - begin + 2).div_ceil(4)]] = 1;",
        "let count = y[[0]]; y[[(count as usize).div_ceil(32)]] = 1;",
        "let full = mbarriers(3, BM); barrier(); let mut k = 0usize; for _ in 0..7 { full.at(k % 3).arrive(); full.at(k % 3).wait(k / 3 % 2); k += 1; }",
        "let held = shared::<f32>(row_major([2, 32])); let mut k = 0usize; held.slice(k % 2)[[0]] = 1.0; k += 1; held.slice(k % 2)[[0]] = 2.0;",
        "let held = shared::<f32>(row_major([3, 32])); let mut stage = 0; for _ in 0..7 { held.slice(stage)[[0]] = 1.0; stage += 1; if stage == 3 { stage = 0; } }",
        "let turn = mbarriers(1, 64); barrier(); if thread_idx.x / 64 == 0 { } else { turn.at(thread_idx.x / 64 - 1).arrive(); }",
        "let mut keys = local::<f32>(row_major([1, 4])); for r in unroll(0..4) { let near = if r < 2 { 1 } else { 2 }; keys[[0, r ^ near]] = 1.0; }",
        "fn whole(of: View<f32, Write>) { of[[0, 0]] = 1.0; } whole(c);",
        "fn first(of: impl Tensor<Elem = f32>) -> f32 { of[[0, 0]] } c[[0, 0]] = first(x) + first(x.tile([1, 4], [0, 0]));",
        "let full = mbarriers(3, BM); barrier(); let (mut stage, mut round) = (0, 0); for _ in 0..7 { full.at(stage).arrive(); full.at(stage).wait(round); stage += 1; if stage == 3 { stage = 0; round = 1 - round; } }",
        "let full = mbarriers(3, BM); barrier(); let mut stage = 0usize; for _ in 0..7 { full.at(stage).arrive(); full.at(stage).wait(0); stage = if stage == 2 { 0 } else { stage + 1 }; }",
        "let v = { let w = if i >= N { return; } else { 1 }; w }; y[[i]] = v;",
        "let mut held = [[0.0; 4]; 2]; held[1][3] = x[[0, 0]]; let mut v = [(0.0, 0.0); 4]; v[0] = (held[1][3], 1.0); v[1].0 = v[0].1; c[[0, 0]] = v[1].0;",
        "let found = loop { if s > 3 { break 1; } break 2; }; y[[0]] = found;",
        "fn root(x: i32) -> i32 { for k in 0..9 { if k * k > x { return k; } } -1 } y[[0]] = root(y[[1]]);",
        "let mut top = [-1; 4]; top[2] = y[[0]]; y[[1]] = top[2] + top[0];",
        "let mut best = (0, 0.0); for k in 0..K { if x[[0, k]] > best.1 { best = (k, x[[0, k]]); } } y[[0]] = best.0 as i32;",
        "let own = x.tile([1, 4], [0, 0]).vectorize([1, 4]).to_local(); c.tile([1, 4], [0, 0]).vectorize([1, 4]).copy_from(&own);",
    ] {
        let found = wrong(&with_body(body));
        if let Some(first) = found.first() {
            refused.push(format!("{body}: {first}"));
        }
    }
    assert!(refused.is_empty(), "{refused:#?}");
    // Elements of an accumulator, by row and column of the thread's own, and by its tiles.
    let accumulator = "#[tiled_kernel(arch = \"sm_90a\", block = [128], grid = [1])]
fn elements(y: &mut LayoutTensor<f32, RowMajor<64, 64>>) {
    let mut acc = accumulator([64, 64]);
    acc.fill(1.0);
    for h in unroll(0..2) {
        for j in unroll(0..8) {
            for e in unroll(0..2) {
                acc[[h, 2 * j + e]] = acc.tile([1, 1], [h, j])[[0, e]] + 1.0;
            }
        }
    }
    y[[thread_idx.x / 2, 0]] = acc[[0, 0]];
}";
    assert!(wrong(accumulator).is_empty(), "{:#?}", wrong(accumulator));
}

#[test]
fn what_is_refused_leads_on() {
    let mut missed = vec![];
    for (body, message, help) in [
        ("let v = warp_barrier();", "there is no function `warp_barrier`", "sync_warp"),
        ("__syncthreads();", "there is no function `__syncthreads`", "barrier("),
        ("let v = x[[0, 0]].floorf();", "there is no method `floorf`", "floor"),
        ("let v = x.shape();", "there is no method `shape`", "dim"),
        ("let v = threadIdx.x;", "there is no field `x`", "`thread_idx.x`"),
        ("let v = global_idx.x;", "there is no field `x`", "block_idx.x * block_dim.x"),
        ("let v = thread_idx.x();", "there is no method `x`", "`thread_idx.x`, without brackets"),
        ("let v = x[i];", "an element of a view of rank 2", "a[[row, column]]"),
        ("let v = c[[i]];", "1 coordinate for a view of `c` of rank 2", "2 coordinates"),
        ("let v = x[[0, ..]];", "a range among the coordinates", "x.slice(row)"),
        ("x[[0, 0]] = 1.0;", "`x` is not mutable", "&mut LayoutTensor"),
        ("for v in x { c[[0, 0]] = 1.0; }", "a tensor is no array", "for i in 0..x.dim(0)"),
        ("let v = x.len();", "a tensor is no array", "x.dim(0)"),
        ("let v = x.iter().sum();", "there is no method `sum`", "`for`"),
        ("let v = x.get(0);", "there is no method `get`", "x[[i, j]]"),
        ("x.store([0, 0], 1.0);", "there is no method `store`", "x[[i, j]] = value"),
        ("let v = x.dim(2);", "no such mode", "x.dim(1)"),
        ("let v = x.shape[0];", "there is no field `shape`", "x.dim(0)"),
        ("let v = x.T;", "there is no field `T`", "x.transpose()"),
        ("let v = i.into();", "there is no method `into`", "x as f32"),
        ("let v = bf16::from_f32(1.0);", "there is no method `from_f32`", "x.cast::<f32>()"),
        ("let v = transmute::<f32, u32>(1.0);", "there is no function `transmute`", "to_bits"),
        ("let v = Some(3);", "there is no function `Some`", "(found, x)"),
        ("let v = WARP_SIZE;", "cannot find `WARP_SIZE`", "32"),
        ("let v = PI;", "cannot find `PI`", "consts::PI"),
        ("let v = __ldg(x);", "there is no function `__ldg`", "x[[i, j]]"),
        ("let v = b[[0, 0]] + x[[0, 0]];", "`+` of a value of type bf16", "x.cast::<f32>()"),
        ("c[[0, 0]] = i;", "expected a value of type f32, found an index", "x as f32"),
        ("y[[keys[[0]]]] = 1;", "expected an index (usize)", "x as usize"),
        ("if x[[0, 0]] { y[[0]] = 1; }", "expected a condition", "compare it"),
        ("let v = -keys[[0]];", "`-` does not apply", "wrapping_neg"),
        ("let v = i as bool;", "cannot be converted to bool", "compare it"),
        ("y.atomic_add(0, 1);", "are an array", "y.atomic_add([i], ..)"),
        ("println!(\"{}\", i);", "cannot call `println!`", "`&mut` tensor"),
        ("let v = vec![1.0];", "cannot call `vec!`", "local::<f32>"),
        ("let v = \"text\";", "a kernel has no text", "numbers"),
        ("unsafe { y[[0]] = 1; }", "does not have `unsafe`", "masked"),
        ("let v = shared::<f32>(row_major([n]));", "not known at compile time", "parameter of the attribute"),
        ("let v = shared([32]);", "`shared` needs its element type", "shared::<f32>"),
        (
            "fn f<const K: usize>(x: f32) -> f32 { x } let v = f::<4>(1.0);",
            "type parameters only",
            "arguments",
        ),
        ("y[[0]] = [1, 2, 3][i];", "an index of an array of 3 that may lie outside", "modulo"),
        ("for k in 0..n { break 1; }", "a `break` with a value", "only a `loop` has a value"),
        (
            "c[[0, 0]] = x.pad(x[[0, 0]]).tile([1, 4], [0, 0])[[0, 0]];",
            "the value of `pad` is neither known",
            "choose at the access",
        ),
        (
            "let v; if i > 3 { v = x.tile([1, 4], [0, 0]); } else { v = x.tile([1, 4], [0, 1]); } c[[0, 0]] = v[[0, 0]];",
            "becomes a tensor",
            "bind others where they are known",
        ),
        (
            "let held = if i > 3 { x.tile([1, 4], [0, 0]) } else { x.tile([1, 4], [0, 1]) }; c[[0, 0]] = held[[0, 0]];",
            "",
            "",
        ),
    ] {
        let found = wrong(&with_body(body));
        let first = found.first().cloned().unwrap_or_default();
        if !(first.contains(message) && first.contains(help) && first.contains("= help: ")) {
            missed.push(format!("{body}: {found:#?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
