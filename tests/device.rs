//! Every kernel on the first GPU: its results are the reference's, and the simulator's.
//!
//! Without a GPU it says `skipped: no device`, and fails under `REQUIRE_GPU=1`. The test binary alone is enough for
//! another machine: `root device --nocapture`; `DEVICE_KERNELS=fft,lu` names the kernels of a shorter run.

use layout_cuda::Device;
use layout_tests::kernels::{cases, tested};
use layout_tests::support::case::{Run, differ};
use layout_tests::support::cubin::arch_of_first;
use layout_tests::support::gpu::gpu;

#[test]
fn the_gpu_gives_what_reference_and_simulator_give() {
    let Some(gpu) = gpu() else { return };
    let simulator = Device::simulator();
    println!("device: {}", gpu.describe());
    let named = std::env::var("DEVICE_KERNELS").unwrap_or_default();
    let mut cases = cases();
    cases.retain(|case| named.is_empty() || named.split(',').any(|name| name == case.definition.name));
    assert!(!cases.is_empty(), "no kernel is named {named}");
    for case in cases {
        if let Some(other) = arch_of_first(case.definition).filter(|named| !gpu.arch().includes(*named)) {
            println!("{}: for {other}, not for {}", case.definition.name, gpu.arch());
            continue;
        }
        let (mut runs, mut elements) = (0, 0);
        case.runs(&gpu, |run, outcome| {
            let name = run.name(&case);
            outcome.check(&format!("GPU, {name}"));
            let simulated = (case.run)(&Run { device: &simulator, ..*run });
            let simulated = simulated.unwrap_or_else(|error| panic!("{name}: {error}"));
            differ(
                &outcome.found,
                &simulated.found,
                2.0 * outcome.bound,
                &format!("GPU and simulator, {name}"),
            );
            runs += 1;
            elements += outcome.found.len();
        });
        println!("{:24} {runs:4} runs, {elements:7} elements", case.definition.name);
    }
    tested().iter().for_each(|test| test.check(&gpu));
}
