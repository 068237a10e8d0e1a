//! The one test binary of the workspace.

mod analysis;
mod damaged;
mod device;
mod findings;
mod language;
mod laws;
mod nvrtc_accepts;
mod oracle;
mod pictures;
mod simulate;
mod snapshots;
mod tensor;
mod transport;
mod ui;
