//! The macro as a function of tokens: what it gives for whole kernels, wrong kernels and half-written ones.

use crate::compile::run;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The tokens that the macro gives, as text without spaces.
pub(crate) fn expand(attribute: &str, item: &str) -> String {
    let tokens = run(attribute.parse().expect("attribute"), item.parse().expect("item"));
    tokens.to_string()
}

/// The messages of the compile errors in an expansion.
pub(crate) fn messages(attribute: &str, item: &str) -> Vec<String> {
    let out = expand(attribute, item);
    // A message may hold braces.
    let own = |rest: &str| rest.rsplit_once('}').map_or("", |(own, _)| own).to_owned();
    out.split("compile_error !").skip(1).map(own).collect()
}

const VECTOR_ADD: (&str, &str) = (
    "BLOCK = 256, block = [BLOCK], grid = [N.div_ceil(BLOCK)]",
    "/// Adds.
    pub fn vector_add<const N: usize>(
        a: &LayoutTensor<f32, RowMajor<N>>,
        b: &LayoutTensor<f32, RowMajor<N>>,
        c: &mut LayoutTensor<f32, RowMajor<N>>,
    ) {
        let i = block_idx.x * BLOCK + thread_idx.x;
        if i < N {
            c[[i]] = a[[i]] + b[[i]];
        }
    }",
);

const BLOCK_TILED_VECTORIZED: (&str, &str) = (
    "BM = 64, BN = 64, BK = 8, TM = 8, TN = 8,
     block = [BM * BN / (TM * TN)],
     grid = [N.div_ceil(BN), M.div_ceil(BM)]",
    "pub fn block_tiled_vectorized<const M: usize, const N: usize, const K: usize>(
        a: &LayoutTensor<f32, RowMajor<M, K>>,
        b: &LayoutTensor<f32, RowMajor<K, N>>,
        c: &mut LayoutTensor<f32, RowMajor<M, N>>,
    ) {
        const THREADS: usize = BM * BN / (TM * TN);
        let (row, col) = (thread_idx.x / (BN / TN), thread_idx.x % (BN / TN));
        let mut dst = c.tile([BM, BN], [block_idx.y, block_idx.x]).tile([TM, TN], [row, col]);
        let mut a_smem = shared::<f32>(col_major([BM, BK]));
        let mut b_smem = shared::<f32>(row_major([BK, BN]));
        let mut acc = local::<f32>(row_major([TM, TN])).fill(0.0);
        for block in 0..K.div_ceil(BK) {
            let a_tile = a.tile([BM, BK], [block_idx.y, block]);
            let b_tile = b.tile([BK, BN], [block, block_idx.x]);
            copy_dram_to_sram_async(&mut a_smem.vectorize([4, 1]), &a_tile.vectorize([4, 1]), row_major([THREADS / BK, BK]));
            copy_dram_to_sram_async(&mut b_smem.vectorize([1, 4]), &b_tile.vectorize([1, 4]), row_major([BK, THREADS / BK]));
            async_copy_wait_all();
            barrier();
            for k in unroll(0..BK) {
                let a_reg = a_smem.tile([TM, 1], [row, k]).to_local();
                let b_reg = b_smem.tile([1, TN], [k, col]).to_local();
                outer_product_acc(&mut acc, &a_reg, &b_reg);
            }
            barrier();
        }
        dst.vectorize([1, 4]).copy_from(&acc.vectorize([1, 4]));
    }",
);

#[test]
fn a_kernel_becomes_a_module() {
    let out = expand(VECTOR_ADD.0, VECTOR_ADD.1);
    for wanted in [
        "pub mod vector_add",
        "pub fn launch (",
        "pub fn launch_with (",
        "pub fn simulate (",
        "pub static DEFINITION",
        "pub const SOURCE",
        "pub fn variants ()",
        "__global__",
        "mod checked_by_rustc",
        "const BLOCK : usize = 256",
        "a : & impl :: layout_cuda :: generated :: TensorArg < f32 , 1usize >",
        "c : & mut impl :: layout_cuda :: generated :: TensorArgMut < f32 , 1usize >",
    ] {
        assert!(out.contains(wanted), "{wanted} in {out}");
    }
    for unwanted in ["compile_error", "layout_core", "layout_macros", "cudarc"] {
        assert!(!out.contains(unwanted), "{unwanted} in {out}");
    }
}

/// The documentation of the module has the entries that follow from the body; those that are written are in the source.
#[test]
fn the_documentation_has_the_entries_that_follow() {
    let out = expand("BLOCK = 256", VECTOR_ADD.1);
    assert!(!out.contains("compile_error"), "{out}");
    assert!(out.contains("From the body: `block = [BLOCK]`, `grid = [N.div_ceil(BLOCK)]`."), "{out}");
    let half = expand("BLOCK = 256, block = [BLOCK]", VECTOR_ADD.1);
    assert!(half.contains("From the body: `grid = [N.div_ceil(BLOCK)]`."), "{half}");
    assert!(!expand(VECTOR_ADD.0, VECTOR_ADD.1).contains("From the body"));
}

/// An expansion as a person would write it, without the kernel's bytes: their form is layout-core's.
fn pretty(attribute: &str, item: &str) -> String {
    let tokens = run(attribute.parse().expect("attribute"), item.parse().expect("item"));
    let text = prettyplease::unparse(&syn::parse2(tokens).expect("items"));
    let lines = text.lines().map(|line| match line.trim_start().strip_prefix("bytes: b\"") {
        Some(_) => "        bytes: ..,",
        None => line,
    });
    lines.collect::<Vec<&str>>().join("\n")
}

#[test]
fn the_module_of_a_kernel() {
    insta::assert_snapshot!(pretty(VECTOR_ADD.0, VECTOR_ADD.1));
}

#[test]
fn the_module_of_a_kernel_with_errors() {
    insta::assert_snapshot!(pretty(VECTOR_ADD.0, &VECTOR_ADD.1.replace("a[[i]]", "d[[i]]")));
}

#[test]
fn lists_make_variants_and_types_make_generic_launches() {
    let item = "fn scale<T, const N: usize>(x: &mut LayoutTensor<T, RowMajor<N>>, by: T, from: usize) {
        let i = block_idx.x * BLOCK + thread_idx.x;
        if i >= from && i < N { x[[i]] = x[[i]] * by; }
    }";
    let out = expand("T = [f32, f64], BLOCK = [64, 128], block = [BLOCK], grid = [N.div_ceil(BLOCK)]", item);
    assert!(!out.contains("compile_error"), "{out}");
    for key in ["\"Tf32_BLOCK64\"", "\"Tf32_BLOCK128\"", "\"Tf64_BLOCK64\"", "\"Tf64_BLOCK128\""] {
        assert!(out.contains(key), "{key} in {out}");
    }
    for wanted in
        ["launch < T : :: layout_cuda :: generated :: Element >", "by : T", "from : usize", "type T = f32"]
    {
        assert!(out.contains(wanted), "{wanted} in {out}");
    }
}

#[test]
fn a_promise_makes_a_second_variant() {
    let item = "fn copy<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
        let i = block_idx.x * 64 + thread_idx.x;
        if i < N { y[[i]] = x[[i]]; }
    }";
    let out = expand("block = [64], grid = [N.div_ceil(64)], require(N > 0), variant_if(N % 64 == 0)", item);
    assert!(!out.contains("compile_error"), "{out}");
    assert!(out.contains("variant_if : :: core :: option :: Option :: Some (0u32)"), "{out}");
    assert!(out.contains("copy_if0"), "{out}");
}

#[test]
fn the_vectorised_kernel_of_the_ladder_compiles() {
    let (attribute, item) = BLOCK_TILED_VECTORIZED;
    assert_eq!(messages(attribute, item), [""; 0]);
}

/// A kernel of two tensors with this body.
fn with_body(body: &str) -> Vec<String> {
    let item = format!(
        "fn kernel<const M: usize, const N: usize>(
            a: &LayoutTensor<f32, RowMajor<M, N>>, c: &mut LayoutTensor<f32, RowMajor<M, N>>, n: usize,
        ) {{ {body} }}"
    );
    messages("block = [32], grid = [M]", &item)
}

#[test]
fn what_the_language_lacks_is_refused_once_with_a_way_out() {
    for (body, message) in [
        ("let f = move |x: f32| x;", "a closure that moves what it sees"),
        ("let x = 1.0 + return;", "does not have `return` as a value"),
        ("fn f(x: &mut i32) { *x += 1; } f(1);", "a `&mut` is expected"),
        ("match n { Some(_) => {}, _ => {} }", "a kernel does not have this pattern"),
        ("match n { 1 | k => {} }", "a name in one of several patterns"),
        ("let s = Point { x: 1 };", "cannot find the struct `Point` in this kernel"),
        ("let x = foo()?;", "does not have `?`"),
        ("let x = \"text\";", "a kernel has no text"),
        ("let x = 'c';", "a kernel has no text"),
        ("let x = vec![1];", "cannot call `vec!`"),
        ("eprintln!(\"a\");", "cannot call `eprintln!`"),
        ("let x = println!(\"a\");", "cannot call `println!` here"),
        ("println!(\"{} {}\", n);", "`{1}` of the format string has no value"),
        ("println!(\"{}\", n, n);", "no `{}` of the format string names this value"),
        ("println!(\"{n:q}\");", "`q`, which is no form of a value, in `{:q}`"),
        ("println!(\"{n:b}\");", "binary digits"),
        ("println!(\"{n:^8}\");", "a centred value"),
        ("println!(\"{n:*<8}\");", "a fill"),
        ("println!(\"{n:n$}\");", "a width that is a value"),
        ("println!(\"{n:.*}\");", "a precision that is a value"),
        ("println!(\"{n:9999}\");", "9999 characters"),
        ("println!(\"{n\");", "a `{` without its other brace"),
        ("println!(\"}\");", "a `}` without its other brace"),
        ("println!(\"{n + 1}\");", "is no name and no number"),
        ("println!(n);", "a format string is a literal"),
        ("assert_eq!(n);", "expected `,`"),
        ("assert!();", "`assert!` needs a condition"),
        ("struct P { x: f32 } let p = P { x: 1.0 }; dbg!(p);", "a struct cannot be printed"),
        ("let x = String::new();", "there is no `String::new` in a kernel"),
        ("let x = Box::new(1);", "there is no `Box::new` in a kernel"),
        ("let x = helper(1);", "there is no function `helper`"),
        ("let x = crate::SIZE;", "cannot name items of the program around it"),
        ("let x = SIZE;", "`SIZE` is neither bound in the attribute nor a const generic"),
        ("let x = size;", "cannot find `size`"),
        ("use std::mem;", "cannot hold `use`"),
        ("enum S { A }", "cannot hold an enum"),
        ("trait S {}", "cannot hold a trait"),
        ("unsafe { barrier(); }", "does not have `unsafe`"),
        ("loop { break 'l; }", "no loop around is called `'l`"),
        ("let x = for k in 0..n {};", "does not have a `for` or a `while` as a value"),
        ("for k in 0..n { break 1; }", "a `break` with a value leaves a `for` or a `while`"),
        ("let x; let y = x + 1;", "`x` is read before it has a value"),
        ("let x; x = a;", "`x` is declared without a value and becomes a tensor"),
        ("break;", "`break` outside of a loop"),
        ("fn f(x: f32) -> f32 { f(x) } let y = f(1.0);", "`f` calls itself"),
        ("fn f(x: f32) -> f32 { g(x) } fn g(x: f32) -> f32 { f(x) } let y = 1.0;", "calls itself"),
        ("fn f() -> usize { n } let y = f();", "does not see `n`"),
        ("fn f() -> usize { M } let y = f();", "does not see the dimension `M`"),
        (
            "fn f<const S: usize>(x: f32) -> f32 { x } let y = f(1.0);",
            "which `S` this `f` has is not known here",
        ),
        ("fn f<T>(x: View<T, Read>) { let y = shared::<T>(row_major([4])); }", "no element type"),
        (
            "fn f<T: Element>(n: usize) { let y = shared::<T>(row_major([4])); } f(1);",
            "no argument determines the type `T`",
        ),
        ("fn barrier() {}", "cannot be defined again"),
        ("const C: usize = M;", "a `const` item cannot name `M`"),
        ("let M = 1;", "`M` is a dimension and cannot be bound again"),
        ("let thread_idx = 1;", "`thread_idx` is a word of the kernel language"),
        ("let x = thread_idx;", "`thread_idx` is no number"),
        ("let x = thread_idx.w;", "there is no axis `w`"),
        ("let x = a.shape;", "there is no field `shape`"),
        ("let x = a[0];", "write one for each mode: `[[i, j]]`"),
        ("let x = a.tile([1, 1]);", "`tile` takes 2 arguments, 1 was given"),
        ("let x = a.tiel([1, 1], [0, 0]);", "there is no method `tiel`"),
        ("let x = shared(row_major([4]));", "`shared` needs its element type"),
        ("let x = shared::<String>(row_major([4]));", "no element type and no index type"),
        ("let x = 1 as char;", "no element type and no index type"),
        ("let x = 1u128;", "`u128` is no type of the kernel language"),
        ("let x: u128 = 5;", "no element type and no index type"),
        ("let (x, y): (i32, Real) = (1, 2.0);", "no element type and no index type"),
        ("fn f(x: u128) -> i32 { 1 } let y = f(1);", "no element type and no index type"),
        ("let x = -129i8;", "129 does not fit i8"),
        ("let x = 300u8;", "300 does not fit u8"),
        ("let x = 99999999999999999999;", "is beyond the integers of a kernel"),
        ("let (x, y);", "a pattern without a value"),
        ("let x = 1; x = 2;", "`x` is assigned and is not `mut`"),
        ("n = 2;", "this cannot be assigned"),
        ("for i in a {}", "a tensor is no array"),
        ("for i in a.tile([1, 1], [0, 0]) {}", "a `for` runs over a range"),
        ("let x = a.len();", "a tensor is no array"),
        ("for i in (0..8).rev().step_by(2) {}", "`step_by` behind `rev`"),
        ("for (i, j) in 0..8 {}", "the variable of a `for` is one plain name"),
        ("let x = 0..8;", "does not have a range outside of `for`"),
        ("let [x, ..] = [1, 2];", "name each element"),
        ("#[inline] let x = 1;", "an attribute inside of a kernel"),
        ("if let Some(v) = n { let w = v; }", "does not have `if let` and `while let`"),
        ("if let 1 = n {}", "does not have `if let` and `while let`"),
        ("let x = [0; 2000];", "an array of 2000 elements; at most 1024"),
        ("let mut x = [[0; 20]; 20];", "an array of 400 elements; at most 256"),
        ("let x = [0; 100]; let y = x[n % 100];", "is compared with each, and with 64 at most"),
        ("let x = [0; n];", "the length of an array is not known at compile time"),
        ("let x = [1, 2]; let y = x[2];", "element 2 of an array of 2"),
        ("let x = [1, 2]; let y = x[n];", "an index of an array of 2 that may be out of bounds"),
        ("let mut x = [a, a]; x[0] = a;", "a `let mut` array of elements that are a tensor"),
        ("let x = async {};", "does not have `async`"),
    ] {
        let found = with_body(body);
        assert_eq!(found.len(), 1, "{body}: {found:#?}");
        assert!(found[0].contains(message), "{body}: {found:#?}");
        assert!(found[0].contains("= help: "), "{body}: {found:#?}");
    }
}

#[test]
fn what_a_struct_cannot_be_is_refused_once_with_a_way_out() {
    let point = "struct Point { x: f32, across: f32 } struct Other { x: u32, z: f32 }
        impl Point { const ZERO: f32 = 0.0; fn norm(&self) -> f32 { self.x } fn new() -> Self { Self { x: 1.0, across: Self::ZERO } } }
        impl Other { fn norm(&self) -> f32 { self.z } }";
    for (body, message) in [
        (
            "let p = Point { x: 1.0, acros: 2.0 };",
            "`Point` has no field `acros`\\n  = help: is `across` meant?",
        ),
        ("let p = Point { x: 1.0, q: 2.0 };", "help: the fields of `Point` are `x`, `across`"),
        ("let p = Point { x: 1.0 };", "a `Point` without `across`\\n  = help: write `across: ..`, or"),
        (
            "let p = Point::new(); let y = p.acros;",
            "`Point` has no field `acros`\\n  = help: is `across` meant?",
        ),
        ("let p = Point::new(); let y = p.norm;", "help: it is a method: `.norm(..)`"),
        (
            "let p = Point::new(); p.norn();",
            "there is no method `norn` in a kernel\\n  = help: is `norm` meant?",
        ),
        ("let p = Point::new(); p.norm(1.0);", "`norm` takes no arguments, 1 was given"),
        ("let p = Point::nev();", "`Point` has no function and no constant `nev`"),
        ("let p = Point::SIZE;", "`Point` has no function and no constant `SIZE`"),
        ("let p = Point(1.0, 2.0);", "the fields of `Point` have names"),
        ("let p = Point;", "`Point` is a struct"),
        ("let Point { q, .. } = Point::new();", "`Point` has no field `q`"),
        ("let Points { q, .. } = Point::new();", "cannot find the struct `Points`"),
        ("let p: Points = Point::new();", "`Points` is no element type and no index type"),
        (
            "let f = |p| p.x; let y = f(Point::new());",
            "which struct `p` is, of `Point`, `Other`, is not known here",
        ),
        (
            "let f = |p| p.norm(); let y = f(Point::new());",
            "annotate the type: `let p: Point = ..`, `|p: &Point| ..`",
        ),
        ("struct Pair(f32, f32); let p = Pair(1.0);", "`Pair` has 2 fields, 1 were given"),
        ("struct Node { next: Node } let y = 1;", "`Node` contains itself"),
        ("struct A { b: B } struct B { a: [A; 2] } let y = 1;", "`A` contains itself"),
        ("struct Held { x: &mut f32 } let y = 1;", "a field that is a reference"),
        ("struct Held<'a> { x: f32 } let y = 1;", "`Held` has a lifetime"),
        ("impl<T> Point { fn f() {} } let y = 1;", "`Point` has no parameters"),
        ("#[derive(PartialEq)] struct Held { x: f32 } let y = 1;", "has no meaning for a struct"),
        ("impl Drop for Point { fn drop(&mut self) {} } let y = 1;", "a kernel has no traits of its own"),
        ("impl Nothing { fn f() {} } let y = 1;", "`impl` of `Nothing`, which is no struct of this kernel"),
        ("impl Point { type Of = f32; } let y = 1;", "an `impl` block holds functions and constants"),
        ("impl Point { fn deep(self) -> f32 { self.deep() } } let y = 1;", "`Point::deep` calls itself"),
        (
            "impl Point { fn a(self) -> f32 { Self::b() } fn b() -> f32 { Point::new().a() } } let y = 1;",
            "calls itself",
        ),
        ("let p = Point::new(); p.x = 2.0;", "a field of `p` is assigned and `p` is not `mut`"),
        ("impl Point { fn set(&self) { self.x = 2.0; } } let y = 1;", "take it as `&mut self`"),
        ("let p = Point::new(); let y = p + p;", "a tuple"),
    ] {
        let found = with_body(&format!("{point} {body}"));
        assert_eq!(found.len(), 1, "{body}: {found:#?}");
        assert!(found[0].contains(message), "{body}: {found:#?}");
    }
}

#[test]
fn what_a_generic_struct_cannot_be_is_refused_once_with_a_way_out() {
    let items = "struct Ring<const STAGES: usize> { stage: usize } struct Pair<T> { a: T, b: T }
        impl<const STAGES: usize> Ring<STAGES> {
            const LAST: usize = STAGES - 1;
            fn new() -> Self { Self { stage: 0 } }
            fn get(&self) -> usize { self.stage % STAGES }
        }
        impl<T: Number> Pair<T> { fn sum(&self) -> T { self.a + self.b } }";
    for (body, message) in [
        (
            "let r = Ring::new();",
            "which `STAGES` this `Ring` has is not known here\\n  = help: write it, `Ring::<STAGES>`, or the type of the place that \
             it is for: `let name: Ring<STAGES> = ..`",
        ),
        ("let r = Ring { stage: 0 }; let y = r.get();", "which `STAGES` this `Ring` has is not known here"),
        ("let p = Pair { a: 1.0, b: 2.0 };", "which `T` this `Pair` has is not known here"),
        ("let y = Ring::LAST;", "help: write its arguments: `Ring::<STAGES>::LAST`"),
        ("let y: Pair<f33> = Pair { a: 1.0, b: 2.0 };", "`f33` is no element type and no index type"),
        ("let y = Ring::<{ 2 + MISSING }>::new();", "`MISSING` is neither bound in the attribute"),
        ("fn f() -> usize { Ring::<N>::LAST } let y = f();", "does not see the dimension `N`"),
        (
            "impl Ring<4> { fn f() {} } let y = 1;",
            "an `impl` of `Ring<4>` alone, not of each `Ring`\\n  = help: write `impl<const STAGES: usize> Ring<STAGES> { .. }`",
        ),
        ("impl Pair<f32> { fn f() {} } let y = 1;", "an `impl` of `Pair<f32>` alone, not of each `Pair`"),
        ("impl<T> Pair<T> { type Of = T; } let y = 1;", "an `impl` block holds functions and constants"),
        ("let r = Ring::<4> { stages: 0 };", "`Ring<4>` has no field `stages`\\n  = help: is `stage` meant?"),
        ("let r = Ring::<4>::nev();", "`Ring<4>` has no function and no constant `nev`"),
        ("let r = Ring::<4>::new(); r.gett();", "there is no method `gett` in a kernel\\n  = help: is `get` meant?"),
        (
            "let f = |r| r.get(); let y = f(Ring::<4>::new());",
            "annotate the type: `let r: Ring<STAGES> = ..`, `|r: &Ring<STAGES>| ..`",
        ),
        ("impl<const S: usize> Ring<S> { fn f(&self) { self.f() } } Ring::<2>::new().f();", "`Ring::f` calls itself"),
        (
            "impl<const S: usize> Ring<S> { const A: usize = Self::B; const B: usize = Self::A; } let y = Ring::<2>::A;",
            "expressions within one another",
        ),
        (
            "impl<T> Pair<T> { fn up(self) -> Pair<(T, T)> { Pair { a: (self.a, self.a), b: (self.b, self.b) } } }
             let y = Pair::<f32> { a: 1.0, b: 1.0 }.up().up().up().up().up().up().up().up().up().up();",
            "at most 256 values and 8 structs within one another",
        ),
        ("struct Node<T> { next: Node<T> } let y = 1;", "`Node` contains itself"),
        (
            "fn zeros<const COUNT: usize>() -> [f32; COUNT] { [0.0; COUNT] } let y = zeros();",
            "which `COUNT` this `zeros` has is not known here\\n  = help: it follows from a struct that is given, `Ring<COUNT>`; else \
             write it, `zeros::<COUNT>(..)`",
        ),
        ("fn count<const C: usize>(r: &Ring<C>) -> usize { C } let f = count;", "which `count` this is follows from its arguments"),
        ("fn deep<const C: usize>(r: &Ring<C>) { deep(r) } deep(&Ring::<3>::new());", "`deep` calls itself"),
        ("fn sum<T: Number>(p: Pair<T>) -> T { p.summ() } let y = sum(Pair { a: 1.0f32, b: 2.0 });", "help: is `sum` meant?"),
        ("impl<T> Pair<T> { fn f<const K: usize>(&self) {} } Pair { a: 1.0f32, b: 2.0 }.f::<3>();", "a method has type parameters only"),
        ("struct Letter<const C: char> { x: f32 } let y = Letter::<'a'> { x: 1.0 };", "a kernel has no text"),
    ] {
        let found = with_body(&format!("{items} {body}"));
        assert_eq!(found.len(), 1, "{body}: {found:#?}");
        assert!(found[0].contains(message), "{body}: {found:#?}");
    }
}

#[test]
fn the_attribute_names_constants_of_generic_structs() {
    let kernel = |block: &str| {
        let item = "fn k(y: &mut LayoutTensor<f32, RowMajor<96>>) {
            struct Ring<const STAGES: usize>;
            impl<const S: usize> Ring<S> { const LAST: usize = S - 1; const THREADS: usize = (Self::LAST + 1) * 32; }
            impl<const S: usize> Ring<S> { const LOOP: usize = Ring::<S>::LOOP; }
            y[[thread_idx.x]] = Ring::<3>::THREADS as f32;
        }";
        messages(&format!("block = [{block}], grid = [1]"), item)
    };
    assert_eq!(kernel("Ring::<3>::THREADS"), [""; 0]);
    assert_eq!(kernel("Ring::<{ 1 + 2 }>::THREADS"), [""; 0]);
    assert!(kernel("Ring::THREADS")[0].contains("a kernel cannot name items of the program around it"));
    assert!(kernel("Ring::<3>::LOOP")[0].contains("within one another"), "{:?}", kernel("Ring::<3>::LOOP"));
}

#[test]
fn what_the_signature_may_not_say_is_refused() {
    let tensor = "c: &mut LayoutTensor<f32, RowMajor<N>>";
    for (attribute, item, message) in [
        ("block = [1]", format!("async fn k<const N: usize>({tensor}) {{}}"), "no `async` function"),
        ("block = [1]", format!("fn k<const N: usize>({tensor}) -> f32 {{}}"), "a kernel returns nothing"),
        ("block = [1]", format!("fn k<'a, const N: usize>({tensor}) {{}}"), "no lifetimes"),
        ("block = [1]", format!("fn k<const N: u32>({tensor}) {{}}"), "not of type `usize`"),
        ("block = [1]", format!("fn k<T, const N: usize>({tensor}) {{}}"), "type parameter `T` is not bound"),
        ("block = [1], T = f32", format!("fn k<const N: usize>({tensor}) {{}}"), "another kind"),
        ("block = [1], N = f32", format!("fn k<const N: usize>({tensor}) {{}}"), "another kind"),
        (
            "block = [1]",
            format!("fn k<const N: usize, const M: usize>({tensor}) {{}}"),
            "`M` is the extent of no",
        ),
        ("block = [1]", "fn k(c: &mut LayoutTensor<f32, RowMajor<N>>) {}".to_owned(), "`N` is neither bound"),
        ("block = [1]", "fn k(c: &mut LayoutTensor<char, RowMajor<8>>) {}".to_owned(), "no element type"),
        ("block = [1]", "fn k(c: &mut LayoutTensor<f32, Banded<8>>) {}".to_owned(), "`Banded` is no layout"),
        ("block = [1]", "fn k(c: &mut LayoutTensor<f32, RowMajor>) {}".to_owned(), "a tensor of rank 0"),
        (
            "block = [1]",
            "fn k(c: &mut LayoutTensor<f32, Contiguous>) {}".to_owned(),
            "which mode is contiguous?",
        ),
        ("block = [1]", "fn k(c: &mut LayoutTensor<f32, Contiguous<1>>) {}".to_owned(), "a tensor of rank 0"),
        (
            "block = [1]",
            "fn k(c: &mut LayoutTensor<f32, Contiguous<2, 8, 8>>) {}".to_owned(),
            "the contiguous mode of `c`: 2; it may be 0 to 1",
        ),
        (
            "block = [1]",
            "fn k<const N: usize>(c: &mut LayoutTensor<f32, Contiguous<N, N>>) {}".to_owned(),
            "the contiguous mode of `c` must be known at compile time",
        ),
        ("block = [1]", "fn k(c: &mut [f32]) {}".to_owned(), "is to a `LayoutTensor`"),
        ("block = [1]", "fn k(c: String) {}".to_owned(), "cannot be passed to a kernel"),
        (
            "block = [1]",
            "fn k<N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {}".to_owned(),
            "`const N: usize`",
        ),
        ("block = [1]", "fn k(c: LayoutTensor<f32, RowMajor<8>>) {}".to_owned(), "write `&` in front of it"),
        ("block = [1]", "fn k(c: &mut LayoutTensor<f32>) {}".to_owned(), "has an element type and a layout"),
        (
            "block = [1]",
            "fn k(c: &mut LayoutTensor<half, RowMajor<8>>) {}".to_owned(),
            "the floats are `f32`",
        ),
        ("threads = [1]", format!("fn k<const N: usize>({tensor}) {{}}"), "is `block` meant?"),
        ("blocks = [1]", format!("fn k<const N: usize>({tensor}) {{}}"), "the blocks of a launch `grid`"),
        (
            "block = [bm], bm = 1",
            format!("fn k<const N: usize>({tensor}) {{}}"),
            "a capital letter: `BM = ..`",
        ),
        (
            "block = [1], grid = [n]",
            format!("fn k<const N: usize>({tensor}, n: i32) {{ let m = n; }}"),
            "make it an index, `n: usize`",
        ),
        ("block = [1]", "fn k() {}".to_owned(), "the kernel has no arguments"),
        ("", format!("fn k<const N: usize>({tensor}) {{}}"), "how many threads a block has"),
        ("block = [0]", format!("fn k<const N: usize>({tensor}) {{}}"), "0 is no entry of `block`"),
        (
            "block = [1], grid = [0]",
            format!("fn k<const N: usize>({tensor}) {{}}"),
            "a grid of 0 blocks runs nothing",
        ),
        (
            "block = (32, 1)",
            format!("fn k<const N: usize>({tensor}) {{}}"),
            "`block` is an array, not a tuple",
        ),
        ("block = [1] grid = [1]", format!("fn k<const N: usize>({tensor}) {{}}"), "a comma is behind each"),
        (
            "block = [1], opt_level = 4",
            format!("fn k<const N: usize>({tensor}) {{}}"),
            "ptxas's level: 4; it may be 0 to 3",
        ),
        (
            "block = [1], opt_level = N",
            format!("fn k<const N: usize>({tensor}) {{}}"),
            "ptxas's level must be known at compile time",
        ),
        ("block = [1], BM = 2", format!("fn k<const N: usize>({tensor}) {{}}"), "parameter `BM` is not used"),
        ("block = [1]", format!("#[inline] fn k<const N: usize>({tensor}) {{}}"), "no meaning for a kernel"),
    ] {
        let found = messages(attribute, &item);
        assert_eq!(found.len(), 1, "{item}: {found:#?}");
        assert!(found[0].contains(message), "{item}: {found:#?}");
        let out = expand(attribute, &item);
        assert!(out.contains("mod k") && out.contains("pub fn launch"), "{item}: {out}");
    }
}

/// What rust-analyzer completes by: see `expand::module_with_errors`.
#[test]
fn a_mistake_moves_nothing_in_front_of_it() {
    let (attribute, item) = VECTOR_ADD;
    let text = |word: &str| expand(attribute, &item.replace("a[[i]] +", &format!("a[[i]].{word}() +")));
    let offset = |word: &str| text(word).find(&format!(". {word} ()"));
    assert!(offset("exp").is_some_and(|at| Some(at) == offset("exq")));
}

#[test]
fn a_kernel_in_an_impl_is_one_error() {
    let found = expand("block = [1]", "fn k(&self) {}");
    assert!(found.contains("outside of the `impl`") && !found.contains("mod k"), "{found}");
}

#[test]
fn names_of_others_have_ours_beside_them() {
    for (body, way) in [
        ("let i = blockIdx.x;", "cannot find `blockIdx` in this kernel"),
        ("let i = blockIdx.x;", "it is `block_idx.x` here"),
        ("let i = global_idx.x;", "`block_idx.x * block_dim.x + thread_idx.x`"),
        ("let i = get_global_id(0);", "`block_idx.x * block_dim.x + thread_idx.x`"),
        ("let i = program_id(0);", "`block_idx.x`"),
        ("let x = A[[0, 0]];", "is `a` meant?"),
        ("let x = m;", "is `M` meant?"),
        ("let x = a[[0, 0]].Sqrt();", "`x.sqrt()`"),
        ("let x = a[[0, 0]].sigmoid();", "1.0 / (1.0 + (-x).exp())"),
        ("let x = a[[0, 0]].relu();", "x.max(0.0)"),
        ("let x = a[[0, 0]].gelu();", "0.5 * x * (1.0 + (x * 0.707_106_77).erf())"),
        ("let x = a[[0, 0]].square();", "x.powi(3)"),
        ("let x = a[[0, 0]].exp_();", "is `exp` meant?"),
        ("let x = a[[0, 0]].pow(2);", "of f32 there is `powf`, `powi`"),
        ("let x = max(n, 1);", "it is a method: `x.max(y)`"),
        ("copy(a, b);", "copy_dram_to_sram_async"),
        ("let x = shared::<f32>();", "shared::<f32>(row_major([32, 32]))"),
        ("let i: i32 = thread_idx.x;", "leave its type out"),
        ("let i = n / 0;", "where a parameter may be 0"),
        ("dbg!(a);", "print a tile of it"),
        ("let i = get_local_size(0);", "`block_dim.x`"),
        ("workgroupBarrier();", "`barrier()`"),
        ("let i = thread_idx().x;", "without brackets: `thread_idx.x`"),
        ("let v = 2; fn f(x: i32) -> i32 { x * v } let y = f(1);", "add a parameter for `v`"),
        ("let barrier = 3; barrier();", "`barrier` is a local here"),
        ("let f = |x, y| x + y; let z = f(1);", "the closure takes 2 arguments, 1 was given"),
        ("let x = a.exp();", "it is of a number of each thread: `x[[i, j]].exp(..)`"),
        ("let x = a[[0, 0]].pow(2.0);", "of f32 there is `powf`, `powi`"),
        ("let x = (n > 1) as u32 * (n > 2);", "if x { 1.0 } else { 0.0 }"),
        ("let s = shared::<f32>(row_major([0]));", "each extent of its layout is 1 or more"),
        ("let x = a.slice(0).dim(1);", "its extent is `x.dim(0)`"),
        ("let x = a[[0, 0]] * n;", "convert the index: `i as f32`"),
        ("let x = a[[0, 0]] * SCALE;", "constant inside of the kernel"),
        ("let v = a[[0, 0]]; let x = v.relu();", "`v.max(0.0)`, `v.min(1.0)`"),
        ("let x = a.load(0);", "an element is read as `a[[i, j]]`"),
        ("let x = a[(0, n)];", "write `a[[0, n]]`"),
        (
            "struct P<T> { x: T } impl<T> P<T> { fn get(self) -> T { fn same<T: Element>(x: T) -> T { x } same(self.x) } } \
             let x = P { x: 1.0f32 }.get();",
            "give this one another name",
        ),
        ("a[[0, 0]] == 1.0;", "an assignment is `=`"),
        ("let i = 1; i + 1;", "bind it, `let y = ..;`"),
        ("for i in 0..n { i += 2; }", "`.step_by(2)`, else a `while`"),
        ("n -= 1;", "`let mut n = n;`"),
        ("let i = threadidx.x;", "is `thread_idx` meant?"),
        ("let i = thread_Idx.x;", "is `thread_idx` meant?"),
        ("let i = cuda.threadIdx.x;", "no word of a kernel belongs to a module"),
        ("let i = global_invocation_id.x;", "`block_idx.x * block_dim.x + thread_idx.x`"),
        ("let x = a[[0, 0]].log(2.0);", "`x.ln() / base.ln()`"),
        ("let x = std::cmp::max(n, 3);", "it is `x.max(y)` here"),
        ("tl::debug_barrier();", "it is `barrier()` here"),
        ("barrier;", "call it: `barrier()`"),
        ("__threadfence();", "`fence_device()`"),
        ("println!(\"%d\", n);", "not `%d` or `%f`"),
        ("let x = matches!(n, 0);", "`match x { 0..=4 => true, _ => false }`"),
        ("for i in (0..n).step_by(-1) { barrier(); }", "`(0..n).rev()`"),
        ("let x = f16::from_f32(1.0);", "`x.cast::<f16>()`"),
    ] {
        let found = with_body(body);
        assert!(found[0].contains(way), "{body}: {found:#?}");
    }
}

#[test]
fn the_type_parameter_of_a_function_is_its_own() {
    let item = |type_inside: &str| {
        format!(
            "fn k<T, const N: usize>(c: &mut LayoutTensor<T, RowMajor<N>>) {{
                fn first<U: Element>(x: View<U, Write>) {{ let y = shared::<{type_inside}>(row_major([4])); }}
                fn second<T: Element>(x: View<T, Write>) {{ let y = shared::<T>(row_major([4])); }}
                let y = shared::<T>(row_major([4]));
                first(c.tile([1], [0]));
                second(c.tile([1], [0]));
            }}"
        )
    };
    for (type_inside, wrong) in [("f32", 0), ("U", 0), ("V", 1)] {
        let found = messages("T = f32, block = [1]", &item(type_inside));
        assert_eq!(found.len(), wrong, "{type_inside}: {found:#?}");
        assert!(found.iter().all(|message| message.contains("no element type")), "{found:#?}");
    }
}

#[test]
fn all_errors_come_at_once() {
    let found = with_body("let x = SIZE; let y = helper(); let z = a.tile([1, 1]); let w = 1 + return;");
    assert_eq!(found.len(), 4, "{found:#?}");
}

/// Every prefix of the tokens, the groups closed, as an editor's lexer gives them.
fn prefixes(tokens: TokenStream) -> Vec<TokenStream> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut out = vec![];
    for number in 0..trees.len() {
        let before: TokenStream = trees[..number].iter().cloned().collect();
        out.push(before.clone());
        if let TokenTree::Group(group) = &trees[number] {
            for inside in prefixes(group.stream()) {
                let cut = TokenTree::Group(Group::new(group.delimiter(), inside));
                out.push(before.clone().into_iter().chain([cut]).collect());
            }
        }
    }
    out
}

#[test]
fn a_half_written_kernel_leaves_its_callers_as_they_are() {
    let (attribute, item) = BLOCK_TILED_VECTORIZED;
    let (attribute, item): (TokenStream, TokenStream) =
        (attribute.parse().expect("attribute"), item.parse().expect("item"));
    let all = prefixes(item.clone());
    assert!(all.len() > 300, "{}", all.len());
    for prefix in all {
        let text = prefix.to_string();
        let named = text.contains("fn block_tiled_vectorized");
        let arguments = prefix.clone().into_iter().any(|tree| match tree {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        });
        let out = run(attribute.clone(), prefix);
        syn::parse2::<syn::File>(out.clone()).unwrap_or_else(|error| panic!("{text}: {error}: {out}"));
        let out = out.to_string();
        assert!(out.contains("compile_error") || arguments, "{text}: {out}");
        if named {
            assert!(out.contains("mod block_tiled_vectorized"), "{text}: {out}");
            assert!(out.contains("pub fn launch ("), "{text}: {out}");
        }
        if arguments {
            let typed = "c : & mut impl :: layout_cuda :: generated :: TensorArgMut < f32 , 2usize >";
            assert!(out.contains(typed), "{text}: {out}");
        }
    }
    for prefix in prefixes(attribute) {
        let out = run(prefix.clone(), item.clone()).to_string();
        assert!(out.contains("mod block_tiled_vectorized"), "{prefix}: {out}");
        assert!(out.contains("pub fn launch ("), "{prefix}: {out}");
    }
}

#[test]
fn deep_kernels_are_refused() {
    let sum = vec!["n"; 400].join(" + ");
    let body = format!("let x = {sum};");
    let found = with_body(&body);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("within one another"), "{found:#?}");
    let parentheses = format!("let x = {}n{};", "(".repeat(3000), ")".repeat(3000));
    let found = with_body(&parentheses);
    assert!(found[0].contains("nests too deep"), "{found:#?}");
}

#[test]
fn the_language_goes_through_every_stage() {
    for (what, attribute, item) in [
        (
            "halo with signed indices",
            "block = [256], grid = [N.div_ceil(256)]",
            "fn blur<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
                let i = (block_idx.x * 256 + thread_idx.x) as isize;
                let mut sum = 0.0;
                for d in -1..2 {
                    if i + d >= 0 && i + d < N as isize { sum += x[[i + d]]; }
                }
                if i < N as isize { y[[i]] = sum / 3.0; }
            }",
        ),
        (
            "nested functions and scalars",
            "block = [64], grid = [N.div_ceil(64)]",
            "fn axpy<const N: usize>(a: f32, x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>, from: usize) {
                const SCALE: f32 = 2.0;
                fn line(a: f32, x: f32, y: f32) -> f32 { a.mul_add(x, y * SCALE) }
                fn at(i: usize, from: usize) -> usize { from + i }
                let i = at(block_idx.x * 64 + thread_idx.x, from);
                if i < N { y[[i]] = line(a, x[[i]], y[[i]]); }
            }",
        ),
        (
            "integers, while, loop, break, continue, casts",
            "block = [32], grid = [N.div_ceil(32)]",
            "fn collatz<const N: usize>(x: &LayoutTensor<u32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>) {
                let i = block_idx.x * 32 + thread_idx.x;
                if i < N {
                    let mut n = x[[i]];
                    let mut steps: i32 = 0;
                    while n > 1 {
                        if n % 2 == 0 { n /= 2; } else { n = n * 3 + 1; }
                        steps += 1;
                    }
                    loop {
                        if steps > 100 { steps -= 100; continue; }
                        break;
                    }
                    y[[i]] = steps.max(0) + (n as i32) - n.cast::<i32>();
                }
            }",
        ),
        (
            "pitched and strided, transposed, static and dynamic extents",
            "K = 64, block = [16, 16], grid = [M.div_ceil(16), 4]",
            "fn transpose<const M: usize, const K: usize>(
                x: &LayoutTensor<f32, Pitched<M, K>>, y: &mut LayoutTensor<f32, Strided<K, M>>, z: &LayoutTensor<f32, ColMajor<8, K>>,
            ) {
                let tile = x.tile([16, 16], [block_idx.x, block_idx.y]);
                let mut out = y.transpose().tile([16, 16], [block_idx.x, block_idx.y]);
                out[[thread_idx.y, thread_idx.x]] = tile[[thread_idx.y, thread_idx.x]] + z[[0, thread_idx.x]];
            }",
        ),
        (
            "compile-time if, bool parameters, reversed and stepped loops, select, tuples",
            "STAGED = [true, false], STEP = 2, block = [32]",
            "fn odd<const N: usize>(y: &mut LayoutTensor<f64, RowMajor<N>>) {
                let pair = (thread_idx.x, 1.5);
                let smem = shared::<f64>(row_major([32]));
                if STAGED { smem.fill(0.0); }
                barrier();
                let mut sum: f64 = 0.0;
                for i in (0..32).step_by(STEP).rev() { sum += i as f64; }
                for _ in unroll(0..=3) { sum += pair.1; }
                let chosen = if pair.0 < 16 { sum } else { -sum };
                if pair.0 < N { y[[pair.0]] = select(chosen > 0.0, chosen.sqrt(), f64::NEG_INFINITY.max(chosen)); }
            }",
        ),
        (
            "distribute and swizzle",
            "block = [32], grid = [N.div_ceil(8)]",
            "fn share<const N: usize>(x: &LayoutTensor<f32, RowMajor<N, 32>>, y: &mut LayoutTensor<f32, RowMajor<N, 32>>) {
                let mut smem = shared::<f32>(row_major([8, 32]).swizzle(3, 2, 3));
                copy_dram_to_sram(&mut smem, &x.tile([8, 32], [block_idx.x, 0]), row_major([1, 32]));
                barrier();
                let mine = smem.distribute(row_major([1, 32]), thread_idx.x);
                let out = y.tile([8, 32], [block_idx.x, 0]).distribute(row_major([1, 32]), thread_idx.x);
                out.copy_from(&mine);
            }",
        ),
    ] {
        let found = messages(attribute, item);
        assert!(found.is_empty(), "{what}: {found:#?}");
    }
}

#[test]
fn names_of_every_kind_reach_the_text() {
    let out = expand(
        "block = [32]",
        "fn r#loop<const N: usize>(r#in: &LayoutTensor<f32, RowMajor<N>>, größe: &mut LayoutTensor<f32, RowMajor<N>>) {
            fn r#do(r#while: f32) -> f32 { r#while }
            let r#for = r#in[[thread_idx.x]];
            let int = r#for + r#do(1.0);
            größe[[thread_idx.x]] = int;
        }",
    );
    assert!(!out.contains("compile_error"), "{out}");
    let text =
        out.split("pub const SOURCE").nth(1).and_then(|rest| rest.split(';').next()).unwrap_or_default();
    assert!(!text.contains("r#"), "{text}");
}

#[test]
fn mbarriers_and_sums_of_the_block_count_to_the_limit_of_shared_memory() {
    for bytes in [232_440, 232_448] {
        let (room, barriers) =
            (bytes + 8 <= 232_448, "let full = mbarriers(1, 1).at(0); barrier(); full.arrive();");
        let sum = "c[[0]] = c[[0]].block_sum();";
        for (word, fits) in [(barriers, room), (sum, false)] {
            let item = format!(
                "fn k<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) {{
                    let mut all = shared::<u8>(row_major([{bytes}])); all[[0]] = 1u8; {word}
                }}"
            );
            let found = messages("block = [128], arch = \"sm_90a\"", &item);
            let reported = found.iter().any(|text| text.contains("bytes, the architecture has 232448"));
            assert_eq!((reported, found.len()), (!fits, usize::from(!fits)), "{bytes}: {found:#?}");
        }
    }
}

#[test]
fn lists_that_make_too_many_variants_are_refused() {
    let list = (1..=32).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let found = messages(
        &format!("A = [{list}], B = [{list}], block = [A], require(N > B)"),
        "fn k<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) { c[[0]] = 0.0; }",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("make 1024 variants"), "{found:#?}");
}

#[test]
fn lists_that_make_more_variants_than_a_number_holds_are_refused() {
    let lists: String = (0..64).map(|n| format!("A{n} = [1, 2], ")).collect();
    let used: Vec<String> = (0..64).map(|n| format!("A{n}")).collect();
    let found = messages(
        &format!("{lists}block = [A0], require(N > {})", used.join(" + ")),
        "fn k<const N: usize>(c: &mut LayoutTensor<f32, RowMajor<N>>) { c[[0]] = 0.0; }",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("variants"), "{found:#?}");
}

/// In as much stack as is left of rustc's 8 MiB, by parsers that are not optimised, as a user's are not.
#[test]
fn kernels_as_deep_as_allowed_do_not_exhaust_the_stack() {
    let deep = std::thread::Builder::new().stack_size(6 << 20).spawn(as_deep_as_allowed);
    deep.expect("a thread").join().expect("no panic");
}

fn as_deep_as_allowed() {
    let groups = crate::depth::GROUPS - 10;
    let tokens = crate::depth::TOKENS - 100;
    for body in [
        format!("let x = {}n{};", "(".repeat(groups), ")".repeat(groups)),
        format!("let x = n{}; c[[0, x]] = 0.0;", " + n".repeat(150)),
        format!("{} c[[0, 0]] = 0.0; {}", "if n > 1 {".repeat(groups), "}".repeat(groups)),
        format!("let x = {}n;", "- ".repeat(tokens)),
        format!("let x = {}n;", "& mut ".repeat(tokens / 12)),
        format!("let x = n{};", " + n".repeat(tokens / 2)),
        format!("let x = n{};", ".abs()".repeat(tokens / 3)),
        format!("{}{}", "if n > 1 { ".repeat(groups), "}".repeat(groups)),
        format!("if n > 1 {{}} {}", "else if n > 2 {} ".repeat(tokens / 6)),
        format!("{}{}", "{".repeat(groups), "}".repeat(groups)),
        format!("let x = {};", "return ".repeat(tokens / 4)),
        format!("let x = {}n;", "|| ".repeat(tokens / 4)),
        format!("let x: {}f32 = n;", "&".repeat(tokens / 8)),
        format!("let x: {}f32{} = n;", "View<".repeat(tokens / 10), ">".repeat(tokens / 10)),
        format!("let {}x = n;", "&".repeat(tokens / 8)),
        format!("{}n;", "x = ".repeat(tokens / 3)),
        format!("let x = n{};", " as f32".repeat(tokens / 2)),
    ] {
        let found = with_body(&body);
        assert!(!found.iter().any(|message| message.contains("nests too deep")), "{body}: {found:#?}");
    }
}

/// The tokens that `#[tiled_kernels]` gives, as text without line breaks.
fn share(attribute: &str, item: &str) -> String {
    crate::share::run(attribute.parse().expect("attribute"), item.parse().expect("item")).to_string()
}

#[test]
fn a_kernel_gets_what_it_reaches() {
    let out = share(
        "",
        "pub mod both {
            use super::thing;
            pub const WIDTH: usize = 4;
            fn inner(x: usize) -> usize { x * WIDTH }
            fn outer(x: usize) -> usize { inner(x) + 1 }
            fn other() -> usize { 7 }
            #[tiled_kernel(block = [1], grid = [1])]
            pub fn first() { let at = outer(3); }
            #[layout_cuda::tiled_kernel(block = [1], grid = [1])]
            pub(super) fn second() { other(); }
        }",
    );
    let file = syn::parse_file(&out).expect("a module");
    insta::assert_snapshot!(prettyplease::unparse(&file));
}

/// The text of an open module goes into a macro; there its kernels have what is bound, and one's own functions in place of its.
#[test]
fn an_open_module_takes_functions_of_others() {
    let items = "fn plain(x: f32) -> f32 { x }
        #[tiled_kernel(OP = [plain], N = 2, filter(OP == plain, N < 3), block = [1], grid = [1])]
        pub fn apply() { OP(1.0); }";
    let out = share("open = apply_with", &format!("mod library {{ {items} }}"));
    assert!(
        out.contains("macro_rules ! apply_with") && out.contains("tiled_kernels (with $ entries)"),
        "{out}"
    );
    let own = "fn twice(x: f32) -> f32 { 2.0 * x } fn plain(x: f32) -> f32 { x + 1.0 }";
    let out = share("with(OP = twice)", &format!("mod own {{ {own} {items} }}"));
    assert!(out.contains("OP = twice") && !out.contains("filter") && !out.contains("compile_error"), "{out}");
    assert!(out.contains("2.0 * x") && !out.contains("x + 1.0"), "{out}");
}

/// A module's functions behind another one's: an own one hides one of its name, and only own ones must be called.
#[test]
fn a_module_takes_functions_of_an_open_one() {
    let functions = "fn inner(x: f32) -> f32 { x } fn outer(x: f32) -> f32 { inner(x) } fn other() {}";
    let out = share("open = helpers", &format!("mod functions {{ {functions} }}"));
    assert!(out.contains("tiled_kernels (taken = 3usize") && !out.contains("compile_error"), "{out}");
    let kernel = "#[tiled_kernel(block = [1], grid = [1])] pub fn apply() { outer(1.0); }";
    let out = share("open = with, functions = helpers, functions = more", &format!("mod own {{ {kernel} }}"));
    let called = "helpers ! { functions (taken = 0usize , open = with , functions = more ,) mod own";
    assert!(out.starts_with(called), "{out}");
    let own = format!("{kernel} fn inner(x: f32) -> f32 {{ x + 1.0 }} fn idle() {{}} {functions}");
    let out = share("taken = 3usize, open = with", &format!("mod own {{ {own} }}"));
    assert!(out.contains("no kernel of the module calls `idle`") && !out.contains("calls `other`"), "{out}");
    let compiled = out.split("macro_rules").next().expect("a text");
    assert!(compiled.contains("outer (1.0)") && compiled.contains("x + 1.0"), "{out}");
}

#[test]
fn mistakes_of_a_module_are_reported() {
    for (attribute, item, message) in [
        ("BM = 4", "mod empty {}", "has no entry `BM`"),
        ("with(OP = f)", "mod empty {}", "no kernel of the module has the parameter `OP`"),
        ("", "mod elsewhere;", "the module is not here"),
        ("", "fn no_module() {}", "expected `mod`"),
        ("", "mod idle { fn unused() {} }", "no kernel of the module calls `unused`"),
    ] {
        let out = share(attribute, item);
        assert!(out.contains("compile_error") && out.contains(message), "{item}: {out}");
    }
}
