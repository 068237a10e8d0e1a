//! The puzzles: to solve, and with the numbers of their text.
//!
//! `cargo run --example puzzles -- p12` writes the puzzle's kernel with holes to a file and says which; `-- p12 --check` runs
//! what has become of it on the simulator and says what is wrong; `--hint` and `--solution` help. Without a name they are listed.
//!
//! `cargo run --example puzzles -- all`, on the GPU where there is one, or `-- simulator`: each of our solutions prints `out` and
//! `expected`, and the program fails if they differ. The expected numbers are those that the puzzles' text prints, or, where
//! it prints none, sums of integers in order.
//!
//! `cargo run --example puzzles -- roofline` says what bounds each; `-- roofline --peaks 26700,360 --point "mine=0.5,120"` puts kernels
//! of yours under the peaks of a card.

use clap::Parser;
use layout_cuda::roofline::Peaks;
use layout_cuda::{Device, Error, Stream, Tensor};
use layout_examples::kernels::puzzles::*;
use layout_examples::programs::analysis::{self, Point};
use layout_examples::programs::{exit, roofline};
use layout_workbench::exercises::{self, Exercise, Verdict, check};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Puzzles to solve, checked on the simulator.
#[derive(Parser)]
struct Cli {
    /// A puzzle, such as `p12`; or `all`, `simulator` or `gpu`, to run all of our solutions there; or `roofline`, for what bounds each
    name: Option<String>,
    /// Say what is wrong with the answer
    #[arg(long)]
    check: bool,
    /// Say what helps
    #[arg(long)]
    hint: bool,
    /// Show our solution
    #[arg(long)]
    solution: bool,
    /// Where the answer is, other than under `target/exercises`
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Of `roofline`: the peaks, in GFLOP/s and GB/s; those of the text's RTX 4000 Ada without it
    #[arg(long, value_name = "GFLOP/S,GB/S", value_parser = analysis::peaks)]
    peaks: Option<Peaks>,
    /// Of `roofline`: a kernel under these peaks; may be given several times
    #[arg(long, value_name = "NAME=FLOP/BYTE[,GFLOP/S]")]
    point: Vec<Point>,
}

fn main() -> ExitCode {
    sigpipe::reset();
    let cli = Cli::parse();
    if cli.name.as_deref() != Some("roofline") && (cli.peaks.is_some() || !cli.point.is_empty()) {
        return exit_code(Err("`--peaks` and `--point` belong to `roofline`".into()));
    }
    let device = match cli.name.as_deref() {
        None => {
            println!("{}", list());
            return ExitCode::SUCCESS;
        }
        Some("all") => Ok(Device::best()),
        Some("simulator") => Ok(Device::simulator()),
        Some("gpu") => Device::gpu(0),
        Some("roofline") => return exit_code(roofline(&cli)),
        Some(name) => match exercises::find(name) {
            Some(exercise) => return exit_code(solve(exercise, &cli)),
            None => return exit_code(Err(unknown(name).into())),
        },
    };
    exit(device.map_err(Into::into).and_then(|device| {
        println!("device: {}", device.describe());
        Ok(puzzles(&device)?)
    }))
}

/// The puzzles under the roofs, and the text's analysis; of points of one's own only theirs.
fn roofline(cli: &Cli) -> Done {
    let peaks = cli.peaks.unwrap_or(roofline::OF_THE_TEXT);
    let points = if cli.point.is_empty() { analysis::of_the_text().to_vec() } else { cli.point.clone() };
    if cli.point.is_empty() {
        println!("{}\n", roofline::table()?);
    }
    println!("{}\n{}", analysis::analysis(peaks, &points), analysis::crossing(peaks));
    Ok(true)
}

type Done = Result<bool, Box<dyn std::error::Error>>;

fn exit_code(done: Done) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The puzzles that there are.
fn list() -> String {
    exercises::all().map(|one| format!("  {:<24}{}", one.name, one.title)).collect::<Vec<_>>().join("\n")
}

fn unknown(name: &str) -> String {
    format!("there is no puzzle `{name}`; there are\n{}", list())
}

/// Whether the answer is right; `true`, too, where nothing was checked.
fn solve(exercise: &Exercise, cli: &Cli) -> Done {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/exercises");
    let file = cli.file.clone().unwrap_or_else(|| folder.join(exercise.name).with_extension("rs"));
    if cli.hint {
        println!("{}", exercise.hint);
    }
    if cli.solution {
        print!("{}", exercise.solution());
    }
    if cli.check {
        let answer = std::fs::read_to_string(&file);
        let answer =
            answer.map_err(|error| format!("{}: {error}; without `--check` it is made", file.display()))?;
        let verdict = check(exercise, &answer);
        print!("{}: {verdict}", exercise.name);
        return Ok(matches!(verdict, Verdict::Right(_)));
    }
    if !cli.hint && !cli.solution {
        println!("{}: {}", exercise.name, exercise.title);
        if !file.exists() {
            file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&file, exercise.start())?;
        }
        let file = file.canonicalize()?;
        println!("the kernel to complete: {}\n\n{}", file.display(), std::fs::read_to_string(&file)?);
        println!("then `-- {0} --check`; `-- {0} --hint` helps, `-- {0} --solution` is ours", exercise.name);
    }
    Ok(true)
}

/// `0, 1, 2, ..`
fn count(n: usize) -> Vec<f32> {
    (0..n).map(|i| i as f32).collect()
}

/// Prints one puzzle; gives 1 if it is wrong.
fn show(name: &str, out: &[f32], expected: &[f32]) -> usize {
    println!("{name}\n  out:      {out:?}\n  expected: {expected:?}");
    usize::from(out != expected)
}

/// Runs all of them; gives the number of wrong ones.
fn puzzles(device: &Device) -> Result<usize, Error> {
    let stream = device.stream();
    Ok(stencils(device, &stream)?
        + reductions(device, &stream)?
        + scans(device, &stream)?
        + products(device, &stream)?)
}

fn stencils(device: &Device, stream: &Stream) -> Result<usize, Error> {
    let mut wrong = 0;
    let mut out = device.zeros([8])?;
    // The text prints 11 eight times and not its input; this is the one input that has these sums.
    pooling::launch(stream, &mut out, &device.upload(&[11.0, 0.0, 0.0, 11.0, 0.0, 0.0, 11.0, 0.0], [8])?)?;
    wrong += show("p09 pooling", &out.download()?, &[11.0; 8]);
    pooling::launch(stream, &mut out, &device.upload(&count(8), [8])?)?;
    wrong += show("p09 pooling of 0..8", &out.download()?, &[0.0, 1.0, 3.0, 6.0, 9.0, 12.0, 15.0, 18.0]);

    let mut out = device.zeros([6])?;
    conv_1d_simple::launch(
        stream,
        &mut out,
        &device.upload(&count(6), [6])?,
        &device.upload(&count(3), [3])?,
    )?;
    wrong += show("p11 conv1d, one block", &out.download()?, &[5.0, 8.0, 11.0, 14.0, 5.0, 0.0]);

    let (a, b) = (device.upload(&count(15), [15])?, device.upload(&count(4), [4])?);
    let mut out = device.zeros([15])?;
    conv_1d_block_boundary::launch(stream, &mut out, &a, &b)?;
    let expected = [14.0, 20.0, 26.0, 32.0, 38.0, 44.0, 50.0, 56.0, 62.0, 68.0, 74.0, 80.0, 41.0, 14.0, 0.0];
    wrong += show("p11 conv1d over blocks", &out.download()?, &expected);

    let (image, filter) = (device.upload(&[1.0; 12 * 16], [12, 16])?, device.upload(&[1.0; 9], [3, 3])?);
    let mut out = device.zeros([12, 16])?;
    conv_2d_halo::launch(stream, &mut out, &image, &filter)?;
    // Of a window that starts at (y, x) this many ones are inside the image.
    let inside = |at: usize, size: usize| (size - at).min(3) as f32;
    let expected: Vec<f32> = (0..12 * 16).map(|i| inside(i / 16, 12) * inside(i % 16, 16)).collect();
    wrong += show("p11 conv2d", &out.download()?, &expected);
    Ok(wrong)
}

fn reductions(device: &Device, stream: &Stream) -> Result<usize, Error> {
    let mut wrong = 0;
    let eight = device.upload(&count(8), [8])?;
    let mut out = device.zeros([1])?;
    dot_product::launch(stream, &mut out, &eight, &eight)?;
    wrong += show("p10 dot product", &out.download()?, &[140.0]);

    let a = device.upload(&count(24), [4, 6])?;
    let mut rows = device.zeros([4, 1])?;
    row_sum::launch(stream, &mut rows, &a)?;
    wrong += show("p13 sums of rows", &rows.download()?, &[15.0, 51.0, 87.0, 123.0]);
    let mut columns = device.zeros([1, 6])?;
    column_sum::launch(stream, &mut columns, &a)?;
    wrong += show("p13 sums of columns", &columns.download()?, &[36.0, 40.0, 44.0, 48.0, 52.0, 56.0]);
    Ok(wrong)
}

fn scans(device: &Device, stream: &Stream) -> Result<usize, Error> {
    let mut wrong = 0;
    let eight = device.upload(&count(8), [8])?;
    let expected = [0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0];
    let mut out = device.zeros([8])?;
    prefix_sum_simple::launch(stream, &mut out, &eight)?;
    wrong += show("p12 prefix sum, Hillis-Steele", &out.download()?, &expected);
    out.poison()?;
    prefix_sum_blelloch::launch(stream, &mut out, &eight)?;
    wrong += show("p12 prefix sum, Blelloch", &out.download()?, &expected);

    // Launches on one stream run one after the other: no wait on the host between them.
    let mut out = device.zeros([15 + 2])?;
    prefix_sum_local::launch(stream, &mut out, &device.upload(&count(15), [15])?)?;
    prefix_sum_add_totals::launch(stream, &mut out, 15)?;
    let expected =
        [0.0, 1.0, 3.0, 6.0, 10.0, 15.0, 21.0, 28.0, 36.0, 45.0, 55.0, 66.0, 78.0, 91.0, 105.0, 28.0, 77.0];
    wrong += show("p12 prefix sum over blocks, then the blocks' totals", &out.download()?, &expected);
    Ok(wrong)
}

fn products(device: &Device, stream: &Stream) -> Result<usize, Error> {
    let mut wrong = 0;
    let operands = |size: usize| -> Result<[Tensor<f32, 2>; 3], Error> {
        let twice: Vec<f32> = count(size * size).iter().map(|x| 2.0 * x).collect();
        let (a, b) =
            (device.upload(&count(size * size), [size, size])?, device.upload(&twice, [size, size])?);
        Ok([a, b, device.zeros([size, size])?])
    };
    let [a, b, mut out] = operands(2)?;
    let expected = [4.0, 6.0, 12.0, 22.0];
    matmul_naive::launch(stream, &mut out, &a, &b)?;
    wrong += show("p14 matmul, naive", &out.download()?, &expected);
    out.poison()?;
    matmul_shared::launch(stream, &mut out, &a, &b)?;
    wrong += show("p14 matmul, shared", &out.download()?, &expected);

    let [a, b, mut out] = operands(8)?;
    matmul_tiled::launch(stream, &mut out, &a, &b)?;
    wrong += show("p14 matmul, tiled by hand", &out.download()?, &product(8));
    out.poison()?;
    matmul_layout_tensor::launch(stream, &mut out, &a, &b)?;
    wrong += show("p14 matmul, tiled by views", &out.download()?, &product(8));
    let [a, b, mut out] = operands(9)?;
    matmul_layout_tensor::launch(stream, &mut out, &a, &b)?;
    wrong += show("p14 matmul, tiled by views, 9 x 9", &out.download()?, &product(9));
    Ok(wrong)
}

/// `C[i, j] = sum over k of (size i + k) * 2 (size k + j)`: 2240, 2296, .., 33992 for a size of 8.
fn product(size: usize) -> Vec<f32> {
    let element = |i: usize, j: usize| (0..size).map(|k| (size * i + k) * 2 * (size * k + j)).sum::<usize>();
    (0..size * size).map(|at| element(at / size, at % size) as f32).collect()
}
