//! mdBook's preprocessor: puts the listings into the chapters.
//!
//! `book supports html` says yes; else the book comes as JSON on standard input and goes, with every chapter expanded, to
//! standard output.

use layout_book::expand;
use serde_json::Value;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some("supports") {
        return ExitCode::SUCCESS;
    }
    match filled() {
        Ok(book) => {
            println!("{book}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn filled() -> Result<Value, Box<dyn std::error::Error>> {
    let [_, mut book]: [Value; 2] = serde_json::from_reader(std::io::stdin().lock())?;
    chapters(&mut book, &Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))?;
    Ok(book)
}

/// Expands the content of every chapter, however deep it is.
fn chapters(value: &mut Value, root: &Path) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(content) if name == "content" => *content = expand(root, content)?,
                    other => chapters(other, root)?,
                }
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(|item| chapters(item, root)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}
