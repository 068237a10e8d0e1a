//! What must hold on every path: mbarriers are used behind a barrier, accumulators behind their wait, global memory behind
//! `grid_dependency_wait`.
//!
//! Law: of the kernels of one table those that are right on every path are taken, the others are refused in words that name the
//! thing, however the path leads there: past a loop of no rounds, by `break`, `continue` or `return`, from an earlier round.

use super::wrong;

/// Each body with whether it is right, in the kernel that `around` makes of it; the others are refused in these words.
fn table(around: impl Fn(&str) -> String, words: &str, bodies: &[(bool, &str)]) {
    for (right, body) in bodies {
        let found = wrong(&around(body));
        let named = |message: &String| message.starts_with(words);
        match right {
            true => assert!(found.is_empty(), "{body}: {found:#?}"),
            false => assert!(!found.is_empty() && found.iter().all(named), "{body}: {found:#?}"),
        }
    }
}

#[test]
fn mbarriers_are_used_behind_a_barrier() {
    let around = |body: &str| {
        format!(
            "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [1])]
fn barriers<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>, n: usize) {{
    let full = mbarriers(2, 64);
    {body}
    full.at(1).arrive();
    full.at(1).wait(0);
    y[[thread_idx.x]] = 1.0;
}}"
        )
    };
    table(
        around,
        "`full` is used before every thread sees that it was made",
        &[
            (false, ""),
            (true, "barrier();"),
            (true, "cluster_barrier();"),
            // A loop of no rounds has no barrier.
            (false, "for _ in 0..n { barrier(); }"),
            (false, "let mut i = 0; while i < n { barrier(); i += 1; }"),
            (false, "for i in 0..n { for _ in 0..2 { barrier(); } }"),
            (true, "for _ in 0..2 { barrier(); }"),
            (true, "for _ in unroll(0..2) { barrier(); }"),
            (true, "for _ in 0..n { sync_warp(); } barrier();"),
            // A round may end, or be left, ahead of it.
            (false, "for i in 0..4 { if i == n { continue; } barrier(); }"),
            (false, "for i in 0..4 { if i == n { break; } barrier(); }"),
            (false, "loop { if n > 3 { break; } barrier(); break; }"),
            (true, "let mut i = 0; loop { barrier(); i += 1; if i > n { break; } }"),
            (true, "for i in 0..4 { barrier(); if i == n { break; } }"),
            (true, "loop { if n > 3 { barrier(); break; } }"),
            // Both branches, and threads that return.
            (false, "if n > 3 { barrier(); }"),
            (true, "if n > 3 { barrier(); } else { barrier(); }"),
            (true, "if n > 3 { return; } barrier();"),
            (false, "if n > 3 { barrier(); if n > 5 { return; } }"),
        ],
    );
}

/// A warpgroup with operands in shared memory, and what comes between its products.
fn product(body: &str) -> String {
    format!(
        "#[tiled_kernel(arch = \"sm_90a\", block = [128], grid = [1])]
fn product<const N: usize>(
    a: &LayoutTensor<bf16, RowMajor<64, 64>>, b: &LayoutTensor<bf16, RowMajor<64, 64>>, c: &mut LayoutTensor<f32, RowMajor<N, 64>>,
    n: usize,
) {{
    let mut left = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let mut right = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {{
        full.at(0).arrive_expect(left.bytes() + right.bytes());
        tma_load(&mut left, &a.tile([64, 64], [0, 0]), full.at(0));
        tma_load(&mut right, &b.tile([64, 64], [0, 0]), full.at(0));
    }}
    full.at(0).wait(0);
    let mut acc = accumulator([64, 64]).fill(0.0);
    {body}
    for h in unroll(0..2) {{
        for j in unroll(0..8) {{
            c.tile([1, 2], [16 * warp_id() + lane_id() / 4 + 8 * h, 4 * j + lane_id() % 4])
                .vectorize([1, 2])
                .copy_from(&acc.tile([1, 1], [h, j]));
        }}
    }}
}}"
    )
    .replace("MULTIPLY", "wgmma(&mut acc, &left, &right, true); wgmma_commit_group();")
    .replace("WAIT", "wgmma_wait_group(0);")
}

#[test]
fn accumulators_are_touched_behind_the_wait() {
    table(
        product,
        "`acc` is touched while a product into it is in flight",
        &[
            (true, "MULTIPLY WAIT"),
            (false, "MULTIPLY"),
            (false, "if n > 3 { MULTIPLY }"),
            (true, "if n > 3 { MULTIPLY } WAIT"),
            // The path of a `break` leaves the product in flight.
            (false, "for i in 0..n { MULTIPLY if i == 3 { break; } WAIT }"),
            (false, "let mut i = 0; loop { MULTIPLY i += 1; if i > n { break; } WAIT }"),
            (false, "for i in 0..n { MULTIPLY if i == 2 { continue; } WAIT }"),
            (false, "for i in 0..n { for j in 0..n { MULTIPLY if i == j { break; } WAIT } }"),
            (true, "for i in 0..n { MULTIPLY if i == 3 { break; } WAIT } WAIT"),
            // And another path has none.
            (true, "for i in 0..n { if i == 3 { MULTIPLY break; } acc.fill(2.0); } WAIT"),
            (true, "let mut i = 0; loop { i += 1; if i > n { MULTIPLY break; } acc.fill(1.0); } WAIT"),
            (true, "for i in 0..n { if i == 3 { MULTIPLY WAIT continue; } acc.fill(1.0); }"),
            (true, "if n > 4 { MULTIPLY WAIT return; }"),
            // What one round leaves in flight the next one meets.
            (false, "for i in 0..n { acc.fill(2.0); MULTIPLY } WAIT"),
            (false, "for i in 0..n { if i > 2 { acc.fill(2.0); } MULTIPLY } WAIT"),
            // A wait that leaves a group in flight.
            (true, "for i in 0..n { MULTIPLY wgmma_wait_group(1); } WAIT"),
            (false, "for i in 0..n { MULTIPLY wgmma_wait_group(1); }"),
        ],
    );
}

/// Each loop was walked twice: of thirty in one another the innermost was walked a thousand million times.
#[test]
fn a_pass_is_linear_however_deep_the_loops_are() {
    let depth = 30;
    let loops = |body: &str| format!("{}{body}{}", "for _ in 0..n { ".repeat(depth), " }".repeat(depth));
    assert_eq!(wrong(&product(&loops("MULTIPLY WAIT"))), Vec::<String>::new());
    assert!(!wrong(&product(&loops("acc.fill(2.0); MULTIPLY"))).is_empty());
}

#[test]
fn global_memory_is_used_behind_the_wait_for_launches_before() {
    let around = |body: &str| {
        format!(
            "#[tiled_kernel(arch = \"sm_90a\", block = [64], grid = [1])]
fn waits<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>, n: usize) {{
    {body}
}}"
        )
    };
    let store = "y[[thread_idx.x]] = 1.0;";
    for (right, body) in [
        (true, "grid_dependency_wait(); STORE"),
        (true, "if n > 3 { grid_dependency_wait(); } else { grid_dependency_wait(); } STORE"),
        (true, "for _ in 0..1 { grid_dependency_wait(); } STORE"),
        (true, "if n > 3 { grid_dependency_wait(); return; } grid_dependency_wait(); STORE"),
        (false, "for _ in 0..n { grid_dependency_wait(); } STORE"),
        (false, "if n > 3 { return; } grid_dependency_wait(); STORE"),
        (false, "if n > 3 { grid_dependency_wait(); } STORE"),
        (false, "loop { if n > 3 { break; } grid_dependency_wait(); break; } STORE"),
        (false, "for i in 0..n { if i == 3 { STORE } } grid_dependency_wait();"),
        (false, "let own = x[[0]]; grid_dependency_wait(); y[[0]] = own;"),
    ] {
        let found = wrong(&around(&body.replace("STORE", store)));
        assert_eq!(right, found.is_empty(), "{body}: {found:#?}");
        assert!(found.iter().all(|message| message.contains("`grid_dependency_wait()`")), "{found:#?}");
    }
}
