//! A tensor of a Python library, while one call lasts.
//!
//! Law: it is read where it is; its memory is there as long as the Python object, which the caller of the function holds.

use crate::error::{launch_error, tensor_error};
use dlpark::DlpackFlags;
use dlpark::ffi::DLDeviceType;
use dlpark::python::consumer::exchange::ExchangeApi;
use dlpark::python::{DlpackStream, ImportRequest, ImportedDlpack, StreamArg};
use layout_cuda::cudarc::driver::CudaSlice;
use layout_cuda::{Argument, Device, Elem, Stream, TensorBytes};
use layout_dlpack::stream_of;
use layout_dlpack::{Described, DlpackError};
use pyo3::Borrowed;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::ffi::PyTypeObject;
use pyo3::prelude::*;
use std::ffi::c_void;
use std::mem::ManuallyDrop;

/// The streams of the tensors of a call: the one to launch on, and those of other libraries, or of none, beside it.
pub(crate) struct Streams {
    pub(crate) own: Stream,
    others: Vec<Stream>,
}

impl Streams {
    /// The launch comes after what the other libraries have started so far.
    ///
    /// # Errors
    /// `RuntimeError` where the driver refuses it.
    pub(crate) fn begin(&self) -> PyResult<()> {
        self.others.iter().try_for_each(|other| after(&self.own, other))
    }

    /// What the other libraries start from now on comes after the launch.
    ///
    /// # Errors
    /// As [`Streams::begin`].
    pub(crate) fn end(&self) -> PyResult<()> {
        self.others.iter().try_for_each(|other| after(other, &self.own))
    }
}

fn after(later: &Stream, earlier: &Stream) -> PyResult<()> {
    let (Some(later), Some(earlier)) = (later.cuda(), earlier.cuda()) else { return Ok(()) };
    let failed =
        |error| PyRuntimeError::new_err(format!("two libraries' streams are not ordered: {error:?}"));
    later.join(earlier).map_err(failed)
}

/// A tensor, and the stream that its library works on.
pub struct Operand {
    described: Described,
    read_only: bool,
    /// Of a CUDA tensor: null is the default stream.
    stream: *mut c_void,
    /// On a GPU, the memory as cudarc has it. It is never freed: it is the library's.
    slice: Option<ManuallyDrop<CudaSlice<u8>>>,
    /// What keeps the memory where a capsule was given for it.
    _capsule: Option<ImportedDlpack>,
}

impl Drop for Operand {
    fn drop(&mut self) {
        if let Some(slice) = self.slice.take() {
            let _ = ManuallyDrop::into_inner(slice).leak();
        }
    }
}

/// The type of the last object that was taken, and its library's C functions, where it has them. For the arguments of one call, which
/// hold the type.
pub(crate) type Known = Option<(*mut PyTypeObject, Option<ExchangeApi>)>;

/// The default stream, which a library that has no C functions is asked to be ready on.
struct OnDefault;

// SAFETY: the default stream of a GPU is always there; a CPU takes none.
unsafe impl DlpackStream for OnDefault {
    fn as_python_arg(&self, _: Python<'_>, device: dlpark::ffi::DLDevice) -> PyResult<StreamArg> {
        use dlpark::python::consumer::stream::{cuda, none};
        Ok(if device.device_type == DLDeviceType::CUDA { cuda(std::ptr::null_mut()) } else { none() })
    }
}

fn described(imported: &ImportedDlpack) -> Result<(Described, bool), DlpackError> {
    match imported {
        // SAFETY: the capsule's tensor is described by who made it, and kept beside what is made of it here.
        ImportedDlpack::Legacy(tensor) => Ok((unsafe { Described::new(tensor.tensor()) }?, false)),
        ImportedDlpack::Versioned(tensor) => {
            let read_only = tensor.flags().contains(DlpackFlags::READ_ONLY);
            // SAFETY: as above.
            Ok((unsafe { Described::new(tensor.tensor()) }?, read_only))
        }
    }
}

/// Refuses a tensor where no launch can work.
fn placed(what: &str, described: &Described) -> PyResult<()> {
    match described.device().device_type {
        DLDeviceType::CPU | DLDeviceType::CUDA => Ok(()),
        other => Err(PyValueError::new_err(format!(
            "{what}: it is on a device of DLPack's kind {}; move it to a CUDA GPU, or to the CPU for the simulator",
            other.0
        ))),
    }
}

impl Operand {
    /// Takes an object that speaks DLPack; `what` names it in errors.
    ///
    /// # Errors
    /// `TypeError` where it is no tensor, or its elements are of no type that kernels have; `ValueError` where it cannot be one's
    /// argument.
    pub fn new(what: &str, object: &Bound<'_, PyAny>) -> PyResult<Operand> {
        Operand::beside(what, object.as_borrowed(), true, &mut None)
    }

    /// As [`Operand::new`], beside others of the same call: a library is asked for its C functions once for all tensors of a type. One
    /// that is not `written` is read whatever its library says of writing.
    pub(crate) fn beside(
        what: &str,
        object: Borrowed<'_, '_, PyAny>,
        written: bool,
        known: &mut Known,
    ) -> PyResult<Operand> {
        let named = |error| tensor_error(what, error);
        let kind = object.get_type_ptr();
        let api = match known {
            Some((same, api)) if *same == kind => api,
            _ => &mut known.insert((kind, ExchangeApi::from_object(object)?)).1,
        };
        if let Some(api) = api {
            // SAFETY: the library describes its own tensor, which is read before the description goes.
            let read = api.with_tensor_view_no_sync(object, |tensor, stream| unsafe {
                Described::new(tensor).map(|described| (described, stream))
            });
            let (described, stream) = read?.map_err(named)?;
            placed(what, &described)?;
            // Only a tensor that is handed over says whether it may be written.
            let read_only = written && {
                let (handed, _) = api.import_managed_no_sync(object)?.into_parts();
                handed.flags().contains(DlpackFlags::READ_ONLY)
            };
            return Ok(Operand { described, read_only, stream, slice: None, _capsule: None });
        }
        let request = match object.hasattr("__dlpack__")? {
            true => ImportRequest::new(object)?,
            false => {
                let found = object.get_type().name()?.to_string();
                return Err(PyTypeError::new_err(format!("{what}: a tensor was expected, not `{found}`")));
            }
        };
        let on_gpu = request.device().is_ok_and(|device| device.device_type == DLDeviceType::CUDA);
        let stream: Option<&dyn DlpackStream> = if on_gpu { Some(&OnDefault) } else { None };
        let imported = request.import(stream, None)?;
        let (described, read_only) = self::described(&imported).map_err(named)?;
        placed(what, &described)?;
        let stream = std::ptr::null_mut();
        Ok(Operand { described, read_only, stream, slice: None, _capsule: Some(imported) })
    }

    /// The element type.
    ///
    /// # Errors
    /// `TypeError` where kernels have no such type.
    pub fn elem(&self, what: &str) -> PyResult<Elem> {
        let (code, bits, lanes) = self.described.word();
        self.described.elem().ok_or_else(|| {
            PyTypeError::new_err(format!(
                "{what}: kernels have no elements of DLPack's code {code} with {bits} bits and {lanes} lanes"
            ))
        })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        self.described.shape()
    }

    /// Where it is: kind and number.
    fn place(&self) -> (u32, i32) {
        let device = self.described.device();
        (device.device_type.0, if device.device_type == DLDeviceType::CPU { 0 } else { device.device_id })
    }

    /// Whether the two have a byte in common, as far as each reaches.
    pub(crate) fn meets(&self, other: &Operand) -> bool {
        let range = |operand: &Operand| {
            let first = operand.described.first() as usize;
            (first, first.saturating_add(operand.described.bytes()))
        };
        let ((a, a_end), (b, b_end)) = (range(self), range(other));
        self.place() == other.place() && a < b_end && b < a_end
    }

    /// The stream to launch on: the simulator's for tensors of the CPU, else the one that the tensors' library works on.
    ///
    /// # Errors
    /// `ValueError` where they are on different devices, `RuntimeError` where the driver or the GPU is missing.
    pub fn stream<'a>(operands: impl Iterator<Item = &'a Operand> + Clone) -> PyResult<Stream> {
        Operand::streams(operands).map(|streams| streams.own)
    }

    /// The same, and the streams of other libraries among the tensors'.
    ///
    /// # Errors
    /// As [`Operand::stream`].
    pub(crate) fn streams<'a>(operands: impl Iterator<Item = &'a Operand> + Clone) -> PyResult<Streams> {
        let simulator = || Streams { own: Device::simulator().stream(), others: vec![] };
        let Some(first) = operands.clone().next() else { return Ok(simulator()) };
        if let Some(other) = operands.clone().find(|operand| operand.place() != first.place()) {
            let name = |operand: &Operand| match operand.place() {
                (kind, _) if kind == DLDeviceType::CPU.0 => "the CPU".to_string(),
                (_, number) => format!("GPU {number}"),
            };
            return Err(PyValueError::new_err(format!(
                "the tensors are on {} and on {}; move them to one device",
                name(first),
                name(other)
            )));
        }
        if first.place().0 == DLDeviceType::CPU.0 {
            return Ok(simulator());
        }
        // A library that has no C functions was asked to be ready on the default stream; one that has them gives its own. A stream of a
        // library's is in no order with the default one, or with another library's.
        let mut streams: Vec<*mut c_void> = operands.map(|operand| operand.stream).collect();
        streams.sort_unstable_by_key(|stream| (stream.is_null(), *stream as usize));
        streams.dedup();
        // SAFETY: the streams are those that the libraries say they work on now.
        let stream =
            |handle: *mut c_void| unsafe { stream_of(first.place().1, handle) }.map_err(launch_error);
        let mut all = streams.into_iter().map(stream);
        let own = all.next().unwrap_or_else(|| stream(std::ptr::null_mut()))?;
        Ok(Streams { own, others: all.collect::<PyResult<_>>()? })
    }

    /// The memory on a GPU, for [`Operand::argument`].
    pub(crate) fn place_on(&mut self, stream: &Stream) {
        if let (Some(cuda), None) = (stream.cuda(), &self.slice) {
            let (first, bytes) = (self.described.first() as u64, self.described.bytes());
            // SAFETY: the library describes so many bytes there; `drop` takes the slice apart before it would free them.
            self.slice = Some(ManuallyDrop::new(unsafe { cuda.upgrade_device_ptr::<u8>(first, bytes) }));
        }
    }

    /// The tensor as a kernel's argument, on the stream that it was placed on.
    ///
    /// # Errors
    /// `ValueError` where it is to be written and may not be.
    ///
    /// # Safety
    /// The object lives while the argument does, and nobody writes its memory meanwhile; where `written`, nobody reads it either.
    pub(crate) unsafe fn argument(&mut self, what: &str, written: bool) -> PyResult<Argument<'_>> {
        let elem = self.elem(what)?;
        if written {
            if self.read_only {
                return Err(tensor_error(what, DlpackError::ReadOnly));
            }
            self.described.writable().map_err(|error| tensor_error(what, error))?;
        }
        let (described, bytes) = (&self.described, self.described.bytes());
        let first = if bytes == 0 { std::ptr::NonNull::dangling().as_ptr() } else { described.first() };
        let memory = match (&mut self.slice, written) {
            (Some(slice), false) => TensorBytes::Gpu(slice.as_view()),
            (Some(slice), true) => TensorBytes::GpuMut(slice.as_view_mut()),
            // SAFETY: the library describes so many bytes there, and the caller promises who reads and writes them.
            (None, false) => TensorBytes::Host(unsafe { std::slice::from_raw_parts(first, bytes) }),
            // SAFETY: as above.
            (None, true) => TensorBytes::HostMut(unsafe { std::slice::from_raw_parts_mut(first, bytes) }),
        };
        Argument::tensor(elem, described.shape(), described.strides(), memory)
            .map_err(crate::error::launch_error)
    }
}
