//! Lines that strangers typed, each as it was: it is a kernel, or it is refused in words that lead on.
//!
//! What the kernels compute is held against plain Rust: `tests/trial/words.rs` the missing words, `tests/trial/values.rs` the lines
//! that were wrong or refused. `tests/trial/modes.rs` is `reshape` and its like. `tests/trial/assume.rs` is what `assume` proves and finds. `tests/trial/paths.rs` is what must hold on every path, `tests/trial/simulated.rs` right kernels that the
//! simulator computed wrongly or accused. Kernels are texts here, for every variant.

mod assume;
mod bitcast;
mod fragments;
mod modes;
mod narrow;
mod paths;
mod places;
mod simulated;
mod values;
mod words;

use layout_compiler::{BindError, Bound, Checked, Constant, Elem, LaunchArgument, Promises, compile, emit};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};

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

/// A tensor of a launch.
struct Given {
    elem: Elem,
    shape: Vec<usize>,
    bytes: Vec<u8>,
    mutable: bool,
}

impl Given {
    fn new(elem: &str, shape: &[usize], bytes: Vec<u8>, mutable: bool) -> Given {
        let elem = Elem::from_name(elem).expect("an element type");
        Given { elem, shape: shape.to_vec(), bytes, mutable }
    }
}

/// A launch's grid and dimensions.
fn bound(checked: &Checked, tensors: &[Given], scalars: &[(Option<Elem>, u64)]) -> Result<Bound, BindError> {
    let strides: Vec<Vec<usize>> = tensors
        .iter()
        .map(|tensor| (1..=tensor.shape.len()).map(|m| tensor.shape[m..].iter().product()).collect())
        .collect();
    let mut arguments: Vec<LaunchArgument<'_>> = tensors
        .iter()
        .zip(&strides)
        .map(|(tensor, strides)| LaunchArgument::Tensor {
            elem: tensor.elem,
            shape: &tensor.shape,
            strides,
            address: 0,
            len: tensor.shape.iter().product(),
        })
        .collect();
    arguments.extend(scalars.iter().map(|(elem, bits)| match elem {
        Some(elem) => LaunchArgument::Scalar(*elem, *bits),
        None => LaunchArgument::Index(*bits as i64),
    }));
    checked.plan().bind(&arguments, None)
}

/// Runs a kernel on the simulator, each of its variants: nothing is found but, where one is meant to, an index that wraps; and all
/// write the same.
fn launch(text: &str, tensors: &mut [Given], scalars: &[(Option<Elem>, u64)], wraps: bool) {
    let kernel = layout_text::kernel(text).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"));
    let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
    let before: Vec<Vec<u8>> = tensors.iter().map(|tensor| tensor.bytes.clone()).collect();
    let mut after: Option<Vec<Vec<u8>>> = None;
    for (narrow, aligned) in [(true, true), (true, false), (false, true), (false, false)] {
        let promises = Promises { narrow, aligned, variant_if: None };
        let checked = compile(&kernel, &set, promises).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        tensors.iter_mut().zip(&before).for_each(|(tensor, bytes)| tensor.bytes.clone_from(bytes));
        let bound = match bound(&checked, tensors, scalars) {
            Ok(bound) => bound,
            // Another variant takes these.
            Err(BindError::Promise(_)) => continue,
            Err(error) => panic!("{error}\n{text}"),
        };
        let mut arguments: Vec<SimulatorArgument<'_>> = tensors
            .iter_mut()
            .map(|tensor| match tensor.mutable {
                true => SimulatorArgument::Write(&mut tensor.bytes),
                false => SimulatorArgument::Read(&tensor.bytes),
            })
            .collect();
        arguments.extend(scalars.iter().map(|(elem, bits)| match elem {
            Some(elem) => SimulatorArgument::Scalar(Constant { elem: *elem, bits: *bits }),
            None => SimulatorArgument::Index(*bits as i64),
        }));
        let report = simulate(&checked, &bound, &mut arguments, &Options::default());
        let report = report.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let mut found = report.findings;
        found.retain(|finding| !wraps || finding.kind != FindingKind::IndexOverflow);
        assert!(found.is_empty(), "{found:#?}\n{text}");
        let now: Vec<Vec<u8>> = tensors.iter().map(|tensor| tensor.bytes.clone()).collect();
        assert!(after.as_ref().is_none_or(|after| *after == now), "the variants differ\n{text}");
        after = Some(now);
    }
    assert!(after.is_some(), "no variant takes these arguments\n{text}");
}

/// The same of a kernel that reads some tensors and writes the last.
fn run(text: &str, read: &[(&str, &[usize], Vec<u8>)], (elem, shape, out): (&str, &[usize], &mut Vec<u8>)) {
    let mut all: Vec<Given> =
        read.iter().map(|(elem, shape, bytes)| Given::new(elem, shape, bytes.clone(), false)).collect();
    all.push(Given::new(elem, shape, std::mem::take(out), true));
    launch(text, &mut all, &[], false);
    *out = all.pop().expect("the last").bytes;
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
        "if i.is_multiple_of(4) && !n.is_multiple_of(s) { y[[0]] = 1; }",
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

/// One mistake gives one error: a mistake in an array once gave two.
#[test]
fn a_mistake_is_reported_once() {
    for body in [
        "y[[0]] = [1, 2, 3][i];",
        "let a = [1, 2]; let v = a[[0]]; y[[0]] = v;",
        "let v = x.sin2(); c[[0, 0]] = v;",
    ] {
        let kernel = with_body(body);
        let errors = match layout_text::kernel(&kernel) {
            Err(errors) => errors.len(),
            Ok(kernel) => {
                let set = kernel.parameter_sets().remove(0);
                compile(&kernel, &set, Promises::default()).err().map_or(0, |errors| errors.as_slice().len())
            }
        };
        assert_eq!(errors, 1, "{body}: {:#?}", wrong(&kernel));
    }
    // A line of help is right below its message.
    let found = wrong(&with_body("let v = x.shape();"));
    assert!(
        found[0].lines().nth(1).is_some_and(|line| line.trim_start().starts_with("= help: ")),
        "{found:?}"
    );
}

#[test]
fn what_is_refused_leads_on() {
    lead_on(&[
        ("let v = warp_barrier();", "there is no function `warp_barrier`", "sync_warp"),
        ("__syncthreads();", "there is no function `__syncthreads`", "barrier("),
        ("let v = x[[0, 0]].floorf();", "there is no method `floorf`", "floor"),
        ("let v = x.shape();", "there is no method `shape`", "dim"),
        ("let v = threadIdx.x;", "cannot find `threadIdx`", "`thread_idx.x`"),
        ("let v = global_idx.x;", "cannot find `global_idx`", "block_idx.x * block_dim.x"),
        ("let v = thread_idx.x();", "there is no method `x`", "`thread_idx.x`, without brackets"),
        ("let v = x[i];", "1 coordinate for a view of `x` of rank 2", "[[i, j]]"),
        ("let v = c[[i]];", "1 coordinate for a view of `c` of rank 2", "[[i, j]]"),
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
        ("let v = i.into();", "there is no method `into`", "i as f32"),
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
        ("eprintln!(\"{}\", i);", "cannot call `eprintln!`", "a GPU has one output"),
        ("let v = vec![1.0];", "cannot call `vec!`", "local::<f32>"),
        ("let v = \"text\";", "a kernel has no text", "numbers"),
        ("unsafe { y[[0]] = 1; }", "does not have `unsafe`", "masked"),
        ("let v = shared::<f32>(row_major([n]));", "not known at compile time", "parameter of the attribute"),
        ("let v = shared([32]);", "`shared` needs its element type", "shared::<f32>"),
        (
            "fn f<const K: usize>(x: f32) -> f32 { x } let v = f(1.0);",
            "which `K` this `f` has is not known here",
            "f::<K>(..)",
        ),
        ("y[[0]] = [1, 2, 3][i];", "an index of an array of 3 that may be out of bounds", "i.min(2)"),
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
        // What CUDA, Mojo, Python and Rust's library have.
        ("atomicAdd(y, 1);", "there is no function `atomicAdd`", "view.atomic_add([i, j], x)"),
        ("let v = __shfl_down_sync(0xffffffff, last, 16);", "`__shfl_down_sync`", "x.shuffle_down"),
        ("let v = fmaxf(last, 0.0);", "there is no function `fmaxf`", "x.max("),
        ("let v = exp(last);", "there is no function `exp`", "it is a method: `x.exp"),
        ("let v = last.exp;", "there is no field `exp`", "it is a method: `x.exp()`"),
        ("let v = x.transpose;", "there is no field `transpose`", "it is a method: `view.transpose()`"),
        ("let v = __float2half(last);", "there is no function `__float2half`", "x.cast::<f16>()"),
        ("let v = tid + 1;", "cannot find `tid`", "thread_idx.x"),
        ("__shared__[0] = 1.0;", "cannot find `__shared__`", "shared::<f32>"),
        ("let v: int = 3;", "`int` is no element type", "`i32`"),
        ("let v: float4 = last;", "`float4` is no element type", "vectorize"),
        ("let v: Vec<f32> = last;", "`Vec<f32>` is no element type", "a kernel has no heap"),
        ("let v: Option<f32> = last;", "`Option<f32>` is no element type", "(found, x)"),
        ("let v = Vec::new();", "there is no `Vec::new`", "a kernel has no heap"),
        ("let t = SharedMemory::new(32);", "there is no `SharedMemory::new`", "shared::<f32>"),
        ("let v = x.cols();", "there is no method `cols`", "x.dim(0)"),
        ("y.sort();", "there is no method `sort`", "own.swap(i, j)"),
        ("let v = x.as_ptr();", "there is no method `as_ptr`", "no pointers"),
        // Ranks, types and numbers.
        (
            "let v = keys[[0]] + y[[0]];",
            "`+` of a value of type u32 and a value of type i32",
            "`x as u32`, `x as i32`",
        ),
        ("let v = i as f64 * last;", "a value of type f64 and a value of type f32", "`x as f64`, `x as f32`"),
        (
            "let v = b[[0, 0]] * x[[0, 0]];",
            "bf16 and a value of type f32",
            "`x.cast::<f32>()`, `x.cast::<bf16>()`",
        ),
        ("let v = i / 2.0;", "an index (usize) and a float literal", "`i as f32`"),
        ("let v = x + 1.0;", "`+` of a tensor", "name an element"),
        ("let held = [0.0; 4]; held[1] = 2.0;", "`held` is not mutable", "declare it as `let mut held`"),
        ("let v = if i > 3 { 1.0 };", "`v` is an `if` without `else`", "else { .. }"),
        ("y[[i]] = 1.5;", "expected a value of type i32, found a float literal", "without a point"),
        ("let v: u8 = 256;", "256 does not fit u8", "0 to 255"),
        ("let v = last ^ 2;", "`^` does not apply to a value of type f32", "x.powi(2)"),
        ("let v = x.warp_sum();", "`warp_sum` does not apply to a tensor", "x[[i, j]].warp_sum()"),
        ("let v = x.tile(32, 0);", "the coordinates of `tile` are an array", "one entry for each mode"),
        ("let v = (1, 2).2;", "a tuple of 2 has no field 2", "`.0` to `.1`"),
        ("let v = N[0];", "an index (usize) has no elements", "x[[i, j]]"),
        ("let v = 3; v = 4;", "`v` is assigned and is not `mut`", "let mut v"),
        ("if let Some(v) = i { }", "`if let`", "write a condition"),
        ("let v = [0.0; n];", "the length of an array is not known", "parameter of the attribute"),
    ]);
}

#[test]
fn a_way_out_is_of_what_is_there() {
    lead_on(&[
        // What is no number names the part that is one.
        ("y[[(i, 0)]] = 1;", "expected an index (usize), found a tuple", "name a part"),
        ("y[[x]] = 1;", "expected an index (usize), found a tensor", "name an element"),
        ("y[[0.5]] = 1;", "expected an index (usize), found a float literal", "without a point"),
        ("c[[0, 0]] = x;", "expected a value of type f32, found a tensor", "name an element"),
        (
            "let v: f32 = if i < 3 { 1.0; } else { 2.0; };",
            "`v` has no value: its block ends in `1.0;`",
            "leave the `;` out after `1.0`",
        ),
        ("let v = x[0..4];", "a range among the coordinates", "`x.window("),
        ("y(i) = 1;", "there is no function `y`", "`y[[i]]`"),
        // Of a word with too few arguments, what it is called with.
        ("let t = x.tile([4, 4]);", "`tile` takes 2 arguments, 1 was given", "`view.tile([m, n], [i, j])`"),
        ("y[[0]].atomic_add(1);", "`atomic_add` takes 2 arguments", "`view.atomic_add([i, j], x)`"),
        ("let v = last.max();", "`max` takes 1 argument, 0 were given", "`x.max(y)`"),
        ("let v = 300u8;", "300 does not fit u8", "0 to 255"),
        ("let v = i / 0;", "`/` by zero", "divide by another number"),
        ("let t = x.tile([0, 4], [0, 0]);", "a tile of no elements", "1 or more"),
        ("let v = last ** 2.0;", "in front of a number", "`x.powf(0.5)`"),
        ("printf(i);", "there is no function `printf`", "println!"),
        ("let v = np.exp(last);", "cannot find `np`", "belongs to a module"),
        ("let v = last.warp_reduce();", "there is no method `warp_reduce`", "`last.warp_sum()`"),
        ("c.copy_from(x);", "`c` has extents (M, N) and `x` has (M, K)", "the same tile"),
    ]);
}

/// Each body is refused with these words, and with these in its help.
fn lead_on(rows: &[(&str, &str, &str)]) {
    let mut missed = vec![];
    for (body, message, help) in rows {
        let found = wrong(&with_body(body));
        let first = found.first().cloned().unwrap_or_default();
        if !(first.contains(message) && first.contains(help) && first.contains("= help: ")) {
            missed.push(format!("{body}: {found:#?}"));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
