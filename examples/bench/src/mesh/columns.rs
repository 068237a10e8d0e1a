//! Rows to columns of a square matrix of float32, in the usual way or in every one that is worth a try.
//!
//! Model: of P ranks each sends (P - 1) / P of its part, and moves the rest within its own memory. With a link of L bytes a second, a
//! memory of B and k parts, packing hidden but for the first part, the time is `sent / L + 2 sent / (k B)`, if what else is packed and
//! what stays, `2 (sent (k - 1) / k + kept)` bytes, takes no longer than the messages: with too few blocks it does.

use super::{Options, slowest, timed, trust};
use layout_core::mesh::{Distributed, Mesh};
use layout_mesh::{MeshError, Resharding, Result, World};

/// A way to do it, and what it is called.
type Way = (String, Box<dyn Fn(Resharding) -> Resharding>);

/// The usual one, as the options say; or all.
fn ways(options: &Options) -> Vec<Way> {
    let (part, at_once) = (options.part << 20, options.at_once);
    let usual: Way = (
        String::new(),
        Box::new(move |plan| {
            let plan = plan.with_parts(part);
            if at_once { plan.at_once() } else { plan }
        }),
    );
    if !options.sweep {
        return vec![usual];
    }
    let mut all = vec![usual];
    for (blocks, parts) in [
        (32, 4),
        (64, 4),
        (128, 4),
        (264, 4),
        (528, 4),
        (128, 1),
        (128, 2),
        (264, 2),
        (128, 8),
        (264, 8),
        (264, 16),
    ] {
        let name = format!(", {blocks} blocks, {parts} parts");
        all.push((name, Box::new(move |plan| plan.with_blocks(blocks).with_rounds(parts))));
    }
    for parts in [1, 4, 8] {
        all.push((
            format!(", whole device, {parts} parts"),
            Box::new(move |plan| plan.at_once().with_rounds(parts)),
        ));
    }
    for blocks in [32, 64, 132] {
        let name = format!(", read by kernels, {blocks} blocks for what stays");
        all.push((name, Box::new(move |plan| plan.by_reading().with_blocks(blocks))));
    }
    all.push((", read by copy engines".into(), Box::new(Resharding::by_copies)));
    all
}

/// Milliseconds of each way.
pub(super) fn columns(world: &World, options: &Options) -> Result<Vec<(String, f64)>> {
    let mesh = Mesh::new([("gpu", world.size() as i64)])?;
    let plan = |square: usize| -> Result<Resharding> {
        let tensor = Distributed::new(&mesh, [square as i64, square as i64])?;
        Resharding::new(&tensor.clone().split(0, ["gpu"])?, &tensor.split(1, ["gpu"])?)
    };
    let (small, large) = (plan(4096)?, plan(options.square)?);
    println!("{}", large.plan().to_string().lines().take(2).collect::<Vec<_>>().join("\n"));
    let mut rows = Vec::new();
    for (name, way) in ways(options) {
        let time = once(world, [&way(small.clone()), &way(large.clone())], options.square)?;
        rows.push((format!("rows to columns {}{name}", options.square), time));
        // Each as it comes: a way that fails takes none of the others along.
        if options.sweep {
            let (name, time) = &rows[rows.len() - 1];
            println!("{name}: {time:.4}");
        }
    }
    Ok(rows)
}

/// One way: checked on a small matrix, timed on the large one.
fn once(world: &World, [small, large]: [&Resharding; 2], square: usize) -> Result<f64> {
    let ranks = world.size();
    let times = world.run(|member| {
        let stream = member.device().new_stream()?;
        // Every element of the small one is a number of its own.
        let (rank, wide) = (member.rank(), 4096 / ranks);
        let own: Vec<f32> = (0..wide * 4096).map(|place| (rank * wide * 4096 + place) as f32).collect();
        let source = stream.upload(&own, [wide, 4096])?;
        let mut target = stream.zeros::<f32, 2>([4096, wide])?;
        small.run(member, &stream, &source, &mut target)?;
        member.wait(&stream)?;
        let held = target.download()?;
        let wrong = (0..held.len())
            .find(|place| held[*place] != ((place / wide) * 4096 + rank * wide + place % wide) as f32);
        if let Some(place) = wrong {
            let by = format!("rows to columns: rank {rank} has {} at {place}", held[place]);
            return Err(MeshError::Broken { by });
        }
        let part = square / ranks;
        let source = stream.zeros::<f32, 2>([part, square])?;
        let mut target = stream.zeros::<f32, 2>([square, part])?;
        let mut prepared = large.prepare::<f32>(member, &stream)?;
        trust(member, true);
        let time = timed(member, &stream, || prepared.run(member, &stream, &source, &mut target))?;
        trust(member, false);
        Ok(vec![(String::new(), time)])
    })?;
    Ok(slowest(times).first().map_or(0.0, |(_, time)| *time))
}
