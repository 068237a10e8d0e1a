//! Assertions that fail on a GPU: records in the host's memory, and the error that they make of a driver's status.
//!
//! Law: a record is written by one thread of a launch that then stops its context, and the host reads it only where a call of
//! the driver has failed in that context. It is complete where its first word is [`COMPLETE`].

use std::sync::{Mutex, PoisonError};

use cudarc::driver::{result, sys};
use layout_compiler::Checked;
use layout_compiler::launch::{FAILURE_WORDS, KernelParameter};
use layout_compiler::program::{Access, Message};

use crate::device::Gpu;
use crate::driver::{DriverError, check};

/// The first word of a record that is written to its end.
const COMPLETE: u64 = 2;

/// An assertion that failed in a kernel on a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedAssertion {
    /// The kernel.
    pub kernel: String,
    /// Its Rust file.
    pub file: String,
    /// The line in it, 0 if unknown.
    pub line: u32,
    /// The message, with its values.
    pub message: String,
    /// `thread_idx`
    pub thread: [u32; 3],
    /// `block_idx`
    pub block: [u32; 3],
}

impl std::fmt::Display for FailedAssertion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let FailedAssertion { kernel, file, line, message, thread: [tx, ty, tz], block: [bx, by, bz] } = self;
        write!(
            f,
            "kernel `{kernel}`: assertion failed: {message}\n  {file}:{line}, thread ({tx}, {ty}, {tz}) of block ({bx}, {by}, {bz})\n\
             the GPU's context ended with it: what was on the device is lost to this process"
        )
    }
}

/// The record of a kernel that is loaded in a context, and the messages of its assertions.
struct Record {
    /// The context's handle.
    context: usize,
    /// The address of [`FAILURE_WORDS`] words.
    address: usize,
    kernel: &'static str,
    file: &'static str,
    /// The line and the message of each assertion.
    assertions: Vec<(u32, Message<Access>)>,
}

/// The records of all kernels with assertions; like the kernels they stay as long as the process.
static RECORDS: Mutex<Vec<Record>> = Mutex::new(Vec::new());

/// The address of a new record for a kernel, 0 for one without assertions.
///
/// # Errors
/// The failure of the allocation.
pub(crate) fn record(
    gpu: &Gpu,
    checked: &Checked,
    (kernel, file): (&'static str, &'static str),
) -> Result<u64, DriverError> {
    if !checked.plan().parameters.contains(&KernelParameter::Failure) {
        return Ok(0);
    }
    check("cuCtxSetCurrent", gpu.context.bind_to_thread())?;
    let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP;
    // SAFETY: the memory is written before it is read; nothing frees it.
    let memory = check("cuMemHostAlloc", unsafe { result::malloc_host(FAILURE_WORDS * 8, flags) })?;
    // SAFETY: the driver has given so many bytes, at least 8-byte aligned.
    unsafe { memory.cast::<u8>().write_bytes(0, FAILURE_WORDS * 8) };
    let assertions =
        checked.assertions().into_iter().map(|(line, message)| (line, message.clone())).collect();
    let (context, address) = (gpu.context.cu_ctx() as usize, memory as usize);
    // The list is only ever pushed to, so that it is whole even if a holder of the lock panicked.
    let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
    records.push(Record { context, address, kernel, file, assertions });
    // Under unified addressing, which every 64-bit system with CUDA 12 has, the device has the same address.
    Ok(address as u64)
}

/// The assertion that a failed call of the driver is about, if it is about one.
#[cold]
pub(crate) fn behind(status: sys::CUresult) -> Option<FailedAssertion> {
    use sys::CUresult as Status;
    if !matches!(
        status,
        Status::CUDA_ERROR_LAUNCH_FAILED | Status::CUDA_ERROR_ILLEGAL_INSTRUCTION | Status::CUDA_ERROR_ASSERT
    ) {
        return None;
    }
    let current = result::ctx::get_current().ok().flatten().map(|context| context as usize);
    let records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let own = records.iter().filter(|record| current.is_none_or(|current| current == record.context));
    own.into_iter().find_map(|record| {
        // SAFETY: the memory is of so many words and is never freed; the launch that wrote it has ended.
        let words =
            std::array::from_fn(|word| unsafe { (record.address as *const u64).add(word).read_volatile() });
        record.read(&words)
    })
}

impl Record {
    fn read(&self, words: &[u64; FAILURE_WORDS]) -> Option<FailedAssertion> {
        let [COMPLETE, number, bx, by, bz, tx, ty, tz, bits @ ..] = words else { return None };
        let (line, message) = self.assertions.get(usize::try_from(*number).ok()?)?;
        let mut bits = bits.iter().copied();
        Some(FailedAssertion {
            kernel: self.kernel.to_owned(),
            file: self.file.to_owned(),
            line: *line,
            message: message.text(|| bits.next().unwrap_or_default()),
            thread: [tx, ty, tz].map(|axis| *axis as u32),
            block: [bx, by, bz].map(|axis| *axis as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use layout_compiler::program::{MessagePart, Value};
    use layout_compiler::{Constant, Elem};

    #[test]
    fn a_record_is_read_once_it_is_complete() {
        let value =
            |elem| MessagePart::Value(Value::Constant(Constant { elem, bits: 0 }), elem, <_>::default());
        let parts = vec![MessagePart::Text("i is ".to_owned()), value(Elem::I32), value(Elem::F32)];
        let assertions = vec![(3, Message { parts: vec![] }), (7, Message { parts })];
        let record = Record { context: 0, address: 0, kernel: "k", file: "k.rs", assertions };
        let mut words = [0; FAILURE_WORDS];
        words[1..8].copy_from_slice(&[1, 4, 5, 6, 1, 2, 3]);
        words[8..10].copy_from_slice(&[u64::MAX, 1.5f32.to_bits().into()]);
        assert_eq!(record.read(&words), None);
        words[0] = COMPLETE;
        let failed = record.read(&words).expect("a complete record");
        assert_eq!((failed.line, failed.message.as_str()), (7, "i is -11.5"));
        assert!(failed.to_string().contains("k.rs:7, thread (1, 2, 3) of block (4, 5, 6)"), "{failed}");
        words[1] = 2;
        assert_eq!(record.read(&words), None);
    }
}
