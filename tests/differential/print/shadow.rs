//! Names that shadow one another, as people write them: `let x = x + 1`, a variable of a block with an outer one's name.
//!
//! Law: a `let` may take the name of an earlier variable that nothing mentions between the end of the `let` and the end of its
//! block. So the text means what it meant.

use std::ops::Range;

/// Of how many `let`s one tries to take another's name.
const EVERY: u64 = 3;

/// The text with some variables renamed; which ones depends on the seed.
pub fn shadowed(text: String, seed: u64) -> String {
    let mut text = text;
    let (mut from, mut state) = (0, seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    while let Some(found) = text[from..].find("let ") {
        let start = from + found + 4;
        from = start;
        let name = start + text[start..].strip_prefix("mut ").map_or(0, |_| 4);
        let Some(own) = variable(&text, name) else { continue };
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if !(state >> 33).is_multiple_of(EVERY) {
            continue;
        }
        let Some(scope) = scope(&text, own.end) else { continue };
        let (mine, before) = (text[own.clone()].to_owned(), &text[..own.start]);
        // Those in sight or not: a name that was of another block means nothing more here.
        let inside = mentioned(&text, scope.clone());
        let known = mentioned(before, 0..before.len());
        let free: Vec<&Range<usize>> = known
            .iter()
            .filter(|other| before[(*other).clone()] != mine)
            .filter(|other| inside.iter().all(|own| text[own.clone()] != before[(*other).clone()]))
            .collect();
        let Some(other) = free.get((state >> 40) as usize % free.len().max(1)) else { continue };
        let other = text[(*other).clone()].to_owned();
        let renamed = inside.iter().filter(|place| text[(*place).clone()] == mine);
        let places: Vec<Range<usize>> = std::iter::once(own).chain(renamed.cloned()).collect();
        for place in places.into_iter().rev() {
            text.replace_range(place, &other);
        }
    }
    text
}

/// The variable `v12` that begins here.
fn variable(text: &str, at: usize) -> Option<Range<usize>> {
    let digits = text[at..].strip_prefix('v')?.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then_some(at..at + 1 + digits)
}

/// Every mention of a variable in a part of the text.
fn mentioned(text: &str, part: Range<usize>) -> Vec<Range<usize>> {
    let word = |at: usize| at > 0 && text.as_bytes()[at - 1].is_ascii_alphanumeric();
    part.clone().filter(|at| !word(*at)).filter_map(|at| variable(text, at)).collect()
}

/// What is between the end of the statement and the end of its block.
fn scope(text: &str, within: usize) -> Option<Range<usize>> {
    let (mut depth, mut end) = (0, None);
    for (at, byte) in text.bytes().enumerate().skip(within) {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' if depth == 0 => return end.map(|end| end..at),
            b'}' | b')' | b']' => depth -= 1,
            b';' if depth == 0 => end = end.or(Some(at + 1)),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_where_nobody_misses_them() {
        let text = "fn f() { let v1 = 1; let v2 = v1; { let v3 = v2; v3; } v2; }".to_owned();
        let all: Vec<String> = (0..64).map(|seed| shadowed(text.clone(), seed)).collect();
        assert!(all.contains(&text));
        assert!(all.iter().any(|other| other.starts_with("fn f() { let v1 = 1; let v1 = v1; {")));
        assert!(all.iter().any(|other| other.contains("{ let v1 = v2; v1; } v2;")));
        // `v2` is read behind the block, which ends before: within it the name is free once it was read.
        assert!(all.iter().any(|other| other.contains("{ let v2 = v2; v2; } v2;")));
    }
}
