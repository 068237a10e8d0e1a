//! What a bundle is made of: kernels, parameter sets, architectures.
//!
//! Law: every launch of a kernel named by [`Recipe::kernel`] that uses a set of the attribute finds its code: the variants
//! for all alignments, extents and conditions are there.

use super::format::{self, Made};
use super::{Bundle, BundleError};
use crate::cache::Cache;
use crate::functions::{KernelInstance, on_simulator, texts_for};
use crate::nvrtc;
use layout_compiler::{Arch, Definition, Features, ParamSet};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// Which kernels, for which architectures.
#[derive(Clone, Debug)]
pub struct Recipe {
    architectures: Vec<Arch>,
    kernels: Vec<(&'static Definition, Option<ParamSet>)>,
    allow_slow_paths: bool,
}

/// What of a recipe a bundle does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stale {
    /// The CUDA function.
    pub entry: String,
    /// The architecture.
    pub arch: Arch,
    /// Whether the bundle has another text of this function.
    pub other_text: bool,
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = if self.other_text { "another text of it is there" } else { "it is not there" };
        write!(f, "`{}` for {}: {why}", self.entry, self.arch)
    }
}

/// One text to compile.
struct Text {
    family: Arc<KernelInstance>,
    candidate: usize,
    entry: String,
    text: String,
    flags: &'static [&'static str],
    arch: Option<Arch>,
}

impl Text {
    fn key(&self) -> u128 {
        format::key(&self.text, self.flags)
    }
}

impl Recipe {
    /// For these architectures, `sm_75` to `sm_121`. A kernel is compiled for all of them that include the one that it names, and
    /// for later devices as PTX of the lowest; `sm_90a` is included by itself alone.
    ///
    /// # Errors
    /// [`BundleError::Arch`]: a name that is no architecture.
    pub fn new(architectures: &[&str]) -> Result<Recipe, BundleError> {
        let architectures =
            architectures.iter().map(|name| name.parse()).collect::<Result<Vec<Arch>, _>>()?;
        Ok(Recipe { architectures, kernels: vec![], allow_slow_paths: false })
    }

    /// And this kernel, with every set of its attribute.
    pub fn kernel(mut self, definition: &'static Definition) -> Recipe {
        self.kernels.push((definition, None));
        self
    }

    /// And this kernel with this set, which the attribute need not list; what the set leaves out is the attribute's.
    pub fn set(mut self, definition: &'static Definition, set: ParamSet) -> Recipe {
        self.kernels.push((definition, Some(set)));
        self
    }

    /// And code with spills and other slow paths, which is refused elsewhere of kernels that ask for Hopper's units.
    pub fn allow_slow_paths(mut self) -> Recipe {
        self.allow_slow_paths = true;
        self
    }

    /// All texts, each once.
    fn texts(&self) -> Result<Vec<Text>, BundleError> {
        let (mut texts, mut seen) = (vec![], BTreeSet::new());
        for (definition, asked) in &self.kernels {
            let kernel = definition.kernel().map_err(|error| embedded(definition, error))?;
            // One that names no architecture is made for each that lacks what the others have.
            let below = self.architectures.iter().filter(|arch| !arch.includes(Arch::BASELINE));
            let below = below.filter(|_| kernel.arch.is_none()).map(|arch| texts_for(*arch));
            let makers: Vec<_> = std::iter::once(on_simulator()).chain(below).collect();
            let sets = asked.as_ref().map_or_else(|| kernel.parameter_sets(), |set| vec![set.clone()]);
            for (set, maker) in sets.iter().flat_map(|set| makers.iter().map(move |maker| (set, maker))) {
                let family = maker.family(definition, Some(set), &[])?;
                for candidate in 0..family.candidates.len() {
                    let text = text(&family, candidate)?;
                    if seen.insert((text.key(), family.arch.map(Arch::code))) {
                        texts.push(text);
                    }
                }
            }
        }
        Ok(texts)
    }

    /// The architectures of a text, and whether as PTX.
    fn targets(&self, text: &Text) -> Result<Vec<(Arch, bool)>, BundleError> {
        let runs = |arch: &&Arch| match text.family.arch {
            Some(own) => **arch == own,
            None => arch.includes(text.arch.unwrap_or(Arch::BASELINE)),
        };
        let own: Vec<Arch> = self.architectures.iter().filter(runs).copied().collect();
        match text.arch {
            Some(needed) if own.is_empty() => {
                return Err(BundleError::OtherArch { kernel: text.family.name().to_owned(), needed });
            }
            Some(Arch { features: Features::Family | Features::Specific, .. }) => {
                return Ok(own.into_iter().map(|arch| (arch, false)).collect());
            }
            _ => {}
        }
        let lowest = own.iter().map(|arch| arch.number).min();
        let ptx = lowest.map(|number| (Arch { number, features: Features::Common }, true));
        Ok(own.into_iter().map(|arch| (arch, false)).chain(ptx).collect())
    }

    /// Compiles everything, or finds it in the user's cache. Needs NVRTC, and neither a driver nor a GPU.
    ///
    /// # Errors
    /// [`BundleError::Kernel`]: a kernel that cannot be made, that NVRTC refuses or that takes slow paths, or no NVRTC.
    /// [`BundleError::OtherArch`]: a kernel that needs an architecture that is not named.
    pub fn build(&self) -> Result<Vec<u8>, BundleError> {
        let cache = Cache::user();
        let mut made = vec![];
        for text in self.texts()? {
            let candidate = &text.family.candidates[text.candidate];
            for (arch, ptx) in self.targets(&text)? {
                let target = arch.to_string();
                let (code, log) = if ptx {
                    let nvrtc = nvrtc::nvrtc().map_err(crate::Error::from)?;
                    let (ptx, log) =
                        nvrtc.ptx(&text.text, &target, text.flags).map_err(crate::Error::from)?;
                    (ptx.into_bytes(), log)
                } else {
                    let checked = text.family.checked(candidate)?;
                    let built = text.family.compile(checked, &target, &cache)?;
                    if !self.allow_slow_paths {
                        text.family.refuse_slow(&built.slow_paths)?;
                    }
                    (built.compiled.cubin, built.compiled.log)
                };
                made.push(Made { entry: text.entry.clone(), arch, ptx, key: text.key(), code, log });
            }
        }
        Ok(format::write(&compiler()?, &made))
    }

    /// Builds it into a file. In a `build.rs` the file belongs into `OUT_DIR`.
    ///
    /// # Errors
    /// As [`Recipe::build`]; [`BundleError::File`].
    pub fn write(&self, path: &Path) -> Result<(), BundleError> {
        let bytes = self.build()?;
        std::fs::write(path, bytes)
            .map_err(|error| BundleError::File { path: path.to_owned(), why: error.to_string() })
    }

    /// What a launch would miss in a bundle that was made before: of each text the architectures. Compiles nothing.
    ///
    /// # Errors
    /// A kernel that cannot be made.
    ///
    /// ```
    /// # use layout_cuda::{bundle::{Bundle, Recipe}, tiled_kernel};
    /// # #[tiled_kernel(block = [32], grid = [N.div_ceil(32)])]
    /// # fn ones<const N: usize>(x: &mut LayoutTensor<f32, RowMajor<N>>) {
    /// #     x.tile([32], [block_idx.x])[[thread_idx.x]] = 1.0;
    /// # }
    /// let recipe = Recipe::new(&["sm_80"])?.kernel(&ones::DEFINITION);
    /// let bundle = Bundle::read(recipe.build()?)?;
    /// assert!(recipe.stale(&bundle)?.is_empty());
    /// # Ok::<(), layout_cuda::bundle::BundleError>(())
    /// ```
    pub fn stale(&self, bundle: &Bundle) -> Result<Vec<Stale>, BundleError> {
        let mut stale = vec![];
        for text in self.texts()? {
            let other_text =
                bundle.entries().iter().any(|entry| entry.entry == text.entry && entry.key != text.key());
            for (arch, ptx) in self.targets(&text)? {
                let own =
                    |entry: &&super::Entry| (entry.key, entry.arch, entry.ptx) == (text.key(), arch, ptx);
                if !bundle.entries().iter().any(|entry| own(&entry)) {
                    stale.push(Stale { entry: text.entry.clone(), arch, other_text });
                }
            }
        }
        Ok(stale)
    }
}

fn embedded(definition: &Definition, error: layout_compiler::wire::WireError) -> crate::Error {
    crate::LaunchError::Embedded { kernel: definition.name.to_owned(), error }.into()
}

fn text(family: &Arc<KernelInstance>, candidate: usize) -> Result<Text, BundleError> {
    let own = &family.candidates[candidate];
    let checked = family.checked(own)?;
    Ok(Text {
        family: family.clone(),
        candidate,
        entry: layout_compiler::emit::entry_name(checked),
        text: layout_compiler::emit(checked).text,
        flags: layout_compiler::emit::flags(checked),
        arch: checked.arch(),
    })
}

/// What makes the code: NVRTC's version and its file's size, which distinguishes two releases of one version.
fn compiler() -> Result<String, BundleError> {
    let nvrtc = nvrtc::nvrtc().map_err(crate::Error::from)?;
    let ((major, minor), file) = (nvrtc.version(), nvrtc.library());
    let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
    Ok(format!("NVRTC {major}.{minor} of {bytes} bytes"))
}
