//! Rounds that another program asks for, between those of its own peers.
//!
//! Law: a case is one line of JSON on the standard output; then each line `time` on the standard input is answered by
//! `{"ms": .., "others": {..}}`, a round of launches of each candidate, and `next` goes to the next case. `peers.py` asks so.

use super::Result;
use super::race::Candidate;
use layout_cuda::{Stream, bench};
use std::io::{BufRead, Write};

/// The time that a round's launches take together, milliseconds.
pub const ROUND_MS: f64 = 20.0;

/// Says what the case is, and answers until the next one is asked for; the first candidate is ours, others are beside it.
///
/// # Errors
/// The first error of a candidate, and a line that is none of the two.
pub fn by_turns(
    stream: &Stream,
    name: &str,
    candidates: &mut [Candidate<'_>],
    about: serde_json::Value,
) -> Result<()> {
    let round = |candidate: &mut Candidate<'_>, calls: usize| {
        let options = bench::Options { warm_up: 1, samples: 1, calls, flush_l2: false };
        bench::time(stream, &options, &mut *candidate.call).map(|timing| timing.median_ms())
    };
    let mut launches = vec![1; candidates.len()];
    for (candidate, launches) in candidates.iter_mut().zip(&mut launches) {
        for _ in 0..2 {
            *launches =
                ((ROUND_MS / round(candidate, *launches)?.max(1e-6)).ceil() as usize).clamp(1, 1 << 12);
        }
    }
    println!("{about}");
    std::io::stdout().flush()?;
    for line in std::io::stdin().lock().lines() {
        match line?.trim() {
            "time" => {
                let mut times = Vec::new();
                for (candidate, launches) in candidates.iter_mut().zip(&launches) {
                    times.push((candidate.name.clone(), round(candidate, *launches)?));
                }
                let others: serde_json::Map<_, _> =
                    times[1..].iter().map(|(name, ms)| (name.clone(), (*ms).into())).collect();
                println!("{}", serde_json::json!({ "ms": times[0].1, "others": others }));
            }
            "next" => return Ok(()),
            other => return Err(format!("{name}: `{other}` is neither `time` nor `next`").into()),
        }
        std::io::stdout().flush()?;
    }
    Err(format!("{name}: the standard input has ended").into())
}
