//! Where the time goes: of a step, of a prompt and of each launch, and what memory allows.
//!
//! Law: a step is timed as it runs, as a graph over caches that prompts have filled; launches one by one, alone and
//! from memory.

use crate::model::Model;
use crate::{Engine, Result};
use layout_cuda::bench::{Options, time};
use layout_cuda::{Stream, bf16};
use serde_json::{Value, json};

/// Places of a sequence that a benchmark takes behind its prompt: more than the steps that it times.
pub const SPARE: usize = 128;

/// Bytes a second of a copy on the device: read and written.
fn bandwidth(stream: &Stream) -> Result<f64> {
    let elements = if stream.device().is_simulator() { 1 << 10 } else { 1 << 29 };
    let (source, mut copy) = (stream.zeros::<bf16, 1>([elements])?, stream.zeros::<bf16, 1>([elements])?);
    let options = Options { flush_l2: false, ..Options::default() };
    let timing = time(stream, &options, || copy.copy_from(&source))?;
    Ok(1e9 * timing.giga_per_second(4.0 * elements as f64))
}

/// Fills every slot anew with a prompt of so many tokens.
fn occupy(engine: &mut Engine, length: usize) -> Result<()> {
    let (slots, vocabulary) = (engine.slots.len(), engine.graph.state().config.vocabulary);
    for number in 0..slots {
        engine.end(number)?;
        let prompt = (0..length).map(|at| ((at * 31 + number * 7919) % vocabulary) as u32).collect();
        engine.submit(prompt, SPARE)?;
    }
    let mut begun = 0;
    while begun < slots {
        begun += usize::from(engine.fill()?.is_some());
    }
    Ok(())
}

/// The times of a prompt and of a step behind it, of as many sequences as there are slots, and what memory allows.
pub fn bench(engine: &mut Engine, length: usize) -> Result<Value> {
    let (slots, stream) = (engine.slots.len(), engine.stream.clone());
    // The first prompts compile kernels.
    occupy(engine, length)?;
    let once = Options { warm_up: 0, samples: 1, calls: 1, flush_l2: false };
    let prompts = time(&stream, &once, || occupy(engine, length))?.median_ms();
    let many = Options { warm_up: 2, samples: 5, calls: 10, ..once };
    let ms = time(&stream, &many, || engine.advance())?.median_ms();
    let Model { config, weights, .. } = engine.graph.state();
    let (weights, bandwidth) = (weights.bytes(), bandwidth(&stream)?);
    let cached = 4 * config.layers * config.heads[1] * config.depth * slots * length;
    let limit = 1e3 * (weights + cached) as f64 / bandwidth;
    Ok(json!({
        "sequences": slots, "length": length, "step_ms": ms, "tokens_a_second": 1e3 * slots as f64 / ms,
        "weights_bytes": weights, "cache_bytes": cached, "bandwidth": bandwidth, "limit_ms": limit,
        "share": limit / ms, "launches": engine.graph.len(), "prompts_ms": prompts,
        "prompt_tokens_a_second": 1e3 * (slots * length) as f64 / prompts,
    }))
}

/// The launches of a step behind prompts of a length, alone and with what they read in memory: a line each.
pub fn explain(engine: &mut Engine, length: usize) -> Result<String> {
    occupy(engine, length)?;
    let (stream, mut list) = (engine.stream.clone(), Vec::<(&str, usize, f64)>::new());
    let options = Options { warm_up: 2, samples: 7, ..Options::default() };
    engine.graph.state_mut().step(&stream, &mut |name, launch| {
        let ms = time(&stream, &options, launch)?.median_ms();
        match list.iter_mut().find(|(known, ..)| *known == name) {
            Some((_, count, sum)) => (*count, *sum) = (*count + 1, *sum + ms),
            None => list.push((name, 1, ms)),
        }
        Ok(())
    })?;
    let all: f64 = list.iter().map(|(.., ms)| ms).sum();
    let line = |(name, count, ms): (&str, usize, f64)| {
        let (each, share) = (ms / count as f64, 100.0 * ms / all);
        format!("{name:18} {count:4} x {each:9.4} ms = {ms:9.4} ms {share:5.1} %\n")
    };
    let lines: String = list.into_iter().map(line).collect();
    Ok(format!("{lines}{all:.4} ms, one by one; the graph has {} launches\n", engine.graph.len()))
}
