//! Timelines as Chrome traces: read back by a JSON parser.
//!
//! Law: each begin has its end, spans of one track do not overlap, an arrow begins in a span and ends where a wait ends.

use layout_cuda::debug::{Debugger, Launch, Session, attach};
use layout_cuda::report::chrome_trace;
use layout_cuda::{Device, LaunchConfig, Options, bf16, tiled_kernel};
use serde_json::Value as Json;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

#[tiled_kernel(arch = "sm_90a", block = [96], grid = [3])]
fn ring(x: &LayoutTensor<f32, RowMajor<192>>, y: &mut LayoutTensor<f32, RowMajor<192>>) {
    let mut lines = shared::<f32>(row_major([2, 32]));
    let full = mbarriers(2, 1);
    barrier();
    for round in 0..2 {
        if thread_idx.x == 0 {
            full.at(round).arrive_expect(128);
            tma_load(
                lines.tile([1, 32], [round, 0]),
                &x.tile([32], [2 * block_idx.x + round]),
                full.at(round),
            );
        }
        full.at(round).wait(0);
        if warp_id() == round {
            y[[64 * block_idx.x + 32 * round + lane_id()]] = lines[[round, lane_id()]];
        }
        barrier();
    }
}

#[tiled_kernel(block = [64], grid = [2])]
fn late(x: &LayoutTensor<f32, RowMajor<192>>, y: &mut LayoutTensor<f32, RowMajor<192>>) {
    let mut line = shared::<f32>(row_major([64]));
    let t = thread_idx.x;
    line[[t]] = x[[t]];
    barrier();
    y[[64 * block_idx.x + t]] = line[[63 - t]];
    barrier();
    line[[t]] = 0.0;
}

#[derive(Clone, Default)]
struct Traced(Rc<RefCell<String>>);
impl Debugger for Traced {
    fn launched(&mut self, launch: &Launch<'_>, session: &mut Session<'_>) {
        session.go(3);
        let timeline = session.timeline();
        assert_eq!(session.step(), 3, "the session stays where it is");
        assert!(!timeline.cut && timeline.steps == session.steps());
        *self.0.borrow_mut() = chrome_trace(&[(launch.kernel.to_string(), timeline)]);
    }
}

/// A span of a track.
type Span = (String, u64, u64);

/// The tracks of a trace, by process and name, after its laws were checked.
fn tracks(text: &str) -> BTreeMap<(u64, String), Vec<Span>> {
    let trace: Json = serde_json::from_str(text).expect("JSON");
    assert!(
        trace["otherData"]["unit"].as_str().is_some_and(|unit| unit.contains("steps")),
        "the unit is said"
    );
    let events = trace["traceEvents"].as_array().expect("events");
    let at =
        |event: &Json| (event["pid"].as_u64().expect("a process"), event["tid"].as_u64().expect("a track"));
    let (mut names, mut open, mut spans) =
        (BTreeMap::new(), BTreeMap::new(), BTreeMap::<_, Vec<Span>>::new());
    for event in events {
        let (place, step) = (at(event), event["ts"].as_u64().expect("a step"));
        let name = event["name"].as_str().expect("a name").to_owned();
        match event["ph"].as_str().expect("a kind") {
            "M" if name == "thread_name" => {
                names.insert(place, event["args"]["name"].as_str().expect("a name").to_owned());
            }
            "B" => assert_eq!(open.insert(place, (name, step)), None, "a span begins in a span"),
            "E" => {
                let (begun, begin) = open.remove(&place).expect("an end has its begin");
                assert!(begun == name && begin < step, "{begun} {begin} {name} {step}");
                let own = spans.entry(place).or_default();
                assert!(own.last().is_none_or(|(.., end)| *end <= begin), "{own:?} {name} {begin}");
                own.push((name, begin, step));
            }
            "M" | "s" | "f" | "i" => {}
            other => panic!("an event `{other}`"),
        }
    }
    assert!(open.is_empty(), "a begin has its end: {open:?}");
    let arrows = |kind: &str| -> BTreeMap<u64, ((u64, u64), u64)> {
        let own = events.iter().filter(|event| event["ph"] == kind);
        own.map(|event| {
            (event["id"].as_u64().expect("an id"), (at(event), event["ts"].as_u64().expect("a step")))
        })
        .collect()
    };
    let (from, to) = (arrows("s"), arrows("f"));
    assert!(from.keys().eq(to.keys()));
    for (id, (place, step)) in &to {
        let waits = |(name, _, end): &Span| name.starts_with("waits") && end == step;
        assert!(spans[place].iter().any(waits), "arrow {id} ends where no wait does");
        let (source, begin) = &from[id];
        assert!(
            spans[source].iter().any(|(_, first, end)| (first..end).contains(&begin)) && begin <= step,
            "arrow {id}"
        );
    }
    assert!(!to.is_empty());
    spans.into_iter().map(|(place, own)| ((place.0, names[&place].clone()), own)).collect()
}

fn traced(run: impl FnOnce(&Device)) -> String {
    let traced = Traced::default();
    let attached = attach(traced.clone());
    run(&Device::simulator());
    drop(attached);
    traced.0.borrow().clone()
}

#[test]
fn a_trace_shows_warps_copies_and_mbarriers() {
    for seed in 0..8 {
        let text = traced(|device| {
            let x = device.zeros::<f32, 1>([192]).expect("a tensor");
            let mut y = device.zeros::<f32, 1>([192]).expect("a tensor");
            let options = Options { seed, ..Options::default() };
            let report =
                ring::simulate_with(LaunchConfig::default(), &options, &x, &mut y).expect("a launch");
            assert!(report.clean(), "{report}");
        });
        let tracks = tracks(&text);
        let named = |prefix: &str| tracks.iter().filter(|((_, name), _)| name.starts_with(prefix)).count();
        assert_eq!(named("warp"), 9, "three of each block");
        assert!(named("copies") >= 3 && named("mbarrier") == 6, "seed {seed}: {:?}", tracks.keys());
        let waits = tracks.values().flatten().any(|(name, ..)| name.starts_with("waits for parity 0"));
        assert!(waits, "seed {seed}: {text}");
    }
}

#[test]
fn barriers_wake_warps() {
    let text = traced(|device| {
        let x = device.zeros::<f32, 1>([192]).expect("a tensor");
        let mut y = device.zeros::<f32, 1>([192]).expect("a tensor");
        late::launch(&device.stream(), &x, &mut y).expect("nothing is found");
    });
    let tracks = tracks(&text);
    let waits =
        tracks.values().flatten().filter(|(name, ..)| name.starts_with("waits at a barrier of the block"));
    assert_eq!(waits.count(), 4, "one of two warps, twice in each block: {tracks:?}");
}

/// Right where warp 0 adds first.
#[tiled_kernel(block = [64], grid = [1])]
fn in_order(counts: &mut LayoutTensor<u32, RowMajor<1>>) {
    if lane_id() == 0 {
        let before = counts.atomic_add([0], 1);
        assert!(before == warp_id() as u32, "warp {} is number {before}", warp_id());
    }
    barrier();
}

fn run_in_order() -> (u64, bool) {
    let mut counts = Device::simulator().zeros::<u32, 1>([1]).expect("a tensor");
    let options = Options { schedules: 64, ..Options::default() };
    let report = in_order::simulate_with(LaunchConfig::default(), &options, &mut counts).expect("a launch");
    (options.seed, report.clean())
}

#[test]
fn one_order_fails() {
    assert!(!run_in_order().1, "some order lets warp 1 add first");
}

/// `LAYOUT_TIMELINE` names a file for the first schedule, and for the first that finds a mistake.
#[test]
fn a_variable_names_a_trace_with_the_schedule_that_fails() {
    let path =
        std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.json", std::process::id()));
    let run = std::process::Command::new(std::env::current_exe().expect("the test's own path"))
        .args(["--exact", "one_order_fails", "--nocapture"])
        .env("LAYOUT_TIMELINE", &path)
        .output()
        .expect("a process");
    let out = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success() && out.contains("1 passed"),
        "{out}{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let text = std::fs::read_to_string(&path).expect("a trace");
    std::fs::remove_file(&path).expect("the trace");
    assert!(!tracks(&text).is_empty());
    let trace: Json = serde_json::from_str(&text).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |kind: &str, name: &str| -> Vec<&Json> {
        events
            .iter()
            .filter(|event| {
                event["ph"] == kind && event["name"].as_str().is_some_and(|own| own.contains(name))
            })
            .collect()
    };
    let processes = of("M", "process_name");
    let names: Vec<&str> = processes.iter().filter_map(|event| event["args"]["name"].as_str()).collect();
    let first = format!("schedule {}", Options::default().seed);
    assert!(names[0].ends_with(&first) && names.len() <= 2, "{names:?}");
    let found = of("i", "is number");
    let last = processes.last().expect("a schedule");
    assert!(
        !found.is_empty() && found.iter().all(|event| event["pid"] == last["pid"]),
        "{found:?} {names:?}"
    );
}

/// Products of a warpgroup have a track of their own.
#[tiled_kernel(arch = "sm_90a", block = [128], grid = [1])]
fn squared(a: &LayoutTensor<bf16, RowMajor<64, 64>>, c: &mut LayoutTensor<bf16, RowMajor<64, 64>>) {
    let mut stage = shared::<bf16>(row_major([64, 64]).swizzle_bytes(128));
    let mut product = shared::<bf16>(row_major([1, 64, 64]).swizzle_bytes(128));
    let full = mbarriers(1, 1);
    barrier();
    if thread_idx.x == 0 {
        full.at(0).arrive_expect(8192);
        tma_load(&mut stage, &a.tile([64, 64], [0, 0]), full.at(0));
    }
    full.at(0).wait(0);
    let mut acc = accumulator([64, 64]).fill(0.0);
    wgmma(&mut acc, &stage, &stage, false);
    wgmma_commit_group();
    wgmma_wait_group(0);
    store_matrix(&mut product, &acc);
    barrier();
    let threads = row_major([2, 64]);
    c.distribute(threads, thread_idx.x)
        .copy_from(&product.slice(0).distribute(threads, thread_idx.x).to_local());
}

#[test]
fn matrix_units_have_tracks() {
    let text = traced(|device| {
        let a = device.zeros::<bf16, 2>([64, 64]).expect("a tensor");
        let mut c = device.zeros::<bf16, 2>([64, 64]).expect("a tensor");
        squared::launch(&device.stream(), &a, &mut c).expect("nothing is found");
    });
    let tracks = tracks(&text);
    let own: Vec<_> = tracks.iter().filter(|((_, name), _)| name.starts_with("matrix unit")).collect();
    assert!(matches!(&own[..], [(_, spans)] if !spans.is_empty()), "{:?}", tracks.keys());
}
