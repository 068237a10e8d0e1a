//! `llama --model FOLDER --ids 1,2,3`: continues prompts; or times a model, or writes its logits.
//!
//! Law: what is asked for is checked before the weights are loaded, as far as it can be.

use clap::{Parser, ValueEnum};
use layout_cuda::{Device, bf16};
use layout_kernels::quantized::Format;
use layout_kernels::random::Sampling;
use layout_llama::{Config, Engine, Result, Room, SPARE, Weights};
use std::path::PathBuf;
use std::time::Instant;

/// Llama from safetensors to tokens.
#[derive(Parser)]
struct Arguments {
    /// A folder with config.json and model.safetensors, or shards and their index
    #[arg(long)]
    model: Option<PathBuf>,
    /// Weights at random: of the folder's configuration, or of one of 1.5e9 parameters
    #[arg(long)]
    random: bool,
    /// What layers' products are rounded to as they are loaded
    #[arg(long, value_enum, default_value_t = Bits::Bf16)]
    weights: Bits,
    /// A prompt of token ids, by commas; may be given again
    #[arg(long)]
    ids: Vec<String>,
    /// A prompt of text; may be given again
    #[cfg(feature = "text")]
    #[arg(long)]
    prompt: Vec<String>,
    /// New tokens of each prompt at most
    #[arg(long, default_value_t = 64)]
    tokens: usize,
    /// Sequences at once; as many as prompts, up to 64, without it
    #[arg(long)]
    slots: Option<usize>,
    /// Places of a sequence at most; as many as the longest prompt asks for without it
    #[arg(long)]
    context: Option<usize>,
    /// Tokens of a prompt at once at most
    #[arg(long, default_value_t = 2048)]
    chunk: usize,
    /// Tokens are drawn: of the likeliest that together have the share P; without it the likeliest are taken
    #[arg(long, num_args = 3, value_names = ["TEMPERATURE", "P", "SEED"])]
    draw: Vec<f32>,
    /// Times B sequences behind prompts of so many tokens; a line of JSON
    #[arg(long, num_args = 2, value_names = ["B", "LENGTH"])]
    bench: Vec<usize>,
    /// The launches of such a step, with their times
    #[arg(long, num_args = 2, value_names = ["B", "LENGTH"])]
    explain: Vec<usize>,
    /// Writes the first prompt's logits, a row each token, as float32
    #[arg(long, value_name = "FILE.npy")]
    dump_logits: Option<PathBuf>,
}

/// A type of weights.
#[derive(Clone, Copy, ValueEnum)]
enum Bits {
    /// As they are, or rounded to bf16
    Bf16,
    /// 8 bits, a scale and a zero for 128
    Int8,
    /// 4 bits, a scale and a zero for 128
    Int4,
}

fn main() {
    if let Err(error) = run(&Arguments::parse()) {
        eprintln!("error: {error}");
        std::process::exit(1);
    }
}

#[cfg(feature = "text")]
fn tokenizer(arguments: &Arguments) -> Result<tokenizers::Tokenizer> {
    let folder = arguments.model.as_ref().ok_or("text takes the tokenizer of --model FOLDER")?;
    let path = folder.join("tokenizer.json");
    tokenizers::Tokenizer::from_file(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

/// The prompts, as token ids.
fn prompts(arguments: &Arguments) -> Result<Vec<Vec<u32>>> {
    let number = |word: &str| word.trim().parse().map_err(|_| format!("`{word}` is no token id").into());
    let prompts = arguments.ids.iter().map(|ids| ids.split(',').map(number).collect());
    #[cfg(feature = "text")]
    let prompts = prompts.chain(arguments.prompt.iter().map(|text| {
        let encoded = tokenizer(arguments)?.encode(text.as_str(), true).map_err(|error| error.to_string())?;
        Ok(encoded.get_ids().to_vec())
    }));
    prompts.collect()
}

fn run(arguments: &Arguments) -> Result<()> {
    let folder = arguments.model.as_deref();
    if folder.is_none() && !arguments.random {
        return Err("say --model FOLDER, or --random".into());
    }
    let config = Config::new(folder)?;
    let prompts = prompts(arguments)?;
    let (slots, length) = match (&*arguments.bench, &*arguments.explain) {
        ([slots, length], _) | (_, [slots, length]) => (*slots, length + SPARE),
        _ if prompts.is_empty() => return Err("say a prompt, --bench or --explain".into()),
        _ => (prompts.len().min(64), prompts.iter().map(Vec::len).max().unwrap_or(0) + arguments.tokens),
    };
    let (slots, context) = (arguments.slots.unwrap_or(slots), arguments.context.unwrap_or(length));
    let drawn = match *arguments.draw {
        [temperature, p, seed] => Some((Sampling { temperature, p, ..Sampling::default() }, seed as u64)),
        _ => None,
    };
    let (pages, chunk) = ([64, slots * context.div_ceil(64)], arguments.chunk.min(context));
    let room = Room { slots, pages, context, chunk, drawn };
    let stream = Device::best().stream();
    eprintln!("{}", stream.device().describe());
    let format = match arguments.weights {
        Bits::Bf16 => None,
        Bits::Int8 => Some(Format::INT8),
        Bits::Int4 => Some(Format::INT4),
    };
    let weights = Weights::new(&config, &stream, folder.filter(|_| !arguments.random), format)?;
    let mut engine = Engine::new(&stream, config, weights, room)?;
    if let (Some(path), Some(prompt)) = (&arguments.dump_logits, prompts.first()) {
        let logits: Vec<f32> = engine.logits(prompt.clone())?.into_iter().map(bf16::to_f32).collect();
        let shape = [prompt.len(), logits.len() / prompt.len()];
        layout_files::save_npy(path, &Device::simulator().upload(&logits, shape)?)?;
    }
    if let [_, length] = *arguments.bench {
        println!("{}", layout_llama::bench(&mut engine, length)?);
    }
    if let [_, length] = *arguments.explain {
        print!("{}", layout_llama::explain(&mut engine, length)?);
    }
    if !arguments.bench.is_empty() || !arguments.explain.is_empty() {
        return Ok(());
    }
    for prompt in prompts {
        engine.submit(prompt, arguments.tokens)?;
    }
    let (begin, made) = (Instant::now(), engine.run()?);
    let (seconds, count) = (begin.elapsed().as_secs_f64(), made.iter().map(Vec::len).sum::<usize>());
    eprintln!("{count} tokens in {seconds:.2} s, {:.0} a second", count as f64 / seconds);
    // The request of the logits has ended before.
    for tokens in made.iter().filter(|tokens| !tokens.is_empty()) {
        #[cfg(feature = "text")]
        if !arguments.prompt.is_empty() {
            println!("{}", tokenizer(arguments)?.decode(tokens, true).map_err(|error| error.to_string())?);
            continue;
        }
        println!("{}", tokens.iter().map(u32::to_string).collect::<Vec<_>>().join(","));
    }
    Ok(())
}
