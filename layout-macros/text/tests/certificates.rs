//! Kernels of the kinds on which checkers of GPU programs fail, and their corrections: no wrong one is certified.
//!
//! The kinds are those of GPUVerify's failing tests: a missing barrier, strides that collide, an index that wraps, a loop of no rounds, a
//! barrier that not all come to. All take `x` and `y` of `N` numbers, `m` of `M` rows of 64, and 64 counters `c`.

use layout_compiler::{Certificate, Checked, Errors, Promises, certify, compile, damaged, emit, explain};

/// A kernel of 64 threads a block, `t` the thread, `i` the element, `s` and `d` shared.
fn text(attribute: &str, body: &str) -> String {
    format!(
        "#[tiled_kernel(block = [64], grid = [N.div_ceil(64)]{attribute})]
fn one<const N: usize, const M: usize>(
    x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>,
    m: &mut LayoutTensor<f32, RowMajor<M, 64>>, c: &mut LayoutTensor<u32, RowMajor<64>>,
) {{
let t = thread_idx.x;
let i = block_idx.x * 64 + t;
let mut s = shared::<f32>(row_major([66]));
let mut d = shared::<f32>(row_major([3, 64]));
let mut acc = 0.0f32;
{body}
}}"
    )
}

fn compiled(text: &str) -> Result<Checked, Errors> {
    let kernel = layout_text::kernel(text).unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    let set = kernel.parameter_sets().first().cloned().unwrap_or_default();
    compile(&kernel, &set, Promises::USUAL)
}

fn checked(body: &str) -> Checked {
    let text = text("", body);
    compiled(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

fn certificate(body: &str) -> Certificate {
    certify(&checked(body))
}

const WRONG: [(&str, &str); 42] = [
    (
        "written behind the last round",
        "for k in 0..4 { barrier(); s[[t]] = x[[i]]; barrier(); acc += s[[63 - t]] + k as f32; } s[[t]] = acc;",
    ),
    (
        "written behind the last round, if any",
        "for k in 0..M { barrier(); s[[t]] = x[[i]]; barrier(); acc += s[[63 - t]] + k as f32; } s[[t]] = acc;",
    ),
    (
        "written behind a loop by halves",
        "let mut h = 32; while h > 0 { barrier(); s[[t]] = x[[i]]; barrier(); acc += s[[63 - t]]; h /= 2; } s[[t]] = acc;",
    ),
    (
        "written behind the break",
        "let mut k = 0; loop { barrier(); s[[t]] = x[[i]]; barrier(); acc += s[[63 - t]]; k += 1; if k == M { break; } } s[[t]] = acc;",
    ),
    (
        "written behind a break of numbers",
        "for k in 0..4 { barrier(); s[[t]] = x[[i]]; barrier(); acc += s[[63 - t]]; if k == M { break; } } s[[t]] = acc;",
    ),
    (
        "read by the next loop",
        "for k in 0..3 { barrier(); s[[t]] = x[[i]] + k as f32; } for k in 0..3 { acc += s[[63 - t]]; barrier(); } y[[i]] = acc;",
    ),
    ("missing barrier", "s[[t]] = x[[i]]; y[[i]] = s[[63 - t]];"),
    (
        "stencil in place",
        "s[[t]] = x[[i]]; barrier(); s[[t]] = s[[t]] + s[[(t + 1) % 64]]; barrier(); y[[i]] = s[[t]];",
    ),
    (
        "tree without barriers",
        "s[[t]] = x[[i]]; barrier(); let mut h = 32; while h > 0 { if t < h { s[[t]] = s[[t]] + s[[t + h]]; } h /= 2; }",
    ),
    (
        "no last barrier",
        "s[[t]] = x[[i]]; barrier(); let mut h = 32; while h > 0 { if t < h { s[[t]] = s[[t]] + s[[t + h]]; } h /= 2; if h > 0 { barrier(); } } y[[i]] = s[[0]];",
    ),
    ("two to one", "s[[t / 2]] = x[[i]];"),
    ("modulo half", "s[[t % 32]] = x[[i]];"),
    ("blocks to one tile", "if t < N { y[[t]] = x[[i]]; }"),
    ("all to one", "s[[0]] = x[[i]];"),
    ("leaders of all blocks to one", "if t == 0 { y[[0]] = x[[i]]; }"),
    (
        "one barrier a round",
        "for k in 0..4 { s[[t]] = x[[i]] + k as f32; barrier(); acc += s[[63 - t]]; } y[[i]] = acc;",
    ),
    (
        "ring of one stage",
        "for k in 0..4 { d[[k % 1, t]] = x[[i]]; barrier(); acc += d[[k % 1, 63 - t]]; } y[[i]] = acc;",
    ),
    (
        "ring read a stage late",
        "for k in 0..6 { d[[k % 2, t]] = x[[i]]; barrier(); acc += d[[(k + 1) % 2, 63 - t]]; } y[[i]] = acc;",
    ),
    ("even stride wraps", "s[[t * 2 % 64]] = x[[i]];"),
    (
        "no round, no barrier",
        "s[[t]] = x[[i]]; for k in 0..M { barrier(); acc += k as f32; } y[[i]] = s[[63 - t]] + acc;",
    ),
    ("barrier for half", "s[[t]] = x[[i]]; if t < 32 { barrier(); } y[[i]] = s[[63 - t]];"),
    ("barrier as often as the thread", "for k in 0..t { barrier(); acc += k as f32; } y[[i]] = acc;"),
    ("halves meet at 31", "if t < 32 { s[[t]] = 1.0; } else { acc = s[[t - 1]]; } y[[i]] = acc;"),
    ("counting by data", "let at = (x[[i]] as i32 & 63) as usize; c[[at]] = c[[at]] + 1;"),
    ("atomic and plain", "c.atomic_add([t], 1); acc = c[[63 - t]] as f32; y[[i]] = acc;"),
    (
        "scan in place",
        "s[[t]] = x[[i]]; barrier(); for k in 0..6 { if t >= k + 1 { s[[t]] = s[[t]] + s[[t - k - 1]]; } barrier(); }",
    ),
    ("turned without a barrier", "d[[0, t % 8 * 8 + t / 8]] = x[[i]]; y[[i]] = d[[0, t]];"),
    ("neighbour of global memory", "y[[i]] = x[[i]] + y[[i + 1]];"),
    ("two threads an element", "y[[i / 2]] = x[[i]];"),
    ("a block an element", "y[[block_idx.x]] = x[[i]];"),
    ("turned round the end", "y[[(i + 1) % N]] = x[[i]];"),
    ("all but the leader", "if t != 0 { s[[0]] = x[[i]]; }"),
    ("two leaders", "if t < 2 { s[[0]] = x[[i]]; }"),
    ("pairs swap", "s[[t]] = x[[i]]; barrier(); s[[t ^ 1]] = s[[t]]; barrier(); y[[i]] = s[[t]];"),
    ("moving along", "for k in 0..4 { s[[(t + k) % 64]] = x[[i]]; } y[[i]] = acc;"),
    (
        "second loop reads",
        "for k in 0..3 { d[[k, t]] = x[[i]]; } for k in 0..3 { acc += d[[k, 63 - t]]; } y[[i]] = acc;",
    ),
    ("barrier by data", "s[[t]] = 1.0; if x[[i]] > 0.0 { barrier(); } y[[i]] = s[[63 - t]];"),
    ("rows too near", "s[[t / 8 * 7 + t % 8]] = x[[i]];"),
    (
        "halo without a barrier",
        "s[[t + 1]] = x[[i]]; if t == 0 { s[[0]] = 0.0; s[[65]] = 0.0; } y[[i]] = s[[t]] + s[[t + 2]];",
    ),
    ("blocks modulo two", "let at = i % 128; if at < N { y[[at]] = x[[i]]; }"),
    (
        "barrier passed by the writer alone",
        "for k in 0..4 { if k % 2 == 0 { barrier(); } s[[t]] = x[[i]]; if k % 2 == 1 { barrier(); } acc += s[[63 - t]]; }",
    ),
    ("one row of all blocks", "if M > 0 { m[[0, t]] = x[[i]]; }"),
];

const RIGHT: [(&str, &str); 36] = [
    ("elementwise", "y[[i]] = x[[i]] * 2.0;"),
    ("turned in a block", "s[[t]] = x[[i]]; barrier(); y[[i]] = s[[63 - t]];"),
    (
        "tree",
        "s[[t]] = x[[i]]; barrier(); let mut h = 32; while h > 0 { if t < h { s[[t]] = s[[t]] + s[[t + h]]; } barrier(); h /= 2; } y[[i]] = s[[0]];",
    ),
    (
        "halo",
        "s[[t + 1]] = x[[i]]; if t == 0 { s[[0]] = 0.0; s[[65]] = 0.0; } barrier(); y[[i]] = s[[t]] + s[[t + 2]];",
    ),
    ("turned", "d[[0, t % 8 * 8 + t / 8]] = x[[i]]; barrier(); y[[i]] = d[[0, t]];"),
    (
        "two stages, one barrier",
        "for k in 0..6 { d[[k % 2, t]] = x[[i]]; barrier(); acc += d[[k % 2, 63 - t]]; } y[[i]] = acc;",
    ),
    (
        "three stages, one barrier",
        "for k in 0..6 { d[[k % 3, t]] = x[[i]]; barrier(); acc += d[[k % 3, 63 - t]]; } y[[i]] = acc;",
    ),
    ("atomic counts", "let at = (x[[i]] as i32 & 63) as usize; c.atomic_add([at], 1);"),
    (
        "two barriers a round",
        "for k in 0..M { s[[t]] = x[[i]] + k as f32; barrier(); acc += s[[63 - t]]; barrier(); } y[[i]] = acc;",
    ),
    (
        "scan",
        "s[[t]] = x[[i]]; barrier(); for k in 0..6 { if t >= k + 1 { acc = s[[t - k - 1]]; } barrier(); s[[t]] = s[[t]] + acc; barrier(); } y[[i]] = s[[t]];",
    ),
    ("leader, then all", "if t == 0 { s[[0]] = x[[i]]; } barrier(); y[[i]] = s[[0]];"),
    ("stride of the grid", "let mut at = i; while at < N { y[[at]] = x[[at]]; at += grid_dim.x * 64; }"),
    ("own columns", "for k in (t..64).step_by(64) { s[[k]] = x[[i]]; } barrier(); y[[i]] = s[[63 - t]];"),
    ("warps apart", "s[[warp_id() * 32 + lane_id()]] = x[[i]]; barrier(); y[[i]] = s[[t]];"),
    ("exclusive or", "s[[t ^ 1]] = x[[i]]; barrier(); y[[i]] = s[[t]];"),
    ("odd stride wraps", "s[[(t * 5 + 3) % 64]] = x[[i]]; barrier(); y[[i]] = s[[t]];"),
    (
        "uniform branches",
        "if N > 4000 { s[[t]] = x[[i]]; } else { s[[63 - t]] = x[[i]]; } barrier(); y[[i]] = s[[t]];",
    ),
    (
        "all read all",
        "s[[t]] = x[[i]]; barrier(); for k in 0..64 { acc += s[[k]]; } barrier(); s[[t]] = acc; barrier(); y[[i]] = s[[63 - t]];",
    ),
    ("one thread of the grid", "if i == 0 { y[[0]] = x[[0]]; }"),
    ("one block", "if block_idx.x == 0 && t < N { y[[t]] = x[[t]]; }"),
    ("rows", "if block_idx.x < M { m[[block_idx.x, t]] = x[[i]]; }"),
    (
        "rows by turns",
        "for row in 0..M / 8 { if block_idx.x < 8 { m[[row * 8 + block_idx.x, t]] = x[[i]]; } }",
    ),
    ("last to first", "for k in (0..3).rev() { d[[k, t]] = x[[i]]; } barrier(); y[[i]] = d[[2, 63 - t]];"),
    (
        "vectors",
        "let mut out = y.tile([256], [block_idx.x]).vectorize([4]).distribute(row_major([64]), t); let own = x.tile([256], [block_idx.x]).vectorize([4]).distribute(row_major([64]), t); out.copy_from(&own);",
    ),
    ("halves", "if t < 32 { s[[t]] = 1.0; } else { s[[t]] = 2.0; } barrier(); y[[i]] = s[[63 - t]];"),
    (
        "upper half to the lower one",
        "s[[t]] = x[[i]]; barrier(); if t < 32 { s[[t]] = s[[t + 32]]; } barrier(); y[[i]] = s[[t]];",
    ),
    ("even threads", "if t % 2 == 0 { s[[t + 1]] = x[[i]]; s[[t]] = 0.0; } barrier(); y[[i]] = s[[t]];"),
    ("from the end", "if i < N { y[[N - 1 - i]] = x[[i]]; }"),
    ("own sums", "for k in 0..4 { y[[i]] = y[[i]] + x[[i]] * k as f32; }"),
    (
        "loops in loops",
        "for k in 0..M { for j in 0..3 { d[[j, t]] = x[[i]]; barrier(); acc += d[[j, 63 - t]]; barrier(); } acc += k as f32; } y[[i]] = acc;",
    ),
    ("only read", "y[[i]] = x[[0]];"),
    ("all to one, atomically", "c.atomic_add([0], 1);"),
    (
        "tree by numbers",
        "s[[t]] = x[[i]]; barrier(); for k in 0..6 { let h = 32 >> k; if t < h { s[[t]] = s[[t]] + s[[t + h]]; } barrier(); } y[[i]] = s[[0]];",
    ),
    (
        "uniform loop by data",
        "let mut k = 0; while x[[k]] > 0.0 && k < N { s[[t]] = x[[i]]; barrier(); acc += s[[63 - t]]; barrier(); k += 1; } y[[i]] = acc;",
    ),
    (
        "barrier in a uniform branch",
        "s[[t]] = x[[i]]; if N > 100 { barrier(); acc = s[[63 - t]]; } y[[i]] = acc;",
    ),
    (
        "two to one by turns",
        "if t % 2 == 0 { s[[t / 2]] = x[[i]]; } barrier(); if t % 2 == 1 { s[[t / 2]] = s[[t / 2]] + x[[i]]; } barrier(); y[[i]] = s[[t / 2]];",
    ),
];

#[test]
fn what_is_wrong_is_not_certified() {
    for (name, body) in WRONG {
        let certificate = certificate(body);
        assert!(!certificate.races(), "{name}:\n{body}\n{certificate}");
        assert!(certificate.bounds(), "{name}:\n{certificate}");
    }
}

#[test]
fn what_is_right_is_certified() {
    let open: Vec<String> = RIGHT
        .iter()
        .map(|(name, body)| (name, certificate(body)))
        .filter(|(_, certificate)| !certificate.races() || !certificate.bounds())
        .map(|(name, certificate)| format!("{name}:\n{certificate}"))
        .collect();
    println!("{}", open.concat());
    assert!(open.len() * 5 <= RIGHT.len(), "{} of {}:\n{}", open.len(), RIGHT.len(), open.concat());
}

/// No proof at random holds where a pair races; of one that does not some do.
#[test]
fn damaged_proofs_are_refused() {
    let (mut tried, mut taken) = (0, 0);
    for (name, body) in WRONG {
        let damage = damaged(&checked(body), 7, 150);
        assert_eq!(damage.wrong, 0, "{name}: of {damage:?}");
        tried += damage.of_unproved;
    }
    for (_, body) in RIGHT {
        let damage = damaged(&checked(body), 11, 40);
        tried += damage.of_proved;
        taken += damage.taken;
    }
    assert!(tried > 10_000 && taken > 100, "{tried} tried, {taken} taken");
}

#[test]
fn what_is_not_proved_is_an_error_where_it_is_demanded() {
    let refused = |attribute: &str, body: &str| compiled(&text(attribute, body)).expect_err(body).to_string();
    let racing = "s[[t]] = x[[i]];\ny[[i]] = s[[63 - t]];";
    let message = "this access of `s`, with that of line 12, is not proved to be free of races: threads of one block are not shown to access \
                   different elements, and no barrier separates them\n  = help: separate them by `barrier()`, make both atomic, or leave \
                   `certified` out";
    assert_eq!(refused(", certified", racing), message);
    assert_eq!(refused(", certified(races)", racing), message);
    assert!(compiled(&text(", certified(bounds)", racing)).is_ok());
    assert!(compiled(&text(", certified", RIGHT[0].1)).is_ok());
    let divergent = refused(", certified", "if t < 32 {\nbarrier();\n}");
    assert!(divergent.contains("not all threads are known"), "{divergent}");
    let words = layout_text::kernel(&text(", certified(order)", racing)).expect_err("no word");
    assert!(words[0].message.starts_with("this is nothing that is certified"), "{words:?}");
}

/// Copies by `cp.async`, each with whether it is certified. `from` is the block's tile of `x`, `to` the thread's element of `s`.
const COPIES: [(&str, bool); 17] = [
    ("to.copy_from_async(&from); async_copy_wait_all(); barrier(); acc = s[[63 - t]];", true),
    ("to.copy_from_async(&from); async_copy_commit_group(); async_copy_wait_group(0); barrier(); acc = s[[63 - t]];", true),
    ("to.copy_from_async(&from); async_copy_wait_all(); acc = s[[t]];", true),
    (
        "for _ in 0..M { to.copy_from_async(&from); async_copy_wait_all(); barrier(); acc += s[[63 - t]]; barrier(); }",
        true,
    ),
    (
        "for k in 0..3 { d.slice(k).tile([64], [0]).distribute(row_major([64]), t).copy_from_async(&from); }
         async_copy_wait_all(); barrier(); acc = d[[1, 63 - t]];",
        true,
    ),
    ("to.copy_from_async(&from); d[[0, t]] = 1.0; async_copy_wait_all(); barrier(); acc = s[[63 - t]] + d[[0, t]];", true),
    ("to.copy_from_async(&from); async_copy_commit_group(); barrier(); acc = s[[63 - t]];", false),
    ("to.copy_from_async(&from); barrier(); async_copy_wait_all(); acc = s[[63 - t]];", false),
    ("to.copy_from_async(&from); async_copy_wait_all(); acc = s[[63 - t]];", false),
    ("to.copy_from_async(&from); acc = s[[t]]; async_copy_wait_all();", false),
    ("to.copy_from_async(&from); s[[t]] = 1.0; async_copy_wait_all();", false),
    ("for _ in 0..3 { to.copy_from_async(&from); } async_copy_wait_all(); barrier(); acc = s[[63 - t]];", false),
    ("to.copy_from_async(&from); async_copy_commit_group(); async_copy_wait_group(1); barrier(); acc = s[[63 - t]];", false),
    ("to.copy_from_async(&from); async_copy_wait_group(0); barrier(); acc = s[[63 - t]];", false),
    ("for _ in 0..M { to.copy_from_async(&from); async_copy_wait_all(); barrier(); acc += s[[63 - t]]; }", false),
    (
        "for _ in 0..M { async_copy_wait_all(); barrier(); acc += s[[63 - t]]; barrier(); to.copy_from_async(&from); }
         async_copy_wait_all();",
        false,
    ),
    ("if t < 32 { async_copy_wait_all(); } to.copy_from_async(&from); barrier(); acc = s[[63 - t]];", false),
];

#[test]
fn copies_are_certified_where_waits_and_barriers_follow() {
    for (body, is_right) in COPIES {
        let tiles = "let from = x.tile([64], [block_idx.x]).distribute(row_major([64]), t);
            let mut to = s.tile([64], [0]).distribute(row_major([64]), t);";
        let certificate = certificate(&format!("{tiles}\n{body} if i < N {{ y[[i]] = acc; }}"));
        assert_eq!(certificate.races(), is_right, "{body}\n{certificate}");
    }
}

/// Each with the barriers of its text.
const COLLECTIVES: [(&str, usize); 14] = [
    ("acc = x[[i]].block_sum();", 1),
    ("acc = x[[i]].block_sum(); acc += x[[i]].block_max();", 2),
    ("for _ in 0..M { acc += x[[i]].block_sum(); }", 2),
    ("for _ in 0..M { acc += x[[i]].block_sum(); acc = acc.block_max(); }", 2),
    ("for _ in 0..M { barrier(); acc += x[[i]].block_sum(); }", 2),
    ("for _ in 0..M { acc += x[[i]].block_sum(); barrier(); }", 2),
    ("for k in 0..M { acc += x[[i]].block_sum(); if k % 2 == 0 { barrier(); } }", 3),
    ("for k in 0..M { acc += x[[i]].block_sum(); if k == 2 { continue; } barrier(); }", 3),
    ("for k in 0..M { if k == 2 { continue; } acc += x[[i]].block_sum(); }", 2),
    ("for _ in 0..M { acc += x[[i]].block_sum(); break; }", 1),
    (
        "let mut k = 0; while k < M { acc += x[[i]].block_sum(); k += 1; } barrier(); acc += acc.block_sum();",
        4,
    ),
    ("fn both(a: f32) -> f32 { a.block_sum() + a.block_max() } for _ in 0..M { acc += both(x[[i]]); }", 2),
    ("if M > 2 { acc = x[[i]].block_sum(); } else { acc = x[[i]].block_min(); }", 2),
    ("for _ in 0..M { if M > 2 { acc += x[[i]].block_sum(); } else { acc += x[[i]].block_min(); } }", 4),
];

#[test]
fn a_collective_ends_with_a_barrier_where_its_memory_is_written_again() {
    for (body, barriers) in COLLECTIVES {
        let body = format!("{body} if i < N {{ y[[i]] = acc; }}");
        let checked = checked(&body);
        let text = emit(&checked).text;
        assert_eq!(text.matches("__syncthreads()").count(), barriers, "{body}\n{text}");
        let certificate = certify(&checked);
        assert!(certificate.races(), "{body}\n{certificate}");
    }
}

/// Each with its redundant barriers: the lines of the body.
const REDUNDANT: [(&str, &[u32]); 11] = [
    ("s[[t]] = x[[i]];\nbarrier();\nacc = s[[t]];", &[2]),
    ("s[[t]] = x[[i]];\nbarrier();\nacc = s[[63 - t]];", &[]),
    ("s[[t]] = x[[i]];\nbarrier();\nacc = s[[63 - t]];\nbarrier();", &[4]),
    ("for _ in 0..M {\ns[[t]] = x[[i]];\nbarrier();\nacc += s[[63 - t]];\nbarrier();\n}", &[]),
    ("for k in 0..M {\nd[[k % 2, t]] = x[[i]];\nbarrier();\nacc += d[[k % 2, 63 - t]];\nbarrier();\n}", &[5]),
    // Without the first one no two accesses race; the sums would be wrong.
    (
        "let mut n = shared::<u32>(row_major([1]));\nif t == 0 { n.atomic_exchange([0], 0); }\nbarrier();\nn.atomic_add([0], 1);",
        &[],
    ),
    ("barrier();\ns[[t]] = x[[i]];\nbarrier();\nacc = s[[63 - t]];", &[1]),
    // Of two either one is, not both.
    ("for _ in 0..M {\nbarrier();\ns[[t]] = x[[i]];\nbarrier();\nacc += s[[63 - t]];\nbarrier();\n}", &[2]),
    // Nor where atomic operations of another element order what other threads do.
    (
        "if t == 0 { while c.atomic_compare_exchange([0], 0, 1) != 0 {} }\nbarrier();\nc.atomic_add([1 + t % 2], 1);\nbarrier();\nif t == 0 { c.store_release([0], 0); }",
        &[],
    ),
    // What races has none.
    ("s[[63 - t]] = x[[i]];\nacc = s[[t]];\nbarrier();", &[]),
    ("acc = x[[i]].block_sum();\nbarrier();\nacc += acc.block_max();", &[2]),
];

#[test]
fn barriers_without_which_nothing_races_are_named() {
    for (body, lines) in REDUNDANT {
        let first =
            text("", body).lines().position(|line| line.starts_with(body.lines().next().unwrap_or("")));
        let first = first.expect("the body begins on a line") as u32;
        let explanation = explain(&checked(&format!("{body}\nif i < N {{ y[[i]] = acc; }}")));
        let found: Vec<u32> = explanation.redundant_barriers.iter().map(|at| at.line - first).collect();
        assert_eq!(found, lines, "{body}\n{explanation}");
    }
}
