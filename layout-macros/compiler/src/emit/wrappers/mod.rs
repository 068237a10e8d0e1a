//! Wrappers of similar instructions: each is a row of a table, filled into a template of `device/`.
//!
//! Law: a name between two `$` of a template is replaced by its value, so the order of a row's values has no effect.

mod asynchronous;
mod memory;
mod values;

pub(super) use asynchronous::asynchronous;
pub(super) use memory::{atomic_bits, atomic_extremes, flags, hints};
pub(super) use values::{approximations, float8, math, matrices, warps};

/// The product of a warpgroup, which [`super::operation`] fills.
pub(super) const WGMMA: &str = include_str!("../device/wgmma.cuh.template");

/// The products and the moves of `tcgen05`, which [`super::tensor_memory`] fills.
pub(super) const TCGEN05: &str = include_str!("../device/tcgen05.cuh.template");

/// A template with a row's values at their names.
pub(super) fn fill(template: &str, row: &[(&str, &str)]) -> String {
    let parts = template.split('$').enumerate();
    let value = |name: &str| row.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value);
    parts.map(|(number, part)| if number % 2 == 0 { part } else { value(part) }).collect()
}

/// The functions of a template's file, in order: its paragraphs but the first, which says what the file is.
pub(super) fn paragraphs(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.split("\n\n").skip(1).map(str::trim_end)
}

/// The function of this number.
fn paragraph(text: &'static str, number: usize) -> &'static str {
    paragraphs(text).nth(number).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_replace_their_names() {
        let text = "$a$ and $b$, not a b";
        assert_eq!(fill(text, &[("b", "$a$"), ("a", "1")]), "1 and $a$, not a b");
        assert_eq!(fill(text, &[("a", "1"), ("b", "$a$")]), "1 and $a$, not a b");
    }

    #[test]
    fn no_name_is_left_and_none_is_missing() {
        let memory = [flags(), hints(), atomic_bits(), atomic_extremes("", "")].concat();
        let values = [approximations(), float8(), math(), matrices(), warps()].concat();
        let all = [memory, values, asynchronous()].concat();
        assert!(all.len() > 100);
        for text in all {
            let opens = text.matches('{').count() == text.matches('}').count();
            let holes =
                ["( ", "__ (", "::\"\"", "ld..", "st..", "[];"].iter().any(|hole| text.contains(hole));
            assert!(!text.contains('$') && opens && !holes && text.starts_with("// "), "{text}");
        }
    }
}
