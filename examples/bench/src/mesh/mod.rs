//! Several GPUs: collectives, rows to columns, products that hide their communication. Times are of the slowest rank, on the
//! host's clock around many calls; `examples/bench/mesh/run.sh` sets PyTorch's beside them.

mod attention;
mod columns;

use layout_cuda::{Stream, Tensor, bf16};
use layout_kernels::mesh::{Beside, gathered_product, scattered_product};
use layout_mesh::{Member, MeshError, Reduction, Result, World};
use std::time::{Duration, Instant};

/// What is run.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// GPUs of this process
    #[arg(long, default_value_t = 2)]
    gpus: usize,
    /// This process is one rank of those that torchrun or mpirun started
    #[arg(long)]
    process: bool,
    /// Only what has this in its name: collectives, columns, product, attention, faults
    #[arg(long, default_value = "")]
    only: String,
    /// Thread blocks that NCCL may take beside products; 0: the copy engines move what they exchange
    #[arg(long, default_value_t = 0)]
    blocks: u32,
    /// Least MiB of the parts of a message that are packed while others are sent
    #[arg(long, default_value_t = 4)]
    part: usize,
    /// Packs with the whole device
    #[arg(long)]
    at_once: bool,
    /// Rows to columns in every way that is worth a try, instead of in the usual one
    #[arg(long)]
    sweep: bool,
    /// Rows, columns and depth of the products
    #[arg(long, num_args = 3, default_values_t = [16384, 8192, 8192])]
    shape: Vec<usize>,
    /// Rows and columns of the matrix that goes from rows to columns
    #[arg(long, default_value_t = 32768)]
    square: usize,
}

/// Milliseconds of one call: the slowest rank's is the caller's to find.
fn timed(member: &Member, stream: &Stream, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut round = |calls: usize| -> Result<Duration> {
        member.wait(stream)?;
        member.barrier()?;
        let start = Instant::now();
        (0..calls).try_for_each(|_| call())?;
        member.wait(stream)?;
        Ok(start.elapsed())
    };
    round(3)?;
    // The same number on every rank: the first says how many.
    let each = round(4)?.as_secs_f64() / 4.0;
    let calls = agreed(member, stream, (0.08 / each.max(1e-6)).ceil())?.clamp(5.0, 2000.0);
    let mut best: Vec<f64> = Vec::new();
    for _ in 0..5 {
        best.push(round(calls as usize)?.as_secs_f64() * 1e3 / calls);
    }
    best.sort_by(f64::total_cmp);
    Ok(best[best.len() / 2])
}

/// Calls that the ranks have made once already, and that fitted, are not held against each other where time is measured.
fn trust(member: &Member, trusting: bool) {
    // SAFETY: every rank runs the same calls on tensors of the same shapes, the very ones that it ran before, or ends.
    unsafe { member.trust(trusting) }
}

/// What the first rank says.
fn agreed(member: &Member, stream: &Stream, value: f64) -> Result<f64> {
    let (own, mut all) = (stream.upload(&[value], [1])?, stream.zeros::<f64, 1>([1])?);
    member.broadcast(stream, 0, &own, &mut all)?;
    Ok(all.download()?[0])
}

/// The slowest rank's.
fn slowest(times: Vec<Vec<(String, f64)>>) -> Vec<(String, f64)> {
    let mut ranks = times.into_iter();
    let mut all = ranks.next().unwrap_or_default();
    for rank in ranks {
        all.iter_mut().zip(rank).for_each(|(own, other)| own.1 = own.1.max(other.1));
    }
    all
}

fn collectives(world: &World) -> Result<Vec<(String, f64)>> {
    let times = world.run(|member| {
        let stream = member.device().new_stream()?;
        let (size, mut times) = (member.size(), Vec::new());
        for mebi in [1, 16, 256, 1024] {
            let count = mebi << 18;
            let all = stream.upload(&vec![1.0f32; count], [count])?;
            let mut other = stream.zeros::<f32, 1>([count])?;
            let mut part = stream.zeros::<f32, 1>([count / size])?;
            member.all_reduce(&stream, Reduction::Sum, &all, &mut other)?;
            if other.download()?.iter().any(|value| *value != size as f32) {
                return Err(MeshError::Broken { by: format!("all-reduce of {mebi} MiB is wrong") });
            }
            member.barrier()?;
            trust(member, true);
            let name = |what: &str| format!("{what} {mebi} MiB");
            let time =
                timed(member, &stream, || member.all_reduce(&stream, Reduction::Sum, &all, &mut other))?;
            times.push((name("all-reduce"), time));
            let time =
                timed(member, &stream, || member.reduce_scatter(&stream, Reduction::Sum, &all, &mut part))?;
            times.push((name("reduce-scatter"), time));
            let time = timed(member, &stream, || member.all_gather(&stream, &part, &mut other))?;
            times.push((name("all-gather"), time));
            let time = timed(member, &stream, || member.all_to_all(&stream, &all, &mut other))?;
            times.push((name("all-to-all"), time));
            trust(member, false);
        }
        Ok(times)
    })?;
    Ok(slowest(times))
}

/// A number between -1 and 1 for each element.
fn value(seed: u64, row: usize, column: usize) -> f32 {
    let mut x = (row as u64) << 32 ^ column as u64 ^ seed << 20;
    x = (x ^ x >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((x >> 40) as f32 / (1 << 23) as f32) - 1.0
}

fn matrix(
    stream: &Stream,
    seed: u64,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
) -> Result<Tensor<bf16, 2>> {
    let shape = [rows.len(), columns.len()];
    let all =
        rows.flat_map(|row| columns.clone().map(move |column| bf16::from_f32(value(seed, row, column))));
    Ok(stream.upload(&all.collect::<Vec<_>>(), shape)?)
}

/// Some elements of a product against float64: the largest error, in units of what rounding of the result and of the terms may be.
fn checked(c: &Tensor<bf16, 2>, [row0, column0]: [usize; 2], depth: usize, terms: usize) -> Result<()> {
    let ([rows, columns], held) = (c.shape(), c.download()?);
    let rounded = |seed, row, column| f64::from(bf16::from_f32(value(seed, row, column)).to_f32());
    for sample in 0..64 {
        let (row, column) = (sample * 2741 % rows, sample * 7919 % columns);
        let products = (0..depth).map(|k| rounded(1, row0 + row, k) * rounded(2, k, column0 + column));
        let (want, size) =
            products.fold((0.0, 0.0), |(sum, size), product| (sum + product, size + f64::abs(product)));
        let found = f64::from(held[row * columns + column].to_f32());
        // A unit in the last place of bf16 for each of the terms' sizes, which are a rank's share; and of float32 for the sums.
        let most = (terms as f64 + 1.0) * want.abs().max(size.sqrt()) / 256.0 + size * 1e-5;
        if (found - want).abs() > most {
            let by = format!("element ({row}, {column}) of a product is {found}, and should be {want}");
            return Err(MeshError::Broken { by });
        }
    }
    Ok(())
}

fn products(world: &World, options: &Options) -> Result<Vec<(String, f64)>> {
    let [m, n, k] = options.shape[..] else { return Ok(vec![]) };
    let world = if options.blocks == 0 { world.clone() } else { world.clone().blocks(options.blocks) };
    let times = world.run(|member| {
        let (rank, size, stream) = (member.rank(), member.size(), member.device().new_stream()?);
        let beside = Beside::new(member, options.blocks as usize)?;
        let share = |extent: usize| rank * extent / size..(rank + 1) * extent / size;
        let room = |rows: usize, columns: usize| {
            (1..size).map(|_| Ok(stream.zeros::<bf16, 2>([rows, columns])?)).collect::<Result<Vec<_>>>()
        };
        let mut times = Vec::new();
        let (own, b) = (matrix(&stream, 1, share(m), 0..k)?, matrix(&stream, 2, 0..k, share(n))?);
        let mut others = room(m / size, k)?;
        let mut c = stream.zeros::<bf16, 2>([m, n / size])?;
        let mut gathered = || gathered_product(member, (&stream, &beside), &own, &mut others, &b, &mut c);
        gathered()?;
        trust(member, true);
        let time = timed(member, &stream, gathered)?;
        trust(member, false);
        checked(&c, [0, share(n).start], k, 1)?;
        times.push((format!("gathered product {m} {n} {k}"), time));
        drop((own, b, others, c));
        let (a, b) = (matrix(&stream, 1, 0..m, share(k))?, matrix(&stream, 2, share(k), 0..n)?);
        let (mut parts, mut sent) = (room(m / size, n)?, room(m / size, n)?);
        let mut c = stream.zeros::<bf16, 2>([m / size, n])?;
        let mut scattered =
            || scattered_product(member, (&stream, &beside), (&a, &b), &mut parts, &mut sent, &mut c);
        scattered()?;
        trust(member, true);
        let time = timed(member, &stream, scattered)?;
        trust(member, false);
        checked(&c, [share(m).start, 0], k, size)?;
        times.push((format!("scattered product {m} {n} {k}"), time));
        Ok(times)
    })?;
    Ok(slowest(times))
}

/// A rank that does not come: the others' devices wait for it in NCCL's kernel, and are let go at the limit.
fn faults(world: &World) -> Result<()> {
    let limit = Duration::from_secs(3);
    let start = Instant::now();
    let result = world.clone().limit(limit).run(|member| {
        let stream = member.device().new_stream()?;
        let (own, mut all) = (stream.upload(&[1.0f32], [1])?, stream.zeros::<f32, 1>([1])?);
        member.all_reduce(&stream, Reduction::Sum, &own, &mut all)?;
        member.wait(&stream)?;
        trust(member, true);
        if member.rank() > 0 {
            std::thread::sleep(limit * 2);
            return Ok(());
        }
        member.all_reduce(&stream, Reduction::Sum, &own, &mut all)?;
        member.wait(&stream)
    });
    match result {
        Err(error @ MeshError::Late { .. }) if start.elapsed() < limit * 3 => {
            println!("a rank that stalls: after {:.1?}: {error}", start.elapsed());
            Ok(())
        }
        other => Err(MeshError::Broken {
            by: format!("a rank that stalls gave {other:?} after {:?}", start.elapsed()),
        }),
    }
}

/// Runs what was asked for, and prints a line `name: milliseconds` each.
///
/// # Errors
/// [`MeshError`]; results that are wrong among them.
pub fn run(options: &Options) -> Result<()> {
    let world = match options.process {
        true => World::process()?,
        false => World::gpus(0..options.gpus)?,
    };
    println!("{}", layout_mesh::doctor());
    let wanted = |name: &str| name.contains(&options.only);
    let mut rows = Vec::new();
    if wanted("collectives") {
        rows.extend(collectives(&world)?);
    }
    if wanted("columns") {
        rows.extend(columns::columns(&world, options)?);
    }
    if wanted("product") {
        rows.extend(products(&world, options)?);
    }
    if wanted("attention") && !options.process {
        attention::checked(options.gpus)?;
    }
    if wanted("attention") {
        rows.extend(attention::timings(&world)?);
    }
    for (name, time) in &rows {
        println!("{name}: {time:.4}");
    }
    if wanted("faults") && !options.process {
        faults(&world)?;
    }
    Ok(())
}
