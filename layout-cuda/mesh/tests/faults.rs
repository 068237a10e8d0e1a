//! A rank that fails, panics or stalls is an error of all others within the time limit; so is a missing NCCL.

mod processes;

use layout_mesh::{Member, MeshError, Result, World};
use processes::summed;
use std::time::{Duration, Instant};

#[test]
fn a_rank_that_fails_or_panics_is_reported() {
    let world = World::simulators(3).expect("a world");
    let fails: fn(&Member) -> Result<f32> = |_| Err(MeshError::Broken { by: "the disk is full".into() });
    let panics: fn(&Member) -> Result<f32> = |_| std::panic::resume_unwind(Box::new("planted"));
    for (how, body) in
        [("failed: these ranks go on no more, after: the disk is full", fails), ("panicked", panics)]
    {
        let seen = std::sync::Mutex::new(Vec::new());
        let start = Instant::now();
        let result = world.run(|member| match member.rank() {
            1 => body(member),
            _ => summed(member).inspect_err(|error| seen.lock().expect("no panic").push(error.to_string())),
        });
        assert!(result.is_err() && start.elapsed() < Duration::from_secs(10));
        let seen = seen.into_inner().expect("no panic");
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen.iter().all(|error| error.contains(&format!("rank 1 {how}"))), "{seen:?}");
    }
}

#[test]
fn a_rank_that_stalls_is_late() {
    let limit = Duration::from_secs(1);
    let world = World::simulators(3).expect("a world").limit(limit);
    let waited = std::sync::Mutex::new(Vec::new());
    let result = world.run(|member| {
        if member.rank() == 2 {
            std::thread::sleep(limit * 4);
            return Ok(0.0);
        }
        let start = Instant::now();
        let result = summed(member);
        waited.lock().expect("no panic").push(start.elapsed());
        result
    });
    assert!(matches!(&result, Err(MeshError::Late { absent, .. }) if absent == &[2]), "{result:?}");
    let waited = waited.into_inner().expect("no panic");
    assert!(waited.len() == 2 && waited.iter().all(|time| *time < limit * 3), "{waited:?}");
}

#[test]
fn without_nccl_the_error_says_how_to_get_it() {
    let error = MeshError::NoNccl { searched: vec!["some/lib".into()], refused: vec![] }.to_string();
    assert!(
        error.contains("no NCCL in 1 folders") && error.contains("pip install nvidia-nccl-cu13"),
        "{error}"
    );
    assert!(error.contains("LAYOUT_NCCL"), "{error}");
    let text = layout_mesh::doctor().to_string();
    assert!(text.starts_with("NCCL     ") && text.contains("\nmesh     "), "{text}");
}
