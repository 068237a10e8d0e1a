//! The one test binary of the workspace.

mod damaged;
mod language;
mod laws;
mod oracle;
mod simulate;
mod tensor;
mod transport;
mod ui;
