//! Messages about what is typed in a first hour: each names what was written, and leads on in the user's names.

use crate::tests::messages;

/// A kernel of one vector, as it is written.
fn of_vector(attribute: &str, item: &str) -> Vec<String> {
    messages(attribute, &item.replace("Y", "y: &mut LayoutTensor<f32, RowMajor<N>>"))
}

#[test]
fn a_grid_with_too_few_blocks_is_refused() {
    let by_index =
        "fn k<const N: usize>(Y) { let i = block_idx.x * 256 + thread_idx.x; if i < N { y[[i]] = 1.0; } }";
    let by_tile =
        "fn k<const N: usize>(Y) { let mut own = y.tile([BM], [block_idx.x]); own[[thread_idx.x]] = 1.0; }";
    for (attribute, item, found) in [
        ("block = [256], grid = [1]", by_index, "`grid` is `1` along `block_idx.x`"),
        ("block = [256], grid = [4]", by_index, "promise it: `require(N <= 1024)`"),
        ("block = [256], grid = [N / 256]", by_index, "promise it: `require(N % 256 == 0)`"),
        ("BM = 64, block = [BM], grid = [N / BM]", by_tile, "write `N.div_ceil(BM)`"),
        ("BM = [64, 128], block = [BM], grid = [8]", by_tile, "promise it: `require(N <= 8 * BM)`"),
        ("block = [256], grid = [4], require(N <= 1024)", by_index, ""),
        ("block = [256], grid = [N / 256], require(N % 512 == 0 && N > 0)", by_index, ""),
        ("N = 1024, block = [256], grid = [4]", by_index, ""),
        ("block = [256], grid = [N.div_ceil(256) + 1]", by_index, ""),
        ("BM = 64, block = [BM], grid = [N.div_ceil(BM)]", by_tile, ""),
    ] {
        let all = of_vector(attribute, item);
        assert_eq!(all.len(), usize::from(!found.is_empty()), "{attribute}: {all:#?}");
        assert!(all.iter().all(|message| message.contains(found)), "{attribute}: {all:#?}");
    }
}

#[test]
fn coordinates_of_tiles_by_blocks_are_numbers_of_tiles() {
    for (attribute, at, wrong) in [
        ("block = [64], grid = [N.div_ceil(64)]", "block_idx.x * 64", true),
        ("block = [64], grid = [N / 64], require(N % 64 == 0)", "64 * block_idx.x", true),
        ("block = [64], grid = [N.div_ceil(256)]", "(block_idx.x * 4 + thread_idx.x / 16) * 64", true),
        ("block = [64], grid = [N.div_ceil(64)]", "block_idx.x", false),
        ("block = [64], grid = [N.div_ceil(64 * 64)]", "block_idx.x * 64 + thread_idx.x", false),
        ("block = [64], grid = [N.div_ceil(64 * 64)]", "block_idx.x * 64", false),
        ("block = [64]", "block_idx.x * 64", false),
    ] {
        let item = format!(
            "fn k<const N: usize>(Y) {{ let start = {at}; y.tile([64], [start])[[thread_idx.x]] = 1.0; }}"
        );
        let found = of_vector(attribute, &item);
        let told =
            found.iter().any(|message| message.contains("is the number of an element: its tiles of 64"));
        assert_eq!((told, found.len()), (wrong, usize::from(wrong)), "{attribute}, {at}: {found:#?}");
    }
}
