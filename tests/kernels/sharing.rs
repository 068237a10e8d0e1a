//! Kernels of one module, which share functions and a constant.

use crate::support::case::{Case, Outcome, around_tile};
use crate::support::data::floats;
use layout_cuda::{ParamValue, tiled_kernels};

#[tiled_kernels]
pub mod tiles {
    /// Elements of a tile, and threads of a block.
    pub const TILE: usize = 64;

    /// A tile in shared memory, once every thread sees it.
    fn staged(from: View<f32, Read>) -> View<f32, Write> {
        let mut tile = shared::<f32>(row_major([TILE]));
        copy_dram_to_sram(&mut tile, &from, row_major([TILE]));
        barrier();
        tile
    }

    /// Writes this thread's element, scaled as the kernel's parameter says.
    fn put(mut to: View<f32, Write>, value: f32) {
        to[[thread_idx.x]] = SCALE as f32 * value;
    }

    /// Each tile back to front; what is beyond the tensor counts as zero.
    #[tiled_kernel(SCALE = 2, block = [64], grid = [N.div_ceil(64)])]
    pub fn reversed<const N: usize>(
        x: &LayoutTensor<f32, RowMajor<N>>,
        y: &mut LayoutTensor<f32, RowMajor<N>>,
    ) {
        let tile = staged(x.tile([TILE], [block_idx.x]));
        put(y.tile([TILE], [block_idx.x]), tile[[TILE - 1 - thread_idx.x]]);
    }

    /// Each tile plus itself, shifted round by one.
    #[tiled_kernel(SCALE = [1, 3], block = [64], grid = [N.div_ceil(64)])]
    pub fn shifted<const N: usize>(
        x: &LayoutTensor<f32, RowMajor<N>>,
        y: &mut LayoutTensor<f32, RowMajor<N>>,
    ) {
        let tile = staged(x.tile([TILE], [block_idx.x]));
        let sum = tile[[thread_idx.x]] + tile[[(thread_idx.x + 1) % TILE]];
        put(y.tile([TILE], [block_idx.x]), sum);
    }
}

/// The tile that element `i` is in: what is at each place of it, taken round.
fn tile_of(values: &[f32], i: usize) -> impl Fn(usize) -> f32 + '_ {
    let first = i / tiles::TILE * tiles::TILE;
    move |inside| values.get(first + inside % tiles::TILE).copied().unwrap_or(0.0)
}

pub fn cases() -> Vec<Case> {
    let sizes = || around_tile([tiles::TILE, 1, 1]);
    vec![
        Case::new(&tiles::reversed::DEFINITION, sizes(), |run| {
            let values = floats(run.size[0], 1);
            let (x, mut y) = (run.tensor(&values, [values.len()])?, run.output([values.len()])?);
            tiles::reversed::launch_with(run.config(), &run.stream(), &x.view()?, &mut y.view_mut()?)?;
            let wanted = |i| 2.0 * tile_of(&values, i)(tiles::TILE - 1 - i % tiles::TILE);
            Ok(Outcome::exact(y.read()?, (0..values.len()).map(wanted)))
        }),
        Case::new(&tiles::shifted::DEFINITION, sizes(), |run| {
            let values = floats(run.size[0], 2);
            let (x, mut y) = (run.tensor(&values, [values.len()])?, run.output([values.len()])?);
            tiles::shifted::launch_with(run.config(), &run.stream(), &x.view()?, &mut y.view_mut()?)?;
            let Some(ParamValue::Int(scale)) = run.set.get("SCALE") else { panic!("SCALE is no integer") };
            let wanted = |i| scale as f32 * (tile_of(&values, i)(i) + tile_of(&values, i)(i + 1));
            Ok(Outcome::exact(y.read()?, (0..values.len()).map(wanted)))
        }),
    ]
}
