//! The GPU that a test runs on, where there is one.

use layout_cuda::Device;

/// The first GPU. Without one it says `skipped: no device`, and fails under `REQUIRE_GPU=1`.
pub fn gpu() -> Option<Device> {
    match Device::gpu(0) {
        Ok(device) => Some(device),
        Err(error) => {
            assert!(!gpu_required(), "REQUIRE_GPU=1, and {error}");
            println!("skipped: no device ({error})");
            None
        }
    }
}

/// The simulator, and the GPU under the same rule.
pub fn devices() -> Vec<Device> {
    [Some(Device::simulator()), gpu()].into_iter().flatten().collect()
}

/// Whether a test that finds no GPU, or one too small for it, is to fail.
pub fn gpu_required() -> bool {
    std::env::var("REQUIRE_GPU").is_ok_and(|value| value == "1")
}

/// The first GPU of compute capability 9.0, under the same rule: another GPU is none.
pub fn hopper() -> Option<Device> {
    let device = gpu()?;
    let arch = device.properties().map(|properties| properties.arch.clone())?;
    if arch != "sm_90a" {
        assert!(!gpu_required(), "REQUIRE_GPU=1, and the device is {arch}, no sm_90a");
        println!("skipped: the device is {arch}, no sm_90a");
        return None;
    }
    Some(device)
}
