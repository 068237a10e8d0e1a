//! The one test binary of the workspace.

mod analysis;
mod asynchronous;
mod command;
mod damaged;
mod definition;
mod device;
mod findings;
mod flags;
mod hopper;
mod ladder;
mod language;
mod launch;
mod laws;
mod nvrtc_accepts;
mod oracle;
mod pictures;
mod promises;
mod sass;
mod simulate;
mod snapshots;
mod tensor;
mod tensor_map;
mod tidy;
mod transport;
mod ui;
mod waiting;
