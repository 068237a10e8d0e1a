//! The steps within a divide or a product: for each tile its complement and the composition with both.
//!
//! Law: each step is a call of an operation of the table, and evaluates to the value that it shows.

use super::{Step, Value, ops};
use crate::algebra::*;
use crate::{Layout, LayoutError};

/// The steps that lead from the arguments of `name` to its value; none for an operation that is no divide or product.
pub(super) fn inner(name: &str, arguments: &[Value], steps: &mut Vec<Step>) {
    let [Value::Layout(operand), tiler] = arguments else { return };
    let Some((grouping, kind)) = name.split_once('_') else { return };
    let pair = match kind {
        "divide" => divide,
        "product" => product,
        _ => return,
    };
    let logical = format!("logical_{kind}");
    let own = name != logical;
    match (grouping, tiler.tiler(), tiler.layout()) {
        ("blocked" | "raked", _, Ok(tiler)) => {
            let rank = operand.rank().max(tiler.rank());
            let (block, tiler) = (operand.padded(rank), tiler.padded(rank));
            pair(&block, &tiler, steps);
            call(&logical, &[Value::Layout(block), Value::Layout(tiler)], steps);
        }
        (_, Ok(Some(tiles)), _) => {
            for (mode, tile) in operand.modes().zip(&tiles) {
                if let Tile::Layout(tile) = tile {
                    pair(&mode, tile, steps);
                    if tiles.len() > 1 || own {
                        call(&logical, &[Value::Layout(mode), Value::Layout(tile.clone())], steps);
                    }
                }
            }
            if own {
                call(&logical, &[Value::Layout(operand.clone()), tiler.clone()], steps);
            }
        }
        (_, Ok(None), Ok(tiler)) => {
            pair(operand, &tiler, steps);
            if own {
                call(&logical, &[Value::Layout(operand.clone()), Value::Layout(tiler)], steps);
            }
        }
        _ => {}
    }
}

/// A call as a step, with its value or what it is refused with.
fn call(name: &str, arguments: &[Value], steps: &mut Vec<Step>) {
    let value = ops::find(name).and_then(|operation| operation.call(arguments));
    let value = value.map_or_else(|error| error.to_string(), |value| value.to_string());
    steps.push(Step { call: ops::text(name, arguments), value });
}

/// The complement of the tile in the layout, then the layout after both.
fn divide(layout: &Layout, tile: &Layout, steps: &mut Vec<Step>) {
    call("complement", &[Value::Layout(tile.clone()), Value::Int(layout.size())], steps);
    let both = complement(tile, layout.size()).and_then(|rest| Layout::concat([tile.clone(), rest]));
    after(layout, both, steps);
}

/// The complement of the block, as far as the repeats need it, then that complement after the tiler.
fn product(block: &Layout, tiler: &Layout, steps: &mut Vec<Step>) {
    let Ok((free, reach)) = repeats(block, tiler) else { return };
    call("complement", &[Value::Layout(block.clone()), Value::Int(reach)], steps);
    after(&free, Ok(tiler.clone()), steps);
}

fn after(outer: &Layout, inner: Result<Layout, LayoutError>, steps: &mut Vec<Step>) {
    if let Ok(inner) = inner {
        call("composition", &[Value::Layout(outer.clone()), Value::Layout(inner)], steps);
    }
}
