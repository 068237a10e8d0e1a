//! Folders of models: whole, in shards, and wrong in one way each.
//!
//! Law: each is an error that names the file and the key or tensor.

use crate::reference::{self, HIDDEN, INNER, VOCABULARY};
use layout_cuda::Device;
use layout_llama::{Config, Weights};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A folder of the test's own, which goes with it.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("layout-llama-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What reading a folder says.
fn read(folder: &Folder) -> Result<Weights, String> {
    let config = Config::new(Some(&folder.0)).map_err(|error| error.to_string())?;
    Weights::new(&config, &Device::simulator().stream(), Some(&folder.0), None)
        .map_err(|error| error.to_string())
}

/// The error of a configuration with other keys, without the file's path.
fn refused(name: &str, change: impl Fn(&mut Value)) -> String {
    let folder = Folder::new(name);
    let mut config = reference::config("llama");
    change(&mut config);
    std::fs::write(folder.0.join("config.json"), config.to_string()).expect("written");
    let error = Config::new(Some(&folder.0)).expect_err(name).to_string();
    error.split_once("config.json: ").expect("the file's name").1.to_owned()
}

#[test]
fn a_wrong_configuration_is_named() {
    let removed = refused("key", |config| drop(config.as_object_mut().expect("keys").remove("hidden_size")));
    assert_eq!(removed, "there is no key `hidden_size`");
    let kind = refused("kind", |config| config["num_hidden_layers"] = json!("two"));
    assert_eq!(kind, "`num_hidden_layers` is \"two\", and a count above 0 is meant");
    let depth = refused("depth", |config| config["head_dim"] = json!(20));
    assert_eq!(depth, "`head_dim` is 20, and taken are multiples of 32 up to 256");
    let rope = refused("rope", |config| config["rope_scaling"]["rope_type"] = json!("yarn"));
    assert!(rope.contains("yarn") && rope.ends_with(", and taken are the types default, llama3"), "{rope}");
    let factor = refused("factor", |config| config["rope_scaling"]["factor"] = json!(null));
    assert_eq!(factor, "`rope_scaling` has no `factor`");
    let family = refused("family", |config| config["model_type"] = json!("bert"));
    assert_eq!(family, "`model_type` is \"bert\", and taken are llama, mistral, qwen2");
    let missing = Config::new(Some(Path::new("nowhere"))).expect_err("no folder").to_string();
    assert!(missing.starts_with("nowhere"), "{missing}");
}

#[test]
fn wrong_weights_are_named() {
    let folder = Folder::new("wrong");
    let path = folder.0.join("model.safetensors");
    std::fs::write(folder.0.join("config.json"), reference::config("llama").to_string()).expect("written");
    let error = read(&folder).err().expect("no file");
    assert!(error.contains("model.safetensors"), "{error}");
    let whole = reference::values("llama");
    let mut values = whole.clone();
    values.remove("model.layers.1.mlp.up_proj.weight");
    reference::save(&path, &values);
    let error = read(&folder).err().expect("a tensor less");
    assert!(error.ends_with("no tensor `model.layers.1.mlp.up_proj.weight`"), "{error}");
    let mut values = whole.clone();
    values.get_mut("model.layers.0.mlp.down_proj.weight").expect("a tensor").0 = vec![INNER, HIDDEN];
    reference::save(&path, &values);
    let error = read(&folder).err().expect("another shape");
    assert!(
        error.ends_with(
            "`model.layers.0.mlp.down_proj.weight` has the shape [96, 64], and by config.json it is [64, 96]"
        ),
        "{error}"
    );
    let mut values = whole.clone();
    values.remove("lm_head.weight");
    reference::save(&path, &values);
    let error = read(&folder).err().expect("no head");
    assert!(error.ends_with("no tensor `lm_head.weight`; `tie_word_embeddings` is not true"), "{error}");
    let mut tied = reference::config("llama");
    tied["tie_word_embeddings"] = json!(true);
    std::fs::write(folder.0.join("config.json"), tied.to_string()).expect("written");
    let weights = read(&folder).expect("tied tables");
    assert!(weights.head.is_none() && weights.table.shape() == [VOCABULARY, HIDDEN]);
    let bytes = std::fs::read(&path).expect("bytes");
    std::fs::write(&path, &bytes[..bytes.len() - 100]).expect("written");
    let error = read(&folder).err().expect("cut off");
    assert!(error.contains("model.safetensors") && error.contains("cut off"), "{error}");
}

#[test]
fn shards_are_one_model() {
    let folder = Folder::new("shards");
    std::fs::write(folder.0.join("config.json"), reference::config("llama").to_string()).expect("written");
    let (mut map, mut parts) = (serde_json::Map::new(), [reference::Values::new(), reference::Values::new()]);
    for (number, (name, value)) in reference::values("llama").into_iter().enumerate() {
        map.insert(name.clone(), json!(format!("part-{}.safetensors", number % 2)));
        parts[number % 2].insert(name, value);
    }
    for (number, part) in parts.iter().enumerate() {
        reference::save(&folder.0.join(format!("part-{number}.safetensors")), part);
    }
    let index = folder.0.join("model.safetensors.index.json");
    std::fs::write(&index, json!({ "weight_map": map }).to_string()).expect("written");
    let weights = read(&folder).expect("shards");
    let expected = &reference::values("llama")["model.norm.weight"].1;
    let found: Vec<f32> = weights.norm.download().expect("a norm").iter().map(|x| x.to_f32()).collect();
    assert_eq!(&found, expected);
    std::fs::remove_file(folder.0.join("part-1.safetensors")).expect("removed");
    let error = read(&folder).err().expect("a file less");
    assert!(error.contains("part-1.safetensors"), "{error}");
    std::fs::write(&index, "{}").expect("written");
    let error = read(&folder).err().expect("no map");
    assert!(error.ends_with("model.safetensors.index.json: there is no object `weight_map`"), "{error}");
}
