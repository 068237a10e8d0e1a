//! What a launch allocates on the host.
//!
//! Law: a launch of a ready kernel on one stream, without tensor maps, allocates nothing.

use crate::stub::{N, launch, with_stub};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations of the thread so far.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which counts.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: each function passes its arguments on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[test]
fn a_launch_allocates_nothing() {
    with_stub("a_launch_allocates_nothing", |stub| {
        let stream = stub.device().stream();
        let [x, mut y] = [(); 2].map(|()| stream.zeros([N]).expect("a tensor"));
        launch(&stream, &x, &mut y).expect("a launch");
        let before = COUNT.get();
        for _ in 0..100 {
            launch(&stream, &x, &mut y).expect("a launch");
        }
        // The stub has an allocator of its own.
        assert_eq!(COUNT.get(), before);
        let copied = x.download().expect("data");
        assert!(COUNT.get() > before && copied.len() == N, "the counter counts");
    });
}
