//! Random kernels over a vector or a matrix, each with the entries that its body says.

use super::{kernel, launches, without};

/// Numbers without a pattern.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % end
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len() as u64) as usize]
    }
}

/// A kernel over a vector: the entries that its body says, and the kernel with them.
fn vector(random: &mut Random) -> String {
    let size = random.of(&["B", "32", "B * 2", "2 * B + 32", "B / 2", "B.div_ceil(3)"]);
    let own = random.of(&["OWN", "2", "3"]);
    let plain = format!("block = [{size}], grid = [N.div_ceil({size})]");
    let several = format!("block = [{size}], grid = [N.div_ceil(({size}) * {own})]");
    let (entries, body) = match random.below(9) {
        0 => (plain, format!("let i = block_idx.x * ({size}) + thread_idx.x; if i < N {{ y[[i]] = 1.0; }}")),
        1 => (plain, format!("let i = thread_idx.x + ({size}) * block_idx.x; if i >= N {{ return; }} y[[i]] = 1.0;")),
        2 => (plain, format!("y.tile([{size}], [block_idx.x])[[thread_idx.x]] = 1.0;")),
        3 => (
            several,
            format!(
                "let first = block_idx.x * ({size}) * {own} + thread_idx.x;
                 for o in 0..{own} {{ let i = first + o * ({size}); if i < N {{ y[[i]] = 1.0; }} }}"
            ),
        ),
        4 => (
            several,
            format!(
                "let at = (block_idx.x * ({size}) + thread_idx.x) * {own};
                 for o in unroll(0..{own}) {{ if at + o < N {{ y[[at + o]] = 1.0; }} }}"
            ),
        ),
        5 => (several, format!("let mut own = y.tile([{own}], [block_idx.x * ({size}) + thread_idx.x]); own.fill(1.0);")),
        6 => (
            "block = [OWN * 32], grid = [N.div_ceil(OWN * 32)]".to_owned(),
            "let mut own = y.tile([32], [block_idx.x * OWN + warp_id()]); own[[lane_id()]] = 1.0;".to_owned(),
        ),
        7 => (
            format!("block = [{size}], grid = [N.div_ceil(4 * ({size}))]"),
            format!(
                "let mut part = y.tile([4 * ({size})], [block_idx.x]).vectorize([4]).distribute(row_major([{size}]), thread_idx.x);
                 part.fill(1.0);"
            ),
        ),
        _ => (
            plain,
            format!(
                "fn at(block: usize, thread: usize) -> usize {{ block * ({size}) + thread }}
                 let place = |i: usize| i;
                 let i = place(at(block_idx.x, thread_idx.x)); if N > i {{ y[[i]] = 1.0; }}"
            ),
        ),
    };
    let (b, o) = (32 << random.below(3), 2 + random.below(3));
    format!(
        "#[tiled_kernel(B = {b}, OWN = {o}, require(B > OWN), {entries})] fn random<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{ {body} }}"
    )
}

/// The same over a matrix.
fn matrix(random: &mut Random) -> String {
    let axes = [["x", "y"], ["y", "x"], ["x", "z"], ["z", "y"]][random.below(4) as usize];
    let [rows, columns] = axes;
    let grid = |m: String, n: String| {
        let of = |axis: &str| {
            if axis == rows {
                m.clone()
            } else if axis == columns {
                n.clone()
            } else {
                "1".to_owned()
            }
        };
        let last = if axes.contains(&"z") { 3 } else { 2 };
        ["x", "y", "z"][..last].iter().map(|axis| of(axis)).collect::<Vec<_>>().join(", ")
    };
    let tiles = grid("M.div_ceil(BM)".to_owned(), "N.div_ceil(BN)".to_owned());
    let (block, grid, body) = match random.below(6) {
        0 => (
            "BM * BN",
            tiles,
            format!("let mut own = c.tile([BM, BN], [block_idx.{rows}, block_idx.{columns}]); own[[thread_idx.x / BN, thread_idx.x % BN]] = 1.0;"),
        ),
        1 => (
            "BN, BM",
            tiles,
            format!(
                "let (i, j) = (block_idx.{rows} * BM + thread_idx.y, block_idx.{columns} * BN + thread_idx.x);
                 if i < M && j < N {{ c[[i, j]] = 1.0; }}"
            ),
        ),
        2 => (
            "BM * BN / 4",
            tiles,
            format!(
                "let mut own = c.tile([BM, BN], [block_idx.{rows}, block_idx.{columns}]).vectorize([1, 4]);
                 let mut part = own.distribute(row_major([BM, BN / 4]), thread_idx.x); part.fill(1.0);"
            ),
        ),
        3 => (
            "BM * BN",
            tiles,
            format!(
                "let mut own = c.transpose().tile([BN, BM], [block_idx.{columns}, block_idx.{rows}]);
                 own[[thread_idx.x / BM, thread_idx.x & (BM - 1)]] = 1.0;"
            )
            .replace("& (BM - 1)", "% BM"),
        ),
        4 => (
            "BM * 8",
            tiles,
            format!(
                "let (row, part) = (thread_idx.x / 8, thread_idx.x % 8);
                 let mut own = c.tile([BM, BN], [block_idx.{rows}, block_idx.{columns}]).tile([1, BN / 8], [row, part]); own.fill(1.0);"
            ),
        ),
        _ => (
            "BN",
            grid("M".to_owned(), "1".to_owned()),
            format!("for j in (thread_idx.x..N).step_by(BN) {{ c[[block_idx.{rows}, j]] = 1.0; }}"),
        ),
    };
    let (m, n) = (4 << random.below(3), 8 << random.below(3));
    let grid = if grid.ends_with(", 1") { grid.trim_end_matches(", 1").to_owned() } else { grid };
    let head = format!("BM = {m}, BN = {n}, require(BM > 0), block = [{block}], grid = [{grid}]");
    format!(
        "#[tiled_kernel({head})] fn random<const M: usize, const N: usize>(c: &mut LayoutTensor<f32, RowMajor<M, N>>) {{ {body} }}"
    )
}

#[test]
fn random_kernels_have_the_launches_of_the_entries_that_were_left_out() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for number in 0..120 {
        let text = if number % 2 == 0 { vector(&mut random) } else { matrix(&mut random) };
        let written = kernel(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let bare =
            kernel(&without(&text, &["block", "grid"])).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(launches(&written), launches(&bare), "{text}");
        let half = kernel(&without(&text, &["grid"])).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(launches(&written), launches(&half), "{text}");
    }
}

/// Bodies whose indices grow without end are refused, not computed.
#[test]
fn endless_indices_end() {
    let quotients: String =
        (0..200).map(|i| format!("let a{} = (a{i} + 1) / (a{i} + 2) + a{i} % (a{i} + 3);", i + 1)).collect();
    let powers: String = (0..200).map(|i| format!("let a{} = a{i} * a{i} + {i};", i + 1)).collect();
    let sums: String = (0..200).map(|i| format!("let a{} = a{i} + N % ({i} + 2);", i + 1)).collect();
    let masks = "let a200 = thread_idx.x & 170141183460469231731687303715884105727;".to_owned();
    for (of, body) in [("quotients", quotients), ("powers", powers), ("sums", sums), ("masks", masks)] {
        let text = format!(
            "#[tiled_kernel] fn endless<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
                 let a0 = N; {body} y[[block_idx.x * 32 + thread_idx.x + a200]] = 1.0; }}"
        );
        assert!(kernel(&text).is_err(), "{of}");
    }
    let functions: String =
        (0..20).map(|i| format!("fn f{}(x: usize) -> usize {{ f{i}(x) + f{i}(x + 1) }}", i + 1)).collect();
    let text = format!(
        "#[tiled_kernel] fn endless<const N: usize>(y: &mut LayoutTensor<f32, RowMajor<N>>) {{
             fn f0(x: usize) -> usize {{ x }} {functions} y[[block_idx.x * 32 + thread_idx.x]] = f20(N) as f32; }}"
    );
    let error = kernel(&text).expect_err("a million calls");
    assert!(error.contains("it is too long to be looked through"), "{error}");
}
