//! `layout-lsp`: the server over standard input and output, as editors start it.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (connection, threads) = lsp_server::Connection::stdio();
    layout_lsp::serve(&connection)?;
    // The thread that writes ends with the last sender.
    drop(connection);
    Ok(threads.join()?)
}
