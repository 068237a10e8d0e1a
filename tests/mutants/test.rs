//! A sample of the mutants against the list.
//!
//! Law: of the kernels that the seed picks (`MUTANTS_SEED`, `MUTANTS_KERNELS`), every mutant that is not found is in the list, and none that
//! races is certified.
//! `cargo run -p layout-mutants` runs all. Of other kernels that it picks every schedule is right: `-- schedules 100` runs all.

use layout_mutants::edit::edits;
use layout_mutants::list::List;
use layout_mutants::run::{Verdict, corpus, subjects};
use layout_mutants::schedules::Schedules;
use layout_mutants::{examine, known};
use layout_tests::support::parallel::in_parallel;
use std::sync::{Mutex, PoisonError};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a_sample_is_as_the_list_says() {
    // References that hold a mutant against its meaning panic; the verdict says so.
    std::panic::set_hook(Box::new(|_| {}));
    let list = known();
    let mut all = subjects();
    let (seed, count) = (number("MUTANTS_SEED", 1), number("MUTANTS_KERNELS", 6) as usize);
    // Short ones: the largest products take minutes each.
    all.retain(|subject| list.0.get(subject.definition.name).is_some_and(|entry| entry.mutants <= 24));
    let mut picked = Vec::new();
    let mut state = seed;
    while picked.len() < count && !all.is_empty() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        picked.push(all.swap_remove((state >> 33) as usize % all.len()));
    }
    let wrong = Mutex::new(Vec::new());
    in_parallel(&picked, |subject| {
        let name = subject.definition.name;
        let mut certified = Vec::new();
        let races = |kind: &str| kind.ends_with("race");
        let entry = examine(subject, &list, |edit, verdict| {
            if matches!(verdict, Verdict::Found(kind) if races(kind)) && subject.is_certified(edit) {
                certified.push(format!("{name}: {edit} races, and is certified"));
            }
        });
        let known = list.0.get(name).cloned().unwrap_or_default();
        let new = entry.others.into_keys().filter(|edit| !known.others.contains_key(edit));
        let mut wrong = wrong.lock().unwrap_or_else(PoisonError::into_inner);
        wrong.extend(new.map(|edit| format!("{name}: {edit} is not found, and not in the list")));
        wrong.extend(certified);
    });
    let _ = std::panic::take_hook();
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(wrong.is_empty(), "seed {seed}:\n{}", wrong.join("\n"));
    assert_eq!(picked.len(), count);
}

/// Kernels with TMA, `wgmma`, rings of mbarriers or copies in flight that are certified themselves.
const IN_FLIGHT: [&str; 8] = [
    "chain",
    "columns_by_copies",
    "columns_by_tma",
    "left_of_bytes",
    "pipelined",
    "product_of_columns",
    "staged_by_each",
    "wgmma_of_integers",
];

/// Each wait, fence, arrival and barrier of them: whatever is found of a mutant, it is not certified.
#[test]
fn no_mutant_with_something_in_flight_is_certified() {
    std::panic::set_hook(Box::new(|_| {}));
    let (list, mut all) = (known(), subjects());
    all.retain(|subject| IN_FLIGHT.contains(&subject.definition.name));
    let wrong = Mutex::new(Vec::new());
    let count = Mutex::new(0);
    in_parallel(&all, |subject| {
        let name = subject.definition.name;
        let (mut certified, mut found) = (Vec::new(), 0);
        examine(subject, &list, |edit, verdict| {
            if let Verdict::Found(kind) = verdict {
                found += 1;
                if subject.is_certified(edit) {
                    certified.push(format!("{name}: {edit} is found as {kind}, and is certified"));
                }
            }
        });
        wrong.lock().unwrap_or_else(PoisonError::into_inner).extend(certified);
        *count.lock().unwrap_or_else(PoisonError::into_inner) += found;
    });
    let _ = std::panic::take_hook();
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(all.len(), IN_FLIGHT.len());
    let count = count.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(count >= 40, "only {count} mutants are found");
}

#[test]
fn every_kernel_is_among_the_schedules() {
    let known = Schedules::known();
    let all = corpus();
    let names = all.iter().map(|subject| subject.definition.name);
    let run = |name: &&str| known.0.get(*name).is_some_and(|count| *count >= 100);
    let missing: Vec<&str> = names.filter(|name| !run(name)).collect();
    assert!(missing.is_empty(), "`-- schedules 100` has not run {}", missing.join(" "));
    assert_eq!(Schedules::read(&known.to_string()), known);
}

/// `MUTANTS_SCHEDULES` of them for every kernel, where it is set.
#[test]
fn a_sample_is_right_by_every_schedule() {
    let (mut all, list) = (corpus(), known());
    let every = std::env::var("MUTANTS_SCHEDULES").is_ok();
    // Likewise without the largest products.
    let short = |name: &str| list.0.get(name).is_some_and(|entry| entry.mutants <= 24);
    all.retain(|subject| every || edits(&subject.kernel()).is_empty() || short(subject.definition.name));
    let (mut state, mut picked) = (number("MUTANTS_SEED", 1), Vec::new());
    while (every || picked.len() < 8) && !all.is_empty() {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        picked.push(all.swap_remove((state >> 33) as usize % all.len()));
    }
    let wrong = Mutex::new(Vec::new());
    let schedules = number("MUTANTS_SCHEDULES", 4) as u32;
    in_parallel(&picked, |subject| match subject.by_schedules(schedules) {
        Verdict::Silent => {}
        verdict => wrong
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(format!("{}: {verdict}", subject.definition.name)),
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_is_read_as_it_is_written() {
    let text = "\
a: 3 mutants, 1 found, 1 harmless, 1 missed
  barrier 1 later: harmless, it passes registers: only
  wait 2 weaker: missed
b: 1 mutants, 1 found, 0 harmless, 0 missed
";
    let list = List::read(text).expect("a list");
    assert_eq!(list.counts(), [4, 2, 1, 1]);
    assert_eq!(list.0["a"].others["barrier 1 later"].as_deref(), Some("it passes registers: only"));
    assert!(list.to_string().ends_with(text));
    assert!(List::read("  x: missed").is_err() && List::read("a: none").is_err());
    assert_eq!(List::read(&list.to_string()), Ok(list));
}
