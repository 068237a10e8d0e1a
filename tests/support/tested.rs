//! A kernel of the corpus whose test is the one that users write: `layout_cuda::testing` chooses sizes, values and layouts.

use layout_cuda::testing::{Failure, Passed, Test, kernel};
use layout_cuda::{Definition, Device};

/// A kernel, and how it is tested.
pub struct Tested {
    /// The kernel.
    pub definition: &'static Definition,
    test: fn(Test<'static>) -> Result<Passed, Box<Failure>>,
}

impl Tested {
    /// A kernel with its test: what the test says beyond the usual, and the reference.
    pub fn new(
        definition: &'static Definition,
        test: fn(Test<'static>) -> Result<Passed, Box<Failure>>,
    ) -> Tested {
        Tested { definition, test }
    }

    /// Runs the test on a device.
    ///
    /// # Errors
    /// The smallest failure.
    pub fn run(&self, device: &Device) -> Result<Passed, Box<Failure>> {
        (self.test)(kernel(self.definition).devices(std::slice::from_ref(device)).cases(40))
    }

    /// Runs the test on a device, and fails where it does.
    ///
    /// # Panics
    /// Where the kernel is wrong.
    pub fn check(&self, device: &Device) {
        match self.run(device) {
            Ok(passed) => println!("{:24} {passed}", self.definition.name),
            Err(failure) => panic!("{failure}"),
        }
    }
}
