//! From an operation and its operands to a launch.
//!
//! Law: what is written is new memory, of this call alone; operands are read. The steps are the same wherever they are.

use crate::operation::{Call, Operand, Operation, Slot};
use candle_core::{DType, Error, Layout, Result, Shape, bail};
use layout_cuda::{Argument, Elem, LaunchConfig, Stream, TensorBytes, launch_slice};

/// Memory of candle's, on one of its devices.
pub(crate) trait Memory: Sized {
    /// The type of its elements.
    fn dtype(&self) -> DType;
    /// Where its device's launches go.
    fn stream(&self) -> Result<Stream>;
    /// New memory beside it, of any content.
    fn beside(&self, dtype: DType, len: usize) -> Result<Self>;
    /// The elements in a range; none of them if it is beyond the end.
    fn read(&self, from: usize, to: Option<usize>) -> Option<TensorBytes<'_>>;
    /// All of it, to be written.
    fn write(&mut self) -> Option<TensorBytes<'_>>;
}

/// The types that both have: candle's name, and the Rust type.
macro_rules! with_types {
    ($apply:ident) => {
        $apply! { (U8, u8), (U32, u32), (I16, i16), (I32, i32), (I64, i64), (BF16, half::bf16), (F16, half::f16), (F32, f32), (F64, f64) }
    };
}
pub(crate) use with_types;

macro_rules! elem_of {
    ($(($dtype:ident, $type:ty)),*) => {
        /// The kernels' name of a type of candle's.
        fn elem(dtype: DType) -> Result<Elem> {
            match dtype {
                $(DType::$dtype => Ok(<$type as layout_cuda::Element>::ELEM),)*
                other => bail!("kernels have no elements of candle's type {other:?}"),
            }
        }
    };
}
with_types!(elem_of);

/// Strides by rows.
fn by_rows(shape: &[usize]) -> Vec<usize> {
    Layout::contiguous(shape).stride().to_vec()
}

/// The element type and the layout of a tensor argument.
struct Described {
    elem: Elem,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl Described {
    fn new(dtype: DType, shape: &[usize]) -> Result<Described> {
        Ok(Described { elem: elem(dtype)?, shape: shape.to_vec(), strides: by_rows(shape) })
    }
}

/// Launches, in the order of the operands' stream.
pub(crate) fn launch<M: Memory>(
    operation: &impl Operation,
    operands: &[(&M, &Layout)],
) -> Result<(M, Shape)> {
    let Some((first, _)) = operands.first() else { bail!("{}: it has no operand", operation.name()) };
    let stream = first.stream()?;
    let faces: Vec<Operand<'_>> =
        operands.iter().map(|(memory, layout)| Operand { dtype: memory.dtype(), layout }).collect();
    let Call { kernel, set, arguments, output: (dtype, shape) } =
        operation.call(&faces, stream.device()).map_err(|error| error.context(operation.name()))?;

    let mut output = first.beside(dtype, shape.elem_count())?;
    let mut scratch = Vec::new();
    let mut tensors = Vec::with_capacity(arguments.len());
    for slot in &arguments {
        tensors.push(match slot {
            Slot::Operand(number) => match operands.get(*number) {
                Some((memory, at)) => Some(Described {
                    elem: elem(memory.dtype())?,
                    shape: at.dims().to_vec(),
                    strides: at.stride().to_vec(),
                }),
                None => bail!("{}: operand {number} of {}", operation.name(), operands.len()),
            },
            Slot::Output => Some(Described::new(dtype, shape.dims())?),
            Slot::Scratch(dtype, shape) => {
                scratch.push(first.beside(*dtype, shape.iter().product())?);
                Some(Described::new(*dtype, shape)?)
            }
            Slot::Nothing(elem, modes) => {
                let shape = vec![0; *modes];
                Some(Described { elem: *elem, strides: by_rows(&shape), shape })
            }
            Slot::Value(_) => None,
        });
    }

    let (mut written, mut others) = (output.write(), scratch.iter_mut());
    let mut taken = Vec::with_capacity(arguments.len());
    for (slot, tensor) in arguments.into_iter().zip(&tensors) {
        let bytes = match slot {
            Slot::Value(value) => {
                taken.push(value);
                continue;
            }
            Slot::Operand(number) => {
                let (memory, at) = operands[number];
                memory.read(at.start_offset(), None)
            }
            Slot::Output => written.take(),
            Slot::Scratch(..) => others.next().and_then(M::write),
            Slot::Nothing(..) => first.read(0, Some(0)),
        };
        let (Some(bytes), Some(Described { elem, shape, strides })) = (bytes, tensor) else {
            bail!("{}: an argument has no memory, or the output is taken twice", operation.name())
        };
        taken.push(Argument::tensor(*elem, shape, strides, bytes).map_err(Error::wrap)?);
    }
    let config = LaunchConfig { set: Some(&set), ..LaunchConfig::default() };
    launch_slice(kernel, &stream, config, &mut taken).map_err(Error::wrap)?;
    drop(taken);
    Ok((output, shape))
}
