//! `C = A B` by the kernels of the examples: any shape, operands by rows or by columns, several types.
//!
//! ```text
//! tensors ──describe──► Product ──Plan::of──► Plan: the place of each matrix, which kernels make which parts ──run──► C
//! ```
//!
//! Law: the product is the same whichever kernels make it, up to the order of its sums and what the caller lets operands be
//! rounded to.

mod blockwise;
mod description;
mod epilogue;
mod grouped;
mod kernel;
mod plan;
mod workspace;

pub use blockwise::{BLOCK, Scaled, multiply_block_scaled};
pub use description::{Machine, Matrix, Precision, Product};
pub use epilogue::{Epilogue, epilogue_set, multiply_then, multiply_then_by};
#[doc(hidden)]
pub use grouped::grouped_picked;
pub use grouped::{grouped_matmul, grouped_matmul_by};
pub use kernel::Kernel;
pub use plan::{Part, Place, Plan, few_rows, small_tiles};
pub use workspace::Workspace;

use crate::{is_unaligned, refused, same, separate};
use layout_cuda::{
    Arch, Argument, Elem, Element, Error, LaunchConfig, Stream, TensorArg, TensorArgMut, TensorView,
    TensorViewMut,
};
use workspace::{Operand, kept, operands, resized};

/// What a caller may say of how a product is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// The kernel; the fastest for the shape and the device where there is none.
    pub kernel: Option<Kernel>,
    /// What float32 operands may be rounded to, where the kernel is not said.
    pub precision: Precision,
    /// Its launch: another parameter set than the fastest, for example.
    pub config: LaunchConfig<'a>,
}

impl From<Kernel> for Options<'_> {
    fn from(kernel: Kernel) -> Self {
        Options { kernel: Some(kernel), precision: kernel.precision(), ..Options::default() }
    }
}

/// `c = a b`, of matrices one of whose modes is contiguous: A and B by rows or by columns, C by rows. Asynchronous.
///
/// Of float32 in full or as TF32, of 16-bit floats, and of 8-bit floats with a C of 16-bit floats or float32, with sums in
/// float32; of float64 with sums in float64; of `i8` with a C of `i32`, exact modulo 2³².
///
/// # Errors
/// Shapes that disagree, matrices that are otherwise than the kernel takes them, a device without memory for what has to be
/// moved, or what NVRTC, the driver or the simulator say. Nothing has run where the arguments do not fit.
///
/// ```
/// use layout_cuda::{Device, bf16};
/// use layout_kernels::product::{Options, Workspace, multiply};
///
/// let device = Device::simulator();
/// let values = |count: usize| (0..count).map(|i| bf16::from_f32((i % 5) as f32)).collect::<Vec<_>>();
/// let a = device.upload(&values(15), [3, 5])?;
/// // The columns of B one after another: 0 1 2 3 4 each.
/// let b = device.upload_strided(&values(35), [5, 7], [1, 5])?;
/// let mut c = device.zeros::<bf16, 2>([3, 7])?;
/// multiply(&device.stream(), Options::default(), &mut Workspace::default(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?[0], bf16::from_f32(30.0));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn multiply<'o, T: Element, U: Element>(
    stream: &Stream,
    options: impl Into<Options<'o>>,
    workspace: &mut Workspace<T, U>,
    a: &impl TensorArg<T, 2>,
    b: &impl TensorArg<T, 2>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    let (a, b, mut c) = (in_lines(&a.view())?, in_lines(&b.view())?, c.view_mut());
    let Options { kernel, precision, config } = options.into();
    let (operand, result) = (T::ELEM, U::ELEM);
    let product = Product {
        a: Matrix::of(&a),
        b: Matrix::of(&b),
        c: Matrix::of(&c.view()),
        operand,
        result,
        precision,
    };
    agree(&product)?;
    separate("matmul", "c", &c)?;
    let machine = Machine::of(stream.device());
    if kernel.is_none() {
        has_kernel(&product, machine)?;
    }
    let plan = Plan::of(&product, machine, kernel, config.set);
    let whole = [a.part(0, a.shape(), a.strides())?, b.part(0, b.shape(), b.strides())?];
    match planned(stream, config, &plan, workspace, whole, &mut c) {
        done if is_unaligned(&done) && !matches!(kernel, Some(Kernel::Own(_))) => {
            planned(stream, config, &plan.moved(&product), workspace, [a, b], &mut c)
        }
        done => done,
    }
}

/// Makes a product as it is planned.
fn planned<T: Element, U: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    plan: &Plan,
    workspace: &mut Workspace<T, U>,
    ab: [TensorView<'_, T, 2>; 2],
    c: &mut TensorViewMut<'_, U, 2>,
) -> Result<(), Error> {
    let Workspace { a: own_a, b: own_b, c: own_c } = workspace;
    let operands = operands(stream, [plan.a, plan.b], ab, [own_a, own_b])?;
    match plan.c {
        Place::Here => run(stream, config, &plan.parts, operands, c),
        Place::Moved { lines, pitch, .. } => {
            let kept = kept(stream, [lines, pitch], own_c)?;
            run(stream, config, &plan.parts, operands, &mut kept.view_mut())?;
            let from = kept.part(0, c.shape(), kept.strides())?;
            resized(stream, &from, c)
        }
    }
}

/// The same elements: a mode of one element is taken for contiguous where no other one is.
fn in_lines<'a, T: Element>(matrix: &TensorView<'a, T, 2>) -> Result<TensorView<'a, T, 2>, Error> {
    let (shape, mut strides) = (matrix.shape(), matrix.strides());
    if let (false, Some(mode)) = (strides.contains(&1), (0..2).rev().find(|mode| shape[*mode] == 1)) {
        strides[mode] = 1;
    }
    matrix.part(0, shape, strides)
}

/// What no kernel can see, since it is given parts of the matrices: the extents are those of one product, and one mode of each
/// operand is contiguous.
fn agree(product: &Product) -> Result<(), Error> {
    let Product { a, b, c, .. } = product;
    for (name, matrix) in [("a", a), ("b", b)] {
        if matrix.strides[matrix.along()] != 1 && matrix.shape.iter().all(|extent| *extent > 1) {
            let values = format!("strides {:?}; `movement::permute` copies it without gaps", matrix.strides);
            return refused("matmul", &format!("one mode of `{name}` is contiguous"), values);
        }
    }
    if c.strides[1] != 1 && c.shape[1] > 1 && c.shape[0] > 0 {
        let values = format!("strides {:?}; `movement::permute` copies it", c.strides);
        return refused("matmul", "`c` is by rows", values);
    }
    same("multiply", "b", 0, b.shape[0], ("K", "a"), a.shape[1])?;
    same("multiply", "c", 0, c.shape[0], ("M", "a"), a.shape[0])?;
    same("multiply", "b", 1, b.shape[1], ("N", "c"), c.shape[1])?;
    Ok(())
}

/// Refuses types that no kernel of the library multiplies on this machine.
fn has_kernel(product: &Product, machine: Machine) -> Result<(), Error> {
    let Product { operand, result, .. } = product;
    let known = match operand {
        Elem::F32 | Elem::F64 => result == operand,
        Elem::F16 | Elem::Bf16 => matches!(result, Elem::F16 | Elem::Bf16 | Elem::F32),
        Elem::E4m3 | Elem::E5m2 => matches!(result, Elem::F16 | Elem::Bf16 | Elem::F32),
        Elem::I8 => *result == Elem::I32,
        _ => false,
    };
    if !known {
        let there = "f32, f64, f16, bf16, e4m3 and e5m2 with a C of 16 or 32 bits, i8 with a C of i32";
        return refused(
            "matmul",
            &format!("there are products of {there}"),
            format!("A, B of {operand}, C of {result}"),
        );
    }
    if *operand == Elem::F64 && !machine.arch.includes(Kernel::Dgemm.arch()) {
        let values = format!("the device is {}", machine.arch);
        return refused("matmul", &format!("f64 is of {} and later", Kernel::Dgemm.arch()), values);
    }
    if *operand == Elem::Bf16 && !machine.arch.includes(Arch::BASELINE) {
        return refused(
            "matmul",
            "bf16 is of sm_80 and later; f16 has a kernel here",
            format!("the device is {}", machine.arch),
        );
    }
    Ok(())
}

/// Launches the parts.
fn run<T: Element, U: Element>(
    stream: &Stream,
    config: LaunchConfig<'_>,
    parts: &[Part],
    [a, b]: [Operand<'_, T>; 2],
    c: &mut TensorViewMut<'_, U, 2>,
) -> Result<(), Error> {
    let strides = c.strides();
    for Part { kernel, set, rows, columns, into, depth } in parts {
        let a = a.part([rows.clone(), 0..depth[0]])?;
        let b = b.part([0..depth[1], columns.clone()])?;
        let start = rows.start * strides[0] + into.start * strides[1];
        let mut c = c.part_mut(start, [rows.len(), into.len()], strides)?;
        let config = LaunchConfig { set: set.as_ref(), ..config };
        let mut arguments = [Argument::read(&a), Argument::read(&b), Argument::write(&mut c)];
        layout_cuda::launch(kernel.definition(), stream, config, &mut arguments)?;
    }
    Ok(())
}
