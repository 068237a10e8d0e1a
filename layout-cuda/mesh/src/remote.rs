//! Ranks in processes of their own: rank 0's process has the board, the others post over TCP.
//!
//! Law: a connection stands for its rank: what is read from it is posted in the rank's name, and a connection that closes
//! without a farewell is a rank that was lost. No message is trusted: what is no request closes the connection.

use crate::board::{Board, Key, Post};
use crate::call::{Reader, decode, encode};
use crate::error::{MeshError, Result};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a connection opens with.
const GREETING: u64 = 0x6c61_796f_7574_0001;
/// The longest message.
const MOST: u64 = 1 << 26;
/// How often a rank that waits for its device asks whether the others are there.
const ASK: Duration = Duration::from_millis(200);

/// The kinds of requests.
const MEET: u64 = 1;
const ASKS: u64 = 2;
const FAIL: u64 = 3;
const FAREWELL: u64 = 4;

fn write(stream: &mut TcpStream, message: &[u8]) -> std::io::Result<()> {
    stream.write_all(&(message.len() as u64).to_le_bytes())?;
    stream.write_all(message)
}

fn read(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut len = [0; 8];
    stream.read_exact(&mut len)?;
    let len = u64::from_le_bytes(len);
    if len > MOST {
        return Err(std::io::Error::other(format!("a message of {len} bytes")));
    }
    let mut message = vec![0; len as usize];
    stream.read_exact(&mut message)?;
    Ok(message)
}

/// Numbers and texts one after the other.
#[derive(Default)]
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

    fn numbers(self, list: impl ExactSizeIterator<Item = u64>) -> Message {
        let own = self.number(list.len() as u64);
        list.fold(own, Message::number)
    }
}

fn numbers(reader: &mut Reader<'_>) -> Option<Vec<u64>> {
    let count = reader.number()?;
    (0..count).map(|_| reader.number()).collect()
}

/// The way to the board in rank 0's process.
#[derive(Debug)]
pub(crate) struct Remote {
    address: String,
    stream: Mutex<TcpStream>,
    asked: Mutex<Instant>,
}

impl Remote {
    /// Connects, trying again until the limit: the other process may not have begun to listen.
    pub(crate) fn connect(address: &str, rank: usize, size: usize, limit: Duration) -> Result<Remote> {
        let start = Instant::now();
        let failed = |why: String| MeshError::Rendezvous { address: address.into(), why };
        let mut stream = loop {
            match TcpStream::connect(address) {
                // Where nobody listens, TCP may connect a socket to itself, and so keep rank 0 from its port.
                Ok(stream) if itself(&stream) => drop(stream),
                Ok(stream) => break stream,
                Err(error) if start.elapsed() >= limit => {
                    return Err(failed(format!(
                        "{error}, for {limit:?}; is rank 0 running, and the port free?"
                    )));
                }
                Err(_) => {}
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let greeting = Message::default().number(GREETING).number(rank as u64).number(size as u64);
        let greeted = stream.set_nodelay(true).and_then(|()| write(&mut stream, &greeting.0));
        greeted.map_err(|error| failed(error.to_string()))?;
        Ok(Remote { address: address.into(), stream: Mutex::new(stream), asked: Mutex::new(Instant::now()) })
    }

    fn request(&self, message: Message, limit: Duration) -> Result<Vec<u8>> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: std::io::Error| MeshError::Ended {
            rank: 0,
            how: format!("was lost: {error} at {}", self.address),
            call: "what the others call".into(),
        };
        // The board answers within the limit; it has as long again for the way.
        let patience = limit.saturating_mul(2).max(Duration::from_millis(100));
        stream.set_read_timeout(Some(patience)).map_err(failed)?;
        write(&mut stream, &message.0).map_err(failed)?;
        read(&mut stream).map_err(failed)
    }

    pub(crate) fn meet(&self, key: &Key, post: &Post, limit: Duration) -> Result<Arc<Vec<Post>>> {
        let message = Message::default()
            .number(MEET)
            .number(limit.as_micros() as u64)
            .numbers(key.0.iter().map(|rank| *rank as u64))
            .numbers(key.1.iter().copied())
            .bytes(&encode(&post.call))
            .bytes(&post.bytes);
        let answer = self.request(message, limit)?;
        let mut reader = Reader(&answer);
        let broken = |by: String| MeshError::Broken { by };
        match reader.number() {
            Some(0) => {
                let posts = || {
                    let count = reader.number()?;
                    let post = |_| {
                        let call = decode(reader.bytes()?)?;
                        Some(Post { call, bytes: Arc::new(reader.bytes()?.to_vec()) })
                    };
                    (0..count).map(post).collect::<Option<Vec<Post>>>()
                };
                let mut posts = posts;
                posts().map(Arc::new).ok_or_else(|| broken("an answer that is none".into()))
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
        let answer = match self.request(Message::default().number(ASKS), ASK * 10) {
            Ok(answer) => answer,
            Err(error) => return Some(error),
        };
        let mut reader = Reader(&answer);
        match reader.number() {
            Some(0) => None,
            _ => Some(MeshError::Broken { by: reader.text().unwrap_or_default() }),
        }
    }

    pub(crate) fn fail(&self, error: MeshError) {
        let text = error.to_string();
        // Who does not hear it sees the connection close.
        let _ = self.request(Message::default().number(FAIL).bytes(text.as_bytes()), ASK * 10);
    }

    /// Says that this rank has done all of its work.
    pub(crate) fn farewell(&self) {
        let _ = self.request(Message::default().number(FAREWELL), ASK * 10);
    }
}

/// Whether both ends of a connection are this one.
fn itself(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(other)) if own == other)
}

/// Opens the port that the ranks agreed on. A connection of somebody else may have it for a moment; then it is tried again,
/// until the limit.
fn listen(address: &str, limit: Duration) -> std::io::Result<TcpListener> {
    let start = Instant::now();
    loop {
        match TcpListener::bind(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && start.elapsed() < limit => {
                std::thread::sleep(Duration::from_millis(20));
            }
            result => return result,
        }
    }
}

/// Listens for the other ranks, each of which has a thread from then on.
pub(crate) fn serve(board: &Arc<Board>, address: &str, size: usize, limit: Duration) -> Result<()> {
    let failed = |why: String| MeshError::Rendezvous { address: address.into(), why };
    let busy = |error| format!("{error}, tried for {limit:?}; is the port another program's?");
    let listener = listen(address, limit).map_err(|error| failed(busy(error)))?;
    listener.set_nonblocking(true).map_err(|error| failed(error.to_string()))?;
    let board = board.clone();
    std::thread::spawn(move || {
        let start = Instant::now();
        let mut came = vec![false; size];
        while came[1..].contains(&false) && start.elapsed() < limit {
            let Ok((mut stream, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            let Some(rank) = greeting(&mut stream, size).filter(|rank| !came[*rank]) else { continue };
            came[rank] = true;
            let board = board.clone();
            std::thread::spawn(move || {
                if attend(&board, rank, &mut stream).is_err() {
                    let how = "was lost: its connection closed".to_owned();
                    let call = "what is in flight".to_owned();
                    board.end(rank, &how);
                    board.fail(MeshError::Ended { rank, how, call });
                }
            });
        }
    });
    Ok(())
}

/// The rank at the other end, if it is one of ours.
fn greeting(stream: &mut TcpStream, size: usize) -> Option<usize> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let message = read(stream).ok()?;
    stream.set_read_timeout(None).ok()?;
    let mut reader = Reader(&message);
    let (word, rank, its) = (reader.number()?, reader.number()?, reader.number()?);
    let ours = word == GREETING && its == size as u64 && (1..size as u64).contains(&rank);
    ours.then_some(rank as usize)
}

/// Does what a rank asks for, until it takes its leave.
fn attend(board: &Board, rank: usize, stream: &mut TcpStream) -> std::io::Result<()> {
    let wrong = || std::io::Error::other("no request");
    let status = |broken: Option<MeshError>| match broken {
        None => Message::default().number(0),
        Some(error) => Message::default().number(1).bytes(error.to_string().as_bytes()),
    };
    loop {
        let message = read(stream)?;
        let mut reader = Reader(&message);
        let answer = match reader.number().ok_or_else(wrong)? {
            MEET => {
                let (limit, key, post) = meeting(&mut reader).ok_or_else(wrong)?;
                match board.meet(rank, &key, post, limit) {
                    Ok(posts) => posts
                        .iter()
                        .fold(Message::default().number(0).number(posts.len() as u64), |message, post| {
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
                return write(stream, &status(None).0);
            }
            _ => return Err(wrong()),
        };
        write(stream, &answer.0)?;
    }
}

fn meeting(reader: &mut Reader<'_>) -> Option<(Duration, Key, Post)> {
    let limit = Duration::from_micros(reader.number()?);
    let group = numbers(reader)?.into_iter().map(|rank| usize::try_from(rank).ok()).collect::<Option<_>>()?;
    let path = numbers(reader)?;
    let call = decode(reader.bytes()?)?;
    Some((limit, (group, path), Post { call, bytes: Arc::new(reader.bytes()?.to_vec()) }))
}
