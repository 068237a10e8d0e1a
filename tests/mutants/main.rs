//! Runs every mutant of the corpus on the simulator.
//!
//! `cargo run -p layout-mutants` prints what is found, and what not; with names of kernels only theirs; with
//! `write` it makes `tests/mutants/list.txt` anew, keeping the reasons.
//!
//! `cargo run --release -p layout-mutants -- schedules 100` runs the corpus itself by 100 schedules, with names only theirs, and
//! notes those of which nothing is found in `tests/mutants/schedules.txt`.

use layout_mutants::list::List;
use layout_mutants::run::{Subject, Verdict, corpus, subjects};
use layout_mutants::schedules::Schedules;
use layout_mutants::{examine, known};
use layout_tests::support::parallel::in_parallel;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.first().is_some_and(|name| name == "schedules") {
        let schedules = names.get(1).and_then(|count| count.parse().ok()).unwrap_or(100);
        std::process::exit(by_schedules(schedules, names.get(2..).unwrap_or_default()));
    }
    let write = names.iter().any(|name| name == "write");
    names.retain(|name| name != "write");
    let all: Vec<Subject> = subjects();
    // The panics of references that hold a mutant against its meaning are no news.
    std::panic::set_hook(Box::new(|_| {}));
    let wanted =
        |subject: &&Subject| names.is_empty() || names.iter().any(|name| name == subject.definition.name);
    let chosen: Vec<&Subject> = all.iter().filter(wanted).collect();
    let before = known();
    let list = Mutex::new(if names.is_empty() { List::default() } else { before.clone() });
    in_parallel(&chosen, |subject| {
        let name = subject.definition.name;
        let start = std::time::Instant::now();
        let mut lines = String::new();
        let entry = examine(subject, &before, |edit, verdict| {
            if *verdict != Verdict::Same {
                lines += &format!("\n  {edit}: {verdict}");
            }
        });
        println!("{name}, {} mutants in {:.1?}{lines}", entry.mutants, start.elapsed());
        if entry.mutants > 0 {
            list.lock().unwrap_or_else(PoisonError::into_inner).0.insert(name.to_owned(), entry);
        }
    });
    let list = list.into_inner().unwrap_or_else(PoisonError::into_inner);
    let [mutants, found, harmless, missed] = list.counts();
    println!("{mutants} mutants: {found} found, {harmless} harmless, {missed} missed");
    if write {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("list.txt");
        if let Err(error) = std::fs::write(&path, list.to_string()) {
            println!("{}: {error}", path.display());
            std::process::exit(1);
        }
    }
}

/// Runs the kernels themselves; 1 where something is found.
fn by_schedules(schedules: u32, names: &[String]) -> i32 {
    let all: Vec<Subject> = corpus();
    let named =
        |subject: &&Subject| names.is_empty() || names.iter().any(|name| name == subject.definition.name);
    let chosen: Vec<&Subject> = all.iter().filter(named).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schedules.txt");
    let (wrong, known) = (Mutex::new(0), Mutex::new(Schedules::known()));
    in_parallel(&chosen, |subject| {
        let start = std::time::Instant::now();
        let verdict = subject.by_schedules(schedules);
        if verdict == Verdict::Silent {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            known.add(subject.definition.name, schedules);
            // After each one: a run of all takes long, and what it has shown stays.
            if let Err(error) = std::fs::write(&path, known.to_string()) {
                println!("{}: {error}", path.display());
            }
        } else {
            *wrong.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        }
        println!("{}, {:.1?}: {verdict}", subject.definition.name, start.elapsed());
    });
    let wrong = wrong.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{} kernels by {schedules} schedules, {wrong} with a finding", chosen.len());
    i32::from(wrong > 0)
}
