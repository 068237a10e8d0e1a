//! `Remote`: a rank's way to the board in rank 0's process.
//!
//! Law: it answers within twice the time limit. After a failure nothing more is asked: an answer that comes late would be taken for
//! that of the next request.

use super::Guest;
use super::message::{
    ASKS, DONE, FAIL, FAREWELL, GREETING, LATER, LONG, MEET, Message, SHORT, WRONG, read, write,
};
use crate::board::{Key, Post};
use crate::call::{Reader, decode, encode};
use crate::error::{MeshError, Result};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a rank that waits for its device asks whether the others are there.
const ASK: Duration = Duration::from_millis(200);
/// How often a rank that is not let in, or finds nobody, tries again.
const AGAIN: Duration = Duration::from_millis(20);

/// The way to the board in rank 0's process.
#[derive(Debug)]
pub(crate) struct Remote {
    address: String,
    /// The connection, or why there is none any more.
    stream: Mutex<std::result::Result<TcpStream, MeshError>>,
    asked: Mutex<Instant>,
    /// What a wait may take, as rank 0 says.
    limit: Duration,
}

/// What a try to come in gives, if not the connection.
enum Refusal {
    /// Nobody answers; it may be otherwise a moment later.
    Now(String),
    /// Rank 0 says that it may be otherwise a moment later.
    Later(String),
    /// It will not.
    Forever(String),
}

impl Remote {
    /// Connects, trying again until the limit: the other process may not have begun to listen.
    pub(crate) fn connect((host, port): (&str, u16), guest: &Guest, limit: Duration) -> Result<Remote> {
        let start = Instant::now();
        let address = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let failed = |why: String| MeshError::Rendezvous { address: address.clone(), why };
        // Why it is not in yet. What rank 0 said says more than that it is gone since, and a try that the limit cuts short says nothing.
        let (mut why, mut said) = (None, false);
        loop {
            let rest = limit.saturating_sub(start.elapsed());
            let refusal = match resolved(host, port, rest) {
                Ok(addresses) => match admitted(&addresses, guest, rest) {
                    Ok((stream, limit)) => {
                        let (stream, asked) = (Mutex::new(Ok(stream)), Mutex::new(Instant::now()));
                        return Ok(Remote { address, stream, asked, limit });
                    }
                    Err(refusal) => refusal,
                },
                Err(why) => Refusal::Now(format!("`{host}` is no address that this machine knows: {why}")),
            };
            match refusal {
                Refusal::Forever(why) => return Err(failed(why)),
                Refusal::Later(now) => (why, said) = (Some(now), true),
                Refusal::Now(now) if why.is_none() || !said && rest > 5 * AGAIN => why = Some(now),
                Refusal::Now(_) => {}
            }
            if start.elapsed() >= limit {
                let why = why.unwrap_or_default();
                return Err(failed(format!("{guest}: {why}, for {limit:?}")));
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// The answer's kind and the rest of it.
    fn request(&self, message: &Message, limit: Duration) -> Result<Vec<u8>> {
        let mut place = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let stream = match &mut *place {
            Ok(stream) => stream,
            Err(error) => return Err(MeshError::Broken { by: error.to_string() }),
        };
        let bytes = message.0.len() as u64;
        if bytes > LONG {
            let why = format!("{bytes} bytes between processes of simulators, which take {LONG} at once");
            return Err(MeshError::Broken { by: why });
        }
        // The board answers within the limit; it has as long again for the way.
        let patience = limit.saturating_mul(2).max(Duration::from_millis(100));
        let mut answered = || {
            write(stream, message, patience)?;
            read(stream, LONG, (Some(patience), patience))
        };
        answered().map_err(|error: std::io::Error| {
            let how = format!("was lost: {error} at {}", self.address);
            let error = MeshError::Ended { rank: 0, how, call: "what the others call".into() };
            *place = Err(error.clone());
            error
        })
    }

    pub(crate) fn meet(&self, key: &Key, post: &Post) -> Result<Arc<Vec<Post>>> {
        let message = Message::of(MEET)
            .numbers(key.0.iter().map(|rank| *rank as u64))
            .numbers(key.1.iter().copied())
            .bytes(&encode(&post.call))
            .bytes(&post.bytes);
        let answer = self.request(&message, self.limit)?;
        let mut reader = Reader(&answer);
        let broken = |by: String| MeshError::Broken { by };
        match reader.number() {
            Some(DONE) => {
                let mut posts = || {
                    let count = reader.number()?;
                    let post = |_| {
                        let call = decode(reader.bytes()?)?;
                        Some(Post { call, bytes: Arc::new(reader.bytes()?.to_vec()), offers: false })
                    };
                    (0..count).map(post).collect::<Option<Vec<Post>>>()
                };
                let all = posts().filter(|posts| posts.len() == key.0.len());
                all.map(Arc::new).ok_or_else(|| broken("an answer that is none".into()))
            }
            _ => Err(broken(reader.text().unwrap_or_default())),
        }
    }

    /// Why the others will not go on; asked now and then.
    pub(crate) fn broken(&self) -> Option<MeshError> {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if asked.elapsed() < ASK {
            return None;
        }
        *asked = Instant::now();
        let answer = match self.request(&Message::of(ASKS), self.limit) {
            Ok(answer) => answer,
            Err(error) => return Some(error),
        };
        let mut reader = Reader(&answer);
        match reader.number() {
            Some(DONE) => None,
            _ => Some(MeshError::Broken { by: reader.text().unwrap_or_default() }),
        }
    }

    pub(crate) fn fail(&self, error: &MeshError) {
        // Who does not hear it sees the connection close.
        let _ = self.request(&Message::of(FAIL).bytes(error.to_string().as_bytes()), ASK * 10);
    }

    /// Says that this rank has done all of its work.
    pub(crate) fn farewell(&self) {
        let _ = self.request(&Message::of(FAREWELL), self.limit);
    }
}

/// The addresses of a name. A resolver has time limits of its own, so it is asked by another thread.
pub(super) fn resolved(
    host: &str,
    port: u16,
    limit: Duration,
) -> std::result::Result<Vec<SocketAddr>, String> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (send, receive) = channel();
    let own = host.to_owned();
    std::thread::spawn(move || {
        let found = (own.as_str(), port).to_socket_addrs().map(|list| list.collect());
        // Nobody waits any more where this fails.
        let _ = send.send(found);
    });
    match receive.recv_timeout(limit.max(AGAIN)) {
        Ok(found) => found.map_err(|error| error.to_string()),
        Err(_) => Err("no answer".into()),
    }
}

/// The first of the addresses where rank 0 listens and lets this rank in.
fn admitted(
    addresses: &[SocketAddr],
    guest: &Guest,
    limit: Duration,
) -> std::result::Result<(TcpStream, Duration), Refusal> {
    let mut why = "there is no such address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(address, limit.max(AGAIN)) {
            // Where nobody listens, TCP may connect a socket to itself, and so keep rank 0 from its port.
            Ok(stream) if itself(&stream) => why = "nobody listens; is rank 0 running?".into(),
            Ok(stream) => return greeted(stream, guest, limit),
            Err(error) => why = format!("{error}; is rank 0 running?"),
        }
    }
    Err(Refusal::Now(why))
}

/// Says who comes, and hears whether that rank belongs there, and the time limit of that world.
fn greeted(
    mut stream: TcpStream,
    guest: &Guest,
    limit: Duration,
) -> std::result::Result<(TcpStream, Duration), Refusal> {
    let greeting = Message::of(GREETING)
        .number(guest.rank as u64)
        .number(guest.size as u64)
        .bytes(guest.job.as_bytes())
        .bytes(guest.token.0.as_bytes());
    let mut answered = || {
        stream.set_nodelay(true)?;
        let time = limit.max(AGAIN);
        write(&mut stream, &greeting, time)?;
        read(&mut stream, SHORT, (Some(time), time))
    };
    // Another program's port, or rank 0's of an earlier world, which closes.
    let no_rank = |error: std::io::Error| {
        Refusal::Now(format!("what listens there answers no rank of a mesh ({error})"))
    };
    let answer = answered().map_err(no_rank)?;
    let mut reader = Reader(&answer);
    let kind = reader.number();
    let text = |reader: &mut Reader<'_>| reader.text().unwrap_or_default();
    match kind {
        Some(DONE) => match reader.number() {
            Some(limit) => Ok((stream, Duration::from_micros(limit))),
            None => Err(Refusal::Now("what listens there answers no rank of a mesh".into())),
        },
        Some(WRONG) => Err(Refusal::Forever(text(&mut reader))),
        Some(LATER) => Err(Refusal::Later(text(&mut reader))),
        _ => Err(Refusal::Now("what listens there answers no rank of a mesh".into())),
    }
}

/// Whether both ends of a connection are this one.
fn itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(other)) if own == other)
}
