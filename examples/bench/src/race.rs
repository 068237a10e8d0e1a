//! Candidates timed by turns: in each round all of them, each round in another order, so that clocks, heat and caches
//! favour none.
//!
//! Law: a figure is the median of the rounds; a round's is the mean of its launches, between two events of the stream.

use super::progress::Progress;
use layout_cuda::{Stream, bench};

/// A candidate: its name, its call, and the rounds' times of one launch, milliseconds.
pub struct Candidate<'a> {
    pub name: String,
    pub call: Box<dyn FnMut() -> super::Result<()> + 'a>,
    pub times: Vec<f64>,
}

impl<'a> Candidate<'a> {
    /// Before its first round.
    pub fn new<E: Into<Box<dyn std::error::Error>>>(
        name: impl Into<String>,
        mut call: impl FnMut() -> std::result::Result<(), E> + 'a,
    ) -> Candidate<'a> {
        let call = Box::new(move || call().map_err(Into::into));
        Candidate { name: name.into(), call, times: Vec::new() }
    }

    /// The median of the rounds.
    pub fn ms(&self) -> f64 {
        let mut sorted = self.times.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }

    /// The longest round over the shortest, less one; `None` of one round.
    pub fn spread(&self) -> Option<f64> {
        let (least, most) = self.times.iter().fold((f64::MAX, 0.0f64), |(a, b), ms| (a.min(*ms), b.max(*ms)));
        (self.times.len() > 1).then(|| most / least - 1.0)
    }
}

/// How long a round of one candidate is.
#[derive(Clone, Copy, Debug)]
pub struct Length {
    /// Rounds.
    pub rounds: usize,
    /// The time that a round's launches take together, milliseconds.
    pub round_ms: f64,
    /// The fewest launches of a round.
    pub least: usize,
}

/// Times all candidates, on the simulator once; gives the launches of a round of each.
///
/// # Errors
/// The first error of a candidate.
pub fn race(
    stream: &Stream,
    length: Length,
    flush_l2: bool,
    candidates: &mut [Candidate<'_>],
) -> super::Result<Vec<usize>> {
    let simulator = stream.device().is_simulator();
    let rounds = if simulator { 1 } else { length.rounds.max(1) };
    let mut launches = vec![1; candidates.len()];
    for (candidate, launches) in candidates.iter_mut().zip(&mut launches).filter(|_| !simulator) {
        let options = bench::Options { warm_up: 1, samples: 3, calls: 1, flush_l2: false };
        let once = bench::time(stream, &options, &mut *candidate.call)?.median_ms();
        let enough = (length.round_ms / once.max(1e-6)).ceil() as usize;
        *launches = enough.clamp(length.least.max(1), 1 << 16);
    }
    let progress = Progress::new(rounds * candidates.len());
    for round in 0..rounds {
        for turn in 0..candidates.len() {
            // Forwards, then backwards: what one leaves of heat and power is not always the same one's to bear.
            let step = if round % 2 == 0 { turn } else { candidates.len() - turn };
            let at = (step + round / 2) % candidates.len();
            let candidate = &mut candidates[at];
            progress.start(&candidate.name);
            if !simulator {
                // Not timed: it is the launch that meets what another candidate left.
                (candidate.call)()?;
            }
            let options = bench::Options { warm_up: 0, samples: 1, calls: launches[at], flush_l2 };
            candidate.times.push(bench::time(stream, &options, &mut *candidate.call)?.median_ms());
            progress.step();
        }
    }
    Ok(launches)
}
