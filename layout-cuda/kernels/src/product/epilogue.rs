//! Products with something done to each sum before it is stored: bias and activation, a residual, a gate, a narrower type, scales.
//!
//! Law: `c = f(a b)`, element by element on the sums in float32 (of `i8` exact in `i32`), rounded once; what the description says is
//! what is computed, or it is an error before anything is launched.

use super::description::{Machine, Matrix, Precision, Product};
use super::plan::{Place, Plan};
use super::workspace::{Workspace, operands};
use super::{Kernel, agree};
use crate::kernels::gemm::gemm_then;
use crate::kernels::gemm_mma::gemm_mma_then;
use crate::kernels::gemm_tcgen05::gemm_tcgen05_then;
use crate::{is_unaligned, same};
use layout_cuda::{
    Arch, Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut,
};

/// What is done to the sums; vectors over columns of C, and matrices of C's shape.
#[derive(Clone, Copy, Debug)]
pub enum Epilogue<'a, V: Element> {
    /// `gelu(sum + bias[column])`, by the tangent.
    BiasGelu(&'a Tensor<V, 1>),
    /// `sum + scale d[row, column]`
    Plus(&'a Tensor<V, 2>, f32),
    /// `silu(sum) d[row, column]`
    SiluTimes(&'a Tensor<V, 2>),
    /// `scale sum`
    Scaled(f32),
    /// `rows[row] columns[column] sum`: of quantised rows of A and columns of B.
    ScaledBoth(&'a Tensor<f32, 1>, &'a Tensor<V, 1>),
}

impl<V: Element> Epilogue<'_, V> {
    /// The kernel's function.
    pub const fn name(&self) -> &'static str {
        match self {
            Epilogue::BiasGelu(_) => "bias_gelu",
            Epilogue::Plus(..) => "plus",
            Epilogue::SiluTimes(_) => "silu_times",
            Epilogue::Scaled(_) => "scaled",
            Epilogue::ScaledBoth(..) => "scaled_both",
        }
    }

    /// What it reads has an element for each of C.
    fn fits(&self, [m, n]: [usize; 2]) -> Result<(), Error> {
        let columns =
            |vector: &Tensor<V, 1>| same("multiply_then", "columns", 0, vector.shape()[0], ("N", "c"), n);
        match self {
            Epilogue::BiasGelu(bias) => columns(bias),
            Epilogue::Plus(other, _) | Epilogue::SiluTimes(other) => {
                same("multiply_then", "beside", 0, other.shape()[0], ("M", "c"), m)?;
                same("multiply_then", "beside", 1, other.shape()[1], ("N", "c"), n)
            }
            Epilogue::Scaled(_) => Ok(()),
            Epilogue::ScaledBoth(rows, of_columns) => {
                same("multiply_then", "rows", 0, rows.shape()[0], ("M", "c"), m)?;
                columns(of_columns)
            }
        }
    }
}

/// `c = epilogue(a b)`: A and B by rows or by columns, C by rows. Asynchronous.
///
/// Operands are 16-bit floats, 8-bit floats or `i8`; C is a 16-bit float or `e4m3`. Operands of 8 bits whose `k` is not contiguous are
/// transposed first, and lines that begin elsewhere than at multiples of 16 bytes are moved. `e4m3` needs sm_89, `bf16` sm_80.
///
/// # Errors
/// Shapes that disagree, types that the kernel does not take, a device without memory for what has to be moved, or what NVRTC, the
/// driver or the simulator say. Nothing has run where the arguments do not fit.
///
/// ```
/// use layout_cuda::Device;
/// use layout_kernels::product::{Epilogue, Workspace, multiply_then};
///
/// let device = Device::simulator();
/// let a = device.upload(&[1i8; 15], [3, 5])?;
/// let b = device.upload_strided(&[2i8; 35], [5, 7], [1, 5])?;
/// let (rows, columns) = (device.upload(&[0.5f32; 3], [3])?, device.upload(&[3.0f32; 7], [7])?);
/// let mut c = device.zeros::<layout_cuda::bf16, 2>([3, 7])?;
/// let scales = Epilogue::ScaledBoth(&rows, &columns);
/// multiply_then(&device.stream(), scales, &mut Workspace::default(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?[0].to_f32(), 15.0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn multiply_then<T: Element, U: Element, V: Element>(
    stream: &Stream,
    epilogue: Epilogue<'_, V>,
    workspace: &mut Workspace<T, U>,
    a: &impl TensorArg<T, 2>,
    b: &impl TensorArg<T, 2>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    // `tcgen05` of the family has no product of `i8`.
    let kernel = match Kernel::with_epilogues(Machine::of(stream.device())) {
        Kernel::GemmTcgen05 if T::ELEM == Elem::I8 => Kernel::GemmMma,
        kernel => kernel,
    };
    multiply_then_by(kernel, stream, epilogue, workspace, a, b, c)
}

/// Parameters of `gemm_mma` that a plan sets.
const TILES: [&str; 6] = ["BM", "BN", "WM", "WN", "STAGES", "STEPS"];

/// The same by one of the kernels that have epilogues: [`Kernel::Gemm`], [`Kernel::GemmTcgen05`], or [`Kernel::GemmMma`].
///
/// # Errors
/// As [`multiply_then`].
///
/// ```
/// use layout_cuda::Device;
/// use layout_kernels::product::{Epilogue, Kernel, Workspace, multiply_then_by};
///
/// let device = Device::simulator();
/// let (a, b) = (device.upload(&[1i8; 15], [3, 5])?, device.upload_strided(&[2i8; 35], [5, 7], [1, 5])?);
/// let (rows, columns) = (device.upload(&[0.5f32; 3], [3])?, device.upload(&[3.0f32; 7], [7])?);
/// let mut c = device.zeros::<layout_cuda::bf16, 2>([3, 7])?;
/// let scales = Epilogue::ScaledBoth(&rows, &columns);
/// multiply_then_by(Kernel::GemmMma, &device.stream(), scales, &mut Workspace::default(), &a, &b, &mut c)?;
/// assert_eq!(c.download()?[0].to_f32(), 15.0);
/// # Ok::<(), layout_cuda::Error>(())
/// ```
pub fn multiply_then_by<T: Element, U: Element, V: Element>(
    kernel: Kernel,
    stream: &Stream,
    epilogue: Epilogue<'_, V>,
    workspace: &mut Workspace<T, U>,
    a: &impl TensorArg<T, 2>,
    b: &impl TensorArg<T, 2>,
    c: &mut impl TensorArgMut<U, 2>,
) -> Result<(), Error> {
    let by_warps = kernel == Kernel::GemmMma;
    let (a, b, mut c) = (a.view(), b.view(), c.view_mut());
    let (operand, result) = (T::ELEM, U::ELEM);
    let precision = Precision::Float32;
    let product = Product {
        a: Matrix::of(&a),
        b: Matrix::of(&b),
        c: Matrix::of(&c.view()),
        operand,
        result,
        precision,
    };
    agree(&product)?;
    let [m, n, k] = product.extents();
    epilogue.fits([m, n])?;
    let device = stream.device();
    let machine = Machine::of(device);
    // Where the operands have to be is what it is without an epilogue. All of C is one launch, and the threads store a C that TMA cannot.
    let result = if operand.bytes() == 2 { operand } else { result };
    let plan = Plan::of(&Product { result, ..product }, machine, Some(kernel), None);
    let deep = if by_warps { plan.parts.first().map_or(k, |part| part.depth[0]) } else { k };
    let units = 16 / size_of::<U>();
    let direct = !(c.strides()[0].is_multiple_of(units) && n.is_multiple_of(units));
    let (none, nothing, no_rows) =
        (stream.zeros::<V, 1>([0])?, stream.zeros::<V, 2>([0, 0])?, stream.zeros::<f32, 1>([0])?);
    let (columns, rows, beside, scale) = match epilogue {
        Epilogue::BiasGelu(bias) => (bias, &no_rows, &nothing, 1.0),
        Epilogue::Plus(other, scale) => (&none, &no_rows, other, scale),
        Epilogue::SiluTimes(other) => (&none, &no_rows, other, 1.0),
        Epilogue::Scaled(scale) => (&none, &no_rows, &nothing, scale),
        Epilogue::ScaledBoth(rows, columns) => (columns, rows, &nothing, 1.0),
    };
    let Workspace { a: own_a, b: own_b, .. } = workspace;
    let modes = [product.a.along(), product.b.along()];
    let set = epilogue_set(kernel, epilogue.name(), [T::ELEM, U::ELEM, V::ELEM], modes, direct, machine);
    // The tiles are those of a product without an epilogue.
    let tiles = plan.parts.first().and_then(|part| part.set.as_ref()).filter(|_| by_warps);
    let tiles = tiles.into_iter().flat_map(|tiles| TILES.map(|name| (name, tiles.get(name))));
    let set = tiles.fold(set, |set, (name, value)| match value {
        Some(value) => set.with(name, value),
        None => set,
    });
    let mut launch = |places: [Place; 2], set: &ParamSet| {
        let whole = [a.part(0, a.shape(), a.strides())?, b.part(0, b.shape(), b.strides())?];
        let [a, b] = operands(stream, places, whole, [own_a, own_b])?;
        let config = LaunchConfig { set: Some(set), ..LaunchConfig::default() };
        let (a, b) = (a.part([0..m, 0..deep])?, b.part([0..deep, 0..n])?);
        match kernel {
            Kernel::GemmMma => {
                gemm_mma_then::launch_with(config, stream, &a, &b, columns, rows, beside, &mut c, scale)
            }
            Kernel::GemmTcgen05 => {
                gemm_tcgen05_then::launch_with(config, stream, &a, &b, columns, rows, beside, &mut c, scale)
            }
            _ => gemm_then::launch_with(config, stream, &a, &b, columns, rows, beside, &mut c, scale),
        }
    };
    let done = launch([plan.a, plan.b], &set);
    if !is_unaligned(&done) {
        return done;
    }
    let moved = plan.moved(&product);
    launch([moved.a, moved.b], &set.with("DIRECT", ParamValue::Bool(true)))
}

/// The parameters of `gemm_then`, of `gemm_mma_then` where the kernel is [`Kernel::GemmMma`], or of `gemm_tcgen05_then` where it is
/// [`Kernel::GemmTcgen05`], for an epilogue by its function's name, the types of operands, of C and of the vector or the matrix that it reads, the
/// contiguous modes of A and B, and whether the threads store C, which TMA can where its rows are whole 16 bytes.
///
/// ```
/// use layout_cuda::{Elem, ParamValue};
/// use layout_kernels::product::{Kernel, Machine, epilogue_set};
/// let machine = Machine::OF_HOPPER;
/// let set = epilogue_set(Kernel::Gemm, "plus", [Elem::Bf16; 3], [1, 0], false, machine);
/// assert_eq!(set.get("B_MODE"), Some(ParamValue::Int(0)));
/// ```
pub fn epilogue_set(
    kernel: Kernel,
    name: &'static str,
    [operand, result, beside]: [Elem; 3],
    [a, b]: [usize; 2],
    direct: bool,
    machine: Machine,
) -> ParamSet {
    let sums = if operand == Elem::I8 { Elem::I32 } else { Elem::F32 };
    // 8-bit operands have `k` contiguous: another one was transposed.
    let [a, b] = if operand.bytes() == 1 { [1, 0] } else { [a, b] };
    let set = ParamSet::default()
        .with("T", ParamValue::Type(operand))
        .with("U", ParamValue::Type(result))
        .with("V", ParamValue::Type(beside))
        .with("EPILOGUE", ParamValue::Function(name))
        .with("A_MODE", ParamValue::Int(a as i64))
        .with("B_MODE", ParamValue::Int(b as i64));
    // The sums of `tcgen05` are float32.
    let set = if kernel == Kernel::GemmTcgen05 { set } else { set.with("S", ParamValue::Type(sums)) };
    match kernel {
        Kernel::GemmMma => set.with("TURING", ParamValue::Bool(!machine.arch.includes(Arch::BASELINE))),
        _ => set
            .with("DIRECT", ParamValue::Bool(direct))
            .with("SMS", ParamValue::Int(machine.multiprocessors as i64)),
    }
}
