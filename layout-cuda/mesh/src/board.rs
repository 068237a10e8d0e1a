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

    /// Notes that somebody was turned away, and why: who misses a rank is told.
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
        meeting.posts.insert(rank, post);
        if meeting.posts.len() == group.len() {
            let posts: Vec<Post> = group.iter().filter_map(|rank| meeting.posts.get(rank).cloned()).collect();
            let calls: Vec<&Call> = posts.iter().map(|post| &post.call).collect();
            match agree(group, &calls) {
                Ok(()) => meeting.answer = Some(Arc::new(posts)),
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
