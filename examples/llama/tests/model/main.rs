//! The model on the simulator against a forward pass in plain Rust; batches, pages, files that are wrong.
//!
//! Law: logits are within a thirty-second of the largest of a float32 pass over the same weights: twice what bf16
//! rounds.

mod files;
mod reference;

use layout_cuda::Device;
use layout_kernels::quantized::Format;
use layout_kernels::random::Sampling;
use layout_llama::{Config, Engine, Room, Weights};
use reference::Reference;
use std::path::Path;

const ROOM: Room = Room { slots: 2, pages: [8, 3], context: 24, chunk: 8, drawn: None };

fn engine(folder: &Path, drawn: Option<(Sampling, u64)>) -> Engine {
    engine_of(folder, drawn, None)
}

fn engine_of(folder: &Path, drawn: Option<(Sampling, u64)>, format: Option<Format>) -> Engine {
    let stream = Device::simulator().stream();
    let config = Config::new(Some(folder)).expect("a configuration");
    let weights = Weights::new(&config, &stream, Some(folder), format).expect("weights");
    Engine::new(&stream, config, weights, Room { drawn, ..ROOM }).expect("an engine")
}

/// Fails where a row of logits is not near the reference's.
fn near(what: &str, found: &[layout_cuda::bf16], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let most = expected.iter().fold(0f32, |most, x| most.max(x.abs()));
    let off = found.iter().zip(expected).fold(0f32, |off, (a, b)| off.max((a.to_f32() - b).abs()));
    println!("{what}: {off} of {most}");
    assert!(off <= most / 32.0, "{what}: {off} of {most}");
}

fn prompt(length: usize, seed: u32) -> Vec<u32> {
    (0..length as u32).map(|i| (i * i * 7 + i * 13 + seed * 31) % 96).collect()
}

/// Weights of 8 bits are off by less than what bf16 rounds elsewhere.
#[test]
fn logits_of_quantised_weights() {
    let folder = files::Folder::new("int8");
    let reference = Reference::write(&folder.0, "llama");
    let mut engine = engine_of(&folder.0, None, Some(Format::INT8));
    let tokens = prompt(5, 1);
    let (found, expected) = (engine.logits(tokens.clone()).expect("logits"), reference.logits(&tokens));
    (0..tokens.len()).for_each(|at| near("int8", &found[at * 96..at * 96 + 96], &expected[at]));
}

/// Prefill in chunks and steps, of every family.
#[test]
fn logits_are_those_of_the_reference() {
    for (family, steps) in [("llama", 4), ("qwen2", 2)] {
        let folder = files::Folder::new(family);
        let reference = Reference::write(&folder.0, family);
        let mut engine = engine(&folder.0, None);
        let short = prompt(5, 1);
        let found = engine.logits(short.clone()).expect("logits");
        let expected = reference.logits(&short);
        (0..short.len()).for_each(|at| near("prefill", &found[at * 96..at * 96 + 96], &expected[at]));
        // A prompt of two chunks and two pages; the token behind it is of its last row.
        let mut tokens = prompt(10, 2);
        engine.submit(tokens.clone(), steps).expect("room");
        while !engine.is_idle() {
            let made = engine.step().expect("a step");
            let logits = engine.last_logits().expect("logits");
            for (number, (_, token)) in made.into_iter().enumerate() {
                let expected = reference.logits(&tokens).pop().expect("a row");
                if tokens.len() > 10 {
                    near(&format!("step at {}", tokens.len()), &logits[..96], &expected);
                }
                let best = expected.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
                let own = expected[token as usize];
                assert!(best - own <= best.abs() / 25.0, "token {token} of step {number} is {own} of {best}");
                tokens.push(token);
            }
        }
        assert_eq!((tokens.len(), engine.free.len()), (10 + steps, 3));
    }
}

/// More sequences than slots and pages: each has the tokens that it has alone, and all pages come back.
#[test]
fn sequences_together_are_those_alone() {
    let folder = files::Folder::new("together");
    Reference::write(&folder.0, "llama");
    let requests = [(3, 3), (10, 2), (2, 2)];
    let submit = |engine: &mut Engine, number: usize| {
        let (length, most) = requests[number];
        engine.submit(prompt(length, number as u32), most).expect("room")
    };
    let mut together = engine(&folder.0, None);
    (0..3).for_each(|number| assert_eq!(submit(&mut together, number), number));
    let made = together.run().expect("tokens");
    assert_eq!(together.free.len(), 3);
    for (number, made) in made.iter().enumerate() {
        assert_eq!(made.len(), requests[number].1);
        submit(&mut together, number);
        assert_eq!(together.run().expect("tokens").last(), Some(made), "request {number}");
    }
    let whole = together.submit(vec![1], 60).expect_err("too long").to_string();
    assert_eq!(whole, "61 places are asked for, and a sequence has 24 at most");
    let none = together.submit(vec![96], 1).expect_err("no token").to_string();
    assert_eq!(none, "there is no token 96: the model has 96");
}

/// Drawn tokens are the same by the same seed, and the likeliest ones where one alone may be drawn.
#[test]
fn tokens_are_drawn() {
    let folder = files::Folder::new("drawn");
    Reference::write(&folder.0, "llama");
    let made = |drawn| {
        let mut engine = engine(&folder.0, drawn);
        engine.submit(prompt(4, 3), 3).expect("room");
        engine.run().expect("tokens").remove(0)
    };
    let warm = Sampling { temperature: 5.0, p: 0.95, ..Sampling::default() };
    assert_eq!(made(Some((Sampling { k: 1, ..warm }, 7))), made(None));
    let drawn = made(Some((warm, 7)));
    assert_eq!(drawn, made(Some((warm, 7))));
    assert_ne!(drawn, made(None));
}
