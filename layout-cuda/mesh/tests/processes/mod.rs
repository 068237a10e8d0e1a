//! What the tests of ranks share: a sum over all of them, and threads that take themselves for processes.

// Each test program uses some of it.
#![allow(dead_code)]

use layout_mesh::{Member, Reduction, Result, World};
use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

/// 1 of the first rank, 2 of the second, and so on.
pub fn summed(member: &Member) -> Result<f32> {
    let stream = member.device().stream();
    let source = stream.upload(&[member.rank() as f32 + 1.0], [1])?;
    let mut target = stream.zeros::<f32, 1>([1])?;
    member.all_reduce(&stream, Reduction::Sum, &source, &mut target)?;
    member.wait(&stream)?;
    Ok(target.download()?[0])
}

/// A port that nobody has now, another one each time, and below those that a system gives to connections.
pub fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Relaxed)).take(1_000);
    ports.find(free).expect("a port of a thousand")
}

/// The environment variables that a launcher sets for one of several processes. In these tests each process is a thread.
pub fn variables(rank: usize, size: usize, port: u16) -> HashMap<&'static str, String> {
    HashMap::from([
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("LOCAL_RANK", rank.to_string()),
        ("MASTER_ADDR", "127.0.0.1".into()),
        ("MASTER_PORT", port.to_string()),
    ])
}

/// The world of a process with these variables, of which `other` replaces some.
pub fn process_with(
    variables: HashMap<&'static str, String>,
    other: &[(&'static str, &str)],
) -> Result<World> {
    World::process_of(&|name| {
        let other = other.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        other.or_else(|| variables.get(name).cloned())
    })
}

/// The world of one of several processes.
pub fn process(rank: usize, size: usize, port: u16) -> Result<World> {
    process_with(variables(rank, size, port), &[])
}

/// Whether the ranks of these tests are simulators, as they are without GPUs.
pub fn simulators() -> bool {
    layout_cuda::driver::device_count().unwrap_or(0) == 0
}
