//! Prefix sums: beside the best device copy of as many bytes.

use super::contest::{Bench, Found, Work};
use super::noise::{fill, noise};
use super::{Result, parallel};
use layout_kernels::memory::{self, ScanState};

/// Prefix sums of `n` elements.
pub fn scan(bench: &mut Bench<'_>, n: usize) -> Result<()> {
    let stream = bench.stream.clone();
    let mut x = stream.zeros::<f32, 1>([n])?;
    fill(&stream, &mut x, 31)?;
    let mut out = stream.zeros::<f32, 1>([n])?;
    let mut state = ScanState::new(&stream, n)?;
    for (name, exclusive) in [("inclusive_scan", false), ("exclusive_scan", true)] {
        let work = Work::new(name, "f32", &[n], 8.0, 1.0);
        out.poison()?;
        match exclusive {
            false => memory::inclusive_scan(&stream, &x, &mut out, &mut state)?,
            true => memory::exclusive_scan(&stream, &x, &mut out, &mut state)?,
        }
        let found = check(&out.download()?, exclusive);
        bench.beside_copy(&work, found, name, || match exclusive {
            false => memory::inclusive_scan(&stream, &x, &mut out, &mut state),
            true => memory::exclusive_scan(&stream, &x, &mut out, &mut state),
        })?;
    }
    Ok(())
}

/// Compares with the prefix sums in float64.
fn check(found: &[f32], exclusive: bool) -> Found {
    let n = found.len();
    let value = |i: usize| f64::from(noise(i, 31));
    let sums = parallel(n, |range| {
        let start = range.start;
        let all = range.fold([0.0, 0.0], |[sum, size], i| [sum + value(i), size + value(i).abs()]);
        (start, all)
    });
    let parts = parallel(n, |range| {
        let before = sums.iter().filter(|(start, _)| *start < range.start);
        let [mut sum, mut size] = before.fold([0.0, 0.0], |[a, b], (_, [c, d])| [a + c, b + d]);
        let mut all = Found::default();
        for i in range {
            if exclusive {
                all.add(
                    i,
                    (f64::from(found[i]) - sum).abs() / (size + 1e-30),
                    memory::SCAN_UNITS * 2f64.powi(-24),
                );
            }
            sum += value(i);
            size += value(i).abs();
            if !exclusive {
                all.add(
                    i,
                    (f64::from(found[i]) - sum).abs() / (size + 1e-30),
                    memory::SCAN_UNITS * 2f64.powi(-24),
                );
            }
        }
        all
    });
    parts.into_iter().fold(Found::default(), Found::and)
}
