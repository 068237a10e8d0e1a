//! Products with weights of 4 or 8 bits: a matrix of integers with a scale and a zero for each group of `k` of a column, and `C = A B`.
//!
//! ```text
//! B[k, n] = scale[k / group, n] (q[k, n] - zero[k / group, n])
//! M <= 64: `few_rows_quantized` reads the integers      M > 64: B is made in a workspace, then the ordinary product
//! ```
//!
//! Law: sums in float32, rounded once to the elements' type. For more than 64 rows each element of B is rounded to that type first.

use crate::kernels::quantized::{dequantize, few_rows_quantized, quantize};
use crate::product::{self, Machine, Options};
use crate::{refused, same, set};
use layout_cuda::{
    Elem, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorArg, TensorArgMut,
};

/// Rows up to which the integers are multiplied as they are.
pub const MOST_ROWS: usize = 64;

/// Bits of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bits {
    /// 0 to 15.
    Four,
    /// 0 to 255: a signed byte is it plus 128, with a zero of 128.
    Eight,
}

/// Elements of `k` that share a scale and a zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// 32.
    Of32,
    /// 64.
    Of64,
    /// 128.
    Of128,
}

/// How a matrix is quantised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Bits of an element.
    pub bits: Bits,
    /// Elements that share a scale.
    pub group: Group,
}

impl Format {
    /// 4 bits, groups of 128: 4.25 bits an element.
    pub const INT4: Format = Format { bits: Bits::Four, group: Group::Of128 };
    /// 8 bits, groups of 128: 8.25 bits an element.
    pub const INT8: Format = Format { bits: Bits::Eight, group: Group::Of128 };

    fn bits(self) -> usize {
        if self.bits == Bits::Four { 4 } else { 8 }
    }

    fn group(self) -> usize {
        match self.group {
            Group::Of32 => 32,
            Group::Of64 => 64,
            Group::Of128 => 128,
        }
    }

    fn set(self, elem: Elem) -> ParamSet {
        set(&[("BITS", self.bits()), ("GROUP", self.group())]).with("T", ParamValue::Type(elem))
    }
}

/// A matrix B of K x N on a device: integers of 4 or 8 bits in the order in which the kernel reads them, scales, zeros.
#[derive(Debug)]
pub struct QuantizedMatrix {
    format: Format,
    shape: [usize; 2],
    words: Tensor<u32, 3>,
    scales: Tensor<u32, 2>,
}

/// Tiles of 8 columns and blocks of 128 k.
fn tiles([k, n]: [usize; 2]) -> [usize; 2] {
    [n.div_ceil(8), k.div_ceil(128)]
}

impl QuantizedMatrix {
    /// Rounds a matrix of K x N to the nearest numbers of its groups: `scale = (largest - least) / (2^bits - 1)`, where 0 counts among
    /// both, so an element is off by at most half a scale, and 2⁻¹⁵ of the group's range. Elements are `f32`, `bf16` or `f16`; an infinity
    /// makes its group NaN, NaN becomes the least of its group.
    ///
    /// # Errors
    /// A device without memory, and those of a launch.
    ///
    /// ```
    /// use layout_cuda::{Device, bf16};
    /// use layout_kernels::quantized::{Format, QuantizedMatrix};
    /// let device = Device::simulator();
    /// let b = device.upload(&[bf16::from_f32(0.5); 256 * 8], [256, 8])?;
    /// let b = QuantizedMatrix::round(&device.stream(), Format::INT4, &b)?;
    /// assert_eq!((b.shape(), b.bytes()), ([256, 8], 1024 + 64));
    /// # Ok::<(), layout_cuda::Error>(())
    /// ```
    pub fn round<T: Element>(
        stream: &Stream,
        format: Format,
        b: &impl TensorArg<T, 2>,
    ) -> Result<QuantizedMatrix, Error> {
        let (b, [tiles, blocks]) = (b.view(), tiles(b.view().shape()));
        let mut words = stream.zeros([tiles, blocks, 32 * format.bits()])?;
        let mut scales = stream.zeros([blocks * (128 / format.group()), 8 * tiles])?;
        let of = format.set(T::ELEM);
        quantize::launch_with(with(&of), stream, &b, &mut words, &mut scales)?;
        Ok(QuantizedMatrix { format, shape: b.shape(), words, scales })
    }

    /// Of integers by rows, K x N, of which the lower 4 or 8 bits count; of scales and zeros by rows, `K / group` x N, or of a row of each
    /// for all of K. A scale is rounded to 16 bits of fraction, which hold every bf16 and f16.
    ///
    /// # Errors
    /// Slices of other lengths, and a device without memory.
    ///
    /// ```
    /// use layout_cuda::Device;
    /// use layout_kernels::quantized::{Format, QuantizedMatrix};
    /// let device = Device::simulator();
    /// let of = |q: &[u8]| QuantizedMatrix::new(&device.stream(), Format::INT8, [2, 1], q, &[0.5], &[128]);
    /// assert!(of(&[128, 130]).is_ok() && of(&[128]).is_err());
    /// ```
    pub fn new(
        stream: &Stream,
        format: Format,
        shape @ [k, n]: [usize; 2],
        q: &[u8],
        scales: &[f32],
        zeros: &[u8],
    ) -> Result<QuantizedMatrix, Error> {
        let of = "QuantizedMatrix::new";
        same(of, "q", 0, q.len(), ("K N", "shape"), k.saturating_mul(n))?;
        let groups = if scales.len() == n { 1 } else { k.div_ceil(format.group()) };
        same(of, "scales", 0, scales.len(), ("K / group N", "shape"), groups.saturating_mul(n))?;
        same(of, "zeros", 0, zeros.len(), ("K / group N", "scales"), scales.len())?;
        let ([tiles, blocks], bits) = (tiles(shape), format.bits());
        let mut words = vec![0; tiles * blocks * 32 * bits];
        for (index, q) in q.iter().enumerate() {
            let (word, shift) = place([index / n, index % n], blocks, bits);
            words[word] |= (u32::from(*q) & ((1 << bits) - 1)) << shift;
        }
        let mut both = vec![0; blocks * (128 / format.group()) * 8 * tiles];
        for (index, both) in both.iter_mut().enumerate() {
            let (row, column) = ((index / (8 * tiles)).min(groups.max(1) - 1), index % (8 * tiles));
            if let (true, Some(scale)) = (column < n, scales.get(row * n + column)) {
                let rounded = f32::from_bits(scale.to_bits() & !0xff);
                let up = f32::from_bits((scale.to_bits() & !0xff).wrapping_add(0x100));
                let nearest = if (up - scale).abs() < (scale - rounded).abs() { up } else { rounded };
                *both = nearest.to_bits() | u32::from(zeros[row * n + column]);
            }
        }
        let words = stream.upload(&words, [tiles, blocks, 32 * bits])?;
        let scales = stream.upload(&both, [blocks * (128 / format.group()), 8 * tiles])?;
        Ok(QuantizedMatrix { format, shape, words, scales })
    }

    /// Of GPTQ's tensors of 4 bits: `qweight` of K / 8 x N words, eight `k` in each from the lowest bits on, `qzeros` of `K / group` x N / 8
    /// words, eight columns in each, `scales` by rows. What `add` is, is added to each zero: 1 for files of GPTQ's first format, 0 for
    /// those of its second. Groups are of neighbouring `k`: `g_idx` in another order is not taken.
    ///
    /// # Errors
    /// As [`QuantizedMatrix::new`].
    pub fn gptq(
        stream: &Stream,
        group: Group,
        [k, n]: [usize; 2],
        [qweight, qzeros]: [&[u32]; 2],
        scales: &[f32],
        add: u8,
    ) -> Result<QuantizedMatrix, Error> {
        let format = Format { bits: Bits::Four, group };
        same(
            "QuantizedMatrix::gptq",
            "qweight",
            0,
            qweight.len(),
            ("K / 8 N", "shape"),
            k.div_ceil(8).saturating_mul(n),
        )?;
        let groups = k.div_ceil(format.group());
        same(
            "QuantizedMatrix::gptq",
            "qzeros",
            0,
            qzeros.len(),
            ("K / group N / 8", "shape"),
            groups.saturating_mul(n.div_ceil(8)),
        )?;
        let digit = |word: u32, at: usize| (word >> (4 * at) & 15) as u8;
        let q: Vec<u8> = (0..k * n).map(|at| digit(qweight[at / n / 8 * n + at % n], at / n % 8)).collect();
        let zero =
            |at: usize| digit(qzeros[at / n * n.div_ceil(8) + at % n / 8], at % n % 8).saturating_add(add);
        let zeros: Vec<u8> = (0..groups * n).map(zero).collect();
        QuantizedMatrix::new(stream, format, [k, n], &q, scales, &zeros)
    }

    /// The matrix, rounded to the elements of B, which has `k` contiguous.
    ///
    /// # Errors
    /// Another shape, a matrix by rows, and those of a launch.
    pub fn dequantize<T: Element>(
        &self,
        stream: &Stream,
        b: &mut impl TensorArgMut<T, 2>,
    ) -> Result<(), Error> {
        let mut b = b.view_mut();
        for (mode, dim) in ["K", "N"].into_iter().enumerate() {
            same("dequantize", "b", mode, b.shape()[mode], (dim, "the matrix"), self.shape[mode])?;
        }
        dequantize::launch_with(with(&self.format.set(T::ELEM)), stream, &self.words, &self.scales, &mut b)
    }

    /// K and N.
    pub fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Bytes on the device: integers, scales and zeros.
    pub fn bytes(&self) -> usize {
        4 * (self.words.len() + self.scales.len())
    }
}

/// The word of an element and its place there: tiles, blocks, planes of four words a lane, lanes, as the kernels have them.
fn place([k, n]: [usize; 2], blocks: usize, bits: usize) -> (usize, usize) {
    let (eight, lane) = (k % 128 / 32, n % 8 * 4 + k % 32 / 8);
    let (word, shift) = match bits {
        4 => (eight, 4 * (k % 8 / 2) + 16 * (k % 2)),
        _ => (2 * eight + k % 8 / 4, 8 * (k % 4 / 2) + 16 * (k % 2)),
    };
    ((n / 8 * blocks + k / 128) * 32 * bits + word / 4 * 128 + lane * 4 + word % 4, shift)
}

fn with(set: &ParamSet) -> LaunchConfig<'_> {
    LaunchConfig { set: Some(set), ..LaunchConfig::default() }
}

/// Memory for the products of more than 64 rows: B in the elements of A. It grows to the largest matrix.
#[derive(Debug)]
pub struct Workspace<T: Element> {
    b: Option<Tensor<T, 1>>,
    product: product::Workspace<T, T>,
}

impl<T: Element> Default for Workspace<T> {
    fn default() -> Workspace<T> {
        Workspace { b: None, product: product::Workspace::default() }
    }
}

/// The parameters of `few_rows_quantized` for a product of M, N and any K; `tests/records` has what was measured.
pub fn few_rows(format: Format, elem: Elem, [m, n]: [usize; 2], machine: Machine) -> ParamSet {
    let eights = m.div_ceil(8).clamp(1, 4);
    let [few, some] = [16, 64].map(|columns| n.div_ceil(columns) <= machine.multiprocessors);
    // Few columns: all warps of a multiprocessor share K. Many: a warp has more of them, and reads A once for all.
    let [fragments, strips, shares] = match eights {
        1 if few => [1, 1, 32],
        1 if some => [2, 1, 16],
        1 => [4, 1, 8],
        2 if few => [1, 1, 16],
        2 if some => [2, 1, 8],
        2 => [2, 2, 8],
        _ => [2, 1, 8],
    };
    let fraction = if elem == Elem::F16 { 10 } else { 7 };
    let numbers = [
        ("FRACTION", fraction),
        ("EIGHTS", eights),
        ("FRAGMENTS", fragments),
        ("STRIPS", strips),
        ("SHARES", shares),
    ];
    numbers
        .into_iter()
        .fold(format.set(elem), |set, (name, value)| set.with(name, ParamValue::Int(value as i64)))
}

/// `c = a b` of `bf16` or `f16`, A and C by rows; with a workspace of one's own, so that from the second call on nothing is allocated.
/// [`matmul_quantized`](crate::matmul_quantized) is the same without.
///
/// # Errors
/// As [`matmul_quantized`](crate::matmul_quantized).
pub fn multiply<T: Element>(
    stream: &Stream,
    workspace: &mut Workspace<T>,
    a: &impl TensorArg<T, 2>,
    b: &QuantizedMatrix,
    c: &mut impl TensorArgMut<T, 2>,
) -> Result<(), Error> {
    let (a, mut c, [k, n]) = (a.view(), c.view_mut(), b.shape);
    let m = a.shape()[0];
    if !matches!(T::ELEM, Elem::F16 | Elem::Bf16) {
        return refused("matmul_quantized", "A and C are of f16 or bf16", format!("they are of {}", T::ELEM));
    }
    same("matmul_quantized", "a", 1, a.shape()[1], ("K", "b"), k)?;
    same("matmul_quantized", "c", 0, c.shape()[0], ("M", "a"), m)?;
    same("matmul_quantized", "c", 1, c.shape()[1], ("N", "b"), n)?;
    if m <= MOST_ROWS {
        let of = few_rows(b.format, T::ELEM, [m, n], Machine::of(stream.device()));
        return few_rows_quantized::launch_with(with(&of), stream, &a, &b.words, &b.scales, &mut c);
    }
    if workspace.b.as_ref().is_none_or(|whole| whole.len() < k * n) {
        workspace.b = None;
        workspace.b = Some(stream.zeros([k * n])?);
    }
    let Some(whole) = &mut workspace.b else { return Ok(()) };
    b.dequantize(stream, &mut whole.part_mut(0, [k, n], [1, k.max(1)])?)?;
    let whole = whole.part(0, [k, n], [1, k.max(1)])?;
    product::multiply(stream, Options::default(), &mut workspace.product, &a, &whole, &mut c)
}
