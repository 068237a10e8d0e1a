//! Errors of a refused launch. Each names the argument, the numbers and a remedy.

use std::fmt;

/// Why a launch is refused. Nothing has run.
///
/// ```
/// # use layout_compiler::{BindError, Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let checked = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[10, 10], strides: &[10, 1], address: 0, len: 100 };
/// let error = checked.plan().bind(&[x], None).unwrap_err();
/// assert_eq!(error, BindError::Rank { argument: "x".into(), expected: 1, found: 2 });
/// assert_eq!(error.to_string(), "tensor `x` has rank 1 in the kernel and rank 2 here");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindError {
    /// The number of arguments differs.
    Count {
        /// How many the kernel takes.
        expected: usize,
        /// How many were given.
        found: usize,
    },
    /// An argument is of another kind or element type.
    Type {
        /// The argument.
        argument: String,
        /// What the kernel takes.
        expected: String,
        /// What was given.
        found: String,
    },
    /// The number of dimensions differs.
    Rank {
        /// The argument.
        argument: String,
        /// The rank that the kernel takes.
        expected: usize,
        /// The rank given.
        found: usize,
    },
    /// A dimension is not the number that the kernel has, or not the one another tensor gave.
    Extent {
        /// The argument.
        argument: String,
        /// The mode.
        mode: usize,
        /// Its extent.
        found: usize,
        /// What it had to be.
        expected: i64,
        /// The dimension's name and the argument that gave the other value, where there is one.
        dim: Option<(String, String)>,
    },
    /// An extent is not what its expression gives.
    Computed {
        /// The argument.
        argument: String,
        /// The mode.
        mode: usize,
        /// Its extent.
        found: usize,
        /// The expression.
        extent: String,
        /// Its value; `None` where it has none, beyond 64 bits.
        expected: Option<i64>,
    },
    /// A stride is not the one of the layout that the kernel takes.
    Stride {
        /// The argument.
        argument: String,
        /// The mode.
        mode: usize,
        /// The stride.
        found: usize,
        /// What it had to be.
        expected: usize,
        /// The layout's name.
        layout: &'static str,
    },
    /// A tensor's layout reaches past the end of its storage.
    Span {
        /// The argument.
        argument: String,
        /// Elements that the layout reaches.
        needed: u64,
        /// Elements that are there.
        found: u64,
    },
    /// Two elements of a written tensor share an address.
    Overlap {
        /// The argument.
        argument: String,
    },
    /// A `require` does not hold.
    Require {
        /// Its text.
        condition: String,
        /// The values in it.
        values: String,
    },
    /// The attribute has no `grid`, none follows from the body, and the launch gave none.
    NoGrid {
        /// Why none follows, and the way out.
        why: String,
    },
    /// The attribute or the body has a `grid`, and the launch gave one too.
    GridTwice,
    /// The grid is larger than a GPU takes.
    Grid {
        /// The axis.
        axis: usize,
        /// The blocks asked for.
        found: i64,
        /// The most.
        most: i64,
    },
    /// The grid is no whole number of clusters.
    Cluster {
        /// The axis.
        axis: usize,
        /// The blocks asked for.
        found: i64,
        /// Blocks of a cluster along it.
        cluster: u32,
    },
    /// TMA cannot address a tensor.
    Map {
        /// The argument.
        argument: String,
        /// What it cannot do.
        reason: String,
    },
    /// A dimension or a span is beyond 2⁴⁸.
    TooLarge {
        /// The argument.
        argument: String,
    },
    /// An argument of type `usize` or `isize` is beyond 2⁴⁸, which no index of a kernel is.
    IndexTooLarge {
        /// The argument.
        argument: String,
        /// Its value.
        value: i64,
    },
    /// The tensors do not keep a promise of this variant: pick another.
    Promise(ViolatedPromise),
}

/// Which promise is not kept.
///
/// ```
/// # use layout_compiler::{BindError, ViolatedPromise, Elem, LaunchArgument, ParamSet, ParamValue, Promises, compile};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let narrow = compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?;
/// let n = 1 << 32;
/// let x = LaunchArgument::Tensor { elem: Elem::F32, shape: &[n], strides: &[1], address: 0, len: n };
/// assert_eq!(narrow.plan().bind(&[x], None), Err(BindError::Promise(ViolatedPromise::Narrow)));
/// let wide = compile(&double::DEFINITION.kernel()?, &set, Promises { narrow: false, ..Promises::USUAL })?;
/// assert!(wide.plan().bind(&[x], None).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViolatedPromise {
    /// A dimension or span is beyond [`NARROW_LIMIT`](super::params::NARROW_LIMIT).
    Narrow,
    /// A dimension or an argument that the kernel divides by is 0: the variant that is not narrow looks at each divisor.
    Divisor,
    /// An address is no multiple of 16.
    Aligned,
    /// A condition of `variant_if` is false.
    VariantIf,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindError::Count { expected, found } => {
                write!(f, "the kernel takes {expected} arguments, {found} were given")
            }
            BindError::Type { argument, expected, found } => {
                write!(f, "argument `{argument}` is {expected}, {found} was given")
            }
            BindError::Rank { argument, expected, found } => {
                write!(f, "tensor `{argument}` has rank {expected} in the kernel and rank {found} here")
            }
            BindError::Extent { argument, mode, found, expected, dim } => match dim {
                Some((dim, other)) => write!(
                    f,
                    "tensor `{argument}` has extent {found} in mode {mode}, but `{dim}` is {expected} in tensor `{other}`"
                ),
                None => write!(
                    f,
                    "tensor `{argument}` has extent {found} in mode {mode}, the kernel is for {expected}"
                ),
            },
            BindError::Computed { argument, mode, found, extent, expected } => match expected {
                Some(expected) => write!(
                    f,
                    "tensor `{argument}` has extent {found} in mode {mode}, the kernel's `{extent}` is {expected}"
                ),
                None => write!(f, "`{extent}` of tensor `{argument}` in mode {mode} is beyond 64 bits"),
            },
            BindError::Stride { argument, mode, found, expected, layout } => write!(
                f,
                "tensor `{argument}` has stride {found} in mode {mode}, `{layout}` needs {expected}; \
                 take {} in the kernel, or make the tensor compact",
                wider(layout)
            ),
            BindError::Span { argument, needed, found } => {
                write!(f, "tensor `{argument}` reaches {needed} elements and its storage has {found}")
            }
            BindError::Overlap { argument } => {
                write!(
                    f,
                    "tensor `{argument}` is written and two of its elements may share an address: each stride must be beyond all that the modes of smaller strides reach"
                )
            }
            BindError::Require { condition, values } => {
                write!(f, "`require({condition})` does not hold: {values}")
            }
            BindError::NoGrid { why } => {
                write!(f, "the kernel has no `grid`, and none follows from its body{why}")
            }
            BindError::GridTwice => write!(
                f,
                "the kernel has a `grid` of its own, in its attribute or from its body; leave `LaunchConfig::grid` out, or write `block` and no `grid`"
            ),
            BindError::Grid { axis, found: i64::MAX, .. } => write!(
                f,
                "the grid along axis {axis} is no number for these extents: its entry divides by zero, or is beyond 63 bits"
            ),
            BindError::Grid { axis, found, most } => {
                write!(f, "the grid has {found} blocks along axis {axis}, a GPU takes at most {most}")
            }
            BindError::Cluster { axis, found, cluster } => write!(
                f,
                "the grid has {found} blocks along axis {axis}, which are no whole clusters of {cluster}; round it up, \
                 `blocks.div_ceil({cluster}) * {cluster}`, and let the blocks beyond the tensor do nothing"
            ),
            BindError::Map { argument, reason } => write!(
                f,
                "TMA cannot address tensor `{argument}`: {reason}; pad the rows of the tensor, or take a \
                 kernel that reaches it without TMA"
            ),
            BindError::IndexTooLarge { argument, value } => write!(
                f,
                "the argument `{argument}` is {value}{}; an index is from -2^48 to 2^48, 281474976710656: pass larger numbers as `u64` or \
                 `i64`",
                if *value == i64::MAX { " or more" } else { "" }
            ),
            BindError::TooLarge { argument } => write!(f, "tensor `{argument}` is beyond 2^48 elements"),
            BindError::Promise(broken) => write!(f, "the variant's promise does not hold: {broken:?}"),
        }
    }
}

/// The layouts that take more strides than this one.
fn wider(layout: &str) -> &'static str {
    match layout {
        "RowMajor" | "ColMajor" => "`Pitched`, `Contiguous` or `Strided`",
        _ => "`Strided`",
    }
}

impl std::error::Error for BindError {}
