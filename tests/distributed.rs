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

fn run(pushed: bool, mistake: i64) -> Result<(Report, bool), Error> {
    let device = Device::simulator();
    let values: Vec<f32> = (0..256).map(|i| i as f32).collect();
    let x = device.upload(&values, [4, 64])?;
    let mut y = device.zeros::<f32, 2>([4, 64])?;
    let pairs = [("PUSHED", ParamValue::Bool(pushed)), ("MISTAKE", ParamValue::Int(mistake))]
        .map(|(name, value)| (name.to_owned(), value));
    let set = ParamSet(pairs.to_vec());
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    let report = passed_on::simulate_with(config, &Options::default(), &x, &mut y)?;
    let wanted = (0..256).map(|i| ((i + 192) % 256) as f32 + 1.0);
    let right = y.download()?.into_iter().eq(wanted);
    Ok((report, right))
}

#[test]
fn rows_go_round() -> Result<(), Error> {
    for pushed in [false, true] {
        let (report, right) = run(pushed, 0)?;
        assert!(report.clean() && right, "{report}");
    }
    Ok(())
}

#[test]
fn mistakes_are_found() -> Result<(), Error> {
    let table = [
        (true, 1, FindingKind::EndedBlock, "pushed", "shared memory of rank 1, which may not have begun"),
        (true, 2, FindingKind::ReadWriteRace, "read", "no barrier stands between"),
        (true, 4, FindingKind::OutOfBounds, "pushed", "shared memory of rank 4 of a cluster of 4"),
        (false, 2, FindingKind::ReadWriteRace, "pulled", "no barrier stands between"),
        (false, 3, FindingKind::EndedBlock, "pulled", "which may have ended by then"),
        (false, 4, FindingKind::OutOfBounds, "pulled", "shared memory of rank 4 of a cluster of 4"),
    ];
    for (pushed, mistake, kind, line, words) in table {
        let (report, _) = run(pushed, mistake)?;
        let mark = format!("// here: {line}");
        let lines = include_str!("distributed.rs").lines();
        let line = lines.zip(1..).find_map(|(text, number)| text.ends_with(&mark).then_some(number));
        let found = report.findings.iter().any(|finding| {
            finding.kind == kind && Some(finding.line) == line && finding.message.contains(words)
        });
        assert!(found, "pushed {pushed}, mistake {mistake}: {kind:?} in {line:?}\n{report}");
    }
    Ok(())
}
