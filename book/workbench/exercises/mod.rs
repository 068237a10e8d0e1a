//! Exercises: a kernel with holes, or with a bug; what it should do; and a check that says what is wrong with an answer.
//!
//! Law: our own kernel passes its check, and the text that a reader starts from does not.

mod bugs;
mod chapters;
mod check;
mod products;
mod puzzles;
mod transposes;

pub use check::{Verdict, check};

use crate::data::Given;
use crate::listing::function;
use crate::start::start;
use layout_simulator::Counts;

/// What a reader is given, and what the check holds an answer against.
#[derive(Clone, Copy, Debug)]
pub struct Exercise {
    /// The name, as it is asked for.
    pub name: &'static str,
    /// In a few words.
    pub title: &'static str,
    /// Where the text that a reader starts from differs from our solution.
    edit: &'static str,
    /// What helps.
    pub hint: &'static str,
    /// The file that has our solution, and the function's name.
    solution: (&'static str, &'static str),
    /// The launches that an answer is tried on.
    pub cases: fn() -> Vec<Case>,
    /// Counts of which an answer may have a quarter more than our solution.
    pub limits: &'static [Limit],
}

/// A launch and what it should write.
#[derive(Clone, Debug)]
pub struct Case {
    /// The sizes, in words.
    pub what: String,
    /// The arguments; what the kernel writes is NaN before.
    pub given: Vec<Given>,
    /// The argument that holds the result.
    pub out: usize,
    /// What it should be.
    pub expected: Vec<f64>,
    /// How far an element may be from that.
    pub within: f64,
}

/// A count that says how well an answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// 32-byte sectors of global memory.
    Sectors,
    /// Requests to global memory, one for a warp.
    Requests,
    /// Requests to shared memory, one for a warp.
    Shared,
    /// Passes through the banks of shared memory beyond those that are needed.
    Conflicts,
}

impl Limit {
    /// The count of a launch.
    pub fn of(self, counts: &Counts) -> u64 {
        match self {
            Limit::Sectors => counts.global_sectors,
            Limit::Requests => counts.global_requests,
            Limit::Shared => counts.shared_requests,
            Limit::Conflicts => counts.bank_conflicts,
        }
    }

    /// What is counted.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Sectors => "sectors of global memory",
            Limit::Requests => "requests to global memory",
            Limit::Shared => "requests to shared memory",
            Limit::Conflicts => "bank conflicts",
        }
    }
}

impl Exercise {
    /// A kernel that compiles, with holes or with a bug; empty where it does not follow from our solution, which a test
    /// would report.
    pub fn start(&self) -> String {
        start(self.edit, &self.solution()).unwrap_or_default()
    }

    /// Our solution's text; empty where its file lacks it, which a test would report.
    pub fn solution(&self) -> String {
        function(self.solution.0, self.solution.1).unwrap_or_default()
    }
}

/// Every exercise, in the order of the book.
pub fn all() -> impl Iterator<Item = &'static Exercise> {
    [chapters::FIRST, puzzles::ALL, products::ALL, transposes::ALL, chapters::LATER, bugs::ALL]
        .into_iter()
        .flatten()
}

/// The exercise of this name.
pub fn find(name: &str) -> Option<&'static Exercise> {
    all().find(|exercise| exercise.name == name)
}

/// `0, 1, 2, ..`
fn count(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64).collect()
}

/// Small whole numbers, of which every sum is exact.
fn small(n: usize) -> Vec<f64> {
    (0..n).map(|i| (i * 7 % 11) as f64 - 5.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;

    #[test]
    fn our_solution_passes_and_the_start_does_not() {
        let mut names = vec![];
        for exercise in all() {
            assert!(!names.contains(&exercise.name), "{} is there twice", exercise.name);
            names.push(exercise.name);
            let verdict = check(exercise, &exercise.solution());
            assert!(matches!(verdict, Verdict::Right(_)), "{}: our solution: {verdict}", exercise.name);
            let start = exercise.start();
            assert!(!start.is_empty(), "{}: its edit does not fit our solution", exercise.name);
            assert!(read(&start).is_ok(), "{}: the start does not compile", exercise.name);
            let verdict = check(exercise, &start);
            assert!(
                !matches!(verdict, Verdict::Right(_) | Verdict::Refused(_)),
                "{}: {verdict}",
                exercise.name
            );
        }
        assert!(names.len() > 30, "{names:?}");
    }

    #[test]
    fn a_wrong_answer_is_explained() {
        let verdict = |name: &str, text: &str| check(find(name).expect("an exercise"), text).to_string();
        let p14 = find("p14").expect("p14");
        // An access without a bound, with its line.
        let unbounded = verdict("bug-columns", &find("bug-columns").expect("an exercise").start());
        assert!(
            unbounded.contains("out of bounds") && unbounded.contains("sum += a[[i, col]];"),
            "{unbounded}"
        );
        // The right result at too high a price.
        let slow = find("coalescing").expect("coalescing").start();
        assert!(
            verdict("coalescing", &slow).contains("sectors of global memory"),
            "{}",
            verdict("coalescing", &slow)
        );
        // A text that is none, and one with other arguments.
        assert!(verdict("p14", "fn (").contains("line 1"));
        let other = find("p10").expect("p10").solution();
        assert!(verdict("p09", &other).contains("arguments"), "{}", verdict("p09", &other));
        // A wrong number.
        let wrong = find("p09").expect("p09").solution().replace("window[[thread_idx.x + 1]]", "0.0");
        assert!(verdict("p09", &wrong).contains("should be"), "{}", verdict("p09", &wrong));
        // A kernel that does not end.
        let endless = p14.solution().replace("sum += a", "while sum < 1.0 { sum *= 1.0; }\nsum += a");
        assert!(verdict("p14", &endless).contains("step limit"), "{}", verdict("p14", &endless));
    }
}
