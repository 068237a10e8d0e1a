//! An expression of the layout algebra: its value, the steps that lead to it, its table, its picture.

use layout_core::draw::{layout_svg, layout_table, swizzle_svg, swizzle_table, thread_value_svg};
use layout_core::expr::{Value as Answer, explain};
use layout_core::{ComposedLayout, Layout, LayoutError, Swizzle};
use serde_json::{Value, json};

/// The most cells of a table in text.
const CELLS: i64 = 1024;

/// The answer to `{ text, picture, bytes, rows, columns }`: `picture` is `offsets`, `banks` or `threads`.
pub fn layout(request: &Value) -> Value {
    let text = request["text"].as_str().unwrap_or_default();
    let (value, steps) = match explain(text) {
        Ok(found) => found,
        Err(error) => return json!({ "error": error.to_string() }),
    };
    let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let mut answer = json!({ "value": value.to_string(), "kind": value.kind(), "steps": steps });
    match picture(&value, request) {
        Ok(Some(svg)) => answer["svg"] = svg.into(),
        Ok(None) => {}
        Err(error) => answer["no_picture"] = error.to_string().into(),
    }
    match &value {
        Answer::Layout(layout) | Answer::Slice(layout, _) => {
            answer["facts"] = facts(layout).into();
            if layout.size() <= CELLS {
                answer["table"] = layout_table(placed(layout, &value)).into();
            }
        }
        Answer::Composed(composed) if composed.layout().size() <= CELLS => {
            answer["table"] = swizzle_table(composed).into();
        }
        _ => {}
    }
    answer
}

/// A layout where it begins: a slice at its offset.
fn placed<'l>(layout: &'l Layout, value: &Answer) -> (&'l Layout, i64) {
    (layout, if let Answer::Slice(_, offset) = value { *offset } else { 0 })
}

fn facts(layout: &Layout) -> String {
    let injective = match layout.aliasing() {
        Ok(None) => "injective".to_owned(),
        Ok(Some((a, b))) => format!("not injective: {a} and {b} meet"),
        Err(error) => error.to_string(),
    };
    format!("size {}, cosize {}, {injective}", layout.size(), layout.cosize())
}

fn picture(value: &Answer, request: &Value) -> Result<Option<String>, LayoutError> {
    let bytes = request["bytes"].as_i64().unwrap_or(4);
    let number = |name: &str, other: i64| request[name].as_i64().unwrap_or(other);
    let svg = match (value, request["picture"].as_str()) {
        (Answer::Layout(layout) | Answer::Slice(layout, _), Some("banks")) => {
            let plain = ComposedLayout::new(Swizzle::new(0, 0, 0)?, 0, layout.clone())?;
            swizzle_svg(&plain, bytes)?
        }
        (Answer::Layout(layout) | Answer::Slice(layout, _), Some("threads")) => {
            let (rows, columns) = (number("rows", 16), number("columns", 8));
            thread_value_svg(&format!("{layout} over {rows} x {columns}"), layout, rows, columns)?
        }
        (Answer::Layout(layout) | Answer::Slice(layout, _), _) => layout_svg(placed(layout, value))?,
        (Answer::Composed(composed), _) => swizzle_svg(composed, bytes)?,
        _ => return Ok(None),
    };
    Ok(Some(svg))
}
