//! Another kernel in a kernel's place: how a program's own launches are run with a changed kernel.
//!
//! Law: what one thread replaces no other thread sees, and nothing is replaced once the function has returned or panicked.

use std::cell::RefCell;

use layout_compiler::Definition;
use layout_simulator::Options;

thread_local! {
    static REPLACED: RefCell<Vec<(&'static Definition, &'static Definition, Options)>> =
        const { RefCell::new(Vec::new()) };
}

/// Runs `launches`; meanwhile this thread's launches of `kernel` take `other`, which must have the same arguments, and on the
/// simulator these options.
///
/// With it the tests of a kernel are themselves tested: without a barrier of it (see
/// [`Definition::kernel`] and [`layout_compiler::wire`]) they should fail.
///
/// ```
/// use layout_cuda::{Device, Options, testing, tiled_kernel};
///
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn one(x: &mut LayoutTensor<i32, RowMajor<1>>) {
///     x[[0]] = 1;
/// }
/// #[tiled_kernel(block = [1], grid = [1])]
/// fn two(x: &mut LayoutTensor<i32, RowMajor<1>>) {
///     x[[0]] = 2;
/// }
/// let device = Device::simulator();
/// let mut x = device.zeros::<i32, 1>([1])?;
/// testing::replaced(&one::DEFINITION, &two::DEFINITION, Options::default(), || {
///     one::launch(&device.stream(), &mut x)
/// })?;
/// assert_eq!(x.download()?, [2]);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn replaced<T>(
    kernel: &'static Definition,
    other: &'static Definition,
    options: Options,
    launches: impl FnOnce() -> T,
) -> T {
    struct Restore;
    impl Drop for Restore {
        fn drop(&mut self) {
            REPLACED.with_borrow_mut(|list| list.pop());
        }
    }
    REPLACED.with_borrow_mut(|list| list.push((kernel, other, options)));
    let _restore = Restore;
    launches()
}

/// The kernel that this thread's launches of one take, and the simulator's options where they are not the launch's.
pub(crate) fn taken(kernel: &'static Definition) -> (&'static Definition, Option<Options>) {
    REPLACED.with_borrow(|list| {
        let found = list.iter().rev().find(|(from, ..)| std::ptr::eq(*from, kernel));
        found.map_or((kernel, None), |(_, to, options)| (*to, Some(*options)))
    })
}
