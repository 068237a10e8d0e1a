//! Origins of floats that are not finite: for each lane of each register the site of the operation that made the value.
//!
//! Law: an infinity originates at the operation that made it of finite numbers, a NaN at the one that made it of
//! operands that are not NaN. A loaded value has no origin.

use crate::bytecode::{LANES, Register};
use crate::state::warp::{Warp, each_lane};

fn nan(warp: &Warp, register: Register, lane: usize) -> bool {
    match register {
        Register::F32(register) => warp.f32[register as usize][lane].is_nan(),
        Register::F64(register) => warp.f64[register as usize][lane].is_nan(),
        Register::Int(_) | Register::Mask(_) => false,
    }
}

fn all_finite(warp: &Warp, register: Register) -> bool {
    // Compares the exponents of all lanes without branches.
    let single = |any: bool, value: &f32| any | (value.to_bits() & 0x7f80_0000 == 0x7f80_0000);
    let double = |any: bool, value: &f64| any | (value.to_bits() >> 52 & 0x7ff == 0x7ff);
    match register {
        Register::F32(register) => !warp.f32[register as usize].iter().fold(false, single),
        Register::F64(register) => !warp.f64[register as usize].iter().fold(false, double),
        Register::Int(_) | Register::Mask(_) => true,
    }
}

/// Whether a lane of a register is finite; registers that are not floats are.
pub(super) fn finite(warp: &Warp, register: Register, lane: usize) -> bool {
    match register {
        Register::F32(register) => warp.f32[register as usize][lane].is_finite(),
        Register::F64(register) => warp.f64[register as usize][lane].is_finite(),
        Register::Int(_) | Register::Mask(_) => true,
    }
}

/// For each lane of each float register its origin; 0 for none.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    f32: Vec<[u32; LANES]>,
    f64: Vec<[u32; LANES]>,
    /// Whether any register has an origin.
    any: bool,
}

impl Origins {
    pub(super) fn new(f32: u32, f64: u32) -> Origins {
        Origins { f32: vec![[0; LANES]; f32 as usize], f64: vec![[0; LANES]; f64 as usize], any: false }
    }

    pub(super) fn reset(&mut self) {
        if std::mem::take(&mut self.any) {
            self.f32.fill([0; LANES]);
            self.f64.fill([0; LANES]);
        }
    }

    pub(super) fn of(&self, register: Register) -> Option<&[u32; LANES]> {
        match register {
            Register::F32(register) => self.f32.get(register as usize),
            Register::F64(register) => self.f64.get(register as usize),
            Register::Int(_) | Register::Mask(_) => None,
        }
    }

    pub(super) fn of_mut(&mut self, register: Register) -> Option<&mut [u32; LANES]> {
        match register {
            Register::F32(register) => self.f32.get_mut(register as usize),
            Register::F64(register) => self.f64.get_mut(register as usize),
            Register::Int(_) | Register::Mask(_) => None,
        }
    }

    /// A loaded value replaces a register.
    pub(super) fn forget(&mut self, dst: Register) {
        if self.any
            && let Some(origins) = self.of_mut(dst)
        {
            *origins = [0; LANES];
        }
    }

    pub(super) fn copy(&mut self, dst: Register, src: Register, lane: usize) {
        let from = self.of(src).map_or(0, |origins| origins[lane]);
        if let Some(origins) = self.of_mut(dst) {
            origins[lane] = from;
        }
    }
}

/// Sets the origin of an instruction's result.
pub(super) fn track(
    all: &mut Origins,
    warp: &Warp,
    dst: Register,
    from: &[Register],
    together: bool,
    site: u32,
) {
    let active = warp.active;
    if all_finite(warp, dst) && (!all.any || all.of(dst).is_none_or(|origins| *origins == [0; LANES])) {
        return;
    }
    all.any = true;
    for lane in each_lane(active) {
        let origin = if finite(warp, dst, lane) {
            0
        } else {
            // The result of a collective may contain any lane's value.
            let lanes = if together { active } else { 1 << lane };
            let sources =
                || from.iter().flat_map(|register| each_lane(lanes).map(move |lane| (*register, lane)));
            let origins =
                |(register, lane): (Register, usize)| all.of(register).map_or(0, |origins| origins[lane]);
            let infinite = |(register, lane): &(Register, usize)| !finite(warp, *register, *lane);
            let other = sources().find(|(register, lane)| nan(warp, *register, *lane));
            match other {
                Some(other) => origins(other),
                // A NaN of infinities has their origin, or this one.
                None if nan(warp, dst, lane) => {
                    sources().filter(infinite).map(origins).find(|origins| *origins != 0).unwrap_or(site)
                }
                None => sources().find(infinite).map_or(site, origins),
            }
        };
        if let Some(origins) = all.of_mut(dst) {
            origins[lane] = origin;
        }
    }
}
