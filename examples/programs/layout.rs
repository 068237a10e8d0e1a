//! Evaluates an expression of the layout algebra and shows the result, its verdicts, its table and its picture.

use clap::{Parser, Subcommand};
use layout_core::draw::{layout_svg, layout_table, swizzle_svg};
use layout_core::expr::{OPERATIONS, Value, evaluate, explain};
use layout_core::{Layout, LayoutError};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Evaluates an expression of the layout algebra.
#[derive(Parser)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: layout 'logical_divide((4,8):(8,1), (2,4))'"
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// An expression, such as `coalesce((2,4):(1,2))`
    expression: Option<String>,
    /// Show the steps that lead to the result
    #[arg(long)]
    explain: bool,
    /// Write the picture to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// The bytes of an element, for the banks in a swizzle's picture
    #[arg(long, default_value_t = 4)]
    element_bytes: i64,
}

#[derive(Subcommand)]
enum Command {
    /// Answer rows {id, op, args} on standard input, one a line
    ///
    /// `args` is an object with the names that `layout operations` has. A layout is {"shape": .., "stride": ..}, a tuple a list, and
    /// what else an expression has a text. A row that is wrong has an `error` in its answer, and the command goes on.
    #[command(
        after_help = r#"Example: echo '{"id": 1, "op": "coalesce", "args": {"layout": {"shape": [2, 4], "stride": [1, 2]}}}' | layout eval --json"#
    )]
    Eval {
        /// Rows and answers are JSON
        #[arg(long, required = true)]
        json: bool,
    },
    /// List the operations
    Operations,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let cli = Cli::parse();
    let done = match &cli.command {
        Some(Command::Eval { .. }) => rows(),
        Some(Command::Operations) => {
            for operation in OPERATIONS {
                println!("{}({}): {}", operation.name, operation.arguments.join(", "), operation.summary);
            }
            Ok(())
        }
        None => match &cli.expression {
            Some(expression) => show(expression, &cli),
            None => Err("give an expression, or `eval --json`; --help says more".into()),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn show(expression: &str, cli: &Cli) -> Done {
    let (value, steps) = explain(expression)?;
    if cli.explain {
        for (number, step) in steps.iter().enumerate() {
            println!("{}. {step}", number + 1);
        }
    }
    match &value {
        Value::Layout(layout) | Value::Slice(layout, _) => {
            println!("{value}");
            println!("{}", verdicts(layout)?);
            if let Some(size) = rounded_up(expression, layout) {
                println!("note: rounded up to whole tiles, {} elements of {size}", layout.size());
            }
            if layout.size() <= 1024 {
                print!("{}", layout_table(placed(layout, &value)));
            }
        }
        Value::Composed(composed) => {
            println!("{value}");
            // The table of the offsets as they come out of the swizzle.
            if composed.layout().size() <= 1024 {
                print!("{}", layout_core::draw::swizzle_table(composed));
            }
        }
        other => println!("{other}"),
    }
    if let Some(file) = &cli.svg {
        let picture = match &value {
            Value::Layout(layout) | Value::Slice(layout, _) => layout_svg(placed(layout, &value))?,
            Value::Composed(composed) => swizzle_svg(composed, cli.element_bytes)?,
            other => return Err(format!("{} has no picture; a layout has", other.kind()).into()),
        };
        std::fs::write(file, picture).map_err(|error| format!("{}: {error}", file.display()))?;
        println!("picture: {}", file.display());
    }
    Ok(())
}

/// A layout where it begins: a slice at its offset.
fn placed<'l>(layout: &'l Layout, value: &Value) -> (&'l Layout, i64) {
    (layout, if let Value::Slice(_, offset) = value { *offset } else { 0 })
}

/// The size of what a division divides, where the result has more.
fn rounded_up(expression: &str, result: &Layout) -> Option<i64> {
    let (name, arguments) = expression.split_once('(')?;
    let mut depth = 0;
    let end = arguments.find(|letter| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        letter == ',' && depth == 0
    })?;
    match evaluate(&arguments[..end]).ok().filter(|_| name.ends_with("divide"))? {
        Value::Layout(divided) => Some(divided.size()).filter(|size| *size < result.size()),
        _ => None,
    }
}

fn verdicts(layout: &Layout) -> Result<String, LayoutError> {
    let mut words = vec![format!("size {}", layout.size()), format!("cosize {}", layout.cosize())];
    match layout.aliasing() {
        Ok(None) => words.push("injective".into()),
        Ok(Some((a, b))) => {
            words.push(format!("not injective: {a} and {b} are both {}", layout.crd2idx(&a)?))
        }
        Err(error) => words.push(error.to_string()),
    }
    words.push(if layout.is_surjective() { "surjective".into() } else { "not surjective".into() });
    if layout.is_bijective() {
        words.push("bijective".into());
    }
    if layout.is_contiguous() {
        words.push("contiguous".into());
    }
    Ok(words.join(", "))
}

fn rows() -> Done {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let answer = match serde_json::from_str(&line) {
            Ok(row) => layout_examples::programs::rows::answer(&row),
            Err(error) => serde_json::json!({ "id": null, "error": format!("not a row of JSON: {error}") }),
        };
        writeln!(out, "{answer}")?;
    }
    out.flush()?;
    Ok(())
}
