//! Work that is shared among the machine's cores, so that one long test does not run on one of them alone.
//!
//! Law: each item is done once; a panic of one is the caller's.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Does the same with each item.
pub fn in_parallel<T: Sync>(items: &[T], each: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    each(item);
                }
            });
        }
    });
}
