//! Pictures of records, as SVG: the ladder beside cuBLAS, kernels under the roofline, products over sizes.
//!
//! Law: a picture is a function of the records alone, a roofline's of the roofs too; of several records of one measurement it shows
//! the last.

use super::Result;
use super::peaks::Roofs;
use layout_cuda::roofline::{Peaks, Units, Work};
use layout_cuda::{Elem, Properties};
use layout_examples::programs::analysis::Point;
use plotters::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;

/// Width and height of a picture, pixels.
const SIZE: (u32, u32) = (900, 520);
const OURS: RGBColor = RGBColor(37, 99, 180);
const PEER: RGBColor = RGBColor(120, 120, 120);
const INK: RGBColor = RGBColor(40, 40, 40);

/// A measurement of a record.
#[derive(Clone, Debug)]
pub struct Measured {
    workload: String,
    kernel: String,
    dtype: String,
    shape: Vec<usize>,
    ms: f64,
    rate: f64,
    ratio: Option<f64>,
    device: String,
}

/// The measurements of records, one JSON object a line, each the last of its kind.
///
/// # Errors
/// A line that is no record.
pub fn read(text: &str) -> Result<Vec<Measured>> {
    let mut last: BTreeMap<String, Measured> = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let shape = value["shape"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let measured = Measured {
            workload: word("workload"),
            kernel: word("kernel"),
            dtype: word("dtype"),
            shape: shape.map(|extent| extent as usize).collect(),
            ms: value["ms"].as_f64().unwrap_or(f64::NAN),
            rate: value["rate"].as_f64().unwrap_or(f64::NAN),
            ratio: value["ratio"].as_f64(),
            device: word("device"),
        };
        let key =
            format!("{}|{}|{}|{:?}", measured.workload, measured.kernel, measured.dtype, measured.shape);
        last.insert(key, measured);
    }
    Ok(last.into_values().collect())
}

/// The name of the GPU that the records are of, `NVIDIA H200`; none of no record.
///
/// # Errors
/// Records of several.
pub fn card(all: &[Measured]) -> Result<Option<&str>> {
    let gpus = all.iter().filter_map(|one| one.device.strip_prefix("GPU "));
    let names = gpus.filter_map(|device| device.split_once(": ")?.1.split(',').next());
    let names: std::collections::BTreeSet<&str> = names.collect();
    match names.len() {
        0 | 1 => Ok(names.first().copied()),
        _ => {
            let names: Vec<&str> = names.into_iter().collect();
            Err(format!("the records are of {}; a picture is of one device", names.join(" and ")).into())
        }
    }
}

/// The card's name without its maker's.
fn short(all: &[Measured]) -> Result<&str> {
    Ok(card(all)?.map_or("device", |name| name.strip_prefix("NVIDIA ").unwrap_or(name)))
}

fn find<'m>(
    all: &'m [Measured],
    workload: &str,
    kernel: &str,
    dtype: &str,
    shape: &[usize],
) -> Option<&'m Measured> {
    all.iter().find(|one| {
        (one.workload.as_str(), one.kernel.as_str(), one.dtype.as_str()) == (workload, kernel, dtype)
            && one.shape == shape
    })
}

/// A picture and what it shows, for those who do not see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The file's name.
    pub name: &'static str,
    /// The numbers in words.
    pub text: String,
    /// The SVG.
    pub svg: String,
}

/// An SVG with its text as title.
fn titled(svg: &str, text: &str) -> String {
    match svg.find('>') {
        Some(end) => {
            let (head, rest) = svg.split_at(end);
            format!("{head} role=\"img\"><title>{text}</title>{}", &rest[1..])
        }
        None => svg.to_owned(),
    }
}

/// The ladder at 4096 cubed, float32: a bar a kernel.
///
/// # Errors
/// Records that lack it.
pub fn ladder(all: &[Measured]) -> Result<Picture> {
    let names = [
        "naive",
        "coalescing",
        "tiled",
        "tiled_register",
        "block_tiled",
        "block_tiled_vectorized",
        "sgemm",
        "sgemm_fed",
        "cublas",
    ];
    let shape = [4096; 3];
    let bars: Vec<(&str, f64)> = names
        .iter()
        .filter_map(|name| Some((*name, find(all, "matmul", name, "f32", &shape)?.rate)))
        .collect();
    if bars.is_empty() {
        return Err("no record of `matmul` in float32 at 4096 x 4096 x 4096; `bench -- matmul --size 4096 4096 4096 --json FILE` makes them".into());
    }
    let title = format!("C = A B, 4096 x 4096 x 4096, float32: TFLOP/s on one {}", short(all)?);
    let numbers: Vec<String> = bars.iter().map(|(name, rate)| format!("{name} {rate:.1}")).collect();
    let text = format!("The ladder at 4096 x 4096 x 4096, float32, TFLOP/s: {}", numbers.join(", "));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let most = bars.iter().map(|bar| bar.1).fold(0.0, f64::max) * 1.15;
        let (step, left) = ((SIZE.1 as i32 - 60) / bars.len() as i32, 230);
        let font = |size: i32| ("sans-serif", size).into_font().color(&INK);
        root.draw(&Text::new(title, (20, 14), font(18)))?;
        for (number, (name, rate)) in bars.iter().enumerate() {
            let top = 50 + number as i32 * step;
            let width = (rate / most * f64::from(SIZE.0 as i32 - left - 90)) as i32;
            let color = if *name == "cublas" { PEER } else { OURS };
            let bar = [(left, top + 4), (left + width.max(1), top + step - 8)];
            root.draw(&Rectangle::new(bar, color.filled()))?;
            root.draw(&Text::new(*name, (20, top + step / 2 - 10), font(15)))?;
            root.draw(&Text::new(format!("{rate:.1}"), (left + width + 8, top + step / 2 - 10), font(15)))?;
        }
        root.present()?;
    }
    Ok(Picture { name: "ladder.svg", svg: titled(&svg, &text), text })
}

/// The point of some work in so many milliseconds.
fn point(name: &str, work: Work, ms: f64) -> Point {
    let measured = Some(work.flops / ms * 1e-6);
    Point { name: name.into(), intensity: work.intensity(), measured }
}

/// The kernels of the records that have a place under the roofline.
pub fn points(all: &[Measured]) -> Vec<Point> {
    let mut points = vec![];
    let cube = [4096; 3];
    for name in ["naive", "coalescing", "tiled", "tiled_register", "block_tiled", "sgemm_fed"] {
        let found = find(all, "matmul", name, "f32", &cube);
        points.extend(found.map(|one| point(name, Work::product(cube, Elem::F32), one.ms)));
    }
    let best = |workload: &str, dtype: &str, shape: &[usize]| {
        let own =
            all.iter().filter(|one| one.workload == workload && one.dtype == dtype && one.shape == shape);
        let ours = own.filter(|one| one.ratio.is_some());
        ours.min_by(|a, b| a.ms.total_cmp(&b.ms)).map(|one| one.ms)
    };
    let large = [8192; 3];
    for (name, dtype, elem) in [
        ("gemm tf32", "tf32", Elem::F32),
        ("gemm bf16", "bf16", Elem::Bf16),
        ("gemm e4m3", "e4m3", Elem::E4m3),
    ] {
        let ms = best("gemm", dtype, &large);
        points.extend(ms.map(|ms| point(name, Work::product(large, elem), ms)));
    }
    // Operations and bytes of an element: a sum adds it; a 5 x 5 convolution multiplies and adds 25 times, a softmax compares,
    // subtracts, takes a power, adds, multiplies, and both read and write it.
    for (name, flops, bytes) in [("sum", 1.0, 4.0), ("conv2d", 50.0, 8.0), ("softmax", 5.0, 8.0)] {
        let ours = all.iter().filter(|one| one.workload == name && one.ratio.is_some());
        let largest = ours.max_by_key(|one| one.shape.iter().product::<usize>());
        points.extend(largest.map(|one| {
            let count = one.shape.iter().product::<usize>() as f64;
            point(name, Work { flops: flops * count, bytes: bytes * count }, one.ms)
        }));
    }
    points
}

/// The kinds of units that have a roof, by their labels, as the roofs know them.
pub fn named(roofs: &Roofs) -> Vec<(&'static str, Peaks)> {
    let kinds = [
        ("float32", Units::Threads(Elem::F32)),
        ("TF32", Units::Matrix(Elem::F32)),
        ("bf16", Units::Matrix(Elem::Bf16)),
        ("8 bits", Units::Matrix(Elem::E4m3)),
    ];
    kinds.into_iter().filter_map(|(name, units)| Some((name, roofs.of(units)?))).collect()
}

/// Kernels under the roofs of a device of this name. A point that was not measured is on its roof, the first one.
///
/// # Errors
/// No roof, or no point under it.
pub fn roofline(device: &str, roofs: &[(&str, Peaks)], points: &[Point]) -> Result<Picture> {
    let Some((_, first)) = roofs.first() else {
        return Err(format!("no roof of {device}; `bench -- peaks FILE` measures them").into());
    };
    if points.is_empty() {
        return Err("no record of `matmul` at 4096 x 4096 x 4096, of `gemm` at 8192 x 8192 x 8192, of `sum`, `conv2d` or `softmax`; `bench -- WORKLOAD --json FILE` makes them, and `--point` draws others".into());
    }
    let rate = |point: &Point| point.gflops(*first) * 1e-3;
    let said = points
        .iter()
        .map(|one| format!("{} {:.2} operations a byte, {:.2} TFLOP/s", one.name, one.intensity, rate(one)));
    let text = format!("Roofline of {device}: {}", said.collect::<Vec<_>>().join("; "));
    // Every point is inside, and so are the roofs.
    let least =
        |usual: f64, of: &dyn Fn(&Point) -> f64| points.iter().map(of).fold(usual, |a, b| a.min(b / 2.0));
    let most =
        |usual: f64, of: &dyn Fn(&Point) -> f64| points.iter().map(of).fold(usual, |a, b| a.max(b * 2.0));
    let highest = roofs.iter().map(|roof| roof.1.flops).fold(0.0, f64::max);
    let across = least(0.1, &|one| one.intensity)..most(20_000.0, &|one| one.intensity);
    let foot = across.start * first.bytes * 1e-12;
    let up = least(0.05, &rate).min(foot)..most(4_000.0, &rate).max(highest * 1.2e-12);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&root)
            .margin(14)
            .caption(format!("Roofline of an {device}"), ("sans-serif", 18))
            .x_label_area_size(42)
            .y_label_area_size(62)
            .build_cartesian_2d(across.clone().log_scale(), up.log_scale())?;
        chart
            .configure_mesh()
            .x_desc("operations a byte of memory")
            .y_desc("TFLOP/s")
            .light_line_style(WHITE.mix(0.0))
            .label_style(("sans-serif", 13))
            .draw()?;
        let slope = [across.start, highest / first.bytes].map(|i| (i, i * first.bytes * 1e-12));
        chart.draw_series(LineSeries::new(slope, INK.stroke_width(2)))?;
        for (name, peaks) in roofs {
            let height = peaks.flops * 1e-12;
            let line = [(peaks.critical_intensity(), height), (across.end, height)];
            chart.draw_series(LineSeries::new(line, INK.stroke_width(2)))?;
            let label = EmptyElement::at((1.2 * peaks.critical_intensity(), height))
                + Text::new(format!("{name} {height:.0}"), (0, -15), ("sans-serif", 12).into_font());
            chart.draw_series([label])?;
        }
        for point in points {
            let at = (point.intensity, rate(point));
            chart.draw_series([Circle::new(at, 4, OURS.filled())])?;
            let label =
                EmptyElement::at(at) + Text::new(point.name.clone(), (7, -7), ("sans-serif", 12).into_font());
            chart.draw_series([label])?;
        }
        root.present()?;
    }
    Ok(Picture { name: "roofline.svg", svg: titled(&svg, &text), text })
}

/// bf16 products over sizes, as multiples of cuBLAS.
///
/// # Errors
/// Records that lack them.
pub fn sizes(all: &[Measured]) -> Result<Picture> {
    let gemm = all.iter().filter(|one| one.workload == "gemm" && one.dtype == "bf16");
    let mut best: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for one in gemm {
        if let Some(ratio) = one.ratio {
            let known = best.entry(one.shape.clone()).or_insert(ratio);
            *known = known.max(ratio);
        }
    }
    if best.is_empty() {
        return Err("no record of `gemm` in bf16; `bench -- gemm --dtype bf16 --json FILE` makes them".into());
    }
    let title = format!("bf16 products on one {}: multiples of cuBLAS's speed", short(all)?);
    let bars: Vec<(String, f64)> = best
        .into_iter()
        .map(|(shape, ratio)| (shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x "), ratio))
        .collect();
    let said: Vec<String> = bars.iter().map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
    let text = format!(
        "bf16 products as multiples of cuBLAS's speed, the best layout of each size: {}",
        said.join(", ")
    );
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let font = |size: i32| ("sans-serif", size).into_font().color(&INK);
        root.draw(&Text::new(title, (20, 14), font(18)))?;
        let most = bars.iter().map(|bar| bar.1).fold(1.0, f64::max) * 1.1;
        let (step, left) = ((SIZE.1 as i32 - 60) / bars.len() as i32, 230);
        let wide = f64::from(SIZE.0 as i32 - left - 90);
        for (number, (name, ratio)) in bars.iter().enumerate() {
            let top = 50 + number as i32 * step;
            let width = (ratio / most * wide) as i32;
            root.draw(&Rectangle::new([(left, top + 6), (left + width, top + step - 10)], OURS.filled()))?;
            root.draw(&Text::new(name.as_str(), (20, top + step / 2 - 10), font(15)))?;
            root.draw(&Text::new(format!("{ratio:.2}"), (left + width + 8, top + step / 2 - 10), font(15)))?;
        }
        let one = left + (wide / most) as i32;
        root.draw(&PathElement::new([(one, 44), (one, SIZE.1 as i32 - 10)], PEER.stroke_width(2)))?;
        root.present()?;
    }
    Ok(Picture { name: "sizes.svg", svg: titled(&svg, &text), text })
}

/// An H200, as its driver describes it: the roofs of records of one, where none are given.
pub fn h200() -> Properties {
    Properties {
        name: "NVIDIA H200".into(),
        compute_capability: (9, 0),
        arch: "sm_90a".into(),
        multiprocessors: 132,
        shared_bytes_per_block: 232_448,
        l2_bytes: 60 << 20,
        driver: (13, 0),
        clock_khz: 1_980_000,
        memory_clock_khz: 3_201_000,
        memory_bus_bits: 6144,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOFTMAX: &str = r#"{"workload":"softmax","kernel":"softmax","dtype":"f32","shape":[64,64],"ms":0.01,"rate":1.0,"ratio":1.0,"device":"GPU 0: NVIDIA H100 80GB HBM3, sm_90a"}"#;

    #[test]
    fn what_is_missing_is_named() {
        let all = read(SOFTMAX).expect("a record");
        let missing = |picture: Result<Picture>| picture.expect_err("it lacks records").to_string();
        assert!(
            missing(ladder(&all)).starts_with("no record of `matmul` in float32 at 4096 x 4096 x 4096; ")
        );
        assert!(missing(sizes(&all)).starts_with("no record of `gemm` in bf16; "));
        assert!(
            missing(roofline("x", &named(&Roofs::default()), &points(&all))).starts_with("no roof of x; ")
        );
        let roof = [("float32", Peaks { flops: 1e12, bytes: 1e9 })];
        assert!(missing(roofline("x", &roof, &points(&[]))).starts_with("no record of `matmul` at "));
    }

    #[test]
    fn any_card_has_a_roofline() {
        let all = read(SOFTMAX).expect("a record");
        assert_eq!(card(&all).expect("one device"), Some("NVIDIA H100 80GB HBM3"));
        let measured = serde_json::json!({ "float32": 50.0, "memory": 3000.0 });
        let roofs = named(&Roofs { device: None, measured: Some(measured) });
        let mut shown = points(&all);
        shown.push("far left=0.001,0.01".parse().expect("a point"));
        let picture = roofline("NVIDIA H100 80GB HBM3", &roofs, &shown).expect("a picture");
        let said =
            "Roofline of NVIDIA H100 80GB HBM3: softmax 0.62 operations a byte, 0.00 TFLOP/s; far left 0.00";
        assert!(picture.text.starts_with(said), "{}", picture.text);
        // In the title, and as the label of its point.
        let drawn = |name: &str| picture.svg.matches(name).count() == 2;
        assert!(picture.svg.contains("float32 50") && drawn("far left") && drawn("softmax"));
        let other = SOFTMAX.replace("H100 80GB HBM3", "H200");
        let both = read(&format!("{SOFTMAX}\n{}", other.replace("softmax", "sum"))).expect("records");
        assert!(
            card(&both)
                .expect_err("two devices")
                .to_string()
                .contains("NVIDIA H100 80GB HBM3 and NVIDIA H200")
        );
    }
}
