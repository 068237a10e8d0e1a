//! The layouts of the matmul tutorial, printed: the matrix of its introduction, and the tiles and thread layouts of
//! its kernels; and a matrix over several devices, each element with the devices that hold it.

use clap::Parser;
use layout_core::draw::{layout_table, mesh_table};
use layout_core::mesh::{Distributed, Mesh};
use layout_core::{Layout, LayoutError};

/// Prints the layouts of the matmul tutorial, and a matrix over devices.
#[derive(Parser)]
struct Command;

fn main() -> Result<(), LayoutError> {
    sigpipe::reset();
    Command::parse();
    // The tile sizes and the number of threads of the tutorial's first tiled kernel.
    let (bm, bn, bk, threads) = (32, 32, 32, 1024);
    println!("let my_layout = Layout::row_major((2, 6))?;");
    print!("{}", layout_table(&Layout::row_major((2, 6))?));
    for (name, shape) in [
        ("a_smem, row_major((BM, BK))", (bm, bk)),
        ("b_smem, row_major((BK, BN))", (bk, bn)),
        ("load_a_layout, row_major((NUM_THREADS / BK, BK))", (threads / bk, bk)),
        ("load_b_layout, row_major((BK, NUM_THREADS / BK))", (bk, threads / bk)),
        ("the tensor-core kernel's thread layout, row_major((4, 8))", (4, 8)),
    ] {
        let layout = Layout::row_major(shape)?;
        println!("\n{name}: {layout}");
        // Larger tables do not fit a terminal.
        if layout.size() <= 64 {
            print!("{}", layout_table(&layout));
        }
    }
    let mesh = Mesh::new([("row", 2), ("column", 2)])?;
    let matrix = Distributed::new(&mesh, [4, 6])?;
    for (name, tensor) in [
        ("rows over `row`, columns over `column`", matrix.clone().split(0, ["row"])?.split(1, ["column"])?),
        ("columns dealt over `column`, copies along `row`", matrix.clone().deal(1, ["column"], 1)?),
        ("rows over `row`, terms of sums along `column`", matrix.split(0, ["row"])?.partial(["column"])?),
    ] {
        print!("\n{name}: {}", mesh_table(&tensor)?);
    }
    Ok(())
}
