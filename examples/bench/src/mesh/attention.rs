//! Attention by heads: all-gather, projection, attention, output, reduce-scatter; checked against one device.

use super::{matrix, slowest, timed, trust};
use layout_core::mesh::Mesh;
use layout_cuda::{Stream, Tensor, bf16};
use layout_kernels::attention::{Attention, Mask};
use layout_kernels::mesh::{Beside, ByHeads, Heads};
use layout_mesh::{Member, MeshError, Result, World};

/// What is attended: heads of 128 elements.
struct Shape {
    heads: [usize; 2],
    width: usize,
    sequences: usize,
    length: usize,
}

const DIMENSION: usize = 128;

impl Shape {
    fn heads(&self, ranks: usize) -> Result<Heads> {
        Ok(Heads::new(&Mesh::new([("gpu", ranks as i64)])?, self.heads, ["gpu"], [])?)
    }

    fn tokens(&self, member: &Member) -> std::ops::Range<usize> {
        let rows = self.sequences * self.length / member.size();
        member.rank() * rows..(member.rank() + 1) * rows
    }

    /// A rank's part, with weights that are numbers of their place in the whole.
    fn part(&self, member: &Member, stream: &Stream) -> Result<ByHeads<bf16>> {
        let heads = self.heads(member.size())?;
        let own = heads.of(member.rank())?;
        let span = |heads: &[usize]| match (heads.first(), heads.last()) {
            (Some(first), Some(last)) => first * DIMENSION..(last + 1) * DIMENSION,
            _ => 0..0,
        };
        let (queries, keys) = (span(&own.queries), span(&own.keys));
        // Q, K and V are numbers of their own.
        let mut values = Vec::new();
        let rows = 0..self.width;
        for row in rows.clone() {
            for (seed, columns) in [(2, &queries), (3, &keys), (4, &keys)] {
                values.extend(
                    columns.clone().map(|column| bf16::from_f32(super::value(seed, row, column) / 16.0)),
                );
            }
        }
        let into = stream.upload(&values, [self.width, queries.len() + 2 * keys.len()])?;
        let out = matrix(stream, 5, queries, rows)?;
        let tokens = self.tokens(member).len();
        ByHeads::new(member, stream, (&heads, DIMENSION), (into, out), [self.sequences, tokens])
    }

    fn run(&self, world: &World, time: bool) -> Result<Vec<(Vec<bf16>, f64)>> {
        world.run(|member| {
            let stream = member.device().new_stream()?;
            let mut part = self.part(member, &stream)?;
            let x: Tensor<bf16, 2> = matrix(&stream, 1, self.tokens(member), 0..self.width)?;
            let mut y = stream.zeros(x.shape())?;
            let beside = Beside::new(member, 0)?;
            let what = Attention { mask: Mask::Causal, ..Attention::default() };
            part.run(member, (&stream, &beside), &what, &x, &mut y)?;
            member.wait(&stream)?;
            let held = y.download()?;
            trust(member, true);
            let call = || part.run(member, (&stream, &beside), &what, &x, &mut y);
            let time = if time { timed(member, &stream, call)? } else { 0.0 };
            trust(member, false);
            Ok((held, time))
        })
    }
}

/// Holds a small one against one device.
pub(super) fn checked(ranks: usize) -> Result<()> {
    let shape = Shape { heads: [16, 4], width: 1024, sequences: 2, length: 512 };
    let of = |world: World| -> Result<Vec<f32>> {
        let parts = shape.run(&world, false)?;
        Ok(parts.iter().flat_map(|(held, _)| held.iter().map(|value| value.to_f32())).collect())
    };
    let (one, all) = (of(World::gpus([0])?)?, of(World::gpus(0..ranks)?)?);
    let largest = one.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
    // Each rank's term is rounded, and their sum.
    let most = largest * (ranks as f32 + 1.0) / 256.0;
    let far = |(one, all): (&f32, &f32)| (one - all).abs() > most || one.is_nan() || all.is_nan();
    match one.iter().zip(&all).position(far) {
        Some(place) => {
            let by =
                format!("attention by heads is {} at {place}, and {} on one device", all[place], one[place]);
            Err(MeshError::Broken { by })
        }
        None => Ok(()),
    }
}

/// Milliseconds of a large one.
pub(super) fn timings(world: &World) -> Result<Vec<(String, f64)>> {
    let shape = Shape { heads: [32, 8], width: 4096, sequences: 4, length: 4096 };
    let times = shape.run(world, true)?.into_iter();
    let name = "attention by heads 4 x 4096, 32 on 8 of 128".to_owned();
    Ok(slowest(times.map(|(_, time)| vec![(name.clone(), time)]).collect()))
}
