//! A program for several GPUs: a matrix by rows, scaled by all ranks' greatest element, becomes one by columns.

use layout_core::mesh::{Distributed, Mesh};
use layout_cuda::{driver, tiled_kernel};
use layout_mesh::{MeshError, Reduction, Resharding, World};

/// `x /= greatest`, of any number of elements.
#[tiled_kernel(block = [128], grid = [N.div_ceil(128)])]
pub fn shrunk<const N: usize>(
    x: &mut LayoutTensor<f32, RowMajor<N>>,
    greatest: &LayoutTensor<f32, RowMajor<1>>,
) {
    let i = block_idx.x * 128 + thread_idx.x;
    if i < N {
        x[[i]] = x[[i]] / greatest[[0]];
    }
}

/// Under `torchrun` or `mpirun` this process is one rank; else its GPUs are all ranks, or two simulators are.
pub fn world() -> Result<World, MeshError> {
    let started = ["RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"];
    match driver::device_count().unwrap_or(0) {
        _ if started.iter().any(|name| std::env::var(name).is_ok()) => World::process(),
        gpus @ 2.. => World::gpus(0..gpus),
        _ => World::simulators(2),
    }
}

/// The columns of each rank of this process.
pub fn by_columns(world: &World) -> Result<Vec<Vec<f32>>, MeshError> {
    let mesh = Mesh::new([("gpu", world.size() as i64)])?;
    let matrix = Distributed::new(&mesh, [8, 8])?;
    let plan = Resharding::new(&matrix.clone().split(0, ["gpu"])?, &matrix.split(1, ["gpu"])?)?;
    let shape = |held: &Distributed| [0, 1].map(|mode| held.local_shape()[mode] as usize);
    let ([rows, wide], columns) = (shape(plan.plan().source()), shape(plan.plan().target()));
    world.run(|member| {
        let stream = member.device().stream();
        // Element j of row i is 8 i + j.
        let own: Vec<f32> = (0..rows * wide).map(|at| (member.rank() * rows * wide + at) as f32).collect();
        let greatest = stream.upload(&[own.iter().copied().fold(0.0, f32::max)], [1])?;
        let mut of_all = stream.zeros::<f32, 1>([1])?;
        member.all_reduce(&stream, Reduction::Max, &greatest, &mut of_all)?;

        let mut x = stream.upload(&own, [rows, wide])?;
        shrunk::launch(&stream, &mut x.part_mut(0, [rows * wide], [1])?, &of_all)?;
        let mut turned = stream.zeros::<f32, 2>(columns)?;
        plan.run(member, &stream, &x, &mut turned)?;
        member.wait(&stream)?; // an error here is every rank's
        Ok(turned.download()?)
    })
}

/// Prints the first row of each rank of this process.
pub fn main() -> Result<(), MeshError> {
    let world = world()?;
    let held = by_columns(&world)?;
    println!("{world}: {:?}", held.iter().map(|columns| &columns[..8 / world.size()]).collect::<Vec<_>>());
    Ok(())
}
