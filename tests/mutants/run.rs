//! A mutant on the simulator: is it found?
//!
//! Law: a mutant is run by the kernel's own cases, small sizes first, until something is found; one that nothing
//! is found in was run at every size of every set whose text it changes, and at the smaller sizes by several schedules.

use super::edit::{Edit, edited, edits};
use layout_compiler::{Kernel, ParamSet, Promises, certify_set, compile, emit, wire};
use layout_cuda::testing::replaced;
use layout_cuda::{Definition, Device, Error, LaunchError, Options};
use layout_tests::kernels::{cases, smallest, strangers, tested};
use layout_tests::support::case::{Case, Outcome, Run, unlike};
use layout_tests::support::tested::Tested;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The kernels of the corpus, each with what runs it.
pub struct Subject {
    /// The kernel.
    pub definition: &'static Definition,
    cases: Vec<Case>,
    tests: Vec<Tested>,
    /// The kernel's text for each set that mutants are made for.
    texts: OnceLock<Vec<(ParamSet, String)>>,
    /// What the kernel itself gives, by what a run is called, where nothing else says what a mutant has to.
    own: Mutex<BTreeMap<String, Vec<f64>>>,
}

/// Schedules of a mutant that the usual one does not find.
const SCHEDULES: u32 = 8;
/// Runs of a case that are made by all of them, and by many more.
const SMALLER: usize = 12;
const SMALLEST: usize = 4;

/// Kernels that give out numbers, or places of a table, in the order in which threads ask: every order of them is right.
const ANY_ORDER: [&str; 2] = ["bins", "inserted"];

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No parameter set has another text: there is no mistake.
    Same,
    /// The kernel's own stages refuse it.
    Refused,
    /// The simulator finds it: the first finding.
    Found(String),
    /// The results are wrong, or the launch fails, and nothing is found: what happens.
    Wrong(String),
    /// The results are right, and nothing is found.
    Silent,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Same => f.write_str("no change"),
            Verdict::Refused => f.write_str("refused"),
            Verdict::Found(kind) => write!(f, "found: {kind}"),
            Verdict::Wrong(what) => write!(f, "wrong, nothing found: {what}"),
            Verdict::Silent => f.write_str("nothing found"),
        }
    }
}

/// Every kernel of the corpus that has something to mutate.
pub fn subjects() -> Vec<Subject> {
    let mut list = corpus();
    list.retain(|subject| !edits(&subject.kernel()).is_empty());
    list
}

/// Every kernel of the corpus.
pub fn corpus() -> Vec<Subject> {
    let mut list: Vec<Subject> = Vec::new();
    let of = |definition: &'static Definition, list: &mut Vec<Subject>| {
        let known = list.iter().position(|subject| std::ptr::eq(subject.definition, definition));
        known.unwrap_or_else(|| {
            let (cases, tests) = (Vec::new(), Vec::new());
            let (texts, own) = (OnceLock::new(), Mutex::default());
            list.push(Subject { definition, cases, tests, texts, own });
            list.len() - 1
        })
    };
    // Of the slowest kernels every size but the smallest takes minutes.
    for case in smallest() {
        let place = of(case.definition, &mut list);
        list[place].cases.push(case);
    }
    let large = list.len();
    for case in cases().into_iter().chain(strangers::cases()) {
        let place = of(case.definition, &mut list);
        if place >= large {
            list[place].cases.push(case);
        }
    }
    for test in tested() {
        let place = of(test.definition, &mut list);
        list[place].tests.push(test);
    }
    list
}

impl Subject {
    /// The kernel.
    pub fn kernel(&self) -> Kernel {
        self.definition.kernel().expect("bytes of this version")
    }

    /// The sets that mutants are made for: of each case, or of the kernel where a test runs all of them, the first, the middle
    /// and the last one.
    fn sets(&self) -> Vec<ParamSet> {
        let mut lists: Vec<Vec<ParamSet>> = self.cases.iter().map(Case::sets).collect();
        if lists.is_empty() {
            lists.push(self.kernel().parameter_sets());
        }
        let mut all: Vec<ParamSet> = Vec::new();
        for list in lists.iter().filter(|list| !list.is_empty()) {
            for set in [&list[0], &list[list.len() / 2], &list[list.len() - 1]] {
                if !all.contains(set) {
                    all.push(set.clone());
                }
            }
        }
        all
    }

    /// Runs the kernel with an edit.
    pub fn verdict(&self, edit: &Edit) -> Verdict {
        let (own, mutant) = (self.kernel(), edited(&self.kernel(), edit));
        let text = |kernel: &Kernel, set: &ParamSet| match compile(kernel, set, Promises::USUAL) {
            Ok(checked) => Ok(emit(&checked).text),
            Err(_) => Err(()),
        };
        // Lines of the kernel's file are beside a text, not in it.
        let differs = |(set, known): &(ParamSet, String)| text(&mutant, set).as_ref() != Ok(known);
        let texts = self.texts.get_or_init(|| {
            let text = |set: ParamSet| text(&own, &set).ok().map(|text| (set, text));
            let texts: Vec<_> = self.sets().into_iter().filter_map(text).collect();
            assert!(!texts.is_empty(), "{}: no set of a case has a text", self.definition.name);
            texts
        });
        let changed: Vec<ParamSet> =
            texts.iter().filter(|known| differs(known)).map(|(set, _)| set.clone()).collect();
        if changed.is_empty() {
            return Verdict::Same;
        }
        if changed.iter().all(|set| text(&mutant, set).is_err()) {
            return Verdict::Refused;
        }
        let bytes: &'static [u8] = Vec::leak(wire::encode(&mutant));
        let Definition { name, file, .. } = *self.definition;
        let other: &'static Definition = Box::leak(Box::new(Definition { name, file, bytes, variants: &[] }));
        match self.judged(other, &changed, 1) {
            quiet @ (Verdict::Silent | Verdict::Wrong(_)) => match self.judged(other, &changed, SCHEDULES) {
                Verdict::Silent => quiet,
                verdict => verdict,
            },
            verdict => verdict,
        }
    }

    /// Whether a mutant is certified to have no race, for each set.
    pub fn is_certified(&self, edit: &Edit) -> bool {
        let mutant = edited(&self.kernel(), edit);
        let has_none =
            |set: &ParamSet| certify_set(&mutant, set).is_ok_and(|certificate| certificate.races());
        self.sets().iter().all(has_none)
    }

    /// Runs the kernel itself by so many schedules, at the smallest sizes of each case.
    pub fn by_schedules(&self, schedules: u32) -> Verdict {
        let ordered = layout_cuda::FindingKind::ScheduleDependent.name();
        match self.judged(self.definition, &self.sets(), schedules) {
            Verdict::Found(kind) if kind == ordered && ANY_ORDER.contains(&self.definition.name) => {
                Verdict::Silent
            }
            verdict => verdict,
        }
    }

    /// Runs a definition in the place of the kernel's, by so many schedules.
    fn judged(&self, other: &'static Definition, changed: &[ParamSet], schedules: u32) -> Verdict {
        let options =
            Options { threads: 1, max_steps: 1 << 22, counters: false, schedules, ..Options::default() };
        let mut worst = Verdict::Silent;
        let most = match schedules {
            1 => usize::MAX,
            2..=SCHEDULES => SMALLER,
            _ => SMALLEST,
        };
        let runs = |case| runs(case, changed).into_iter().take(most).map(move |run| (case, run));
        for (case, (set, size)) in self.cases.iter().flat_map(runs) {
            let device = Device::simulator();
            let run = Run { device: &device, set: &set, size, skew: 0 };
            let launches = || catch_unwind(AssertUnwindSafe(|| (case.run)(&run)));
            let mut outcome = replaced(self.definition, other, options, launches);
            if let Ok(Ok(outcome)) = &mut outcome
                && outcome.wanted.is_empty()
            {
                outcome.wanted = self.own(case, &run);
            }
            match judged(outcome) {
                Verdict::Silent => {}
                Verdict::Wrong(what) => worst = Verdict::Wrong(format!("{}: {what}", run.name(case))),
                verdict => return verdict,
            }
        }
        for test in &self.tests {
            let report = replaced(self.definition, other, options, || test.run(&Device::simulator()));
            let Err(failure) = report else { continue };
            match failure.report.as_ref().and_then(|report| report.findings.first()) {
                Some(finding) => return Verdict::Found(finding.kind.name().to_owned()),
                None => worst = Verdict::Wrong(failure.to_string()),
            }
        }
        worst
    }

    /// What the kernel itself gives in a run.
    fn own(&self, case: &Case, run: &Run<'_>) -> Vec<f64> {
        let name = run.name(case);
        let mut known = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let given = || (case.run)(run).map_or_else(|_| Vec::new(), |outcome| outcome.found);
        known.entry(name).or_insert_with(given).clone()
    }
}

/// The runs of a case that a mutant takes part in: a few sets, and every size, small ones first.
fn runs(case: &Case, changed: &[ParamSet]) -> Vec<(ParamSet, [usize; 3])> {
    let own = case.sets();
    let sets: Vec<&ParamSet> = changed.iter().filter(|set| own.contains(set)).collect();
    let mut sizes = case.sizes.clone();
    // Most mutants are found at a small size, soon.
    sizes.sort_by_key(|size| size.iter().map(|extent| extent + 1).product::<usize>());
    sizes.iter().flat_map(|size| sets.iter().map(|set| ((*set).clone(), *size))).collect()
}

/// What a run says. A panic is that of a reference, or of what watches the storage around a tensor.
fn judged(outcome: std::thread::Result<Result<Outcome, Error>>) -> Verdict {
    match outcome {
        Ok(Ok(Outcome { found, wanted, bound })) => match unlike(&found, &wanted, bound) {
            None => Verdict::Silent,
            Some(place) => {
                let [found, wanted] = [found, wanted].map(|list| list.get(place).copied());
                Verdict::Wrong(format!("element {place} is {found:?}, not {wanted:?}"))
            }
        },
        Ok(Err(Error::Launch(LaunchError::Findings { report, .. }))) => {
            let first = report.findings.first().map_or("nothing", |finding| finding.kind.name());
            Verdict::Found(first.to_owned())
        }
        Ok(Err(Error::Launch(LaunchError::Parameters { .. }))) => Verdict::Refused,
        Ok(Err(error)) => Verdict::Wrong(error.to_string()),
        Err(_) => Verdict::Wrong("a panic".into()),
    }
}
