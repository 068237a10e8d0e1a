//! What Rust lets one change, and through which place: one row each, the same text in a kernel and in plain Rust.
//!
//! Law: what the kernel writes is what the function writes, in every variant; or the text is refused in words that are in the row.

use super::{Given, launch, wrong};
use std::ops::{Index, IndexMut};

/// How many elements a tensor of a row has.
const N: usize = 16;

/// A tensor in plain Rust: `y[[i]]`, `y.tile([4], [k])`, `y.slice(k)` are the elements that they are in a kernel.
struct Tensor<const STEP: usize> {
    elements: Vec<i32>,
}

impl Index<[usize; 1]> for Tensor<1> {
    type Output = i32;
    fn index(&self, [at]: [usize; 1]) -> &i32 {
        &self.elements[at]
    }
}

impl IndexMut<[usize; 1]> for Tensor<1> {
    fn index_mut(&mut self, [at]: [usize; 1]) -> &mut i32 {
        &mut self.elements[at]
    }
}

/// A part of a tensor.
struct Part<'a>(&'a mut [i32]);

impl Index<[usize; 1]> for Part<'_> {
    type Output = i32;
    fn index(&self, [at]: [usize; 1]) -> &i32 {
        &self.0[at]
    }
}

impl IndexMut<[usize; 1]> for Part<'_> {
    fn index_mut(&mut self, [at]: [usize; 1]) -> &mut i32 {
        &mut self.0[at]
    }
}

impl Tensor<1> {
    fn tile(&mut self, [len]: [usize; 1], [at]: [usize; 1]) -> Part<'_> {
        Part(&mut self.elements[len * at..][..len])
    }
}

fn row_major(extents: [usize; 1]) -> usize {
    extents[0]
}

// The kernel's words have a type that these do not need.
#[allow(clippy::extra_unused_type_parameters)]
fn shared<T: Into<i64>>(len: usize) -> Tensor<1> {
    Tensor { elements: vec![0; len] }
}

#[allow(clippy::extra_unused_type_parameters)]
fn local<T: Into<i64>>(len: usize) -> Tensor<1> {
    Tensor { elements: vec![0; len] }
}

fn unroll<T>(range: T) -> T {
    range
}

fn x() -> Vec<i32> {
    (0..N as i32).map(|i| i * i % 13 + 2).collect()
}

fn y() -> Vec<i32> {
    (0..N as i32).map(|i| 100 + i).collect()
}

fn kernel(body: &str) -> String {
    format!(
        "#[tiled_kernel(block = [1], grid = [1])]
fn line(x: &LayoutTensor<i32, RowMajor<{N}>>, y: &mut LayoutTensor<i32, RowMajor<{N}>>, s: usize) {{
    {body}
}}"
    )
}

/// What a kernel of a body writes.
fn written(body: &str, s: usize) -> Vec<i32> {
    let bytes = |words: Vec<i32>| words.into_iter().flat_map(i32::to_le_bytes).collect();
    let mut tensors = [Given::new("i32", &[N], bytes(x()), false), Given::new("i32", &[N], bytes(y()), true)];
    launch(&kernel(body), &mut tensors, &[(None, s as u64)], false);
    tensors[1].bytes.chunks(4).map(|word| i32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

macro_rules! same {
    (|$x:ident, $y:ident, $s:ident| $($body:block)+) => {{
        let mut missed: Vec<String> = vec![];
        $({
            #[allow(unused, clippy::all)]
            fn host($x: &Tensor<1>, $y: &mut Tensor<1>, $s: usize) $body
            let text = stringify!($body);
            let refused = wrong(&kernel(text));
            match refused.first() {
                Some(refused) => missed.push(format!("{text}: {refused}")),
                None => for s in [1, 3] {
                    let mut wanted = Tensor { elements: y() };
                    host(&Tensor { elements: x() }, &mut wanted, s);
                    let found = written(text, s);
                    if found != wanted.elements {
                        missed.push(format!("{text}: s = {s}: {found:?}, not {:?}", wanted.elements));
                    }
                },
            }
        })+
        assert!(missed.is_empty(), "{missed:#?}");
    }};
}

/// A reference to an element of a view is the element.
#[test]
fn references_to_elements_are_places() {
    same! {
        |x, y, s|
        { let r = &mut y[[1]]; *r = x[[0]]; }
        { let mut r = &mut y[[1]]; *r = x[[0]]; }
        { let r = &mut y[[s]]; *r += x[[2]]; *r *= 3; *r <<= 1; }
        { let r: &mut i32 = &mut y[[2]]; *r -= 7; let v = *r; *r = 1; y[[3]] = v; }
        { let (mut at, by) = (s, 2); let r = &mut y[[at + by]]; at = 0; *r = at as i32; y[[at]] = 5; }
        { let r = &mut y[[1]]; let q = &mut *r; *q = 4; let p = q; *p += 1; }
        { fn put(to: &mut i32, v: i32) { *to = v; } put(&mut y[[s]], x[[4]]); }
        { fn put(to: &mut i32, v: i32) { *to += v; } fn twice(to: &mut i32) { put(to, 1); put(&mut *to, 2); } twice(&mut y[[s]]); }
        { fn both((to, by): (&mut i32, i32)) { *to += by; } both((&mut y[[s]], 3)); }
        { fn same(of: &mut i32) -> &mut i32 { of } let r = same(&mut y[[2]]); *r = 9; let v = *same(&mut y[[s]]) + 1; y[[5]] = v; }
        { let mut bump = |r: &mut i32| *r += 5; bump(&mut y[[1]]); bump(&mut y[[s]]); }
        { let r = &mut y[[1]]; let mut f = || { *r += 5; }; f(); f(); }
        { let mut other = 3; let (r, q) = (&mut y[[1]], &mut other); *r = 7; *q += *r; y[[2]] = other; }
        { fn taken(of: &mut i32) -> i32 { let before = *of; *of += 3; before } let v = taken(&mut y[[2]]); y[[3]] = v * 2; }
        { let r = &mut y[[1]]; let v = { *r }; *r = 5; let w = if v > 0 { *r } else { v }; *r = 6; y[[0]] = v * 10 + w; }
        { let mut other = 3; let pair = (&mut y[[1]], &mut other); *pair.0 = 7; *pair.1 += *pair.0; y[[2]] = other; }
        { let mut pair = (&mut y[[1]], 4); *pair.0 = pair.1; pair.1 = 6; *pair.0 += pair.1; }
        { let pair = (&mut y[[1]], 4); let next = pair; *next.0 += next.1; }
        { fn add(to: &mut i32, by: i32) { *to += by; } let pair = (&mut y[[s]], 4); add(pair.0, pair.1); let r = pair.0; *r *= 2; }
        { let r = &mut y[[1]]; let q = (r, 1); *q.0 += q.1; }
        { let mut t = y.tile([4], [1]); let r = &mut t[[s]]; *r = 0; *r -= 8; }
        { let r = &mut y.tile([2], [s])[[1]]; *r += 4; }
        { let mut own = local::<i32>(row_major([4])); for k in unroll(0..4) { let r = &mut own[[k]]; *r = k as i32; *r += 2; } y[[0]] = own[[0]] + 10 * own[[3]]; }
        { let mut held = shared::<i32>(row_major([4])); for k in 0..4 { let r = &mut held[[k]]; *r = x[[k]]; } let r = &mut held[[s]]; *r += 1; y[[0]] = held[[1]] * 100 + held[[3]]; }
        { let mut a = [1, 2, 3, 4]; let r = &mut a[s % 4]; *r = x[[0]]; y[[0]] = a[1] + 10 * a[3]; }
        { let mut a = [[1, 2], [3, 4]]; let row = &mut a[s % 2]; row[0] = 9; let r = &mut row[1]; *r += 1; y[[0]] = a[1][0] * 10 + a[1][1]; }
        { let mut t = ((1, 2), [3, 4]); let r = &mut t.0.1; *r = 5; let q = &mut t.1[1]; *q += *&mut t.0.1; y[[0]] = t.0.1 * 10 + t.1[1]; }
        { *&mut y[[3]] = 8; *(&mut y[[s + 1]]) += 2; (*&mut y[[4]]) = 6; }
        { if s > 2 { let r = &mut y[[0]]; *r = 1; } else { let r = &mut y[[1]]; *r = 2; } }
        { for k in 0..3 { let r = &mut y[[k * s]]; if k == 1 { continue; } *r = k as i32; } }
        { let r = { let k = s + 1; &mut y[[k]] }; *r = 3; }
        { const FIRST: bool = true; let r = if FIRST { &mut y[[0]] } else { &mut y[[1]] }; *r = 3; }
        { match &mut y[[s]] { r => *r = 3 } }
        { let mut v = y[[1]]; v += 5; let r = &mut v; *r += 1; y[[2]] = v; }
    }
}

/// Places of other kinds, and what is a copy.
#[test]
fn other_places_and_copies() {
    same! {
        |x, y, s|
        { let mut a = [1, 2, 3]; let mut b = a; b[0] = 9; y[[0]] = a[0] * 10 + b[0]; }
        { let mut a = [1, 2, 3]; let b = a; a[s % 3] = 9; y[[0]] = b[1] * 10 + a[1]; }
        { fn first(mut a: [i32; 3]) -> i32 { a[0] += 5; a[0] } let a = [1, 2, 3]; y[[0]] = first(a) * 10 + a[0]; }
        { fn more(mut v: i32) -> i32 { v += 1; v } let v = x[[1]]; y[[0]] = more(v) * 100 + v; }
        { let mut t = (1, [2, 3]); let u = t; t.1[0] = 7; t.0 = 5; y[[0]] = u.0 * 1000 + u.1[0] * 100 + t.0 * 10 + t.1[0]; }
        { let mut v = 1; let w = v; v += 1; let mut u = v; u *= 5; y[[0]] = v * 100 + w * 10 + u; }
        { let v = 1; let f = || v * 2; let v = 5; y[[0]] = f() + v; }
        { let mut n = 0; let mut step = |by: i32| { n += by; n }; let a = step(2); let b = step(3); y[[0]] = a * 100 + b * 10 + n; }
        { let mut a = [0, 0]; let mut put = |k: usize, v: i32| a[k] = v; put(0, 4); put(1, 5); y[[0]] = a[0] * 10 + a[1]; }
        { let mut a = 1; let n = match x[[0]] { k if { a = 5; k == 2 } => k + 1, _ => 0 }; y[[0]] = n * 10 + a; }
        { let mut a = 1; let n = match a { k => { a = 5; k } }; y[[0]] = n * 10 + a; }
        { let mut k = 0; while { k += 1; k < 5 } { y[[k]] = 0; } y[[0]] = k as i32; }
        { let mut k = 0; let on = s > 9 && { k = 7; true }; y[[0]] = k + on as i32; }
        { let mut n = 3; for i in 0..n { n = 1; y[[i]] = 0; } y[[8]] = n as i32; }
        { let mut a = [1, 2, 3]; for mut v in a { v += 1; y[[v as usize]] = 0; } y[[0]] = a[0]; a[0] = 1; }
        { let mut a = [1, 2, 3]; for v in &mut a { *v *= 2; } for v in a.iter_mut() { *v += 1; } y[[0]] = a[0] + 10 * a[2]; }
        { let mut a = [1, 2, 3]; for (k, v) in a.iter_mut().enumerate().rev() { *v += k as i32; } y[[0]] = a[0] + 10 * a[2]; }
        { let mut a = [[1, 2], [3, 4]]; for row in &mut a { for v in row { *v += 1; } } y[[0]] = a[0][0] * 10 + a[1][1]; }
        { let mut a = [[1, 2], [3, 4]]; for row in &mut a { row[1] = 0; row.swap(0, 1); } y[[0]] = a[0][0] * 10 + a[1][1]; }
        { let mut a = [1, 2, 3]; a.swap(0, s % 3); y[[0]] = a[0]; let (mut p, mut q) = (1, 2); (p, q) = (q, p + q); y[[1]] = p * 10 + q; }
        { let mut t = (1, 2); (t.0, t.1) = (t.1, t.0); y[[0]] = t.0; (y[[1]], y[[2]]) = (4, 5); }
        { let v; if s > 2 { v = 1; } else { v = 2; } y[[0]] = v; }
        { let mut at = 0; fn next(of: &mut usize) -> usize { *of += 1; *of } y[[next(&mut at)]] += next(&mut at) as i32; y[[0]] = at as i32; }
        { fn largest<'a>(a: &'a mut i32, b: &'a mut i32) -> i32 { let big = if *a > *b { a } else { b }; *big } let (mut p, mut q) = (x[[1]], x[[2]]); y[[0]] = largest(&mut p, &mut q); }
        { let (mut p, mut q) = (x[[1]], x[[2]]); let v = *if s > 2 { &mut p } else { &mut q } + 1; y[[0]] = v; }
        { _ = x[[0]]; let _ = y[[0]]; }
    }
}

/// What is not followed is refused: nothing is lost in silence.
#[test]
fn what_is_no_place_is_refused() {
    let mut missed = vec![];
    for (body, words) in [
        ("let r = if s > 2 { &mut y[[0]] } else { &mut y[[1]] }; *r = 3;", "cannot be assigned"),
        ("let mut r = if s > 2 { &mut y[[0]] } else { &mut y[[1]] }; *r += 3;", "cannot be assigned"),
        (
            "fn big<'a>(a: &'a mut i32, b: &'a mut i32) { let mut r = if *a > *b { a } else { b }; *r = 0; } let (mut p, mut q) = (1, 2); big(&mut p, &mut q);",
            "cannot be assigned",
        ),
        (
            "fn big(a: &mut [i32; 2], b: &mut [i32; 2], s: usize) { let mut r = if s > 2 { a } else { b }; r[0] = 0; } let (mut p, mut q) = ([1, 2], [3, 4]); big(&mut p, &mut q, s);",
            "cannot be assigned",
        ),
        ("let mut all = [&mut y[[0]]]; *all[0] = 3;", "which place it refers to is not known"),
        ("let mut r = &mut y[[0]]; let mut v = 1; r = &mut v; *r = 3;", "found a `&mut`"),
        ("let mut f = |r| *r = 1; f(&mut y[[0]]);", "write its type: `|r: &mut f32|"),
        ("let ref mut r = y[[0]]; *r = 1;", "`ref`"),
        ("let (ref mut r, _) = (s, 1); *r = 1;", "`ref`"),
        ("let &mut v = &mut y[[0]]; y[[1]] = v;", "reference pattern"),
        ("let (mut p, mut q) = (1, 2); std::mem::swap(&mut p, &mut q); y[[0]] = p;", "(a, b) = (b, a)"),
        ("let mut p = 1; let old = std::mem::replace(&mut p, 2); y[[0]] = old;", "let old = a; a = b;"),
        ("let mut p = 1; let old = std::mem::take(&mut p); y[[0]] = old;", "let old = a; a = 0;"),
        ("let mut n = 1; let mut f = move || { n += 1; n }; y[[0]] = f() + n;", "a closure that moves"),
        ("let r = &mut x[[0]]; *r = 1;", "`x` is not mutable"),
        ("let mut n = 1; y[[0]] = { n = 2; };", "expected a value"),
        ("let n = 1; n = 2; y[[0]] = n;", "is assigned and is not `mut`"),
        ("let a = [1, 2]; a[s % 2] = 3; y[[0]] = a[0];", "`a` is not mutable"),
        ("let t = (1, 2); t.0 = 3; y[[0]] = t.0;", "`t` is not mutable"),
        ("let mut a = [1, 2]; [a[0], a[1]] = [3, 4]; y[[0]] = a[0];", "cannot be assigned"),
        ("let mut v = 1; (v + 1) = 3;", "cannot be assigned"),
        ("let mut v = 1; v.max(2) = 3;", "cannot be assigned"),
        ("fn of(r: &mut i32) -> &mut i32 { r } *of(&mut y[[0]]) = 3;", "cannot be assigned"),
        ("let mut a = [3, 1, 2]; a.sort(); y[[0]] = a[0];", "there is no method `sort`"),
        ("let mut a = [3, 1, 2]; a.fill(1); y[[0]] = a[0];", "`fill`"),
        ("let mut a = [3, 1, 2]; a.reverse(); y[[0]] = a[0];", "there is no method `reverse`"),
        ("let mut a = [3, 1, 2]; *a.first_mut() = 1; y[[0]] = a[0];", "there is no method `first_mut`"),
        ("y[[0]].add_assign(1);", "there is no method `add_assign`"),
    ] {
        let found = wrong(&kernel(body));
        match found.first() {
            None => missed.push(format!("{body}: taken")),
            Some(first) if !first.contains(words) => missed.push(format!("{body}: {first}")),
            Some(_) => {}
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
