//! Every kernel of layout-kernels, of the examples, of the Python package and of candle's over rows at the edges of their element types, on the
//! simulator and on a GPU, against float64.
//!
//! Law: each kernel that these have, in each of its element types, is covered by an entry, and an entry has run rows of every
//! kind. What a kernel promises of such rows its head says; where that is a limit, the references here have it too.
//!
//! The test binary alone is enough for another machine: `root special --nocapture`.

mod absmax;
mod attention;
mod bench;
mod block_scale;
mod breadth;
mod convolution;
mod experts;
mod linear;
mod lines;
mod moves;
mod norms;
mod pooling;
mod products;
mod puzzles;
mod quantized;
mod reductions;
mod rows;
mod selection;
mod sorting;
mod transforms;
mod windows;

use bench::Bench;
use layout_bench::kernels::every_definition;
use layout_cuda::{Definition, Device, Elem, Error, ParamValue};
use layout_kernels::kernels::{memory, mesh, random};
use layout_tests::support::cubin::arch_of_first;
use layout_tests::support::gpu::gpu;
use layout_tests::support::parallel::in_parallel;
use layout_tests::support::special::Kind;
use std::sync::Mutex;

/// A kernel in one of the types that its parameter `T` takes.
#[derive(Clone, Copy)]
pub struct Covered {
    definition: &'static Definition,
    elem: Option<Elem>,
}

impl Covered {
    /// A kernel without a parameter `T`.
    pub fn plain(definition: &'static Definition) -> Covered {
        Covered { definition, elem: None }
    }

    /// A kernel in one of its types.
    pub fn of(definition: &'static Definition, elem: Elem) -> Covered {
        Covered { definition, elem: Some(elem) }
    }
}

/// Kernels with what runs them over every kind of row.
pub struct Entry {
    covers: Vec<Covered>,
    run: fn(&Bench<'_>) -> Result<(), Error>,
}

impl Entry {
    /// An entry.
    pub fn new(covers: &[Covered], run: fn(&Bench<'_>) -> Result<(), Error>) -> Entry {
        Entry { covers: covers.to_vec(), run }
    }

    fn name(&self) -> &'static str {
        self.covers[0].definition.name
    }

    /// Why a device does not run it.
    fn not_for(&self, device: &Device) -> Option<String> {
        device.properties()?;
        let mut others = self.covers.iter().filter_map(|of| arch_of_first(of.definition));
        others.find(|arch| !device.arch().includes(*arch)).map(|arch| arch.to_string())
    }

    /// What failed on a device.
    fn failures(&self, device: &Device) -> Vec<String> {
        let bench = Bench::on(device);
        if let Err(error) = (self.run)(&bench) {
            bench.failures.borrow_mut().push(format!("{}: {error}", self.name()));
        }
        let (kinds, mut failures) = (bench.kinds.into_inner(), bench.failures.into_inner());
        for Covered { definition, elem } in &self.covers {
            // Kernels of bytes have their own extremes.
            let is_whole =
                INTEGERS.iter().any(|of| std::ptr::eq(*of, *definition)) || *elem == Some(Elem::I8);
            let has = |kind: &Kind| {
                kinds.iter().any(|(of, own)| own == kind && elem.is_none_or(|elem| elem == *of))
            };
            let missing = Kind::ALL.iter().find(|kind| !is_whole && !has(kind));
            failures
                .extend(missing.map(|kind| format!("{} of {elem:?}: no row is {kind:?}", definition.name)));
        }
        failures
    }
}

/// Kernels of integers.
static INTEGERS: [&Definition; 2] = [&memory::histogram::DEFINITION, &memory::scale_bytes::DEFINITION];

/// Kernels that read no number.
static WITHOUT_INPUT: [&Definition; 2] = [&memory::noise::DEFINITION, &random::random::DEFINITION];

fn entries() -> Vec<Entry> {
    [
        absmax::entries(),
        attention::entries(),
        block_scale::entries(),
        breadth::entries(),
        convolution::entries(),
        experts::entries(),
        rows::entries(),
        selection::entries(),
        sorting::entries(),
        transforms::entries(),
        products::entries(),
        quantized::entries(),
        reductions::entries(),
        puzzles::entries(),
        windows::entries(),
        norms::entries(),
        pooling::entries(),
        linear::entries(),
        lines::entries(),
        moves::entries(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Runs every entry that a device takes, and fails where one does.
fn run(device: &Device) {
    let failures = Mutex::new(Vec::new());
    in_parallel(&entries(), |entry| {
        let (begin, name) = (std::time::Instant::now(), entry.name());
        if let Some(arch) = entry.not_for(device) {
            println!("{name}: for {arch}");
            return;
        }
        let own = entry.failures(device);
        println!("{name:24} {:6.2} s, {} failures", begin.elapsed().as_secs_f64(), own.len());
        failures.lock().unwrap_or_else(|error| error.into_inner()).extend(own);
    });
    let failures = failures.into_inner().unwrap_or_else(|error| error.into_inner());
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_simulator_gives_what_the_law_says() {
    run(&Device::simulator());
}

#[test]
fn the_gpu_gives_what_the_law_says() {
    let Some(gpu) = gpu() else { return };
    println!("device: {}", gpu.describe());
    run(&gpu);
}

/// A kernel without special rows, or a type of one, is found here.
#[test]
fn every_kernel_is_covered() {
    let entries = entries();
    let covered: Vec<&Covered> = entries.iter().flat_map(|entry| &entry.covers).collect();
    let all = every_definition()
        .into_iter()
        .chain([&mesh::add_onto::DEFINITION, &mesh::rectify::DEFINITION])
        .chain(norms::definitions());
    let mut missing = Vec::new();
    for definition in all.filter(|of| !WITHOUT_INPUT.iter().any(|other| std::ptr::eq(*other, *of))) {
        let sets = definition.kernel().expect("bytes of this version").parameter_sets();
        let mut types: Vec<Option<Elem>> = sets
            .iter()
            .map(|set| match set.get("T") {
                Some(ParamValue::Type(elem)) => Some(elem),
                _ => None,
            })
            .collect();
        types.dedup();
        for elem in types {
            if !covered.iter().any(|of| std::ptr::eq(of.definition, definition) && of.elem == elem) {
                missing.push(format!("{} of {elem:?}", definition.name));
            }
        }
    }
    assert!(missing.is_empty(), "no special rows in `tests/special` for: {}", missing.join(", "));
}
