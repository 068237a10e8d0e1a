//! Identifiers of the emitted text; no other module makes one.
//!
//! | what | pattern |
//! |---|---|
//! | variable, place, argument, dimension | the user's name |
//! | the same, if the name is in use at the declaration | `name_2`, `name_3`, … |
//! | a name with the prefix of a CUDA macro or of a wrapper | `v_name` |
//! | a kernel with a name that NVRTC declares | `name_kernel` |
//! | stride of a mode | `a_stride_0` |
//! | `thread_idx.x`, `block_idx.x`, `block_dim.x`, `grid_dim.x` | `thread_x`, `block_x`, `block_dim_x`, `grid_dim_x` |
//! | the warpgroup, in a kernel of warpgroups | `warp_group` |
//! | bound of a loop that changes in the loop | `k_end`, `k_start` |
//! | dynamic shared memory | `shared_memory` |
//! | L2's policy of a hint | `evict_first` |
//! | counter of a barrier of the grid | `grid_arrived` |
//! | record of a failed assertion | `failure` |
//!
//! Invariant: the names that are visible at one point are distinct. No name is a word of C++ or CUDA or the name of a
//! helper, and none contains `__` or begins with an underscore and a capital (both are reserved in C++).

use super::device;
use super::types::small_floats;
use crate::index::VarId;
use crate::ir::Special;
use crate::math::{Math, Spelling};
use crate::program::{Hint, PlaceId};
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// What has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name {
    /// A variable.
    Variable(VarId),
    /// A place that is no argument.
    Place(PlaceId),
    /// An argument.
    Argument(u32),
    /// A tensor map.
    Map(u32),
    /// The counter of blocks at a barrier of the grid.
    GridCounter,
    /// The record of a failed assertion.
    Failure,
    /// A dimension.
    Dim(u32),
    /// The stride of an argument's mode.
    Stride(u32, u32),
    /// A copy of one of CUDA's index registers.
    Special(Special, u32),
    /// The warpgroup of the thread, where warpgroups multiply.
    WarpGroup,
    /// L2's policy of a hint.
    Policy(Hint),
}

/// The names given so far, by scope.
#[derive(Debug)]
pub(super) struct Names {
    given: HashMap<Name, String>,
    scopes: Vec<Vec<String>>,
    /// The functions that the text calls.
    called: HashSet<String>,
}

impl Names {
    /// No name given, in a text without elementwise words.
    #[cfg(test)]
    pub(super) fn new() -> Names {
        Names::beside([])
    }

    /// No name given, in a text with these elementwise words: a variable would hide the function.
    pub(super) fn beside(words: impl IntoIterator<Item = Math>) -> Names {
        let called = words.into_iter().flat_map(spelled).collect();
        Names { given: HashMap::new(), scopes: vec![Vec::new()], called }
    }

    /// Names declared from here to [`Names::leave`] are free again afterwards.
    pub(super) fn enter(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Ends the innermost scope.
    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Gives `what` a name like `wanted` that nothing visible has.
    pub(super) fn declare(&mut self, what: Name, wanted: &str) -> String {
        let name = self.fresh(wanted);
        self.given.insert(what, name.clone());
        name
    }

    /// Gives `what` the name of something else.
    pub(super) fn alias(&mut self, what: Name, of: Name) {
        if let Some(name) = self.given.get(&of).cloned() {
            self.given.insert(what, name);
        }
    }

    /// A name like `wanted` that nothing visible has, of something that is not asked for again.
    pub(super) fn fresh(&mut self, wanted: &str) -> String {
        let stem = sanitise(wanted);
        let mut name = stem.clone();
        let mut number = 2;
        while is_reserved(&name)
            || self.called.contains(&name)
            || self.scopes.iter().flatten().any(|taken| *taken == name)
        {
            name = format!("{}_{number}", stem.trim_end_matches('_'));
            number += 1;
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(name.clone());
        }
        name
    }

    /// The name that `what` was given last.
    pub(super) fn get(&self, what: Name) -> Option<&str> {
        self.given.get(&what).map(String::as_str)
    }
}

/// The name of the CUDA function: `wanted` where C++ allows it, and where NVRTC declares nothing of that name. A kernel is
/// `extern "C"`, so it would be one more definition of what NVRTC declares.
pub(super) fn entry(wanted: &str) -> String {
    let name = Names::beside(Math::ALL).fresh(wanted);
    if is_declared(&name) { format!("{name}_kernel") } else { name }
}

/// The name of CUDA's own register.
pub(super) fn register(special: Special, axis: u32) -> String {
    let base = match special {
        Special::ThreadIdx => "threadIdx",
        Special::BlockIdx => "blockIdx",
        Special::BlockDim => "blockDim",
        Special::GridDim => "gridDim",
    };
    format!("{base}.{}", axis_name(axis))
}

/// The name wanted for a copy of the register.
pub(super) fn special(special: Special, axis: u32) -> String {
    let base = match special {
        Special::ThreadIdx => "thread",
        Special::BlockIdx => "block",
        Special::BlockDim => "block_dim",
        Special::GridDim => "grid_dim",
    };
    format!("{base}_{}", axis_name(axis))
}

/// The name wanted for a stride.
pub(super) fn stride(argument: &str, mode: u32) -> String {
    format!("{argument}_stride_{mode}")
}

fn axis_name(axis: u32) -> &'static str {
    match axis {
        0 => "x",
        1 => "y",
        _ => "z",
    }
}

/// A legal identifier as near to `wanted` as C++ allows.
fn sanitise(wanted: &str) -> String {
    let wanted = wanted.strip_prefix("r#").unwrap_or(wanted);
    let mut name = String::with_capacity(wanted.len());
    for c in wanted.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if c == '_' {
            if !name.ends_with('_') {
                name.push('_');
            }
        } else {
            name.push_str(&format!("u{:x}", u32::from(c)));
        }
    }
    let rest = name.strip_prefix('_').unwrap_or("");
    if rest.starts_with(|c: char| c.is_ascii_uppercase()) {
        name.remove(0);
    }
    if name.is_empty() || name == "_" || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, 'v');
    }
    // No end of a name takes it out of a reserved family.
    if FAMILIES.iter().any(|family| name.starts_with(family)) {
        name.insert_str(0, "v_");
    }
    name
}

/// How reserved names begin: wrappers that are made for their numbers, macros of CUDA's headers.
const FAMILIES: [&str; 4] = ["wgmma_m64", "tcgen05_", "CUDART", "NV_"];

fn is_reserved(name: &str) -> bool {
    small_floats().any(|(typedef, _)| typedef == name)
        || FUNCTIONS.contains(name)
        || [CPP, CUDA].iter().any(|words| words.split(' ').any(|word| word == name))
}

/// Words of C++20, and names that a C++ compiler treats as its own.
const CPP: &str = "\
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t \
    char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr \
    constinit continue decltype default delete do double dynamic_cast else enum explicit export extern \
    false final float for friend goto if inline int long main mutable namespace new noexcept not not_eq \
    nullptr operator or or_eq override private protected public register reinterpret_cast requires \
    restrict return short signed sizeof static static_assert static_cast std struct switch template this \
    thread_local throw true try typedef typeid typename typeof union unsigned using virtual void \
    volatile wchar_t while xor xor_eq NULL";

/// Names of CUDA that the text uses or that a declaration would hide.
const CUDA: &str = "\
    threadIdx blockIdx blockDim gridDim warpSize min max abs fabs fabsf fmin fminf fmax fmaxf fmod fmodf \
    sqrt sqrtf exp expf exp2 exp2f log logf tanh tanhf fma fmaf round_tf32 wrapping_abs TensorMap float2 float4 double2 int2 int4 uint2 \
    uint4 longlong2 ushort2 dim3 uint3 clock clock64 printf malloc free memcpy memset assert trap size_t \
    ptrdiff_t";

/// Whether NVRTC declares the name: CUDA's functions, types and constants are recognised by how they begin, C's types by how they
/// end, functions of numbers by their name for f64, from which that for f32 follows.
fn is_declared(name: &str) -> bool {
    let double = name.strip_suffix('f').unwrap_or(name);
    DECLARED_PREFIXES.split(' ').any(|prefix| name.starts_with(prefix))
        || name.ends_with("_t")
        || [name, double].iter().any(|name| DECLARED.split(' ').any(|word| word == *name))
}

/// How names begin that NVRTC declares.
const DECLARED_PREFIXES: &str = "cuda CU NV_ make_ va_ cyl_bessel_";

/// Functions and other names that NVRTC declares in the global namespace. Source: CUDA math API reference, C++ standard
/// `<cmath>`, `<cstdlib>`; `tests/names.rs` tries each. Of a kernel `A7` NVRTC 13.0.88 ends by a segmentation fault.
const DECLARED: &str = "\
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc erfcinv erfcx erfinv exp exp10 exp2 \
    expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb isfinite isinf isnan j0 j1 jn ldexp lgamma llrint \
    llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward norm norm3d norm4d normcdf \
    normcdfinv pow rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln scalbn signbit sin sincos \
    sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn \
    abs labs llabs llmax llmin max min ullmax ullmin umax umin \
    alloca assert clock clock64 free malloc memcmp memcpy memmove memset printf puts vprintf trap \
    A7 libraryPropertyType dim3 warpSize WARP_SZ MAJOR_VERSION MINOR_VERSION PATCH_LEVEL";

/// Functions of the files in `device/`, but for those that an elementwise word is spelled with.
static FUNCTIONS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let words: HashSet<String> = Math::ALL.into_iter().flat_map(spelled).collect();
    device::names().filter(|name| !words.contains(*name)).collect()
});

/// The functions that a word is spelled with.
fn spelled(word: Math) -> Vec<String> {
    let (floats, integers) = word.spelling();
    let names = [floats, integers].into_iter().flat_map(|spelling| match spelling {
        Spelling::Libm(name) => vec![name.to_owned(), format!("{name}f")],
        Spelling::Cuda(name) | Spelling::Device(name) | Spelling::Template(name) | Spelling::Bits(name) => {
            vec![name.to_owned()]
        }
        Spelling::None | Spelling::ToBits | Spelling::FromBits => vec![],
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_legal_and_near_to_the_users() {
        let rows = [
            ("row", "row"),
            ("r#for", "for_2"),
            ("double", "double_2"),
            ("a__b", "a_b"),
            ("_Upper", "Upper"),
            ("_lower", "_lower"),
            ("grün", "grufcn"),
            ("_", "v_"),
            ("2d", "v2d"),
            ("min", "min_2"),
            ("copy_async_16", "copy_async_16_2"),
            ("x_", "x_"),
            ("wgmma_m64n8k16_bf16", "v_wgmma_m64n8k16_bf16"),
            ("CUDART_CB", "v_CUDART_CB"),
            ("NV_IF_TARGET", "v_NV_IF_TARGET"),
        ];
        for (wanted, name) in rows {
            assert_eq!(Names::new().fresh(wanted), name);
        }
    }

    #[test]
    fn a_doubled_name_gets_a_number_and_a_closed_scope_frees_its_names() {
        let mut names = Names::new();
        assert_eq!(names.fresh("k"), "k");
        names.enter();
        assert_eq!(names.fresh("k"), "k_2");
        assert_eq!(names.fresh("k"), "k_3");
        assert_eq!(names.fresh("k_"), "k_");
        assert_eq!(names.fresh("k_"), "k_4");
        names.leave();
        assert_eq!(names.fresh("k"), "k_2");
        assert_eq!(names.fresh("k_2"), "k_2_2");
    }

    #[test]
    fn functions_that_the_text_calls_are_reserved() {
        for name in ["copy_async_16", "wrapping_add", "TensorMap", "threadIdx", "__dp4a_is_free"] {
            assert_eq!(is_reserved(name), name != "__dp4a_is_free", "{name}");
        }
        assert_eq!(Names::new().fresh("round"), "round");
        assert_eq!(Names::beside([Math::Round]).fresh("round"), "round_2");
        assert_eq!(Names::beside([Math::Round]).fresh("roundf"), "roundf_2");
        let rows = [
            ("clamp", "clamp_2"),
            ("sum", "sum"),
            ("norm", "norm_kernel"),
            ("normf", "normf_kernel"),
            ("norm_B32", "norm_B32"),
            ("make_float4", "make_float4_kernel"),
            ("cudaMalloc", "cudaMalloc_kernel"),
            ("clock_t", "clock_t_kernel"),
            ("CUDART_CB", "v_CUDART_CB"),
        ];
        for (wanted, name) in rows {
            assert_eq!(entry(wanted), name);
        }
    }
}
