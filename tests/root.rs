//! The one test binary of the workspace.
