//! What errors are in Python: `ValueError` for what the caller gave, `MemoryError`, and `RuntimeError` for the rest.

use layout_cuda::{Error, LaunchError};
use layout_dlpack::DlpackError;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};

/// The exception for a launch that failed.
pub fn launch_error(error: Error) -> PyErr {
    let text = error.to_string();
    match error {
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::Tensor(_)
        | Error::Launch(
            LaunchError::Arguments { .. }
            | LaunchError::Types { .. }
            | LaunchError::Parameters { .. }
            | LaunchError::ReadOnly { .. }
            | LaunchError::OtherDevice { .. }
            | LaunchError::TensorMap(_),
        ) => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// The exception for a tensor that is not taken: `what` names it.
pub fn tensor_error(what: &str, error: DlpackError) -> PyErr {
    match error {
        DlpackError::Tensor(error) => launch_error(*error),
        DlpackError::Type { .. } => PyTypeError::new_err(format!("{what}: {error}")),
        _ => PyValueError::new_err(format!("{what}: {error}")),
    }
}
