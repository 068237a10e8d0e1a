//! Runs random kernels and says what fails: `random --family arithmetic --seed 1 --kernels 1000 --reduce 3000 --host`.
//!
//! `--text` prints the kernels, `--show n` so many failures of a kind, `--reduce n` makes them small in at most n trials,
//! `--host` runs the emitted text as C++ of the host, too; `--refused n` makes one of each of the n commonest refusals small.

use layout_differential::{Failure, Family, Trial, Verdict, compiler, on_host};
use std::collections::BTreeMap;
use std::time::Instant;

/// What was asked for.
struct Options {
    show: u64,
    reduce: u64,
    refused: usize,
    host: bool,
    text: bool,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().position(|own| own == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, usual: u64| value(name).map_or(usual, |text| text.parse().expect("a number"));
    let flag = |name: &str| arguments.iter().any(|own| own == name);
    let options = Options {
        show: number("--show", 1),
        reduce: number("--reduce", 0),
        refused: number("--refused", 0) as usize,
        host: flag("--host"),
        text: flag("--text"),
    };
    let (first, count) = (number("--seed", 1), number("--kernels", 1000));
    let named = |family: &Family| {
        value("--family").is_none_or(|name| format!("{family:?}").eq_ignore_ascii_case(name))
    };
    for family in Family::ALL.into_iter().filter(named) {
        run(family, first, count, &options);
    }
}

/// How often something was, and a seed of it.
type Counts = BTreeMap<String, (u64, u64)>;

fn run(family: Family, first: u64, count: u64, options: &Options) {
    let start = Instant::now();
    let (mut passed, mut launches, mut refused, mut stuck) = (0, 0, Counts::new(), Counts::new());
    let mut failed: BTreeMap<String, Vec<(u64, Failure)>> = BTreeMap::new();
    let mut sound = vec![];
    for seed in first..first + count {
        let trial = Trial::new(family, seed);
        if options.text {
            println!("{}", trial.text());
        }
        match trial.simulated() {
            Verdict::Passed(runs) => {
                (passed, launches) = (passed + 1, launches + runs);
                sound.push((seed, trial));
            }
            Verdict::Refused(why) => refused.entry(kind(&why)).or_insert((0, seed)).0 += 1,
            Verdict::Stuck(why) => stuck.entry(why).or_insert((0, seed)).0 += 1,
            Verdict::Failed(failure) => failed.entry(failure.kind.clone()).or_default().push((seed, failure)),
        }
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    println!("{family:?}: {count} kernels, {passed} passed in {launches} launches, {rate:.1} kernels/s");
    if options.host {
        host(&sound, &mut failed);
    }
    for (what, counts) in [("refused", refused), ("stuck", stuck)] {
        let mut counts: Vec<(String, (u64, u64))> = counts.into_iter().collect();
        counts.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (number, (why, (count, seed))) in counts.iter().take(12).enumerate() {
            println!("  {what} {count} (seed {seed}): {why}");
            if what == "refused" && number < options.refused {
                let mut same = |small: &Trial| match small.simulated() {
                    Verdict::Refused(own) => kind(&own) == *why,
                    _ => false,
                };
                let small = Trial::new(family, *seed).reduced_while(2000, &mut same);
                println!("{}    {:?}\n", small.text(), small.simulated());
            }
        }
    }
    for (kind, list) in failed {
        println!("  FAILED {}: {kind}", list.len());
        for (seed, failure) in list.iter().take(options.show as usize) {
            println!("    seed {seed}: {}", failure.detail);
            if options.reduce > 0 {
                let (trial, most) = (Trial::new(family, *seed), options.reduce as usize);
                let small = match compiler() {
                    Some(compiler) if matches!(trial.simulated(), Verdict::Passed(_)) => {
                        trial.reduced_on_host(&compiler, failure, most / 8)
                    }
                    _ => trial.reduced(failure, most),
                };
                println!("{}{}\n    {:?}\n", small.text(), small.arguments(), small.simulated());
            }
        }
    }
}

/// The first line of a refusal, without its numbers.
fn kind(why: &str) -> String {
    why.lines().next().unwrap_or_default().chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn host(sound: &[(u64, Trial)], failed: &mut BTreeMap<String, Vec<(u64, Failure)>>) {
    let Some(compiler) = compiler() else { return println!("  skipped: no C++ compiler") };
    let start = Instant::now();
    for part in sound.chunks(40) {
        match on_host(&compiler, part) {
            Ok(found) => {
                for (seed, failure) in found {
                    failed.entry(failure.kind.clone()).or_default().push((seed, failure));
                }
            }
            Err(log) => {
                println!("  the host refuses a text of seeds {} on:\n{}", part[0].0, first_lines(&log))
            }
        }
    }
    println!(
        "  {} as C++ of the host, {:.1} kernels/s",
        sound.len(),
        sound.len() as f64 / start.elapsed().as_secs_f64()
    );
}

fn first_lines(log: &str) -> String {
    log.lines().take(12).collect::<Vec<_>>().join("\n")
}
