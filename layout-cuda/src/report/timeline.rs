//! Timelines as Chrome traces, which Perfetto shows: a process for each block, a thread for each track.
//!
//! Law: each begin has its end, spans of one track do not overlap, and an arrow ends where a wait does. A step takes the place of a
//! microsecond; the file says so.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, Once, PoisonError};

use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use layout_simulator::{Options, SimulatorArgument, Timeline};

use super::json::{Object, array};

/// The variable that names the file.
const VARIABLE: &str = "LAYOUT_TIMELINE";

/// The trace of some launches, each with its kernel and its file.
///
/// ```
/// use layout_cuda::debug::{Debugger, Launch, Session, attach};
/// use layout_cuda::{Device, report::chrome_trace, tiled_kernel};
/// # #[tiled_kernel(block = [64], grid = [1])]
/// # fn squares(x: &mut LayoutTensor<i32, RowMajor<64>>) { x[[thread_idx.x]] = 1; }
///
/// struct Traced;
/// impl Debugger for Traced {
///     fn launched(&mut self, launch: &Launch<'_>, session: &mut Session<'_>) {
///         let trace = chrome_trace(&[(launch.kernel.to_string(), session.timeline())]);
///         assert!(trace.starts_with("{\"traceEvents\":["));
///     }
/// }
/// let attached = attach(Traced);
/// let device = Device::simulator();
/// squares::launch(&device.stream(), &mut device.zeros::<i32, 1>([64])?)?;
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn chrome_trace(launches: &[(String, Timeline)]) -> String {
    let events =
        launches.iter().enumerate().flat_map(|(number, (kernel, timeline))| events(number, kernel, timeline));
    let words =
        "`ts` counts steps of the simulator, each one statement of a warp: not microseconds, and not time";
    let other = Object::new().text("unit", words).text("generator", "layout simulator").end();
    Object::new().json("traceEvents", &array(events)).json("otherData", &other).end() + "\n"
}

/// An event at a step of a track.
fn event(kind: &str, name: &str, [process, track]: [usize; 2], step: u64) -> Object {
    let event = Object::new().text("ph", kind).text("name", name).text("cat", "layout");
    event.value("pid", process).value("tid", track).value("ts", step)
}

fn events(launch: usize, kernel: &str, timeline: &Timeline) -> Vec<String> {
    let (mut out, mut processes) = (Vec::new(), BTreeMap::new());
    let named = |what: &str, name: &str, at: [usize; 2]| {
        let name = Object::new().text("name", name).end();
        event("M", what, at, 0).json("args", &name).end()
    };
    let mut places = Vec::new();
    for (number, track) in timeline.tracks.iter().enumerate() {
        // Blocks of one launch, and launches of one file, are apart.
        let next = (launch << 20) + processes.len() + 1;
        let process = *processes.entry(track.block).or_insert(next);
        if process == next {
            let cut = if timeline.cut { ", the first part" } else { "" };
            let name = format!("{kernel}, block {}, schedule {}{cut}", track.block, timeline.schedule);
            out.push(named("process_name", &name, [process, 0]));
        }
        places.push([process, number + 1]);
        out.push(named("thread_name", &track.name, [process, number + 1]));
        for span in &track.spans {
            out.push(event("B", &span.name, [process, number + 1], span.begin).end());
            out.push(event("E", &span.name, [process, number + 1], span.end).end());
        }
    }
    for (number, arrow) in timeline.arrows.iter().enumerate() {
        let id = (launch << 20) + number;
        for (kind, (track, step)) in [("s", arrow.from), ("f", arrow.to)] {
            let one = event(kind, "wakes", places[track], step).value("id", id);
            out.push(if kind == "f" { one.text("bp", "e").end() } else { one.end() });
        }
    }
    for (step, finding) in &timeline.findings {
        let name = format!("{}, line {}: {}", finding.kind.name(), finding.line, finding.message);
        let process = places.first().map_or((launch << 20) + 1, |[process, _]| *process);
        out.push(event("i", &name, [process, 0], *step).text("s", "g").end());
    }
    out
}

/// Adds the timelines of a launch that is about to run to the file of [`VARIABLE`], if there is one: of its first schedule, and of the
/// first that finds a mistake where that one does not.
pub(crate) fn trace(
    kernel: &str,
    checked: &Checked,
    bound: &Bound,
    arguments: &[SimulatorArgument<'_>],
    options: &Options,
) {
    static TRACED: Mutex<Vec<(String, Timeline)>> = Mutex::new(Vec::new());
    static FAILED: Once = Once::new();
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else { return };
    // A launch that is refused is refused again by the run itself.
    let Ok(found) = layout_simulator::timelines(checked, bound, arguments, options) else { return };
    // The list is whole even if a holder of the lock panicked.
    let mut all = TRACED.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend(found.into_iter().map(|timeline| (kernel.to_owned(), timeline)));
    if let Err(error) = write(&path, &chrome_trace(&all)) {
        FAILED.call_once(|| eprintln!("{VARIABLE}={}: {error}", path.display()));
    }
}

fn write(path: &OsString, text: &str) -> Result<(), std::io::Error> {
    let path = Path::new(path);
    if path.extension().is_none_or(|ending| ending != "json") {
        return Err(std::io::Error::new(std::io::ErrorKind::InvalidInput, "the name has to end in `.json`"));
    }
    std::fs::write(path, text)
}
