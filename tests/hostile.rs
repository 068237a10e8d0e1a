//! Hostile texts: kernels of the corpus with tokens deleted, doubled, swapped and replaced. They are kernels, or are refused in words;
//! never a panic.
//!
//! Each run has seeds of its own, for a second; a failure says the seed. `HOSTILE_SEED=7 HOSTILE_TEXTS=1000000` takes others and more.

use layout_compiler::{Promises, compile, emit};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Texts with most of the language between them.
const SOURCES: [&str; 19] = [
    include_str!("kernels/bits.rs"),
    include_str!("kernels/clusters.rs"),
    include_str!("kernels/control.rs"),
    include_str!("kernels/elementwise.rs"),
    include_str!("kernels/fences.rs"),
    include_str!("kernels/hints.rs"),
    include_str!("kernels/indices.rs"),
    include_str!("kernels/layouts.rs"),
    include_str!("kernels/matrix.rs"),
    include_str!("kernels/movement.rs"),
    include_str!("kernels/orders.rs"),
    include_str!("kernels/reduce.rs"),
    include_str!("kernels/stencil.rs"),
    include_str!("kernels/tensor_memory.rs"),
    include_str!("kernels/together.rs"),
    include_str!("kernels/types.rs"),
    include_str!("kernels/warpgroups.rs"),
    include_str!("kernels/warps.rs"),
    include_str!("kernels/words.rs"),
];

/// The functions under `#[tiled_kernel(..)]` of a file, as they are written.
fn kernels(source: &str) -> Vec<String> {
    let mut found = vec![];
    for (at, _) in source.match_indices("#[tiled_kernel(") {
        let mut depth = 0;
        let end = source[at..].char_indices().find(|(_, letter)| {
            depth += i32::from(*letter == '{') - i32::from(*letter == '}');
            depth == 0 && *letter == '}'
        });
        found.extend(end.map(|(end, _)| source[at..=at + end].to_owned()));
    }
    found
}

/// Words, numbers and signs, each with the space behind it.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = vec![];
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let len = match word(first) {
            true => rest.find(|letter| !word(letter)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let end =
            rest[len..].find(|letter: char| !letter.is_whitespace()).map_or(rest.len(), |end| len + end);
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) as usize % end.max(1)
    }
}

/// A text with up to four tokens changed.
fn changed(own: &[&str], all: &[&str], dice: &mut Dice) -> String {
    let mut tokens = own.to_vec();
    for _ in 0..=dice.below(4) {
        let at = dice.below(tokens.len());
        match dice.below(5) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at]),
            2 => {
                let other = dice.below(tokens.len());
                tokens.swap(at, other);
            }
            3 => tokens[at] = all[dice.below(all.len())],
            _ => tokens.insert(at, all[dice.below(all.len())]),
        }
    }
    tokens.concat()
}

/// What becomes of a text: whether it is a kernel.
fn taken(text: &str) -> bool {
    let Ok(kernel) = layout_text::kernel(text) else { return false };
    let Ok(sets) = kernel.listed() else { return false };
    let Some(set) = sets.into_iter().next() else { return false };
    match compile(&kernel, &set, Promises::USUAL) {
        Ok(checked) => !emit(&checked).text.is_empty(),
        Err(_) => false,
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn hostile_texts_never_panic() {
    let texts: Vec<String> = SOURCES.iter().flat_map(|source| kernels(source)).collect();
    let split: Vec<Vec<&str>> = texts.iter().map(|text| tokens(text)).collect();
    let all: Vec<&str> = split.iter().flatten().copied().collect();
    assert!(texts.len() > 40 && all.len() > 5000, "{} kernels of {} tokens", texts.len(), all.len());
    // The unchanged texts reach the emitter, so changed ones get far.
    let whole = texts.iter().filter(|text| taken(text)).count();
    assert!(whole > 40, "only {whole} of {} texts are kernels of their own", texts.len());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    let first = number("HOSTILE_SEED").unwrap_or(now % 1_000_000_000 * 1_000_000);
    let (most, start) = (number("HOSTILE_TEXTS"), Instant::now());
    let mut count = 0;
    while most.map_or(start.elapsed() < Duration::from_secs(1), |most| count < most) {
        let seed = first + count;
        let mut dice = Dice(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
        let own = dice.below(split.len());
        let text = changed(&split[own], &all, &mut dice);
        if std::panic::catch_unwind(|| taken(&text)).is_err() {
            panic!("HOSTILE_SEED={seed} HOSTILE_TEXTS=1 panics:\n{text}");
        }
        count += 1;
    }
}
