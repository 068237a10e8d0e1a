//! The run: stages from the space to the records, compilation beside the measuring.
//!
//! Law: a set is measured at most once a run, and not at all where a record of this very text, device and shape has its
//! result. A run that was killed resumes where it was.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Instant;

use layout_compiler::{Definition, ParamSet, Promises};

use super::model::{estimate, features};
use super::outcome::{Fate, Outcome, Trial};
use super::record::{Record, RecordError, Records};
use super::search::{Course, Open, Search};
use super::space::Space;
use crate::bench;
use crate::device::{Device, Stream};
use crate::error::Error;
use crate::launch::LaunchConfig;
use crate::prepare::{Usage, prepare};
use crate::probe::{Planned, Probe};

/// What is tuned: a kernel's tensors, and what is right.
pub trait Problem {
    /// Launches the kernel once, with this configuration: hand it to the kernel's `launch_with`.
    ///
    /// # Errors
    /// The launch's.
    fn launch(&mut self, stream: &Stream, config: LaunchConfig<'_>) -> Result<(), Error>;

    /// Makes the outputs something that no launch leaves behind, so that [`check`](Problem::check) sees what was not written.
    /// Inputs that a launch overwrites are set again.
    ///
    /// # Errors
    /// The device's.
    fn spoil(&mut self) -> Result<(), Error>;

    /// Compares what the last launch left with the reference.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&mut self) -> Result<(), String>;
}

/// How long a run may go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Sets that are measured, at most.
    pub trials: usize,
    /// Seconds, at most.
    pub seconds: f64,
}

impl Budget {
    /// So many sets.
    pub fn trials(trials: usize) -> Budget {
        Budget { trials, seconds: f64::INFINITY }
    }

    /// So many seconds.
    pub fn seconds(seconds: f64) -> Budget {
        Budget { trials: usize::MAX, seconds }
    }
}

/// Searches the parameter sets of a kernel. See [`crate::tune`].
pub struct Tuner {
    definition: &'static Definition,
    space: Option<Space>,
    search: Search,
    budget: Budget,
    records: Option<PathBuf>,
    timing: bench::Options,
    least_ms: f64,
    allow_spills: bool,
    workers: usize,
    progress: Option<Progress>,
}

/// Sets measured, sets in all, the best milliseconds.
type Progress = Box<dyn Fn(usize, usize, f64)>;

/// What a worker compiles.
struct Job {
    number: usize,
    set: ParamSet,
    promises: Promises,
}

type Compiled = (usize, Result<Option<Usage>, Error>);

impl Tuner {
    /// A tuner of a kernel: the sets of its attribute, guided, without an end.
    pub fn new(definition: &'static Definition) -> Tuner {
        Tuner {
            definition,
            space: None,
            search: Search::Guided(1),
            budget: Budget { trials: usize::MAX, seconds: f64::INFINITY },
            records: None,
            timing: bench::Options { warm_up: 1, samples: 7, calls: 1, flush_l2: true },
            least_ms: 0.0,
            allow_spills: true,
            workers: std::thread::available_parallelism().map_or(1, usize::from).min(16),
            progress: None,
        }
    }

    /// The sets to choose among; those of the attribute without.
    pub fn space(mut self, space: Space) -> Tuner {
        self.space = Some(space);
        self
    }

    /// How to search.
    pub fn search(mut self, search: Search) -> Tuner {
        self.search = search;
        self
    }

    /// How long.
    pub fn budget(mut self, budget: Budget) -> Tuner {
        self.budget = budget;
        self
    }

    /// A file of records: what it knows is not measured again, and each trial is added at once.
    pub fn records(mut self, path: impl Into<PathBuf>) -> Tuner {
        self.records = Some(path.into());
        self
    }

    /// How a set is timed; with a cold L2 cache by default.
    pub fn timing(mut self, timing: bench::Options) -> Tuner {
        self.timing = timing;
        self
    }

    /// No set can be faster than this: the search ends at 1 / 0.98 of it. A roofline gives it.
    pub fn least_ms(mut self, least_ms: f64) -> Tuner {
        self.least_ms = least_ms;
        self
    }

    /// Drops sets whose registers spill before they are timed.
    pub fn refuse_spills(mut self) -> Tuner {
        self.allow_spills = false;
        self
    }

    /// Called after each trial: sets that were measured, sets in all, and the best milliseconds so far.
    pub fn progress(mut self, progress: impl Fn(usize, usize, f64) + 'static) -> Tuner {
        self.progress = Some(Box::new(progress));
        self
    }

    /// Searches.
    ///
    /// # Errors
    /// [`RunError`]: the file of records, or a device that no longer answers. What is wrong with one
    /// set is its fate, not an error.
    pub fn run(&self, stream: &Stream, problem: &mut dyn Problem) -> Result<Outcome, RunError> {
        let space = match &self.space {
            Some(space) => space.clone(),
            None => Space::listed(self.definition)?,
        };
        let device = stream.device().clone();
        let mut run = Run::new(self, &device, space.sets())?;
        let mut open = run.plan(stream, problem);
        std::thread::scope(|scope| -> Result<(), RunError> {
            let (jobs, waiting) = channel::<Job>();
            let (done, compiled) = channel::<Compiled>();
            let waiting = std::sync::Arc::new(Mutex::new(waiting));
            let definition = self.definition;
            for _ in 0..self.workers {
                let (waiting, done, device) = (waiting.clone(), done.clone(), device.clone());
                scope.spawn(move || work(definition, &device, &waiting, &done));
            }
            drop(done);
            run.measure(stream, problem, &mut open, jobs, &compiled)
        })?;
        run.finish(stream, problem)
    }
}

/// Compiles jobs until there are none.
fn work(
    definition: &'static Definition,
    device: &Device,
    waiting: &Mutex<Receiver<Job>>,
    done: &Sender<Compiled>,
) {
    loop {
        // A poisoned lock still holds the receiver.
        let job = waiting.lock().unwrap_or_else(std::sync::PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        let usage = prepare(definition, device, Some(&job.set), job.promises);
        let usage = usage.and_then(|prepared| prepared.usage());
        if done.send((job.number, usage)).is_err() {
            return;
        }
    }
}

/// Why a run cannot go on.
#[non_exhaustive]
pub enum RunError {
    /// The device, or the attribute.
    Device(Error),
    /// The file of records.
    Records(RecordError),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Device(error) => write!(f, "{error}"),
            RunError::Records(error) => write!(f, "{error}"),
        }
    }
}

crate::error::debug_by_display! { RunError }

impl std::error::Error for RunError {
    /// What is behind the error inside, whose words are this one's.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Device(error) => error.source(),
            RunError::Records(error) => error.source(),
        }
    }
}

impl From<Error> for RunError {
    fn from(error: Error) -> RunError {
        RunError::Device(error)
    }
}

impl From<RecordError> for RunError {
    fn from(error: RecordError) -> RunError {
        RunError::Records(error)
    }
}

/// A run on its way.
struct Run<'t> {
    tuner: &'t Tuner,
    device: Device,
    sets: Vec<ParamSet>,
    fates: Vec<Fate>,
    known: Vec<bool>,
    planned: Vec<Option<Planned>>,
    texts: Vec<u64>,
    shape: Vec<usize>,
    records: Records,
    measured: Vec<(Vec<f64>, f64)>,
    history: Vec<f64>,
    start: Instant,
}

impl<'t> Run<'t> {
    fn new(tuner: &'t Tuner, device: &Device, sets: &[ParamSet]) -> Result<Run<'t>, RunError> {
        let records = match &tuner.records {
            Some(path) => Records::read(path)?,
            None => Records::default(),
        };
        Ok(Run {
            tuner,
            device: device.clone(),
            sets: sets.to_vec(),
            fates: vec![Fate::NotTried; sets.len()],
            known: vec![false; sets.len()],
            planned: vec![None; sets.len()],
            texts: vec![0; sets.len()],
            shape: vec![],
            records,
            measured: vec![],
            history: vec![],
            start: Instant::now(),
        })
    }

    fn multiprocessors(&self) -> u32 {
        self.device.properties().map_or(132, |properties| properties.multiprocessors)
    }

    /// Asks for each set what its launch would be; those that are refused, or known from records, are done.
    fn plan(&mut self, stream: &Stream, problem: &mut dyn Problem) -> Vec<Open> {
        let mut open = vec![];
        for number in 0..self.sets.len() {
            let set = self.sets[number].clone();
            let probe = Probe::dry_run();
            let config = LaunchConfig { set: Some(&set), probe: Some(&probe), ..LaunchConfig::default() };
            let planned = match problem.launch(stream, config) {
                Ok(()) => probe.planned(),
                Err(error) => {
                    self.fates[number] = Fate::Refused(error.to_string());
                    continue;
                }
            };
            let Some(planned) = planned else {
                let why = "the problem did not hand its configuration to `launch_with`".to_owned();
                self.fates[number] = Fate::Refused(why);
                continue;
            };
            self.shape.clone_from(&planned.shape);
            self.planned[number] = Some(planned.clone());
            self.texts[number] = self.text(&set, &planned);
            let features = features(&set, &planned, self.multiprocessors());
            let trial = self.record(number, &Fate::NotTried);
            if let Some(record) = self.records.all().iter().find(|record| record.same_trial(&trial)) {
                self.known[number] = true;
                self.fates[number] = match (record.fate.as_str(), record.ms) {
                    ("timed", Some(ms)) => {
                        self.measured.push((features, ms));
                        Fate::Timed(ms)
                    }
                    ("wrong", _) => Fate::Wrong(record.why.clone()),
                    ("refused", _) => Fate::Refused(record.why.clone()),
                    _ => Fate::Failed(record.why.clone()),
                };
                continue;
            }
            open.push(Open { number, planned, features });
        }
        open
    }

    /// The hash of the CUDA C of a set, 0 where there is none.
    fn text(&self, set: &ParamSet, planned: &Planned) -> u64 {
        let text = || -> Option<String> {
            let family = self.device.functions().family(self.tuner.definition, Some(set), &[]).ok()?;
            let checked = family.checked(family.candidate(planned.promises)?).ok()?;
            Some(layout_compiler::emit(checked).text)
        };
        text().map_or(0, |text| xxhash_rust::xxh3::xxh3_64(text.as_bytes()))
    }

    /// The record of a set and its fate.
    fn record(&self, number: usize, fate: &Fate) -> Record {
        let driver = self.device.properties().map(|properties| properties.driver);
        let mut set = self.sets[number].clone();
        set.0.sort();
        Record {
            kernel: self.tuner.definition.name.to_owned(),
            text: self.texts[number],
            device: self.device.name().to_owned(),
            driver: driver.map_or(String::new(), |(major, minor)| format!("{major}.{minor}")),
            compiler: match self.device.is_simulator() {
                true => String::new(),
                false => crate::nvrtc::identity().unwrap_or_default(),
            },
            shape: self.shape.clone(),
            set,
            fate: fate.word().to_owned(),
            ms: fate.ms(),
            default_ms: None,
            why: fate.why().to_owned(),
            date: time::OffsetDateTime::now_utc().date().to_string(),
        }
    }

    /// Keeps a set's fate, and says.
    fn keep(&mut self, number: usize, fate: Fate) -> Result<(), RunError> {
        if let Some(path) = &self.tuner.records {
            Records::append(path, &self.record(number, &fate)).map_err(RecordError::File)?;
        }
        self.history.extend(fate.ms());
        self.fates[number] = fate;
        if let Some(progress) = &self.tuner.progress {
            progress(self.history.len(), self.sets.len(), self.best_ms());
        }
        Ok(())
    }

    fn best_ms(&self) -> f64 {
        self.fates.iter().filter_map(Fate::ms).fold(f64::INFINITY, f64::min)
    }

    fn is_over(&self) -> bool {
        self.history.len() >= self.tuner.budget.trials
            || self.start.elapsed().as_secs_f64() > self.tuner.budget.seconds
            || self.best_ms() * 0.98 <= self.tuner.least_ms
    }

    /// Compiles ahead and measures what is ready, in the order of the picks.
    fn measure(
        &mut self,
        stream: &Stream,
        problem: &mut dyn Problem,
        open: &mut Vec<Open>,
        jobs: Sender<Job>,
        compiled: &Receiver<Compiled>,
    ) -> Result<(), RunError> {
        let mut course = Course::new(self.tuner.search, self.multiprocessors());
        let guided = matches!(self.tuner.search, Search::Guided(_));
        // A guided search picks with what it has seen: it does not run far ahead.
        let ahead = if guided { self.tuner.workers.clamp(1, 3) } else { 2 * self.tuner.workers };
        let mut picked: std::collections::VecDeque<Open> = std::collections::VecDeque::new();
        let mut ready: Vec<(usize, Result<Option<Usage>, Error>)> = vec![];
        loop {
            while picked.len() < ahead.min(self.tuner.budget.trials.saturating_sub(self.history.len())) {
                let Some(next) = course.next(open, &self.measured) else { break };
                let (number, promises) = (next.number, next.planned.promises);
                // The workers end when this end of the channel goes, not before.
                let _ = jobs.send(Job { number, set: self.sets[number].clone(), promises });
                picked.push_back(next);
            }
            let Some(next) = picked.pop_front() else { return Ok(()) };
            if self.is_over() {
                return Ok(());
            }
            let usage = loop {
                if let Some(at) = ready.iter().position(|(number, _)| *number == next.number) {
                    break ready.swap_remove(at).1;
                }
                match compiled.recv() {
                    Ok(one) => ready.push(one),
                    Err(_) => return Ok(()),
                }
            };
            let number = next.number;
            let usage = match usage {
                Ok(usage) => usage,
                Err(error) => {
                    self.keep(number, Fate::Refused(error.to_string()))?;
                    continue;
                }
            };
            let spills = usage.as_ref().and_then(|usage| usage.compiled.as_ref()).filter(|one| one.spills());
            if let Some(spilled) = spills.filter(|_| !self.tuner.allow_spills) {
                let why = format!("{} registers do not do: it spills", spilled.registers);
                self.keep(number, Fate::Refused(why))?;
                continue;
            }
            let fate = self.trial(stream, problem, &next)?;
            self.keep(number, fate)?;
        }
    }

    /// One launch against the reference, then a few samples; more where they are near the best.
    fn trial(&mut self, stream: &Stream, problem: &mut dyn Problem, open: &Open) -> Result<Fate, RunError> {
        let set = self.sets[open.number].clone();
        let probe = Probe::watching();
        let config = LaunchConfig { set: Some(&set), probe: Some(&probe), ..LaunchConfig::default() };
        problem.spoil()?;
        if let Err(error) = problem.launch(stream, config) {
            return Ok(Fate::Failed(error.to_string()));
        }
        // What a kernel breaks on the device, no later one mends.
        stream.synchronize()?;
        if let Err(why) = problem.check() {
            return Ok(Fate::Wrong(why));
        }
        let ms = match probe.planned().and_then(|planned| planned.counts) {
            Some(counts) => estimate(&counts),
            None => {
                let few = bench::Options { samples: 3, ..self.tuner.timing };
                let first = self.time(stream, problem, &set, &few)?;
                if first > 1.3 * self.best_ms() {
                    first
                } else {
                    self.time(stream, problem, &set, &bench::Options { warm_up: 0, ..self.tuner.timing })?
                }
            }
        };
        self.measured.push((open.features.clone(), ms));
        Ok(Fate::Timed(ms))
    }

    fn time(
        &self,
        stream: &Stream,
        problem: &mut dyn Problem,
        set: &ParamSet,
        options: &bench::Options,
    ) -> Result<f64, RunError> {
        let config = LaunchConfig { set: Some(set), ..LaunchConfig::default() };
        let timing = bench::time(stream, options, || problem.launch(stream, config))?;
        Ok(timing.median_ms())
    }

    /// The last rounds: the best few and the default, one after the other, so that the clock's moods meet them all.
    fn finish(mut self, stream: &Stream, problem: &mut dyn Problem) -> Result<Outcome, RunError> {
        let best = self.best_ms();
        let mut order: Vec<usize> =
            (0..self.sets.len()).filter(|at| self.fates[*at].ms().is_some()).collect();
        let ms = |fates: &[Fate], at: usize| fates[at].ms().unwrap_or(f64::INFINITY);
        order.sort_by(|a, b| ms(&self.fates, *a).total_cmp(&ms(&self.fates, *b)));
        let mut last: Vec<usize> =
            order.iter().copied().filter(|at| ms(&self.fates, *at) <= 1.05 * best).take(4).collect();
        let default = self.fates.first().and_then(Fate::ms).map(|_| 0);
        last.extend(default.filter(|at| !last.contains(at)));
        if !self.device.is_simulator() && last.len() > 1 {
            let mut samples = vec![vec![]; last.len()];
            for _ in 0..5 {
                for (own, at) in samples.iter_mut().zip(&last) {
                    let set = self.sets[*at].clone();
                    let few = bench::Options { warm_up: 1, samples: 3, ..self.tuner.timing };
                    own.push(self.time(stream, problem, &set, &few)?);
                }
            }
            for (mut own, at) in samples.into_iter().zip(&last) {
                own.sort_by(f64::total_cmp);
                self.fates[*at] = Fate::Timed(own[own.len() / 2]);
            }
        }
        let multiprocessors = self.multiprocessors();
        let default_ms = default.and_then(|at| self.fates[at].ms());
        if let Some(path) = &self.tuner.records {
            for at in &last {
                let record = Record { default_ms, ..self.record(*at, &self.fates[*at]) };
                Records::append(path, &record).map_err(RecordError::File)?;
            }
        }
        let mut trials: Vec<Trial> = (0..self.sets.len())
            .map(|at| Trial {
                set: self.sets[at].clone(),
                fate: self.fates[at].clone(),
                known: self.known[at],
                planned: self.planned[at].clone(),
            })
            .collect();
        let rank = |trial: &Trial| (trial.fate.ms().unwrap_or(f64::INFINITY), trial.fate == Fate::NotTried);
        trials.sort_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
        Ok(Outcome {
            kernel: self.tuner.definition.name.to_owned(),
            shape: self.shape,
            clock: if self.device.is_simulator() {
                "estimated by the simulator's counts"
            } else {
                "measured"
            },
            trials,
            default: default_ms.map(|ms| (self.sets[0].clone(), ms)),
            history: self.history,
            multiprocessors,
        })
    }
}
