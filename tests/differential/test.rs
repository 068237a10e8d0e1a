//! Random kernels on the simulator against the reference, a family a test; as C++ of the host; as a launch on a device; and
//! that these tests can fail.
//!
//! `DIFFERENTIAL_SEED` and `DIFFERENTIAL_KERNELS` choose the first seed and how many kernels of each family.

use layout_cuda::Device;
use layout_differential::{
    Family, Trial, Verdict, compiler, number_of_the_environment as number, on_host, on_rustc,
};

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
    // A few more of a few.
    assert!(passed * 10 + 20 >= count * 8, "{family:?}: only {passed} of {count} kernels were compiled");
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

#[test]
fn clusters() {
    simulated(Family::Clusters);
}

#[test]
fn products() {
    simulated(Family::Products);
}

/// The emitted text, compiled by the host's C++ compiler, gives the simulator's bits and leaves the guard zones whole.
#[test]
fn a_host_gives_what_the_simulator_gives() {
    let Some(compiler) = compiler() else {
        let required = std::env::var("REQUIRE_HOST_COMPILER").is_ok_and(|value| value == "1");
        assert!(!required, "REQUIRE_HOST_COMPILER=1, and there is no C++ compiler");
        return println!("skipped: no C++ compiler");
    };
    let (first, count) = (number("DIFFERENTIAL_SEED", 1), number("DIFFERENTIAL_KERNELS", 8) / 2);
    for family in [Family::Arithmetic, Family::Indices, Family::Views] {
        let trials = (first..first + count).map(|seed| (seed, Trial::new(family, seed)));
        let sound: Vec<(u64, Trial)> =
            trials.filter(|(_, trial)| matches!(trial.simulated(), Verdict::Passed(_))).collect();
        for part in sound.chunks(40) {
            let failed = on_host(&compiler, part).unwrap_or_else(|log| panic!("{family:?}: {log}"));
            let text = failed.first().map(|(seed, _)| Trial::new(family, *seed).text());
            assert!(failed.is_empty(), "{family:?}: {failed:?}\n{}", text.unwrap_or_default());
        }
    }
}

/// The same trees as plain Rust: rustc gives what the interpreter gives.
#[test]
fn rustc_gives_what_the_interpreter_gives() {
    let (first, count) = (number("DIFFERENTIAL_SEED", 1), number("DIFFERENTIAL_KERNELS", 8).min(200));
    let mut ran = 0;
    for family in [Family::Arithmetic, Family::Indices] {
        let trials: Vec<_> = (first..first + count).map(|seed| (seed, Trial::plain(family, seed))).collect();
        let (failed, ended) = on_rustc(&trials).unwrap_or_else(|log| panic!("{family:?}: {log}"));
        let text = failed.first().map(|(seed, _)| Trial::plain(family, *seed).text());
        assert!(failed.is_empty(), "{family:?}: {failed:?}\n{}", text.unwrap_or_default());
        ran += ended;
    }
    // A division by zero or an index outside ends others early.
    assert!(ran >= count as usize, "only {ran} of {} kernels ran to their end", 2 * count);
    println!("{ran} kernels as plain Rust");
}

/// What the program `device` does on a GPU, on the simulator: guard zones, arguments and the choice of the variant.
#[test]
fn a_launch_gives_what_the_simulator_gives() {
    let stream = Device::simulator().stream();
    let (first, count) = (number("DIFFERENTIAL_SEED", 1), number("DIFFERENTIAL_KERNELS", 8) / 2);
    for family in Family::ALL {
        for seed in first..first + count {
            let trial = Trial::opaque(family, seed);
            if let Verdict::Failed(failure) = trial.on_device(&stream) {
                panic!("{family:?}, seed {seed}: {failure:?}\n{}\n{}", trial.text(), trial.arguments());
            }
        }
    }
}

#[test]
fn a_wrong_kernel_is_seen_and_made_small() {
    let wrong = |seed: &u64| {
        let trial = Trial::new(Family::Arithmetic, *seed);
        matches!(trial.against_another_reference(), Verdict::Failed(_))
    };
    let seen = (1..30).filter(wrong).count();
    assert!(seen >= 10, "of 29 kernels with other numbers {seen} were called wrong");
    let trial = Trial::new(Family::Arithmetic, 3);
    let small = trial.reduced_while(600, &mut |small| small.text().contains(" / "));
    let lines = small.text().lines().count();
    assert!(lines <= 12 && small.text().contains(" / "), "{}", small.text());
}
