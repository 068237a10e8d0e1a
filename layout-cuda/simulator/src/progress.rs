//! How far a launch is, for programs whose users wait for it.
//!
//! Law: a launch is reported once, as soon as it has run for five seconds and is about to take a minute more. Launches whose
//! blocks wait for each other are not reported: they run together.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// After this time a launch is reported, if it takes a minute more.
const PATIENCE: Duration = Duration::from_secs(5);

static HOOK: OnceLock<fn(&Progress<'_>)> = OnceLock::new();

/// How far a launch is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The kernel.
    pub kernel: &'a str,
    /// Blocks that are done.
    pub done: u64,
    /// All of its blocks.
    pub blocks: u64,
    /// The time that these took.
    pub elapsed: Duration,
}

impl Progress<'_> {
    /// What the other blocks take, if they are like these.
    pub fn remaining(&self) -> Duration {
        let others = self.blocks.saturating_sub(self.done) as f64 / self.done.max(1) as f64;
        Duration::try_from_secs_f64(self.elapsed.as_secs_f64() * others).unwrap_or(Duration::MAX)
    }
}

/// Sets what is called, once for each launch that takes long. The first call counts.
pub fn when_slow(hook: fn(&Progress<'_>)) {
    let _ = HOOK.set(hook);
}

/// A launch's clock.
pub(crate) struct Clock {
    /// None without a hook: reading the time panics on WebAssembly.
    start: Option<Instant>,
    reported: AtomicBool,
}

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock { start: HOOK.get().map(|_| Instant::now()), reported: AtomicBool::new(false) }
    }

    /// The clock of a launch that began then.
    #[cfg(test)]
    pub(crate) fn since(start: Instant) -> Clock {
        Clock { start: Some(start), reported: AtomicBool::new(false) }
    }

    /// Some blocks of a launch are done.
    pub(crate) fn done(&self, kernel: &str, done: u64, blocks: u64) {
        let Some(start) = self.start.filter(|_| !self.reported.load(Relaxed)) else { return };
        let elapsed = start.elapsed();
        let progress = Progress { kernel, done, blocks, elapsed };
        let is_slow = elapsed >= PATIENCE && progress.remaining() >= Duration::from_secs(60);
        if let Some(hook) = HOOK.get().filter(|_| is_slow && !self.reported.swap(true, Relaxed)) {
            hook(&progress);
        }
    }
}
