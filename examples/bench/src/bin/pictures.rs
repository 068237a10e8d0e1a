//! Writes the pictures of ARCHITECTURE.md: `cargo run -p layout-bench --bin pictures -- layout-core/pictures`.

use clap::Parser;
use layout_core::algebra::{Tile, zipped_divide_by_mode};
use layout_core::atoms::MmaAtom;
use layout_core::draw::{layout_svg, mma_svg, swizzle_svg, thread_value_svg};
use layout_core::{ComposedLayout, Layout};
use std::path::PathBuf;

/// Writes the pictures of layouts that ARCHITECTURE.md shows, as SVG.
#[derive(Parser)]
struct Command {
    /// The folder to write to
    folder: PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    sigpipe::reset();
    let Command { folder } = Command::parse();
    let row_major = Layout::row_major((4, 8))?;
    let tiled = zipped_divide_by_mode(&row_major, &[Tile::of(2)?, Tile::of(4)?])?;
    let swizzled: ComposedLayout = "Sw<3,2,3> o 0 o (8,32):(32,1)".parse()?;
    let atom = MmaAtom::m16n8k8_tf32()?;
    let (rows, columns, _) = atom.shape;
    for (name, picture) in [
        ("row_major", layout_svg(&row_major)?),
        ("col_major", layout_svg(&Layout::col_major((4, 8))?)?),
        // Of these three the "thread" is the number of a copy or a tile, the "value" the place in it.
        (
            "picked",
            thread_value_svg("(2,4):(1,4) picks out of 4 x 8", &"(1,(2,4)):(0,(1,4))".parse()?, 4, 8)?,
        ),
        (
            "copies",
            thread_value_svg("4:2 at each offset of (2,3):(1,8)", &"((2,3),4):((1,8),2)".parse()?, 8, 3)?,
        ),
        (
            "tiles",
            thread_value_svg("4 x 8 in tiles of 2 x 4", &"((2,2),(2,4)):((2,16),(1,4))".parse()?, 4, 8)?,
        ),
        ("zipped_divide", layout_svg(&tiled)?),
        ("plain_banks", swizzle_svg(&"Sw<0,0,0> o 0 o (8,32):(32,1)".parse()?, 4)?),
        ("swizzled_banks", swizzle_svg(&swizzled, 4)?),
        ("thread_value", thread_value_svg(&format!("{} over 16 x 8", atom.c), &atom.c, rows, columns)?),
        ("mma", mma_svg(&atom)?),
    ] {
        let file = folder.join(name).with_extension("svg");
        std::fs::write(&file, picture)?;
        println!("{}", file.display());
    }
    Ok(())
}
