//! The one test binary of the book.

mod chapters;
mod launches;
mod listings;
mod mesh;
mod numbers;
mod others;
mod outputs;
mod words;
