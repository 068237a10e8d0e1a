//! Points under a roofline: intensity, performance and share of the peak, of one's own numbers.
//!
//! Law: a point that was not measured has the performance that the roofs allow, `min(peak, intensity * bandwidth)`.

use layout_cuda::roofline::{Bound, Peaks};
use std::fmt::Write;
use std::str::FromStr;

/// A kernel under the roofs, `naive 3 x 3=0.25` or, measured, `naive 3 x 3=0.25,90`.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its label.
    pub name: String,
    /// Operations a byte.
    pub intensity: f64,
    /// 10⁹ operations a second, where they were measured.
    pub measured: Option<f64>,
}

impl Point {
    /// 10⁹ operations a second: as measured, or as the roofs allow.
    ///
    /// ```
    /// use layout_examples::programs::{analysis::Point, roofline::OF_THE_TEXT};
    /// let point: Point = "shared 3 x 3=0.45".parse()?;
    /// assert_eq!(point.gflops(OF_THE_TEXT), 162.0);
    /// # Ok::<(), String>(())
    /// ```
    pub fn gflops(&self, peaks: Peaks) -> f64 {
        self.measured.unwrap_or_else(|| peaks.attainable(self.intensity) / 1e9)
    }
}

/// A number above 0.
fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| *number > 0.0 && number.is_finite())
}

impl FromStr for Point {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no point; a point is NAME=FLOP/BYTE or NAME=FLOP/BYTE,GFLOP/S");
        let (name, numbers) = text.rsplit_once('=').ok_or_else(wrong)?;
        let (intensity, measured) = match numbers.split_once(',') {
            Some((intensity, gflops)) => (intensity, Some(positive(gflops).ok_or_else(wrong)?)),
            None => (numbers, None),
        };
        let intensity = positive(intensity).ok_or_else(wrong)?;
        Ok(Self { name: name.trim().to_owned(), intensity, measured })
    }
}

/// The peaks of a text: `26700,360`, in GFLOP/s and GB/s.
///
/// # Errors
/// A text of another form.
///
/// ```
/// use layout_examples::programs::{analysis::peaks, roofline::OF_THE_TEXT};
/// assert_eq!(peaks("26700,360"), Ok(OF_THE_TEXT));
/// assert!(peaks("26700").is_err());
/// ```
pub fn peaks(text: &str) -> Result<Peaks, String> {
    let pair = text.split_once(',').and_then(|(flops, bytes)| Some((positive(flops)?, positive(bytes)?)));
    let (flops, bytes) =
        pair.ok_or_else(|| format!("`{text}` is no pair of peaks; peaks are GFLOP/S,GB/S, as 26700,360"))?;
    Ok(Peaks { flops: flops * 1e9, bytes: bytes * 1e9 })
}

/// The estimates of the puzzles' text for a product of 3 x 3 matrices. It counts a fused multiply-add as one operation: 27 of them,
/// on 108 bytes; and on 60 where a tile of A and one of B are brought to shared memory once.
pub fn of_the_text() -> [Point; 2] {
    let point = |name: &str, bytes: f64| Point { name: name.into(), intensity: 27.0 / bytes, measured: None };
    [point("Naive 3×3", 108.0), point("Shared 3×3", (36.0 + 36.0) / 3.0 + 36.0)]
}

/// The analysis as the puzzles' text prints it.
pub fn analysis(peaks: Peaks, points: &[Point]) -> String {
    let mut text = format!("Performance Analysis:\n{}\n", "-".repeat(40));
    for point in points {
        let gflops = point.gflops(peaks);
        let share = 100.0 * gflops * 1e9 / peaks.flops;
        let _ = writeln!(text, "{}:\n  Intensity: {} FLOP/byte", point.name, point.intensity);
        let _ = writeln!(text, "  Performance: {gflops} GFLOP/s\n  Efficiency: {share:.1}% of peak");
    }
    text
}

/// Where a product of N x N matrices leaves the memory's roof: the text's intensity of it is `N / 4`.
pub fn crossing(peaks: Peaks) -> String {
    let critical = peaks.critical_intensity();
    let least = (4.0 * critical).ceil().max(1.0);
    // The quotient may be exact.
    let least = if peaks.bound(least / 4.0) == Bound::Arithmetic { least } else { least + 1.0 };
    format!(
        "the roofs meet at {critical:.1} FLOP/byte; a product of N x N matrices has N / 4, so arithmetic bounds it from N = {least} on"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::roofline::OF_THE_TEXT;

    /// Character by character what the text's program prints, and what the book shows.
    #[test]
    fn the_texts_analysis() {
        let ours = analysis(OF_THE_TEXT, &of_the_text());
        assert_eq!(
            ours,
            "Performance Analysis:\n----------------------------------------\n\
             Naive 3×3:\n  Intensity: 0.25 FLOP/byte\n  Performance: 90 GFLOP/s\n  Efficiency: 0.3% of peak\n\
             Shared 3×3:\n  Intensity: 0.45 FLOP/byte\n  Performance: 162 GFLOP/s\n  Efficiency: 0.6% of peak\n"
        );
        assert_eq!(
            format!("{ours}\n{}\n", crossing(OF_THE_TEXT)),
            include_str!("../../book/src/outputs/analysis.txt")
        );
    }

    #[test]
    fn points_and_peaks_of_ones_own() {
        let peaks = peaks("51400,4066").expect("two numbers");
        let points: Vec<Point> =
            ["a=b=4,1500", "beyond=100"].iter().map(|text| text.parse().expect("a point")).collect();
        assert_eq!((points[0].name.as_str(), points[0].gflops(peaks)), ("a=b", 1500.0));
        assert!(analysis(peaks, &points).ends_with("beyond:\n  Intensity: 100 FLOP/byte\n  Performance: 51400 GFLOP/s\n  Efficiency: 100.0% of peak\n"));
        assert!(crossing(Peaks { flops: 8e9, bytes: 1e9 }).ends_with("from N = 32 on"));
        for wrong in ["naive", "naive=", "naive=-1", "naive=0.25,", "naive=nan", "naive=1,2,3"] {
            let error = wrong.parse::<Point>().expect_err("no point");
            assert!(error.starts_with(&format!("`{wrong}` is no point")), "{error}");
        }
    }
}
