//! Arithmetic of `f32` whose exact form takes a branch: a compiler neither unrolls over it nor mixes two of them.
//!
//! Law: a line is listed where its exact form is longer than the word that the help names, and the kernel is without `fast_math`.

use super::Costly;
use crate::check::Checked;
use crate::elem::Elem;
use crate::origin::Origin;
use crate::program::{Part, Value, walk};
use std::collections::BTreeSet;

/// A word, its cost, and the shorter form with its error.
const SHORTER: [(&str, &str, &str); 5] = [
    (
        "/",
        "is correctly rounded: ten instructions and a branch",
        "`a.div_approx(b)` takes two, within 2 ulp; of one divisor for many quotients `b.recip_approx()` once",
    ),
    (
        "recip",
        "is correctly rounded: eight instructions and a branch",
        "`recip_approx` takes one, within 1 ulp",
    ),
    (
        "sqrt",
        "is correctly rounded: eight instructions and a branch",
        "`sqrt_approx` takes two, within 1 ulp",
    ),
    (
        "sin",
        "reduces its argument: twenty instructions and a branch",
        "`sin_approx` takes two, within 2⁻²⁰ between -2π and 2π",
    ),
    (
        "cos",
        "reduces its argument: twenty instructions and a branch",
        "`cos_approx` takes two, within 2⁻²⁰ between -2π and 2π",
    ),
];

pub(super) fn costly(checked: &Checked) -> Vec<Costly> {
    let (mut found, mut at) = (BTreeSet::new(), Origin(0));
    walk::statements(checked.body(), &mut |part| match part {
        Part::Statement(one) => at = one.origin,
        Part::Quotient(left, right) if checked.tables().elem(left) == Elem::F32 && !is_scale(right) => {
            found.insert((at, "/"));
        }
        Part::Word(word, [of, ..])
            if checked.tables().elem(of) == Elem::F32 && SHORTER.iter().any(|row| row.0 == word.name()) =>
        {
            found.insert((at, word.name()));
        }
        _ => {}
    });
    if checked.head.fast_math {
        return Vec::new();
    }
    let mut all: Vec<Costly> = Vec::new();
    for (origin, word) in found {
        let position = checked.tables().positions.get(origin.0 as usize).copied().unwrap_or_default();
        let Some((_, cost, help)) = SHORTER.iter().find(|row| row.0 == word) else { continue };
        let (what, help) = (format!("`{word}` of f32 {cost}"), (*help).to_owned());
        if !all.iter().any(|known| known.position.line == position.line && known.what == what) {
            all.push(Costly { position, what, help });
        }
    }
    all.sort_by_key(|one| one.position);
    all
}

/// A power of two: the quotient is a product.
fn is_scale(divisor: &Value<crate::program::Access>) -> bool {
    let Value::Constant(constant) = divisor else { return false };
    let value = constant.as_f64().abs();
    value.is_normal() && value.to_bits().trailing_zeros() >= 52
}
