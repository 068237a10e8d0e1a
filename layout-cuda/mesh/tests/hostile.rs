//! Who comes to rank 0's port and is no rank, or is one that says what no rank says: an error or nothing, no panic, no stall, and
//! no memory for what was only announced.
//!
//! `MESH_STRANGERS=10000 cargo test -p layout-mesh --test hostile` takes that many connections instead of 300.

mod processes;

use layout_mesh::{Member, MeshError, Reduction, Result};
use processes::{port, process, process_with, simulators, summed, variables};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const GREETING: u64 = 0x6c61_796f_7574_0003;
const MEET: u64 = 1;
const FAIL: u64 = 3;

/// Numbers and texts, as messages have them.
#[derive(Clone, Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, number: u64) -> Message {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(self, bytes: &[u8]) -> Message {
        let mut own = self.number(bytes.len() as u64);
        own.0.extend(bytes);
        own
    }

    /// With its length in front.
    fn whole(&self) -> Vec<u8> {
        Message::default().bytes(&self.0).0
    }
}

fn greeting(rank: u64, size: u64) -> Message {
    Message::default().number(GREETING).number(rank).number(size).bytes(b"").bytes(b"")
}

/// A connection to a port that is or will be open.
fn connected(port: u16) -> TcpStream {
    let start = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => return stream,
            Err(error) => assert!(start.elapsed() < Duration::from_secs(20), "{error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// An all-reduce of one f32 by ranks 0 and 1 that comes with these bytes.
fn meets(count: u64, bytes: &[u8]) -> Message {
    let mut call = vec![0];
    for part in ["all-reduce", "f32", "sum"] {
        call.extend(Message::default().bytes(part.as_bytes()).0);
    }
    call.extend(count.to_le_bytes());
    let group = Message::default().number(MEET).number(2).number(0).number(1);
    group.number(1).number(0).bytes(&call).bytes(bytes)
}

/// What rank 0 of 2 says when rank 1 is a raw connection that says this after its greeting.
fn with_peer(body: fn(&Member) -> Result<f32>, says: impl FnOnce(&mut TcpStream) + Send) -> MeshError {
    let port = port();
    std::thread::scope(|scope| {
        let world = process(0, 2, port).expect("a world").limit(Duration::from_secs(3));
        let first = scope.spawn(move || world.run(body));
        let mut peer = connected(port);
        peer.write_all(&greeting(1, 2).whole()).expect("a port that listens");
        let mut welcome = [0; 24];
        peer.read_exact(&mut welcome).expect("rank 1 is let in");
        says(&mut peer);
        first.join().expect("no panic of rank 0").expect_err("no rank says that")
    })
}

/// The most memory that this process has had, in MiB, where the system reports.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

#[test]
fn bytes_that_are_not_the_calls_are_refused() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let exchanged: fn(&Member) -> Result<f32> = |member| {
        let stream = member.device().stream();
        let (own, mut other) = (stream.upload(&[1.0f32, 2.0], [2])?, stream.zeros::<f32, 1>([2])?);
        member.all_to_all(&stream, &own, &mut other)?;
        Ok(other.download()?[1])
    };
    for bytes in [&[1, 2, 3][..], &[], &[0; 8]] {
        let error = with_peer(summed, |peer| {
            peer.write_all(&meets(1, bytes).whole()).expect("sent");
            let _ = peer.read(&mut [0; 64]);
        });
        let why = format!("{} bytes came with all-reduce of 1 f32", bytes.len());
        assert!(matches!(&error, MeshError::Refused { rank: 1, .. }), "{error}");
        assert!(error.to_string().contains(&why), "{error}");
    }
    // As many elements as no memory has; the calls differ.
    let error = with_peer(summed, |peer| {
        peer.write_all(&meets(u64::MAX, &[0; 4]).whole()).expect("sent");
        let _ = peer.read(&mut [0; 64]);
    });
    assert!(matches!(error, MeshError::Differ { .. }), "{error}");
    // Messages between pairs: the sums of what is sent are held against the bytes.
    for bytes in [vec![0; 7], vec![0; 9], vec![]] {
        let mut call = vec![1];
        call.extend(Message::default().bytes(b"f32").0);
        for _ in ["sends", "receives"] {
            call.extend(Message::default().number(2).number(0).number(1).number(1).number(1).0);
        }
        let group = Message::default().number(MEET).number(2).number(0).number(1).number(1).number(0);
        let error = with_peer(exchanged, |peer| {
            peer.write_all(&group.bytes(&call).bytes(&bytes).whole()).expect("sent");
            let _ = peer.read(&mut [0; 64]);
        });
        assert!(matches!(&error, MeshError::Refused { rank: 1, .. }), "{} bytes: {error}", bytes.len());
    }
}

#[test]
fn requests_that_are_none_end_their_rank() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let group = |ranks: &[u64]| {
        let message = Message::default().number(MEET).number(ranks.len() as u64);
        ranks.iter().fold(message, |message, rank| message.number(*rank)).number(1).number(0)
    };
    let whole = meets(1, &[0; 4]);
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing at all", vec![]),
        ("an unknown request", Message::default().number(77).whole()),
        ("half a request", whole.whole()[..30].to_vec()),
        ("a request that is cut", Message(whole.0[..whole.0.len() - 6].to_vec()).whole()),
        ("another's meeting", group(&[0]).bytes(&[2, 0, 0, 0, 0, 0, 0, 0, 0]).bytes(b"").whole()),
        ("a rank twice", group(&[1, 1]).bytes(&[2, 0, 0, 0, 0, 0, 0, 0, 0]).bytes(b"").whole()),
        ("numbers without end", Message::default().number(MEET).number(u64::MAX).whole()),
        ("a length beyond all", u64::MAX.to_le_bytes().to_vec()),
    ];
    for (what, bytes) in cases {
        let error = with_peer(summed, |peer| {
            peer.write_all(&bytes).expect("sent");
            let _ = peer.shutdown(std::net::Shutdown::Write);
        });
        assert!(matches!(&error, MeshError::Ended { rank: 1, .. }), "{what}: {error}");
    }
    let before = peak();
    let error = with_peer(summed, |peer| {
        peer.write_all(&(1u64 << 30).to_le_bytes()).expect("sent");
        std::thread::sleep(Duration::from_millis(200));
        let _ = peer.shutdown(std::net::Shutdown::Write);
    });
    assert!(matches!(&error, MeshError::Ended { rank: 1, .. }), "{error}");
    if let (Some(before), Some(after)) = (before, peak()) {
        assert!(after < before + 50, "{before} MiB, and {after} for a length alone");
    }
    // The words of a failure are cut.
    let error = with_peer(summed, |peer| {
        let message = Message::default().number(FAIL).bytes(&vec![b'x'; 1 << 20]);
        peer.write_all(&message.whole()).expect("sent");
        let _ = peer.read(&mut [0; 64]);
    });
    assert!(error.to_string().len() < 10_000, "{} bytes of words", error.to_string().len());
}

#[test]
fn strangers_without_number_delay_nobody() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let count = std::env::var("MESH_STRANGERS").ok().and_then(|count| count.parse().ok()).unwrap_or(300);
    let port = port();
    let job = |rank| process_with(variables(rank, 3, port), &[("LAYOUT_MESH_TOKEN", "of this world")]);
    let wrong = greeting(1, 3).whole();
    let says: [&[u8]; 8] = [
        b"",
        &[9],
        &wrong[..20],
        b"GET / HTTP/1.1\r\n\r\n",
        &[255; 64],
        // Without the token, and of another world.
        &wrong,
        &greeting(2, 7).whole(),
        // As long as a greeting may be, and not there.
        &(1u64 << 12).to_le_bytes(),
    ];
    let start = Instant::now();
    let sums = std::thread::scope(|scope| {
        let rank = |rank| scope.spawn(move || Ok(job(rank)?.run(summed)?[0]));
        let mut ranks = vec![rank(0), rank(1)];
        let mut open = std::collections::VecDeque::new();
        for number in 0..count {
            let mut stream = connected(port);
            // Who is turned away may be gone before all is said.
            let _ = stream.write_all(says[number % says.len()]);
            open.push_back(stream);
            // As many as a process has file descriptors for; one byte more from some of those that are slow.
            if open.len() > 200 {
                open.pop_front();
            }
            if let Some(slow) = open.get_mut(number % 7) {
                let _ = slow.write_all(&[0]);
            }
        }
        let late = Instant::now();
        ranks.push(rank(2));
        let sums: Vec<Result<f32>> = ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect();
        assert!(late.elapsed() < Duration::from_secs(5), "the last rank took {:?}", late.elapsed());
        sums
    });
    assert_eq!(sums, [Ok(6.0), Ok(6.0), Ok(6.0)]);
    println!("{count} strangers in {:?}, at most {:?} MiB", start.elapsed(), peak());
    assert!(peak().is_none_or(|peak| peak < 100), "{:?} MiB", peak());
}

#[test]
fn a_token_is_the_same_on_all_ranks() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let cases = [("one", "two"), ("one", ""), ("", "one"), ("one", "on"), ("one", "onf")];
    for (first, second) in cases {
        let port = port();
        let world = |rank, token| {
            let world = process_with(variables(rank, 2, port), &[("LAYOUT_MESH_TOKEN", token)]);
            world.map(|world| world.limit(Duration::from_millis(500)))
        };
        let errors: Vec<String> = std::thread::scope(|scope| {
            let ranks = [(0, first), (1, second)];
            let ranks = ranks.map(|(rank, token)| scope.spawn(move || world(rank, token)?.run(summed)));
            let joined =
                ranks.map(|rank| rank.join().expect("no panic").expect_err("other tokens").to_string());
            joined.into()
        });
        let why = "rank 1 of 2 came without this world's token; give all ranks one LAYOUT_MESH_TOKEN";
        assert!(errors.iter().all(|error| error.contains(why)), "{first:?} and {second:?}: {errors:?}");
    }
    let port = port();
    let world = |rank| process_with(variables(rank, 2, port), &[("LAYOUT_MESH_TOKEN", "a secret")]);
    assert!(!format!("{:?} {}", world(0), world(0).expect("a world")).contains("secret"));
    let long = process_with(variables(0, 2, port), &[("LAYOUT_MESH_TOKEN", &"x".repeat(1025))]);
    assert!(long.expect_err("too long").to_string().contains("LAYOUT_MESH_TOKEN"));
}

#[test]
fn the_limit_is_rank_0s() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    // Rank 1 takes itself to have next to no time. Rank 0 comes to the sum later than that.
    let port = port();
    let sums: Vec<Result<f32>> = std::thread::scope(|scope| {
        let ranks = [(0, Duration::from_secs(20)), (1, Duration::from_millis(150))];
        let ranks = ranks.map(|(rank, limit)| {
            scope.spawn(move || {
                let body = |member: &Member| {
                    member.barrier()?;
                    std::thread::sleep(Duration::from_millis(if rank == 0 { 600 } else { 0 }));
                    let stream = member.device().stream();
                    let (own, mut most) = (stream.upload(&[rank as f32], [1])?, stream.zeros::<f32, 1>([1])?);
                    member.all_reduce(&stream, Reduction::Max, &own, &mut most)?;
                    Ok(most.download()?[0])
                };
                Ok(process(rank, 2, port)?.limit(limit).run(body)?[0])
            })
        });
        ranks.into_iter().map(|rank| rank.join().expect("no panic")).collect()
    });
    assert_eq!(sums, [Ok(1.0), Ok(1.0)]);
}

#[test]
fn a_port_of_this_machine_is_open_to_it_alone() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    // An address of this machine that is not the loopback's, where it has one: the system names the way out, and sends nothing.
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let own = socket.connect("192.0.2.1:9").and_then(|()| socket.local_addr());
    let Some(own) = own.ok().filter(|own| !own.ip().is_loopback()) else {
        return eprintln!("skipped: this machine has no address but the loopback's");
    };
    let port = port();
    std::thread::scope(|scope| {
        let world = |rank| process(rank, 2, port).expect("a world");
        let first = scope.spawn(move || world(0).run(summed));
        drop(connected(port));
        let other = TcpStream::connect_timeout(&(own.ip(), port).into(), Duration::from_secs(1));
        assert!(other.is_err(), "{own} reaches a port of 127.0.0.1");
        world(1).run(summed).expect("a sum");
        first.join().expect("no panic").expect("a sum");
    });
}

/// What a process posts as truth values is 0 or 1 here.
#[test]
fn truth_values_are_0_or_1() {
    if !simulators() {
        return eprintln!("skipped: processes have a GPU each here");
    }
    let exchanged: fn(&Member) -> Result<f32> = |member| {
        let stream = member.device().stream();
        let (own, mut other) = (stream.upload(&[false; 4], [4])?, stream.zeros::<bool, 1>([4])?);
        member.all_to_all(&stream, &own, &mut other)?;
        let held = other.view().host().map(<[u8]>::to_vec);
        Err(MeshError::Broken { by: format!("{held:?}, {:?}", other.download()?) })
    };
    let gathered: fn(&Member) -> Result<f32> = |member| {
        let stream = member.device().stream();
        let (own, mut all) = (stream.upload(&[false; 2], [2])?, stream.zeros::<bool, 1>([4])?);
        member.all_gather(&stream, &own, &mut all)?;
        let held = all.view().host().map(<[u8]>::to_vec);
        Err(MeshError::Broken { by: format!("{held:?}, {:?}", all.download()?) })
    };
    let group = || Message::default().number(MEET).number(2).number(0).number(1);
    let mut call = vec![1];
    call.extend(Message::default().bytes(b"bool").0);
    for _ in ["sends", "receives"] {
        call.extend(Message::default().number(2).number(0).number(2).number(1).number(2).0);
    }
    let mut gather = vec![0];
    for part in ["all-gather", "bool", ""] {
        gather.extend(Message::default().bytes(part.as_bytes()).0);
    }
    gather.extend(2u64.to_le_bytes());
    let cases = [(true, call, vec![2, 0, 7, 7]), (false, gather, vec![2, 0])];
    for (exchanges, call, bytes) in cases {
        let body = if exchanges { exchanged } else { gathered };
        let error = with_peer(body, |peer| {
            peer.write_all(&group().number(1).number(0).bytes(&call).bytes(&bytes).whole()).expect("sent");
            let _ = peer.read(&mut [0; 64]);
        });
        assert!(error.to_string().contains("[0, 0, 1, 0]), [false, false, true, false]"), "{error}");
    }
}
