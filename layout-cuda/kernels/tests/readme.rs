//! The Rust of the READMEs that calls this package, as it is written there.
//!
//! Law: each such block is here in a function, word for word but for the indentation; it compiles and runs.

#[test]
fn the_block_of_the_repositorys_readme() -> layout_cuda::Result<()> {
    use layout_cuda::{Device, bf16};

    let device = Device::best();
    let stream = device.stream();
    let a = device.upload(&vec![bf16::from_f32(0.5); 300 * 200], [300, 200])?;
    let b = device.upload(&vec![bf16::from_f32(2.0); 200 * 100], [200, 100])?;
    let mut c = device.zeros::<bf16, 2>([300, 100])?;
    layout_kernels::matmul(&stream, &a, &b, &mut c)?;
    assert!(c.download()?.iter().all(|x| x.to_f32() == 200.0));
    Ok(())
}

#[test]
fn the_block_of_the_packages_readme() -> layout_cuda::Result<()> {
    use layout_cuda::{Device, bf16};

    let device = Device::best();
    let stream = device.stream();
    let of = |rows, columns| device.upload(&vec![bf16::from_f32(0.5); rows * columns], [rows, columns]);
    let (a, b, mut c) = (of(300, 200)?, of(200, 100)?, of(300, 100)?);
    layout_kernels::matmul(&stream, &a, &b, &mut c)?;
    assert!(c.download()?.iter().all(|x| x.to_f32() == 50.0));
    Ok(())
}

/// The lines without their indentation.
fn plain(text: &str) -> String {
    text.lines().map(|line| line.trim().to_owned() + "\n").collect()
}

#[test]
fn every_block_is_here() {
    let own = plain(include_str!("readme.rs"));
    let mut count = 0;
    for readme in [include_str!("../../../README.md"), include_str!("../README.md")] {
        let blocks = readme.split("```rust").skip(1).filter_map(|rest| rest.split("```").next());
        for block in blocks.filter(|block| block.contains("layout_kernels::")) {
            assert!(own.contains(&plain(block.trim())), "not in this file:\n{block}");
            count += 1;
        }
    }
    assert_eq!(count, 2, "blocks that call this package");
}
