//! The numbers of a model: `config.json` of the Llama family, with what differs in Mistral and Qwen2.
//!
//! Law: what the kernels do not take, or the model does otherwise than they, is refused with the key.

use crate::Result;
use serde_json::{Value, json};
use std::path::Path;

/// A model's numbers.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    /// Heads of Q, and of K and V; elements of a head; elements behind the gate; tokens that there are.
    pub(crate) heads: [usize; 2],
    pub(crate) depth: usize,
    pub(crate) inner: usize,
    pub(crate) vocabulary: usize,
    pub(crate) epsilon: f32,
    /// The base of the angles; of "llama3" the factor, the least and the most turns, the length.
    theta: f64,
    stretch: Vec<f64>,
    /// Places of a sequence at most.
    pub(crate) context: usize,
    /// Whether the last product takes the first table; whether Q, K, V have a bias.
    pub(crate) tied: bool,
    pub(crate) biased: bool,
    /// Tokens that end a sequence.
    pub(crate) ends: Vec<Value>,
}

impl Config {
    /// Of `config.json` in a folder; without one a Llama of 1.5e9 parameters, whose tables are not tied.
    pub fn new(folder: Option<&Path>) -> Result<Config> {
        let Some(path) = folder.map(|folder| folder.join("config.json")) else {
            return Config::of(&json!({
                "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8,
                "intermediate_size": 8192, "vocab_size": 128_256, "rms_norm_eps": 1e-5, "rope_theta": 5e5,
                "max_position_embeddings": 131_072,
            }));
        };
        Config::of(&read(&path)?).map_err(|why| format!("{}: {why}", path.display()).into())
    }

    fn of(json: &Value) -> Result<Config> {
        let is = |name: &str| json[name] == true;
        let count = |name: &str, usual: Option<usize>| match (json[name].as_u64(), usual) {
            (Some(number @ 1..0x8000_0000), _) => Ok(number as usize),
            (None, Some(usual)) if json[name].is_null() => Ok(usual),
            _ if json[name].is_null() => Err(format!("there is no key `{name}`")),
            _ => Err(format!("`{name}` is {}, and a count above 0 is meant", json[name])),
        };
        let (hidden, inner) = (count("hidden_size", None)?, count("intermediate_size", None)?);
        let heads = count("num_attention_heads", None)?;
        let (groups, depth) =
            (count("num_key_value_heads", Some(heads))?, count("head_dim", Some(hidden / heads))?);
        let word = |name, usual| json[name].as_str().unwrap_or(usual);
        let (family, act) = (word("model_type", "llama"), word("hidden_act", "silu"));
        // Newer files have the angles' keys in an object of their own.
        let mut ropes = ["rope_scaling", "rope_parameters"].into_iter().map(|name| &json[name]);
        let rope = ropes.find(|rope| rope.is_object()).unwrap_or(&Value::Null);
        let kind = rope["rope_type"].as_str().or(rope["type"].as_str()).unwrap_or("default");
        let refused = [
            ("model_type", !["llama", "mistral", "qwen2"].contains(&family), "llama, mistral, qwen2"),
            ("attention_bias", is("attention_bias"), "false"),
            ("mlp_bias", is("mlp_bias"), "false"),
            ("hidden_act", act != "silu", "silu"),
            ("hidden_size", !hidden.is_multiple_of(8), "multiples of 8"),
            ("intermediate_size", !inner.is_multiple_of(8), "multiples of 8"),
            ("head_dim", !depth.is_multiple_of(32) || depth > 256, "multiples of 32 up to 256"),
            ("num_attention_heads", !heads.is_multiple_of(groups), "multiples of `num_key_value_heads`"),
            ("rope_scaling", !["default", "llama3"].contains(&kind), "the types default, llama3"),
        ];
        if let Some((name, _, taken)) = refused.into_iter().find(|(_, is, _)| *is) {
            return Err(format!("`{name}` is {}, and taken are {taken}", json[name]).into());
        }
        let ends = match &json["eos_token_id"] {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        let keys = ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"];
        let number = |name| rope[name].as_f64().ok_or_else(|| format!("`rope_scaling` has no `{name}`"));
        let stretch: std::result::Result<_, _> =
            keys.into_iter().filter(|_| kind == "llama3").map(number).collect();
        // Qwen's files name a window and whether it is used. Beyond it a sequence would see more keys than the model.
        let has_window = family == "mistral" || is("use_sliding_window");
        let window = json["sliding_window"].as_u64().filter(|_| has_window).unwrap_or(u64::MAX);
        Ok(Config {
            hidden,
            layers: count("num_hidden_layers", None)?,
            heads: [heads, groups],
            depth,
            inner,
            vocabulary: count("vocab_size", None)?,
            epsilon: json["rms_norm_eps"].as_f64().unwrap_or(1e-6) as f32,
            theta: rope["rope_theta"].as_f64().or(json["rope_theta"].as_f64()).unwrap_or(1e4),
            stretch: stretch?,
            context: count("max_position_embeddings", Some(2048))?.min(window as usize),
            tied: is("tie_word_embeddings"),
            biased: family == "qwen2",
            ends,
        })
    }

    /// A row for each place: the cosine of each pair's angle, then the sines.
    pub(crate) fn angles(&self, places: usize) -> Vec<f32> {
        let half = self.depth / 2;
        let speed = |pair: usize| {
            let speed = self.theta.powf(-(pair as f64) / half as f64);
            let [factor, low, high, length] = self.stretch[..] else { return speed };
            // Angles of few turns within the original length are slowed down, those of many are not.
            let share = ((length * speed / std::f64::consts::TAU - low) / (high - low)).clamp(0.0, 1.0);
            speed * (share + (1.0 - share) / factor)
        };
        let speeds: Vec<f64> = (0..half).map(speed).collect();
        let row = |of: fn(f64) -> f64, place| speeds.iter().map(move |speed| of(place as f64 * speed) as f32);
        (0..places).flat_map(|place| row(f64::cos, place).chain(row(f64::sin, place))).collect()
    }
}

/// What is in a file of JSON.
pub(crate) fn read(path: &Path) -> Result<Value> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(serde_json::from_str(&text).map_err(|why| format!("{}: no JSON: {why}", path.display()))?)
}
