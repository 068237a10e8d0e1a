//! The kernels' texts: NVRTC takes what a step of the default configuration launches, and none of it spills.

use layout_cuda::code::{Budget, check_all};
use layout_llama::kernels::{add_norm, append, argmax, embed_norm, swiglu};

#[test]
fn no_kernel_of_a_step_spills() {
    let step = [
        &embed_norm::DEFINITION,
        &add_norm::DEFINITION,
        &append::DEFINITION,
        &swiglu::DEFINITION,
        &argmax::DEFINITION,
    ];
    let table = check_all(&step, &["sm_90a"]).expect("NVRTC");
    println!("{table}");
    table.assert(Budget::new().registers(128));
}
