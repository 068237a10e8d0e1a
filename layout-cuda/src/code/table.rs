//! All variants of some kernels, compiled: what each uses, as a table and as a test.
//!
//! Law: a row for each variant that a launch of a set of the attribute may take, and each architecture. Needs NVRTC, no GPU.

use std::fmt;

use layout_compiler::{Arch, Definition, Promises};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::functions::{on_simulator, texts_for};
use crate::launch_error::LaunchError;
use crate::nvrtc::{Resources, SlowPath};

/// One variant for one architecture.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Row {
    /// The CUDA function.
    pub entry: String,
    /// The kernel's Rust file.
    pub file: &'static str,
    /// What the variant relies on.
    pub promises: Promises,
    /// The architecture.
    pub arch: String,
    /// What it uses, as ptxas counted; nothing where NVRTC refused it.
    pub resources: Option<Resources>,
    /// What a launch would refuse.
    pub slow_paths: Vec<SlowPath>,
    /// NVRTC's words, where it refused the text.
    pub refused: Option<String>,
}

/// The rows of some kernels: made by [`check_all`].
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// By kernel, set, promises, architecture.
    pub rows: Vec<Row>,
}

/// What a variant may use: nothing in local memory and no slow path, unless said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    registers: u32,
    spills: u32,
    local: u32,
}

/// The architectures that a text is compiled for.
fn targets(needed: Option<Arch>, architectures: &[&str]) -> Vec<String> {
    let runs =
        |arch: &&&str| needed.is_none_or(|needed| arch.parse().is_ok_and(|own: Arch| own.includes(needed)));
    let own: Vec<String> = architectures.iter().filter(runs).map(|arch| (*arch).to_owned()).collect();
    if own.is_empty() { needed.iter().map(Arch::to_string).collect() } else { own }
}

/// Compiles every variant of these kernels: each set of the attribute, for all alignments, extents and conditions. A kernel is compiled
/// for all of `architectures` that include the one that it names, and for that one where none does.
///
/// ```
/// use layout_cuda::{code::{Budget, check_all}, tiled_kernel};
/// #[tiled_kernel(B = [64, 128], block = [B], grid = [N.div_ceil(B)])]
/// fn ones<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
///     x.tile([B], [block_idx.x])[[thread_idx.x]] = 1.0;
/// }
/// // Under `#[test]`: fails where a variant of a kernel spills, or takes more registers.
/// let table = check_all(&[&ones::DEFINITION], &["sm_80", "sm_90"])?;
/// table.assert(Budget::new().registers(32));
/// println!("{table}");
/// # assert!(table.rows.len() >= 4 && table.to_string().contains("ones_B64"));
/// # Ok::<(), layout_cuda::Error>(())
/// ```
///
/// # Errors
/// [`LaunchError`] for a kernel that cannot be made, [`NvrtcError`](crate::nvrtc::NvrtcError) where there is no NVRTC or it has no
/// such architecture. A text that NVRTC refuses is a row.
pub fn check_all(kernels: &[&'static Definition], architectures: &[&str]) -> Result<Table> {
    let (cache, mut rows) = (Cache::user(), Vec::new());
    for definition in kernels {
        let kernel = definition.kernel().map_err(|error| {
            Error::from(LaunchError::Embedded { kernel: definition.name.to_owned(), error })
        })?;
        for set in kernel.parameter_sets() {
            let usual = on_simulator().family(definition, Some(&set), &[])?;
            for number in 0..usual.candidates.len() {
                let needed = usual.checked(&usual.candidates[number])?.arch();
                for arch in targets(needed, architectures) {
                    let maker = arch.parse().map_or_else(|_| on_simulator(), texts_for);
                    let family = maker.family(definition, Some(&set), &[])?;
                    let candidate = &family.candidates[number];
                    let checked = family.checked(candidate)?;
                    let entry = layout_compiler::emit::entry_name(checked);
                    let mut row = Row {
                        entry,
                        file: definition.file,
                        promises: candidate.promises,
                        arch: arch.clone(),
                        resources: None,
                        slow_paths: Vec::new(),
                        refused: None,
                    };
                    match family.compile(checked, &arch, &cache) {
                        Ok(built) => {
                            let mut all = built.compiled.resources.into_iter();
                            row.resources = all.find(|resources| resources.entry == row.entry);
                            row.slow_paths = built.slow_paths;
                        }
                        Err(Error::Launch(LaunchError::Compile { log, .. })) => row.refused = Some(log),
                        Err(error) => return Err(error),
                    }
                    rows.push(row);
                }
            }
        }
    }
    Ok(Table { rows })
}

impl Budget {
    /// No spills, no local memory, no slow path; any number of registers.
    pub const fn new() -> Budget {
        Budget { registers: u32::MAX, spills: 0, local: 0 }
    }

    /// At most so many registers a thread.
    pub const fn registers(self, registers: u32) -> Budget {
        Budget { registers, ..self }
    }

    /// At most so many bytes of registers a thread stored to local memory for want of room.
    pub const fn spills(self, spills: u32) -> Budget {
        Budget { spills, ..self }
    }

    /// At most so many bytes a thread in local memory, those of spills among them.
    pub const fn local(self, local: u32) -> Budget {
        Budget { local, ..self }
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new()
    }
}

impl Row {
    /// What of a budget this variant exceeds.
    pub fn over(&self, budget: Budget) -> Vec<String> {
        let mut over = Vec::new();
        if let Some(log) = &self.refused {
            over.push(format!("NVRTC refused it: {}", log.trim_end()));
        }
        if let Some(used) = &self.resources {
            let (stores, local) = (used.spill_stores, used.stack);
            let allowed = budget.local.max(budget.spills);
            for (found, most, what) in [
                (used.registers, budget.registers, "registers a thread"),
                (stores, budget.spills, "bytes of spills a thread"),
                (local, allowed, "bytes of local memory a thread"),
            ] {
                if found > most {
                    over.push(format!("{found} {what}, the budget is {most}"));
                }
            }
        }
        let within = |path: &&SlowPath| {
            use crate::nvrtc::SlowReason;
            match path.reason {
                // Counted above.
                SlowReason::Spills { .. } | SlowReason::Stack { .. } => false,
                SlowReason::Warning { .. } => true,
            }
        };
        over.extend(self.slow_paths.iter().filter(within).map(|path| match path.rust_line {
            0 => path.reason.to_string(),
            line => format!("{}:{line}: {}", self.file, path.reason),
        }));
        over
    }
}

impl Table {
    /// What exceeds a budget, a line for each thing, with the variant and the architecture.
    pub fn over(&self, budget: Budget) -> Vec<String> {
        let one = |row: &Row| {
            let over = row.over(budget).into_iter();
            over.map(|what| format!("`{}` for {}: {what}", row.entry, row.arch)).collect::<Vec<_>>()
        };
        self.rows.iter().flat_map(one).collect()
    }

    /// For tests: every variant is within a budget.
    ///
    /// # Panics
    /// Where one is not, with each thing that exceeds it; where the table has no row.
    #[track_caller]
    pub fn assert(&self, budget: Budget) {
        assert!(!self.rows.is_empty(), "no variant was compiled: name kernels and architectures");
        let over = self.over(budget);
        assert!(
            over.is_empty(),
            "{} of {} variants:\n  {}\ntake smaller tiles or fewer threads, or say what is allowed: \
             `Budget::new().registers(..).spills(..).local(..)`",
            self.rows.iter().filter(|row| !row.over(budget).is_empty()).count(),
            self.rows.len(),
            over.join("\n  ")
        );
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.rows.iter().map(|row| row.entry.len()).max().unwrap_or(0).max("variant".len());
        write!(
            f,
            "{:width$}  {:8} {:>9} {:>6} {:>5}  slow paths",
            "variant", "arch", "registers", "spills", "local"
        )?;
        for row in &self.rows {
            write!(f, "\n{:width$}  {:8} ", row.entry, row.arch)?;
            match &row.resources {
                Some(used) => write!(f, "{:>9} {:>6} {:>5}", used.registers, used.spill_stores, used.stack)?,
                None => write!(f, "{:>9} {:>6} {:>5}", "-", "-", "-")?,
            }
            match (&row.refused, row.slow_paths.len()) {
                (Some(_), _) => write!(f, "  refused by NVRTC")?,
                (None, 0) => write!(f, "  -")?,
                (None, count) => write!(f, "  {count}")?,
            }
        }
        Ok(())
    }
}
