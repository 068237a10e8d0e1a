//! A launch that can be looked into: stepped forward and back, paused at lines, read in the user's names.
//!
//! ```text
//! debug ──record──► steps, findings with their steps, snapshots ──► Session: go, forward, backward, writers ──► Moment
//! ```
//! A run is repeated by its schedule's number, so going back is going forward from an earlier snapshot. Law: a session changes
//! neither the results of the launch nor its report.

mod moment;
mod session;
mod snapshot;
mod timeline;
mod value;

pub use moment::{Barrier, Copying, Moment, Status, Tensor, TensorSpace, WarpState};
pub use session::{PauseAt, Session};
pub use timeline::{Arrow, Span, Timeline, Track};
pub use value::Value;

use crate::bytecode::Program;
use crate::machine::{Launch, Machine};
use crate::options::{Options, SimulatorArgument};
use crate::report::Report;
use crate::state::cluster;
use crate::state::watch::Watch;
use crate::workers::Outcome;
use layout_compiler::bind::Bound;
use layout_compiler::check::Checked;
use snapshot::Progress;

/// Steps between the first snapshots; as a run gets longer they are further apart.
const INTERVAL: u64 = 256;

/// What a session is about: the launch as it is recorded, and as it is repeated, without analyses.
pub(crate) struct Recording<'a> {
    pub checked: &'a Checked,
    pub bound: &'a Bound,
    pub program: &'a Program,
    pub recorded: &'a Launch<'a>,
    pub repeated: &'a Launch<'a>,
}

/// Records a launch, and hands its session on; the report is that of the recorded run.
pub(crate) fn session(
    recording: Recording<'_>,
    arguments: &[SimulatorArgument<'_>],
    options: &Options,
    with: &mut dyn FnMut(&mut Session<'_>),
) -> Report {
    let Recording { checked, bound, program, recorded, repeated } = recording;
    let index = |argument: &SimulatorArgument<'_>| match argument {
        SimulatorArgument::Index(value) => Some(*value),
        SimulatorArgument::Read(_) | SimulatorArgument::Write(_) | SimulatorArgument::Scalar(_) => None,
    };
    let blocks = bound.grid.iter().map(|extent| u64::from(*extent)).product::<u64>();
    let mut machine = Machine::new(repeated);
    machine.watch = Some(Box::new(Watch::new()));
    let mut session = Session {
        machine,
        progress: Progress::default(),
        checked,
        bound,
        indices: arguments.iter().map(index).collect(),
        clusters: blocks / u64::from(cluster::size(repeated.cluster)),
        snapshots: Vec::new(),
        interval: INTERVAL,
        marks: Vec::new(),
        steps: 0,
        findings: Vec::new(),
        report: Report::default(),
    };
    let (machine, mut known, progress) = session.record(recorded);
    let (stopped, ranks) = (progress.stopped, u64::from(cluster::size(repeated.cluster)));
    let diagnostics = machine.diagnostics.into_inner();
    let mut outcome = Outcome {
        findings: diagnostics.findings,
        printing: diagnostics.printing,
        sites: diagnostics.counts,
        runs: machine.runs,
        blocks: if program.waits { blocks } else { progress.next * ranks },
        stopped,
        ordered: false,
    };
    if !stopped {
        outcome.findings.start_block(u64::MAX);
        recorded.analyses.iter().for_each(|analysis| analysis.close(program, &mut outcome.findings));
        for finding in outcome.findings.news(&mut known) {
            session.findings.push((session.steps, finding));
        }
    }
    let report = outcome.report(program, options);
    session.report = report.clone();
    session.restore(0);
    with(&mut session);
    report
}
