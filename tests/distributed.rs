//! Shared memory of the other blocks of a cluster: what it may be used for, and what the simulator finds where it is not.
//!
//! Law: a block reads another's shared memory after a barrier of the cluster that follows the write, and the other ends
//! after a barrier that follows the read.

use layout_cuda::{
    Device, Error, FindingKind, LaunchConfig, Options, ParamSet, ParamValue, Report, tiled_kernel,
};

/// Every block of a cluster gives the next one its row of `x`: `y[r] = x[r - 1] + 1`, around. Pushed or pulled.
#[tiled_kernel(
    PUSHED = [false, true], MISTAKE = [0, 1, 2, 3, 4],
    arch = "sm_90a", block = [64], cluster = [4], grid = [4],
)]
fn passed_on(x: &LayoutTensor<f32, RowMajor<4, 64>>, y: &mut LayoutTensor<f32, RowMajor<4, 64>>) {
    let mut row = shared::<f32>(row_major([64]));
    let rank = cluster_rank();
    let own = x.slice(rank).distribute(row_major([64]), thread_idx.x);
    if MISTAKE != 1 {
        cluster_barrier();
    }
    if PUSHED {
        let next = if MISTAKE == 4 { rank + 1 } else { (rank + 1) % 4 };
        let mut there = row.map_shared_rank(next).distribute(row_major([64]), thread_idx.x);
        there.copy_from(&own); // here: pushed
        if MISTAKE != 2 {
            cluster_barrier();
        }
        y[[rank, 63 - thread_idx.x]] = row[[63 - thread_idx.x]] + 1.0; // here: read
    } else {
        row.distribute(row_major([64]), thread_idx.x).copy_from(&own);
        if MISTAKE != 2 {
            cluster_barrier();
        }
        let before = if MISTAKE == 4 { rank + 3 } else { (rank + 3) % 4 };
        y[[rank, 63 - thread_idx.x]] = row.map_shared_rank(before)[[63 - thread_idx.x]] + 1.0; // here: pulled
        if MISTAKE != 3 {
            cluster_barrier();
        }
    }
}

/// The same, ordered by the bytes that an mbarrier counts: the cluster's first barrier is the only one.
#[tiled_kernel(
    MISTAKE = [0, 1, 2, 3],
    arch = "sm_90a", block = [64], cluster = [4], grid = [4],
)]
fn passed_with_bytes(x: &LayoutTensor<f32, RowMajor<4, 64>>, y: &mut LayoutTensor<f32, RowMajor<4, 64>>) {
    let row = shared::<f32>(row_major([64]));
    let arrived = mbarriers(1, 1);
    let rank = cluster_rank();
    if MISTAKE == 1 {
        barrier();
    } else {
        cluster_barrier();
    }
    if thread_idx.x == 0 {
        arrived.at(0).arrive_expect(if MISTAKE == 2 { 128 } else { 256 }); // here: bytes
    }
    if thread_idx.x < 16 {
        let own = x.slice(rank).vectorize([4]).distribute(row_major([16]), thread_idx.x).to_local();
        let there = row.map_shared_rank((rank + 1) % 4).vectorize([4]);
        let mut there = there.distribute(row_major([16]), thread_idx.x);
        store_async(&mut there, &own.vectorize([4]), arrived.at(0)); // here: sent
    }
    if MISTAKE != 3 {
        arrived.at(0).wait(0);
    }
    y[[rank, 63 - thread_idx.x]] = row[[63 - thread_idx.x]] + 1.0; // here: used
}

/// Pushed, pulled, or with bytes.
fn run(way: Option<bool>, mistake: i64) -> Result<(Report, bool), Error> {
    let device = Device::simulator();
    let values: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let x = device.upload(&values, [4, 64])?;
    let mut y = device.zeros::<f32, 2>([4, 64])?;
    let way_of = way.map(|pushed| ("PUSHED", ParamValue::Bool(pushed)));
    let pairs = way_of.into_iter().chain([("MISTAKE", ParamValue::Int(mistake))]);
    let set = ParamSet(pairs.map(|(name, value)| (name.to_owned(), value)).collect());
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let report = match way {
        Some(_) => passed_on::simulate_with(config, &Options::default(), &x, &mut y)?,
        None => passed_with_bytes::simulate_with(config, &Options::default(), &x, &mut y)?,
    };
    let wanted = (0..256).map(|i| ((i + 192) % 256) as f32 + 1.0);
    let right = y.download()?.into_iter().eq(wanted);
    Ok((report, right))
}

#[test]
fn rows_go_round() -> Result<(), Error> {
    for way in [Some(false), Some(true), None] {
        let (report, right) = run(way, 0)?;
        assert!(report.clean() && right, "{report}");
    }
    Ok(())
}

#[test]
fn mistakes_are_found() -> Result<(), Error> {
    let table = [
        (
            Some(true),
            1,
            FindingKind::NotBegun,
            "pushed",
            "shared memory of rank 1, which may not have started",
        ),
        (Some(true), 2, FindingKind::ReadWriteRace, "read", "no barrier between them"),
        (Some(true), 4, FindingKind::OutOfBounds, "pushed", "shared memory of rank 4 of a cluster of 4"),
        (Some(false), 2, FindingKind::ReadWriteRace, "pulled", "no barrier between them"),
        (Some(false), 3, FindingKind::EndedBlock, "pulled", "which may have ended by then"),
        (None, 1, FindingKind::NotBegun, "sent", "which may not have started"),
        (None, 2, FindingKind::TransactionBytes, "bytes", "expects 128 bytes and its copies report 256"),
        (None, 3, FindingKind::MissingWait, "used", "while an asynchronous copy to it is in flight"),
        (Some(false), 4, FindingKind::OutOfBounds, "pulled", "shared memory of rank 4 of a cluster of 4"),
    ];
    for (way, mistake, kind, line, words) in table {
        let (report, _) = run(way, mistake)?;
        let mark = format!("// here: {line}");
        let lines = include_str!("distributed.rs").lines();
        let line = lines.zip(1..).find_map(|(text, number)| text.ends_with(&mark).then_some(number));
        let found = report.findings.iter().any(|finding| {
            finding.kind == kind && Some(finding.line) == line && finding.message.contains(words)
        });
        assert!(found, "{way:?}, mistake {mistake}: {kind:?} in {line:?}\n{report}");
    }
    Ok(())
}
