//! Scratch.
use layout_cuda::{Device, LaunchConfig, bench, ParamValue};
use layout_examples::kernels::memory as k;
use layout_examples::memory::set;
use layout_examples::noise::fill;
fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Ok(dir) = std::env::var("DUMP") {
        for d in [&k::softmax_in_parts::DEFINITION, &k::layer_norm_in_parts::DEFINITION] {
            for v in d.variants {
                std::fs::write(format!("{dir}/{}.cu", v.entry), v.text)?;
            }
        }
        return Ok(());
    }
    let device = Device::best();
    println!("{}", device.describe());
    let stream = device.stream();
    let sim = device.is_simulator();
    let once = bench::Options { warm_up: 1, samples: if sim {1} else {7}, calls: 1, flush_l2: !sim };
    let shapes: &[[usize; 2]] = if sim { &[[2, 131072], [3, 32768]] } else { &[[16384, 131072], [16384, 65536], [16384, 32768]] };
    let sides: &[usize] = if sim { &[132] } else { &[32768, 16384, 16381] };
    for side in sides.iter().copied() {
        let x = stream.zeros::<f32, 2>([side, side])?;
        let mut out = stream.zeros::<f32, 2>([side, side])?;
        let copy = {
            let xs = x.part(0, [side * side], [1])?;
            let mut os = out.part_mut(0, [side * side], [1])?;
            bench::time(&stream, &once, || k::copy::launch(&stream, &xs, &mut os))?.median_ms()
        };
        println!("[{side}] copy f32 {copy:.4} ms {:.0}", 8.0 * (side * side) as f64 / copy * 1e-6);
        let t = bench::time(&stream, &once, || k::transpose::launch(&stream, &x, &mut out))?;
        println!("  f32 {:.3}", copy / t.median_ms());
        for (rows, cols) in [(64, 64), (32, 32), (128, 32), (32, 128), (64, 32), (32, 64), (96, 64), (64, 96)] {
            let s = set(&[("ROWS", rows), ("COLS", cols)]).with("T", ParamValue::Type(layout_core::kernel::Elem::F32));
            let config = LaunchConfig { set: Some(&s), ..LaunchConfig::default() };
            let t = bench::time(&stream, &once, || k::transpose_by_elements::launch_with(config, &stream, &x, &mut out));
            match t { Ok(t) => println!("  f32 elements {rows}x{cols} {:.3}", copy / t.median_ms()), Err(e) => println!("  {e}") }
        }
        if side % 4 == 0 {
            for sw in [false, true] { for columns in [1, 2, 4, 8] {
                let s = set(&[("COLUMNS", columns)]).with("SWIZZLED", ParamValue::Bool(sw));
                let config = LaunchConfig { set: Some(&s), ..LaunchConfig::default() };
                let t = bench::time(&stream, &once, || k::transpose_by_boxes::launch_with(config, &stream, &x, &mut out))?;
                println!("  boxes {sw} {columns} {:.3}", copy / t.median_ms());
            } }
        }
        let x = stream.zeros::<layout_cuda::bf16, 2>([side, side])?;
        let mut out = stream.zeros::<layout_cuda::bf16, 2>([side, side])?;
        let t = bench::time(&stream, &once, || layout_examples::memory::transpose(&stream, &x, &mut out))?;
        println!("  bf16 {:.3}", copy / 2.0 / t.median_ms());
        for (rows, cols) in [(64, 64), (128, 64), (64, 128)] {
            let s = set(&[("ROWS", rows), ("COLS", cols)]).with("T", ParamValue::Type(layout_core::kernel::Elem::Bf16));
            let config = LaunchConfig { set: Some(&s), ..LaunchConfig::default() };
            let t = bench::time(&stream, &once, || k::transpose_by_elements::launch_with(config, &stream, &x, &mut out))?;
            println!("  bf16 elements {rows}x{cols} {:.3}", copy / 2.0 / t.median_ms());
        }
    }
    for [m, n] in shapes.iter().copied() {
        let mut x = stream.zeros::<f32, 2>([m, n])?;
        fill(&stream, &mut x, 1)?;
        let mut out = stream.zeros::<f32, 2>([m, n])?;
        let (mut scale, mut shift) = (stream.zeros::<f32, 1>([n])?, stream.zeros::<f32, 1>([n])?);
        fill(&stream, &mut scale, 2)?;
        fill(&stream, &mut shift, 3)?;
        let copy = {
            let xs = x.part(0, [m * n], [1])?;
            let mut os = out.part_mut(0, [m * n], [1])?;
            bench::time(&stream, &once, || k::copy::launch(&stream, &xs, &mut os))?.median_ms()
        };
        println!("[{m}, {n}] copy {:.4} ms {:.0} GB/s", copy, 8.0 * (m * n) as f64 / copy * 1e-6);
        for (per, threads, rounds) in [(8, 512, 8), (4, 1024, 8), (8, 256, 16), (4, 512, 16), (8, 1024, 4), (2,1024,8),(2,512,8),(4,512,8)] {
            if per * threads * rounds * 4 < n || per * threads * rounds * 4 > n { continue; }
            let s = set(&[("PARTS", per), ("THREADS", threads), ("ROUNDS", rounds)]);
            let config = LaunchConfig { set: Some(&s), ..LaunchConfig::default() };
            match bench::time(&stream, &once, || k::softmax_in_parts::launch_with(config, &stream, &x, &mut out)) {
                Ok(t) => println!("  softmax {per} x {threads} x {rounds}: {:.3}", copy / t.median_ms()),
                Err(e) => println!("  softmax {per} x {threads} x {rounds}: {}", e.to_string().lines().next().unwrap_or("")),
            }
        }
        for (per, threads, rounds, rows, kept) in [(8, 512, 8, 64, true), (8, 512, 8, 16, true), (8, 512, 8, 4, true), (8, 512, 8, 1, false), (8, 512, 8, 64, false), (4, 1024, 8, 1, false), (4, 512, 8, 64, true), (4, 512, 8, 8, true), (2, 512, 8, 64, true), (2, 512, 8, 8, true), (2, 512, 8, 1, false), (8, 256, 4, 64, true), (8, 128, 8, 64, true), (8, 256, 8, 64, true)] {
            if per * threads * rounds * 4 < n || per * threads * rounds * 4 > n { continue; }
            let rows = if sim { rows.min(2) } else { rows };
            let s = set(&[("PARTS", per), ("THREADS", threads), ("ROUNDS", rounds), ("ROWS", rows)]).with("KEPT", ParamValue::Bool(kept));
            let config = LaunchConfig { set: Some(&s), ..LaunchConfig::default() };
            match bench::time(&stream, &once, || k::layer_norm_in_parts::launch_with(config, &stream, &x, &scale, &shift, &mut out, 1e-5)) {
                Ok(t) => println!("  norm {per} x {threads} x {rounds} rows {rows} kept {kept}: {:.3}", copy / t.median_ms()),
                Err(e) => println!("  norm {per} x {threads} x {rounds} rows {rows} kept {kept}: {}", e.to_string().lines().next().unwrap_or("")),
            }
        }
    }
    Ok(())
}
