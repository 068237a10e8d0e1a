//! Weights on the device: of a folder's safetensors, or at random. Products that share their operand are one matrix.
//!
//! Law: a tensor that is missing, of another shape or of a type that is no float is an error with its name and its
//! folder; a damaged file is one with its path.

use crate::{Config, Result, config::read};
use layout_cuda::{Elem, Stream, Tensor, TensorViewMut, bf16, f16};
use layout_files::Safetensors;
use layout_files::progress::{Progress, bar};
use layout_kernels::Real;
use layout_kernels::elementwise::{Unary, unary};
use layout_kernels::quantized::{Format, QuantizedMatrix};
use layout_kernels::random::{Source, normal};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

/// What a product takes, K x N.
pub(crate) enum Matrix {
    /// A row for each output.
    Whole(Tensor<bf16, 2>),
    /// Of 4 or 8 bits an element.
    Quantized(QuantizedMatrix),
}

/// A layer's. Matrices are as PyTorch has them: a row for each output.
pub(crate) struct Layer {
    /// Before attention and behind it.
    pub norms: [Tensor<bf16, 1>; 2],
    /// Of Q, K and V; zeros where there is none.
    pub bias: Tensor<bf16, 1>,
    /// Q, K and V; out of attention; the gate and what it gates; down.
    pub products: [Matrix; 4],
}

/// A model's.
pub struct Weights {
    /// Rows of tokens.
    pub table: Tensor<bf16, 2>,
    pub(crate) layers: Vec<Layer>,
    /// The last norm.
    pub norm: Tensor<bf16, 1>,
    /// The last product; the table where the two are tied.
    pub head: Option<Tensor<bf16, 2>>,
}

impl Weights {
    /// Of `model.safetensors`, or of the files that `model.safetensors.index.json` names, in a folder; without one
    /// normal numbers of a deviation of 0.02, and norms of 1. With a format the products of layers are rounded to it
    /// as they are loaded; the table and the last product are not.
    pub fn new(
        config: &Config,
        stream: &Stream,
        folder: Option<&Path>,
        format: Option<Format>,
    ) -> Result<Weights> {
        let Config { hidden, inner, depth, heads: [heads, groups], vocabulary, .. } = *config;
        let (mut origin, mut bar) = (Origin::open(stream, folder)?, bar("weights", 1 << 26));
        let table = origin.tensor("*.weight", [vocabulary, hidden], &[("model.embed_tokens", vocabulary)])?;
        let (q, kv, mut layers) = (heads * depth, groups * depth, Vec::new());
        let qkv = [("self_attn.q_proj", q), ("self_attn.k_proj", kv), ("self_attn.v_proj", kv)];
        let gates = [("mlp.gate_proj", inner), ("mlp.up_proj", inner)];
        for layer in 0..config.layers {
            let [at, bias] = ["weight", "bias"].map(|end| format!("model.layers.{layer}.*.{end}"));
            layers.push(Layer {
                norms: [
                    origin.tensor(&at, [hidden], &[("input_layernorm", hidden)])?,
                    origin.tensor(&at, [hidden], &[("post_attention_layernorm", hidden)])?,
                ],
                bias: origin.tensor(&bias, [q + 2 * kv], if config.biased { &qkv } else { &[] })?,
                products: [
                    origin.matrix(&at, [q + 2 * kv, hidden], &qkv, format)?,
                    origin.matrix(&at, [hidden, q], &[("self_attn.o_proj", hidden)], format)?,
                    origin.matrix(&at, [2 * inner, hidden], &gates, format)?,
                    origin.matrix(&at, [hidden, inner], &[("mlp.down_proj", hidden)], format)?,
                ],
            });
            bar.moved(origin.bytes * (layer as u64 + 1) / config.layers as u64, origin.bytes);
        }
        let norm = origin.tensor("*.weight", [hidden], &[("model.norm", hidden)])?;
        let head = || origin.tensor("*.weight", [vocabulary, hidden], &[("lm_head", vocabulary)]);
        let untied = |why| format!("{why}; `tie_word_embeddings` is not true");
        Ok(Weights { table, layers, norm, head: (!config.tied).then(head).transpose().map_err(untied)? })
    }

    /// What the last product takes.
    pub(crate) fn head(&self) -> &Tensor<bf16, 2> {
        self.head.as_ref().unwrap_or(&self.table)
    }

    /// Bytes that a step of few tokens reads: all but the table, of which it takes a row a token.
    pub(crate) fn bytes(&self) -> usize {
        let products = self.layers.iter().flat_map(|layer| &layer.products);
        let bytes = |matrix: &Matrix| match matrix {
            Matrix::Whole(matrix) => 2 * matrix.len(),
            Matrix::Quantized(matrix) => matrix.bytes(),
        };
        products.map(bytes).sum::<usize>() + 2 * self.head().len()
    }
}

/// Where weights come from: the files of a folder by their tensors, with the bytes of all, or random numbers.
struct Origin<'a> {
    stream: &'a Stream,
    folder: Option<&'a Path>,
    files: BTreeMap<String, Rc<Safetensors>>,
    bytes: u64,
    made: u64,
}

impl<'a> Origin<'a> {
    fn open(stream: &'a Stream, folder: Option<&'a Path>) -> Result<Origin<'a>> {
        let mut origin = Origin { stream, folder, files: BTreeMap::new(), bytes: 0, made: 0 };
        let Some(folder) = folder else { return Ok(origin) };
        let (single, index) = ("model.safetensors", folder.join("model.safetensors.index.json"));
        let mut names = BTreeSet::from([single.to_owned()]);
        if index.exists() && !folder.join(single).exists() {
            let json = read(&index)?;
            let map = json["weight_map"].as_object();
            let map = map.ok_or_else(|| format!("{}: there is no object `weight_map`", index.display()))?;
            names = map.values().filter_map(|name| name.as_str()).map(str::to_owned).collect();
        }
        for path in names.into_iter().map(|name| folder.join(name)) {
            let file = Rc::new(Safetensors::open(&path)?);
            origin.bytes += std::fs::metadata(&path)?.len();
            origin.files.extend(file.names().into_iter().map(|name| (name, file.clone())));
        }
        Ok(origin)
    }

    /// A tensor whose rows are those of the parts, one after the other, with names in the place of `*`; zeros of none.
    fn tensor<const R: usize>(
        &mut self,
        at: &str,
        shape: [usize; R],
        parts: &[(&str, usize)],
    ) -> Result<Tensor<bf16, R>> {
        let (stream, mut tensor) = (self.stream, self.stream.zeros::<bf16, R>(shape)?);
        let (mut first, row) = (0, shape[1..].iter().product::<usize>());
        for (part, rows) in parts {
            let to = &mut tensor.part_mut(first, [rows * row], [1])?;
            first += rows * row;
            let Some(folder) = self.folder.map(Path::display) else {
                self.made += 1;
                let (mean, deviation) = if R == 1 { (1.0, 0.0) } else { (0.0, 0.02) };
                normal(stream, Source { seed: 1, stream: self.made }, mean, deviation, to)?;
                continue;
            };
            let name = &at.replace('*', part);
            let file = self.files.get(name).ok_or_else(|| format!("{folder}: no tensor `{name}`"))?;
            let (found, mut expected) = (file.shape(name)?, shape);
            expected[0] = *rows;
            if found != expected {
                let why = format!("has the shape {found:?}, and by config.json it is {expected:?}");
                return Err(format!("{folder}: `{name}` {why}").into());
            }
            match file.elem(name)? {
                Some(Elem::Bf16) => self.cast::<bf16, R>(name, to)?,
                Some(Elem::F16) => self.cast::<f16, R>(name, to)?,
                _ => self.cast::<f32, R>(name, to)?,
            }
        }
        Ok(tensor)
    }

    /// A product's matrix, rounded where a format is asked for.
    fn matrix(
        &mut self,
        at: &str,
        shape @ [rows, depth]: [usize; 2],
        parts: &[(&str, usize)],
        format: Option<Format>,
    ) -> Result<Matrix> {
        let whole = self.tensor(at, shape, parts)?;
        let Some(format) = format else { return Ok(Matrix::Whole(whole)) };
        let columns = whole.part(0, [depth, rows], [1, depth])?;
        Ok(Matrix::Quantized(QuantizedMatrix::round(self.stream, format, &columns)?))
    }

    /// A tensor of the files, into the place of its elements.
    fn cast<T: Real, const R: usize>(&self, name: &str, to: &mut TensorViewMut<'_, bf16, 1>) -> Result<()> {
        let loaded = self.files[name].load::<T, R>(name, self.stream)?;
        Ok(unary(self.stream, Unary::Cast, &loaded.part(0, to.shape(), [1])?, to)?)
    }
}
