//! What a debugger costs: a product of 512 by 512 by 512 in two blocks, run plain and debugged.
//!
//! `cargo run --release -p layout-debugger --example cost`

use layout_cuda::debug::{Debugger, Launch, PauseAt, Session, attach};
use layout_cuda::{Device, Error, LaunchConfig, Options, tiled_kernel};
use std::time::Instant;

/// The first line of the kernel.
const FIRST: u32 = line!() + 2;

#[tiled_kernel(block = [256], grid = [2])]
fn product(
    a: &LayoutTensor<f32, RowMajor<512, 512>>,
    b: &LayoutTensor<f32, RowMajor<512, 512>>,
    c: &mut LayoutTensor<f32, RowMajor<512, 512>>,
) {
    let mut left = shared::<f32>(row_major([64, 16]));
    let mut right = shared::<f32>(row_major([16, 64]));
    let t = thread_idx.x;
    for tile in 0..32 {
        let row = block_idx.x * 256 + tile / 8 * 64;
        let column = tile % 8 * 64;
        let mut sums = [[0.0f32; 4]; 4];
        for k in 0..32 {
            for part in 0..4 {
                left[[t / 16 + 16 * part, t % 16]] = a[[row + t / 16 + 16 * part, 16 * k + t % 16]];
                right[[t / 64 + 4 * part, t % 64]] = b[[16 * k + t / 64 + 4 * part, column + t % 64]];
            }
            barrier();
            for depth in 0..16 {
                for i in unroll(0..4) {
                    for j in unroll(0..4) {
                        sums[i][j] += left[[t / 16 * 4 + i, depth]] * right[[depth, t % 16 * 4 + j]];
                    }
                }
            }
            barrier();
        }
        for i in unroll(0..4) {
            for j in unroll(0..4) {
                c[[row + t / 16 * 4 + i, column + t % 16 * 4 + j]] = sums[i][j];
            }
        }
    }
}
const SUM: u32 = FIRST + 22;
const RESULT: u32 = FIRST + 30;

thread_local! {
    static RECORDED: std::cell::Cell<Option<Instant>> = const { std::cell::Cell::new(None) };
}

struct Timed;
impl Debugger for Timed {
    fn launched(&mut self, _: &Launch<'_>, session: &mut Session<'_>) {
        let steps = session.steps();
        let recorded = RECORDED.take().map_or(0.0, |start| start.elapsed().as_secs_f64() * 1e3);
        println!("recorded: {recorded:.1} ms, {steps} steps");
        let forward = |session: &mut Session<'_>, what: &str, lines: &[u32]| {
            session.go(0);
            session.mark(lines);
            timed(what, || {
                session.forward(PauseAt::Marks, &mut |_| true);
            })
        };
        for _ in 0..3 {
            let plain = forward(session, "all steps, no breakpoint", &[]);
            let marked = forward(session, "all steps, a breakpoint that does not hit", &[FIRST]);
            println!("  {:.2} times as long", marked / plain);
        }
        session.go(0);
        session.mark(&[RESULT]);
        timed("all steps, a breakpoint that hits with a condition that does not hold", || {
            session.forward(PauseAt::Marks, &mut |moment| {
                let warp = moment.warp().unwrap_or(0);
                moment.row(warp, "t").is_some_and(|row| row[0].number() < 0.0)
            });
        });
        session.mark(&[SUM]);
        session.go(steps / 2 + 12_345);
        session.forward(PauseAt::Marks, &mut |_| true);
        let mut all: Vec<f64> = (0..50)
            .map(|number| {
                let start = Instant::now();
                let here = session.step();
                session.go(if number % 5 == 4 { here + 1 } else { here - 1 });
                start.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        all.sort_by(f64::total_cmp);
        println!("a step, four of five back: median {:.2} ms, longest {:.2} ms", all[25], all[49]);
        timed("back to the breakpoint before", || {
            session.backward(PauseAt::Marks, &mut |_| true);
        });
    }
}

/// Runs and prints the milliseconds.
fn timed(what: &str, run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    let milliseconds = start.elapsed().as_secs_f64() * 1e3;
    println!("{what}: {milliseconds:.1} ms");
    milliseconds
}

fn main() -> Result<(), Error> {
    let device = Device::simulator();
    let numbers: Vec<f32> = (0..512 * 512u32).map(|i| (i % 7) as f32).collect();
    let (a, b) = (device.upload(&numbers, [512, 512])?, device.upload(&numbers, [512, 512])?);
    let mut c = device.zeros::<f32, 2>([512, 512])?;
    let options = Options { threads: 1, ..Options::default() };
    let config = LaunchConfig::default();
    timed("the launch, with findings", || {
        product::simulate_with(config, &options, &a, &b, &mut c)
            .map(drop)
            .unwrap_or_else(|error| println!("{error}"));
    });
    let without = Options { findings: false, counters: false, ..options };
    timed("the launch, without findings", || {
        product::simulate_with(config, &without, &a, &b, &mut c)
            .map(drop)
            .unwrap_or_else(|error| println!("{error}"));
    });
    let attached = attach(Timed);
    RECORDED.set(Some(Instant::now()));
    timed("all of this", || {
        product::simulate_with(config, &options, &a, &b, &mut c)
            .map(drop)
            .unwrap_or_else(|error| println!("{error}"));
    });
    drop(attached);
    Ok(())
}
