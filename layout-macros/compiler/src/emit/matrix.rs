//! The matrix instructions of a warp: calls of the wrappers in `device/mma.cuh`.

use super::cuda_c::Emitter;
use super::wrap;
use crate::elem::Elem;
use crate::program::{LoadMatrix, Mma};

impl Emitter<'_> {
    /// `mma_16x8x8_tf32(&acc[i * 4], a, &b[j * 2]);`
    pub(super) fn mma(&mut self, mma: &Mma) {
        let function = mma.core.function();
        let fragments = [&mma.accumulator, &mma.left, &mma.right].into_iter();
        let Some(scales) = &mma.scales else {
            self.device.call(format!("{function}("));
            let arguments: Vec<_> = fragments.map(|part| self.address(part)).collect();
            return self.wrapped(|room| wrap::call(function, &arguments, room));
        };
        let function = format!("{function}_{}", if scales.elem == Elem::U8 { "ue8m0" } else { "ue4m3" });
        self.device.call(format!("{function}("));
        let all = fragments.chain([&scales.left, &scales.right]);
        let arguments: Vec<_> = all.map(|part| self.address(part)).collect();
        let called = format!("{function}<{}, {}>", scales.selector.byte, scales.selector.thread);
        self.wrapped(|room| wrap::call(&called, &arguments, room));
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
