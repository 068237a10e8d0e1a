//! The planted mistakes on the simulator: each is found, by its cause.
//!
//! What compute-sanitizer finds of them on a GPU `tests/planted/sanitize.sh` puts into a table.

use layout_planted::{Planted, all};

#[test]
fn the_simulator_finds_every_planted_mistake() {
    let mut missed = Vec::new();
    let mistakes = all();
    for mistake in &mistakes {
        let report = mistake.simulate().unwrap_or_else(|error| panic!("{}: {error}", mistake.name));
        if report.find(mistake.kind).is_none() {
            let Planted { name, what, kind, .. } = mistake;
            missed.push(format!("{name} ({what}): no {}\n{report}", kind.name()));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert!((20..=40).contains(&mistakes.len()));
}
