//! Where the ranks meet: each posts what it calls, and goes on when all of the group have.
//!
//! Law: a meeting comes back on every rank of its group, with the same answer, once all have posted; with an error as soon as
//! it is known that one will not: it ended, all wait for one another, or the time limit has passed. An error breaks the
//! board: whoever comes later has it, too.

use crate::call::{Call, agree};
use crate::error::{MeshError, Result};
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What one rank posted.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) call: Call,
    /// What the others get of it: on the simulator the elements.
    pub(crate) bytes: Arc<Vec<u8>>,
    /// Whether the bytes are addresses in this process, which the others read from when all are here.
    pub(crate) offers: bool,
}

/// A meeting: the ranks of the group, and which of their meetings it is, after those at which the group was made.
pub(crate) type Key = (Vec<usize>, Vec<u64>);

#[derive(Debug, Default)]
struct Meeting {
    posts: HashMap<usize, Post>,
    /// The answer, when all have posted, and how many have taken it.
    answer: Option<Arc<Vec<Post>>>,
    taken: usize,
}

#[derive(Debug)]
struct State {
    meetings: HashMap<Key, Meeting>,
    /// What each rank waits in.
    waiting: Vec<Option<(Key, String)>>,
    /// How each rank that is gone ended.
    ended: Vec<Option<String>>,
    broken: Option<MeshError>,
    /// Who came and does not belong here.
    turned_away: Vec<String>,
    /// Of each meeting at which memory was offered, how many ranks may still read it.
    reading: HashMap<Key, usize>,
}

/// While it lives, the device of a rank may read what was offered at a meeting, and wait for the events of there.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    board: &'a Board,
    key: Key,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        let mut state = self.board.lock();
        if let Some(readers) = state.reading.get_mut(&self.key) {
            *readers -= 1;
            if *readers == 0 {
                state.reading.remove(&self.key);
            }
        }
        drop(state);
        self.board.news.notify_all();
    }
}

/// The ranks' meeting place.
#[derive(Debug)]
pub(crate) struct Board {
    state: Mutex<State>,
    news: Condvar,
}

impl Board {
    pub(crate) fn new(ranks: usize) -> Board {
        let state = State {
            meetings: HashMap::new(),
            waiting: vec![None; ranks],
            ended: vec![None; ranks],
            broken: None,
            turned_away: Vec::new(),
            reading: HashMap::new(),
        };
        Board { state: Mutex::new(state), news: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No holder leaves the state half changed, so that it is whole even if one panicked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why these ranks go on no more, if they do not.
    pub(crate) fn broken(&self) -> Option<MeshError> {
        self.lock().broken.clone()
    }

    /// Breaks it.
    pub(crate) fn fail(&self, error: MeshError) {
        self.lock().broken.get_or_insert(error);
        self.news.notify_all();
    }

    /// Records why a connection was refused: the error for a missing rank names these reasons.
    pub(crate) fn turned_away(&self, why: String) {
        let mut state = self.lock();
        // A few are enough to see what is wrong, however many come.
        if state.turned_away.len() < 8 && !state.turned_away.contains(&why) {
            state.turned_away.push(why);
        }
    }

    /// A rank is gone.
    pub(crate) fn end(&self, rank: usize, how: &str) {
        let mut state = self.lock();
        state.ended[rank].get_or_insert(how.to_owned());
        drop(state);
        self.news.notify_all();
    }

    /// A rank's own part in a meeting at which memory was offered, and which it came back from: it reads until this is dropped.
    pub(crate) fn reading(&self, key: Key) -> Reading<'_> {
        Reading { board: self, key }
    }

    /// Waits until nobody reads what was offered at the meetings of a group. Without a limit: whoever reads ends with its device's
    /// work, and memory that is given up before that may be another tensor's by then.
    pub(crate) fn unread(&self, group: &[usize], path: &[u64]) {
        let of_group =
            |key: &Key| key.0 == group && key.1.split_last().is_some_and(|(_, before)| before == path);
        let mut state = self.lock();
        while state.reading.keys().any(of_group) {
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until every rank is gone, or it is broken and has had the time to be heard of.
    pub(crate) fn empty(&self, limit: Duration) {
        let start = Instant::now();
        let mut state = self.lock();
        while state.ended.contains(&None) && start.elapsed() < limit {
            let limit = if state.broken.is_some() { limit.min(Duration::from_secs(1)) } else { limit };
            let rest = limit.saturating_sub(start.elapsed());
            if rest.is_zero() {
                return;
            }
            state = self.news.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Posts, waits for the others of the group, and gives what all of them posted, in the group's order.
    pub(crate) fn meet(&self, rank: usize, key: &Key, post: Post, limit: Duration) -> Result<Arc<Vec<Post>>> {
        let (group, text) = (&key.0, post.call.to_string());
        let start = Instant::now();
        let mut state = self.lock();
        if let Some(error) = &state.broken {
            return Err(MeshError::Broken { by: error.to_string() });
        }
        let meeting = state.meetings.entry(key.clone()).or_default();
        if meeting.posts.contains_key(&rank) {
            // No member does: it numbers its meetings.
            return Err(MeshError::Broken { by: format!("rank {rank} came to one meeting twice: {text}") });
        }
        meeting.posts.insert(rank, post);
        if meeting.posts.len() == group.len() {
            let posts: Vec<Post> = group.iter().filter_map(|rank| meeting.posts.get(rank).cloned()).collect();
            let calls: Vec<&Call> = posts.iter().map(|post| &post.call).collect();
            let offers = posts.iter().filter(|post| post.offers).count();
            let one_way = || match offers == 0 || offers == posts.len() {
                true => Ok(()),
                false => {
                    let calls = group.iter().zip(&calls).map(|(rank, call)| (*rank, call.to_string()));
                    let why = "some let the others copy from their memory, and some send".to_owned();
                    Err(MeshError::Differ { calls: calls.collect(), why })
                }
            };
            match agree(group, &calls).and_then(|()| one_way()) {
                Ok(()) => {
                    meeting.answer = Some(Arc::new(posts));
                    if offers > 0 {
                        // Every rank that has posted gets the answer, and then reads, whatever else happens.
                        state.reading.insert(key.clone(), group.len());
                    }
                }
                Err(error) => {
                    state.broken.get_or_insert(error);
                }
            }
            self.news.notify_all();
        }
        state.waiting[rank] = Some((key.clone(), text.clone()));
        loop {
            if let Some(meeting) = state.meetings.get_mut(key)
                && let Some(answer) = meeting.answer.clone()
            {
                meeting.taken += 1;
                if meeting.taken == group.len() {
                    state.meetings.remove(key);
                }
                state.waiting[rank] = None;
                return Ok(answer);
            }
            if let Some(error) = state.broken.clone() {
                state.waiting[rank] = None;
                return Err(error);
            }
            let error = state.hopeless(key, &text).or_else(|| {
                let absent = || group.iter().filter(|other| !state.posted(key, **other)).copied().collect();
                let late = start.elapsed() >= limit;
                let call = || match &state.turned_away[..] {
                    [] => text.clone(),
                    others => format!("{text} (turned away: {})", others.join("; ")),
                };
                late.then(|| MeshError::Late { call: call(), limit, absent: absent() })
            });
            if let Some(error) = error {
                state.broken = Some(error);
                self.news.notify_all();
                continue;
            }
            let rest = limit.saturating_sub(start.elapsed());
            state = self.news.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    fn posted(&self, key: &Key, rank: usize) -> bool {
        self.meetings.get(key).is_some_and(|meeting| meeting.posts.contains_key(&rank))
    }

    /// Why a meeting that is not complete never will be.
    fn hopeless(&self, key: &Key, call: &str) -> Option<MeshError> {
        let missing = key.0.iter().filter(|rank| !self.posted(key, **rank));
        for &rank in missing {
            if let Some(how) = &self.ended[rank] {
                return Some(MeshError::Ended { rank, how: how.clone(), call: call.to_owned() });
            }
        }
        // Everybody waits, and nobody in a meeting that is complete.
        let waits = |rank: usize| match &self.waiting[rank] {
            Some((key, _)) => self.meetings.get(key).is_none_or(|meeting| meeting.answer.is_none()),
            None => self.ended[rank].is_some(),
        };
        if !(0..self.waiting.len()).all(waits) {
            return None;
        }
        let text = |(rank, waiting): (usize, &Option<(Key, String)>)| {
            let ranks = match waiting {
                Some(((group, _), call)) => format!("{call} of ranks {group:?}"),
                None => self.ended[rank].clone().unwrap_or_default(),
            };
            (rank, ranks)
        };
        Some(MeshError::Stuck { ranks: self.waiting.iter().enumerate().map(text).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    const LIMIT: Duration = Duration::from_secs(20);

    fn post(name: &str, offers: bool) -> Post {
        let call = Call::Collective { name: name.into(), elem: String::new(), count: 0, how: String::new() };
        Post { call, bytes: Arc::default(), offers }
    }

    fn key(number: u64) -> Key {
        (vec![0, 1], vec![number])
    }

    #[test]
    fn what_is_offered_is_kept_until_nobody_reads_it() {
        let (board, reads) = (&Board::new(2), &AtomicBool::new(true));
        std::thread::scope(|scope| {
            scope.spawn(move || {
                board.meet(0, &key(0), post("offer", true), LIMIT).expect("both are here");
                let reading = board.reading(key(0));
                // This rank's device takes its time, and the other one has failed meanwhile.
                let failed = board.meet(0, &key(1), post("copied", false), LIMIT);
                assert!(failed.is_err());
                std::thread::sleep(Duration::from_millis(200));
                reads.store(false, SeqCst);
                drop(reading);
            });
            board.meet(1, &key(0), post("offer", true), LIMIT).expect("both are here");
            let reading = board.reading(key(0));
            board.fail(MeshError::Broken { by: "planted".into() });
            drop(reading);
            // Of another group, or of none of this one's meetings, nothing is read.
            board.unread(&[1, 0], &[]);
            board.unread(&[0, 1], &[0]);
            assert!(reads.load(SeqCst), "nothing waits for another group's readers");
            board.unread(&[0, 1], &[]);
            assert!(!reads.load(SeqCst), "memory is given back before it is read");
        });
        // A meeting that was not complete has no readers to wait for.
        assert!(board.meet(0, &key(2), post("offer", true), LIMIT).is_err());
        board.unread(&[0, 1], &[]);
    }

    #[test]
    fn who_copies_and_who_sends_differ() {
        let board = &Board::new(2);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                board.meet(0, &key(0), post("exchange", true), LIMIT).expect_err("they differ")
            });
            let error = board.meet(1, &key(0), post("exchange", false), LIMIT).expect_err("they differ");
            assert!(matches!(error, MeshError::Differ { .. }), "{error}");
        });
    }

    #[test]
    fn a_rank_that_comes_twice_is_refused() {
        let board = &Board::new(2);
        std::thread::scope(|scope| {
            scope.spawn(move || board.meet(0, &key(0), post("barrier", false), LIMIT));
            while !board.lock().posted(&key(0), 0) {
                std::thread::yield_now();
            }
            let twice = board.meet(0, &key(0), post("barrier", false), LIMIT);
            assert!(matches!(twice, Err(MeshError::Broken { .. })), "{twice:?}");
            board.meet(1, &key(0), post("barrier", false), LIMIT).expect("the first post holds");
        });
    }
}
