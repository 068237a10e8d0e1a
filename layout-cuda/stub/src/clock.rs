//! Vector clocks: which operation surely ends before another begins.
//!
//! Law: `a.reaches(epoch)` iff the operation of that epoch is known to have ended where the clock is `a`.

/// An operation: its stream's number, and its own number on it, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    pub stream: usize,
    pub count: u64,
}

/// For each stream, how many of its operations are before.
#[derive(Clone, Debug, Default)]
pub struct Clock(Vec<u64>);

impl Clock {
    /// What either clock has is before.
    pub fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own = (*own).max(*other));
    }

    /// One more operation of a stream.
    pub fn step(&mut self, stream: usize) -> Epoch {
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] += 1;
        Epoch { stream, count: self.0[stream] }
    }

    /// How many operations of a stream are before.
    pub fn of(&self, stream: usize) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }

    /// Whether an operation is before.
    pub fn reaches(&self, epoch: Epoch) -> bool {
        self.of(epoch.stream) >= epoch.count
    }

    /// Whether all that is before the other clock is before this one.
    pub fn covers(&self, other: &Clock) -> bool {
        other.0.iter().enumerate().all(|(stream, count)| self.of(stream) >= *count)
    }
}
