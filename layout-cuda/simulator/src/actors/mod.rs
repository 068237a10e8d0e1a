//! Actors: warps with their registers, TMA, the matrix units, mbarriers.
//!
//! A warp runs its instructions (`execute`). It computes in registers (`registers`), decides which lanes are active
//! (`control`), touches memory (`touch`, `copy`, `remote`) and other threads (`together`, `order`, `meeting`). The work of
//! TMA and the matrix units is in flight until somebody waits (`proxy`, `transfer`, `matrix`, `mbarrier`).
//!
//! Law: an actor changes memory and clocks and reports events (`event`); it knows no schedule and no judge.

pub(super) mod arithmetic;
pub(super) mod cluster;
mod control;
mod copy;
mod elementwise;
mod execute;
mod local;
pub(super) mod matrix;
mod mbarrier;
mod meeting;
mod mma;
pub(super) mod order;
pub(super) mod proxy;
mod registers;
mod remote;
mod rounds;
mod together;
pub(super) mod touch;
pub(super) mod transfer;
pub(super) mod warp;
