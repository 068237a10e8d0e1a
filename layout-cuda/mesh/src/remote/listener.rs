//! The port where rank 0 waits for the others, each of which has a thread once it is let in.
//!
//! Law: a rank is let in once. The port is closed when all are there, at the time limit, or with the world. Those who have not said
//! who they are share one thread and a bounded memory, and are there for a bounded time: of too many the first ones go.

use super::client::resolved;
use super::message::{
    ASKS, DONE, FAIL, FAREWELL, GREETING, LATER, LONG, MEET, Message, SHORT, WRONG, length, numbers, read,
    write,
};
use super::{Guest, Token};
use crate::board::{Board, Key, Post};
use crate::call::{Reader, decode, encode};
use crate::error::{MeshError, Result};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long somebody who connects may take to say who it is; a message of a rank has as long at least.
const PATIENCE: Duration = Duration::from_secs(5);
/// So many connections may be open at once that have not said who they are.
const OPEN: usize = 256;
/// The longest text of a failure that is kept.
const WORDS: usize = 4096;

/// The open port; closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Listening(Arc<AtomicBool>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Opens the port that the ranks agreed on: where the host is this machine by its own name for itself, only for this machine; else on
/// every address, since what the others connect to need not be one that it has under that name. A connection of somebody else may
/// have the port for a moment; then it is tried again, until the limit.
fn opened((host, port): (&str, u16), limit: Duration) -> std::io::Result<TcpListener> {
    let start = Instant::now();
    let named = resolved(host, port, limit).unwrap_or_default();
    let own = !named.is_empty() && named.iter().all(|address| address.ip().is_loopback());
    // Where the system has IPv6, that socket takes both.
    let every = [IpAddr::from(Ipv6Addr::UNSPECIFIED), Ipv4Addr::UNSPECIFIED.into()];
    let addresses = if own { named } else { every.map(|address| SocketAddr::new(address, port)).into() };
    loop {
        let mut tried = Err(ErrorKind::AddrNotAvailable.into());
        for address in &addresses {
            tried = TcpListener::bind(address);
            match &tried {
                // Another address of the port would not be the one that the others come to.
                Err(error) if error.kind() != ErrorKind::AddrInUse => {}
                _ => break,
            }
        }
        match tried {
            Err(error) if error.kind() == ErrorKind::AddrInUse && start.elapsed() < limit => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// What every connection is held against.
#[derive(Debug)]
struct Door {
    board: Arc<Board>,
    own: Guest,
    came: Mutex<Vec<bool>>,
    /// What a wait may take, the same for all ranks.
    limit: Duration,
}

/// Listens for the other ranks of the world that `own`, which is rank 0, is in.
pub(crate) fn listen(
    board: &Arc<Board>,
    place: (&str, u16),
    own: Guest,
    limit: Duration,
) -> Result<Listening> {
    let failed = |why: String| MeshError::Rendezvous { address: format!("port {}", place.1), why };
    let busy = |error| format!("{error}, tried for {limit:?}; is the port another program's?");
    let listener = opened(place, limit).map_err(|error| failed(busy(error)))?;
    listener.set_nonblocking(true).map_err(|error| failed(error.to_string()))?;
    let mut came = vec![false; own.size];
    came[0] = true;
    let door = Arc::new(Door { board: board.clone(), own, came: Mutex::new(came), limit });
    let closed = Arc::new(AtomicBool::new(false));
    let listening = Listening(closed.clone());
    std::thread::spawn(move || {
        let start = Instant::now();
        let mut visitors = VecDeque::new();
        while !door.is_full() && start.elapsed() < limit && !closed.load(Relaxed) {
            door.turn(&listener, &mut visitors);
        }
    });
    Ok(listening)
}

/// Somebody who has not said who it is.
struct Visitor {
    stream: TcpStream,
    came: Instant,
    said: Vec<u8>,
}

/// What is known of it.
enum Heard {
    NotYet,
    Nobody,
    Guest(Guest),
}

impl Visitor {
    fn new(stream: TcpStream) -> Option<Visitor> {
        stream.set_nonblocking(true).ok()?;
        stream.set_nodelay(true).ok()?;
        Some(Visitor { stream, came: Instant::now(), said: Vec::new() })
    }

    /// Reads what there is; waits for nothing.
    fn hear(&mut self) -> Heard {
        let mut bytes = [0; 512];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(0) => return Heard::Nobody,
                Ok(count) => self.said.extend(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return if self.came.elapsed() < PATIENCE { Heard::NotYet } else { Heard::Nobody };
                }
                Err(_) => return Heard::Nobody,
            }
            match greeting(&self.said) {
                Heard::NotYet => {}
                heard => return heard,
            }
        }
    }
}

impl Door {
    fn is_full(&self) -> bool {
        !self.came.lock().unwrap_or_else(PoisonError::into_inner).contains(&false)
    }

    /// Takes in some who came, and hears all who are here.
    fn turn(self: &Arc<Door>, listener: &TcpListener, visitors: &mut VecDeque<Visitor>) {
        let mut more = false;
        for _ in 0..OPEN / 4 {
            // What cannot be accepted now, for want of file descriptors for example, can be a moment later.
            let Ok((stream, _)) = listener.accept() else { break };
            more = true;
            if visitors.len() == OPEN {
                visitors.pop_front();
            }
            visitors.extend(Visitor::new(stream));
        }
        for mut visitor in std::mem::take(visitors) {
            match visitor.hear() {
                Heard::NotYet => visitors.push_back(visitor),
                Heard::Nobody => {}
                Heard::Guest(guest) => self.opened_to(visitor.stream, guest),
            }
        }
        if !more {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Lets a rank in, and does what it asks for in a thread of its own; or says why not.
    fn opened_to(self: &Arc<Door>, mut stream: TcpStream, guest: Guest) {
        let rank = guest.rank;
        if let Err((kind, why)) = self.admit(&guest) {
            // A few bytes, for which a new connection has room. Who does not hear them sees the connection close.
            let _ = write(&mut stream, &Message::of(kind).bytes(why.as_bytes()), PATIENCE);
            return;
        }
        let door = self.clone();
        std::thread::spawn(move || {
            let limit = u64::try_from(door.limit.as_micros()).unwrap_or(u64::MAX);
            let welcome = Message::of(DONE).number(limit);
            let open = stream.set_nonblocking(false).and_then(|()| write(&mut stream, &welcome, PATIENCE));
            if open.and_then(|()| door.attend(rank, &mut stream)).is_err() {
                let how = "was lost: its connection closed".to_owned();
                let call = "what is in flight".to_owned();
                door.board.end(rank, &how);
                door.board.fail(MeshError::Ended { rank, how, call });
            }
        });
    }

    /// Whether this rank is one of ours that is not here yet. What others say when they miss a rank names who was turned away.
    fn admit(&self, guest: &Guest) -> std::result::Result<(), (u64, String)> {
        let own = &self.own;
        if !own.token.is(&guest.token) {
            let why =
                format!("{guest} came without this world's token; give all ranks one LAYOUT_MESH_TOKEN");
            self.board.turned_away(why.clone());
            return Err((WRONG, why));
        }
        let wrong = |why: String| {
            self.board.turned_away(why.clone());
            Err((WRONG, why))
        };
        if !guest.job.is_empty() && !own.job.is_empty() && guest.job != own.job {
            return wrong(format!("{guest} came to the port of {own}: two worlds on one port"));
        }
        if guest.size != own.size || guest.rank >= own.size {
            let size = own.size;
            return wrong(format!("{guest} came to a world of {size} ranks; give all ranks one WORLD_SIZE"));
        }
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut came[guest.rank], true) {
            let why = format!("{guest} is here already, of an earlier world or another process of that RANK");
            self.board.turned_away(why.clone());
            return Err((LATER, why));
        }
        Ok(())
    }

    /// Does what a rank asks for, until it takes its leave.
    fn attend(&self, rank: usize, stream: &mut TcpStream) -> std::io::Result<()> {
        let board = &self.board;
        let wrong = || std::io::Error::other("no request");
        let status = |broken: Option<MeshError>| match broken {
            None => Message::of(DONE),
            Some(error) => Message::of(WRONG).bytes(error.to_string().as_bytes()),
        };
        let time = self.limit.saturating_mul(2).max(PATIENCE);
        loop {
            let message = read(stream, LONG, (None, time))?;
            let mut reader = Reader(&message);
            let answer = match reader.number().ok_or_else(wrong)? {
                MEET => {
                    let (key, post) = meeting(&mut reader, rank, self.own.size).ok_or_else(wrong)?;
                    match board.meet(rank, &key, post, self.limit) {
                        Ok(posts) => posts
                            .iter()
                            .fold(Message::of(DONE).number(posts.len() as u64), |message, post| {
                                message.bytes(&encode(&post.call)).bytes(&post.bytes)
                            }),
                        Err(error) => status(Some(error)),
                    }
                }
                ASKS => status(board.broken()),
                FAIL => {
                    let by = reader.text().ok_or_else(wrong)?.chars().take(WORDS).collect();
                    board.fail(MeshError::Broken { by });
                    status(None)
                }
                FAREWELL => {
                    board.end(rank, "has ended");
                    return write(stream, &status(None), time);
                }
                _ => return Err(wrong()),
            };
            write(stream, &answer, time)?;
        }
    }
}

/// Who says this, if it is a rank.
fn greeting(said: &[u8]) -> Heard {
    let Some((len, rest)) = said.split_first_chunk::<8>() else { return Heard::NotYet };
    let Ok(len) = length(*len, SHORT) else { return Heard::Nobody };
    // A rank says no more before it is answered.
    match (rest.len() as u64).cmp(&len) {
        std::cmp::Ordering::Less => return Heard::NotYet,
        std::cmp::Ordering::Equal => {}
        std::cmp::Ordering::Greater => return Heard::Nobody,
    }
    let mut reader = Reader(rest);
    let mut guest = || {
        let word = reader.number()?;
        let (rank, size) = (usize::try_from(reader.number()?).ok()?, usize::try_from(reader.number()?).ok()?);
        let guest = Guest { rank, size, job: reader.text()?, token: Token(reader.text()?) };
        (word == GREETING && reader.0.is_empty()).then_some(guest)
    };
    guest().map_or(Heard::Nobody, Heard::Guest)
}

/// A request to meet: of ranks that are there, each once, this one among them.
fn meeting(reader: &mut Reader<'_>, rank: usize, size: usize) -> Option<(Key, Post)> {
    let group: Vec<usize> =
        numbers(reader)?.into_iter().map(|rank| usize::try_from(rank).ok()).collect::<Option<_>>()?;
    let mut there = vec![false; size];
    let known =
        group.iter().all(|rank| there.get_mut(*rank).is_some_and(|there| !std::mem::replace(there, true)));
    let path = numbers(reader)?;
    let call = decode(reader.bytes()?)?;
    // Of another process no address is taken.
    let post = Post { call, bytes: Arc::new(reader.bytes()?.to_vec()), offers: false };
    (known && there.get(rank) == Some(&true)).then_some(((group, path), post))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;

    #[test]
    fn who_meets_is_there() {
        let request = |group: &[u64]| {
            let call = encode(&Call::Refused { why: String::new() });
            let message = Message::default().numbers(group.iter().copied());
            message.numbers([7].into_iter()).bytes(&call).bytes(&[]).0
        };
        let understood = |group: &[u64]| meeting(&mut Reader(&request(group)), 1, 3).is_some();
        assert!(understood(&[0, 1]) && understood(&[0, 1, 2]));
        assert!(!understood(&[0, 2]), "another rank's meeting");
        assert!(!understood(&[1, 3]) && !understood(&[1, u64::MAX]), "ranks that are not there");
        assert!(
            !understood(&[1, 1]) && !understood(&[0, 1, 0]) && !understood(&[]),
            "ranks that are there twice"
        );
        let whole = request(&[0, 1]);
        assert!((0..whole.len()).all(|end| meeting(&mut Reader(&whole[..end]), 1, 3).is_none()));
    }
}
