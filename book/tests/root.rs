//! The one test binary of the book.

mod chapters;
mod claimed;
mod claims;
mod figures;
mod launches;
mod listings;
mod mesh;
mod numbers;
mod others;
mod outputs;
mod tables;
mod words;
