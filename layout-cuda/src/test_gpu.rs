//! The devices that tests run on: the simulator always, the first GPU where there is one.

use crate::Device;

/// The simulator, and the first GPU. Where there is no GPU it says so, and fails under `REQUIRE_GPU=1`.
pub fn devices() -> Vec<Device> {
    let mut devices = vec![Device::simulator()];
    devices.extend(gpu());
    devices
}

/// The first GPU, under the same rule.
pub fn gpu() -> Option<Device> {
    match Device::gpu(0) {
        Ok(device) => Some(device),
        Err(error) => {
            let required = std::env::var("REQUIRE_GPU").is_ok_and(|value| value == "1");
            assert!(!required, "REQUIRE_GPU=1, and {error}");
            println!("skipped: no device ({error})");
            None
        }
    }
}
