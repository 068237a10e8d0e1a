//! The settings that an editor gives: `{ "sets": { "matmul": "BM = 128, T = f16" }, "debounce": 50 }`.
//!
//! Law: what is missing or of another type has its default. A set need not be whole: the attribute's first listed values are
//! the others.

use layout_compiler::{Elem, Kernel, ParamSet, ParamValue};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;

/// The settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The parameter set of a kernel, by the kernel's name.
    pub sets: BTreeMap<String, String>,
    /// How long a text is to be unchanged before it is compiled.
    pub debounce: Duration,
}

impl Settings {
    /// Those of initialisation options or of a configuration, which may have them under `layout`.
    pub fn of(value: &Value) -> Settings {
        let own = value.get("layout").unwrap_or(value);
        let sets = own.get("sets").and_then(Value::as_object).into_iter().flatten();
        let sets = sets.filter_map(|(name, set)| Some((name.clone(), set.as_str()?.to_owned())));
        let debounce = own.get("debounce").and_then(Value::as_u64).unwrap_or(50);
        Settings { sets: sets.collect(), debounce: Duration::from_millis(debounce.min(10_000)) }
    }
}

/// `BM = 64, T = f32` as values of a kernel's parameters.
///
/// # Errors
/// The entry that is none.
pub fn set_of(kernel: &Kernel, text: &str) -> Result<ParamSet, String> {
    let mut set = ParamSet::default();
    for entry in text.split(',').filter(|entry| !entry.trim().is_empty()) {
        let (name, value) = entry.split_once('=').unwrap_or((entry, ""));
        let (name, value) = (name.trim(), value.trim());
        let listed = kernel.parameters.iter().filter(|parameter| parameter.name == name);
        let listed = listed.flat_map(|parameter| &parameter.values).find(|known| known.to_string() == value);
        let number = value.replace('_', "").parse().map(ParamValue::Int).ok();
        let truth = value.parse().map(ParamValue::Bool).ok();
        let known = listed.copied().or(number).or(truth).or(Elem::from_name(value).map(ParamValue::Type));
        let Some(known) = known else {
            return Err(format!(
                "the setting `sets` has the entry `{}`, which gives `{name}` no value that is known\n  = help: write \
                 `BM = 64, STAGED = true, T = f32`, or a function that the attribute lists",
                entry.trim()
            ));
        };
        set = set.with(name, known);
    }
    Ok(set)
}
