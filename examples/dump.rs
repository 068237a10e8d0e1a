use layout_cuda::bench;
use layout_cuda::cublas::{Blas, Compute};
use layout_cuda::{Device, E4m3, Element, LaunchConfig, Tensor, bf16};
use layout_examples::kernels::gemm::{gemm, gemm_by_columns};
use rand::{RngExt, SeedableRng, rngs::StdRng};
type R = Result<(), Box<dyn std::error::Error>>;
fn timed(
    device: &Device,
    label: &str,
    work: f64,
    calls: &mut [(&str, &mut dyn FnMut() -> layout_cuda::Result<()>)],
) -> R {
    let stream = device.stream();
    let o = bench::Options { warm_up: 3, samples: 7, calls: 1, flush_l2: false };
    let mut times = vec![vec![]; calls.len()];
    for _ in 0..5 {
        for (i, (_, c)) in calls.iter_mut().enumerate() {
            times[i].push(bench::time(&stream, &o, &mut **c)?.median_ms());
        }
    }
    for t in &mut times {
        t.sort_by(f64::total_cmp);
    }
    let base = times[0][2];
    for (i, (n, _)) in calls.iter().enumerate() {
        println!(
            "{label} {n}: {:.4} ms {:.1} TFLOP/s ratio {:.4}",
            times[i][2],
            work / times[i][2] * 1e-9,
            base / times[i][2]
        );
    }
    Ok(())
}
fn compare(name: &str, c: &[f32], want: &[f32], n: usize) {
    let (mut e, mut r, mut worst, mut first) = (0f64, 0f64, 0f64, None);
    for (i, (x, y)) in c.iter().zip(want).enumerate() {
        let d = (*x as f64 - *y as f64).abs();
        e += d * d;
        r += (*y as f64).powi(2);
        if !(d <= worst) {
            worst = d;
        }
        if !(d < 1.0) && first.is_none() {
            first = Some((i / n, i % n, *x, *y));
        }
    }
    println!("  {name} rel {:.3e} worst {worst:.3e} first bad {first:?}", (e / r).sqrt());
}
fn up<T: Element>(
    d: &Device,
    v: &[f32],
    f: fn(f32) -> T,
    s: [usize; 2],
) -> layout_cuda::Result<Tensor<T, 2>> {
    d.upload(&v.iter().map(|x| f(*x)).collect::<Vec<_>>(), s)
}
fn shape(device: &Device, [m, n, k]: [usize; 3]) -> R {
    let mut random = StdRng::seed_from_u64(7);
    let mut values = |count: usize| (0..count).map(|_| random.random_range(-1.0f32..1.0)).collect::<Vec<_>>();
    let (a, b) = (values(m * k), values(k * n));
    let stream = device.stream();
    let blas = Blas::new(&stream)?;
    let work = 2.0 * m as f64 * n as f64 * k as f64;
    let l = format!("{m}x{n}x{k}");
    {
        let (at, bt) = (up(device, &a, bf16::from_f32, [m, k])?, up(device, &b, bf16::from_f32, [k, n])?);
        let (mut c0, mut c1) = (device.zeros::<bf16, 2>([m, n])?, device.zeros::<bf16, 2>([m, n])?);
        blas.gemm(Compute::F32, &at, &bt, &mut c0)?;
        c1.poison()?;
        gemm::launch(&stream, &at, &bt, &mut c1)?;
        let f = |t: &Tensor<bf16, 2>| -> layout_cuda::Result<Vec<f32>> {
            Ok(t.download()?.iter().map(|x| x.to_f32()).collect())
        };
        compare("bf16 nn", &f(&c1)?, &f(&c0)?, n);
        timed(
            device,
            &format!("{l} bf16 nn"),
            work,
            &mut [
                ("cublas", &mut || Ok(blas.gemm(Compute::F32, &at, &bt, &mut c0)?)),
                ("ours", &mut || gemm::launch(&stream, &at, &bt, &mut c1)),
            ],
        )?;
        let bs: Vec<bf16> = {
            let mut t = vec![bf16::ZERO; k * n];
            for i in 0..k {
                for j in 0..n {
                    t[j * k + i] = bf16::from_f32(b[i * n + j]);
                }
            }
            t
        };
        let bt = device.upload_strided(&bs, [k, n], [1, k])?;
        blas.gemm(Compute::F32, &at, &bt, &mut c0)?;
        c1.poison()?;
        gemm_by_columns::launch(&stream, &at, &bt, &mut c1)?;
        compare("bf16 nt", &f(&c1)?, &f(&c0)?, n);
        timed(
            device,
            &format!("{l} bf16 nt"),
            work,
            &mut [
                ("cublas", &mut || Ok(blas.gemm(Compute::F32, &at, &bt, &mut c0)?)),
                ("ours", &mut || gemm_by_columns::launch(&stream, &at, &bt, &mut c1)),
            ],
        )?;
    }
    {
        let at = device.upload(&a, [m, k])?;
        let bs: Vec<f32> = {
            let mut t = vec![0f32; k * n];
            for i in 0..k {
                for j in 0..n {
                    t[j * k + i] = b[i * n + j];
                }
            }
            t
        };
        let bt = device.upload_strided(&bs, [k, n], [1, k])?;
        let (mut c0, mut c1) = (device.zeros::<f32, 2>([m, n])?, device.zeros::<f32, 2>([m, n])?);
        blas.gemm(Compute::F32, &at, &bt, &mut c0)?;
        c1.poison()?;
        gemm_by_columns::launch(&stream, &at, &bt, &mut c1)?;
        compare("tf32 nt", &c1.download()?, &c0.download()?, n);
        timed(
            device,
            &format!("{l} tf32 nt"),
            work,
            &mut [
                ("cublas", &mut || Ok(blas.gemm(Compute::Tf32, &at, &bt, &mut c0)?)),
                ("ours", &mut || gemm_by_columns::launch(&stream, &at, &bt, &mut c1)),
            ],
        )?;
        let a8 = up(device, &a, E4m3::from_f32, [m, k])?;
        let b8 = device.upload_strided(
            &bs.iter().map(|x| E4m3::from_f32(*x)).collect::<Vec<_>>(),
            [k, n],
            [1, k],
        )?;
        c1.poison()?;
        gemm_by_columns::launch(&stream, &a8, &b8, &mut c1)?;
        compare("e4m3 nt", &c1.download()?, &c0.download()?, n);
        let mut c2 = device.zeros::<bf16, 2>([m, n])?;
        timed(
            device,
            &format!("{l} e4m3 nt -> bf16"),
            work,
            &mut [("ours", &mut || gemm_by_columns::launch(&stream, &a8, &b8, &mut c2))],
        )?;
    }
    let _ = LaunchConfig::default();
    Ok(())
}
fn main() -> R {
    let device = Device::gpu(0)?;
    for s in [
        [256, 512, 128],
        [130, 520, 136],
        [4096, 4096, 4096],
        [2048, 2048, 2048],
        [1024, 512, 2048],
        [8192, 8192, 8192],
    ] {
        if let Err(e) = shape(&device, s) {
            println!("{s:?}: {e}");
        }
    }
    Ok(())
}
