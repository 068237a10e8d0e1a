//! The one test binary of the server.

mod client;
mod editor;
mod hostile;
mod library;
