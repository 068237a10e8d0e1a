//! Architectures: what a kernel is compiled for, and what a word needs.
//!
//! Law: `name.parse::<Arch>()` gives what is written as `name`, and nothing else does.

use super::wire::wire;
use std::fmt;
use std::str::FromStr;

wire! {
    /// What of a device's features the code may use.
    ///
    /// ```
    /// use layout_core::kernel::{Arch, Features};
    /// assert_eq!("sm_90a".parse::<Arch>().map(|arch| arch.features), Ok(Features::Specific));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Features {
        /// Those that all later devices have too: `sm_90`.
        Common,
        /// Those of the family: `sm_100f`.
        Family,
        /// All that this device has: `sm_90a`.
        Specific,
    }
}
wire! {
    /// An architecture, as `sm_90a` names it.
    ///
    /// ```
    /// use layout_core::kernel::Arch;
    /// let arch: Arch = "sm_90a".parse()?;
    /// assert_eq!((arch, arch.number, arch.to_string()), (Arch::SM_90A, 90, "sm_90a".to_string()));
    /// # Ok::<(), layout_core::kernel::ArchError>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Arch {
        /// Ten times the major compute capability, plus the minor one.
        pub number: u32,
        /// What of its features the code may use.
        pub features: Features,
    }
}

/// The numbers that NVRTC of CUDA 12 and 13 compiles for.
const KNOWN: [u32; 18] = [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 120, 121];

impl Arch {
    /// Ampere, as of an A100.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Arch::SM_80.to_string(), "sm_80");
    /// ```
    pub const SM_80: Arch = Arch { number: 80, features: Features::Common };
    /// Ada.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Arch::SM_89.to_string(), "sm_89");
    /// ```
    pub const SM_89: Arch = Arch { number: 89, features: Features::Common };
    /// Hopper, without what no later device has.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Arch::SM_90.to_string(), "sm_90");
    /// ```
    pub const SM_90: Arch = Arch { number: 90, features: Features::Common };
    /// Hopper, as of an H100 or an H200.
    ///
    /// ```
    /// assert_eq!(layout_core::kernel::Arch::SM_90A.to_string(), "sm_90a");
    /// ```
    pub const SM_90A: Arch = Arch { number: 90, features: Features::Specific };

    /// The architecture whose code uses all that a device of this compute capability has: `sm_90a` for (9, 0), whose
    /// warpgroup instructions no other device has, `sm_80` for (8, 0).
    ///
    /// ```
    /// use layout_core::kernel::Arch;
    /// assert_eq!((Arch::of(9, 0), Arch::of(8, 0)), (Arch::SM_90A, Arch::SM_80));
    /// ```
    pub const fn of(major: u32, minor: u32) -> Arch {
        let features = if major >= 9 { Features::Specific } else { Features::Common };
        Arch { number: major.saturating_mul(10).saturating_add(minor), features }
    }

    /// Whether CUDA 12 or 13 has it: the numbers of their devices, with `a` from sm_90 on, with `f` from sm_100 on.
    ///
    /// ```
    /// use layout_core::kernel::Arch;
    /// let known = |name: &str| name.parse().is_ok_and(Arch::is_known);
    /// assert!(known("sm_86") && known("sm_100f") && !known("sm_80a") && !known("sm_999"));
    /// ```
    pub fn is_known(self) -> bool {
        let first = match self.features {
            Features::Common => 0,
            Features::Family => 100,
            Features::Specific => 90,
        };
        self.number >= first && KNOWN.contains(&self.number)
    }

    /// The most blocks of a cluster: 16 on sm_90 and sm_100 and their kin, which is more than the 8 that CUDA calls
    /// portable; 8 from sm_110 on; 1 where there are no clusters.
    ///
    /// ```
    /// use layout_core::kernel::Arch;
    /// assert_eq!((Arch::SM_80.max_cluster(), Arch::SM_90A.max_cluster()), (1, 16));
    /// ```
    pub const fn max_cluster(self) -> u32 {
        match self.number {
            ..90 => 1,
            90..110 => 16,
            110.. => 8,
        }
    }

    /// The known ones, in words.
    ///
    /// ```
    /// assert!(layout_core::kernel::Arch::list().starts_with("sm_50, sm_52, "));
    /// ```
    pub fn list() -> String {
        let names = KNOWN.map(|number| format!("sm_{number}"));
        format!("{}, from sm_90 on also with `a`, from sm_100 on with `f`", names.join(", "))
    }

    /// Whether code for it may use what needs `needed`: of a specific one only that very one will do.
    pub(crate) fn has(self, needed: Arch) -> bool {
        match needed.features {
            Features::Common => self.number >= needed.number,
            Features::Family | Features::Specific => self == needed,
        }
    }

    /// Shared memory that a block may have, bytes (CUDA C++ Programming Guide 13.0, "Compute Capabilities").
    pub(crate) const fn shared_bytes(self) -> u64 {
        match self.number {
            75 => 65_536,
            80 | 87 => 166_912,
            86 | 89 | 120 | 121 => 101_376,
            _ => Arch::MOST_SHARED_BYTES,
        }
    }

    /// The most that any has (sm_90).
    pub(crate) const MOST_SHARED_BYTES: u64 = 232_448;
}

/// A text that names no architecture.
///
/// ```
/// use layout_core::kernel::Arch;
/// let error = "compute_90".parse::<Arch>().expect_err("a virtual one has no code");
/// assert_eq!(error.to_string(), "`compute_90` is no architecture such as `sm_80` or `sm_90a`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchError {
    /// The text.
    pub text: String,
}

impl fmt::Display for ArchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no architecture such as `sm_80` or `sm_90a`", self.text)
    }
}

impl std::error::Error for ArchError {}

impl FromStr for Arch {
    type Err = ArchError;

    fn from_str(text: &str) -> Result<Arch, ArchError> {
        let parsed = text.strip_prefix("sm_").and_then(|rest| {
            let (digits, features) = match (rest.strip_suffix('a'), rest.strip_suffix('f')) {
                (Some(digits), _) => (digits, Features::Specific),
                (_, Some(digits)) => (digits, Features::Family),
                (None, None) => (rest, Features::Common),
            };
            Some(Arch { number: digits.parse().ok()?, features })
        });
        // `sm_+90` and `sm_090` are read as numbers, too.
        parsed.filter(|arch| arch.to_string() == text).ok_or_else(|| ArchError { text: text.to_owned() })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.features {
            Features::Common => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(f, "sm_{}{letter}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_architectures_are_one_to_one() {
        for text in
            ["", "sm_", "sm_a", "sm_90aa", "sm_90ab", "sm_+90", "sm_090", "compute_90", "sm_99999999999"]
        {
            assert_eq!(text.parse::<Arch>(), Err(ArchError { text: text.to_owned() }));
        }
        for number in KNOWN {
            for features in [Features::Common, Features::Family, Features::Specific] {
                let arch = Arch { number, features };
                assert_eq!(arch.to_string().parse(), Ok(arch));
                assert!(arch.shared_bytes() <= Arch::MOST_SHARED_BYTES);
            }
        }
    }

    #[test]
    fn later_ones_have_what_earlier_ones_have_but_what_is_specific() {
        let arch = |name: &str| name.parse::<Arch>().expect("an architecture");
        assert!(
            arch("sm_100").has(Arch::SM_90)
                && Arch::SM_90A.has(Arch::SM_89)
                && Arch::SM_90A.has(Arch::SM_90A)
        );
        assert!(
            !arch("sm_100a").has(Arch::SM_90A)
                && !Arch::SM_90.has(Arch::SM_90A)
                && !Arch::SM_80.has(Arch::SM_89)
        );
    }
}
