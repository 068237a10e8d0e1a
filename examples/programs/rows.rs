//! Rows of JSON in, answers out: `{id, op, args}` as the oracle writes them to `{id, result | error, table}`.
//!
//! Law: `answer` calls the operation of that name with the arguments of those names; no row makes it panic.

use layout_core::expr::{OPERATIONS, Value, call};
use layout_core::{ComposedLayout, IntTuple, Layout, LayoutError, Nest, Swizzle, algebra::Tile};
use serde_json::{Map, Value as Json, json};

/// How many offsets of a swizzled layout are written.
const TABLE: usize = 1 << 16;

/// The answer to one row; `id` is what the row's was.
pub fn answer(row: &Json) -> Json {
    let mut answer = Map::new();
    answer.insert("id".into(), row["id"].clone());
    match evaluate(row) {
        Ok(value) => {
            answer.insert("result".into(), write(&value));
            // Longer tables are left to the result.
            if let Some(offsets) = value.offsets() {
                let table: Vec<i64> = offsets.take(257).collect();
                if table.len() <= 256 {
                    answer.insert("table".into(), json!(table));
                }
            }
        }
        Err(error) => {
            answer.insert("error".into(), Json::String(error.to_string()));
        }
    }
    Json::Object(answer)
}

fn refuse(detail: String) -> LayoutError {
    // The one error of this reader: its rows are not the library's.
    LayoutError::Unsupported { operation: "row", detail }
}

fn evaluate(row: &Json) -> Result<Value, LayoutError> {
    let name = row["op"].as_str().ok_or_else(|| refuse("it has no `op`".into()))?;
    let args = row["args"].as_object().ok_or_else(|| refuse("it has no `args`".into()))?;
    // The oracle's names for what other operations do with a swizzled layout.
    if let Some(plain) =
        name.strip_prefix("composed_").or(Some(name).filter(|name| *name == "swizzle_layout"))
    {
        let composed = Value::Composed(composed(args)?);
        let rest: Result<Vec<Value>, _> =
            ["tiler", "old_bits", "new_bits"].iter().filter_map(|name| args.get(*name)).map(read).collect();
        let rest = rest?;
        return match plain {
            "swizzle_layout" => Ok(composed),
            "recast" => call("recast_layout", &[[composed].as_slice(), &rest].concat()),
            _ => call(plain, &[[composed].as_slice(), &rest].concat()),
        };
    }
    let name = match name {
        "swizzle_apply" => "swizzle",
        "swizzle_upcast" => "upcast",
        "swizzle_downcast" => "downcast",
        "ceil_div_layout" => "ceil_div",
        "complement_default" => "complement",
        name => name,
    };
    let plain = name.strip_suffix("_tiler").unwrap_or(name);
    let operation = OPERATIONS.iter().find(|operation| operation.name == plain);
    let operation = operation.ok_or_else(|| refuse(format!("there is no operation `{name}`")))?;
    let mut values = Vec::new();
    for argument in operation.arguments {
        let optional = argument.ends_with('?');
        let key = argument.trim_end_matches('?');
        let found = args.get(key).filter(|value| !(optional && value.is_null()));
        // The oracle calls the second operand of a composition by mode its tiler, and a swizzle is where its
        // recast's layout would.
        let found = found.or_else(|| args.get("tiler").filter(|_| key == "b"));
        let found = found.or_else(|| args.get("swizzle").filter(|_| key == "layout"));
        match found {
            Some(value) if key == "coord" || key == "layout" && value.is_array() => values.push(read(value)?),
            Some(value)
                if matches!(key, "a" | "b" | "swizzle") && value.is_array() && plain.contains("swizzle") =>
            {
                values.push(Value::Swizzle(swizzle(value)?));
            }
            Some(value) => values.push(read(value)?),
            None if optional => {}
            None => return Err(refuse(format!("`{name}` needs the argument `{key}`"))),
        }
    }
    if args.contains_key("swizzle") && matches!(plain, "upcast" | "downcast" | "swizzle") {
        values[0] = Value::Swizzle(swizzle(&args["swizzle"])?);
    }
    call(name, &values)
}

fn composed(args: &Map<String, Json>) -> Result<ComposedLayout, LayoutError> {
    let part = |name: &str| args.get(name).ok_or_else(|| refuse(format!("it has no `{name}`")));
    let offset = args.get("offset").and_then(Json::as_i64).unwrap_or(0);
    ComposedLayout::new(swizzle(part("swizzle")?)?, offset, layout(part("layout")?)?)
}

fn swizzle(value: &Json) -> Result<Swizzle, LayoutError> {
    let part = |i: usize| value[i].as_i64().and_then(|part| i32::try_from(part).ok());
    match (part(0), part(1), part(2)) {
        (Some(bits @ 0..), Some(base @ 0..), Some(shift)) => {
            Swizzle::new(bits.cast_unsigned(), base.cast_unsigned(), shift)
        }
        _ => Err(refuse(format!("{value} is no swizzle [bits, base, shift]"))),
    }
}

fn layout(value: &Json) -> Result<Layout, LayoutError> {
    Layout::new(int_tuple(&value["shape"])?, int_tuple(&value["stride"])?)
}

fn int_tuple(value: &Json) -> Result<IntTuple, LayoutError> {
    match value {
        Json::Array(modes) => Ok(Nest::tuple(modes.iter().map(int_tuple).collect::<Result<Vec<_>, _>>()?)),
        _ => value.as_i64().map(Nest::leaf).ok_or_else(|| refuse(format!("{value} is no integer"))),
    }
}

fn pattern(value: &Json) -> Result<Nest<Option<i64>>, LayoutError> {
    match value {
        Json::Array(modes) => Ok(Nest::tuple(modes.iter().map(pattern).collect::<Result<Vec<_>, _>>()?)),
        Json::Null => Ok(Nest::leaf(None)),
        _ => value
            .as_i64()
            .map(|i| Nest::leaf(Some(i)))
            .ok_or_else(|| refuse(format!("{value} is no integer"))),
    }
}

/// A layout, an integer, a tuple, a pattern or a tiler, by what the JSON looks like.
fn read(value: &Json) -> Result<Value, LayoutError> {
    match value {
        Json::Object(_) if value.get("shape").is_some() => Ok(Value::Layout(layout(value)?)),
        Json::Array(entries) if entries.iter().any(Json::is_object) => {
            let tile = |entry: &Json| match entry {
                Json::Null => Ok(Tile::Keep),
                _ if entry.get("int").is_some() => Tile::of(entry["int"].as_i64().unwrap_or(-1)),
                Json::Number(_) => Tile::of(entry.as_i64().unwrap_or(-1)),
                _ => Ok(Tile::Layout(layout(entry)?)),
            };
            Ok(Value::Tiler(entries.iter().map(tile).collect::<Result<_, LayoutError>>()?))
        }
        _ => {
            let pattern = pattern(value)?;
            if pattern.leaves().any(Option::is_none) {
                return Ok(Value::Pattern(pattern));
            }
            let tuple = pattern.map(|part| part.unwrap_or(0));
            Ok(tuple.as_int().map_or(Value::Tuple(tuple), Value::Int))
        }
    }
}

fn write_tuple(tuple: &IntTuple) -> Json {
    match tuple.as_int() {
        Some(value) => json!(value),
        None => Json::Array(tuple.modes().map(|mode| write_tuple(&mode)).collect()),
    }
}

fn write_layout(layout: &Layout) -> Json {
    json!({ "shape": write_tuple(&layout.shape()), "stride": write_tuple(&layout.stride()) })
}

fn write(value: &Value) -> Json {
    match value {
        Value::Int(value) => json!(value),
        Value::Bool(value) => json!(value),
        Value::Tuple(tuple) => write_tuple(tuple),
        Value::Layout(layout) => write_layout(layout),
        Value::Slice(layout, offset) => json!({ "layout": write_layout(layout), "offset": offset }),
        Value::Swizzle(s) => json!({ "swizzle": [s.bits(), s.base(), s.shift()] }),
        Value::Composed(composed) => json!({
            "repr": composed.to_string(),
            // A swizzled layout is judged by its table, so the table is whole; of a huge one, a beginning.
            "table": composed.offsets().take(TABLE).collect::<Vec<_>>(),
        }),
        other => json!(other.to_string()),
    }
}
