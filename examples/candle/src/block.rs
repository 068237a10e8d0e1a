//! A block of a transformer, as Llama has it: attention with rotary embedding, and a gated layer; a norm before each.
//!
//! Law: [`Block::forward`] and [`Block::forward_by_candle`] compute the same, up to what is rounded in between.

use crate::{Then, attention, linear, linear_then, rms_norm, rope};
use candle_core::{D, DType, Device, IndexOp, Result, Tensor};
use candle_nn::ops::{silu, softmax_last_dim};
use candle_nn::{Linear, Module};

/// How large a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values, a divisor of `heads`.
    pub groups: usize,
    /// Elements of a head.
    pub head: usize,
    /// Elements of the gated layer.
    pub hidden: usize,
    /// The most places.
    pub places: usize,
}

impl Sizes {
    /// Elements of a place.
    pub fn width(&self) -> usize {
        self.heads * self.head
    }
}

/// The weights, each of (out, in), and the angles.
#[derive(Clone, Debug)]
pub struct Block {
    sizes: Sizes,
    norms: [Tensor; 2],
    /// Of queries, keys and values, one under the other.
    qkv: Tensor,
    out: Tensor,
    gate: Tensor,
    up: Tensor,
    down: Tensor,
    angles: [Tensor; 2],
    /// What candle's own operations add to scores: minus infinity where a key is behind the query.
    hidden: Tensor,
}

/// What is added to the mean of the squares.
const EPSILON: f32 = 1e-5;

impl Block {
    /// One of random weights.
    ///
    /// # Errors
    /// Memory that is not there.
    pub fn random(sizes: Sizes, dtype: DType, device: &Device) -> Result<Block> {
        let Sizes { heads, groups, head, hidden, places } = sizes;
        let width = sizes.width();
        let weights = |out: usize, of: usize| {
            Tensor::randn(0f32, 1.0 / (of as f32).sqrt(), (out, of), device)?.to_dtype(dtype)
        };
        let norm = || Tensor::rand(0.5f32, 1.5, width, device)?.to_dtype(dtype);
        let frequencies: Vec<f32> =
            (0..head / 2).map(|pair| 10_000f32.powf(-2.0 * pair as f32 / head as f32)).collect();
        let place =
            Tensor::arange(0u32, places as u32, device)?.to_dtype(DType::F32)?.reshape((places, 1))?;
        let angles = place.matmul(&Tensor::from_vec(frequencies, (1, head / 2), device)?)?;
        Ok(Block {
            sizes,
            norms: [norm()?, norm()?],
            qkv: weights((heads + 2 * groups) * head, width)?,
            out: weights(width, heads * head)?,
            gate: weights(hidden, width)?,
            up: weights(hidden, width)?,
            down: weights(width, hidden)?,
            angles: [angles.cos()?.to_dtype(dtype)?, angles.sin()?.to_dtype(dtype)?],
            hidden: hidden_keys(places, device)?.to_dtype(dtype)?,
        })
    }

    /// The same with weights of another type.
    ///
    /// # Errors
    /// A type that candle does not convert to.
    pub fn to_dtype(&self, dtype: DType) -> Result<Block> {
        let to = |tensor: &Tensor| tensor.to_dtype(dtype);
        Ok(Block {
            sizes: self.sizes,
            norms: [to(&self.norms[0])?, to(&self.norms[1])?],
            qkv: to(&self.qkv)?,
            out: to(&self.out)?,
            gate: to(&self.gate)?,
            up: to(&self.up)?,
            down: to(&self.down)?,
            angles: [to(&self.angles[0])?, to(&self.angles[1])?],
            hidden: to(&self.hidden)?,
        })
    }

    /// Queries, keys and values of (batch, heads, places, head), where the product left them.
    fn split(&self, qkv: &Tensor) -> Result<[Tensor; 3]> {
        let Sizes { heads, groups, head, .. } = self.sizes;
        let (batch, places, _) = qkv.dims3()?;
        let all = qkv.reshape((batch, places, heads + 2 * groups, head))?.transpose(1, 2)?;
        Ok([all.i((.., ..heads))?, all.i((.., heads..heads + groups))?, all.i((.., heads + groups..))?])
    }

    /// The block on `x`, of (batch, places, width), by the operations here: bf16 or f16.
    ///
    /// # Errors
    /// As [`linear`] and [`attention`].
    ///
    /// ```
    /// use candle_core::{DType, Device, Tensor};
    /// use layout_candle::{Block, Sizes};
    ///
    /// let sizes = Sizes { heads: 2, groups: 1, head: 64, hidden: 128, places: 16 };
    /// let block = Block::random(sizes, DType::BF16, &Device::Cpu)?;
    /// let x = Tensor::randn(0f32, 1., (1, 9, sizes.width()), &Device::Cpu)?.to_dtype(DType::BF16)?;
    /// assert_eq!(block.forward(&x)?.dims(), x.dims());
    /// # Ok::<(), candle_core::Error>(())
    /// ```
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let [cos, sin] = &self.angles;
        let [q, k, v] = self.split(&linear(&rms_norm(x, &self.norms[0], EPSILON)?, &self.qkv)?)?;
        let o = attention(&rope(&q, cos, sin)?, &rope(&k, cos, sin)?, &v, true, None)?;
        let x = linear_then(&o.transpose(1, 2)?.flatten_from(2)?, &self.out, Then::Plus, x)?;
        let y = rms_norm(&x, &self.norms[1], EPSILON)?;
        let gated = linear_then(&y, &self.gate, Then::SiluTimes, &linear(&y, &self.up)?)?;
        linear_then(&gated, &self.down, Then::Plus, &x)
    }

    /// The same by candle's own operations, of any type that they take.
    ///
    /// # Errors
    /// Candle's.
    pub fn forward_by_candle(&self, x: &Tensor) -> Result<Tensor> {
        let Sizes { heads, groups, head, .. } = self.sizes;
        let (batch, places, _) = x.dims3()?;
        let [cos, sin] = &self.angles;
        let [cos, sin] = [cos.narrow(0, 0, places)?, sin.narrow(0, 0, places)?];
        let times = |x: &Tensor, weight: &Tensor| Linear::new(weight.clone(), None).forward(x);
        let qkv = times(&candle_nn::ops::rms_norm(x, &self.norms[0], EPSILON)?, &self.qkv)?;
        let [q, k, v] = self.split(&qkv)?;
        let turned = |heads: &Tensor| candle_nn::rotary_emb::rope(&heads.contiguous()?, &cos, &sin);
        let shared = |of: Tensor| {
            let shape = (batch, groups, heads / groups, places, head);
            of.unsqueeze(2)?.broadcast_as(shape)?.contiguous()?.reshape((batch, heads, places, head))
        };
        let (q, k, v) = (turned(&q)?, shared(turned(&k)?)?, shared(v)?);
        let scores = (q.matmul(&k.t()?)? * (1.0 / (head as f64).sqrt()))?;
        let scores = scores.broadcast_add(&self.hidden.i((..places, ..places))?)?;
        let o = softmax_last_dim(&scores)?.matmul(&v)?.transpose(1, 2)?.flatten_from(D::Minus2)?;
        let x = (x + times(&o, &self.out)?)?;
        let y = candle_nn::ops::rms_norm(&x, &self.norms[1], EPSILON)?;
        let gated = (silu(&times(&y, &self.gate)?)? * times(&y, &self.up)?)?;
        x + times(&gated, &self.down)?
    }
}

/// Minus infinity where a key is behind the query.
fn hidden_keys(places: usize, device: &Device) -> Result<Tensor> {
    let hidden = |query: usize, key: usize| if key > query { f32::NEG_INFINITY } else { 0.0 };
    let values = (0..places).flat_map(|query| (0..places).map(move |key| hidden(query, key)));
    Tensor::from_vec(values.collect::<Vec<f32>>(), (places, places), device)
}
