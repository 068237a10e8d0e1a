//! What programs share: how they end, the rungs of the ladder, a product to compare with, the puzzles' roofline, points under a roofline, the rows that the
//! command `layout` answers.

pub mod analysis;
pub mod ladder;
pub mod reference;
pub mod roofline;
pub mod rows;

use std::process::ExitCode;

/// What a program's part gives.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How a program ends that found so many wrong results.
pub fn exit(wrong: Result<usize>) -> ExitCode {
    match wrong {
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("{wrong} of the results above are wrong");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
