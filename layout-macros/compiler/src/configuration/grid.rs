//! A written `grid` with fewer blocks than the body's parts.
//!
//! Law: an entry has a warning where the blocks that follow from the body are counted by a dimension, and it is a number, or the quotient
//! without the last part. A `require` of so small or of divided extents ends it: `require(N <= 256)`, `require(N % 256 == 0)`. It is no
//! error: a kernel may write a part of its tensor.

use super::interpreter::{Interpreter, Value};
use super::polynomial::{Kind, Polynomial};
use super::{Missing, blocks, promised, written};
use crate::ir::{BinaryOp, ExprId, ExprKind, Kernel};

/// The first entry of a kernel's `grid` that counts too few blocks, with the axis, what was found and the way out.
///
/// ```
/// # use layout_cuda::tiled_kernel;
/// # #[tiled_kernel(B = 32, block = [B], grid = [N.div_ceil(B)])]
/// # fn double<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
/// #     let mut own = x.tile([B], [block_idx.x]);
/// #     own[[thread_idx.x]] = 2.0 * own[[thread_idx.x]];
/// # }
/// assert_eq!(layout_compiler::small_grid(&double::DEFINITION.kernel()?), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn small_grid(kernel: &Kernel) -> Option<(ExprId, Missing)> {
    let grid = kernel.grid.as_ref()?;
    let mut body = Interpreter::new(kernel);
    kernel.require.iter().for_each(|condition| promised(&mut body, *condition));
    let threads: Vec<Polynomial> = kernel.block.iter().map(|entry| written(&mut body, *entry)).collect();
    let axis = |number: usize| threads.get(number).cloned().unwrap_or(Polynomial::constant(1));
    body.known.block = Some([axis(0), axis(1), axis(2)]);
    body.run();
    let wanted = blocks(&mut body).ok()?;
    for ((entry, wanted), letter) in grid.iter().zip(wanted).zip(["x", "y", "z"]) {
        let found = written(&mut body, *entry);
        if found == wanted || body.atoms.is_static(&wanted) {
            continue;
        }
        let (extent, part) = match wanted.as_atom().map(|atom| body.atoms.kind(atom).clone()) {
            Some(Kind::DivCeil(extent, part)) => (extent, part),
            _ => (wanted.clone(), Polynomial::constant(1)),
        };
        let [extent_text, part_text, parts] = [&extent, &part, &wanted].map(|of| body.text(of));
        let way = match found.as_constant() {
            Some(count) => {
                let most = part.mul(&Polynomial::constant(count));
                if most.as_ref().is_none_or(|most| body.known.covers(most, &extent)) {
                    continue;
                }
                let most = most.map(|most| body.text(&most)).unwrap_or_default();
                format!("where there are so few, promise it: `require({extent_text} <= {most})`")
            }
            None if found == body.atoms.div(&extent, &part) && !divides(&mut body, &extent, &part) => {
                format!("where no part is shorter, promise it: `require({extent_text} % {part_text} == 0)`")
            }
            None => continue,
        };
        return Some((
            *entry,
            Missing {
                found: format!(
                    "`grid` is `{}` along `block_idx.{letter}`, and what the body writes has `{parts}` parts there",
                    body.text(&found)
                ),
                help: format!("write `{parts}`; {way}"),
            },
        ));
    }
    None
}

/// Whether a `require` says that an extent has no rest.
fn divides(body: &mut Interpreter<'_>, extent: &Polynomial, part: &Polynomial) -> bool {
    let kernel = body.kernel;
    kernel.require.iter().any(|condition| {
        let mut open = vec![*condition];
        while let Some(id) = open.pop() {
            match kernel.expr(id).kind {
                ExprKind::Binary(BinaryOp::And, left, right) => open.extend([left, right]),
                ExprKind::Binary(BinaryOp::Eq, rest, _) => {
                    let ExprKind::Binary(BinaryOp::Rem, of, by) = kernel.expr(rest).kind else { continue };
                    let (Value::Number(of), Value::Number(by)) = (body.expr(of), body.expr(by)) else {
                        continue;
                    };
                    if of == *extent && by.exact_div(part).is_some() {
                        return true;
                    }
                }
                _ => {}
            }
        }
        false
    })
}
