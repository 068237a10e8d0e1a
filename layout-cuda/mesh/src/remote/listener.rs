//! The port where rank 0 waits for the others, each of which has a thread from its first byte on.
//!
//! Law: a rank is let in once. The port is closed when all are there, at the time limit, or with the world.

use super::Guest;
use super::message::{
    ASKS, DONE, FAIL, FAREWELL, GREETING, LATER, LONG, MEET, Message, SHORT, WRONG, numbers, read, write,
};
use crate::board::{Board, Key, Post};
use crate::call::{Reader, decode, encode};
use crate::error::{MeshError, Result};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long somebody who connects may take to say who it is.
const PATIENCE: Duration = Duration::from_secs(5);

/// The open port; closed when it is dropped.
#[derive(Debug)]
pub(crate) struct Listening(Arc<AtomicBool>);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Opens the port that the ranks agreed on, on every address of this machine: what the others connect to need not be one that it
/// has under that name. A connection of somebody else may have the port for a moment; then it is tried again, until the limit.
fn opened(port: u16, limit: Duration) -> std::io::Result<TcpListener> {
    let start = Instant::now();
    loop {
        // Where the system has IPv6, that socket takes both.
        let both = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port));
        let result = match both {
            Err(error) if error.kind() != ErrorKind::AddrInUse => {
                TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))
            }
            result => result,
        };
        match result {
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
}

/// Listens for the other ranks of the world that `own`, which is rank 0, is in.
pub(crate) fn listen(board: &Arc<Board>, port: u16, own: Guest, limit: Duration) -> Result<Listening> {
    let failed = |why: String| MeshError::Rendezvous { address: format!("port {port}"), why };
    let busy = |error| format!("{error}, tried for {limit:?}; is the port another program's?");
    let listener = opened(port, limit).map_err(|error| failed(busy(error)))?;
    listener.set_nonblocking(true).map_err(|error| failed(error.to_string()))?;
    let mut came = vec![false; own.size];
    came[0] = true;
    let door = Arc::new(Door { board: board.clone(), own, came: Mutex::new(came) });
    let closed = Arc::new(AtomicBool::new(false));
    let listening = Listening(closed.clone());
    std::thread::spawn(move || {
        let start = Instant::now();
        while !door.is_full() && start.elapsed() < limit && !closed.load(Relaxed) {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            let door = door.clone();
            std::thread::spawn(move || door.opened_to(stream));
        }
    });
    Ok(listening)
}

impl Door {
    fn is_full(&self) -> bool {
        !self.came.lock().unwrap_or_else(PoisonError::into_inner).contains(&false)
    }

    /// Lets a rank in, and does what it asks for; or tells why not.
    fn opened_to(&self, mut stream: TcpStream) {
        let Some(guest) = greeting(&mut stream) else { return };
        let rank = guest.rank;
        if let Err((kind, why)) = self.admit(&guest) {
            // Who does not hear it sees the connection close.
            let _ = write(&mut stream, &Message::of(kind).bytes(why.as_bytes()));
            return;
        }
        let welcome = write(&mut stream, &Message::of(DONE));
        if welcome.and_then(|()| self.attend(rank, &mut stream)).is_err() {
            let how = "was lost: its connection closed".to_owned();
            let call = "what is in flight".to_owned();
            self.board.end(rank, &how);
            self.board.fail(MeshError::Ended { rank, how, call });
        }
    }

    /// Whether this rank is one of ours that is not here yet. What others say when they miss a rank names who was turned away.
    fn admit(&self, guest: &Guest) -> std::result::Result<(), (u64, String)> {
        let own = &self.own;
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
        loop {
            let message = read(stream, LONG)?;
            let mut reader = Reader(&message);
            let answer = match reader.number().ok_or_else(wrong)? {
                MEET => {
                    let (limit, key, post) = meeting(&mut reader, rank, self.own.size).ok_or_else(wrong)?;
                    match board.meet(rank, &key, post, limit) {
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
                    board.fail(MeshError::Broken { by: reader.text().ok_or_else(wrong)? });
                    status(None)
                }
                FAREWELL => {
                    board.end(rank, "has ended");
                    return write(stream, &status(None));
                }
                _ => return Err(wrong()),
            };
            write(stream, &answer)?;
        }
    }
}

/// Who is at the other end, if it is a rank.
fn greeting(stream: &mut TcpStream) -> Option<Guest> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let message = read(stream, SHORT).ok()?;
    stream.set_read_timeout(None).ok()?;
    let mut reader = Reader(&message);
    let word = reader.number()?;
    let (rank, size) = (usize::try_from(reader.number()?).ok()?, usize::try_from(reader.number()?).ok()?);
    let guest = Guest { rank, size, job: reader.text()? };
    (word == GREETING && reader.0.is_empty()).then_some(guest)
}

/// A request to meet: of ranks that are there, this one among them.
fn meeting(reader: &mut Reader<'_>, rank: usize, size: usize) -> Option<(Duration, Key, Post)> {
    let limit = Duration::from_micros(reader.number()?);
    let group: Vec<usize> =
        numbers(reader)?.into_iter().map(|rank| usize::try_from(rank).ok()).collect::<Option<_>>()?;
    let known = group.contains(&rank) && group.iter().all(|rank| *rank < size);
    let path = numbers(reader)?;
    let call = decode(reader.bytes()?)?;
    let post = Post { call, bytes: Arc::new(reader.bytes()?.to_vec()) };
    known.then_some((limit, (group, path), post))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::Call;

    #[test]
    fn who_meets_is_there() {
        let request = |group: &[u64]| {
            let call = encode(&Call::Refused { why: String::new() });
            let message = Message::default().number(1).numbers(group.iter().copied());
            message.numbers([7].into_iter()).bytes(&call).bytes(&[]).0
        };
        let understood = |group: &[u64]| meeting(&mut Reader(&request(group)), 1, 3).is_some();
        assert!(understood(&[0, 1]) && understood(&[0, 1, 2]));
        assert!(!understood(&[0, 2]), "another rank's meeting");
        assert!(!understood(&[1, 3]) && !understood(&[1, u64::MAX]), "ranks that are not there");
        let whole = request(&[0, 1]);
        assert!((0..whole.len()).all(|end| meeting(&mut Reader(&whole[..end]), 1, 3).is_none()));
    }
}
