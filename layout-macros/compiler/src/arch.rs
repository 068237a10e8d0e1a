//! GPU architectures: the targets of compilation and the features that words require.
//!
//! Law: `name.parse::<Arch>()` returns the architecture that displays as `name`; any other text is an error.

use super::elem::Elem;
use super::wire::wire;
use std::fmt;
use std::str::FromStr;

wire! {
    /// What of a device's features the code may use.
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
    /// use layout_compiler::Arch;
    /// let arch: Arch = "sm_90a".parse()?;
    /// assert_eq!((arch, arch.number, arch.to_string()), (Arch::SM_90A, 90, "sm_90a".to_string()));
    /// # Ok::<(), layout_compiler::ArchError>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct Arch {
        /// Ten times the major compute capability, plus the minor one.
        pub number: u32,
        /// What of its features the code may use.
        pub features: Features,
    }
}

/// What a multiprocessor of an architecture holds, and a block of it.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Ten times the major compute capability, plus the minor one.
    number: u32,
    /// Threads of a multiprocessor.
    threads: u32,
    /// Blocks of a multiprocessor.
    blocks: u32,
    /// Shared memory of a multiprocessor, KiB. A block may have all of it but one KiB, on sm_75 all.
    shared_kib: u32,
}

/// The architectures that NVRTC of CUDA 13 compiles for (CUDA C++ Programming Guide 13.0, "Compute Capabilities"; of 8.8, which
/// it leaves out, the least of its major number).
const TABLE: [Limits; 12] = {
    const fn row(number: u32, threads: u32, blocks: u32, shared_kib: u32) -> Limits {
        Limits { number, threads, blocks, shared_kib }
    }
    [
        row(75, 1024, 16, 64),
        row(80, 2048, 32, 164),
        row(86, 1536, 16, 100),
        row(87, 1536, 16, 164),
        row(88, 1536, 16, 100),
        row(89, 1536, 24, 100),
        row(90, 2048, 32, 228),
        row(100, 2048, 32, 228),
        row(103, 2048, 32, 228),
        row(110, 1536, 24, 228),
        row(120, 1536, 24, 100),
        row(121, 1536, 24, 100),
    ]
};

/// What kernels use and some architecture of the table lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// `cp.async`.
    AsyncCopy,
    /// `mma.sync` of f16 with `k` of 16, of bf16, TF32, f64, bytes and bits.
    Mma,
    /// Conversions to bf16.
    Bfloat16,
    /// Conversions of 8-bit floats, and `mma.sync` of them.
    Float8,
    /// `mma.sync` of f64 with 16 rows.
    TallF64Mma,
    /// `createpolicy` and accesses with a policy of L2.
    CachePolicy,
    /// mbarriers that count bytes.
    Mbarrier,
    /// `cp.async.bulk`, tensor maps and the fences of their proxy.
    Tma,
    /// Clusters of blocks.
    Clusters,
    /// `elect.sync`.
    ElectOne,
    /// `stmatrix`.
    StoreMatrix,
    /// `setmaxnreg`.
    SetMaxRegisters,
    /// `wgmma`.
    Wgmma,
    /// `mma.sync` with block scales, and of e2m1.
    ScaledMma,
    /// Tensor memory and `tcgen05`.
    Tcgen05,
    /// Its products of integers.
    Tcgen05Integers,
}

impl Feature {
    /// Every feature.
    #[cfg(test)]
    pub const ALL: [Feature; 16] = [
        Feature::AsyncCopy,
        Feature::Mma,
        Feature::Bfloat16,
        Feature::Float8,
        Feature::TallF64Mma,
        Feature::CachePolicy,
        Feature::Mbarrier,
        Feature::Tma,
        Feature::Clusters,
        Feature::ElectOne,
        Feature::StoreMatrix,
        Feature::SetMaxRegisters,
        Feature::Wgmma,
        Feature::ScaledMma,
        Feature::Tcgen05,
        Feature::Tcgen05Integers,
    ];

    /// The architectures that have it: these, and each that [includes](Arch::includes) one of them (PTX ISA 9.0, the target
    /// notes of the instructions).
    const fn owners(self) -> &'static [Arch] {
        match self {
            Feature::AsyncCopy | Feature::Mma | Feature::Bfloat16 | Feature::CachePolicy => &[Arch::SM_80],
            Feature::Float8 => &[Arch::SM_89],
            Feature::TallF64Mma
            | Feature::Mbarrier
            | Feature::Tma
            | Feature::Clusters
            | Feature::ElectOne
            | Feature::StoreMatrix => &[Arch::SM_90],
            Feature::SetMaxRegisters => {
                const { &[Arch::SM_90A, Arch::SM_100F, Arch::family(110), Arch::family(120)] }
            }
            Feature::Wgmma => &[Arch::SM_90A],
            Feature::ScaledMma => const { &[Arch::family(120)] },
            // Not sm_120's: consumer Blackwell has no tensor memory.
            Feature::Tcgen05 => const { &[Arch::SM_100F, Arch::family(110)] },
            // Of no family: a B300 has none.
            Feature::Tcgen05Integers => const { &[Arch::of(10, 0), Arch::of(11, 0)] },
        }
    }

    /// The architectures that have it, in words: `sm_90 or later`, `sm_90a`, `sm_90a or sm_100f`.
    pub fn owned_by(self) -> String {
        let one = |arch: &Arch| match arch.features {
            Features::Common => format!("{arch} or later"),
            Features::Family | Features::Specific => arch.to_string(),
        };
        self.owners().iter().map(one).collect::<Vec<_>>().join(" or ")
    }

    /// What an element type needs, where some architecture lacks it.
    pub const fn of(elem: Elem) -> Option<Feature> {
        if matches!(elem, Elem::E4m3 | Elem::E5m2) {
            Some(Feature::Float8)
        } else if matches!(elem, Elem::Bf16) {
            Some(Feature::Bfloat16)
        } else {
            None
        }
    }

    /// The first architecture that has it.
    pub const fn first(self) -> Arch {
        self.owners()[0]
    }
}

impl Arch {
    /// Turing, as of a T4: the first that NVRTC compiles for.
    pub const SM_75: Arch = Arch { number: 75, features: Features::Common };
    /// Ampere, as of an A100.
    pub const SM_80: Arch = Arch { number: 80, features: Features::Common };
    /// Ada.
    pub const SM_89: Arch = Arch { number: 89, features: Features::Common };
    /// Hopper, without what no later device has.
    pub const SM_90: Arch = Arch { number: 90, features: Features::Common };
    /// What the words that a kernel without `arch` may use need.
    pub const BASELINE: Arch = Arch::SM_80;
    /// Hopper, as of an H100 or an H200.
    pub const SM_90A: Arch = Arch { number: 90, features: Features::Specific };
    /// Blackwell of the data centre, as of a B200 or a B300, without what only one of them has.
    pub const SM_100F: Arch = Arch::family(100);

    /// Its number in the attribute's expressions: `arch = if TMA { "sm_90a" } else { "sm_80" }` is an expression of such numbers.
    pub fn code(self) -> u64 {
        u64::from(self.number) * 4 + self.features as u64
    }

    /// The architecture of such a number, if it is known.
    pub fn from_code(code: u64) -> Option<Arch> {
        let features = *[Features::Common, Features::Family, Features::Specific].get((code % 4) as usize)?;
        Some(Arch { number: u32::try_from(code / 4).ok()?, features }).filter(|arch| arch.is_known())
    }

    /// The architecture whose code uses all that a device of this compute capability has: `sm_90a` for (9, 0), whose
    /// warpgroup instructions no other device has, `sm_80` for (8, 0).
    pub const fn of(major: u32, minor: u32) -> Arch {
        let features = if major >= 9 { Features::Specific } else { Features::Common };
        Arch { number: major.saturating_mul(10).saturating_add(minor), features }
    }

    /// The common features of a family's first member and those that its later ones have, too.
    const fn family(number: u32) -> Arch {
        Arch { number, features: Features::Family }
    }

    /// Whether CUDA 13 has it: the numbers of its devices, with `a` from sm_90 on, with `f` from sm_100 on.
    pub fn is_known(self) -> bool {
        let first = match self.features {
            Features::Common => 0,
            Features::Family => 100,
            Features::Specific => 90,
        };
        self.number >= first && self.limits().is_some()
    }

    /// Its row of the table.
    fn limits(self) -> Option<&'static Limits> {
        TABLE.iter().find(|row| row.number == self.number)
    }

    /// The most blocks of a cluster: 16 on sm_90 and sm_100 and their kin, which is more than the 8 that CUDA calls
    /// portable; 8 from sm_110 on; 1 where there are no clusters.
    pub const fn max_cluster(self) -> u32 {
        match self.number {
            ..90 => 1,
            90..110 => 16,
            110.. => 8,
        }
    }

    /// The known ones, in words.
    pub fn list() -> String {
        let names = TABLE.map(|row| format!("sm_{}", row.number));
        format!("{}, from sm_90 on also with `a`, from sm_100 on with `f`", names.join(", "))
    }

    /// Whether a device of this architecture runs code for another one: for the very same, for an earlier one's common
    /// features, and for what an earlier member of the same family has.
    pub const fn includes(self, other: Arch) -> bool {
        let later = self.number >= other.number;
        match other.features {
            Features::Common => later,
            Features::Family => {
                let family = self.number / 10 == other.number / 10;
                later && family && !matches!(self.features, Features::Common)
            }
            Features::Specific => self.number == other.number && matches!(self.features, Features::Specific),
        }
    }

    /// Whether code for it may use a feature.
    pub fn has(self, feature: Feature) -> bool {
        feature.owners().iter().any(|owner| self.includes(*owner))
    }

    /// Shared memory that a block may have, bytes; of an architecture beyond the table, the least.
    pub fn shared_bytes(self) -> u64 {
        let kib = self.limits().map_or(64, |row| if row.number == 75 { 64 } else { row.shared_kib - 1 });
        u64::from(kib) * 1024
    }

    /// Threads and blocks that a multiprocessor may have at once; of an architecture beyond the table, the least.
    pub fn of_a_multiprocessor(self) -> [u32; 2] {
        self.limits().map_or([1024, 16], |row| [row.threads, row.blocks])
    }

    /// The most shared memory that a block has anywhere, bytes (sm_90).
    pub const MOST_SHARED_BYTES: u64 = 232_448;
    /// The most threads and blocks that a multiprocessor has anywhere.
    pub const MOST_OF_A_MULTIPROCESSOR: [u32; 2] = [2048, 32];
}

/// A text that names no architecture.
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
        for row in TABLE {
            for features in [Features::Common, Features::Family, Features::Specific] {
                let arch = Arch { number: row.number, features };
                assert_eq!(arch.to_string().parse(), Ok(arch));
                assert!(arch.shared_bytes() <= Arch::MOST_SHARED_BYTES);
                let [threads, blocks] = arch.of_a_multiprocessor();
                assert!(threads <= Arch::MOST_OF_A_MULTIPROCESSOR[0]);
                assert!(blocks <= Arch::MOST_OF_A_MULTIPROCESSOR[1] && threads.is_multiple_of(32));
            }
        }
    }

    fn arch(name: &str) -> Arch {
        name.parse().expect("an architecture")
    }

    #[test]
    fn an_architecture_includes_itself_and_what_later_ones_keep() {
        let known = TABLE.iter().flat_map(|row| {
            let all = [Features::Common, Features::Family, Features::Specific];
            all.map(|features| Arch { number: row.number, features })
        });
        let known: Vec<Arch> = known.filter(|arch| arch.is_known()).collect();
        assert!(known.len() > 20);
        for a in &known {
            assert!(a.includes(*a), "{a}");
            for b in &known {
                let both = a.includes(*b) && b.includes(*a);
                assert!(!both || a == b, "{a} {b}");
                for c in &known {
                    assert!(!(a.includes(*b) && b.includes(*c)) || a.includes(*c), "{a} {b} {c}");
                }
            }
        }
        for (own, other, wanted) in [
            ("sm_100", "sm_90", true),
            ("sm_90a", "sm_89", true),
            ("sm_100a", "sm_90a", false),
            ("sm_90", "sm_90a", false),
            ("sm_100a", "sm_100f", true),
            ("sm_103f", "sm_100f", true),
            ("sm_100f", "sm_103f", false),
            ("sm_100f", "sm_100a", false),
            ("sm_103", "sm_100f", false),
            ("sm_120a", "sm_100f", false),
            ("sm_121f", "sm_120f", true),
        ] {
            assert_eq!(arch(own).includes(arch(other)), wanted, "{own} {other}");
        }
    }

    /// Which architectures have a feature, each feature by its own row.
    #[test]
    fn features_are_had_by_families_and_by_suffixes() {
        for (feature, with, without) in [
            (Feature::AsyncCopy, "sm_80 sm_86 sm_90a sm_121", "sm_75"),
            (Feature::Mma, "sm_80 sm_120f", "sm_75"),
            (Feature::Bfloat16, "sm_80 sm_90a", "sm_75"),
            (Feature::Float8, "sm_89 sm_90 sm_120a", "sm_80 sm_86 sm_87 sm_88"),
            (Feature::TallF64Mma, "sm_90 sm_90a sm_100", "sm_80 sm_89"),
            (Feature::Tma, "sm_90 sm_100f sm_121a", "sm_89"),
            (
                Feature::SetMaxRegisters,
                "sm_90a sm_100f sm_100a sm_103f sm_110a sm_121a",
                "sm_90 sm_100 sm_120 sm_89",
            ),
            (Feature::Wgmma, "sm_90a", "sm_90 sm_100a sm_100f sm_120a"),
            (Feature::ScaledMma, "sm_120a sm_120f sm_121a sm_121f", "sm_120 sm_121 sm_90a sm_100a sm_110f"),
            (
                Feature::Tcgen05,
                "sm_100a sm_100f sm_103a sm_103f sm_110a sm_110f",
                "sm_100 sm_103 sm_110 sm_90a sm_120 sm_120a sm_120f sm_121a",
            ),
            (Feature::Tcgen05Integers, "sm_100a sm_110a", "sm_100f sm_103a sm_103f sm_110f sm_90a sm_120a"),
        ] {
            with.split(' ').for_each(|name| assert!(arch(name).has(feature), "{name} {feature:?}"));
            without.split(' ').for_each(|name| assert!(!arch(name).has(feature), "{name} {feature:?}"));
        }
        for feature in Feature::ALL {
            assert!(feature.first().has(feature) && feature.first().is_known(), "{feature:?}");
            assert!(!arch("sm_75").has(feature), "{feature:?} is a feature that some lack");
        }
    }

    /// Bytes of a block, threads and blocks of a multiprocessor.
    #[test]
    fn what_a_block_and_a_multiprocessor_hold() {
        for (name, bytes, threads, blocks) in [
            ("sm_75", 65_536, 1024, 16),
            ("sm_80", 166_912, 2048, 32),
            ("sm_86", 101_376, 1536, 16),
            ("sm_87", 166_912, 1536, 16),
            ("sm_89", 101_376, 1536, 24),
            ("sm_90a", 232_448, 2048, 32),
            ("sm_103f", 232_448, 2048, 32),
            ("sm_120", 101_376, 1536, 24),
            ("sm_999", 65_536, 1024, 16),
        ] {
            assert_eq!(arch(name).shared_bytes(), bytes, "{name}");
            assert_eq!(arch(name).of_a_multiprocessor(), [threads, blocks], "{name}");
        }
    }
}
