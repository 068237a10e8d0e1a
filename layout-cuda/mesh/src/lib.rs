//! Tensors of `layout-cuda` over several GPUs, or over so many simulators.
//!
//! ```
//! use layout_core::mesh::{Distributed, Mesh};
//! use layout_mesh::{Resharding, World};
//!
//! let mesh = Mesh::new([("gpu", 2)])?;
//! let rows = Distributed::new(&mesh, [4, 4])?.split(0, ["gpu"])?;
//! let columns = Distributed::new(&mesh, [4, 4])?.split(1, ["gpu"])?;
//! let plan = Resharding::new(&rows, &columns)?;
//!
//! // Or `World::gpus([0, 1])`, or `World::process()` under torchrun or mpirun.
//! let held = World::simulators(2)?.run(|member| {
//!     let stream = member.device().stream();
//!     let own: Vec<f32> = (0..8).map(|i| (8 * member.rank() + i) as f32).collect();
//!     let (source, mut target) = (stream.upload(&own, [2, 4])?, stream.zeros::<f32, 2>([4, 2])?);
//!     plan.run(member, &stream, &source, &mut target)?;
//!     member.wait(&stream)?;
//!     Ok(target.download()?)
//! })?;
//! assert_eq!(held[1], [2.0, 3.0, 6.0, 7.0, 10.0, 11.0, 14.0, 15.0]); // columns 2 and 3
//! # Ok::<(), layout_mesh::MeshError>(())
//! ```
//!
//! | to | take |
//! |---|---|
//! | say who holds which element | `layout_core::mesh::Distributed` |
//! | start ranks | [`World`]: simulators, the GPUs of this process, or a process a GPU |
//! | do something together | [`Member`]: NCCL's collectives, messages between pairs, groups |
//! | hold a tensor in another way | [`Resharding`] |
//! | know what went wrong | [`MeshError`], on every rank, within [`World::limit`] |
//! | know whether NCCL is there, and how to get it | [`doctor()`] |
//!
//! Law: ranks exchange what they call before anything is sent, so that what would hang GPUs is an error on all of them.
//! No element is moved but by NCCL; the simulator computes the same in the ranks' order. `LAYOUT_NCCL` names NCCL's file or folder.

mod board;
mod call;
mod copies;
mod doctor;
mod error;
mod kernels;
mod member;
mod nccl;
mod remote;
mod reshard;
mod sum;
mod world;

pub use doctor::{Diagnosis, doctor};
pub use error::{MeshError, Result};
pub use member::Member;
pub use reshard::Resharding;
pub use sum::Reduction;
pub use world::World;
