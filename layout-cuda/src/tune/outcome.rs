//! What a tuning run found: each set's fate, the best one, and a table.
//!
//! Law: the best set was right, and was timed in the same rounds as the default.

use std::fmt;

use layout_compiler::ParamSet;

use super::model::features;
use super::search::{Course, Open, Search};
use crate::probe::Planned;

/// What became of a set.
#[derive(Clone, Debug, PartialEq)]
pub enum Fate {
    /// The kernel, its `require`s, its shared memory or the compiler refuse it.
    Refused(String),
    /// Its result was wrong.
    Wrong(String),
    /// It could not be launched or timed.
    Failed(String),
    /// Its median, milliseconds.
    Timed(f64),
    /// The budget ended before its turn.
    NotTried,
}

impl Fate {
    /// Whether it was refused.
    pub fn is_refused(&self) -> bool {
        matches!(self, Fate::Refused(_))
    }

    /// Its median, milliseconds, where it was timed.
    pub fn ms(&self) -> Option<f64> {
        match self {
            Fate::Timed(ms) => Some(*ms),
            Fate::Refused(_) | Fate::Wrong(_) | Fate::Failed(_) | Fate::NotTried => None,
        }
    }

    /// Its word in a record.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Fate::Refused(_) => "refused",
            Fate::Wrong(_) => "wrong",
            Fate::Failed(_) => "failed",
            Fate::Timed(_) => "timed",
            Fate::NotTried => "not tried",
        }
    }

    /// Why it was not timed.
    pub fn why(&self) -> &str {
        match self {
            Fate::Refused(why) | Fate::Wrong(why) | Fate::Failed(why) => why,
            Fate::Timed(_) | Fate::NotTried => "",
        }
    }
}

/// A set and what became of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The parameters, all of them.
    pub set: ParamSet,
    /// What became of it.
    pub fate: Fate,
    /// Whether a record of an earlier run says so.
    pub known: bool,
    /// What its launch is, where it was not refused.
    pub planned: Option<Planned>,
}

/// What a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The kernel.
    pub kernel: String,
    /// The extents of all tensors.
    pub shape: Vec<usize>,
    /// What its milliseconds are: the GPU's, or an estimate from what the simulator counted.
    pub clock: &'static str,
    /// Every set, the timed ones first, the fastest first.
    pub trials: Vec<Trial>,
    /// The set that a launch takes without records, and its milliseconds in the last rounds.
    pub default: Option<(ParamSet, f64)>,
    /// How many sets were measured in this run, in their order: milliseconds.
    pub history: Vec<f64>,
    /// Multiprocessors of the device.
    pub multiprocessors: u32,
}

impl Outcome {
    /// The fastest set, and its milliseconds.
    pub fn best(&self) -> Option<(&ParamSet, f64)> {
        self.trials.first().and_then(|trial| Some((&trial.set, trial.fate.ms()?)))
    }

    /// What a search would have found, trial by trial, had it been asked for these times: the best so far, as a share of the best
    /// of all. The default comes first.
    pub fn replay(&self, search: Search) -> Vec<f64> {
        let Some((_, best)) = self.best() else { return vec![] };
        let timed = |trial: &Trial| Some((trial.fate.ms()?, trial.planned.clone()?));
        let mut open: Vec<Open> = self
            .trials
            .iter()
            .enumerate()
            .filter_map(|(number, trial)| {
                let (_, planned) = timed(trial)?;
                let features = features(&trial.set, &planned, self.multiprocessors);
                Some(Open { number, planned, features })
            })
            .collect();
        // By name, with the default in front: the order says nothing of the times.
        open.sort_by_key(|one| self.trials[one.number].set.key());
        if let Some((default, _)) = &self.default {
            open.sort_by_key(|one| self.trials[one.number].set != *default);
        }
        let mut course = Course::new(search, self.multiprocessors);
        let (mut measured, mut least, mut shares) = (vec![], f64::INFINITY, vec![]);
        while let Some(next) = course.next(&mut open, &measured) {
            let Some((ms, _)) = timed(&self.trials[next.number]) else { continue };
            measured.push((next.features, ms));
            least = least.min(ms);
            shares.push(best / least);
        }
        shares
    }

    /// The default's time over the best's.
    pub fn speed_up(&self) -> Option<f64> {
        Some(self.default.as_ref()?.1 / self.best()?.1)
    }
}

/// Milliseconds, or microseconds where there is less than a tenth of one.
fn time(ms: f64) -> String {
    if ms < 0.1 { format!("{:>9.3} µs", ms * 1e3) } else { format!("{ms:>9.4} ms") }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Outcome { kernel, shape, clock, trials, .. } = self;
        writeln!(
            f,
            "{kernel} on {shape:?}, {clock}: {} sets, {} measured",
            trials.len(),
            self.history.len()
        )?;
        let best = self.best().map_or(f64::NAN, |(_, ms)| ms);
        let wide = trials.iter().map(|trial| trial.set.key().len()).max().unwrap_or(0);
        for trial in trials {
            let key = trial.set.key();
            let own = self.default.as_ref().is_some_and(|(set, _)| *set == trial.set);
            let mark = if own { " (default)" } else { "" };
            match &trial.fate {
                Fate::Timed(ms) => {
                    writeln!(f, "  {key:<wide$}  {}  {:>6.3} of the best{mark}", time(*ms), best / ms)?
                }
                Fate::NotTried => writeln!(f, "  {key:<wide$}  not tried{mark}")?,
                fate => {
                    // A line that ends in a colon only says of what the next one speaks.
                    let mut lines = fate.why().lines().map(str::trim);
                    let why = lines.find(|line| !line.ends_with(':')).unwrap_or_default();
                    writeln!(f, "  {key:<wide$}  {}: {why}{mark}", fate.word())?;
                }
            }
        }
        match self.speed_up() {
            Some(speed_up) => write!(f, "  best {:.3} x the default", speed_up),
            None => write!(f, "  no set was timed beside the default"),
        }
    }
}
