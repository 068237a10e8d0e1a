//! Processes find each other, or get the reason not, in time: strangers at the port, ranks of other worlds, addresses that lead
//! nowhere, and ranks that are lost.

mod processes;

use layout_mesh::{Member, MeshError, Result, World};
use processes::{port, process, process_with, simulators, summed, variables};
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

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
fn a_mistake_is_reported_across_processes() {
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
fn a_missing_rank_is_named() {
    let nobody = process(1, 2, port()).expect("a world").limit(Duration::from_millis(200));
    let error = nobody.run(summed).expect_err("nobody listens");
    // With one GPU there is none for the second process, which is reported first.
    assert!(matches!(error, MeshError::Rendezvous { .. }) || !simulators(), "{error}");
    if !simulators() {
        return;
    }
    let alone = process(0, 2, port()).expect("a world").limit(Duration::from_millis(200));
    let error = alone.run(summed).expect_err("nobody comes");
    assert!(matches!(&error, MeshError::Late { absent, .. } if absent == &[1]), "{error}");
}

/// The ranks' results, each from a thread that takes itself for a process.
fn all(worlds: Vec<Result<World>>) -> Vec<Result<f32>> {
    std::thread::scope(|scope| {
        let start = |world: Result<World>| scope.spawn(move || Ok(world?.run(summed)?[0]));
        let threads: Vec<_> = worlds.into_iter().map(start).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    })
}

/// The words of an error.
fn words(result: &Result<f32>) -> String {
    result.as_ref().expect_err("a mistake").to_string()
}

#[test]
fn an_address_of_version_six_is_one() {
    if !simulators() || TcpListener::bind("[::1]:0").is_err() {
        return eprintln!("skipped: no IPv6 here, or a GPU for each process");
    }
    for host in ["::1", "[::1]", "localhost"] {
        let port = port();
        let worlds = (0..2).map(|rank| process_with(variables(rank, 2, port), &[("MASTER_ADDR", host)]));
        assert!(all(worlds.collect()).iter().all(|sum| *sum == Ok(3.0)), "{host}");
    }
}

#[test]
fn strangers_delay_nobody() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let port = port();
    let start = Instant::now();
    let sums = std::thread::scope(|scope| {
        let first = scope.spawn(move || Ok(process(0, 2, port)?.run(summed)?[0]));
        // Connections that say nothing, half a greeting, one that is none, and one that is too long.
        let mut open = Vec::new();
        let says: [&[u8]; 8] = [
            b"",
            b"",
            b"",
            &[9],
            &[40, 0, 0],
            b"GET / HTTP/1.1\r\n\r\n",
            &[8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4],
            &[255; 64],
        ];
        for bytes in says {
            let mut stream = loop {
                if let Ok(stream) = TcpStream::connect(("127.0.0.1", port)) {
                    break stream;
                }
            };
            stream.write_all(bytes).expect("a port that listens");
            open.push(stream);
        }
        let second = process(1, 2, port).and_then(|world| Ok(world.run(summed)?[0]));
        [first.join().expect("no panic"), second]
    });
    assert_eq!(sums, [Ok(3.0), Ok(3.0)]);
    // Each of those that say too little may take 5 s.
    assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
}

#[test]
fn a_process_of_another_job_is_named() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let short = |world: Result<World>| Ok(world?.limit(Duration::from_secs(3)));
    let port = [(); 3].map(|()| port());
    let job = |rank, name| short(process_with(variables(rank, 2, port[1]), &[("TORCHELASTIC_RUN_ID", name)]));
    // All three worlds at once: each waits for its limit.
    let worlds = [
        vec![short(process(0, 2, port[0])), short(process(1, 3, port[0]))],
        vec![job(0, "one"), job(1, "two")],
        [0, 1, 1].map(|rank| short(process(rank, 3, port[2]))).into(),
    ];
    let results: Vec<Vec<Result<f32>>> = std::thread::scope(|scope| {
        let threads = worlds.map(|worlds| scope.spawn(|| all(worlds)));
        threads.map(|thread| thread.join().expect("no panic")).into()
    });
    let [sizes, jobs, twice] = &results[..] else { unreachable!() };
    let why = "rank 1 of 3 came to a world of 2 ranks";
    assert!(words(&sizes[0]).contains(why) && words(&sizes[0]).contains("ranks [1]"), "{sizes:?}");
    assert!(words(&sizes[1]).contains(why) && words(&sizes[1]).contains(&port[0].to_string()), "{sizes:?}");
    let why = "rank 1 of 2 of job `two` came to the port of rank 0 of 2 of job `one`";
    assert!(jobs.iter().all(|error| words(error).contains(why)), "{jobs:?}");
    assert!(twice.iter().all(|error| words(error).contains("rank 1 of 3 is here already")), "{twice:?}");
    assert!(words(&twice[0]).contains("ranks [2]"), "{twice:?}");
}

#[test]
fn an_address_without_an_answer_is_reported_in_time() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let other = silent.local_addr().expect("its address").port().to_string();
    let web = TcpListener::bind("127.0.0.1:0").expect("a port");
    let answers = web.local_addr().expect("its address").port().to_string();
    std::thread::spawn(move || {
        for stream in web.incoming() {
            // Who hangs up is not this test's.
            let _ = stream.and_then(|mut stream| stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n"));
        }
    });
    let cases = [
        ("no.such.host.invalid", "29500", "`no.such.host.invalid` is no address that this machine knows"),
        ("", "29500", "no meeting at"),
        // Of a net that leads nowhere, by RFC 5737.
        ("192.0.2.1", "29500", "no meeting at 192.0.2.1:29500: rank 1 of 2"),
        ("127.0.0.1", &other, "answers no rank of a mesh"),
        ("127.0.0.1", &answers, "answers no rank of a mesh"),
    ];
    for (host, port, why) in cases {
        let start = Instant::now();
        let world = process_with(variables(1, 2, 1), &[("MASTER_ADDR", host), ("MASTER_PORT", port)]);
        let error = world.expect("a world").limit(Duration::from_millis(300)).run(summed);
        let error = error.expect_err("nobody is there").to_string();
        assert!(error.contains(why), "{host}:{port}: {error}");
        assert!(start.elapsed() < Duration::from_secs(10), "{host}:{port} took {:?}", start.elapsed());
    }
}

#[test]
fn one_world_after_the_other_has_the_port() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let port = port();
    // Nobody comes; then two do, and nothing makes a rank wait for the others before it begins the next world.
    let alone = process(0, 2, port).expect("a world").limit(Duration::from_millis(100)).run(summed);
    assert!(matches!(alone, Err(MeshError::Late { .. })), "{alone:?}");
    let ranks: Vec<Result<Vec<usize>>> = std::thread::scope(|scope| {
        let rank = |rank| {
            scope.spawn(move || {
                let world = process(rank, 3, port)?;
                std::thread::sleep(Duration::from_millis(30 * rank as u64));
                (0..5).map(|_| Ok(world.run(|member| Ok(member.rank()))?[0])).collect()
            })
        };
        let threads: Vec<_> = (0..3).map(rank).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(ranks, [Ok(vec![0; 5]), Ok(vec![1; 5]), Ok(vec![2; 5])]);
}

#[test]
fn a_panic_of_the_first_rank_is_reported() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let port = port();
    let start = Instant::now();
    let errors: Vec<std::thread::Result<Result<f32>>> = std::thread::scope(|scope| {
        let rank = |rank| {
            scope.spawn(move || {
                let body = |member: &Member| {
                    let sum = summed(member)?;
                    match rank {
                        0 => std::panic::resume_unwind(Box::new("planted")),
                        _ => summed(member).map(|more| sum + more),
                    }
                };
                Ok(process(rank, 3, port)?.run(body)?[0])
            })
        };
        let threads: Vec<_> = (0..3).map(rank).collect();
        threads.into_iter().map(|thread| thread.join()).collect()
    });
    assert!(errors[0].is_err() && start.elapsed() < Duration::from_secs(10));
    for error in &errors[1..] {
        let error = words(error.as_ref().expect("no panic of its own"));
        assert!(error.contains("rank 0 panicked"), "{error}");
    }
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
        (&[("RANK", "0"), ("WORLD_SIZE", "2"), ("LAYOUT_MESH_PORT", "0")], "LAYOUT_MESH_PORT: 0 is no port"),
        (&[("SLURM_PROCID", "4"), ("SLURM_NTASKS", "4")], "SLURM_PROCID: 4 of 4 ranks"),
        // A variable of another launcher is not taken for a missing one.
        (&[("RANK", "0"), ("SLURM_NTASKS", "4")], "WORLD_SIZE: it is not set"),
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
fn a_process_that_is_killed_is_reported() {
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
    assert!(start.into_inner().expect("no panic").elapsed() < Duration::from_secs(20));
}
