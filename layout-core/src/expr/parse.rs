//! Text to a value: calls, tuples, layouts, swizzles, evaluated as they are read.
//!
//! ```text
//! expression = name "(" [expression {"," expression}] ")" | "Sw<" .. ">" ["o" integer "o" layout]
//!            | item [":" item]          item = integer | "_" | "(" [expression {"," expression}] ")"
//! ```
//! Invariant: recursion stops at `DEEPEST`, so no text can overflow the stack.

use super::{Step, Value, ops, steps};
use crate::algebra::Tile;
use crate::parse::Cursor;
use crate::{ComposedLayout, IntTuple, Layout, LayoutError, Nest};

/// How deep parentheses may nest in an expression. (A layout on its own is read to any depth.)
const DEEPEST: usize = 64;

pub(super) fn expression(text: &str, steps: &mut Vec<Step>) -> Result<Value, LayoutError> {
    if let Ok(layout) = text.parse() {
        return Ok(Value::Layout(layout));
    }
    let mut cursor = Cursor::new(text);
    let value = value(&mut cursor, steps, 0)?;
    cursor.end()?;
    finish(value, &cursor)
}

/// What has been read and may still become part of a tuple or a layout.
enum Item {
    /// `_`.
    Open,
    Value(Value),
    Tuple(Vec<Item>),
}

fn value(cursor: &mut Cursor, steps: &mut Vec<Step>, depth: usize) -> Result<Item, LayoutError> {
    if depth > DEEPEST {
        return Err(cursor.error("at most 64 parentheses inside one another"));
    }
    let item = match cursor.peek() {
        Some('_') => {
            cursor.expect("_", "`_`")?;
            return Ok(Item::Open);
        }
        Some('(') => {
            cursor.expect("(", "`(`")?;
            Item::Tuple(list(cursor, steps, depth)?)
        }
        Some('S') => return swizzled(cursor, steps, depth),
        Some(letter) if letter.is_ascii_alphabetic() => return call(cursor, steps, depth),
        _ => Item::Value(Value::Int(cursor.integer()?)),
    };
    if !cursor.eat(":") {
        return Ok(item);
    }
    let shape = tuple(item).ok_or_else(|| cursor.error("a shape of integers before `:`"))?;
    let stride = cursor.int_tuple()?;
    Ok(Item::Value(Value::Layout(Layout::new(shape, stride)?)))
}

/// The items up to the closing parenthesis.
fn list(cursor: &mut Cursor, steps: &mut Vec<Step>, depth: usize) -> Result<Vec<Item>, LayoutError> {
    let mut items = Vec::new();
    if cursor.eat(")") {
        return Ok(items);
    }
    loop {
        items.push(value(cursor, steps, depth + 1)?);
        if !cursor.eat(",") {
            cursor.expect(")", "`,` or `)`")?;
            return Ok(items);
        }
    }
}

fn call(cursor: &mut Cursor, steps: &mut Vec<Step>, depth: usize) -> Result<Item, LayoutError> {
    let name = cursor.name();
    let operation = ops::find(name)?;
    cursor.expect("(", "`(` and arguments")?;
    let arguments = list(cursor, steps, depth)?;
    let arguments: Result<Vec<Value>, _> = arguments.into_iter().map(|item| finish(item, cursor)).collect();
    let arguments = arguments?;
    steps::inner(operation.name, &arguments, steps);
    let value = operation.call(&arguments)?;
    steps.push(Step { call: ops::text(name, &arguments), value: value.to_string() });
    Ok(Item::Value(value))
}

fn swizzled(cursor: &mut Cursor, steps: &mut Vec<Step>, depth: usize) -> Result<Item, LayoutError> {
    let swizzle = cursor.swizzle()?;
    if !cursor.eat("o") {
        return Ok(Item::Value(Value::Swizzle(swizzle)));
    }
    let offset = cursor.integer()?;
    cursor.expect("o", "`o` and a layout")?;
    match value(cursor, steps, depth + 1)? {
        Item::Value(Value::Layout(layout)) => {
            Ok(Item::Value(Value::Composed(ComposedLayout::new(swizzle, offset, layout)?)))
        }
        _ => Err(cursor.error("a layout after the swizzle's offset")),
    }
}

/// A tuple of integers, if that is what the item is.
fn tuple(item: Item) -> Option<IntTuple> {
    match item {
        Item::Value(Value::Int(value)) => Some(IntTuple::from(value)),
        Item::Value(Value::Tuple(tuple)) => Some(tuple),
        Item::Tuple(items) => Some(Nest::tuple(items.into_iter().map(tuple).collect::<Option<Vec<_>>>()?)),
        _ => None,
    }
}

/// A coordinate with open places, if that is what the item is.
fn pattern(item: &Item) -> Option<Nest<Option<i64>>> {
    match item {
        Item::Open => Some(Nest::leaf(None)),
        Item::Value(Value::Int(value)) => Some(Nest::leaf(Some(*value))),
        Item::Value(Value::Tuple(tuple)) => Some(tuple.map(|value| Some(*value))),
        Item::Tuple(items) => Some(Nest::tuple(items.iter().map(pattern).collect::<Option<Vec<_>>>()?)),
        Item::Value(_) => None,
    }
}

/// One entry of a tiler, if that is what the item is.
fn tile(item: Item) -> Option<Tile> {
    match item {
        Item::Open => Some(Tile::Keep),
        Item::Value(Value::Layout(layout)) => Some(Tile::Layout(layout)),
        item => Some(Tile::Layout(Layout::col_major(tuple(item)?).ok()?)),
    }
}

/// The value that an item is, now that no `:` follows.
fn finish(item: Item, cursor: &Cursor) -> Result<Value, LayoutError> {
    let places = pattern(&item);
    match (item, places) {
        (Item::Value(value), _) => Ok(value),
        (_, Some(places)) if places.leaves().all(Option::is_some) => {
            Ok(Value::Tuple(places.map(|place| place.unwrap_or(0))))
        }
        (_, Some(places)) => Ok(Value::Pattern(places)),
        (Item::Tuple(items), None) => {
            let tiles: Option<Vec<Tile>> = items.into_iter().map(tile).collect();
            tiles.map(Value::Tiler).ok_or_else(|| cursor.error("integers, layouts or `_` in a tuple"))
        }
        (Item::Open, None) => Err(cursor.error("a value")),
    }
}
