//! Runs random kernels: `random --family arithmetic --seed 1 --kernels 1000`.

use layout_differential::{Family, Trial, Verdict};
use std::collections::BTreeMap;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value =
        |name: &str| arguments.iter().position(|own| own == name).and_then(|at| arguments.get(at + 1));
    let number = |name: &str, usual: u64| value(name).map_or(usual, |text| text.parse().expect("a number"));
    let (seed, count) = (number("--seed", 1), number("--kernels", 1000));
    let families: Vec<Family> = Family::ALL
        .into_iter()
        .filter(|family| {
            value("--family").is_none_or(|name| format!("{family:?}").eq_ignore_ascii_case(name))
        })
        .collect();
    let reduce = number("--reduce", 0);
    let show = number("--show", 1);
    for family in families {
        let start = std::time::Instant::now();
        let (mut passed, mut launches, mut refused, mut stuck, mut failed) =
            (0, 0, BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for seed in seed..seed + count {
            let trial = Trial::new(family, seed);
            if arguments.iter().any(|own| own == "--text") {
                println!("{}", trial.text());
            }
            match trial.simulated() {
                Verdict::Passed(runs) => {
                    passed += 1;
                    launches += runs;
                }
                Verdict::Refused(why) => {
                    let why: String =
                        why.lines().next().unwrap_or("").chars().filter(|c| !c.is_ascii_digit()).collect();
                    *refused.entry(why).or_insert((0, seed)) = {
                        let old = refused.get(&why.clone()).copied().unwrap_or((0, seed));
                        (old.0 + 1, old.1)
                    }
                }
                Verdict::Stuck(why) => {
                    let old: &mut (u64, u64) = stuck.entry(why).or_insert((0, seed));
                    old.0 += 1;
                }
                Verdict::Failed(failure) => {
                    let old: &mut Vec<(u64, String)> = failed.entry(failure.kind).or_default();
                    old.push((seed, failure.detail));
                }
            }
        }
        println!(
            "{family:?}: {count} kernels, {passed} passed in {launches} launches, {:.1} kernels/s",
            count as f64 / start.elapsed().as_secs_f64()
        );
        let mut refused: Vec<_> = refused.into_iter().collect::<Vec<(String, (u64, u64))>>();
        refused.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (why, (count, seed)) in refused.iter().take(12) {
            println!("  refused {count} (seed {seed}): {why}");
        }
        for (why, (count, seed)) in stuck {
            println!("  stuck {count} (seed {seed}): {why}");
        }
        for (kind, list) in failed {
            println!("  FAILED {}: {kind}", list.len());
            for (seed, detail) in list.iter().take(show as usize) {
                println!("    seed {seed}: {detail}");
                if reduce > 0 {
                    let failure = layout_differential::Failure { kind: kind.clone(), detail: detail.clone() };
                    let small = Trial::new(family, *seed).reduced(&failure, reduce as usize);
                    println!("{}{}\n    {:?}\n", small.text(), small.arguments(), small.simulated());
                }
            }
        }
    }
}
