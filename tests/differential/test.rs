//! Random kernels on the simulator against the reference, a family a test; and that the test can fail.
//!
//! `DIFFERENTIAL_SEED` and `DIFFERENTIAL_KERNELS` choose the first seed and how many kernels of each family.

use layout_differential::{Family, Trial, Verdict, number_of_the_environment as number};

fn simulated(family: Family) {
    let (first, count) = (number("DIFFERENTIAL_SEED", 1), number("DIFFERENTIAL_KERNELS", 8));
    println!("{family:?}: {count} kernels from seed {first}");
    let (mut passed, mut launches) = (0, 0);
    for seed in first..first + count {
        let trial = Trial::new(family, seed);
        match trial.simulated() {
            Verdict::Passed(runs) => (passed, launches) = (passed + 1, launches + runs),
            Verdict::Refused(_) => {}
            Verdict::Stuck(why) => panic!("{family:?}, seed {seed}: {why}\n{}", trial.text()),
            Verdict::Failed(failure) => {
                let small = trial.reduced(&failure, 3000);
                let (text, arguments) = (small.text(), small.arguments());
                panic!("{family:?}, seed {seed}: {failure:?}\n{text}\n{arguments}\n{:?}", small.simulated());
            }
        }
    }
    println!("{family:?}: {passed} kernels, {launches} launches");
    assert!(passed * 10 >= count * 8, "{family:?}: only {passed} of {count} kernels were compiled");
}

#[test]
fn arithmetic() {
    simulated(Family::Arithmetic);
}

#[test]
fn indices() {
    simulated(Family::Indices);
}

#[test]
fn views() {
    simulated(Family::Views);
}

#[test]
fn meetings() {
    simulated(Family::Meetings);
}
