//! How far a launch is: reported once, after five seconds, where a minute remains.

use crate::progress::{Clock, when_slow};
use std::sync::Mutex;
use std::time::{Duration, Instant};

static SEEN: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

#[test]
fn a_launch_of_minutes_is_reported_once() {
    when_slow(|progress| SEEN.lock().expect("a list").push((progress.done, progress.blocks)));
    let began = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).expect("a time");
    let seen = || std::mem::take(&mut *SEEN.lock().expect("a list"));
    // Too early; a few seconds remain; a minute remains.
    Clock::since(began(1)).done("k", 1, 1000);
    let clock = Clock::since(began(6));
    clock.done("k", 500, 1000);
    assert_eq!(seen(), []);
    clock.done("k", 10, 1000);
    clock.done("k", 11, 1000);
    assert_eq!(seen(), [(10, 1000)]);
}
