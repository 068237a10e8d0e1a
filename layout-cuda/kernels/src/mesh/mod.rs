//! Work over several devices: products whose messages hide behind tiles, attention by heads, and a transformer's block of both.
//!
//! Law: each equals one device's, but that a sum over the ranks has its terms rounded to the tensors' elements.

mod attention;
mod block;
mod heads;
mod products;

pub use attention::ByHeads;
pub use block::{Block, Layers};
pub use heads::{Heads, Own};
pub use products::{Beside, gathered_product, scattered_product};
