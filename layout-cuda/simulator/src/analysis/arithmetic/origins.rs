//! The origin of floats that are not finite: for each lane of each register the site that made it so.
//!
//! Law: an infinity belongs to the operation that made it of finite numbers, a NaN to the one that made it of operands that
//! are none. A value from memory belongs to nobody.

use crate::bytecode::{LANES, Register};
use crate::state::warp::{Warp, each_lane};

/// Whether a lane of a register is NaN.
fn nan(warp: &Warp, register: Register, lane: usize) -> bool {
    match register {
        Register::F32(register) => warp.f32[register as usize][lane].is_nan(),
        Register::F64(register) => warp.f64[register as usize][lane].is_nan(),
        Register::Int(_) | Register::Mask(_) => false,
    }
}

/// Whether all lanes of a register are finite.
fn all_finite(warp: &Warp, register: Register) -> bool {
    // The exponents of all lanes, without a branch for each.
    let single = |any: bool, value: &f32| any | (value.to_bits() & 0x7f80_0000 == 0x7f80_0000);
    let double = |any: bool, value: &f64| any | (value.to_bits() >> 52 & 0x7ff == 0x7ff);
    match register {
        Register::F32(register) => !warp.f32[register as usize].iter().fold(false, single),
        Register::F64(register) => !warp.f64[register as usize].iter().fold(false, double),
        Register::Int(_) | Register::Mask(_) => true,
    }
}

/// Whether a lane of a register is finite; what is no float is.
pub(super) fn finite(warp: &Warp, register: Register, lane: usize) -> bool {
    match register {
        Register::F32(register) => warp.f32[register as usize][lane].is_finite(),
        Register::F64(register) => warp.f64[register as usize][lane].is_finite(),
        Register::Int(_) | Register::Mask(_) => true,
    }
}

/// For each lane of each register of floats the site that made it not finite; 0 for none. Empty where nobody looks.
#[derive(Clone, Debug, Default)]
pub(super) struct Origins {
    f32: Vec<[u32; LANES]>,
    f64: Vec<[u32; LANES]>,
    /// Whether there is any site among them: nothing is to be forgotten before.
    any: bool,
}

impl Origins {
    /// Of so many registers.
    pub(super) fn new(f32: u32, f64: u32) -> Origins {
        Origins { f32: vec![[0; LANES]; f32 as usize], f64: vec![[0; LANES]; f64 as usize], any: false }
    }

    /// Nothing has come of anything.
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

    /// A register takes what nobody here has made.
    pub(super) fn forget(&mut self, dst: Register) {
        if self.any
            && let Some(born) = self.of_mut(dst)
        {
            *born = [0; LANES];
        }
    }

    /// A lane of a register takes another one's.
    pub(super) fn copy(&mut self, dst: Register, src: Register, lane: usize) {
        let from = self.of(src).map_or(0, |born| born[lane]);
        if let Some(born) = self.of_mut(dst) {
            born[lane] = from;
        }
    }
}

/// Keeps in mind where what an instruction made of some registers comes from, where it is not finite.
pub(super) fn make(
    all: &mut Origins,
    warp: &Warp,
    dst: Register,
    from: &[Register],
    together: bool,
    site: u32,
) {
    let active = warp.active;
    if all_finite(warp, dst) && (!all.any || all.of(dst).is_none_or(|born| *born == [0; LANES])) {
        return;
    }
    all.any = true;
    for lane in each_lane(active) {
        let origin = if finite(warp, dst, lane) {
            0
        } else {
            // Of the lanes together any one's value may be in it.
            let lanes = if together { active } else { 1 << lane };
            let sources =
                || from.iter().flat_map(|register| each_lane(lanes).map(move |lane| (*register, lane)));
            let born = |(register, lane): (Register, usize)| all.of(register).map_or(0, |born| born[lane]);
            let infinite = |(register, lane): &(Register, usize)| !finite(warp, *register, *lane);
            let other = sources().find(|(register, lane)| nan(warp, *register, *lane));
            match other {
                Some(other) => born(other),
                // A NaN of infinities comes of what made those, or is made here.
                None if nan(warp, dst, lane) => {
                    sources().filter(infinite).map(born).find(|born| *born != 0).unwrap_or(site)
                }
                None => sources().find(infinite).map_or(site, born),
            }
        };
        if let Some(born) = all.of_mut(dst) {
            born[lane] = origin;
        }
    }
}
