//! A step of the lattice Boltzmann method: 19 directions in three dimensions, pulled from the neighbours, with periodic edges.

use crate::contest::{Bench, Found, Work};
use crate::noise::noise;
use crate::{Result, parallel};
use layout_cuda::tiled_kernel;

/// Every distribution from where it came from, then relaxed towards equilibrium.
#[tiled_kernel(block = [128], grid = [X.div_ceil(128), Y, Z])]
pub fn lattice_step<const Z: usize, const Y: usize, const X: usize>(
    omega: f32,
    f: &LayoutTensor<f32, RowMajor<19, Z, Y, X>>,
    next: &mut LayoutTensor<f32, RowMajor<19, Z, Y, X>>,
) {
    const CX: [isize; 19] = [0, 1, -1, 0, 0, 0, 0, 1, -1, 1, -1, 1, -1, 1, -1, 0, 0, 0, 0];
    const CY: [isize; 19] = [0, 0, 0, 1, -1, 0, 0, 1, -1, -1, 1, 0, 0, 0, 0, 1, -1, 1, -1];
    const CZ: [isize; 19] = [0, 0, 0, 0, 0, 1, -1, 0, 0, 0, 0, 1, -1, -1, 1, 1, -1, -1, 1];
    let (x, y, z) = (block_idx.x * 128 + thread_idx.x, block_idx.y, block_idx.z);
    if x >= X {
        return;
    }
    let mut own = [0.0f32; 19];
    for i in 0..19 {
        let from_x = (x as isize - CX[i] + X as isize) as usize % X;
        let from_y = (y as isize - CY[i] + Y as isize) as usize % Y;
        let from_z = (z as isize - CZ[i] + Z as isize) as usize % Z;
        own[i] = f[[i, from_z, from_y, from_x]];
    }
    let mut density = 0.0;
    let (mut ux, mut uy, mut uz) = (0.0, 0.0, 0.0);
    for i in 0..19 {
        density += own[i];
        ux += CX[i] as f32 * own[i];
        uy += CY[i] as f32 * own[i];
        uz += CZ[i] as f32 * own[i];
    }
    let scale = 1.0 / density;
    (ux, uy, uz) = (ux * scale, uy * scale, uz * scale);
    let square = 1.5 * (ux * ux + uy * uy + uz * uz);
    for i in 0..19 {
        let weight = if i == 0 {
            1.0 / 3.0
        } else if i < 7 {
            1.0 / 18.0
        } else {
            1.0 / 36.0
        };
        let along = 3.0 * (CX[i] as f32 * ux + CY[i] as f32 * uy + CZ[i] as f32 * uz);
        let equilibrium = weight * density * (1.0 + along + 0.5 * along * along - square);
        next[[i, z, y, x]] = own[i] - omega * (own[i] - equilibrium);
    }
}

/// The directions, as the kernel has them.
const TOWARDS: [[isize; 3]; 19] = [
    [0, 0, 0],
    [0, 0, 1],
    [0, 0, -1],
    [0, 1, 0],
    [0, -1, 0],
    [1, 0, 0],
    [-1, 0, 0],
    [0, 1, 1],
    [0, -1, -1],
    [0, -1, 1],
    [0, 1, -1],
    [1, 0, 1],
    [-1, 0, -1],
    [-1, 0, 1],
    [1, 0, -1],
    [1, 1, 0],
    [-1, -1, 0],
    [-1, 1, 0],
    [1, -1, 0],
];

fn at_rest(i: usize, at: usize) -> f32 {
    0.05 + 0.01 * noise(at, 71 + i as u32)
}

/// A step on a grid of these extents.
pub fn run(bench: &mut Bench<'_>, [z, y, x]: [usize; 3]) -> Result<()> {
    const OMEGA: f32 = 1.25;
    let stream = bench.stream.clone();
    let cells = z * y * x;
    let values =
        parallel(19 * cells, |range| range.map(|at| at_rest(at / cells, at % cells)).collect::<Vec<_>>());
    let values = values.concat();
    let f = bench.device.upload(&values, [19, z, y, x])?;
    let mut next = bench.device.zeros::<f32, 4>([19, z, y, x])?;
    next.poison()?;
    lattice_step::launch(&stream, OMEGA, &f, &mut next)?;
    let out = next.download()?;
    let found = parallel(cells, |range| {
        let mut all = Found::default();
        for cell in range {
            let at = [cell / (y * x), cell / x % y, cell % x];
            let from = |i: usize| {
                let mut place = 0;
                for (axis, extent) in [z, y, x].into_iter().enumerate() {
                    let there = (at[axis] as isize - TOWARDS[i][axis]).rem_euclid(extent as isize);
                    place = place * extent + there as usize;
                }
                f64::from(values[i * cells + place])
            };
            let own: [f64; 19] = std::array::from_fn(from);
            let density: f64 = own.iter().sum();
            let speed: [f64; 3] = std::array::from_fn(|axis| {
                own.iter().zip(TOWARDS).map(|(own, to)| own * to[axis] as f64).sum::<f64>() / density
            });
            let square = 1.5 * speed.iter().map(|u| u * u).sum::<f64>();
            for i in 0..19 {
                let weight = [1.0 / 3.0, 1.0 / 18.0, 1.0 / 36.0][usize::from(i > 0) + usize::from(i > 6)];
                let along = 3.0 * (0..3).map(|axis| TOWARDS[i][axis] as f64 * speed[axis]).sum::<f64>();
                let calm = weight * density * (1.0 + along + 0.5 * along * along - square);
                let wanted = own[i] - f64::from(OMEGA) * (own[i] - calm);
                all.add(i * cells + cell, (f64::from(out[i * cells + cell]) - wanted).abs(), 1e-6);
            }
        }
        all
    });
    let found = found.into_iter().fold(Found::default(), Found::and);
    let work = Work::new("lattice_boltzmann", "f32", &[z, y, x], 152.0, 250.0);
    bench.beside_copy(&work, found, "lattice_step", || lattice_step::launch(&stream, OMEGA, &f, &mut next))
}
