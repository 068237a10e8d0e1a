//! `layout-lsp`: the server over standard input and output, as editors start it.

use lsp_server::Connection;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (connection, threads) = Connection::stdio();
    let served = layout_lsp::serve(&connection);
    // The writer ends with the last sender.
    drop(connection);
    let ended = threads.join();
    match (served, ended) {
        (Ok(()), Ok(())) => ExitCode::SUCCESS,
        (Err(error), _) => {
            eprintln!("layout-lsp: {error}");
            ExitCode::FAILURE
        }
        (_, Err(error)) => {
            eprintln!("layout-lsp: {error}");
            ExitCode::FAILURE
        }
    }
}
