//! The one test binary of the workspace.

mod analysis;
mod command;
mod damaged;
mod definition;
mod device;
mod findings;
mod language;
mod launch;
mod laws;
mod nvrtc_accepts;
mod oracle;
mod pictures;
mod promises;
mod simulate;
mod snapshots;
mod tensor;
mod tidy;
mod transport;
mod ui;
