//! Loops over the tiles of a view.

use super::kernel;
use layout_compiler::{Promises, compile};

/// `for` over tiles is the loops over their numbers, and so are the entries that follow.
#[test]
fn a_loop_over_tiles_is_the_loops_over_their_numbers() {
    let text = |body: &str| {
        format!(
            "#[tiled_kernel(BM = 4, BN = 8)] fn tiles<const M: usize, const N: usize>(
                 x: &LayoutTensor<f32, RowMajor<M, N>>, y: &mut LayoutTensor<f32, RowMajor<M, N>>) {{ {body} }}"
        )
    };
    let source = |body: &str| {
        let kernel = kernel(&text(body)).unwrap_or_else(|error| panic!("{body}\n{error}"));
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        let checked =
            compile(&kernel, &set, Promises::USUAL).unwrap_or_else(|errors| panic!("{body}\n{errors}"));
        layout_compiler::emit(&checked).text
    };
    let own = "y.tile([BM, BN], [block_idx.y, block_idx.x])[[thread_idx.x / BN, thread_idx.x % BN]]";
    for (sugar, loops) in [
        (
            "for tile in x.tiles([BM, BN]) { sum += tile[[0, 1]]; }",
            "for tile_0 in 0..x.dim(0).div_ceil(BM) { for tile_1 in 0..x.dim(1).div_ceil(BN) {
                 let tile = x.tile([BM, BN], [tile_0, tile_1]); sum += tile[[0, 1]]; } }",
        ),
        (
            "for (k, tile) in x.tiles([BM, 2 * BN]).enumerate() { if k % 2 == 0 { continue; } sum += tile[[0, 0]] * k as f32; }",
            "for tile_0 in 0..x.dim(0).div_ceil(BM) { for tile_1 in 0..x.dim(1).div_ceil(2 * BN) {
                 let k = tile_0 * x.dim(1).div_ceil(2 * BN) + tile_1; let tile = x.tile([BM, 2 * BN], [tile_0, tile_1]);
                 if k % 2 == 0 { continue; } sum += tile[[0, 0]] * k as f32; } }",
        ),
        (
            "for row in x.slice(0).tiles([BN]) { for k in 0..8 { if row[[k]] > 0.0 { break; } sum += 1.0; } if sum > 9.0 { break; } }",
            "for tile_0 in 0..x.dim(1).div_ceil(BN) { let row = x.slice(0).tile([BN], [tile_0]);
                 for k in 0..8 { if row[[k]] > 0.0 { break; } sum += 1.0; } if sum > 9.0 { break; } }",
        ),
    ] {
        let body = |loops: &str| format!("let mut sum = 0.0; {loops} {own} = sum;");
        assert_eq!(source(&body(sugar)), source(&body(loops)), "{sugar}");
    }
    for (wrong, words) in [
        ("for tile in x.tiles([BM, BN]) { if tile[[0, 0]] > 0.0 { break; } }", "no `break` leaves at once"),
        ("'all: for tile in x.tiles([BM, BN]) { continue 'all; }", "which no label"),
        ("let sizes = [BM, BN]; for tile in x.tiles(sizes) { }", "the extents of `tiles` are an array"),
        ("for tile in x.tiles([BM]) { let _ = tile[[0]]; }", ""),
    ] {
        let error = kernel(&text(&format!("{wrong} {own} = 1.0;"))).and_then(|kernel| {
            let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
            compile(&kernel, &set, Promises::USUAL).map_err(|errors| errors.to_string())
        });
        let error = error.err().unwrap_or_default();
        assert!(!error.is_empty() && error.contains(words), "{wrong}: {error}");
    }
}
