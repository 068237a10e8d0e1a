//! Attention split by heads: each rank projects all tokens onto its own heads, attends, and adds its term of the output.
//!
//! ```text
//! x by tokens ─ all-gather ─► [Q K V] = x W, own columns ─► attention, own heads ─► term = O W', own rows ─ reduce-scatter ─► y by tokens
//! ```
//!
//! Law: the heads are those of one device, bit for bit; a rank's term is rounded to the elements' type before terms are added.

use super::heads::Heads;
use super::products::{Beside, gathered_product, multiply_rows, scattered_product};
use crate::attention::Attention;
use layout_cuda::{Element, Stream, Tensor};
use layout_mesh::{Member, Reduction, Result};

/// What attention over a mesh does not take.
const PACKED: &str = "packed sequences, whose ends are those of one batch, in attention by heads; give sequences of one length";

/// A rank's part of attention over so many sequences of equal length, and the room for what is between.
#[derive(Debug)]
pub struct ByHeads<T: Element> {
    /// Heads of queries, and of keys and values.
    heads: [usize; 2],
    dimension: usize,
    sequences: usize,
    into: Tensor<T, 2>,
    out: Tensor<T, 2>,
    others: Vec<Tensor<T, 2>>,
    projected: Tensor<T, 2>,
    attended: Tensor<T, 2>,
    logs: Tensor<f32, 3>,
    parts: Vec<Tensor<T, 2>>,
    sent: Vec<Tensor<T, 2>>,
}

impl<T: Element> ByHeads<T> {
    /// With this rank's part of the weights, for so many sequences with so many tokens on each rank. `into` is the columns of its
    /// heads of Q, then of K, then of V, each head `dimension` wide, in the order of [`Heads::of`]; `out` the rows of its heads.
    /// Every rank calls this.
    ///
    /// # Errors
    /// [`layout_mesh::MeshError`], on every rank, for heads over other ranks, weights of other shapes, tokens that the sequences do not divide, or
    /// a device without memory.
    pub fn new(
        member: &Member,
        stream: &Stream,
        (heads, dimension): (&Heads, usize),
        (into, out): (Tensor<T, 2>, Tensor<T, 2>),
        [sequences, rows]: [usize; 2],
    ) -> Result<ByHeads<T>> {
        let (rank, size) = (member.rank(), member.size());
        if heads.ranks() != size {
            return member.refuse(format!("heads over {} ranks in a group of {size}", heads.ranks()));
        }
        let own = heads.of(rank)?;
        let heads = [own.queries.len(), own.keys.len()];
        let ([width, columns], [depth, wide]) = (into.shape(), out.shape());
        let all = rows * size;
        let want = [(heads[0] + 2 * heads[1]) * dimension, heads[0] * dimension];
        if [columns, depth] != want || width == 0 || sequences == 0 || all % sequences != 0 {
            return member.refuse(format!(
                "weights of {width} x {columns} and {depth} x {wide} for {} heads on {} of {dimension}, which take {} columns and {} rows; \
                 {all} tokens in {sequences} sequences",
                heads[0], heads[1], want[0], want[1],
            ));
        }
        // Whoever comes here has weights that fit; the others have refused.
        member.barrier()?;
        let room =
            |wide: usize| (1..size).map(|_| Ok(stream.zeros([rows, wide])?)).collect::<Result<Vec<_>>>();
        Ok(ByHeads {
            heads,
            dimension,
            sequences,
            others: room(width)?,
            projected: stream.zeros([all, columns])?,
            attended: stream.zeros([all, depth])?,
            logs: stream.zeros([sequences, heads[0], all / sequences])?,
            parts: room(wide)?,
            sent: room(wide)?,
            into,
            out,
        })
    }

    /// This rank's tokens of the result, from its tokens of `x`: an all-gather before, a reduce-scatter after.
    ///
    /// # Errors
    /// [`layout_mesh::MeshError`], on every rank.
    pub fn run(
        &mut self,
        member: &Member,
        streams: (&Stream, &Beside),
        what: &Attention<'_>,
        x: &Tensor<T, 2>,
        y: &mut Tensor<T, 2>,
    ) -> Result<()> {
        if what.packed.is_some() {
            return member.refuse(PACKED);
        }
        let ByHeads { into, others, projected, .. } = self;
        gathered_product(member, streams, x, others, into, projected)?;
        self.attend(streams.0, what)?;
        let ByHeads { out, attended, parts, sent, .. } = self;
        scattered_product(member, streams, (attended, out), parts, sent, y)
    }

    /// All tokens of the result on every rank, from all tokens of `x` there: one all-reduce. For few tokens, or rows that no rank
    /// wants alone. `term` is room for this rank's term.
    ///
    /// # Errors
    /// [`layout_mesh::MeshError`], on every rank.
    pub fn run_on_copies(
        &mut self,
        member: &Member,
        stream: &Stream,
        what: &Attention<'_>,
        x: &Tensor<T, 2>,
        [term, y]: [&mut Tensor<T, 2>; 2],
    ) -> Result<()> {
        if what.packed.is_some() {
            return member.refuse(PACKED);
        }
        let (rows, wide) = (self.projected.shape()[0], self.out.shape()[1]);
        let fits =
            x.shape() == [rows, self.into.shape()[0]] && [term.shape(), y.shape()] == [[rows, wide]; 2];
        if !fits {
            let (x, y) = (x.shape(), y.shape());
            return member
                .refuse(format!("{x:?} and {y:?} for attention of {rows} tokens to {wide} columns"));
        }
        multiply_rows(stream, (x, 0..rows), &self.into, (&mut self.projected, 0), 0)?;
        self.attend(stream, what)?;
        multiply_rows(stream, (&self.attended, 0..rows), &self.out, (term, 0), 0)?;
        member.all_reduce(stream, Reduction::Sum, &*term, y)
    }

    /// What each of this rank's heads gives for each token, a head's elements next to one another.
    pub fn attended(&self) -> &Tensor<T, 2> {
        &self.attended
    }

    /// The attention of this rank's heads; a rank without heads has nothing to do.
    fn attend(&mut self, stream: &Stream, what: &Attention<'_>) -> Result<()> {
        let ([queries, keys], d) = (self.heads, self.dimension);
        let [all, columns] = self.projected.shape();
        if queries == 0 || all == 0 {
            return Ok(());
        }
        let length = all / self.sequences;
        let part = |first: usize, heads: usize| {
            let shape = [self.sequences, heads, length, d];
            self.projected.part(first * d, shape, [length * columns, d, columns, 1])
        };
        let (q, k, v) = (part(0, queries)?, part(queries, keys)?, part(queries + keys, keys)?);
        let wide = queries * d;
        let shape = [self.sequences, queries, length, d];
        let mut o = self.attended.part_mut(0, shape, [length * wide, d, wide, 1])?;
        what.run(stream, &q, &k, &v, &mut o, &mut self.logs)?;
        Ok(())
    }
}
