//! Pictures of records, as SVG: the ladder beside cuBLAS, kernels under the roofline, products over sizes.
//!
//! Law: a picture is a function of the records alone; of several records of one measurement it shows the last.

use super::Result;
use layout_cuda::roofline::{Peaks, Work};
use layout_cuda::{Elem, Properties};
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
        };
        let key =
            format!("{}|{}|{}|{:?}", measured.workload, measured.kernel, measured.dtype, measured.shape);
        last.insert(key, measured);
    }
    Ok(last.into_values().collect())
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
        return Err("no record of `matmul` at 4096 x 4096 x 4096".into());
    }
    let numbers: Vec<String> = bars.iter().map(|(name, rate)| format!("{name} {rate:.1}")).collect();
    let text = format!("The ladder at 4096 x 4096 x 4096, float32, TFLOP/s: {}", numbers.join(", "));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let most = bars.iter().map(|bar| bar.1).fold(0.0, f64::max) * 1.15;
        let (step, left) = ((SIZE.1 as i32 - 60) / bars.len() as i32, 230);
        let font = |size: i32| ("sans-serif", size).into_font().color(&INK);
        root.draw(&Text::new(
            "C = A B, 4096 x 4096 x 4096, float32: TFLOP/s on one H200",
            (20, 14),
            font(18),
        ))?;
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

/// A point under the roofline.
struct Point {
    name: String,
    work: Work,
    ms: f64,
}

fn points(all: &[Measured]) -> Vec<Point> {
    let mut points = vec![];
    let cube = [4096; 3];
    for name in ["naive", "coalescing", "tiled", "tiled_register", "block_tiled", "sgemm_fed"] {
        let found = find(all, "matmul", name, "f32", &cube);
        points.extend(found.map(|one| Point {
            name: name.into(),
            work: Work::product(cube, Elem::F32),
            ms: one.ms,
        }));
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
        points.extend(ms.map(|ms| Point { name: name.into(), work: Work::product(large, elem), ms }));
    }
    // Operations and bytes of an element: a sum adds it; a 5 x 5 convolution multiplies and adds 25 times, a softmax compares,
    // subtracts, takes a power, adds, multiplies, and both read and write it.
    for (name, flops, bytes) in [("sum", 1.0, 4.0), ("conv2d", 50.0, 8.0), ("softmax", 5.0, 8.0)] {
        let ours = all.iter().filter(|one| one.workload == name && one.ratio.is_some());
        let largest = ours.max_by_key(|one| one.shape.iter().product::<usize>());
        points.extend(largest.map(|one| {
            let count = one.shape.iter().product::<usize>() as f64;
            Point { name: name.into(), work: Work { flops: flops * count, bytes: bytes * count }, ms: one.ms }
        }));
    }
    points
}

/// Kernels under the roofs of a device.
///
/// # Errors
/// Records that lack all of them.
pub fn roofline(all: &[Measured], device: &Properties) -> Result<Picture> {
    use layout_cuda::roofline::Units::{Matrix, Threads};
    let roofs = [
        ("float32", Threads(Elem::F32)),
        ("TF32", Matrix(Elem::F32)),
        ("bf16", Matrix(Elem::Bf16)),
        ("8 bits", Matrix(Elem::E4m3)),
    ];
    let roofs: Vec<(&str, Peaks)> =
        roofs.into_iter().filter_map(|(name, units)| Some((name, Peaks::of(device, units)?))).collect();
    let points = points(all);
    let (Some((_, first)), false) = (roofs.first(), points.is_empty()) else {
        return Err("no roof, or no record under it".into());
    };
    let rate = |point: &Point| point.work.flops / point.ms * 1e-9;
    let said: Vec<String> = points
        .iter()
        .map(|one| {
            format!("{} {:.2} operations a byte, {:.2} TFLOP/s", one.name, one.work.intensity(), rate(one))
        })
        .collect();
    let text = format!("Roofline of {}: {}", device.name, said.join("; "));
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE)?;
        let (x, y) = ((0.1f64..20_000.0).log_scale(), (0.05f64..4_000.0).log_scale());
        let mut chart = ChartBuilder::on(&root)
            .margin(14)
            .caption(format!("Roofline of an {}", device.name), ("sans-serif", 18))
            .x_label_area_size(42)
            .y_label_area_size(62)
            .build_cartesian_2d(x, y)?;
        chart
            .configure_mesh()
            .x_desc("operations a byte of memory")
            .y_desc("TFLOP/s")
            .light_line_style(WHITE.mix(0.0))
            .label_style(("sans-serif", 13))
            .draw()?;
        let highest = roofs.iter().map(|roof| roof.1.flops).fold(0.0, f64::max);
        let slope = [0.1, highest / first.bytes].map(|i| (i, i * first.bytes * 1e-12));
        chart.draw_series(LineSeries::new(slope, INK.stroke_width(2)))?;
        for (name, peaks) in &roofs {
            let height = peaks.flops * 1e-12;
            let line = [(peaks.critical_intensity(), height), (20_000.0, height)];
            chart.draw_series(LineSeries::new(line, INK.stroke_width(2)))?;
            let label = EmptyElement::at((1.2 * peaks.critical_intensity(), height))
                + Text::new(format!("{name} {height:.0}"), (0, -15), ("sans-serif", 12).into_font());
            chart.draw_series([label])?;
        }
        for point in &points {
            let at = (point.work.intensity(), rate(point));
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
        return Err("no record of `gemm` in bf16".into());
    }
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
        root.draw(&Text::new("bf16 products on one H200: multiples of cuBLAS's speed", (20, 14), font(18)))?;
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

/// An H200, as its driver describes it: the records are of one.
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
