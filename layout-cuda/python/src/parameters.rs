//! Compile-time parameters by keyword: `kernel(x, y, T="bf16", EPILOGUE="relu", BM=128)`.
//!
//! Law: a value is of the kind that the kernel's attribute has for the name; a name that it has not is an error that says which
//! there are.

use layout_compiler::Kernel;
use layout_cuda::{Elem, ParamSet, ParamValue};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

/// The blocks of the grid that keywords name, and the set with the parameters that they name.
pub(crate) fn from_keywords(
    kernel: &Kernel,
    keywords: &Bound<'_, PyDict>,
    mut set: ParamSet,
) -> PyResult<(Option<[u32; 3]>, ParamSet)> {
    let mut grid = None;
    for (name, value) in keywords {
        let name: String = name.extract()?;
        match name.as_str() {
            "grid" => grid = Some(blocks(&value)?),
            _ => set = set.with(&name, of_parameter(kernel, &name, &value)?),
        }
    }
    Ok((grid, set))
}

/// `grid=4` or `grid=(4, 2)`: up to three extents, the others 1.
fn blocks(value: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    let given: Vec<u32> = match value.extract::<u32>() {
        Ok(one) => vec![one],
        Err(_) => value.extract()?,
    };
    let mut grid = [1; 3];
    match given.len() {
        1..=3 => grid[..given.len()].copy_from_slice(&given),
        count => return Err(PyValueError::new_err(format!("`grid` has {count} extents, 1 to 3 are taken"))),
    }
    Ok(grid)
}

fn of_parameter(kernel: &Kernel, name: &str, value: &Bound<'_, PyAny>) -> PyResult<ParamValue> {
    let Some(parameter) = kernel.parameters.iter().find(|parameter| parameter.name == name) else {
        let names: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
        let known = if names.is_empty() { "none".to_string() } else { names.join(", ") };
        let what = format!("kernel `{}` has no parameter `{name}`; it has {known}", kernel.name);
        return Err(PyTypeError::new_err(what));
    };
    if value.is_instance_of::<PyBool>() {
        return Ok(ParamValue::Bool(value.extract()?));
    }
    if let Ok(number) = value.extract::<i64>() {
        return Ok(ParamValue::Int(number));
    }
    let wrong = |expected: &str| PyTypeError::new_err(format!("parameter `{name}`: {expected}"));
    let Ok(word) = value.extract::<String>() else {
        return Err(wrong("a number, a truth value, or the name of a type or function is taken"));
    };
    let functions = parameter.values.iter().filter_map(|value| match value {
        ParamValue::Function(known) => Some(*known),
        ParamValue::Int(_) | ParamValue::Bool(_) | ParamValue::Type(_) => None,
    });
    if let Some(known) = functions.clone().find(|known| *known == word) {
        return Ok(ParamValue::Function(known));
    }
    match Elem::from_name(&word) {
        Some(elem) => Ok(ParamValue::Type(elem)),
        None => {
            let mut names: Vec<&str> = functions.collect();
            names.extend(Elem::ALL.map(Elem::name));
            Err(wrong(&format!("`{word}` is none of {}", names.join(", "))))
        }
    }
}
