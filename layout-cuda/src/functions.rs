//! The kernels that a device has ready, by definition and parameter set.

/// Ready kernels of one device.
#[derive(Default)]
pub(crate) struct Functions {}
