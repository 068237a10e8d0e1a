//! Attention among the mutants: a problem with odd lengths, of which the simulator's word counts; what is computed
//! `tests/attention.rs` holds against the definition.

use layout_cuda::{Error, ParamValue, bf16};
use layout_examples::kernels::attention::attention;
use layout_tests::support::case::{Case, Outcome, Run};
use layout_tests::support::data::doubles;

/// Attention over whole sequences in bf16; a size is queries, keys, heads.
pub fn cases() -> Vec<Case> {
    let sizes = vec![[65, 130, 1], [1, 1, 1], [200, 257, 2]];
    vec![Case::new(&attention::DEFINITION, sizes, run).with("PACKED", ParamValue::Bool(false))]
}

fn run(run: &Run<'_>) -> Result<Outcome, Error> {
    let [m, n, heads] = run.size;
    // The kernel's listed head dimension.
    let d = 128;
    let values = |rows: usize, seed: u64| -> Vec<bf16> {
        doubles(heads * rows * d, seed).into_iter().map(bf16::from_f64).collect()
    };
    let of = |rows: usize, seed: u64| run.device.upload(&values(rows, seed), [1, heads, rows, d]);
    let (q, k, v) = (of(m, 1)?, of(n, 2)?, of(n, 3)?);
    let ends = run.device.zeros::<i32, 1>([0])?;
    let mut o = run.device.zeros::<bf16, 4>([1, heads, m, d])?;
    let mut logs = run.device.zeros::<f32, 3>([1, heads, m])?;
    let (scale, strength, window) = (1.0 / (d as f32).sqrt(), 2.0, 40);
    let (config, stream) = (run.config(), run.stream());
    attention::launch_with(
        config, &stream, &q, &k, &v, &ends, &ends, &mut o, &mut logs, m, scale, strength, window,
    )?;
    Ok(Outcome { found: Vec::new(), wanted: Vec::new(), bound: 0.0 })
}
