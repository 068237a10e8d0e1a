//! A kernel as a Python object that is called.

use crate::error::launch_error;
use crate::operand::Operand;
use crate::parameters::from_keywords;
use layout_compiler::ir::{ArgumentKind, TypeRef};
use layout_compiler::{Constant, Kernel as Ir};
use layout_cuda::{Argument, Definition, Elem, Element, LaunchConfig, ParamSet, launch_slice};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A kernel: called with its arguments in their order, tensors and numbers. Keywords are compile-time parameters, and `grid` where
/// the kernel gives none. A tensor that the kernel writes has to be apart from all others.
#[pyclass(frozen, module = "layout_python")]
pub struct Kernel {
    definition: &'static Definition,
    kernel: Ir,
    /// What every call chooses.
    chosen: Chosen,
}

/// Blocks of the grid, and parameters.
type Chosen = (Option<[u32; 3]>, Option<ParamSet>);

impl Kernel {
    /// The kernel of a definition, as `add` of a module takes it.
    ///
    /// # Errors
    /// `ValueError` where the program holds another version's kernel.
    pub fn new(definition: &'static Definition) -> PyResult<Kernel> {
        let kernel = definition
            .kernel()
            .map_err(|error| PyValueError::new_err(format!("kernel `{}`: {error}", definition.name)))?;
        Ok(Kernel { definition, kernel, chosen: (None, None) })
    }

    /// What keywords choose, beside what was chosen before.
    fn choose(&self, keywords: &Bound<'_, PyDict>) -> PyResult<Chosen> {
        let (grid, set) = &self.chosen;
        let (own, set) = from_keywords(&self.kernel, keywords, set.clone().unwrap_or_default())?;
        Ok((own.or(*grid), Some(set)))
    }

    /// The tensors among the arguments, and in the others' places nothing: a scalar's type may be a tensor's.
    fn operands(&self, arguments: &Bound<'_, PyTuple>) -> PyResult<Vec<Option<Operand>>> {
        let wanted = &self.kernel.arguments;
        if arguments.len() != wanted.len() {
            let names: Vec<&str> = wanted.iter().map(|argument| argument.name.as_str()).collect();
            return Err(PyTypeError::new_err(format!(
                "kernel `{}` takes {} arguments ({}), {} were given",
                self.kernel.name,
                wanted.len(),
                names.join(", "),
                arguments.len()
            )));
        }
        let (mut taken, mut known) = (Vec::with_capacity(wanted.len()), None);
        for (argument, object) in wanted.iter().zip(arguments.iter_borrowed()) {
            taken.push(match argument.kind {
                ArgumentKind::Tensor { mutable, .. } => {
                    Some(Operand::beside(&argument.name, object, mutable, &mut known)?)
                }
                ArgumentKind::Scalar(_) => None,
            });
        }
        Ok(taken)
    }

    /// The element type that a scalar has: its own, or that of the first tensor with the same type parameter.
    fn scalar_elem(&self, ty: TypeRef, operands: &[Option<Operand>]) -> PyResult<Option<Elem>> {
        match ty {
            TypeRef::Usize | TypeRef::Isize => Ok(None),
            TypeRef::Elem(elem) => Ok(Some(elem)),
            TypeRef::Parameter(number) => {
                let mut both = self.kernel.arguments.iter().zip(operands);
                let same = both.find_map(|(argument, operand)| match (&argument.kind, operand) {
                    (ArgumentKind::Tensor { elem, .. }, Some(operand)) if *elem == ty => {
                        Some((argument, operand))
                    }
                    _ => None,
                });
                match same {
                    Some((argument, operand)) => operand.elem(&argument.name).map(Some),
                    None => {
                        let name = self.kernel.types.get(number as usize).map_or("?", String::as_str);
                        Err(PyTypeError::new_err(format!("no tensor says what type `{name}` is")))
                    }
                }
            }
        }
    }
}

/// A number as a scalar of an element type, or as an index.
fn scalar(what: &str, elem: Option<Elem>, object: &Bound<'_, PyAny>) -> PyResult<Argument<'static>> {
    let named = |error: PyErr| {
        let text = format!("{what}: {}", error.value(object.py()));
        match error.is_instance_of::<PyOverflowError>(object.py()) {
            true => PyValueError::new_err(text),
            false => PyTypeError::new_err(text),
        }
    };
    let Some(elem) = elem else { return Ok(Argument::index(object.extract::<i64>().map_err(named)?)) };
    let constant = if elem.is_float() {
        Constant::float(elem, object.extract::<f64>().map_err(named)?)
    } else if elem == Elem::Bool {
        Some(object.extract::<bool>().map_err(named)?.constant())
    } else {
        Constant::integer(elem, object.extract::<i128>().map_err(named)?)
    };
    match constant {
        Some(constant) => Ok(Argument::constant(constant)),
        None => Err(PyValueError::new_err(format!("{what}: {object} is no {elem}"))),
    }
}

#[pymethods]
impl Kernel {
    #[pyo3(signature = (*arguments, **parameters))]
    fn __call__(
        &self,
        arguments: &Bound<'_, PyTuple>,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let own = parameters.map(|parameters| self.choose(parameters)).transpose()?;
        let (grid, set) = own.as_ref().unwrap_or(&self.chosen);
        let mut operands = self.operands(arguments)?;
        let streams = Operand::streams(operands.iter().flatten())?;
        let stream = &streams.own;
        let wanted = &self.kernel.arguments;
        for (number, argument) in wanted.iter().enumerate() {
            let ArgumentKind::Tensor { mutable: true, .. } = argument.kind else { continue };
            let Some(own) = &operands[number] else { continue };
            let others = operands.iter().enumerate().filter(|(other, _)| *other != number);
            let mut meeting =
                others.filter(|(_, other)| other.as_ref().is_some_and(|other| own.meets(other)));
            if let Some((other, _)) = meeting.next() {
                return Err(PyValueError::new_err(format!(
                    "kernel `{}` writes `{}`, which overlaps `{}`; give it a tensor of its own",
                    self.kernel.name, argument.name, wanted[other].name
                )));
            }
        }
        let mut scalars = Vec::with_capacity(operands.len());
        for (argument, object) in wanted.iter().zip(arguments.iter_borrowed()) {
            if let ArgumentKind::Scalar(ty) = argument.kind {
                scalars.push(scalar(&argument.name, self.scalar_elem(ty, &operands)?, &object)?);
            }
        }
        let (mut taken, mut scalars) = (Vec::with_capacity(operands.len()), scalars.into_iter());
        for (operand, wanted) in operands.iter_mut().zip(wanted) {
            if let Some(operand) = operand {
                operand.place_on(stream);
                let written = matches!(wanted.kind, ArgumentKind::Tensor { mutable: true, .. });
                // SAFETY: `arguments` holds the objects during the call. What is written is apart from all others, as was seen
                // above; on a GPU the library's own stream keeps the order, which those of others are joined to.
                taken.push(unsafe { operand.argument(&wanted.name, written) }?);
            } else {
                taken.extend(scalars.next());
            }
        }
        let config = LaunchConfig { set: set.as_ref(), grid: *grid, ..LaunchConfig::default() };
        streams.begin()?;
        launch_slice(self.definition, stream, config, &mut taken).map_err(launch_error)?;
        streams.end()
    }

    /// The kernel with parameters, and a grid, that every call has from now on; read once, where a call's keywords are read each time.
    #[pyo3(signature = (**parameters))]
    fn with_parameters(&self, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Kernel> {
        let chosen = parameters.map(|parameters| self.choose(parameters)).transpose()?;
        let chosen = chosen.unwrap_or_else(|| self.chosen.clone());
        Ok(Kernel { definition: self.definition, kernel: self.kernel.clone(), chosen })
    }

    /// The kernel's name.
    #[getter]
    fn name(&self) -> &'static str {
        self.definition.name
    }

    /// The CUDA C of the first variant.
    #[getter]
    fn source(&self) -> &'static str {
        self.definition.variants.first().map_or("", |variant| variant.text)
    }

    /// The names of the arguments, in their order.
    #[getter]
    fn arguments(&self) -> Vec<&str> {
        self.kernel.arguments.iter().map(|argument| argument.name.as_str()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<kernel {}({})>", self.definition.name, self.arguments().join(", "))
    }
}
