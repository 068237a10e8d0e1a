//! The book's pictures, drawn by the library: of layouts, of views, and of rounds that are computed here.

use super::outputs::same;
use layout_core::draw::{Cell, Grid, grids_svg, swizzle_svg, thread_value_svg};
use layout_core::tensor::View;
use layout_core::{Layout, LayoutError};

type Picture = Result<String, LayoutError>;

fn layout(text: &str) -> Layout {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn draw(name: &str, svg: Picture) {
    same("figures", &format!("{name}.svg"), &svg.unwrap_or_else(|error| panic!("{name}: {error}")));
}

/// The offsets of a tile of a matrix, down its columns.
fn tile(matrix: &Layout, sizes: [i64; 2], at: [i64; 2]) -> Result<Vec<i64>, LayoutError> {
    Ok(View::new(matrix.clone()).tile(&sizes, &at)?.offsets().flatten().collect())
}

/// The place of an offset in a list as a colour.
fn marked(offset: i64, chosen: &[i64]) -> Cell {
    let cell = Cell::new(offset);
    chosen.iter().position(|one| *one == offset).map_or(cell.clone(), |place| cell.coloured(place))
}

#[test]
fn layouts() {
    draw("rows", thread_value_svg("a warp reads a row of 4 x 32", &layout("(32,1):(4,1)"), 4, 32));
    draw("columns", thread_value_svg("a warp of 4 reads a column", &layout("(4,1):(1,4)"), 4, 8));
    let tiles = layout("((4,4),(2,2)):((16,2),(8,1))");
    draw("thread_tile", thread_value_svg("16 threads, 2 x 2 elements each", &tiles, 8, 8));
    let column = layout("((8,2),8):((16,8),1)");
    draw("column", thread_value_svg("16 threads, a column of 8 elements each", &column, 16, 8));
    let scores = layout("((4,8),(2,2)):((32,1),(16,8))");
    draw("scores", thread_value_svg("16 queries, 8 keys", &scores, 16, 8));
    let swizzled = |text: &str| swizzle_svg(&text.parse().expect("a layout"), 4);
    draw("banks_plain", swizzled("Sw<0,0,0> o 0 o (8,32):(32,1)"));
    draw("banks_swizzled", swizzled("Sw<5,0,5> o 0 o (8,32):(32,1)"));
}

#[test]
fn tiles_of_matrices() -> Result<(), LayoutError> {
    let (x, own) = (layout("(2,6):(6,1)"), layout("(2,2):(6,1)"));
    let part = tile(&x, [2, 2], [0, 1])?;
    let whole = Grid::offsets("(2,6):(6,1)", &x, |offset| marked(offset, &part))?;
    let alone = Grid::offsets("tile (0,1): (2,2):(6,1) at 2", (&own, 2), |offset| marked(offset, &part))?;
    draw("tile_of_matrix", grids_svg(&[&[whole, alone]]));

    let (x, y) = (layout("(4,6):(6,1)"), layout("(6,4):(1,6)"));
    let part = tile(&x, [2, 2], [0, 2])?;
    let grid = |title: &str, of: &Layout| Grid::offsets(title, of, |offset| marked(offset, &part));
    draw("mirrored", grids_svg(&[&[grid("x: tile (0,2)", &x)?, grid("y: tile (2,0), transposed", &y)?]]));

    let threads =
        Grid::offsets("row_major([32, 32]): the thread of each element", &layout("(32,32):(32,1)"), |t| {
            Cell::new(format!("T{t}")).coloured(t as usize / 32)
        });
    draw("tile_threads", grids_svg(&[&[threads?]]));

    draw("product_tiles", product(6, 2, [1, 2], |step, _| step.to_string()));
    draw("fetch", product(9, 3, [1, 2], |step, thread| format!("T{thread}\nt={step}")));

    let map = View::new(layout("(40,50):(50,1)"));
    let block = |row: usize, column: usize| {
        let valid =
            map.tile(&[16, 16], &[row as i64, column as i64]).expect("a tile of the map").valid_shape();
        let whole = valid.product() == Ok(256);
        let extents: Vec<String> = valid.leaves().map(i64::to_string).collect();
        Cell::new(format!("({column},{row})\n{}", extents.join("x"))).coloured(usize::from(!whole))
    };
    draw(
        "tile_map",
        grids_svg(&[&[Grid::new("40 x 50 in tiles of 16 x 16: block (x,y), its elements", 3, 4, block)]]),
    );

    let (wide, high) = (3, 2);
    let element = |row: usize, column: usize| {
        let (block, thread) = ([column / wide, row / high], [column % wide, row % high]);
        let text = format!("B{},{}\nT{},{}", block[0], block[1], thread[0], thread[1]);
        Cell::new(text).coloured(block[0] + 2 * block[1])
    };
    draw("two_axes", grids_svg(&[&[Grid::new("block = [3, 2], grid = [2, 2]", 4, 6, element)]]));
    Ok(())
}

/// A to the left, B above, C in the corner: the tiles that block `at` walks through, coloured by step; `label` gives the text of a
/// cell by step and by the thread in the tile, row by row.
fn product(extent: i64, size: i64, at: [i64; 2], label: impl Fn(i64, i64) -> String) -> Picture {
    let matrix = Layout::row_major((extent, extent))?;
    let walked = |title: &str, along: usize| {
        let mut cells = std::collections::BTreeMap::new();
        for step in 0..extent / size {
            let place = if along == 1 { [at[0], step] } else { [step, at[1]] };
            for (place, offset) in (0..).zip(tile(&matrix, [size, size], place)?) {
                let thread = place % size * size + place / size;
                cells.insert(offset, Cell::new(label(step, thread)).coloured(step as usize));
            }
        }
        Grid::offsets(title, &matrix, |offset| cells.get(&offset).cloned().unwrap_or_default())
    };
    let own = tile(&matrix, [size, size], at)?;
    let c = Grid::offsets("C", &matrix, |offset| match own.contains(&offset) {
        true => Cell::new("sum").coloured(7),
        false => Cell::default(),
    })?;
    grids_svg(&[&[Grid::default(), walked("B", 0)?], &[walked("A", 1)?, c]])
}

/// The values after each round, those that the round wrote in a colour.
fn rounds(title: &str, all: &[Vec<Option<u32>>], written: impl Fn(usize, usize) -> bool) -> Grid {
    Grid::new(title, all.len(), all[0].len(), |round, place| {
        let cell = all[round][place].map_or(Cell::default(), Cell::new);
        if round > 0 && written(round, place) { cell.coloured(round) } else { cell }
    })
}

#[test]
fn halving() {
    let mut partial: Vec<u32> = (0..8).map(|i| i * i).collect();
    let (mut all, mut stride) = (vec![partial.iter().copied().map(Some).collect::<Vec<_>>()], 4);
    while stride > 0 {
        for thread in 0..stride {
            partial[thread] += partial[thread + stride];
        }
        all.push((0..8).map(|place| (place < stride).then(|| partial[place])).collect());
        stride /= 2;
    }
    assert_eq!(all[3][0], Some(140));
    draw(
        "halving",
        grids_svg(&[&[rounds("partial after 0, 1, 2, 3 rounds", &all, |round, place| place < 8 >> round)]]),
    );
}

#[test]
fn sweeps() {
    let mut tree: Vec<u32> = (0..8).collect();
    let kept = |tree: &[u32]| tree.iter().copied().map(Some).collect::<Vec<_>>();
    let node = |place: usize, half: usize| place % (2 * half) == 2 * half - 1;
    let mut up = vec![kept(&tree)];
    for half in [1, 2, 4] {
        (0..8).filter(|i| node(*i, half)).for_each(|i| tree[i] += tree[i - half]);
        up.push(kept(&tree));
    }
    tree[7] = 0;
    let mut down = vec![kept(&tree)];
    for half in [4, 2, 1] {
        for i in (0..8).filter(|i| node(*i, half)) {
            let left = tree[i - half];
            tree[i - half] = tree[i];
            tree[i] += left;
        }
        down.push(kept(&tree));
    }
    assert_eq!(tree, [0, 0, 1, 3, 6, 10, 15, 21]);
    let up = rounds("up: the sums of subtrees", &up, |round, place| node(place, 1 << (round - 1)));
    let down = rounds("down: the sums before them", &down, |round, place| {
        let half = 8 >> round;
        node(place, half) || node(place + half, half)
    });
    draw("sweeps", grids_svg(&[&[up], &[down]]));
}

#[test]
fn halo() {
    let (block, taps, len) = (8, 4, 15);
    let halo = block..block + taps - 1;
    let strip = |title: &str, count: usize, cell: &dyn Fn(usize) -> Cell| {
        Grid::new(title, 1, count, |_, place| cell(place))
    };
    let a = |place: usize| Cell::new(format!("a{place}"));
    let own = |place: usize| if place < block { a(place).coloured(0) } else { Cell::default() };
    let both = |place: usize| if halo.contains(&place) { a(place).coloured(1) } else { own(place) };
    let grids = [
        strip("a in global memory: what block 0 needs", len, &|place| match place < halo.end {
            true => both(place),
            false => a(place),
        }),
        strip("1. each of the 8 threads brings its element", halo.end, &own),
        strip("2. the first 3 also bring the halo", halo.end, &both),
        strip("3. the first 4 bring the filter", taps, &|place| Cell::new(format!("b{place}")).coloured(2)),
        strip("4. barrier; then thread 6 reads its window", halo.end, &|place| match (6..6 + taps)
            .contains(&place)
        {
            true => a(place).coloured(3),
            false => a(place),
        }),
    ];
    draw("halo", grids_svg(&grids.each_ref().map(std::slice::from_ref)));
}
