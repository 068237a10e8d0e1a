//! Tensors whose loads must not use the read-only cache.
//!
//! Law: a pointer is `const .. __restrict__` only if no load through it can be merged with a load of a tensor that
//! the kernel also writes. NVRTC 13.0 merges the loads of `c ? x[i] : y[i]` into one load through a selected pointer.
//! If only `x` is `const __restrict__`, that load uses the read-only cache and returns the old element of `y`
//! (observed on an H200).

use crate::check::Checked;
use crate::program::{Access, Part, Space, walk};
use std::collections::BTreeSet;

/// The tensor arguments that are only read, by loads as wide as those of a tensor that is read and written.
pub(super) fn ambiguous(checked: &Checked) -> BTreeSet<u32> {
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    walk::statements(&checked.body, &mut |part| match part {
        Part::Read(access) => reads.push(access),
        Part::Write(access) => writes.push(access),
        _ => {}
    });
    // An atomic operation reads and writes one access, and is no load.
    reads.retain(|read| !writes.iter().any(|write| std::ptr::eq(*read, *write)));
    let argument = |access: &&Access| match checked.tables.place(access.place).space {
        Space::Global(number) => {
            Some((number, access.width * checked.tables.place(access.place).elem.bytes()))
        }
        Space::Shared { .. } | Space::Remote { .. } | Space::Tensor { .. } | Space::Local => None,
    };
    let read: BTreeSet<(u32, u32)> = reads.iter().filter_map(argument).collect();
    let written: BTreeSet<u32> = writes.iter().filter_map(argument).map(|(number, _)| number).collect();
    let changing: BTreeSet<u32> =
        read.iter().filter(|(number, _)| written.contains(number)).map(|(_, width)| *width).collect();
    read.into_iter()
        .filter(|(number, width)| !written.contains(number) && changing.contains(width))
        .map(|(number, _)| number)
        .collect()
}
