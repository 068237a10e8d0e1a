//! Where the matrices of a product lie while they are read: where they are, or, where the copy engine cannot address
//! them, in memory kept for it.
//!
//! The copy engine wants each row at a multiple of 16 bytes, or each column of a matrix whose columns are contiguous. Of
//! others only that distance is changed: no zeros are added, and the copy engine itself keeps to the true extents.

use crate::kept::kept;
use crate::kernels::repitch;
use layout_cuda::{
    Definition, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView, TensorViewMut,
};
use std::ops::Range;

/// Rows of the copy engine begin at multiples of so many bytes.
pub(super) const ROW_BYTES: usize = 16;
/// Those of a workspace at multiples of so many.
pub(super) const LINE_BYTES: usize = 128;

/// Memory for the matrices of a product whose rows the copy engine cannot address, kept from product to product of one
/// shape; none for the others.
///
/// ```
/// use layout_cuda::bf16;
/// assert_eq!(layout_examples::gemm::Workspace::<bf16, bf16>::new().bytes(), 0);
/// ```
#[derive(Debug)]
pub struct Workspace<T: Element, U: Element> {
    pub(super) a: Option<Tensor<T, 2>>,
    pub(super) b: Option<Tensor<T, 2>>,
    pub(super) c: Option<Tensor<U, 2>>,
}

impl<T: Element, U: Element> Default for Workspace<T, U> {
    fn default() -> Workspace<T, U> {
        Workspace { a: None, b: None, c: None }
    }
}

impl<T: Element, U: Element> Workspace<T, U> {
    /// Without memory: the first product that needs some takes it.
    pub fn new() -> Workspace<T, U> {
        Workspace::default()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let operands = [&self.a, &self.b].into_iter().flatten().map(|tensor| tensor.len() * size_of::<T>());
        operands.sum::<usize>() + self.c.as_ref().map_or(0, |tensor| tensor.len() * size_of::<U>())
    }

    /// Launches `product` on matrices that the copy engine can address. Where it writes more columns of C than there
    /// are, B has as many more, which are anything.
    pub(super) fn around(
        &mut self,
        stream: &Stream,
        [a, b]: [&Tensor<T, 2>; 2],
        c: &mut Tensor<U, 2>,
        product: impl Fn(
            &TensorView<'_, T, 2>,
            &TensorView<'_, T, 2>,
            &mut TensorViewMut<'_, U, 2>,
        ) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let ([rows, n], [k, _]) = (c.shape(), b.shape());
        let a = operand(stream, a, a.shape(), &mut self.a)?.view()?;
        let b = operand(stream, b, [k, written::<U>(n)], &mut self.b)?.view()?;
        result(stream, c, &mut self.c, |c| product(&a, &b, &mut columns_mut(c, rows, 0..written::<U>(n))?))
    }
}

/// A matrix in memory where the kernels can read it.
pub(super) struct Matrix<'m, T: Element> {
    memory: &'m Tensor<T, 2>,
    shape: [usize; 2],
    strides: [usize; 2],
}

impl<'m, T: Element> Matrix<'m, T> {
    /// The first rows and columns of a tensor that lies by rows.
    pub(super) fn corner(memory: &'m Tensor<T, 2>, shape: [usize; 2]) -> Matrix<'m, T> {
        Matrix { memory, shape, strides: memory.strides() }
    }

    pub(super) fn shape(&self) -> [usize; 2] {
        self.shape
    }

    /// Which of its modes is contiguous.
    pub(super) fn mode(&self) -> usize {
        contiguous(self.strides)
    }

    pub(super) fn view(&self) -> Result<TensorView<'m, T, 2>, Error> {
        self.memory.part(0, self.shape, self.strides)
    }

    pub(super) fn columns(&self, range: Range<usize>) -> Result<TensorView<'m, T, 2>, Error> {
        self.memory.part(range.start * self.strides[1], [self.shape[0], range.len()], self.strides)
    }

    pub(super) fn rows(&self, range: Range<usize>) -> Result<TensorView<'m, T, 2>, Error> {
        self.memory.part(range.start * self.strides[0], [range.len(), self.shape[1]], self.strides)
    }
}

/// The mode with stride 1: the columns' where the rows have it too, or neither.
fn contiguous(strides: [usize; 2]) -> usize {
    if strides[0] == 1 && strides[1] != 1 { 0 } else { 1 }
}

/// The matrix where it is, or where its rows, or columns, were moved to; of `shape`, which may be larger.
pub(super) fn operand<'m, T: Element>(
    stream: &Stream,
    matrix: &'m Tensor<T, 2>,
    shape: [usize; 2],
    own: &'m mut Option<Tensor<T, 2>>,
) -> Result<Matrix<'m, T>, Error> {
    let (found, strides) = (matrix.shape(), matrix.strides());
    let along = contiguous(strides);
    let across = 1 - along;
    if shape == found && strides[across].is_multiple_of(ROW_BYTES / size_of::<T>()) {
        return Ok(Matrix { memory: matrix, shape, strides });
    }
    let lines = [found[across], found[along]];
    let kept = whole_rows(stream, [shape[across], shape[along]], own)?;
    let from = matrix.part(0, lines, [strides[across], strides[along]])?;
    repitched(stream, &from, &mut corner_mut(kept, lines)?)?;
    let mut strides = [1; 2];
    strides[across] = kept.shape()[1];
    Ok(Matrix { memory: kept, shape, strides })
}

/// Launches `product` on C, or on memory whose rows the copy engine can write, from where C is copied.
pub(super) fn result<U: Element>(
    stream: &Stream,
    c: &mut Tensor<U, 2>,
    own: &mut Option<Tensor<U, 2>>,
    product: impl FnOnce(&mut Tensor<U, 2>) -> Result<(), Error>,
) -> Result<(), Error> {
    let shape @ [rows, columns] = c.shape();
    let in_place = c.strides()[0].is_multiple_of(ROW_BYTES / size_of::<U>());
    if in_place && columns == written::<U>(columns) {
        return product(c);
    }
    let kept = whole_rows(stream, [rows, written::<U>(columns)], own)?;
    product(kept)?;
    repitched(stream, &kept.part(0, shape, kept.strides())?, &mut c.view_mut())
}

/// `columns` of C, rounded up to what the copy engine writes at once.
pub(super) fn written<U: Element>(columns: usize) -> usize {
    columns.next_multiple_of(ROW_BYTES / size_of::<U>())
}

/// Memory for a matrix of `shape`, each row of whole lines of the cache: those of a box are read at once. Zeros at first.
pub(super) fn whole_rows<'m, T: Element>(
    stream: &Stream,
    [rows, columns]: [usize; 2],
    own: &'m mut Option<Tensor<T, 2>>,
) -> Result<&'m mut Tensor<T, 2>, Error> {
    // A line at least: an empty row has no place that the copy engine could be told.
    let shape = [rows, columns.max(1).next_multiple_of(LINE_BYTES / size_of::<T>())];
    kept(stream, shape, own)
}

/// The first rows and columns of a tensor.
pub(super) fn corner_mut<T: Element>(
    tensor: &mut Tensor<T, 2>,
    shape: [usize; 2],
) -> Result<TensorViewMut<'_, T, 2>, Error> {
    let strides = tensor.strides();
    tensor.part_mut(0, shape, strides)
}

/// Some columns of the first `rows`.
pub(super) fn columns_mut<T: Element>(
    tensor: &mut Tensor<T, 2>,
    rows: usize,
    range: Range<usize>,
) -> Result<TensorViewMut<'_, T, 2>, Error> {
    let [pitch, along] = tensor.strides();
    tensor.part_mut(range.start * along, [rows, range.len()], [pitch, along])
}

/// Copies a matrix to rows that begin elsewhere. A row's blocks have equal parts of it.
fn repitched<T: Element>(
    stream: &Stream,
    from: &TensorView<'_, T, 2>,
    to: &mut TensorViewMut<'_, T, 2>,
) -> Result<(), Error> {
    let [_, columns] = from.shape();
    let rounds = columns.div_ceil(256 * columns.div_ceil(256 * 16).max(1)).max(1);
    let set = with::<T, T>(&repitch::DEFINITION, &[("ROUNDS", ParamValue::Int(rounds as i64))]);
    repitch::launch_with(LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() }, stream, from, to)
}

/// The parameter set of the kernel for elements `T`, and `U` of C, with other values in it.
pub(super) fn with<T: Element, U: Element>(
    definition: &Definition,
    changes: &[(&str, ParamValue)],
) -> Option<ParamSet> {
    let of_type = |(name, value): &(&str, ParamValue)| match *name {
        "T" => *value == ParamValue::Type(T::ELEM),
        "U" => *value == ParamValue::Type(U::ELEM),
        _ => true,
    };
    let own = definition.variants.iter().find(|variant| variant.parameters.iter().all(of_type))?;
    let own = ParamSet(own.parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect());
    Some(changes.iter().fold(own, |set, (name, value)| set.with(name, *value)))
}
