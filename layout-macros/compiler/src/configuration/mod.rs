//! The execution configuration that a body says by itself: `block` and `grid` where the attribute does not have them.
//!
//! Law: what follows is exact. With the grid that follows, each block writes a part of the tensors, and every part is a block's; with the
//! block that follows, the threads have each element of a part once. Else nothing follows, and [`Missing`] says what was found.

mod cover;
mod entry;
mod expression;
mod grid;
mod interpreter;
mod operator;
mod polynomial;
mod threads;
mod view;
mod word;

use super::ir::{BinaryOp, ExprId, ExprKind, Kernel};
use super::origin::Origin;
pub use grid::small_grid;
use interpreter::{Interpreter, Value};
use polynomial::Polynomial;
use threads::threads;

/// An entry that does not follow: what of the body does not say it, and the way out.
///
/// ```
/// let (found, help) = ("a loop over `grid_dim`".to_owned(), "write `grid = [blocks]`".to_owned());
/// let missing = layout_compiler::Missing { found, help };
/// assert!(missing.help.contains("grid"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was found.
    pub found: String,
    /// What to write.
    pub help: String,
}

/// Gives a kernel the entries `block` and `grid` that it does not have, where they follow from its body. The answers are the text of
/// each such entry, or why there is none; `None` for one that is written.
///
/// ```
/// # use layout_cuda::tiled_kernel;
/// # #[tiled_kernel(B = 32, block = [B], grid = [N.div_ceil(B)])]
/// # fn double<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
/// #     let mut own = x.tile([B], [block_idx.x]);
/// #     own[[thread_idx.x]] = 2.0 * own[[thread_idx.x]];
/// # }
/// let mut kernel = double::DEFINITION.kernel()?;
/// (kernel.block, kernel.grid) = (vec![], None);
/// let [block, grid] = layout_compiler::follow(&mut kernel, layout_compiler::Origin(0));
/// assert_eq!(block, Some(Ok("[B]".to_owned())));
/// assert_eq!(grid, Some(Ok("[N.div_ceil(B)]".to_owned())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn follow(kernel: &mut Kernel, origin: Origin) -> [Option<Result<String, Missing>>; 2] {
    let (open_block, open_grid) = (kernel.block.is_empty(), kernel.grid.is_none());
    if !open_block && !open_grid {
        return [None, None];
    }
    let original = kernel.clone();
    let mut body = Interpreter::new(&original);
    original.require.iter().for_each(|condition| promised(&mut body, *condition));
    let block = if open_block {
        body.run();
        threads(&mut body)
    } else {
        Ok(original.block.iter().map(|entry| written(&mut body, *entry)).collect())
    };
    let grid = match (&block, open_grid) {
        (_, false) => None,
        (Ok(axes), true) => {
            let one = || Polynomial::constant(1);
            let axis = |number: usize| axes.get(number).cloned().unwrap_or_else(one);
            body.known.block = Some([axis(0), axis(1), axis(2)]);
            body.run();
            Some(blocks(&mut body))
        }
        (Err(_), true) => Some(Err(Missing {
            found: "the threads of a block are not known".to_owned(),
            help: "write `block = [..]`, and `grid = [..]` where it does not follow then".to_owned(),
        })),
    };
    let block = block.map(|axes| entry::entries(kernel, &body.atoms, &axes, origin));
    let grid = grid.map(|grid| grid.map(|axes| entry::entries(kernel, &body.atoms, &axes, origin)));
    let block = open_block.then(|| {
        let (ids, text) = block?;
        kernel.block = ids;
        Ok(text)
    });
    let grid = grid.map(|grid| {
        let (ids, text) = grid?;
        kernel.grid = Some(ids);
        Ok(text)
    });
    [block, grid]
}

/// An entry of a written `block`; one that is not understood equals nothing.
fn written(body: &mut Interpreter<'_>, entry: ExprId) -> Polynomial {
    match body.expr(entry) {
        Value::Number(count) => count,
        _ => body.atoms.round(None),
    }
}

/// What a condition of `require` says of an extent.
fn promised(body: &mut Interpreter<'_>, condition: ExprId) {
    let ExprKind::Binary(op, left, right) = body.kernel.expr(condition).kind else { return };
    if op == BinaryOp::And {
        promised(body, left);
        promised(body, right);
        return;
    }
    let (Value::Number(left), Value::Number(right)) = (body.expr(left), body.expr(right)) else { return };
    match op {
        BinaryOp::Lt | BinaryOp::Le => body.known.at_most.push((left, right)),
        BinaryOp::Gt | BinaryOp::Ge => body.known.at_most.push((right, left)),
        BinaryOp::Eq => body.known.at_most.extend([(left.clone(), right.clone()), (right, left)]),
        _ => {}
    }
}

/// Refuses a body of which only a part was seen.
fn looked_through(body: &Interpreter<'_>, entry: &str) -> Result<(), Missing> {
    let (found, help) = ("it is too long to be looked through", format!("write `{entry} = [..]`"));
    if body.given_up { Err(Missing { found: found.to_owned(), help }) } else { Ok(()) }
}

/// The blocks of the grid along each axis.
fn blocks(body: &mut Interpreter<'_>) -> Result<Vec<Polynomial>, Missing> {
    looked_through(body, "grid")?;
    let missing = |found: String| {
        Missing {
        found,
        help: "write `grid = [N.div_ceil(BN), M.div_ceil(BM)]`; it follows from the tiles of a written tensor that `block_idx` selects, \
               `c.tile([BM, BN], [block_idx.y, block_idx.x])`, and from `block_idx.x * SIZE + thread_idx.x`"
            .to_owned(),
    }
    };
    if body.any_grid.is_some() || !body.kernel.cluster.is_empty() {
        let why = body.any_grid.unwrap_or("its blocks are in clusters");
        return Err(Missing {
            found: why.to_owned(),
            help: "write `grid = [blocks]` with an argument `blocks: usize`, or give the grid at the launch, `launch_with`".to_owned(),
        });
    }
    let written = std::mem::take(&mut body.written);
    if written.is_empty() {
        return Err(missing("it writes no tensor".to_owned()));
    }
    let Some(axes) = body.blocks.iter().rposition(|used| *used) else {
        return match written.iter().find_map(|(view, _)| view.partial.clone().or(view.unclear.clone())) {
            None => Ok(vec![Polynomial::constant(1)]),
            Some(why) => Err(Missing {
                found: format!("it names no `block_idx`, and {why}"),
                help: "write `grid = [1]` where one block is meant; else select a part with `block_idx`"
                    .to_owned(),
            }),
        };
    };
    if let Some(why) = written.iter().find_map(|(view, _)| view.unclear.clone()) {
        return Err(missing(why));
    }
    let mut grid: Vec<Option<(Polynomial, String)>> = vec![None; axes + 1];
    for (view, zero) in &written {
        let name = body.name_of(view);
        for axis in (0..=axes).filter(|axis| body.blocks[*axis]) {
            let mut of_axis = view.selected.iter().filter(|(of, ..)| *of as usize == axis);
            let letter = ['x', 'y', 'z'][axis];
            let (extent, part) = match (of_axis.next(), of_axis.next()) {
                (Some((_, extent, part)), None) => (extent.clone(), part.clone()),
                (None, _) if zero[axis] => continue,
                (None, _) => {
                    return Err(missing(format!(
                        "no coordinate of `{name}` has `block_idx.{letter}`, which the body names"
                    )));
                }
                (Some(_), Some(_)) => {
                    return Err(missing(format!("two coordinates of `{name}` have `block_idx.{letter}`")));
                }
            };
            let count = body.atoms.div_ceil(&extent, &part);
            match &grid[axis] {
                Some((known, other)) if *known != count => {
                    let (known, count) = (body.text(known), body.text(&count));
                    return Err(Missing {
                        found: format!(
                            "`{other}` has {known} parts along `block_idx.{letter}`, and `{name}` has {count}"
                        ),
                        help: format!(
                            "write the one that is meant in `grid`, `{known}` or `{count}`; a grid for both is the larger, \
                             `({known}).max({count})`"
                        ),
                    });
                }
                Some(_) => {}
                None => grid[axis] = Some((count, name.clone())),
            }
        }
    }
    Ok(grid.into_iter().map(|axis| axis.map_or(Polynomial::constant(1), |(count, _)| count)).collect())
}
