//! Actors: warps, TMA, the matrix units, mbarriers.
//!
//! A warp executes instructions (`execute`): in registers (`registers`), on the active lanes (`control`), on memory
//! (`load_store`, `copy`, `remote`), with other threads (`collectives`, `release_acquire`, `named_barrier`). TMA
//! and wgmma work is in flight until a thread waits for it (`proxy`, `transfer`, `wgmma`, `mbarrier`), and so is that of
//! tensor memory (`tcgen05`).
//!
//! Law: an actor changes memory and clocks and emits events; it does not depend on schedules and analyses.

mod cluster;
mod collectives;
mod control;
mod copy;
mod elementwise;
mod execute;
mod load_store;
mod local;
mod mbarrier;
mod mma;
mod named_barrier;
mod proxy;
mod registers;
mod release_acquire;
mod remote;
mod scaled_mma;
mod tcgen05;
mod transfer;
mod wgmma;
