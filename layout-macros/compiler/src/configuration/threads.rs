//! The threads of a block: of counts that the body says, one for each axis.

use super::Missing;
use super::interpreter::Interpreter;
use super::polynomial::Polynomial;

/// The threads of a block along each axis.
pub(super) fn threads(body: &mut Interpreter<'_>) -> Result<Vec<Polynomial>, Missing> {
    super::looked_through(body, "block")?;
    let said = |body: &Interpreter<'_>, axis: Option<u32>| {
        let mut counts: Vec<Polynomial> = vec![];
        for (of, count) in &body.threads.exact {
            if (*of == axis || (axis == Some(0) && of.is_none())) && !counts.contains(count) {
                counts.push(count.clone());
            }
        }
        counts
    };
    let axes = body.threads.used.iter().rposition(|used| *used).unwrap_or(0);
    let mut block = vec![];
    for axis in 0..=axes {
        if axes > 0 && !body.threads.used[axis] {
            block.push(Polynomial::constant(1));
            continue;
        }
        let mut counts = said(body, Some(axis as u32));
        if axes > 0 && axis == 0 {
            counts.retain(|count| {
                body.threads.exact.iter().any(|(of, known)| *of == Some(0) && known == count)
            });
        }
        let name = format!("thread_idx.{}", ['x', 'y', 'z'][axis]);
        match (counts.as_slice(), axes) {
            ([one], _) => block.push(one.clone()),
            ([], 0) => block.push(by_layouts(body)?),
            ([], _) => return Err(no_threads(body, format!("nothing says how many `{name}` there are"))),
            ([one, two, ..], _) => {
                let (one, two) = (body.text(one), body.text(two));
                return Err(Missing {
                    found: format!("the body says `{one}` of `{name}` in one place and `{two}` in another"),
                    help: format!("write the one that is meant: `block = [{one}]` or `block = [{two}]`"),
                });
            }
        }
    }
    Ok(block)
}

/// The threads of a block by the thread layouts of its copies alone.
fn by_layouts(body: &mut Interpreter<'_>) -> Result<Polynomial, Missing> {
    let mut layouts: Vec<Polynomial> = vec![];
    for count in &body.threads.at_least {
        if !layouts.contains(count) {
            layouts.push(count.clone());
        }
    }
    let named = body.threads.used[0] || body.threads.warps;
    let open = body.written.iter().find_map(|(view, _)| {
        let inside = || {
            view.open
                .then(|| format!("the places of `{}` that they write are not understood", body.name_of(view)))
        };
        view.partial.clone().or(view.unclear.clone()).or_else(inside)
    });
    match (layouts.as_slice(), open) {
        ([], _) if body.threads.matrices && !named => Ok(Polynomial::constant(32)),
        ([], _) => Err(no_threads(
            body,
            if named {
                "nothing says how many threads there are".to_owned()
            } else {
                "it names no `thread_idx` and no thread layout".to_owned()
            },
        )),
        (_, Some(why)) if named => {
            Err(no_threads(body, format!("its thread layouts may be of a part of the threads, and {why}")))
        }
        ([one], _) => Ok(one.clone()),
        (several, _) => {
            let texts: Vec<String> = several.iter().map(|count| format!("`{}`", body.text(count))).collect();
            Err(Missing {
                found: format!("its thread layouts have {} threads", texts.join(" and ")),
                help:
                    "write the largest: `block = [..]`; a thread layout may have fewer threads than the block"
                        .to_owned(),
            })
        }
    }
}

fn no_threads(body: &Interpreter<'_>, found: String) -> Missing {
    let found = match body.threads.block_dim {
        true => format!("{found}; `block_dim` is what `block` says"),
        false => found,
    };
    let entry = match body.threads.used.iter().rposition(|used| *used) {
        None | Some(0) => "[256]",
        Some(1) => "[32, 8]",
        Some(_) => "[8, 8, 4]",
    };
    let help = format!(
        "write `block = {entry}` with the counts that are meant; it follows from `block_idx.x * SIZE + thread_idx.x` where a \
               tensor is written there, from a tile of a tensor whose elements `thread_idx` selects, from a loop over \
         `(thread_idx.x..n).step_by(SIZE)`, from the thread layouts of copies"
    );
    Missing { found, help }
}
