//! The one test binary of the workspace.

mod damaged;
mod device;
mod findings;
mod language;
mod launch;
mod laws;
mod nvrtc_accepts;
mod oracle;
mod promises;
mod simulate;
mod snapshots;
mod tensor;
mod tidy;
mod transport;
mod ui;
