//! Tensors from and to files: safetensors, as models are shared in, and NumPy's `.npy`.
//!
//! ```
//! use layout_cuda::Device;
//! use layout_files::{Npy, Safetensors};
//!
//! let folder = std::env::temp_dir();
//! let file = folder.join(format!("layout-files-{}.safetensors", std::process::id()));
//! let stream = Device::best().stream();
//! let weights = stream.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [3, 2])?;
//! layout_files::save_safetensors(&file, &[("weights", &weights)])?;
//!
//! let model = Safetensors::open(&file)?;
//! let whole = model.load::<f32, 2>("weights", &stream)?;
//! let last = model.load_rows::<f32, 2>("weights", 2..3, &stream)?;
//! assert_eq!((whole.download()?[1], last.download()?), (2.0, vec![5.0, 6.0]));
//! assert_eq!(
//!     model.load::<f32, 1>("weigths", &stream).unwrap_err().to_string(),
//!     format!("{}: there is no tensor `weigths`; is `weights` meant?", file.display()),
//! );
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A file is read in pieces that go to the device one after the other, so a tensor larger than the host's memory can be loaded. What a
//! file says of itself is checked before a byte moves; a file that is wrong, or that is cut off while it is read, is an error that
//! names what is wrong.
//!
//! Law: `load(save(x))` has x's elements bit for bit. No bytes of a file make a panic.

mod error;
mod npy;
mod pieces;
pub mod progress;
mod safetensors;
mod source;

pub use crate::safetensors::{Safetensors, Saved, save_safetensors};
pub use error::{FileError, Wrong};
pub use npy::{Npy, save_npy};
