//! A forward pass in float32, one token after the other, and the checkpoint that it is of.
//!
//! Law: weights are those of the file, rounded to bf16; nothing else is rounded below float32.

use layout_cuda::{Device, Tensor, bf16};
use layout_files::{Saved, save_safetensors};
use std::collections::BTreeMap;
use std::path::Path;

pub const HIDDEN: usize = 64;
pub const INNER: usize = 96;
pub const VOCABULARY: usize = 96;
const HEADS: usize = 4;
const GROUPS: usize = 2;
const DEPTH: usize = 32;
const LAYERS: usize = 2;

/// Names, shapes and values.
pub type Values = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

pub struct Reference {
    values: Values,
}

/// The tensors of a family: matrices of deviation 1 / sqrt(columns), norms around 1.
pub fn values(family: &str) -> Values {
    let mut shapes: Vec<(String, Vec<usize>)> = vec![
        ("model.embed_tokens.weight".into(), vec![VOCABULARY, HIDDEN]),
        ("model.norm.weight".into(), vec![HIDDEN]),
        ("lm_head.weight".into(), vec![VOCABULARY, HIDDEN]),
    ];
    for layer in 0..LAYERS {
        let mut add = |name: &str, shape: &[usize]| {
            shapes.push((format!("model.layers.{layer}.{name}"), shape.to_vec()));
        };
        add("input_layernorm.weight", &[HIDDEN]);
        add("post_attention_layernorm.weight", &[HIDDEN]);
        for (name, heads) in [("q", HEADS), ("k", GROUPS), ("v", GROUPS)] {
            add(&format!("self_attn.{name}_proj.weight"), &[heads * DEPTH, HIDDEN]);
            if family == "qwen2" {
                add(&format!("self_attn.{name}_proj.bias"), &[heads * DEPTH]);
            }
        }
        add("self_attn.o_proj.weight", &[HIDDEN, HEADS * DEPTH]);
        add("mlp.gate_proj.weight", &[INNER, HIDDEN]);
        add("mlp.up_proj.weight", &[INNER, HIDDEN]);
        add("mlp.down_proj.weight", &[HIDDEN, INNER]);
    }
    let mut state = 12345u64;
    let mut uniform = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    let mut of = |name: &str, shape: &[usize]| -> Vec<f32> {
        let deviation = match shape.len() {
            2 if !name.contains("embed") => 1.0 / (shape[1] as f32).sqrt(),
            _ => 0.3,
        };
        let base = if name.contains("norm") { 1.0 } else { 0.0 };
        let count = shape.iter().product();
        (0..count).map(|_| bf16::from_f32(base + deviation * 3.46 * uniform()).to_f32()).collect()
    };
    shapes.into_iter().map(|(name, shape)| (name.clone(), (shape.clone(), of(&name, &shape)))).collect()
}

/// Tensors into a file.
pub fn save(path: &Path, values: &Values) {
    let device = Device::simulator();
    let up = |values: &[f32]| values.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>();
    let tensors: Vec<(&str, Box<dyn Saved>)> = values
        .iter()
        .map(|(name, (shape, values))| {
            let values = up(values);
            let saved: Box<dyn Saved> = match *shape.as_slice() {
                [m] => Box::new(device.upload(&values, [m]).expect("a vector")),
                [m, n] => Box::new(device.upload(&values, [m, n]).expect("a matrix") as Tensor<bf16, 2>),
                _ => unreachable!("vectors and matrices"),
            };
            (name.as_str(), saved)
        })
        .collect();
    let tensors: Vec<(&str, &dyn Saved)> = tensors.iter().map(|(name, saved)| (*name, &**saved)).collect();
    save_safetensors(path, &tensors).expect("written");
}

/// The keys of `config.json`.
pub fn config(family: &str) -> serde_json::Value {
    serde_json::json!({
        "model_type": family, "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": GROUPS, "head_dim": DEPTH, "intermediate_size": INNER, "vocab_size": VOCABULARY,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "max_position_embeddings": 64, "hidden_act": "silu",
        "tie_word_embeddings": false, "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        },
    })
}

fn normed(x: &[f32], scale: &[f32]) -> Vec<f32> {
    let mean = x.iter().map(|x| x * x).sum::<f32>() / x.len() as f32;
    x.iter().zip(scale).map(|(x, scale)| x / (mean + 1e-5).sqrt() * scale).collect()
}

/// Llama 3.1's angles, by wavelengths as its authors have them.
fn angle(place: usize, pair: usize) -> f32 {
    let speed = 10000f32.powf(-2.0 * pair as f32 / DEPTH as f32);
    let wave = std::f32::consts::TAU / speed;
    let speed = if wave < 32.0 / 4.0 {
        speed
    } else if wave > 32.0 {
        speed / 8.0
    } else {
        let smooth = (32.0 / wave - 1.0) / 3.0;
        (1.0 - smooth) * speed / 8.0 + smooth * speed
    };
    place as f32 * speed
}

impl Reference {
    /// Writes a folder of the family, and keeps what is in it.
    pub fn write(folder: &Path, family: &str) -> Reference {
        let values = values(family);
        save(&folder.join("model.safetensors"), &values);
        std::fs::write(folder.join("config.json"), config(family).to_string()).expect("written");
        Reference { values }
    }

    fn of(&self, layer: usize, name: &str) -> Option<&[f32]> {
        self.values.get(&format!("model.layers.{layer}.{name}")).map(|(_, values)| values.as_slice())
    }

    fn product(&self, layer: usize, name: &str, x: &[f32]) -> Vec<f32> {
        let w = self.of(layer, &format!("{name}.weight")).expect("a matrix");
        let bias = self.of(layer, &format!("{name}.bias"));
        let row = |(at, row): (usize, &[f32])| {
            row.iter().zip(x).map(|(a, b)| a * b).sum::<f32>() + bias.map_or(0.0, |bias| bias[at])
        };
        w.chunks(x.len()).enumerate().map(row).collect()
    }

    /// The logits behind each token.
    pub fn logits(&self, tokens: &[u32]) -> Vec<Vec<f32>> {
        let mut cache = vec![vec![]; LAYERS];
        tokens.iter().enumerate().map(|(place, token)| self.next(&mut cache, place, *token)).collect()
    }

    fn next(&self, cache: &mut [Vec<[Vec<f32>; 2]>], place: usize, token: u32) -> Vec<f32> {
        let mut x = self.values["model.embed_tokens.weight"].1[token as usize * HIDDEN..][..HIDDEN].to_vec();
        for (layer, cache) in cache.iter_mut().enumerate() {
            let h = normed(&x, self.of(layer, "input_layernorm.weight").expect("a norm"));
            let turned = |name: &str| {
                let mut all = self.product(layer, &format!("self_attn.{name}_proj"), &h);
                for head in all.chunks_mut(DEPTH) {
                    for pair in 0..DEPTH / 2 {
                        let (sin, cos) = angle(place, pair).sin_cos();
                        let (a, b) = (head[pair], head[pair + DEPTH / 2]);
                        (head[pair], head[pair + DEPTH / 2]) = (a * cos - b * sin, b * cos + a * sin);
                    }
                }
                all
            };
            cache.push([turned("k"), self.product(layer, "self_attn.v_proj", &h)]);
            let mut o = vec![];
            for (head, q) in turned("q").chunks(DEPTH).enumerate() {
                let first = head / (HEADS / GROUPS) * DEPTH;
                let score = |k: &[f32]| q.iter().zip(&k[first..]).map(|(a, b)| a * b).sum::<f32>();
                let weights: Vec<f32> =
                    cache.iter().map(|[k, _]| (score(k) / (DEPTH as f32).sqrt()).exp()).collect();
                let all: f32 = weights.iter().sum();
                o.extend((first..first + DEPTH).map(|at| {
                    weights.iter().zip(cache.iter()).map(|(weight, [_, v])| weight / all * v[at]).sum::<f32>()
                }));
            }
            let add = |x: &mut Vec<f32>, y: Vec<f32>| x.iter_mut().zip(y).for_each(|(x, y)| *x += y);
            add(&mut x, self.product(layer, "self_attn.o_proj", &o));
            let h = normed(&x, self.of(layer, "post_attention_layernorm.weight").expect("a norm"));
            let (gate, up) =
                (self.product(layer, "mlp.gate_proj", &h), self.product(layer, "mlp.up_proj", &h));
            let inner: Vec<f32> =
                gate.iter().zip(up).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
            add(&mut x, self.product(layer, "mlp.down_proj", &inner));
        }
        let h = normed(&x, &self.values["model.norm.weight"].1);
        let head = &self.values["lm_head.weight"].1;
        head.chunks(HIDDEN).map(|row| row.iter().zip(&h).map(|(a, b)| a * b).sum()).collect()
    }
}
