//! A transformer's block over a mesh: attention by heads and two layers behind it, each after a norm of what came before.
//!
//! Law: `x += attention(norm(x))`, then `x += layers(norm(x))`, of each rank's own tokens; the sums are rounded to bf16.

use super::attention::ByHeads;
use super::products::{Beside, gathered_product, scattered_product};
use crate::attention::Attention;
use crate::kernels::mesh::{add_onto, rectify};
use crate::memory::add_rms_norm;
use layout_cuda::{Element, Stream, Tensor, bf16};
use layout_mesh::{Member, Result};

/// What is added to the mean of the squares.
const EPSILON: f32 = 1e-5;

/// Two layers, `max(x first, 0) second`: each rank has rows of `x`, columns of `first` and rows of `second`, and ends with its rows of the
/// result.
#[derive(Debug)]
pub struct Layers<T: Element> {
    first: Tensor<T, 2>,
    second: Tensor<T, 2>,
    others: Vec<Tensor<T, 2>>,
    hidden: Tensor<T, 2>,
    parts: Vec<Tensor<T, 2>>,
    sent: Vec<Tensor<T, 2>>,
}

impl<T: Element> Layers<T> {
    /// With this rank's part of the weights, for so many rows of `x` on each rank.
    ///
    /// # Errors
    /// A device without memory for what the ranks send.
    pub fn new(
        member: &Member,
        stream: &Stream,
        (first, second): (Tensor<T, 2>, Tensor<T, 2>),
        rows: usize,
    ) -> Result<Layers<T>> {
        let ([width, hidden], [_, out]) = (first.shape(), second.shape());
        let all = rows * member.size();
        let room = |wide: usize| {
            (1..member.size()).map(|_| Ok(stream.zeros([rows, wide])?)).collect::<Result<Vec<_>>>()
        };
        Ok(Layers {
            first,
            second,
            others: room(width)?,
            hidden: stream.zeros([all, hidden])?,
            parts: room(out)?,
            sent: room(out)?,
        })
    }

    /// This rank's rows of the result, from its rows of `x`.
    ///
    /// # Errors
    /// [`layout_mesh::MeshError`], on every rank.
    pub fn run(
        &mut self,
        member: &Member,
        streams: (&Stream, &Beside),
        x: &Tensor<T, 2>,
        y: &mut Tensor<T, 2>,
    ) -> Result<()> {
        let Layers { first, second, others, hidden, parts, sent } = self;
        gathered_product(member, streams, x, others, first, hidden)?;
        let len = hidden.len();
        rectify::launch(streams.0, &mut hidden.part_mut(0, [len], [1])?)?;
        scattered_product(member, streams, (hidden, second), parts, sent, y)
    }
}

/// A block: `x += attention(norm(x))`, then `x += layers(norm(x))`.
#[derive(Debug)]
pub struct Block {
    attention: ByHeads<bf16>,
    layers: Layers<bf16>,
    /// The norms' factors, before attention and before the layers.
    scales: [Tensor<bf16, 1>; 2],
    /// Of this rank's tokens: what is added to `x`, `x` in between, and its norm.
    change: Tensor<bf16, 2>,
    /// Nothing is added before the first norm.
    nothing: Tensor<bf16, 2>,
    between: Tensor<bf16, 2>,
    normed: Tensor<bf16, 2>,
}

impl Block {
    /// With this rank's part of the weights, for so many tokens on each rank.
    ///
    /// # Errors
    /// A device without memory for what is between.
    pub fn new(
        stream: &Stream,
        (attention, layers): (ByHeads<bf16>, Layers<bf16>),
        scales: [Tensor<bf16, 1>; 2],
        rows: usize,
    ) -> Result<Block> {
        let room = || stream.zeros([rows, scales[0].shape()[0]]);
        let [change, nothing, between, normed] = [room()?, room()?, room()?, room()?];
        Ok(Block { attention, layers, scales, change, nothing, between, normed })
    }

    /// Puts this rank's tokens through the block.
    ///
    /// # Errors
    /// [`layout_mesh::MeshError`], on every rank.
    pub fn run(
        &mut self,
        member: &Member,
        streams: (&Stream, &Beside),
        what: &Attention<'_>,
        x: &mut Tensor<bf16, 2>,
    ) -> Result<()> {
        let Block { attention, layers, scales, change, nothing, between, normed } = self;
        if x.shape() != change.shape() {
            let why = format!("tokens of {:?} for a block of {:?}", x.shape(), change.shape());
            return member.refuse(why);
        }
        let stream = streams.0;
        add_rms_norm(stream, x, nothing, &scales[0], between, normed, EPSILON)?;
        attention.run(member, streams, what, normed, change)?;
        add_rms_norm(stream, between, change, &scales[1], x, normed, EPSILON)?;
        layers.run(member, streams, normed, change)?;
        let len = x.len();
        add_onto::launch(stream, &change.part(0, [len], [1])?, &mut x.part_mut(0, [len], [1])?)?;
        Ok(())
    }
}
