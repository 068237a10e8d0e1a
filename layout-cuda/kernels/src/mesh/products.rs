//! Products over several devices, whose communication hides behind the tiles that are there already.
//!
//! ```text
//! gathered:   stream  A_own B ───────► A_1 B ─► A_2 B      beside  A_1 ─► A_2      every rank has rows of A and columns of B
//! scattered:  stream  part of 1 ─► part of 2 ─► own part   beside       send 1 ─► send 2, and what the others send is added
//! ```
//!
//! Law: rank r starts with what it has, or with what others wait for, so that no two ranks send to one at once: in step d it
//! sends to r + d and receives from r - d. A product beside messages leaves them as many multiprocessors as NCCL was allowed.

use crate::kernels::mesh::add_onto;
use crate::product::{Kernel, Machine, Matrix, Place, Plan, Precision, Product};
use layout_cuda::{Argument, Element, LaunchConfig, ParamValue, Stream, Tensor, TensorView, TensorViewMut};
use layout_mesh::{Member, MeshError, Result};
use std::ops::Range;

/// Rows of a matrix.
type Rows<'a, T> = (&'a Tensor<T, 2>, Range<usize>);

/// A rank's stream beside its own, for messages, and what products leave them.
#[derive(Debug)]
pub struct Beside {
    stream: Stream,
    /// Multiprocessors that products leave; none where copy engines move the messages.
    blocks: usize,
}

fn driver(call: &'static str) -> impl Fn(layout_cuda::cudarc::driver::DriverError) -> MeshError {
    move |error| MeshError::Nccl { call, code: error.0 as i32, words: format!("{:?}", error.0) }
}

impl Beside {
    /// For messages that take so many thread blocks at most, which [`layout_mesh::World::blocks`] says; with 0 those between GPUs of one
    /// process go by the copy engines, which take none.
    ///
    /// # Errors
    /// A driver that makes no stream.
    pub fn new(member: &Member, blocks: usize) -> Result<Beside> {
        Ok(Beside { stream: member.stream_beside()?, blocks })
    }

    fn exchange<T: Element>(
        &self,
        member: &Member,
        sends: &[(usize, TensorView<'_, T, 1>)],
        receives: &mut [(usize, TensorViewMut<'_, T, 1>)],
    ) -> Result<()> {
        match self.blocks {
            0 => member.exchange_by_copies(&self.stream, sends, receives),
            _ => member.exchange(&self.stream, sends, receives),
        }
    }

    /// From here on the messages come after what was given to the stream.
    fn after(&self, stream: &Stream) -> Result<()> {
        match (self.stream.cuda(), stream.cuda()) {
            (Some(own), Some(other)) => own.join(other).map_err(driver("cuStreamWaitEvent")),
            _ => Ok(()),
        }
    }

    /// From here on the stream comes after the messages.
    fn before(&self, stream: &Stream) -> Result<()> {
        match (self.stream.cuda(), stream.cuda()) {
            (Some(own), Some(other)) => other.join(own).map_err(driver("cuStreamWaitEvent")),
            _ => Ok(()),
        }
    }
}

/// Sets rows of a matrix to zero: of a product of no depth.
fn clear<T: Element>(stream: &Stream, c: &mut Tensor<T, 2>, rows: Range<usize>) -> Result<()> {
    let ([_, columns], [pitch, _]) = (c.shape(), c.strides());
    for row in rows {
        c.part_mut(row * pitch, [columns], [1])?.clear(stream)?;
    }
    Ok(())
}

/// Rows `rows.0[rows.1] b` as those rows of `c`, with so many multiprocessors left to others. A rank that has no columns of `b` has
/// nothing to do, and one that has no rows of it gives zeros.
pub(super) fn multiply_rows<T: Element>(
    stream: &Stream,
    (a, rows): Rows<'_, T>,
    b: &Tensor<T, 2>,
    (c, into): (&mut Tensor<T, 2>, usize),
    left: usize,
) -> Result<()> {
    let shape = |rows: usize, columns: usize| [rows, columns];
    let ([_, k], [_, n]) = (a.shape(), b.shape());
    let (m, operand, result) = (rows.len(), T::ELEM, T::ELEM);
    if m == 0 || n == 0 {
        return Ok(());
    }
    if k == 0 {
        return clear(stream, c, into..into + m);
    }
    let product = Product {
        a: Matrix { shape: shape(m, k), strides: a.strides() },
        b: Matrix { shape: shape(k, n), strides: b.strides() },
        c: Matrix { shape: shape(m, n), strides: c.strides() },
        operand,
        result,
        precision: Precision::Float32,
    };
    let machine = Machine::of(stream.device());
    let plan = Plan::of(&product, machine, None, None);
    if [plan.a, plan.b, plan.c].iter().any(|place| *place != Place::Here) {
        let why = format!("a product of {m} x {n} x {k} whose operands have to be moved first; pad them");
        return Err(MeshError::Broken { by: why });
    }
    for part in &plan.parts {
        let (at, wide) = (part.rows.clone(), part.columns.clone());
        let own = |tensor: &Tensor<T, 2>, row: usize, column: usize| {
            row * tensor.strides()[0] + column * tensor.strides()[1]
        };
        let left_side = a.part(own(a, rows.start + at.start, 0), [at.len(), part.depth[0]], a.strides())?;
        let right = b.part(own(b, 0, wide.start), [part.depth[1], wide.len()], b.strides())?;
        let (start, strides) = (own(c, into + at.start, part.into.start), c.strides());
        let mut target = c.part_mut(start, [at.len(), part.into.len()], strides)?;
        // Blocks that take one tile after the other are given how many there may be.
        let fewer = machine.multiprocessors.saturating_sub(left).max(1) as i64;
        let set = part.set.clone().map(|set| match part.kernel {
            Kernel::Gemm if left > 0 => set.with("SMS", ParamValue::Int(fewer)),
            _ => set,
        });
        let config = LaunchConfig { set: set.as_ref(), ..LaunchConfig::default() };
        let mut arguments =
            [Argument::read(&left_side), Argument::read(&right), Argument::write(&mut target)];
        layout_cuda::launch(part.kernel.definition(), stream, config, &mut arguments)?;
    }
    Ok(())
}

/// Refuses tensors whose rows do not follow one another: messages are the elements from the first one on.
fn without_gaps<'a, T: Element>(
    member: &Member,
    mut of: impl Iterator<Item = &'a Tensor<T, 2>>,
) -> Result<()> {
    match of.find(|tensor| !tensor.shape().contains(&0) && !Matrix::of(&tensor.view()).is_compact()) {
        Some(found) => {
            let strides = found.strides();
            member.refuse(format!(
                "rows that are sent follow one another without gaps, not by strides {strides:?}"
            ))
        }
        None => Ok(()),
    }
}

/// `c = (all ranks' rows of A, one under the other) b`: `own` has this rank's rows, and `others` room for everybody else's: what comes
/// first is first there. `b` is this rank's columns of B, and `c` the product's.
///
/// # Errors
/// [`MeshError`], on every rank.
pub fn gathered_product<T: Element>(
    member: &Member,
    (stream, beside): (&Stream, &Beside),
    own: &Tensor<T, 2>,
    others: &mut [Tensor<T, 2>],
    b: &Tensor<T, 2>,
    c: &mut Tensor<T, 2>,
) -> Result<()> {
    let (rank, size, [rows, depth]) = (member.rank(), member.size(), own.shape());
    let room = others.len() + 1 == size && others.iter().all(|other| other.shape() == own.shape());
    let [inner, columns] = b.shape();
    if !room || c.shape() != [rows * size, columns] || inner != depth {
        let (own, b, c) = (own.shape(), b.shape(), c.shape());
        return member.refuse(format!("{own:?} of {size} ranks and {b:?} for a product of {c:?}"));
    }
    without_gaps(member, [own].into_iter().chain(&*others))?;
    beside.after(stream)?;
    let mut came = Vec::new();
    for (step, other) in (1..).zip(others.iter_mut()) {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let sent = own.part(0, [rows * depth], [1])?;
        let mut received = [(from, other.part_mut(0, [rows * depth], [1])?)];
        beside.exchange(member, &[(to, sent)], &mut received)?;
        let event = beside.stream.cuda().map(|cuda| cuda.record_event(None)).transpose();
        came.push(event.map_err(driver("cuEventRecord"))?);
    }
    // The last step's product has no messages beside it.
    let left = |step: usize| if step + 1 < size { beside.blocks } else { 0 };
    multiply_rows(stream, (own, 0..rows), b, (c, rank * rows), left(0))?;
    for ((step, other), event) in (1..).zip(others.iter()).zip(came) {
        if let (Some(cuda), Some(event)) = (stream.cuda(), event) {
            cuda.wait(&event).map_err(driver("cuStreamWaitEvent"))?;
        }
        let from = (rank + size - step) % size;
        multiply_rows(stream, (other, 0..rows), b, (c, from * rows), left(step))?;
    }
    beside.before(stream)
}

/// Rows of the sum of all ranks' `a b`: rank r's share, one of `size` equal ones. `a` has this rank's columns of A, `b` its rows of
/// B; `parts` is room for the products, all of C, and `sent` for what the others send, a share for each of them.
///
/// # Errors
/// [`MeshError`], on every rank.
pub fn scattered_product<T: Element>(
    member: &Member,
    (stream, beside): (&Stream, &Beside),
    (a, b): (&Tensor<T, 2>, &Tensor<T, 2>),
    parts: &mut [Tensor<T, 2>],
    sent: &mut [Tensor<T, 2>],
    share: &mut Tensor<T, 2>,
) -> Result<()> {
    let (rank, size, [rows, columns]) = (member.rank(), member.size(), share.shape());
    let room = |list: &[Tensor<T, 2>]| {
        list.len() + 1 == size && list.iter().all(|part| part.shape() == [rows, columns])
    };
    if a.shape()[0] != rows * size || b.shape() != [a.shape()[1], columns] || !room(parts) || !room(sent) {
        let (share, a, b) = (share.shape(), a.shape(), b.shape());
        return member
            .refuse(format!("shares of {share:?} of a product of {a:?} and {b:?} over {size} ranks"));
    }
    without_gaps(member, [&*share].into_iter().chain(&*parts).chain(&*sent))?;
    beside.after(stream)?;
    for step in 1..size {
        let (to, from) = ((rank + step) % size, (rank + size - step) % size);
        let left = if step == 1 { 0 } else { beside.blocks };
        multiply_rows(stream, (a, to * rows..(to + 1) * rows), b, (&mut parts[step - 1], 0), left)?;
        beside.after(stream)?;
        let own = &parts[step - 1];
        let out = own.part(0, [rows * columns], [1])?;
        let mut received = [(from, sent[step - 1].part_mut(0, [rows * columns], [1])?)];
        beside.exchange(member, &[(to, out)], &mut received)?;
    }
    let left = if size > 1 { beside.blocks } else { 0 };
    multiply_rows(stream, (a, rank * rows..(rank + 1) * rows), b, (share, 0), left)?;
    beside.before(stream)?;
    for term in sent.iter() {
        let term = term.part(0, [rows * columns], [1])?;
        add_onto::launch(stream, &term, &mut share.part_mut(0, [rows * columns], [1])?)?;
    }
    Ok(())
}
