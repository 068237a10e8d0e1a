//! The rows of ../shared/oracle: what independent implementations gave for the same operation.
//!
//! `ok` rows must agree by table, and in form where the operation promises one. `unsound` rows must be refused or
//! answered rightly; `error` rows too: the answer is held against the operation's law.

use layout_core::algebra::{
    Tile, coalesce, complement, composition, composition_by_mode, logical_divide, logical_divide_by_mode,
    zipped_divide, zipped_divide_by_mode,
};
use layout_core::draw::format_layout;
use layout_core::{IntTuple, Layout, LayoutError, Nest, Swizzle, idx2crd};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The rows of one file; a missing file is a failure, not a pass.
pub fn rows(file: &str) -> Vec<Value> {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/oracle").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

pub fn int_tuple(value: &Value) -> IntTuple {
    match value {
        Value::Array(modes) => Nest::tuple(modes.iter().map(int_tuple)),
        _ => Nest::leaf(value.as_i64().unwrap_or_else(|| panic!("{value} is no integer"))),
    }
}

pub fn layout(value: &Value) -> Layout {
    Layout::new(int_tuple(&value["shape"]), int_tuple(&value["stride"])).expect("a layout of the oracle")
}

fn tiler(value: &Value) -> Vec<Tile> {
    let entries = value.as_array().expect("a tiler is a tuple");
    let tile = |entry: &Value| match entry {
        Value::Null => Tile::Keep,
        _ if entry["int"].is_i64() => Tile::of(entry["int"].as_i64().unwrap_or(0)).expect("an extent"),
        _ => Tile::Layout(layout(entry)),
    };
    entries.iter().map(tile).collect()
}

enum Answer {
    Int(i64),
    Tuple(IntTuple),
    Layout(Layout),
}

/// The operation of a row, or nothing for one that is not built.
fn answer(op: &str, args: &Value) -> Option<Result<Answer, LayoutError>> {
    let l = || layout(&args["layout"]);
    let int = |name: &str| args[name].as_i64().expect("an integer argument");
    let tiles = || tiler(&args["tiler"]);
    Some(match op {
        "size" => Ok(Answer::Int(l().size())),
        "rank" => Ok(Answer::Int(l().rank() as i64)),
        "depth" => Ok(Answer::Int(l().depth() as i64)),
        "cosize" => Ok(Answer::Int(l().cosize())),
        "crd2idx" => l().crd2idx(&int_tuple(&args["coord"])).map(Answer::Int),
        "idx2crd" => idx2crd(int("index"), &int_tuple(&args["shape"])).map(Answer::Tuple),
        "coalesce" => Ok(Answer::Layout(coalesce(&l()))),
        "make_layout_left" => Layout::col_major(int_tuple(&args["shape"])).map(Answer::Layout),
        "make_layout_right" => Layout::row_major(int_tuple(&args["shape"])).map(Answer::Layout),
        "composition" => composition(&layout(&args["a"]), &layout(&args["b"])).map(Answer::Layout),
        "composition_tiler" => composition_by_mode(&layout(&args["a"]), &tiles()).map(Answer::Layout),
        "complement" => complement(&l(), int("cotarget")).map(Answer::Layout),
        "logical_divide" => logical_divide(&l(), &layout(&args["tiler"])).map(Answer::Layout),
        "zipped_divide" => zipped_divide(&l(), &layout(&args["tiler"])).map(Answer::Layout),
        "logical_divide_tiler" => logical_divide_by_mode(&l(), &tiles()).map(Answer::Layout),
        "zipped_divide_tiler" => zipped_divide_by_mode(&l(), &tiles()).map(Answer::Layout),
        "swizzle_apply" => {
            let part = |i: usize| args["swizzle"][i].as_i64().expect("a swizzle is three integers");
            Swizzle::new(part(0) as u32, part(1) as u32, part(2) as i32)
                .map(|swizzle| Answer::Int(swizzle.apply(int("offset"))))
        }
        _ => return None,
    })
}

/// Whether an answer that CuTe refuses satisfies the operation's own law.
fn lawful(op: &str, args: &Value, result: &Layout) -> Result<(), String> {
    let after = |a: &Layout, b: &Layout| {
        let same = b.size() == result.size()
            && b.offsets().zip(result.offsets()).all(|(at, offset)| a.at_extended(at) == Ok(offset));
        if same { Ok(()) } else { Err(format!("unlawful: {result}")) }
    };
    match op {
        "composition" => after(&layout(&args["a"]), &layout(&args["b"])),
        "logical_divide" | "zipped_divide" => {
            let (l, tile) = (layout(&args["layout"]), layout(&args["tiler"]));
            let rest = complement(&tile, l.size()).map_err(|e| e.to_string())?;
            let both = |f: fn(&Layout) -> IntTuple| Nest::tuple([f(&tile), f(&rest)]);
            after(&l, &Layout::new(both(Layout::shape), both(Layout::stride)).map_err(|e| e.to_string())?)
        }
        _ => Err(format!("accepted, not refused: {result}")),
    }
}

const CANONICAL: [&str; 4] = ["coalesce", "complement", "make_layout_left", "make_layout_right"];

#[test]
fn layout_rows_agree() {
    let (mut agreed, mut refused, mut not_built) = (0, 0, 0);
    let mut wrong = Vec::new();
    for row in rows("layout.jsonl") {
        let op = row["op"].as_str().unwrap_or_default();
        let Some(answer) = answer(op, &row["args"]) else {
            not_built += 1;
            continue;
        };
        let ok = row["expect"] == "ok";
        let verdict = match answer {
            // CuTe's answer has a negative extent, so it is no layout.
            Err(_) if ok && int_tuple(&row["result"]["shape"]).leaves().any(|&extent| extent < 0) => Ok(()),
            Err(error) if ok => Err(error.to_string()),
            Err(_) => {
                refused += 1;
                Ok(())
            }
            Ok(Answer::Int(value)) if row["result"] == value => Ok(()),
            Ok(Answer::Int(value)) => Err(format!("got {value}")),
            Ok(Answer::Tuple(value)) if int_tuple(&row["result"]) == value => Ok(()),
            Ok(Answer::Tuple(value)) => Err(format!("got {value}")),
            Ok(Answer::Layout(result)) if ok || row["expect"] == "overhang" => {
                let table: Vec<i64> = match row["table"].as_array() {
                    Some(table) => table.iter().filter_map(Value::as_i64).collect(),
                    None => layout(&row["result"]).offsets().collect(),
                };
                let form = !CANONICAL.contains(&op) || layout(&row["result"]) == result;
                if result.offsets().eq(table) && form { Ok(()) } else { Err(format!("got {result}")) }
            }
            Ok(Answer::Layout(result)) => lawful(op, &row["args"], &result),
        };
        match verdict {
            Ok(()) => agreed += 1,
            Err(why) => wrong.push(format!("{} {op} {} {}: {why}", row["id"], row["expect"], row["args"])),
        }
    }
    println!("{agreed} rows agree, {refused} of them refusals, {not_built} of operations not built");
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The table texts are Mojo's where it gives one, and CuTe's but for its trailing blanks elsewhere.
#[test]
fn print_layout_texts_are_equal() {
    let mut seen = 0;
    for row in rows("print_layout.jsonl") {
        let ours = match row["swizzle"].as_array() {
            Some(_) => continue,
            None => format_layout(&layout(&row["layout"])),
        };
        // Mojo's cells grow with its negative cosize, CuTe's are too narrow for the sign: neither lines up.
        if layout(&row["layout"]).leaves().any(|mode| mode.stride < 0) {
            continue;
        }
        let body =
            |text: &str| text.lines().skip(1).map(|line| line.trim_end().to_string()).collect::<Vec<_>>();
        match (row["mojo"].as_str(), row["cute"].as_str()) {
            (Some(mojo), _) => assert_eq!(ours, mojo),
            (None, Some(cute)) => assert_eq!(body(&ours), body(cute)),
            (None, None) => continue,
        }
        seen += 1;
    }
    assert!(seen > 20, "{seen} texts");
}
