//! Host tensors: the rows of `tests/oracle/tensor_views.jsonl`, and the masks at every tail.

use crate::oracle::{int_tuple, layout, rows};
use layout_core::tensor::View;
use layout_core::{Layout, LayoutError, LayoutTensor, Swizzle, algebra::coalesce};
use serde_json::Value;
use std::ops::Range;

fn ints(value: &Value) -> Vec<i64> {
    value.as_array().expect("a list").iter().filter_map(Value::as_i64).collect()
}

fn named(value: &Value) -> Layout {
    let (name, shape) = (value[0].as_str().expect("a name"), int_tuple(&value[1]));
    if name == "row_major" { Layout::row_major(shape) } else { Layout::col_major(shape) }.expect("small")
}

/// The views a step of a chain gives: one, or one for each thread.
fn step(view: &View, step: &Value) -> Result<Vec<View>, LayoutError> {
    let number = |i: usize| step[i].as_i64().expect("a number");
    let threads = || named(&step[1]);
    let each = |f: &dyn Fn(i64) -> Result<View, LayoutError>| (0..threads().size()).map(f).collect();
    match step[0].as_str().expect("an operation") {
        "tile" => Ok(vec![view.tile(&ints(&step[1]), &ints(&step[2]))?]),
        "vectorize" => Ok(vec![view.vectorize(&ints(&step[1]))?]),
        "distribute" if step[2].is_i64() => {
            each(&|t| view.distribute_along(&threads(), number(2) as usize, t))
        }
        "distribute" => each(&|t| view.distribute(&threads(), t)),
        "distribute_swizzle" => {
            let [bits, base, shift] = ints(&step[2])[..] else { panic!("a swizzle is three integers") };
            let swizzle = Swizzle::new(bits as u32, base as u32, shift as i32)?;
            each(&|t| view.distribute_swizzled(&threads(), swizzle, t))
        }
        "slice" => {
            let ranges = step[1].as_array().expect("ranges").iter().map(|r| ints(r)[0]..ints(r)[1]);
            Ok(vec![view.slice(&ranges.collect::<Vec<_>>())?])
        }
        "transpose" => Ok(vec![view.transpose()?]),
        "reshape" => Ok(vec![view.reshape(named(&step[1]))?]),
        "coalesce" => Ok(vec![view.coalesce()?]),
        "split" => Ok(vec![view.split(number(1), number(2) as usize, number(3))?]),
        "tiled_iterator" => {
            let mut at = ints(&step[2]);
            at[number(3) as usize] += number(4);
            Ok(vec![view.tile(&ints(&step[1]), &at)?])
        }
        other => panic!("no view `{other}`"),
    }
}

#[test]
fn tensor_view_rows_agree() {
    let (mut wrong, mut past) = (Vec::new(), Vec::new());
    let rows = rows("tensor_views.jsonl");
    for row in &rows {
        let (name, shape) = row["base"].as_object().expect("a base").iter().next().expect("one");
        let base = named(&serde_json::json!([name, shape]));
        let mut views = vec![View::new(base)];
        let mut refused = None;
        for operation in row["chain"].as_array().expect("a chain") {
            match step(&views[0], operation) {
                Ok(next) => views = next,
                Err(error) => refused = Some(error),
            }
        }
        let edge = row.get("edge").is_some();
        if let Some(error) = refused {
            match error {
                _ if edge => {}
                LayoutError::Coordinate { .. } if names_another_tile(row) => past.push(row["id"].as_i64()),
                _ => wrong.push(format!("{row}: {error}")),
            }
            continue;
        }
        let result = &row["result"];
        let offsets: Vec<i64> = match result["offset"].as_i64() {
            Some(offset) => vec![offset],
            None => ints(&result["offset_per_thread"]),
        };
        let ours: Vec<i64> = views.iter().map(View::offset).collect();
        // A tuple of one is Mojo's plain integer.
        let plain = |l: Layout| if l.rank() == 1 && l.depth() == 1 { l.mode(0).expect("one") } else { l };
        let first = &views[0];
        let same = ours == offsets
            && plain(first.layout().clone()) == layout(&result["layout"])
            && *first.element_layout() == layout(&result["element_layout"])
            && first.masked() == (result["masked"] == true)
            && first.valid_shape().product() == int_tuple(&result["runtime_layout"]["shape"]).product();
        if !same && !edge {
            wrong.push(format!("{row}: {first:?} {ours:?}"));
        }
    }
    println!("{} rows of views", rows.len());
    assert!(wrong.is_empty() && !rows.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(past, [59, 75, 91].map(Some), "rows that ask for a tile beyond the only one of a mode");
}

/// Whether a row's tile is not the one it asks for: element (0,0) of tile (i,j) of p x q is the tensor's (i*p, j*q),
/// and the row's offset is that of an element elsewhere. (A mode of one tile has step 0 in Mojo, so every tile is the
/// first there, and its elements are met twice.)
fn names_another_tile(row: &Value) -> bool {
    let (name, shape) = row["base"].as_object().expect("a base").iter().next().expect("one");
    let (rows, columns) = (ints(shape)[0], ints(shape)[1]);
    let chain = &row["chain"][0];
    let (sizes, at) = (ints(&chain[1]), ints(&chain[2]));
    let offset = row["result"]["offset"].as_i64().expect("one offset");
    let there = if name == "row_major" {
        (offset / columns, offset % columns)
    } else {
        (offset % rows, offset / rows)
    };
    chain[0] == "tile" && there != (at[0] * sizes[0], at[1] * sizes[1])
}

/// However a tensor is cut into tiles, vectors and threads, each element is met exactly once.
#[test]
fn every_element_once_at_every_tail() {
    for (rows, columns) in [(1, 1), (5, 8), (8, 5), (7, 13), (10, 10), (12, 20), (16, 16)] {
        for base in [Layout::row_major((rows, columns)).unwrap(), Layout::col_major((rows, columns)).unwrap()]
        {
            for (tile, vector, threads) in [
                ([4, 4], [1, 1], "(1,1):(0,0)"),
                ([4, 8], [1, 4], "(2,2):(2,1)"),
                ([3, 5], [2, 3], "(2,1):(1,0)"),
                ([8, 4], [4, 1], "(2,4):(1,2)"),
                ([16, 16], [1, 3], "(4,8):(8,1)"),
            ] {
                let threads: Layout = threads.parse().unwrap();
                let size = (rows * columns) as usize;
                let mut counts = LayoutTensor::new(vec![0; size], base.clone()).unwrap();
                for (i, j) in (0..(rows + tile[0] - 1) / tile[0])
                    .flat_map(|i| (0..(columns + tile[1] - 1) / tile[1]).map(move |j| (i, j)))
                {
                    for thread in 0..threads.size() {
                        let part = |v: &View| {
                            v.tile(&tile, &[i, j])?.vectorize(&vector)?.distribute(&threads, thread)
                        };
                        let mut part = counts.with_mut(part).unwrap();
                        let ones =
                            part.to_owned(0).unwrap().iter().map(|count| count + 1).collect::<Vec<i32>>();
                        let ones = LayoutTensor::new(
                            ones,
                            Layout::new(part.to_owned(0).unwrap().layout().size(), 1).unwrap(),
                        );
                        part.copy_from(&ones.unwrap(), 0).unwrap();
                    }
                }
                assert!(
                    counts.data().iter().all(|&count| count == 1),
                    "{base} in tiles {tile:?}, vectors {vector:?}, threads {threads}: {:?}",
                    counts.data()
                );
            }
        }
    }
}

/// The rows of a distributed tensor: Mojo's formula loses the second row of 5 over 4 threads.
#[test]
fn a_thread_owns_the_rounded_up_rest() {
    let view = View::new(Layout::row_major((5, 1)).unwrap());
    let owned: Vec<i64> = (0..4)
        .map(|t| {
            view.distribute(&Layout::row_major((4, 1)).unwrap(), t).unwrap().valid_shape().product().unwrap()
        })
        .collect();
    assert_eq!(owned, [2, 1, 1, 1]);
}

#[test]
fn bad_views_are_refused() {
    let view = View::new(Layout::row_major((8, 16)).unwrap());
    assert!(view.tile(&[4], &[0]).is_err() && view.tile(&[0, 4], &[0, 0]).is_err());
    assert!(view.tile(&[4, 4], &[0, -1]).is_err() && view.tile(&[4, 4], &[5, 0]).is_err());
    assert!(view.distribute(&"(2,2):(0,1)".parse().unwrap(), 0).is_err());
    assert!(view.distribute(&"(2,2):(1,2)".parse().unwrap(), 4).is_err());
    assert!(view.slice(&[0..9, 0..1]).is_err());
    assert!(view.slice(&[Range { start: 3, end: 2 }, 0..1]).is_err());
    assert!(view.split(0, 0, 0).is_err() && view.split(2, 2, 0).is_err());
    assert!(view.vectorize(&[1, 4]).unwrap().vectorize(&[1, 2]).is_err());
    assert_eq!(coalesce(view.layout()).size(), 128);
}
