//! The one test binary of the workspace.

mod language;
mod damaged;
mod laws;
mod oracle;
mod tensor;
mod transport;
mod ui;
