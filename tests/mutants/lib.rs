//! Mutants of the corpus: each barrier, wait, fence, arrive and commit of each kernel deleted, moved or weakened, one at a time.
//!
//! Law: the list (`tests/mutants/list.txt`) has every one that the simulator does not find, with the reason why it is
//! harmless, or as missed; `test.rs` holds a sample of it against the simulator, the program `mutants` all of it.

pub mod edit;
pub mod list;
pub mod run;
pub mod schedules;

use edit::{Edit, edits};
use list::{Entry, List};
use run::{Subject, Verdict};

/// The list in the repository.
///
/// # Panics
/// Where the file is no list.
pub fn known() -> List {
    List::read(include_str!("list.txt")).expect("the list of mutants")
}

/// Runs every mutant of a kernel; the reasons are those of the list.
pub fn examine(subject: &Subject, known: &List, mut each: impl FnMut(&Edit, &Verdict)) -> Entry {
    let reasons = known.0.get(subject.definition.name);
    let mut entry = Entry::default();
    for edit in edits(&subject.kernel()) {
        let verdict = subject.verdict(&edit);
        let name = edit.to_string();
        each(&edit, &verdict);
        match verdict {
            Verdict::Same => continue,
            Verdict::Refused | Verdict::Found(_) => entry.found += 1,
            Verdict::Wrong(_) | Verdict::Silent => {
                let reason = reasons.and_then(|known| known.others.get(&name).cloned().flatten());
                entry.others.insert(name, reason);
            }
        }
        entry.mutants += 1;
    }
    entry
}
