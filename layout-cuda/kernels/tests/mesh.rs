//! Work over a mesh against one device: the same elements, whatever the number of ranks.

#[path = "mesh/heads.rs"]
mod heads;

use layout_cuda::{Device, Element, Tensor, bf16};
use layout_kernels::mesh::{Beside, Layers, gathered_product, scattered_product};
use layout_mesh::{Member, Result, World};

const WIDTH: usize = 128;
const HIDDEN: usize = 256;
const ROWS: usize = 256;

/// Few numbers and most of them 0, so that no sum is rounded in any order.
fn value(seed: usize, row: usize, column: usize) -> f32 {
    [0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, -2.0, 0.0]
        [(row * 7 + column * 5 + row * column * seed) % 13]
}

fn part<T: Element>(
    member: &Member,
    [rows, columns]: [std::ops::Range<usize>; 2],
    seed: usize,
    of: fn(f32) -> T,
) -> Result<Tensor<T, 2>> {
    let shape = [rows.len(), columns.len()];
    let all = rows.flat_map(|row| columns.clone().map(move |column| of(value(seed, row, column))));
    Ok(member.device().upload(&all.collect::<Vec<_>>(), shape)?)
}

/// The result of all ranks, one under the other.
fn layers<T: Element>(world: &World, blocks: usize, of: fn(f32) -> T) -> Result<Vec<T>> {
    let parts = world.run(|member| {
        let (rank, size, stream) = (member.rank(), member.size(), member.device().new_stream()?);
        let share = |extent: usize| rank * extent / size..(rank + 1) * extent / size;
        let first = part(member, [0..WIDTH, share(HIDDEN)], 1, of)?;
        let second = part(member, [share(HIDDEN), 0..WIDTH], 2, of)?;
        let x = part(member, [share(ROWS), 0..WIDTH], 3, of)?;
        let mut y = stream.zeros([ROWS / size, WIDTH])?;
        let mut layers = Layers::new(member, &stream, (first, second), ROWS / size)?;
        let beside = Beside::new(member, blocks)?;
        // Twice: buffers are used again.
        for _ in 0..2 {
            layers.run(member, (&stream, &beside), &x, &mut y)?;
        }
        member.wait(&stream)?;
        Ok(y.download()?)
    });
    Ok(parts?.concat())
}

/// The result over so many ranks, whose tensors are of rounded elements: each rank's term is rounded, and the terms are added to its own
/// in the order in which they come.
fn definition(ranks: usize, round: fn(f32) -> f32) -> Vec<f32> {
    let mut hidden = vec![0.0; HIDDEN];
    let mut result = Vec::new();
    for row in 0..ROWS {
        for (column, hidden) in hidden.iter_mut().enumerate() {
            let sum: f32 = (0..WIDTH).map(|k| value(3, row, k) * value(1, k, column)).sum();
            *hidden = round(sum).max(0.0);
        }
        let own = row * ranks / ROWS;
        let of = |column| {
            let term = |rank: usize| {
                let share = rank * HIDDEN / ranks..(rank + 1) * HIDDEN / ranks;
                round(share.map(|k| hidden[k] * value(2, k, column)).sum::<f32>())
            };
            (1..ranks).fold(term(own), |sum, step| round(sum + term((own + ranks - step) % ranks)))
        };
        result.extend((0..WIDTH).map(of));
    }
    result
}

#[test]
fn a_block_of_two_layers_is_one_devices() {
    let one = layers(&World::simulators(1).expect("a world"), 8, |value| value).expect("a result");
    assert!(
        one == definition(1, |value| value) && one.iter().any(|value| *value != 0.0),
        "one device computes the definition"
    );
    for ranks in [2, 4] {
        for blocks in [0, 8] {
            let world = World::simulators(ranks).expect("a world");
            assert!(
                layers(&world, blocks, |value| value).expect("a result") == one,
                "{ranks} ranks are not one"
            );
        }
    }
}

#[test]
fn on_gpus_it_is_the_simulators() {
    let gpus = layout_cuda::driver::device_count().unwrap_or(0);
    if gpus == 0
        || !Device::gpu(0)
            .is_ok_and(|gpu| gpu.properties().is_some_and(|gpu| gpu.compute_capability == (9, 0)))
    {
        return eprintln!("skipped: no Hopper GPU");
    }
    for ranks in [1, 2, 4].into_iter().filter(|ranks| *ranks <= gpus) {
        // By NCCL in 8 blocks, and by the copy engines.
        for blocks in [8, 0] {
            let world = World::gpus(0..ranks).expect("GPUs and NCCL").blocks(8);
            let held = layers(&world, blocks, bf16::from_f32).expect("a result");
            let want = definition(ranks, |value| bf16::from_f32(value).to_f32());
            let wrong = held.iter().zip(&want).position(|(held, want)| held.to_f32() != *want);
            let shown = wrong.map(|at| (at, held[at], want[at]));
            assert_eq!(shown, None, "{ranks} GPUs, {blocks} blocks: place, found, wanted");
        }
    }
}

/// Messages are the elements from the first one on: rows with gaps, and extents that disagree, are refused on every rank.
#[test]
fn rows_that_cannot_be_sent_are_refused() -> Result<()> {
    let of = |gap: usize, inner: usize, columns: usize| {
        World::simulators(2)?.run(|member| {
            let stream = member.device().stream();
            let own = stream.zeros_strided::<bf16, 2>([2, 8], [8 + gap, 1])?;
            let (mut others, b) = (vec![stream.zeros([2, 8])?], stream.zeros([inner, 8])?);
            let (mut c, beside) = (stream.zeros([4, columns])?, Beside::new(member, 4)?);
            let gathered = gathered_product(member, (&stream, &beside), &own, &mut others, &b, &mut c);
            let a = stream.zeros::<bf16, 2>([4, 8])?;
            let mut share = stream.zeros_strided([2, columns], [columns + gap, 1])?;
            let (mut parts, mut sent) =
                (vec![stream.zeros([2, columns])?], vec![stream.zeros([2, columns])?]);
            let pair = (&a, &b);
            let scattered =
                scattered_product(member, (&stream, &beside), pair, &mut parts, &mut sent, &mut share);
            Ok([gathered.is_ok(), scattered.is_ok()])
        })
    };
    assert_eq!(of(0, 8, 8)?, [[true; 2]; 2]);
    for (gap, inner, columns) in [(8, 8, 8), (0, 16, 8), (0, 4, 8), (0, 8, 16)] {
        assert_eq!(of(gap, inner, columns)?, [[false; 2]; 2], "{gap} {inner} {columns}");
    }
    Ok(())
}
