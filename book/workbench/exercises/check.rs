//! The check of an answer to an exercise, and the message to the reader.

use super::{Case, Exercise, Limit};
use crate::data::Tensor;
use crate::program::{Mistake, Outcome, prepare, read};
use layout_simulator::{Options, Report};
use std::fmt;

/// What is said to an answer.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// It does not compile, or takes other arguments: in these words.
    Refused(Vec<Mistake>),
    /// The simulator found mistakes.
    Findings {
        /// Of which launch.
        case: String,
        /// What was found.
        report: Report,
        /// The answer's text.
        answer: String,
    },
    /// The result is another.
    Wrong {
        /// Of which launch.
        case: String,
        /// The coordinate of the first wrong element.
        at: Vec<usize>,
        /// What it should be.
        expected: f64,
        /// What it is; NaN where nothing was written.
        found: f64,
        /// How many are wrong.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// The result is right, at too high a price.
    Costly {
        /// Of which launch.
        case: String,
        /// What is too much.
        limit: Limit,
        /// Of the answer.
        found: u64,
        /// Of our solution.
        ours: u64,
        /// The line that has the most of them, as it is written, and how many; `None` where none has any.
        worst: Option<(u32, String, u64)>,
    },
    /// Right, and what the last launch counted.
    Right(Box<Report>),
}

/// Instructions of a warp after which an answer counts as endless.
const STEPS: u64 = 1 << 20;

fn launch(text: &str, case: &Case) -> Result<Outcome, Vec<Mistake>> {
    let kernel = read(text)?;
    let prepared = prepare(&kernel, None, &case.given, None)?;
    prepared.run(&case.given, &Options { max_steps: STEPS, ..Options::default() })
}

/// Tries an answer on every case of its exercise; the first that is wrong speaks, and what it costs when none is.
pub fn check(exercise: &Exercise, answer: &str) -> Verdict {
    let mut last = Report::default();
    let mut costly = None;
    for case in (exercise.cases)() {
        let outcome = match launch(answer, &case) {
            Ok(outcome) => outcome,
            Err(mistakes) => return Verdict::Refused(mistakes),
        };
        if !outcome.report.clean() {
            let answer = answer.to_owned();
            return Verdict::Findings { case: case.what, report: outcome.report, answer };
        }
        if let Some(wrong) = difference(&case, outcome.tensors.get(case.out).and_then(Option::as_ref)) {
            return wrong;
        }
        last = outcome.report;
        if costly.is_none() && !exercise.limits.is_empty() {
            costly = launch(&exercise.solution(), &case)
                .ok()
                .and_then(|ours| price(exercise, &case, &last, &ours.report, answer));
        }
    }
    costly.unwrap_or_else(|| Verdict::Right(Box::new(last)))
}

/// What of a right answer costs a quarter more than ours, if anything does.
fn price(exercise: &Exercise, case: &Case, own: &Report, ours: &Report, answer: &str) -> Option<Verdict> {
    exercise.limits.iter().find_map(|limit| {
        let (found, ours) = (limit.of(&own.totals), limit.of(&ours.totals));
        if found <= ours + ours / 4 {
            return None;
        }
        let most = own.lines.iter().max_by_key(|(_, counts)| limit.of(counts));
        let worst = most.filter(|(_, counts)| limit.of(counts) > 0).and_then(|(line, counts)| {
            let text = answer.lines().nth((*line as usize).checked_sub(1)?)?;
            Some((*line, text.trim().to_owned(), limit.of(counts)))
        });
        Some(Verdict::Costly { case: case.what.clone(), limit: *limit, found, ours, worst })
    })
}

fn difference(case: &Case, found: Option<&Tensor>) -> Option<Verdict> {
    let found = found.map(|tensor| (tensor.shape.as_slice(), tensor.values.as_slice()));
    let (shape, values) = found.unwrap_or_default();
    // An element that was not written is NaN, and equals nothing.
    let wrong = |at: &usize| match (values.get(*at), case.expected.get(*at)) {
        (Some(found), Some(expected)) => {
            (found - expected).abs().is_nan() || (found - expected).abs() > case.within
        }
        _ => true,
    };
    let count = (0..case.expected.len()).filter(wrong).count();
    let first = (0..case.expected.len()).find(wrong)?;
    let (mut rest, mut at) = (first, vec![]);
    for extent in shape.iter().rev() {
        at.insert(0, rest % extent.max(&1));
        rest /= extent.max(&1);
    }
    Some(Verdict::Wrong {
        case: case.what.clone(),
        at,
        expected: case.expected[first],
        found: values.get(first).copied().unwrap_or(f64::NAN),
        count,
        of: case.expected.len(),
    })
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Refused(mistakes) => {
                writeln!(f, "it does not run:")?;
                mistakes.iter().try_for_each(|mistake| writeln!(f, "  {mistake}"))
            }
            Verdict::Findings { case, report, answer } => {
                writeln!(f, "{case}: the simulator found")?;
                for finding in report.findings.iter().take(4) {
                    let finding = finding.in_file("", answer).to_string();
                    writeln!(f, "  {}", finding.replace('\n', "\n  "))?;
                }
                let more = report.findings.len().saturating_sub(4) as u64 + report.left_out;
                if more > 0 { writeln!(f, "  and {more} more") } else { Ok(()) }
            }
            Verdict::Wrong { case, at, expected, found, count, of } => {
                let found = if found.is_nan() { "was not written".to_owned() } else { format!("is {found}") };
                writeln!(
                    f,
                    "{case}: element {at:?} {found} and should be {expected}; {count} of {of} are wrong"
                )
            }
            Verdict::Costly { case, limit, found, ours, worst } => {
                let enough = ours + ours / 4;
                writeln!(
                    f,
                    "{case}: the result is right, with {found} {}; ours takes {ours}, {enough} would do",
                    limit.name()
                )?;
                let Some((line, text, count)) = worst else { return Ok(()) };
                writeln!(f, "  {count} of them in line {line}\n    | {text}")
            }
            Verdict::Right(report) => {
                let counts = &report.totals;
                let all = [Limit::Sectors, Limit::Requests, Limit::Shared, Limit::Conflicts];
                let all = all.map(|limit| format!("{} {}", limit.of(counts), limit.name()));
                writeln!(f, "right: {}", all.join(", "))
            }
        }
    }
}
