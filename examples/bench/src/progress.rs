//! A bar on stderr while a measurement takes long; nothing is drawn where stderr is no terminal.
//!
//! Law: a bar is gone before anything else is printed, so that tables on stdout stay whole.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of so many steps.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn new(steps: usize) -> Progress {
        let bar = ProgressBar::new(steps as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed} {msg}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// What is measured next.
    pub fn start(&self, name: &str) {
        self.0.set_message(name.to_owned());
        self.0.tick();
    }

    /// One step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
