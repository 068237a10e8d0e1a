//! The accesses of a variant: for each access the bytes that it moves at once, the instruction, and the optimisations
//! that it missed.
//!
//! Law: an explanation is made from [`Checked`] alone, as the CUDA text is. So it describes the code, and `deny` in
//! the attribute refuses with the same words.

mod arithmetic;
mod views;
mod walk;
mod words;

use super::certify::redundant_barriers;
use super::check::Checked;
use super::ir::RemarkKind;
use super::origin::{Errors, KernelError, Origin, Position};
pub use super::program::Transport;
use super::program::{Access, MissedOptimization, Reason, Space};
use std::fmt;
pub use views::{ExplainedView, views};
use words::Words;

/// What a variant does to global and shared memory.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, Promises, compile, explain};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let explanation = explain(&compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?);
/// assert_eq!(explanation.entry, "double_B16");
/// assert!(explanation.to_string().contains("block [16], grid [N.div_ceil(16)]"), "{explanation}");
/// assert!(explanation.to_string().contains("4 bytes"), "{explanation}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The variant: the name of its CUDA function.
    pub entry: String,
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of the grid along each axis; `None` where the launch must say.
    pub grid: Option<[String; 3]>,
    /// The accesses, in the order of the kernel's lines; those of one line that are alike are one.
    pub accesses: Vec<Explained>,
    /// Arithmetic of floats that takes a branch, where a shorter form is less exact; each line once.
    pub arithmetic: Vec<Costly>,
    /// Barriers without which, all left out, no two accesses of this variant race either, at any size.
    pub redundant_barriers: Vec<Position>,
}

/// An access of a variant.
///
/// ```
/// # use layout_compiler::{ParamSet, ParamValue, Promises, compile, explain};
/// # mod shared { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/double.rs.in")); } use shared::double;
/// # let set = ParamSet(vec![("B".into(), ParamValue::Int(16))]);
/// let explanation = explain(&compile(&double::DEFINITION.kernel()?, &set, Promises::USUAL)?);
/// let read = explanation.accesses.iter().find(|access| !access.writes).expect("it reads");
/// assert_eq!((read.tensor.as_str(), read.bytes), ("x", 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Where in the kernel's Rust file.
    pub position: Position,
    /// The tensor's name.
    pub tensor: String,
    /// Whether it is in shared memory, and so the block's own.
    pub shared: bool,
    /// Whether it is written.
    pub writes: bool,
    /// What moves the bytes.
    pub means: Transport,
    /// Bytes that a thread moves at once. For a box of TMA, the whole box; for the matrix units 0, which says nothing.
    pub bytes: u32,
    /// What it lost.
    pub degraded: Vec<Remark>,
    origin: Origin,
}

impl Explained {
    /// Whether another access differs from this one only in coordinates.
    fn like(&self, other: &Explained) -> bool {
        let lost = |of: &Explained| of.degraded.iter().map(|lost| lost.what).collect::<Vec<_>>();
        (self.origin, self.means, self.writes, self.bytes)
            == (other.origin, other.means, other.writes, other.bytes)
            && self.tensor == other.tensor
            && lost(self) == lost(other)
    }
}

/// Arithmetic that takes a branch.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, compile, explain};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn shared_out(x: &mut LayoutTensor<f32, RowMajor<32>>, parts: f32) {
///     x[[thread_idx.x]] = x[[thread_idx.x]] / parts;
/// }
/// let explanation = explain(&compile(&shared_out::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?);
/// assert!(explanation.arithmetic[0].what.starts_with("`/` of f32"), "{explanation}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Costly {
    /// Where in the kernel's Rust file.
    pub position: Position,
    /// What it is, and what it costs.
    pub what: String,
    /// The shorter form, and its error.
    pub help: String,
}

/// What an access lost, and why.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, compile, explain, RemarkKind};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [M])]
/// fn doubled<const M: usize, const K: usize>(x: &mut LayoutTensor<f32, RowMajor<M, K>>) {
///     let mut own = x.tile([1, 128], [block_idx.x, 0]).vectorize([1, 4]).distribute(row_major([1, 32]), thread_idx.x);
///     let values = own.to_local();
///     own.copy_from(&values);
/// }
/// let explanation = explain(&compile(&doubled::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?);
/// let lost = &explanation.accesses[0].degraded[0];
/// assert_eq!(lost.what, RemarkKind::Narrowed);
/// assert!(lost.reason.contains("`K * block_idx.x` is not known to be a multiple of 4"), "{explanation}");
/// assert_eq!(lost.help, "promise it: `require(K % 4 == 0)`, or `variant_if(K % 4 == 0)`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// What was lost.
    pub what: RemarkKind,
    /// Why, with the numbers.
    pub reason: String,
    /// The way out.
    pub help: String,
}

/// Explains the accesses of a variant.
///
/// ```
/// # use layout_compiler::{ParamSet, Promises, compile, explain};
/// # use layout_cuda::tiled_kernel;
/// #[tiled_kernel(block = [32], grid = [1])]
/// fn copied<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
///     let mut own = y.tile([4], [thread_idx.x]);
///     own.copy_from(&x.tile([4], [thread_idx.x]));
/// }
/// let explanation = explain(&compile(&copied::DEFINITION.kernel()?, &ParamSet::default(), Promises::USUAL)?);
/// println!("{explanation}");
/// assert_eq!(explanation.accesses.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain(checked: &Checked) -> Explanation {
    let at = |origin: Origin| checked.tables().positions.get(origin.0 as usize).copied().unwrap_or_default();
    let redundant_barriers = redundant_barriers(checked).into_iter().map(at).collect();
    Explanation { redundant_barriers, ..explain_accesses(checked) }
}

/// The same, without what takes proofs.
fn explain_accesses(checked: &Checked) -> Explanation {
    let words = Words::new(checked);
    let mut accesses: Vec<Explained> = Vec::new();
    walk::accesses(checked.body(), &mut |access, means, writes| {
        let place = checked.tables().place(access.place);
        let shared = match place.space {
            Space::Tensor { .. } | Space::Local => return,
            Space::Global(_) => false,
            Space::Shared { .. } | Space::Remote { .. } => true,
        };
        let bytes = match means {
            Transport::Tma | Transport::MatrixUnits => 0,
            _ => place.elem.bytes() * access.width,
        };
        let origin = access.origin;
        let position = checked.tables().positions.get(origin.0 as usize).copied().unwrap_or_default();
        let tensor = place.name.clone();
        let degraded = degraded(&words, access, shared, writes);
        let one = Explained { position, tensor, shared, writes, means, bytes, degraded, origin };
        if !accesses.iter().any(|known| known.like(&one)) {
            accesses.push(one);
        }
    });
    accesses.sort_by_key(|access| access.position);
    let grid = checked.plan().grid.as_ref();
    let grid = grid.map(|grid| grid.each_ref().map(|blocks| words.blocks(blocks)));
    let arithmetic = arithmetic::costly(checked);
    let (entry, block) = (checked.entry().to_owned(), checked.plan().block);
    Explanation { entry, block, grid, accesses, arithmetic, redundant_barriers: Vec::new() }
}

/// What an access lost. Of shared memory a condition over the thread's number alone is not counted as a mask: it comes from the
/// kernel's own shape.
fn degraded(words: &Words<'_>, access: &Access, shared: bool, writes: bool) -> Vec<Remark> {
    let MissedOptimization { narrowed, synchronous, guards, once } = &access.loss;
    let mut out = Vec::new();
    let elem = words.elem(access).bytes();
    let got = access.width * elem;
    let narrowed = narrowed.as_ref().filter(|(wanted, _)| *wanted > access.width || access.unaligned);
    if let Some((wanted, reason)) = narrowed {
        let (reason, help) = words.reason(reason);
        let reason = match (access.unaligned, writes) {
            (false, _) => format!("{got} {} at once where {} could: {reason}", moves(got), wanted * elem),
            (true, false) => format!("{got} bytes at any address take two loads where one could: {reason}"),
            (true, true) => format!("{got} bytes at any address are stored by words: {reason}"),
        };
        out.push(Remark { what: RemarkKind::Narrowed, reason, help });
    }
    if let Some(reason) = synchronous {
        let (mut text, mut help) = words.reason(reason);
        // So few bytes, because the vectors are narrower than they were asked for.
        if let (Reason::Bytes(_), Some((_, cause))) = (reason, narrowed) {
            let cause = words.reason(cause);
            text = format!("{text}: {}", cause.0);
            help = cause.1;
        }
        out.push(Remark { what: RemarkKind::Synchronous, reason: text, help });
    }
    let masks: Vec<_> =
        access.mask.iter().chain(guards).filter(|mask| !shared || words.depends(mask)).collect();
    if !masks.is_empty() {
        let (conditions, help) = words.mask(&masks);
        let tested = if *once { ", tested once for the whole tile" } else { "" };
        let reason = format!("{conditions} not proved{tested}");
        out.push(Remark { what: RemarkKind::Masked, reason, help });
    }
    if let Some((reason, help)) = words.wide(access) {
        out.push(Remark { what: RemarkKind::Wide, reason, help });
    }
    out
}

fn moves(bytes: u32) -> &'static str {
    if bytes == 1 { "byte moves" } else { "bytes move" }
}

/// Refuses a variant whose accesses lost what the kernel's `deny` names.
pub(super) fn refuse(checked: &Checked) -> Result<(), Errors> {
    let mut errors = Errors::new();
    if checked.denied().is_empty() {
        return Ok(());
    }
    for access in explain_accesses(checked).accesses {
        let Some(lost) = access.degraded.iter().find(|lost| checked.denies(lost.what, access.origin)) else {
            continue;
        };
        let message = format!("`{}` is {}: {}", access.tensor, lost.what, lost.reason);
        errors.push(KernelError { message, help: Some(lost.help.clone()), origin: access.origin });
    }
    errors.propagate(())
}

/// The axes up to the last that is not 1, as the attribute has them.
fn axes(of: [String; 3]) -> String {
    let last = of.iter().rposition(|count| count != "1").unwrap_or(0);
    format!("[{}]", of[..=last].join(", "))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.entry)?;
        let block = axes(self.block.map(|threads| threads.to_string()));
        let grid = self.grid.clone().map_or("by the launch".to_owned(), axes);
        writeln!(f, "  block {block}, grid {grid}")?;
        let width = self.accesses.iter().map(|access| access.tensor.len()).max().unwrap_or(0);
        for access in &self.accesses {
            let at = format!("{}:{}", access.position.line, access.position.column);
            let way = if access.writes { "write" } else { "read" };
            let space = if access.shared { "shared" } else { "global" };
            write!(f, "  {at:>8}  {:width$}  {space} {way:5}  ", access.tensor)?;
            match (access.bytes, access.means) {
                (0, means) => writeln!(f, "{means}")?,
                (bytes, Transport::Thread) => writeln!(f, "{bytes} bytes")?,
                (bytes, means) => writeln!(f, "{bytes} bytes, {means}")?,
            }
            for Remark { what, reason, help } in &access.degraded {
                writeln!(f, "            {what}: {reason}")?;
                writeln!(f, "            = help: {help}")?;
            }
        }
        for Costly { position, what, help } in &self.arithmetic {
            let at = format!("{}:{}", position.line, position.column);
            writeln!(f, "  {at:>8}  {what}")?;
            writeln!(f, "            = help: {help}")?;
        }
        for Position { line, column } in &self.redundant_barriers {
            let at = format!("{line}:{column}");
            writeln!(
                f,
                "  {at:>8}  this barrier is redundant: without those named so no two accesses of this variant race, at any size"
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Transport::Thread => "by the thread",
            Transport::Atomic => "atomic",
            Transport::CopyAsync => "asynchronous",
            Transport::Tma => "a box, by TMA",
            Transport::Matrix => "by matrices",
            Transport::MatrixUnits => "by the matrix units",
            Transport::RemoteShared => "to another block, asynchronous",
        })
    }
}
