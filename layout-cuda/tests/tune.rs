//! The tuner on the simulator: what is refused, what is wrong, what is known, what wins.

use layout_cuda::tune::{Budget, Fate, Outcome, Problem, Records, Search, Space, Tuned, Tuner};
use layout_cuda::{Device, Error, LaunchConfig, ParamValue, Probe, Stream, Tensor, tiled_kernel};

// `W` = 3 doubles all but the last element; more threads than 1024 are no block; `V` reads with a stride, which is slow.
#[tiled_kernel(
    B = 32, W = 1, V = true,
    block = [B], grid = [N.div_ceil(B)], require(N > 0),
)]
fn double<const N: usize>(x: &LayoutTensor<f32, RowMajor<N>>, y: &mut LayoutTensor<f32, RowMajor<N>>) {
    let i = block_idx.x * B + thread_idx.x;
    let end = if W == 3 { N - 1 } else { N };
    if i < end {
        let mut sum = x[[i]];
        if V {
            for far in 1..5 {
                sum += 0.0 * x[[(i * 33 + far) % N]];
            }
        }
        y[[i]] = sum + x[[i]];
    }
}

struct Doubling {
    x: Tensor<f32, 1>,
    y: Tensor<f32, 1>,
    launches: usize,
}

impl Doubling {
    fn new(device: &Device, len: usize) -> Doubling {
        let x: Vec<f32> = (0..len).map(|i| i as f32).collect();
        let tensor = device.upload(&x, [len]).expect("a tensor");
        Doubling { x: tensor, y: device.zeros([len]).expect("a tensor"), launches: 0 }
    }
}

impl Problem for Doubling {
    fn launch(&mut self, stream: &Stream, config: LaunchConfig<'_>) -> Result<(), Error> {
        self.launches += usize::from(config.probe.is_none_or(Probe::starts));
        double::launch_with(config, stream, &self.x, &mut self.y)
    }

    fn spoil(&mut self) -> Result<(), Error> {
        self.y.poison()
    }

    fn check(&mut self) -> Result<(), String> {
        let y = self.y.download().map_err(|error| error.to_string())?;
        match y.iter().enumerate().find(|(i, y)| **y != 2.0 * *i as f32) {
            Some((i, y)) => Err(format!("element {i} is {y}")),
            None => Ok(()),
        }
    }
}

/// With more sets than the attribute has.
fn tuner() -> Tuner {
    let space = Space::of("B", [32, 64, 128, 2048]).and("W", [1, 2, 3]).and("V", [true, false]);
    Tuner::new(&double::DEFINITION).space(space)
}

fn refused(outcome: &Outcome) -> usize {
    outcome.trials.iter().filter(|trial| trial.fate.is_refused()).count()
}

fn wrong(outcome: &Outcome) -> usize {
    outcome.trials.iter().filter(|trial| matches!(trial.fate, Fate::Wrong(_))).count()
}

fn run(search: Search, trials: usize) -> Outcome {
    let device = Device::simulator();
    let tuner = tuner().search(search).budget(Budget::trials(trials));
    tuner.run(&device.stream(), &mut Doubling::new(&device, 3000)).expect("a run")
}

#[test]
fn every_set_has_its_fate_and_a_wrong_one_never_wins() {
    let all = run(Search::All, usize::MAX);
    let timed = all.trials.iter().filter(|trial| trial.fate.ms().is_some()).count();
    assert_eq!((refused(&all), wrong(&all), timed, all.trials.len()), (6, 6, 12, 24), "{all}");
    let (best, _) = all.best().expect("one is right");
    assert_eq!(best.get("V"), Some(ParamValue::Bool(false)), "{all}");
    assert!(all.speed_up().is_some_and(|speed_up| speed_up >= 1.0), "{all}");
}

#[test]
fn a_guided_search_ends_near_the_best() {
    let best = run(Search::All, usize::MAX).best().map(|(_, ms)| ms).expect("a best");
    let found = run(Search::Guided(1), 8).best().map(|(_, ms)| ms).expect("a best");
    assert!(best / found >= 0.98, "{found} against {best}");
    assert_eq!(run(Search::Guided(1), 8), run(Search::Guided(1), 8), "deterministic");
    assert_eq!(run(Search::Random(5), 6), run(Search::Random(5), 6), "deterministic");
}

#[test]
fn a_run_goes_on_where_it_was_and_launches_take_what_it_found() {
    let path = std::env::temp_dir().join(format!("layout-tune-{}.jsonl", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let device = Device::simulator();
    let stream = device.stream();
    let tuner = |trials| tuner().search(Search::All).budget(Budget::trials(trials)).records(&path);
    let mut problem = Doubling::new(&device, 3000);
    let first = tuner(5).run(&stream, &mut problem).expect("a run");
    assert_eq!(first.history.len(), 5);
    // A run that was killed has cut a line.
    let text = std::fs::read_to_string(&path).expect("records");
    std::fs::write(&path, format!("{text}{{\"kernel\": \"dou")).expect("cut");
    let second = tuner(usize::MAX).run(&stream, &mut problem).expect("a run");
    assert_eq!(second.history.len(), 7, "{second}");
    let known = second.trials.iter().filter(|trial| trial.known).count();
    assert_eq!(known, 5 + wrong(&first), "{second}");
    let before = problem.launches;
    let third = tuner(usize::MAX).run(&stream, &mut problem).expect("a run");
    assert_eq!((third.history.len(), problem.launches), (0, before), "everything is known");
    assert_eq!(third.best(), second.best());
    // The union of two halves is the whole, and a launch takes its best.
    let records = Records::read(&path).expect("records");
    let half = |odd: bool| -> String {
        records
            .to_string()
            .lines()
            .enumerate()
            .filter(|(at, _)| (at % 2 == 1) == odd)
            .map(|(_, line)| format!("{line}\n"))
            .collect()
    };
    let [odd, even] = [true, false].map(|odd| Records::parse(&half(odd)).expect("records"));
    let union = odd.union(even);
    assert_eq!(union.all().len(), records.all().len());
    assert_eq!(Tuned::of(&union), Tuned::of(&records));
    let best = third.best().map(|(set, _)| set.clone()).expect("a best");
    let chosen = Tuned::of(&records);
    let chosen = chosen.choose("double", "simulator", &[2900, 2900]).expect("the nearest shape");
    assert!(best.0.iter().all(|(name, value)| chosen.get(name) == Some(*value)), "{chosen:?}");
    std::fs::remove_file(&path).expect("removed");
}

#[test]
fn a_line_that_is_no_record_is_named() {
    for (text, wanted) in
        [("{}", "line 1 of the records: no list `shape`"), ("\nnonsense", "line 2 of the records: expected")]
    {
        let error = Records::parse(text).expect_err("no record").to_string();
        assert!(error.starts_with(wanted), "{error}");
    }
}
