//! One kernel through the compiler and the simulator, every variant that its tensors allow, against the interpreter.

use crate::generate::{Family, plain_tree, tree};
use crate::host;
use crate::interpret::{Outcome, Stuck, interpret};
use crate::reduce::reduce;
use crate::tree::{Extent, Kernel, TensorLayout};
use crate::types::Type;
use crate::value::Value;
use crate::{plain, print};
use layout_compiler::{self as core, Checked, Constant, LaunchArgument, Promises};
use layout_simulator::{FindingKind, Options, SimulatorArgument, simulate};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// A kernel of a seed.
#[derive(Clone, Debug)]
pub struct Trial {
    pub(crate) kernel: Kernel,
}

/// What became of a kernel.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Every variant gave the reference's bits: so many launches.
    Passed(usize),
    /// The compiler refuses it, in these words; or nobody waits for its end.
    Refused(String),
    /// The interpreter could not run it: the generator's mistake.
    Stuck(String),
    /// Something is wrong.
    Failed(Failure),
}

impl From<Stuck> for Verdict {
    fn from(stuck: Stuck) -> Self {
        match stuck {
            Stuck::TooLong => Verdict::Refused("it takes too many steps".to_owned()),
            Stuck::Wrong(why) => Verdict::Stuck(why),
        }
    }
}

/// What is wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// In a word or two; the reducer keeps it.
    pub kind: String,
    /// Where, what was expected and what was found.
    pub detail: String,
}

impl Failure {
    pub(crate) fn new(kind: impl Into<String>, detail: impl Into<String>) -> Failure {
        Failure { kind: kind.into(), detail: detail.into() }
    }
}

/// A tensor as memory: what a launch is given.
#[derive(Clone)]
pub(crate) struct Stored {
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
    pub bytes: Vec<u8>,
    pub elem: Type,
}

/// What is between the elements of a tensor with gaps; it must stay. Also a byte of `bool`s.
const GAP: u8 = 1;

impl Stored {
    pub fn of(kernel: &Kernel, tensor: usize) -> Stored {
        let own = &kernel.tensors[tensor];
        let shape: Vec<usize> = kernel.shape(tensor).iter().map(|extent| *extent as usize).collect();
        let mut strides = vec![1; shape.len()];
        match own.layout {
            TensorLayout::ColMajor => {
                (1..shape.len()).for_each(|m| strides[m] = strides[m - 1] * shape[m - 1])
            }
            _ => (1..shape.len()).rev().for_each(|m| strides[m - 1] = strides[m] * shape[m]),
        }
        match own.layout {
            TensorLayout::Pitched(gap) => strides[0] += gap as usize,
            TensorLayout::Strided(by) => strides.iter_mut().for_each(|stride| *stride *= by as usize),
            TensorLayout::RowMajor | TensorLayout::ColMajor => {}
        }
        let span: usize =
            1 + shape.iter().zip(&strides).map(|(extent, stride)| (extent - 1) * stride).sum::<usize>();
        let bytes = vec![GAP; span * own.elem.bytes()];
        let mut stored = Stored { shape, strides, bytes, elem: own.elem };
        stored.put(&own.data);
        stored
    }

    /// The number of each element in memory, the last coordinate fastest.
    fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.shape.iter().product()).map(|number: usize| {
            let (mut rest, mut offset) = (number, 0);
            for (extent, stride) in self.shape.iter().zip(&self.strides).rev() {
                offset += rest % extent * stride;
                rest /= extent;
            }
            offset
        })
    }

    pub fn put(&mut self, values: &[Value]) {
        let size = self.elem.bytes();
        let offsets: Vec<usize> = self.offsets().collect();
        for (offset, value) in offsets.into_iter().zip(values) {
            self.bytes[offset * size..(offset + 1) * size].copy_from_slice(&value.bytes(self.elem));
        }
    }

    /// The first element, or gap, in which memory is not what it should be.
    pub fn difference(&self, wanted: &[Value]) -> Option<String> {
        let size = self.elem.bytes();
        let mut gaps = self.bytes.clone();
        for (number, (offset, wanted)) in self.offsets().zip(wanted).enumerate() {
            let place = offset * size..(offset + 1) * size;
            gaps[place.clone()].fill(GAP);
            let found = Value::of_bytes(self.elem, &self.bytes[place]);
            if !found.same(*wanted) {
                let (mut rest, mut at) = (number, vec![]);
                for extent in self.shape.iter().rev() {
                    at.insert(0, rest % extent);
                    rest /= extent;
                }
                return Some(format!("{at:?}: expected {wanted:?}, found {found:?}"));
            }
        }
        gaps.iter().any(|byte| *byte != GAP).then(|| "something was written between the elements".to_owned())
    }

    /// The elements, the last coordinate fastest.
    pub fn values(&self) -> Vec<Value> {
        let size = self.elem.bytes();
        let each =
            |offset: usize| Value::of_bytes(self.elem, &self.bytes[offset * size..(offset + 1) * size]);
        self.offsets().map(each).collect()
    }

    /// The address of the first element, as far as alignment goes.
    pub fn address(&self, aligned: bool) -> u64 {
        if aligned { 0 } else { self.elem.bytes() as u64 }
    }
}

/// A compiled variant.
pub(crate) struct Compiled {
    pub promises: Promises,
    pub checked: Checked,
}

/// The kernel of a seed. Where an access of it is outside of an extent that the build has, all extents are the launch's: there it is masked.
fn of_launch(family: Family, seed: u64) -> Kernel {
    let mut kernel = tree(family, seed);
    if (Trial { kernel: kernel.clone() }).is_outside() {
        kernel.dims.iter_mut().for_each(|(_, bound)| *bound = false);
        for extent in kernel.tensors.iter_mut().flat_map(|tensor| &mut tensor.extents) {
            if let Extent::Static(size) = *extent {
                *extent = Extent::Dim(kernel.dims.len());
                kernel.dims.push((size, false));
            }
        }
    }
    kernel
}

impl Trial {
    /// The kernel of a seed.
    pub fn new(family: Family, seed: u64) -> Trial {
        Trial { kernel: of_launch(family, seed) }
    }

    /// Whether an access is outside of an extent that the build has: an error of the build, where others are masked.
    fn is_outside(&self) -> bool {
        let Ok(kernel) = layout_text::kernel(&self.text()) else { return false };
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        let compiled = core::compile(&kernel, &set, Promises::default());
        compiled.is_err_and(|errors| errors.to_string().contains("whose extent there is"))
    }

    /// A kernel whose text rustc reads, but for its tensors.
    pub fn plain(family: Family, seed: u64) -> Trial {
        Trial { kernel: plain_tree(family, seed) }
    }

    /// The same kernel in words that a GPU computes bit for bit as the simulator does: its products are not contracted.
    pub fn opaque(family: Family, seed: u64) -> Trial {
        let mut kernel = of_launch(family, seed);
        kernel.opaque = true;
        kernel.scalars.extend([Type::F32, Type::F64].map(|ty| (ty, Value::Float(-0.0))));
        Trial { kernel }
    }

    /// Its text.
    pub fn text(&self) -> String {
        print::kernel(&self.kernel)
    }

    /// The kernel made small, so that it fails in the same way in at most so many trials.
    pub fn reduced(&self, failure: &Failure, most: usize) -> Trial {
        let mut fails = |kernel: &Kernel| match (Trial { kernel: kernel.clone() }).simulated() {
            Verdict::Failed(found) => found.kind == failure.kind,
            Verdict::Passed(_) | Verdict::Refused(_) | Verdict::Stuck(_) => false,
        };
        Trial { kernel: reduce(&self.kernel, most, &mut fails) }
    }

    /// The kernel made small while a condition holds.
    pub fn reduced_while(&self, most: usize, condition: &mut dyn FnMut(&Trial) -> bool) -> Trial {
        let mut fails = |kernel: &Kernel| condition(&Trial { kernel: kernel.clone() });
        Trial { kernel: reduce(&self.kernel, most, &mut fails) }
    }

    /// The same where the host's C++ shows the failure.
    pub fn reduced_on_host(&self, compiler: &Path, failure: &Failure, most: usize) -> Trial {
        let mut fails = |kernel: &Kernel| {
            let trial = Trial { kernel: kernel.clone() };
            let sound = matches!(trial.simulated(), Verdict::Passed(_));
            let found = |trial| on_host(compiler, &[(0, trial)]).unwrap_or_default();
            sound && found(trial).first().is_some_and(|(_, found)| found.kind == failure.kind)
        };
        Trial { kernel: reduce(&self.kernel, most, &mut fails) }
    }

    /// Whether a kernel is called wrong where it is: the launches of this one against the reference of one whose every literal
    /// that is stored is another.
    pub fn against_another_reference(&self) -> Verdict {
        let mut other = self.kernel.clone();
        crate::walk::walk(&mut other, &mut |node| {
            if let crate::walk::Node::Expr(crate::tree::Expr::Literal { ty, value, .. }) = node
                && ty.is_float()
            {
                *value = Value::Float(value.float() + 1.0);
            }
            false
        });
        match (interpret(&other), self.variants()) {
            (Ok(outcome), Ok(variants)) => self.each(&variants, &outcome),
            (Err(stuck), _) => stuck.into(),
            (_, Err(verdict)) => verdict,
        }
    }

    /// What a launch is given, in words.
    pub fn arguments(&self) -> String {
        let kernel = &self.kernel;
        let mut out = vec![];
        for (number, (extent, bound)) in kernel.dims.iter().enumerate() {
            out.extend((!bound).then(|| format!("D{number} = {extent}")));
        }
        for (number, (ty, value)) in kernel.scalars.iter().enumerate() {
            out.push(format!("s{number}: {} = {value:?}", ty.name()));
        }
        for (number, tensor) in kernel.tensors.iter().enumerate() {
            let few: Vec<String> = tensor.data.iter().take(16).map(|value| format!("{value:?}")).collect();
            let more = if tensor.data.len() > 16 { ", .." } else { "" };
            let aligned = if tensor.aligned { "" } else { ", not aligned" };
            out.push(format!("t{number} = [{}{more}] {:?}{aligned}", few.join(", "), tensor.layout));
        }
        out.join("\n")
    }

    /// Every variant, or why there is none.
    pub(crate) fn variants(&self) -> Result<Vec<Compiled>, Verdict> {
        let text = self.text();
        let kernel = match layout_text::kernel(&text) {
            Ok(kernel) => kernel,
            Err(errors) => return Err(Verdict::Refused(errors[0].message.clone())),
        };
        let set = kernel.parameter_sets().into_iter().next().unwrap_or_default();
        let (mut variants, mut refused) = (vec![], vec![]);
        // In the order of a launch; behind them the one that a launch has no use for.
        let mut order = vec![];
        for narrow in [true, false] {
            order.extend((0..kernel.variant_if.len() as u32).map(|number| (Some(number), narrow, true)));
            order.extend([(None, narrow, true), (None, narrow, false)]);
        }
        order.extend((0..kernel.variant_if.len() as u32).map(|number| (Some(number), false, false)));
        for (variant_if, narrow, aligned) in order {
            let promises = Promises { narrow, aligned, variant_if };
            match core::compile(&kernel, &set, promises) {
                Ok(checked) => variants.push(Compiled { promises, checked }),
                Err(errors) => refused.push((promises, errors.as_slice()[0].to_string())),
            }
        }
        match refused.into_iter().next() {
            None => Ok(variants),
            Some((_, message)) if variants.is_empty() => Err(Verdict::Refused(message)),
            Some((promises, message)) => {
                let detail = format!("variant `{}`: {message}", promises.suffix());
                Err(Verdict::Failed(Failure::new("a variant is refused, another is not", detail)))
            }
        }
    }

    /// The kernel on the simulator against the interpreter.
    pub fn simulated(&self) -> Verdict {
        let run = || match interpret(&self.kernel) {
            Err(stuck) => stuck.into(),
            Ok(outcome) => match self.variants() {
                Err(verdict) => verdict,
                Ok(variants) => self.each(&variants, &outcome),
            },
        };
        let result = catch_unwind(AssertUnwindSafe(run));
        result.unwrap_or_else(|_| {
            Verdict::Failed(Failure::new("panic", "the compiler or the simulator panicked"))
        })
    }

    fn each(&self, variants: &[Compiled], outcome: &Outcome) -> Verdict {
        let mut launches = 0;
        for variant in variants {
            match self.launch(variant, outcome.outside || outcome.left_64_bits) {
                Err(failure) => return Verdict::Failed(failure),
                Ok(None) => {}
                Ok(Some(tensors)) => {
                    launches += 1;
                    if outcome.left_64_bits {
                        continue;
                    }
                    for (number, (stored, wanted)) in tensors.iter().zip(&outcome.tensors).enumerate() {
                        if let Some(difference) = stored.difference(wanted) {
                            let suffix = variant.promises.suffix();
                            let detail = format!("variant `{suffix}`: t{number}{difference}");
                            return Verdict::Failed(Failure::new(
                                "simulator differs from the reference",
                                detail,
                            ));
                        }
                    }
                }
            }
        }
        if launches == 0 {
            return Verdict::Failed(Failure::new("no variant fits", "every variant's promises are broken"));
        }
        Verdict::Passed(launches)
    }

    /// Runs a variant on the simulator; `None` where its promises do not hold for these tensors. An access outside of a
    /// tensor is reported by the simulator and touches nothing; where the reference has one, too (`outside`), that is right.
    pub(crate) fn launch(&self, variant: &Compiled, outside: bool) -> Result<Option<Vec<Stored>>, Failure> {
        let count = self.kernel.tensors.len();
        let mut tensors: Vec<Stored> = (0..count).map(|tensor| Stored::of(&self.kernel, tensor)).collect();
        let Some(bound) = self.bound(variant, &tensors)? else { return Ok(None) };
        let mut arguments: Vec<SimulatorArgument<'_>> = tensors
            .iter_mut()
            .zip(&self.kernel.tensors)
            .map(|(stored, tensor)| match tensor.mutable {
                true => SimulatorArgument::Write(&mut stored.bytes),
                false => SimulatorArgument::Read(&stored.bytes),
            })
            .collect();
        arguments.extend(self.kernel.scalars.iter().map(|(ty, value)| match ty.elem() {
            Some(elem) => SimulatorArgument::Scalar(Constant { elem, bits: bits(*ty, *value) }),
            None => SimulatorArgument::Index(value.int() as i64),
        }));
        let options = Options { counters: false, max_steps: 1 << 22, threads: 1, ..Options::default() };
        let report = simulate(&variant.checked, &bound, &mut arguments, &options)
            .map_err(|error| Failure::new("the simulator refuses it", error.to_string()))?;
        use FindingKind::{IndexOverflow, OutOfBounds};
        let mistakes = report
            .findings
            .iter()
            .filter(|found| !outside || !matches!(found.kind, OutOfBounds | IndexOverflow));
        match mistakes.into_iter().next() {
            None => Ok(Some(tensors)),
            Some(finding) => {
                let detail = format!("variant `{}`: {finding}", variant.promises.suffix());
                Err(Failure::new(format!("finding: {}", finding.kind.name()), detail))
            }
        }
    }

    pub(crate) fn bound(
        &self,
        variant: &Compiled,
        tensors: &[Stored],
    ) -> Result<Option<core::Bound>, Failure> {
        let mut arguments: Vec<LaunchArgument<'_>> = tensors
            .iter()
            .zip(&self.kernel.tensors)
            .filter_map(|(stored, tensor)| {
                Some(LaunchArgument::Tensor {
                    elem: stored.elem.elem()?,
                    shape: &stored.shape,
                    strides: &stored.strides,
                    address: stored.address(tensor.aligned),
                    len: stored.bytes.len() / stored.elem.bytes(),
                })
            })
            .collect();
        arguments.extend(self.kernel.scalars.iter().map(|(ty, value)| match ty.elem() {
            Some(elem) => LaunchArgument::Scalar(elem, bits(*ty, *value)),
            None => LaunchArgument::Index(value.int() as i64),
        }));
        match variant.checked.plan().bind(&arguments, None) {
            Ok(bound) => Ok(Some(bound)),
            Err(core::BindError::Promise(_)) => Ok(None),
            Err(error) => Err(Failure::new("a launch is refused", error.to_string())),
        }
    }
}

/// The bits of a scalar argument.
pub(crate) fn bits(ty: Type, value: Value) -> u64 {
    let mut word = [0; 8];
    let bytes = value.bytes(ty);
    word[..bytes.len()].copy_from_slice(&bytes);
    u64::from_le_bytes(word)
}

/// Kernels as C++ of the host against the simulator: for each seed whether it failed, and how.
///
/// # Errors
/// Where the host's compiler refuses a text or the program does not run.
pub fn on_host(compiler: &Path, trials: &[(u64, Trial)]) -> Result<Vec<(u64, Failure)>, String> {
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let (mut launches, mut seeds) = (vec![], vec![]);
    for (seed, trial) in trials {
        let own = trial.host_launches();
        seeds.extend(own.iter().map(|_| *seed));
        launches.extend(own);
    }
    let found = host::run(compiler, &folder.0, &launches)?;
    let mut failed: Vec<(u64, Failure)> =
        seeds.into_iter().zip(found).filter_map(|(seed, found)| Some((seed, found?))).collect();
    failed.dedup_by_key(|(seed, _)| *seed);
    Ok(failed)
}

/// Kernels as plain Rust against the interpreter: which seeds differ and how, and how many kernels ran.
///
/// # Errors
/// Where rustc is not there or refuses the text.
pub fn on_rustc(trials: &[(u64, Trial)]) -> Result<(Vec<(u64, Failure)>, usize), String> {
    let folder = Folder::new().map_err(|error| error.to_string())?;
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    plain::run(Path::new(&rustc), &folder.0, trials)
}

/// A folder that goes with its owner.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("layout-differential-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind is in the folder for such things.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
