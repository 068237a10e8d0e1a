//! What each operation of the oracle means, by brute force: an answer is held against it on its whole domain.
//!
//! Invariant: nothing here uses the library. A row's result, whoever gave it, is judged by its numbers alone; so it
//! also shows where a row of the oracle is not what the operation's own definition says.

pub mod numbers;
mod swizzles;
mod tiles;

use numbers::*;
use serde_json::{Value, json};

/// Whether `result` is what the operation makes of the arguments. `table` has the offsets of a result that is no
/// layout for having a negative extent.
pub fn holds(op: &str, args: &Value, result: &Value, table: Option<&Value>) -> Verdict {
    if op.contains("swizzle") || op.starts_with("composed_") {
        return swizzles::holds(op, args, result);
    }
    if result["shape"].is_null() {
        return numbers_hold(op, args, result);
    }
    let negative = leaves(&result["shape"]).iter().any(|&extent| extent < 0);
    let offsets = match table {
        Some(table) if negative => leaves(table),
        _ => Function::of(result).table(),
    };
    layout_holds(op, args, result, &offsets)
}

/// The operations whose answer is a number, a tuple, or a layout with an offset.
fn numbers_hold(op: &str, args: &Value, result: &Value) -> Verdict {
    let layout = &args["layout"];
    let function = Function::of(layout);
    let is = |expected: Value| ensure(*result == expected, || format!("it is {expected}"));
    match op {
        "size" => is(json!(function.size())),
        "rank" => is(json!(modes(layout).len())),
        "depth" => is(json!(depth(&layout["shape"]))),
        "cosize" => is(json!(reach(&function.table()))),
        "crd2idx" => is(json!(crd2idx(&args["coord"], &layout["shape"], &layout["stride"]))),
        "idx2crd" => is(idx2crd(args["index"].as_i64().unwrap_or(0), &args["shape"])),
        "crd2crd" => is(crd2crd(&args["coord"], &args["src"], &args["dst"])),
        "ceil_div_layout" => {
            let target = args["target"].as_i64().unwrap_or(0);
            let rest = tiles::complement(&Function::of(&args["tiler"]), target)?;
            ensure(product(result) == rest.size(), || format!("there are {} repeats", rest.size()))
        }
        "max_alignment" => {
            let n = result.as_i64().unwrap_or(0);
            let offsets = image(&function.table());
            let whole = |at: &i64| (0..n).all(|i| offsets.binary_search(&(at.div_euclid(n) * n + i)).is_ok());
            // Modes that move by whole vectors, beside a run that is made of them.
            ensure(n > 0 && offsets.iter().all(whole), || format!("vectors of {n} reach elsewhere"))
        }
        "max_common_vector" => {
            let (a, b) = (Function::of(&args["a"]), Function::of(&args["b"]));
            let both: Vec<_> = a.table().into_iter().zip(b.table()).collect();
            let common = |i: i64| i == 0 || both.contains(&(i, i));
            ensure((0..result.as_i64().unwrap_or(0)).all(common), || "the two differ on it".into())
        }
        "slice" => {
            let (coord, mut kept) = (&args["coord"], Vec::new());
            choose(layout, coord, true, &mut kept);
            let closed = closed(coord);
            let offset = crd2idx(&closed, &layout["shape"], &layout["stride"]);
            let expected = if coord.is_null() { layout.clone() } else { join(&kept) };
            is(json!({ "layout": expected, "offset": offset }))
        }
        other => Err(format!("no definition of `{other}`")),
    }
}

/// The operations whose answer is a layout, with its offsets.
fn layout_holds(op: &str, args: &Value, result: &Value, table: &[i64]) -> Verdict {
    let layout = &args["layout"];
    let function = Function::of(layout);
    let number = |name: &str| args[name].as_i64().unwrap_or(0);
    let made = Function::of(result);
    let unchanged = || ensure(table == function.table(), || "it is another function".into());
    match op {
        "coalesce" => {
            unchanged()?;
            ensure(depth(&result["shape"]) <= 1 && made.is_shortest(), || "it has modes too many".into())
        }
        "coalesce_profile" => {
            unchanged()?;
            let profile = &args["profile"];
            if !profile.is_array() {
                return ensure(made.is_shortest(), || "it has modes too many".into());
            }
            let (old, new) = (modes(layout), modes(result));
            ensure(old.len() == new.len(), || "its rank is another".into())?;
            let numbers = parts(profile).into_iter().zip(old.iter().zip(&new));
            for (part, (old, new)) in numbers {
                layout_holds(
                    "coalesce_profile",
                    &json!({"layout": old, "profile": part}),
                    new,
                    &Function::of(new).table(),
                )?;
            }
            Ok(())
        }
        "filter" => {
            ensure(image(table) == image(&function.table()), || "its offsets are others".into())?;
            let single = table.len() == 1;
            ensure(single || made.moving() == made.0 && made.is_shortest(), || "a mode has stride 0".into())
        }
        "filter_zeros" => {
            let one = |&(extent, stride): &(i64, i64)| (if stride == 0 { 1 } else { extent }, stride);
            let nested = congruent(&result["shape"], &layout["shape"]);
            ensure(nested && made.0 == function.0.iter().map(one).collect::<Vec<_>>(), || {
                "other modes".into()
            })
        }
        "composition" => composition(&args["a"], &args["b"], result, table),
        "composition_tiler" => {
            let (tiler, results) = (parts(&args["tiler"]), modes(result));
            ensure(tiler.len() == results.len(), || "its rank is another".into())?;
            for (mode, (entry, result)) in modes(&args["a"]).iter().zip(tiler.iter().zip(&results)) {
                match tiles::tile(entry) {
                    Some(tile) => composition(mode, &tile, result, &Function::of(result).table())?,
                    None => ensure(mode == result, || format!("{result} was to be kept"))?,
                }
            }
            Ok(())
        }
        "with_shape" => {
            let of = Function::of(&args["a"]);
            let size = product(&args["shape"]);
            ensure(table.iter().copied().eq((0..size).map(|i| of.at(i))), || {
                "it is another function".into()
            })?;
            ensure(compatible(&args["shape"], &result["shape"]), || "its shape does not fit".into())
        }
        "complement" => tiles::is_complement(&function, number("cotarget"), table),
        "complement_default" => tiles::is_complement(&function, reach(&function.table()), table),
        "right_inverse" => {
            let domain = 0..function.size();
            let back = |(i, &at): (i64, &i64)| domain.contains(&at) && function.at(at) == i;
            ensure(!table.is_empty() && (0..).zip(table).all(back), || "L(R(i)) is not i".into())
        }
        "left_inverse" => {
            let own = function.table();
            let back = |&at: &i64| function.at(made.at(at)) == at;
            ensure(own.iter().all(back), || "L(R(L(i))) is not L(i)".into())?;
            let itself = (0..).zip(&own).all(|(i, &at)| made.at(at) == i);
            ensure(!distinct(&own) || itself, || "R(L(i)) is not i".into())
        }
        "nullspace" => {
            let still: i64 = function.0.iter().filter(|mode| mode.1 == 0).map(|mode| mode.0).product();
            let zero = table.iter().all(|&i| (0..function.size()).contains(&i) && function.at(i) == 0);
            ensure(zero && distinct(table) && table.len() as i64 == still, || {
                "its offsets are not all 0, or its size is not that of the modes of stride 0".into()
            })
        }
        "max_common_layout" => {
            let (a, b) = (Function::of(&args["a"]), Function::of(&args["b"]));
            let same = (0..).zip(table).all(|(i, &at)| a.at(at) == i && b.at(at) == i);
            ensure(same && !table.is_empty(), || "the two differ on it".into())
        }
        "upcast" => same_bits(&function.table(), 1, table, number("n")),
        "downcast" => same_bits(&function.table(), number("n"), table, 1),
        "recast_layout" => same_bits(&function.table(), number("old_bits"), table, number("new_bits")),
        "blocked_product" | "raked_product" => {
            tiles::is_paired(&args["block"], &args["tiler"], op == "blocked_product", result, table)
        }
        _ if op.contains("_divide") => tiles::is_tiled(op, layout, &args["tiler"], result, table),
        _ if op.contains("_product") => tiles::is_tiled(op, &args["block"], &args["tiler"], result, table),
        _ => made_holds(op, args, result, table),
    }
}

/// The operations that make a layout of a shape, or of the modes of another.
fn made_holds(op: &str, args: &Value, result: &Value, table: &[i64]) -> Verdict {
    let layout = &args["layout"];
    let (function, made) = (Function::of(layout), Function::of(result));
    let number = |name: &str| args[name].as_i64().unwrap_or(0);
    let exactly = |expected: Value| ensure(*result == expected, || format!("it is not {expected}"));
    match op {
        "flatten" => ensure(made == function && depth(&result["shape"]) <= 1, || "other modes".into()),
        "make_layout_left" => ordered(&args["shape"], |leaf, _| leaf, result),
        "make_layout_right" => ordered(&args["shape"], |leaf, _| -leaf, result),
        "make_ordered_layout" => {
            let keys = spread(&args["order"], &args["shape"]);
            ordered(&args["shape"], |leaf, _| keys[leaf as usize], result)
        }
        "make_layout_like" => {
            let still = |i: usize| function.0[i].1 == 0;
            let moving: Vec<i64> = (0..function.0.len()).filter(|&i| still(i)).map(|i| i as i64).collect();
            compact(&layout["shape"], |leaf| (function.0[leaf as usize].1, leaf), &moving, result)
        }
        "make_fragment_like" => fragment_like(layout, result),
        "tile_to_shape" => tile_to_shape(args, result, table),
        "domain_distribute" => {
            let (mut left, mut modes) = (number("n"), Vec::new());
            for (extent, step) in Function::compact(leaves(&args["shape"])).0 {
                let part = (1..=extent.max(1)).rev().find(|part| left % part == 0 && extent % part == 0);
                modes.push((part.unwrap_or(1), step));
                left /= part.unwrap_or(1);
            }
            ensure(table == Function(modes.clone()).table(), || format!("it is not {modes:?}"))
        }
        "group" => {
            let (mut all, begin, end) = (modes(layout), number("begin") as usize, number("end") as usize);
            let inner = join(&all[begin..end]);
            all.splice(begin..end, [inner]);
            exactly(join(&all))
        }
        "select" => {
            let all = modes(layout);
            exactly(join(
                &leaves(&args["modes"]).iter().map(|&i| all[i as usize].clone()).collect::<Vec<_>>(),
            ))
        }
        "append" => exactly(join(&[modes(layout), vec![args["x"].clone()]].concat())),
        "prepend" => exactly(join(&[vec![args["x"].clone()], modes(layout)].concat())),
        "dice" if !args["coord"].is_array() && !args["coord"].is_null() => exactly(layout.clone()),
        "dice" => {
            let mut kept = Vec::new();
            choose(layout, &args["coord"], false, &mut kept);
            exactly(join(&kept))
        }
        other => Err(format!("no definition of `{other}`")),
    }
}

/// `R(c) == A(B(c))` for all c in B, and every coordinate of B is one of R.
fn composition(a: &Value, b: &Value, result: &Value, table: &[i64]) -> Verdict {
    let (a, inner) = (Function::of(a), Function::of(b));
    let expected: Vec<i64> = inner.table().into_iter().map(|at| a.at(at)).collect();
    ensure(table == expected, || format!("its table is not {expected:?}"))?;
    ensure(compatible(&b["shape"], &result["shape"]), || "its shape does not fit the right layout's".into())
}

/// Whether elements of `old` bits at `before` are where elements of `new` bits at `after` do: these fill the units, of
/// the least common multiple of both widths, that those touch. As many narrower ones as fill the old.
fn same_bits(before: &[i64], old: i64, after: &[i64], new: i64) -> Verdict {
    let bits = |table: &[i64], width: i64| -> Vec<i64> {
        image(&table.iter().flat_map(|at| (0..width).map(move |i| at * width + i)).collect::<Vec<_>>())
    };
    let unit = (1..=new).map(|times| times * old).find(|unit| unit % new == 0).unwrap_or(old);
    let touched = image(&bits(before, old).iter().map(|bit| bit.div_euclid(unit)).collect::<Vec<_>>());
    ensure(bits(&touched, unit) == bits(after, new), || "the elements occupy other bits".into())?;
    ensure(unit != old || after.len() as i64 * new == before.len() as i64 * old, || {
        "the number of elements is another".into()
    })
}

/// Whether `result` is the compact layout of `shape` whose leaves run in the order of their keys.
fn ordered(shape: &Value, key: impl Fn(i64, ()) -> i64, result: &Value) -> Verdict {
    compact(shape, |leaf| (key(leaf, ()), leaf), &[], result)
}

/// As `ordered`, with the leaves `still` at stride 0.
fn compact(shape: &Value, key: impl Fn(i64) -> (i64, i64), still: &[i64], result: &Value) -> Verdict {
    let extents = leaves(shape);
    let mut order: Vec<i64> = (0..extents.len() as i64).filter(|leaf| !still.contains(leaf)).collect();
    order.sort_by_key(|&leaf| key(leaf));
    let (mut strides, mut step) = (vec![0; extents.len()], 1);
    for leaf in order {
        let extent = extents[leaf as usize];
        strides[leaf as usize] = if extent == 1 { 0 } else { step };
        step *= extent;
    }
    let same = result["shape"] == *shape && leaves(&result["stride"]) == strides;
    ensure(same, || format!("its strides are not {strides:?}"))
}

/// For each leaf of `shape` the key that is over it.
fn spread(order: &Value, shape: &Value) -> Vec<i64> {
    match (order.as_array(), shape.as_array()) {
        (Some(order), Some(shape)) => order.iter().zip(shape).flat_map(|(o, s)| spread(o, s)).collect(),
        _ => leaves(shape).iter().map(|_| order.as_i64().unwrap_or(0)).collect(),
    }
}

/// Mode 0 compact from the left without what is still, then the others in the order of their strides.
fn fragment_like(layout: &Value, result: &Value) -> Verdict {
    let all = modes(layout);
    let first = leaves(&all[0]["shape"]).len();
    let (old, new) = (Function::of(layout), Function::of(result));
    ensure(old.0.iter().map(|m| m.0).eq(new.0.iter().map(|m| m.0)), || "its extents are others".into())?;
    let mut order: Vec<usize> = (0..old.0.len()).collect();
    order.sort_by_key(|&leaf| if leaf < first { (0, 0, leaf) } else { (1, old.0[leaf].1, leaf) });
    let (mut strides, mut step) = (vec![0; old.0.len()], 1);
    for leaf in order {
        let (extent, stride) = old.0[leaf];
        if extent != 1 && (stride != 0 || leaf >= first || all.len() == 1) {
            strides[leaf] = step;
            step *= extent;
        }
    }
    ensure(new.0.iter().map(|m| m.1).eq(strides.iter().copied()), || {
        format!("its strides are not {strides:?}")
    })
}

/// The block's product with compact repeats in the given order.
fn tile_to_shape(args: &Value, result: &Value, table: &[i64]) -> Verdict {
    let (block, shape) = (modes(&args["block"]), parts(&args["shape"]));
    let size = |i: usize| block.get(i).map_or(1, |mode| product(&mode["shape"]));
    let repeats: Vec<i64> = shape.iter().enumerate().map(|(i, target)| product(target) / size(i)).collect();
    let keys = match &args["order"] {
        Value::Null => (0..repeats.len() as i64).collect(),
        order => spread(order, &json!(repeats)),
    };
    let mut order: Vec<usize> = (0..repeats.len()).collect();
    order.sort_by_key(|&mode| keys[mode]);
    let (mut strides, mut step) = (vec![0; repeats.len()], 1);
    for mode in order {
        strides[mode] = step;
        step *= repeats[mode];
    }
    let targets: Vec<i64> = shape.iter().map(product).collect();
    let sizes: Vec<i64> = parts(&result["shape"]).iter().map(product).collect();
    ensure(sizes == targets, || format!("its modes have sizes {sizes:?}"))?;
    let tiler = json!({ "shape": repeats, "stride": strides });
    tiles::is_paired(&args["block"], &tiler, true, result, table)
}

fn crd2crd(coord: &Value, source: &Value, target: &Value) -> Value {
    let strides = |shape: &Value, from: i64| compact_strides(shape, from).0;
    idx2crd(crd2idx(coord, source, &strides(source, 1)), target)
}

/// The column-major strides of a shape, and the step after them.
fn compact_strides(shape: &Value, step: i64) -> (Value, i64) {
    match shape.as_array() {
        None => (json!(step), step * shape.as_i64().unwrap_or(1)),
        Some(modes) => {
            let (mut strides, mut step) = (Vec::new(), step);
            for mode in modes {
                let (stride, after) = compact_strides(mode, step);
                strides.push(stride);
                step = after;
            }
            (Value::Array(strides), step)
        }
    }
}

/// The layout of these modes.
fn join(modes: &[Value]) -> Value {
    let part = |name: &str| modes.iter().map(|mode| mode[name].clone()).collect::<Vec<_>>();
    json!({ "shape": part("shape"), "stride": part("stride") })
}

/// The modes that are at open places of a coordinate, or at its fixed ones.
fn choose(layout: &Value, coord: &Value, open: bool, kept: &mut Vec<Value>) {
    match coord.as_array() {
        Some(coord) => {
            modes(layout).iter().zip(coord).for_each(|(mode, coord)| choose(mode, coord, open, kept))
        }
        None if coord.is_null() == open => kept.push(layout.clone()),
        None => {}
    }
}

/// The coordinate with 0 in its open places.
fn closed(coord: &Value) -> Value {
    match coord {
        Value::Array(parts) => Value::Array(parts.iter().map(closed).collect()),
        Value::Null => json!(0),
        fixed => fixed.clone(),
    }
}
