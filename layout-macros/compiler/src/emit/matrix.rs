//! The matrix instructions of a warp: calls of the wrappers in `device/mma.cuh`.

use super::cuda_c::Emitter;
use super::wrap;
use crate::program::{LoadMatrix, Mma};

impl Emitter<'_> {
    /// `mma_16x8x8_tf32(&acc[i * 4], a, &b[j * 2]);`
    pub(super) fn mma(&mut self, mma: &Mma) {
        let function = mma.core.function();
        self.device.call(format!("{function}("));
        let arguments = [&mma.accumulator, &mma.left, &mma.right].map(|part| self.address(part));
        self.wrapped(|room| wrap::call(function, &arguments, room));
    }

    /// `load_matrix_4(&a[i * 4], shared_address(a_smem, ..));`
    pub(super) fn load_matrix(&mut self, load: &LoadMatrix) {
        let suffix = if load.transposed { "_transposed" } else { "" };
        let function = format!("load_matrix_{}{suffix}", load.count);
        self.device.call(format!("{function}("));
        let arguments = [self.address(&load.destination), self.shared_address(&load.source)];
        self.wrapped(|room| wrap::call(&function, &arguments, room));
    }
}
