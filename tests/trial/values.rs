//! Lines that were wrong code, or were refused, by value: a kernel's line and what plain Rust makes of it.
//!
//! Law: what the threads write into `y` is what the function beside it writes; nothing is found, in any variant, but that an index wraps
//! where it is meant to.

use super::{Given, launch};
use layout_compiler::Elem;

/// What a line sees: 4 rows of 8 floats, 64 keys and results, and the arguments.
struct Seen {
    x: Vec<f32>,
    keys: Vec<u32>,
    y: Vec<i32>,
    s: usize,
}

const N: usize = 64;

impl Seen {
    fn new(s: usize) -> Seen {
        Seen {
            x: (0..32).map(|i| i as f32 * 0.5 - 3.0).collect(),
            keys: (0..N as u32).map(|i| i * 37 % 64 + 2).collect(),
            y: (0..N as i32).map(|i| i * i % 23 - 7).collect(),
            s,
        }
    }

    /// What the kernel of a body writes.
    fn written(&self, body: &str, threads: usize, wraps: bool) -> Vec<i32> {
        let guard = if threads == 1 { "if thread_idx.x == 0" } else { "" };
        let text = format!(
            "#[tiled_kernel(arch = \"sm_90a\", block = [{threads}], grid = [1])]
fn line<const M: usize, const K: usize, const N: usize>(
    x: &LayoutTensor<f32, RowMajor<M, K>>, keys: &LayoutTensor<u32, RowMajor<N>>, y: &mut LayoutTensor<i32, RowMajor<N>>,
    last: f32, s: usize,
) {{
    let i = thread_idx.x;
    {guard} {{
        {body}
    }}
}}"
        );
        let bytes = |words: Vec<[u8; 4]>| words.concat();
        let mut tensors = [
            Given::new("f32", &[4, 8], bytes(self.x.iter().map(|x| x.to_le_bytes()).collect()), false),
            Given::new("u32", &[N], bytes(self.keys.iter().map(|x| x.to_le_bytes()).collect()), false),
            Given::new("i32", &[N], bytes(self.y.iter().map(|x| x.to_le_bytes()).collect()), true),
        ];
        launch(
            &text,
            &mut tensors,
            &[(Some(Elem::F32), u64::from(9.5f32.to_bits())), (None, self.s as u64)],
            wraps,
        );
        let words = tensors[2].bytes.chunks(4);
        words.map(|word| i32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
    }
}

/// A line, the argument `s`, and what Rust makes of it.
type Row = (&'static str, usize, fn(&mut Seen));

fn held(rows: &[Row], threads: usize, wraps: bool) {
    for (body, s, host) in rows {
        let mut wanted = Seen::new(*s);
        host(&mut wanted);
        assert_eq!(Seen::new(*s).written(body, threads, wraps), wanted.y, "s = {s}: {body}");
    }
}

#[test]
fn what_was_wrong_code() {
    held(
        &[
            // 1. Masks where an index leaves 64 bits: it wraps as `usize`.
            ("y[[(s * s * 5 % N)]] = 7;", 2_000_000_000, |g| {
                g.y[g.s.wrapping_mul(g.s).wrapping_mul(5) % N] = 7
            }),
            ("y[[(s * 6364136223846793005 + 1442695040888963407) % N]] = 7;", 77, |g| {
                let far = g.s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                g.y[far % N] = 7;
            }),
            (
                "let far = s * 70000 * 70000 * 70000; if far < N { y.window([32], [far])[[0]] = 1; }",
                9_000_000,
                |g| {
                    let far = g.s.wrapping_mul(343_000_000_000_000);
                    if far < N {
                        g.y[far] = 1;
                    }
                },
            ),
            // 2. The type of a `let`.
            ("let mut v: u16 = 65535; v += 1; y[[0]] = v as i32;", 0, |g| g.y[0] = 0),
            ("let w: u64 = 5 - s as u64; y[[0]] = (w % 1000) as i32;", 7, |g| {
                g.y[0] = (5u64.wrapping_sub(g.s as u64) % 1000) as i32
            }),
            // 6. `let v = k` is a copy.
            (
                "let (mut a, mut b) = (30usize, 12usize); while b != 0 { let t = b; b = a % b; a = t; } y[[0]] = a as i32;",
                0,
                |g| g.y[0] = 6,
            ),
            ("let mut k = s; let v = k; k = 4; y[[0]] = v as i32; y[[1]] = k as i32;", 9, |g| {
                (g.y[0], g.y[1]) = (9, 4);
            }),
            // 7. Operands from left to right.
            ("y[[0]] = y[[0]] * 100 + y.atomic_add([0], 5);", 0, |g| g.y[0] *= 101),
            ("let mut k = 3i32; y[[0]] = k * 100 + { k = 5; k };", 0, |g| g.y[0] = 305),
            ("let mut m = 7i32; y[[0]] = m + if s > 3 { m = 50; m } else { 0 }; y[[1]] = m;", 4, |g| {
                (g.y[0], g.y[1]) = (57, 50)
            }),
            // 8. A view keeps the index that it was made at.
            ("let mut k = s; let t = keys.tile([1], [k]); k = 2; y[[k]] = t[[0]] as i32;", 5, |g| {
                g.y[2] = g.keys[5] as i32
            }),
            // 10. Smaller and larger of indices of every origin.
            (
                "y[[(keys[[0]] as usize).min(63)]] = 1; y[[(keys[[1]] as usize).max(0) % N]] = 2; for k in 0..(keys[[2]] as usize).min(3) { y[[k + 8]] = 3; }",
                0,
                |g| {
                    g.y[(g.keys[0] as usize).min(63)] = 1;
                    g.y[g.keys[1] as usize % N] = 2;
                    (0..(g.keys[2] as usize).min(3)).for_each(|k| g.y[k + 8] = 3);
                },
            ),
            // 11. `as usize` is Rust's.
            ("y[[0]] = (y[[0]] as usize % 1000) as i32;", 0, |g| g.y[0] = ((-7i32) as usize % 1000) as i32),
            (
                "y[[0]] = ((0.0f32).min(-0.0).to_bits() >> 31) as i32; y[[1]] = ((-0.0f32).max(0.0).to_bits() >> 31) as i32;",
                0,
                |g| (g.y[0], g.y[1]) = (1, 0),
            ),
            // 12. What the wide variant refused.
            (
                "y[[((4294967295usize - s) % 9) ^ 1]] = 1; y[[(4294967295usize - s).div_ceil(4) & 7]] = 2; y[[((4294967295usize - s) >> 3 | 1) % N]] = 3;",
                3_000_000_000,
                |g| {
                    let left = 4294967295usize - g.s;
                    g.y[(left % 9) ^ 1] = 1;
                    g.y[left.div_ceil(4) & 7] = 2;
                    g.y[(left >> 3 | 1) % N] = 3;
                },
            ),
        ],
        1,
        true,
    );
}

#[test]
fn what_was_refused() {
    held(
        &[
            ("match s % 3 { 0 => return, 1 | 2 if s > 4 => y[[0]] = 1, _ => y[[1]] = 2 }", 5, |g| g.y[0] = 1),
            ("if s > 3 { return; } y[[0]] = 1;", 5, |_| {}),
            (
                "'rows: for r in 0..4 { for k in 0..8 { if x[[r, k]] > 4.0 { continue 'rows; } y[[r]] += 1; if k > 5 { break 'rows; } } }",
                0,
                |g| {
                    'rows: for r in 0..4 {
                        for k in 0..8 {
                            if g.x[8 * r + k] > 4.0 {
                                continue 'rows;
                            }
                            g.y[r] += 1;
                            if k > 5 {
                                break 'rows;
                            }
                        }
                    }
                },
            ),
            (
                "fn fold(a: i32, f: impl Fn(i32, i32) -> i32) -> i32 { f(a, f(a, 2)) } y[[0]] = fold(y[[1]], |a, b| a * 10 + b);",
                0,
                |g| g.y[0] = g.y[1] * 10 + g.y[1] * 10 + 2,
            ),
            (
                "const C: [f32; 3] = [0.25, 0.5, 0.25]; let mut p = [0.0; 4]; for k in unroll(0..3) { p[k] = C[k]; } y[[0]] = ((p[0] + C[s % 3]) * 100.0) as i32;",
                4,
                |g| g.y[0] = 75,
            ),
            ("let (mut a, mut b) = (1, 2); (a, b) = (b, a); y[[0]] = a - b;", 0, |g| g.y[0] = 1),
            ("const WIDE: usize = 16 / size_of::<f32>(); y[[0]] = WIDE as i32;", 0, |g| g.y[0] = 4),
            (
                "for which in unroll(0..2) { let held = if which == 0 { x.tile([1, 8], [0, 0]) } else { x.tile([1, 8], [3, 0]) }; y[[which]] = (held[[0, 1]] * 2.0) as i32; }",
                0,
                |g| (g.y[0], g.y[1]) = ((g.x[1] * 2.0) as i32, (g.x[25] * 2.0) as i32),
            ),
            (
                "let count = keys[[0]]; y[[0]] = (count | (if s > 3 { 0x80000000 } else { 0x40000000 })) as i32;",
                5,
                |g| g.y[0] = (g.keys[0] | 0x8000_0000) as i32,
            ),
            ("let mut last = -1; if y[[0]] == last { last = y[[1]]; } y[[2]] = last;", 0, |g| {
                g.y[2] = if g.y[0] == -1 { g.y[1] } else { -1 };
            }),
            ("let count = if s > 3 { 3 } else { 0 }; y[[0]] = y[[1]] / count;", 5, |g| g.y[0] = g.y[1] / 3),
            ("y[[0]] = -2147483648i32;", 0, |g| g.y[0] = i32::MIN),
            ("for k in unroll(0..4) { y[[k]] = (1 << k) as i32 + (16 >> k) as i32; }", 0, |g| {
                (0..4).for_each(|k| g.y[k] = (1 << k) + (16 >> k))
            }),
            ("for k in (0..N).step_by(s) { y[[k]] = 1; }", 7, |g| (0..N).step_by(7).for_each(|k| g.y[k] = 1)),
            (
                "y[[0]] = x.pad(last).tile([1, 4], [0, K / 4])[[0, 3]] as i32; y[[1]] = x.pad(f32::NEG_INFINITY).tile([1, 4], [9, 0])[[0, 0]] as i32;",
                0,
                |g| (g.y[0], g.y[1]) = (9, i32::MIN),
            ),
            (
                "let (begin, end) = (y[[9]] as usize, y[[8]] as usize); y[[(end - begin + 2).div_ceil(4) % N]] = 1;",
                0,
                |g| {
                    let (begin, end) = (g.y[9] as usize, g.y[8] as usize);
                    g.y[end.wrapping_sub(begin).wrapping_add(2).div_ceil(4) % N] = 1;
                },
            ),
            ("let count = y[[8]]; y[[(count as usize).div_ceil(32)]] = 1;", 0, |g| {
                let at = (g.y[8] as usize).div_ceil(32);
                g.y[at] = 1;
            }),
            (
                "let mut keep = local::<i32>(row_major([1, 4])); keep.fill(0); for r in unroll(0..4) { let near = if r < 2 { 1 } else { 2 }; keep[[0, (r ^ near) % 4]] += r as i32 + 1; } for r in unroll(0..4) { y[[r]] = keep[[0, r]]; }",
                0,
                |g| {
                    let mut keep = [0; 4];
                    (0..4).for_each(|r| keep[(r ^ if r < 2 { 1 } else { 2 }) % 4] += r as i32 + 1);
                    g.y[..4].copy_from_slice(&keep);
                },
            ),
            (
                "fn whole(of: View<i32, Write>) { of[[3]] = 8; } whole(y); fn first(of: impl Tensor<Elem = f32>) -> f32 { of[[0, 0]] } y[[0]] = (first(x) + first(x.tile([1, 4], [1, 0]))) as i32;",
                0,
                |g| (g.y[3], g.y[0]) = (8, (g.x[0] + g.x[8]) as i32),
            ),
            ("let mut k = s; k >>= 1; k ^= 3; k &= 13; k |= 16; y[[k]] = 1;", 11, |g| {
                g.y[(((11usize >> 1) ^ 3) & 13) | 16] = 1
            }),
        ],
        1,
        false,
    );
}

/// Counts of shifts, truth values as indices, registers by what a loop found, effects behind `&&`.
#[test]
fn what_strangers_wrote() {
    held(
        &[
            (
                "let k = keys[[0]] % 5; y[[1 << k]] = 3; y[[(N >> k) - 1]] = 4; let far = s << k; y[[8]] = (far >> 30) as i32;",
                1 << 33,
                |g| {
                    let k = g.keys[0] % 5;
                    (g.y[1 << k], g.y[(N >> k) - 1]) = (3, 4);
                    g.y[8] = ((g.s << k) >> 30) as i32;
                },
            ),
            (
                "for stage in 0..5 { let half = 1 << stage; y[[half]] += (s >> stage) as i32; } y[[0]] = ((y[[1]] as isize) >> (s % 3)) as i32;",
                29,
                |g| {
                    (0..5).for_each(|stage| g.y[1 << stage] += (g.s >> stage) as i32);
                    g.y[0] = ((g.y[1] as isize) >> (g.s % 3)) as i32;
                },
            ),
            (
                "y[[(x[[0, 0]] > 0.0) as usize]] = 9; y[[2 + true as usize]] = 8; let mut above = 0; for k in 0..8 { above += (x[[1, k]] > 2.0) as usize; } y[[4]] = above as i32;",
                0,
                |g| {
                    g.y[usize::from(g.x[0] > 0.0)] = 9;
                    g.y[3] = 8;
                    g.y[4] = g.x[8..16].iter().filter(|x| **x > 2.0).count() as i32;
                },
            ),
            (
                "let row = x.tile([1, 8], [1, 0]).to_local(); let mut first = 0; for e in 1..8 { if row[[0, e]] * row[[0, e]] > row[[0, first]] * 2.0 { first = e; } } y[[first]] = (row[[0, first]] * 2.0) as i32; let mut own = local::<i32>(row_major([2, 2])); for e in 0..4 { own[[e / 2, e % 2]] = e as i32; } y[[9]] = own[[s % 2, 1]];",
                3,
                |g| {
                    let row = &g.x[8..16];
                    let mut first = 0;
                    for e in 1..8 {
                        if row[e] * row[e] > row[first] * 2.0 {
                            first = e;
                        }
                    }
                    g.y[first] = (row[first] * 2.0) as i32;
                    g.y[9] = 3;
                },
            ),
            (
                "let mut own = [0.0; 4]; for k in 0..4 { own[k] = x[[1, k]] * x[[1, k]]; } let mut first = 0; for k in 1..4 { if own[k] > own[first] { first = k; } } let mut second = if first == 0 { 1 } else { 0 }; for k in 0..4 { if k != first && own[k] > own[second] { second = k; } } y[[first.min(second)]] = (own[first.max(second)] * 4.0) as i32;",
                0,
                |g| {
                    let own: Vec<f32> = g.x[8..12].iter().map(|x| x * x).collect();
                    let mut order: Vec<usize> = (0..4).collect();
                    order.sort_by(|a, b| own[*b].total_cmp(&own[*a]));
                    let (first, second) = (order[0], order[1]);
                    g.y[first.min(second)] = (own[first.max(second)] * 4.0) as i32;
                },
            ),
            (
                "let filled = |by: i32| -> i32 { let mut k: usize = 0; let mut own = [0; 3]; for _ in 0..2 { k = 1; let mut n = 0; loop { n += 1; if n > 1 { break; } own[k] += by; } } own[1] }; y[[0]] = filled(4);",
                0,
                |g| g.y[0] = 8,
            ),
            (
                "let mut n = 0; while n < 3 && y.atomic_add([0], 1) < 100 { n += 1; } y[[1]] = n; let more = n > 5 && y.atomic_max([2], 50) < 50; y[[3]] = more as i32;",
                0,
                |g| (g.y[0], g.y[1], g.y[3]) = (g.y[0] + 3, 3, 0),
            ),
            (
                "let mask = (1 << (s % 32)) - 1; y[[0]] = ((keys[[1]].count_ones() * 1000) & mask) as i32; y[[1]] = (x[[0, 1]].to_bits() >> 20 | (1 << keys[[0]] % 8)) as i32; let small = 3 << (keys[[0]] + 5); y[[2]] = (keys[[2]] as u8 | small) as i32; y[[4]] = ((1 << (s + 26)) as u64 >> 40) as i32; y[[5]] = ((1u64 << (s + 26)) >> 20) as i32; y[[6]] = ((1 << s) + keys[[3]]) as i32;",
                5,
                |g| {
                    let mask = (1 << (g.s % 32)) - 1;
                    g.y[0] = ((g.keys[1].count_ones() * 1000) & mask) as i32;
                    g.y[1] = (g.x[1].to_bits() >> 20 | (1 << (g.keys[0] % 8))) as i32;
                    let small = 3 << (g.keys[0] + 5);
                    g.y[2] = (g.keys[2] as u8 | small) as i32;
                    g.y[4] = ((1 << (g.s + 26)) as u64 >> 40) as i32;
                    g.y[5] = ((1u64 << (g.s + 26)) >> 20) as i32;
                    g.y[6] = ((1 << g.s) + g.keys[3]) as i32;
                },
            ),
            (
                "let far = s as isize + 2; if -far > far * far { y[[0]] = 1; } let mut r: isize = 0; while r < 9 { r += 1; if far - 7 < r * r { break; } if -far > r * r { y[[1]] = 1; } } y[[2]] = r as i32; y[[3]] = (far * far * far).min(-far) as i32;",
                3,
                |g| (g.y[2], g.y[3]) = (1, -5),
            ),
            (
                "y[[0]] = if 1 > 1.min(-9223372036854775807) { 1 } else { 0 }; y[[1]] = ((9223372036854775807u64 << 1u64) as isize) as i32;",
                0,
                |g| (g.y[0], g.y[1]) = (1, -2),
            ),
        ],
        1,
        false,
    );
}

/// Four numbers that begin as `first`, after four rounds, as the digits of one.
fn digits(round: impl Fn(&mut [i32; 4], usize), first: i32) -> i32 {
    let mut a = [first; 4];
    (0..4).for_each(|r| round(&mut a, r));
    a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3]
}

/// Rings of Rust, and registers at an index that an `if` over a loop's variable decides.
#[test]
fn rings_and_registers() {
    held(
        &[
            ("if i < N { y[[i]] = ((i as isize - 3).rem_euclid(N as isize)) as i32; }", 0, |g| {
                for (i, y) in g.y.iter_mut().take(32).enumerate() {
                    *y = (i as isize - 3).rem_euclid(N as isize) as i32;
                }
            }),
            ("if i < N { y[[(i as isize - 3).rem_euclid(N as isize) as usize]] = i as i32; }", 0, |g| {
                for i in 0..32 {
                    g.y[(i - 3isize).rem_euclid(N as isize) as usize] = i as i32;
                }
            }),
            (
                "let by = s as isize - 9; y[[i]] = (i as isize - 7).rem_euclid(by) as i32 * 100 + (i as isize - 7).div_euclid(by) as i32;",
                5,
                |g| {
                    for (i, y) in g.y.iter_mut().take(32).enumerate() {
                        *y = (i as i32 - 7).rem_euclid(-4) * 100 + (i as i32 - 7).div_euclid(-4);
                    }
                },
            ),
            (
                "let (at, by) = (i as isize - 11, K as isize); y[[i]] = at.div_euclid(by) as i32 * 10 + at.rem_euclid(by) as i32;",
                0,
                |g| {
                    for (i, y) in g.y.iter_mut().take(32).enumerate() {
                        *y = (i as i32 - 11).div_euclid(8) * 10 + (i as i32 - 11).rem_euclid(8);
                    }
                },
            ),
            (
                "let mut a = local::<i32>(row_major([4])); a.fill(7); for r in 0..4 { let near = if r < 2 { 1 } else { 2 }; a[[r ^ near]] = r as i32; } y[[i]] = a[[0]] * 1000 + a[[1]] * 100 + a[[2]] * 10 + a[[3]];",
                0,
                |g| g.y[..32].fill(digits(|a, r| a[r ^ if r < 2 { 1 } else { 2 }] = r as i32, 7)),
            ),
            (
                "let mut a = [0; 4]; for r in 0..4 { let near = if r % 2 == 0 { r + 1 } else { r - 1 }; a[near] += r as i32; } y[[i]] = a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3];",
                0,
                |g| g.y[..32].fill(digits(|a, r| a[if r % 2 == 0 { r + 1 } else { r - 1 }] += r as i32, 0)),
            ),
            (
                "let mut a = [0; 4]; for r in unroll(0..4u32) { let low = r < 2; let near = if low { 1 } else { 3 }; a[(r ^ near) as usize] = r as i32; } y[[i]] = a[0] * 1000 + a[1] * 100 + a[2] * 10 + a[3];",
                0,
                |g| g.y[..32].fill(digits(|a, r| a[r ^ if r < 2 { 1 } else { 3 }] = r as i32, 0)),
            ),
        ],
        32,
        false,
    );
}

#[test]
fn indices_that_come_round() {
    held(
        &[
            (
                "let held = shared::<i32>(row_major([2, 32])); let mut k = 0usize; held.slice(k % 2)[[i]] = 1; k += 1; held.slice(k % 2)[[i]] = 2; y[[i]] = held[[0, i]] * 10 + held[[1, i]];",
                0,
                |g| g.y[..32].fill(12),
            ),
            (
                "let held = shared::<i32>(row_major([3, 32])); let mut stage = 0; for round in 0..7 { held.slice(stage)[[i]] = round as i32; stage += 1; if stage == 3 { stage = 0; } } y[[i]] = held[[0, i]] * 100 + held[[1, i]] * 10 + held[[2, i]] + held.slice(stage)[[i]] * 1000;",
                0,
                |g| g.y[..32].fill(4645),
            ),
            (
                "let full = mbarriers(3, 32); barrier(); let mut k = 0usize; for _ in 0..7 { full.at(k % 3).arrive(); full.at(k % 3).wait(k / 3 % 2); k += 1; } y[[i]] = k as i32;",
                0,
                |g| g.y[..32].fill(7),
            ),
            (
                "let full = mbarriers(3, 32); barrier(); let (mut stage, mut round) = (0, 0); for _ in 0..7 { full.at(stage).arrive(); full.at(stage).wait(round); stage += 1; if stage == 3 { stage = 0; round = 1 - round; } } y[[i]] = (stage * 10 + round) as i32;",
                0,
                |g| g.y[..32].fill(10),
            ),
        ],
        32,
        false,
    );
}
