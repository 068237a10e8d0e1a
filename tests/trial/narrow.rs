//! Indices of 32 bits: what comes from a `u32`, a counter or a loop of a narrow variant is computed in 32 bits, and is the number that
//! Rust has, up to 2³² - 1.

use super::{Given, launch};
use layout_compiler::{Elem, Promises, compile, emit, explain};

const N: usize = 64;

fn kernel(body: &str) -> String {
    format!(
        "#[tiled_kernel(block = [32], grid = [1])]
fn line<const N: usize, const W: usize>(
    keys: &LayoutTensor<u32, RowMajor<N>>, x: &LayoutTensor<i32, RowMajor<N>>, y: &mut LayoutTensor<i64, RowMajor<N>>,
    w: &LayoutTensor<i32, RowMajor<W>>, n: u32, s: usize,
) {{
    let i = thread_idx.x;
    {body}
}}"
    )
}

/// The text of the variant for small tensors, from its first statement on.
fn text(body: &str) -> String {
    let kernel = layout_text::kernel(&kernel(body)).unwrap_or_else(|errors| panic!("{errors:#?}\n{body}"));
    let checked = compile(&kernel, &Default::default(), Promises::USUAL);
    let text = emit(&checked.unwrap_or_else(|errors| panic!("{errors}\n{body}"))).text;
    text[text.find("__global__").expect("a kernel")..].to_owned()
}

/// Keys of every size, among them the largest.
fn key(i: usize) -> u32 {
    match i % 4 {
        0 => (i * 37 % 64) as u32,
        1 => u32::MAX - i as u32 / 16,
        2 => (1 << 31) - 2 + i as u32 / 8,
        _ => 60 + i as u32 / 8,
    }
}

fn x(i: usize) -> i32 {
    i as i32 * 13 % 41 - 9
}

/// A read beyond the edge is 0.
fn read(i: usize) -> i64 {
    if i < N { x(i).into() } else { 0 }
}

type Line = (&'static str, fn(usize) -> i64);

/// What thread `i` writes into `y[[i]]`, of keys, values and `n = 61`, `s = 7`.
const LINES: [Line; 29] = [
    ("let at = keys[[i]] as usize; if at < N { y[[i]] = x[[at]] as i64; }", |i| read(key(i) as usize)),
    ("let at = keys[[i]] as usize; y[[i]] = (at + 1) as i64;", |i| i64::from(key(i)) + 1),
    ("let at = keys[[i]] as usize; y[[i]] = (at as isize - 70) as i64;", |i| i64::from(key(i)) - 70),
    ("let at = keys[[i]] as usize; y[[i]] = x[[at % 16]] as i64 + (at / 8) as i64;", |i| {
        read(key(i) as usize % 16) + i64::from(key(i) / 8)
    }),
    ("let at = keys[[i]] as usize; y[[i]] = (at * 3 + i) as i64;", |i| i64::from(key(i)) * 3 + i as i64),
    ("let at = keys[[i]] as usize; y[[i]] = at.min(s + i) as i64 + at.max(3) as i64;", |i| {
        i64::from(key(i)).min(7 + i as i64) + i64::from(key(i)).max(3)
    }),
    ("let at = keys[[i]] as usize; y[[i]] = (at as isize).min(i as isize - 9) as i64;", |i| {
        i64::from(key(i)).min(i as i64 - 9)
    }),
    ("let at = keys[[i]] as usize; y[[i]] = if at > i { 1 } else { 2 };", |i| if key(i) as usize > i { 1 } else { 2 }),
    ("let at = keys[[i]] as usize; y[[i]] = if at + 5 < N { 1 } else { 2 };", |i| {
        if key(i) as usize + 5 < N { 1 } else { 2 }
    }),
    ("let at = keys[[i]] as usize; y[[i]] = (at & 0xff) as i64 + (at ^ i) as i64;", |i| {
        i64::from(key(i) & 0xff) + (key(i) as usize ^ i) as i64
    }),
    ("let at = keys[[i]] as usize; y[[i]] = if at >= 5 && at - 5 < N { x[[at - 5]] as i64 } else { -1 };", |i| {
        if (5..5 + N).contains(&(key(i) as usize)) { read(key(i) as usize - 5) } else { -1 }
    }),
    ("let mut at = 0; let mut sum = 0i64; while at < N { sum += x[[at]] as i64; at += 3; } y[[i]] = sum;", |_| {
        (0..N).step_by(3).map(read).sum()
    }),
    (
        "let start = keys[[4 * (i / 4)]] as usize; let end = start + i; let mut at = start; let mut sum = 0i64;
         while at < end { if at < N { sum += x[[at]] as i64; } at += 1; } y[[i]] = sum;",
        |i| (key(4 * (i / 4)) as usize..key(4 * (i / 4)) as usize + i).map(read).sum(),
    ),
    ("let mut sum = 0i64; for j in 0..n { sum += (x[[j as usize]] as i64) * j as i64; } y[[i]] = sum;", |_| {
        (0..61).map(|j| read(j) * j as i64).sum()
    }),
    (
        "let mut sum = 0i64; for j in (keys[[4 * i / 8]] as usize % 64..n as usize).step_by(5) { sum += x[[j]] as i64; } y[[i]] = sum;",
        |i| (key(4 * i / 8) as usize % 64..61).step_by(5).map(read).sum(),
    ),
    ("y[[i]] = x[[if i > 0 { i - 1 } else { N - 1 }]] as i64;", |i| read(if i > 0 { i - 1 } else { N - 1 })),
    ("y[[i]] = ((s + i) * N % 16) as i64 + ((s + i) * N / 32) as i64;", |i| {
        ((7 + i) * N % 16) as i64 + ((7 + i) * N / 32) as i64
    }),
    // Around a ring.
    ("if i < N { y[[i]] = x[[(i as isize - 1 + N as isize) as usize % N]] as i64; }", |i| read((i + N - 1) % N)),
    ("if i < N { y[[i]] = x[[(i + 40) % N]] as i64 + x[[(i + 2 * N) % N]] as i64; }", |i| {
        read((i + 40) % N) + read(i)
    }),
    ("if i < N { y[[i]] = x[[(i as isize - 1).rem_euclid(N as isize) as usize]] as i64; }", |i| read((i + N - 1) % N)),
    ("if i < N { y[[i]] = ((i as isize - 3) % N as isize) as i64; }", |i| i as i64 - 3),
    ("let near = i as isize - 3; y[[i]] = if near >= 0 { near as usize / 2 + near as usize % 4 } else { 77 } as i64;", |i| {
        if i >= 3 { ((i - 3) / 2 + (i - 3) % 4) as i64 } else { 77 }
    }),
    // What saturates has the ends of its type.
    ("y[[i]] = i.saturating_sub(5) as i64 + (i as isize).saturating_sub(5) as i64;", |i| {
        i.saturating_sub(5) as i64 + i as i64 - 5
    }),
    ("let span = keys[[4 * (i / 4) + 3]] as usize - 8 * s; y[[i]] = i.saturating_sub(span) as i64;", |i| {
        i.saturating_sub(key(4 * (i / 4) + 3) as usize - 56) as i64
    }),
    ("y[[i]] = (i.saturating_add(5) as isize - 20).saturating_add(3) as i64;", |i| i as i64 - 12),
    // What a loop adds up.
    (
        "let (mut at, mut sum) = (i, 0i64); for j in 0..9 { if x[[j + i]] > 0 { at += 2; continue; } at += 1; sum += x[[at]] as i64; }
         y[[i]] = sum + at as i64;",
        |i| {
            let (mut at, mut sum) = (i, 0);
            for j in 0..9 {
                if x(j + i) > 0 {
                    at += 2;
                    continue;
                }
                at += 1;
                sum += read(at);
            }
            sum + at as i64
        },
    ),
    (
        "let mut at = 0; for j in 0..5 { for _ in 0..j + i { at += 7; } if at > 90 { break; } } y[[i]] = at as i64;",
        |i| {
            let mut at = 0;
            for j in 0..5 {
                at += 7 * (j + i);
                if at > 90 {
                    break;
                }
            }
            at as i64
        },
    ),
    (
        "fn more(of: &mut usize) { *of += 1000000000; } let mut at = 5; for _ in 0..7 { at += 1; more(&mut at); } y[[i]] = at as i64;",
        |_| 7_000_000_012,
    ),
    (
        "let (mut low, mut high) = (0, N); while low < high { let middle = (low + high) / 2; if middle < i { low = middle + 1; } else { high = middle; } }
         y[[i]] = low as i64;",
        |i| i as i64,
    ),
];

#[test]
fn narrow_indices_are_rusts() {
    for (body, plain) in LINES {
        let words = |of: fn(usize) -> u32| (0..N).flat_map(|i| of(i).to_le_bytes()).collect::<Vec<u8>>();
        let mut tensors = [
            Given::new("u32", &[N], words(key), false),
            Given::new("i32", &[N], words(|i| x(i) as u32), false),
            Given::new("i64", &[N], vec![0; 8 * N], true),
            Given::new("i32", &[1], vec![0; 4], false),
        ];
        launch(&kernel(body), &mut tensors, &[(Some(Elem::U32), 61), (None, 7)], false);
        let found =
            tensors[2].bytes.chunks(8).map(|word| i64::from_le_bytes(word.try_into().expect("eight bytes")));
        let found: Vec<i64> = found.take(32).collect();
        assert_eq!(found, (0..32).map(plain).collect::<Vec<_>>(), "{body}");
    }
}

#[test]
fn narrow_variants_compute_in_32_bits() {
    for body in [
        "y[[i]] = x[[keys[[i]] as usize]] as i64;",
        "let mut at = 0; let mut sum = 0; while at < N { sum += x[[at]]; at += 3; } y[[0]] = sum as i64;",
        "let mut at = keys[[0]] as usize; let end = keys[[1]] as usize; let mut sum = 0; while at < end { sum += x[[at]]; at += 1; } y[[0]] = sum as i64;",
        "let mut sum = 0; for j in keys[[0]] as usize..keys[[1]] as usize { sum += x[[j]]; } y[[0]] = sum as i64;",
        "let mut sum = 0; for j in 0..n { sum += x[[j as usize]]; } y[[0]] = sum as i64;",
        "let mut stage = 0; for k in 0..W { y[[0]] = x[[stage]] as i64; stage = (stage + 1) % 4; }",
        "let key = keys[[i]]; if key < 64 { y[[0]] = x[[key as usize % 16 + key as usize / 4]] as i64; }",
        "let mut count = 0; for j in 0..W { if w[[j]] > 0 { count += 1; } } y[[0]] = x[[count]] as i64;",
        "let mut at = s % 8; for j in 0..8 { if x[[j]] > 0 { at += 3; } at += 1; y[[0]] = x[[at]] as i64; }",
        "y[[0]] = x[[i.saturating_sub(3).min(N - 1)]] as i64;",
    ] {
        let text = text(body).replace("(long long)sum", "").replace("long long* __restrict__ y", "");
        let text = text.replace("(long long)(", "(").replace("= (long long)x[", "= x[");
        let wide: Vec<&str> = text.lines().filter(|line| line.contains("long long")).collect();
        assert!(wide.is_empty(), "{body}: {wide:#?}\n{text}");
    }
}

/// A condition on an element is one on the index that is made of it.
#[test]
fn a_guard_on_an_element_takes_the_mask() {
    for (guard, masked) in [
        ("key < 64", false),
        ("key <= 63", false),
        ("!(key >= 64)", false),
        ("key > 3 && key < 64", false),
        ("64 > key", false),
        ("key != 5", true),
        ("key < 65", true),
        ("key < n", true),
    ] {
        let body = format!(
            "let held = shared::<i32>(row_major([64])); let key = keys[[i]];
             if {guard} {{ y[[0]] = held[[key as usize]] as i64; }}"
        );
        let text = text(&body);
        assert!(text.contains("held[key]"), "{guard}: {text}");
        assert_eq!(text.contains("key < 64 ?"), masked, "{guard}: {text}");
    }
}

/// Relations that only the place shows: each access of these is proved, or is masked where the relation is another.
#[test]
fn relations_of_branches_and_quotients_take_masks() {
    for (body, masked) in [
        ("if i < N { y[[0]] = x[[if i > 0 { i - 1 } else { N - 1 }]] as i64; }", false),
        ("if i < N { y[[0]] = x[[if i + 1 < N { i + 1 } else { 0 }]] as i64; }", false),
        ("if i < N { y[[0]] = x[[if i > 1 { i - 2 } else { N - 1 }]] as i64; }", false),
        ("if i < N { y[[0]] = x[[if i > 0 { i + 1 } else { N - 1 }]] as i64; }", true),
        ("if i < N { y[[0]] = x[[if i > 0 { i - 1 } else { N }]] as i64; }", true),
        ("if i < N * W { y[[0]] = x[[i / W]] as i64 + w[[i % W]] as i64; }", false),
        ("if i < N * W { y[[0]] = x[[i / W]] as i64 + w[[i % W + 1]] as i64; }", true),
        ("if i < N * W + 1 { y[[0]] = x[[i / W]] as i64; }", true),
        ("if i < N * W { y[[0]] = x[[i / N]] as i64; }", true),
    ] {
        let kernel = layout_text::kernel(&kernel(body)).expect("a kernel");
        let checked = compile(&kernel, &Default::default(), Promises::USUAL).expect("a kernel");
        let explanation = explain(&checked);
        let reads = explanation.accesses.iter().filter(|access| !access.writes);
        assert_eq!(reads.clone().any(|access| !access.degraded.is_empty()), masked, "{body}: {explanation}");
        assert!(reads.count() > 0, "{explanation}");
    }
}

/// `middle + 1` of a search by parts is at most the upper end.
#[test]
fn a_search_by_parts_counts_in_32_bits() {
    for part in ["(low + high) / 2", "(low + high) >> 1", "(low + 2 * high) / 3"] {
        let text = text(&format!(
            "let (mut low, mut high) = (0, N); while low < high {{ let part = {part};
             if x[[part]] < 3 {{ low = part + 1; }} else {{ high = part; }} }} y[[0]] = low as i64;"
        ));
        assert!(text.contains(" int low = 0;") && text.contains(" int high = N;"), "{part}: {text}");
    }
}

/// A remainder around a ring is a comparison and a subtraction where the place shows that once is enough, and nothing where none is.
#[test]
fn a_ring_takes_no_division() {
    for (around, divided) in [
        ("(i + 1) % N", false),
        ("(i + N) % N", false),
        ("(i + N - 1) % N", false),
        ("(i as isize - 1 + N as isize) as usize % N", false),
        ("(i as isize + 1 + N as isize) as usize % N", false),
        ("(i as isize - 1).rem_euclid(N as isize) as usize", false),
        ("(i + 2) % N", true),
        ("(i as isize - 2 + N as isize) as usize % N", true),
        ("(i + W) % N", true),
        ("(i * 2 + 1) % W", true),
    ] {
        let text = text(&format!("if i < N {{ y[[0]] = x[[{around}]] as i64; }}"));
        assert_eq!(text.contains('%'), divided, "{around}: {text}");
        assert!(divided || !text.contains("< N ? x["), "{around}: {text}");
    }
    assert!(
        text("y[[0]] = x[[(i + 1) % N]] as i64;").contains('%'),
        "nothing says that the thread is below N"
    );
}
