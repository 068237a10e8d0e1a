//! A rank that fails, panics, stalls or is killed is an error of all others within the time limit; so are processes that do
//! not find each other.

use layout_mesh::{Member, MeshError, Reduction, Result, World};
use std::collections::HashMap;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};
use std::time::{Duration, Instant};

fn summed(member: &Member) -> Result<f32> {
    let stream = member.device().stream();
    let source = stream.upload(&[member.rank() as f32 + 1.0], [1])?;
    let mut target = stream.zeros::<f32, 1>([1])?;
    member.all_reduce(&stream, Reduction::Sum, &source, &mut target)?;
    member.wait(&stream)?;
    Ok(target.download()?[0])
}

#[test]
fn a_rank_that_fails_or_panics_is_told() {
    let world = World::simulators(3).expect("a world");
    let fails: fn(&Member) -> Result<f32> = |_| Err(MeshError::Broken { by: "the disk is full".into() });
    let panics: fn(&Member) -> Result<f32> = |_| std::panic::resume_unwind(Box::new("planted"));
    for (how, body) in
        [("failed: these ranks go on no more, after: the disk is full", fails), ("panicked", panics)]
    {
        let seen = std::sync::Mutex::new(Vec::new());
        let start = Instant::now();
        let result = world.run(|member| match member.rank() {
            1 => body(member),
            _ => summed(member).inspect_err(|error| seen.lock().expect("no panic").push(error.to_string())),
        });
        assert!(result.is_err() && start.elapsed() < Duration::from_secs(10));
        let seen = seen.into_inner().expect("no panic");
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(seen.iter().all(|error| error.contains(&format!("rank 1 {how}"))), "{seen:?}");
    }
}

#[test]
fn a_rank_that_stalls_is_late() {
    let limit = Duration::from_millis(300);
    let world = World::simulators(3).expect("a world").limit(limit);
    let waited = std::sync::Mutex::new(Vec::new());
    let result = world.run(|member| {
        if member.rank() == 2 {
            std::thread::sleep(limit * 4);
            return Ok(0.0);
        }
        let start = Instant::now();
        let result = summed(member);
        waited.lock().expect("no panic").push(start.elapsed());
        result
    });
    assert!(matches!(&result, Err(MeshError::Late { absent, .. }) if absent == &[2]), "{result:?}");
    let waited = waited.into_inner().expect("no panic");
    assert!(waited.len() == 2 && waited.iter().all(|time| *time < limit * 3), "{waited:?}");
}

/// A port that nobody has now, another one each time, and below those that a system gives to connections.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = 20_000 + (std::process::id() % 10_000) as u16;
    let free = |port: &u16| TcpListener::bind(("0.0.0.0", *port)).is_ok();
    let mut ports = std::iter::repeat_with(|| first + NEXT.fetch_add(1, Relaxed)).take(1_000);
    ports.find(free).expect("a port of a thousand")
}

/// The world of one of several processes; here, of threads that each take themselves for one.
fn process(rank: usize, size: usize, port: u16) -> Result<World> {
    let variables: HashMap<&str, String> = HashMap::from([
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", size.to_string()),
        ("LOCAL_RANK", rank.to_string()),
        ("MASTER_ADDR", "127.0.0.1".into()),
        ("MASTER_PORT", port.to_string()),
    ]);
    World::process_of(&|name| variables.get(name).cloned())
}

/// Whether the ranks of these tests are simulators, as they are without GPUs.
fn simulators() -> bool {
    layout_cuda::driver::device_count().unwrap_or(0) == 0
}

#[test]
fn processes_find_each_other_and_sum() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here; the benchmark runs them");
    }
    let port = port();
    let sums: Vec<_> = std::thread::scope(|scope| {
        let rank = |rank| scope.spawn(move || process(rank, 3, port)?.run(|m| Ok((summed(m)?, summed(m)?))));
        let threads: Vec<_> = (0..3).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for sum in sums {
        assert_eq!(sum.expect("a sum"), [(6.0, 6.0)]);
    }
}

#[test]
fn a_port_that_is_taken_for_a_moment_is_waited_for() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here; the benchmark runs them");
    }
    let port = port();
    let taken = TcpListener::bind(("0.0.0.0", port)).expect("a free port");
    let sum = std::thread::scope(|scope| {
        let rank = scope.spawn(move || process(0, 1, port)?.run(summed));
        std::thread::sleep(Duration::from_millis(100));
        drop(taken);
        rank.join().expect("no panic")
    });
    assert_eq!(sum.expect("a sum"), [1.0]);
    let other = self::port();
    let taken = TcpListener::bind(("0.0.0.0", other)).expect("a free port");
    let world = process(0, 2, other).expect("a world").limit(Duration::from_millis(200));
    let error = world.run(summed).expect_err("another program's port").to_string();
    assert!(error.contains("tried for 200ms; is the port another program's?"), "{error}");
    drop(taken);
}

#[test]
fn a_mistake_is_told_across_processes() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here; the benchmark runs them");
    }
    let port = port();
    let errors: Vec<String> = std::thread::scope(|scope| {
        let rank = |rank| {
            scope.spawn(move || {
                let body = |m: &Member| if rank == 1 { m.barrier() } else { summed(m).map(drop) };
                process(rank, 2, port)?.run(body).map(drop)
            })
        };
        let threads: Vec<_> = (0..2).map(rank).collect();
        threads.into_iter().map(|t| t.join().expect("no panic").expect_err("a mistake").to_string()).collect()
    });
    assert!(errors.iter().all(|error| error.contains("rank 1: barrier")), "{errors:?}");
}

#[test]
fn who_is_not_met_is_told() {
    let nobody = process(1, 2, port()).expect("a world").limit(Duration::from_millis(200));
    let error = nobody.run(summed).expect_err("nobody listens");
    // With one GPU there is none for the second process, which is told first.
    assert!(matches!(error, MeshError::Rendezvous { .. }) || !simulators(), "{error}");
    if !simulators() {
        return;
    }
    let alone = process(0, 2, port()).expect("a world").limit(Duration::from_millis(200));
    let error = alone.run(summed).expect_err("nobody comes");
    assert!(matches!(&error, MeshError::Late { absent, .. } if absent == &[1]), "{error}");
}

#[test]
fn the_environment_is_read_with_care() {
    let of = |variables: &[(&str, &str)]| {
        let find =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| value.to_string());
        World::process_of(&find).map(|world| world.size())
    };
    assert_eq!(of(&[("RANK", "1"), ("WORLD_SIZE", "4")]), Ok(4));
    assert_eq!(of(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "2")]), Ok(2));
    let wrong = [
        (&[][..], "RANK: it is not set; start with"),
        (&[("RANK", "1")], "WORLD_SIZE: it is not set"),
        (&[("RANK", "one"), ("WORLD_SIZE", "2")], "RANK: `one` is no number"),
        (&[("RANK", "2"), ("WORLD_SIZE", "2")], "RANK: 2 of 2 ranks"),
        (&[("RANK", "0"), ("WORLD_SIZE", "0")], "0 of 0 ranks"),
        (&[("RANK", "0"), ("WORLD_SIZE", "2"), ("MASTER_PORT", "70000")], "MASTER_PORT: 70000 is no port"),
    ];
    for (variables, words) in wrong {
        let error = of(variables).expect_err(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}

/// The other process of the test below: it comes, and then never does anything again.
#[test]
fn a_rank_of_another_process() {
    if std::env::var("LAYOUT_MESH_CHILD").is_err() {
        return;
    }
    let result = World::process().expect("a world").run(|member| {
        member.barrier()?;
        std::thread::sleep(Duration::from_secs(60));
        Ok(())
    });
    panic!("it should have been killed, not {result:?}");
}

#[test]
fn a_process_that_is_killed_is_told() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here; the benchmark runs them");
    }
    let port = port();
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "a_rank_of_another_process"])
        .envs([("LAYOUT_MESH_CHILD", "1"), ("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1")])
        .env("MASTER_PORT", port.to_string())
        .stdout(Stdio::null())
        .spawn();
    let child = std::sync::Mutex::new(child.expect("started"));
    let start = std::sync::Mutex::new(Instant::now());
    let result = process(0, 2, port).expect("a world").run(|member| {
        member.barrier()?;
        let mut child = child.lock().expect("no panic");
        child.kill().and_then(|()| child.wait()).expect("killed");
        *start.lock().expect("no panic") = Instant::now();
        summed(member)
    });
    let error = result.expect_err("it is dead").to_string();
    assert!(error.contains("rank 1 was lost"), "{error}");
    assert!(start.into_inner().expect("no panic").elapsed() < Duration::from_secs(5));
}

#[test]
fn without_nccl_the_way_to_it_is_told() {
    let error = MeshError::NoNccl { searched: vec!["some/lib".into()], refused: vec![] }.to_string();
    assert!(
        error.contains("no NCCL in 1 folders") && error.contains("pip install nvidia-nccl-cu13"),
        "{error}"
    );
    assert!(error.contains("LAYOUT_NCCL"), "{error}");
    let text = layout_mesh::doctor().to_string();
    assert!(text.starts_with("NCCL     ") && text.contains("\nmesh     "), "{text}");
}
