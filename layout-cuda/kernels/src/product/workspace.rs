//! Memory for the matrices of a product that cannot be taken where they are, kept from product to product.
//!
//! Law: what is read of it is the matrix that was moved there, and zeros behind its lines.

use super::plan::Place;
use crate::kernels::{resize, resize_both, transpose_pitched};
use layout_cuda::Elem;
use layout_cuda::{
    Argument, Element, Error, LaunchConfig, ParamSet, ParamValue, Stream, Tensor, TensorView, TensorViewMut,
};
use std::ops::Range;

use super::description::Matrix;

/// Memory for the matrices of a product, kept from product to product of one shape. It has none at first: a product that
/// needs some takes it.
///
/// ```
/// use layout_cuda::bf16;
/// assert_eq!(layout_kernels::product::Workspace::<bf16, bf16>::default().bytes(), 0);
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
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let operands = [&self.a, &self.b].into_iter().flatten().map(|tensor| tensor.len() * size_of::<T>());
        operands.sum::<usize>() + self.c.as_ref().map_or(0, |tensor| tensor.len() * size_of::<U>())
    }
}

/// A matrix in memory where the kernels can read it.
pub(super) struct Operand<'m, T: Element> {
    memory: TensorView<'m, T, 2>,
    strides: [usize; 2],
}

impl<'m, T: Element> Operand<'m, T> {
    /// Some rows and columns of it.
    pub(super) fn part(&self, [rows, columns]: [Range<usize>; 2]) -> Result<TensorView<'m, T, 2>, Error> {
        let start = rows.start * self.strides[0] + columns.start * self.strides[1];
        self.memory.part(start, [rows.len(), columns.len()], self.strides)
    }
}

/// The operands where they are, or moved; two matrices by rows in one launch.
pub(super) fn operands<'m, T: Element>(
    stream: &Stream,
    places: [Place; 2],
    [a, b]: [TensorView<'m, T, 2>; 2],
    [own_a, own_b]: [&'m mut Option<Tensor<T, 2>>; 2],
) -> Result<[Operand<'m, T>; 2], Error> {
    let plain = |matrix: &TensorView<'_, T, 2>, place: &Place| {
        let matrix = Matrix::of(matrix);
        matches!(place, Place::Moved { transposed: false, .. }) && matrix.is_compact() && matrix.along() == 1
    };
    if let [Place::Moved { lines: m, pitch: k, .. }, Place::Moved { lines, pitch, .. }] = places
        && T::ELEM == Elem::F32
        && plain(&a, &places[0])
        && plain(&b, &places[1])
    {
        let (new_a, new_b) = (kept(stream, [m, k], own_a)?, kept(stream, [lines, pitch], own_b)?);
        let (mut to_a, mut to_b) = (new_a.view_mut(), new_b.view_mut());
        let mut arguments =
            [Argument::read(&a), Argument::read(&b), Argument::write(&mut to_a), Argument::write(&mut to_b)];
        layout_cuda::launch(&resize_both::DEFINITION, stream, LaunchConfig::default(), &mut arguments)?;
        return Ok([
            Operand { memory: new_a.view(), strides: [k, 1] },
            Operand { memory: new_b.view(), strides: [pitch, 1] },
        ]);
    }
    Ok([operand(stream, places[0], a, own_a)?, operand(stream, places[1], b, own_b)?])
}

fn operand<'m, T: Element>(
    stream: &Stream,
    place: Place,
    tensor: TensorView<'m, T, 2>,
    own: &'m mut Option<Tensor<T, 2>>,
) -> Result<Operand<'m, T>, Error> {
    let Place::Moved { lines, pitch, transposed } = place else {
        return Ok(Operand { strides: tensor.strides(), memory: tensor });
    };
    let matrix = Matrix::of(&tensor);
    let (along, across) = (matrix.along(), matrix.across());
    let kept = kept(stream, [lines, pitch], own)?;
    let shape @ [rows, columns] = [matrix.shape[across], matrix.shape[along]];
    let from = tensor.part(0, shape, [matrix.strides[across], matrix.strides[along]])?;
    let mut strides = [pitch; 2];
    if transposed {
        let mut corner = kept.part_mut(0, [columns, rows], [pitch, 1])?;
        transpose_pitched::launch(stream, &from, &mut corner)?;
        // A kernel that reads whole vectors of 16 bytes reads what is behind the line in the last one.
        let behind = pitch - rows;
        if columns > 0 && (1..16 / size_of::<T>()).contains(&behind) {
            let nothing = tensor.part(0, [0, 0], [1, 1])?;
            resized(stream, &nothing, &mut kept.part_mut(rows, [columns, behind], [pitch, 1])?)?;
        }
        strides[across] = 1;
    } else {
        resized(stream, &from, &mut kept.view_mut())?;
        strides[along] = 1;
    }
    Ok(Operand { memory: kept.view(), strides })
}

/// Copies a matrix to one of another size or pitch. A row's blocks have equal parts of it.
pub(super) fn resized<T: Element>(
    stream: &Stream,
    from: &TensorView<'_, T, 2>,
    to: &mut TensorViewMut<'_, T, 2>,
) -> Result<(), Error> {
    let [_, columns] = to.shape();
    let rounds = columns.div_ceil(256 * columns.div_ceil(256 * 16).max(1)).max(1);
    let set = ParamSet(vec![
        ("T".to_owned(), ParamValue::Type(T::ELEM)),
        ("THREADS".to_owned(), ParamValue::Int(256)),
    ]);
    let set = set.with("ROUNDS", ParamValue::Int(rounds as i64));
    resize::launch_with(LaunchConfig { set: Some(&set), ..LaunchConfig::default() }, stream, from, to)
}

/// What is kept, if it has the shape; else new memory, kept from now on.
pub(super) fn kept<'a, T: Element>(
    stream: &Stream,
    shape: [usize; 2],
    own: &'a mut Option<Tensor<T, 2>>,
) -> Result<&'a mut Tensor<T, 2>, Error> {
    let kept = match own.take().filter(|kept| kept.shape() == shape) {
        Some(kept) => kept,
        None => stream.zeros(shape)?,
    };
    Ok(own.insert(kept))
}
