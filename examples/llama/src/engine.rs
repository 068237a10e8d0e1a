//! Sequences that come and go over one model: a queue, slots, pages, and a graph that is every step.
//!
//! Law: a sequence has its pages from its beginning to its end, so that none waits for another's halfway; a slot
//! without a sequence computes and changes nothing.

use crate::model::{IDLE, Model};
use crate::{Config, Result, Weights};
use layout_cuda::graph::Graph;
use layout_cuda::{Stream, bf16};
use layout_kernels::random::{Sampling, Source, uniform};
use std::collections::VecDeque;

/// How much there is room for, and how tokens are taken.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Sequences at once.
    pub slots: usize,
    /// Keys of a page, and pages.
    pub pages: [usize; 2],
    /// Places of a sequence at most.
    pub context: usize,
    /// Places of a prompt at once.
    pub chunk: usize,
    /// How tokens are drawn, by a seed; without it the likeliest are taken.
    pub drawn: Option<(Sampling, u64)>,
}

/// A request: its number, what of its prompt is not in the cache yet, how much is, tokens left to make, its pages.
pub(crate) struct Sequence {
    number: usize,
    prompt: Vec<u32>,
    filled: usize,
    left: usize,
    pages: Vec<i32>,
}

/// A model at work.
pub struct Engine {
    pub(crate) stream: Stream,
    pub(crate) graph: Graph<Model>,
    room: Room,
    /// Pages that no sequence has.
    pub free: Vec<i32>,
    waiting: VecDeque<Sequence>,
    pub(crate) slots: Vec<Option<Sequence>>,
    submitted: usize,
    draws: u64,
}

impl Engine {
    /// Records the step.
    pub fn new(stream: &Stream, config: Config, weights: Weights, room: Room) -> Result<Engine> {
        let Room { slots, pages: [page, count], context, chunk, .. } = room;
        let most = config.context;
        if context > most {
            return Err(format!("{context} places are asked for, and the model has {most}").into());
        }
        if slots == 0 || chunk == 0 || page == 0 || !page.is_multiple_of(8) {
            return Err("slots and chunks are above 0, and pages are multiples of 8 keys".into());
        }
        let model = Model::new(stream, config, weights, room)?;
        let step = |stream: &Stream, model: &mut Model| model.step(stream, &mut |_, launch| launch());
        // SAFETY: every tensor that a step takes is the model's own, which the graph owns; nothing of this crate
        // puts another one into its place: what a step keeps it alone makes, and prompts have memory of their own.
        let graph = unsafe { Graph::record(stream, model, step) }?;
        let (free, slots) = ((0..count as i32).rev().collect(), (0..slots).map(|_| None).collect());
        let (stream, waiting) = (stream.clone(), VecDeque::new());
        Ok(Engine { stream, graph, room, free, waiting, slots, submitted: 0, draws: 0 })
    }

    /// Queues a prompt to be continued by so many tokens at most, and gives the request's number: 0 first.
    pub fn submit(&mut self, prompt: Vec<u32>, left: usize) -> Result<usize> {
        let (vocabulary, [page, count]) = (self.graph.state().config.vocabulary, self.room.pages);
        let (places, most) = (prompt.len() + left, self.room.context.min(page * count));
        if let Some(token) = prompt.iter().find(|token| **token as usize >= vocabulary) {
            return Err(format!("there is no token {token}: the model has {vocabulary}").into());
        }
        if prompt.is_empty() || left == 0 {
            return Err("a prompt has at least one token, and at least one is to be made".into());
        }
        if places > most {
            return Err(format!("{places} places are asked for, and a sequence has {most} at most").into());
        }
        let number = self.submitted;
        self.submitted += 1;
        self.waiting.push_back(Sequence { number, prompt, filled: 0, left, pages: vec![] });
        Ok(number)
    }

    /// Whether nothing is left to do.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.slots.iter().all(Option::is_none)
    }

    /// A chunk of a prompt, if there is one, and a token of every other sequence: new tokens by requests' numbers.
    pub fn step(&mut self) -> Result<Vec<(usize, u32)>> {
        let mut made: Vec<(usize, u32)> = self.fill()?.into_iter().collect();
        if self.slots.iter().flatten().any(|sequence| sequence.prompt.is_empty()) {
            self.advance()?;
            for (slot, token) in self.graph.state().tokens.download()?.into_iter().enumerate() {
                made.extend(self.take(slot, token)?);
            }
        }
        Ok(made)
    }

    /// Steps until nothing is left: the tokens of each request so far submitted, by its number.
    pub fn run(&mut self) -> Result<Vec<Vec<u32>>> {
        let mut made = vec![vec![]; self.submitted];
        while !self.is_idle() {
            self.step()?.into_iter().for_each(|(number, token)| made[number].push(token));
        }
        Ok(made)
    }

    /// A step of all slots, without a look at the tokens.
    pub(crate) fn advance(&mut self) -> Result<()> {
        self.draw()?;
        Ok(self.graph.launch()?)
    }

    /// New numbers, where tokens are drawn.
    fn draw(&mut self) -> Result<()> {
        let Some((_, seed)) = self.room.drawn else { return Ok(()) };
        self.draws += 1;
        let (source, numbers) = (Source { seed, stream: self.draws }, &mut self.graph.state_mut().numbers);
        Ok(uniform(&self.stream, source, 0.0, 1.0, numbers)?)
    }

    /// Gives free slots to requests that wait, in their order, as far as there are pages; then the next chunk of the
    /// first prompt that is not in the cache yet.
    pub(crate) fn fill(&mut self) -> Result<Option<(usize, u32)>> {
        while let Some(slot) = self.slots.iter().position(Option::is_none) {
            let Some(Sequence { prompt, left, .. }) = self.waiting.front() else { break };
            let count = (prompt.len() + left).div_ceil(self.room.pages[0]);
            let Some(rest) = self.free.len().checked_sub(count) else { break };
            let pages = self.free.split_off(rest);
            self.graph.state_mut().place(slot, &pages)?;
            self.slots[slot] = self.waiting.pop_front().map(|request| Sequence { pages, ..request });
        }
        let mut slots = self.slots.iter_mut().enumerate().filter_map(|(slot, it)| Some((slot, it.as_mut()?)));
        let Some((slot, it)) = slots.find(|(_, it)| !it.prompt.is_empty()) else { return Ok(None) };
        let rest = it.prompt.split_off(self.room.chunk.min(it.prompt.len()));
        let (start, chunk) = (it.filled, std::mem::replace(&mut it.prompt, rest));
        it.filled += chunk.len();
        let (end, is_whole) = (it.filled, it.prompt.is_empty());
        self.graph.state_mut().fill(&self.stream, slot, start, &chunk)?;
        if !is_whole {
            return Ok(None);
        }
        self.draw()?;
        let token = self.graph.state_mut().begin(&self.stream, slot, end)?;
        self.take(slot, token)
    }

    /// A new token of a slot whose prompt is in the cache; after its last one its pages are free.
    fn take(&mut self, slot: usize, token: u32) -> Result<Option<(usize, u32)>> {
        let Some(sequence) = self.slots[slot].as_mut().filter(|it| it.prompt.is_empty()) else {
            return Ok(None);
        };
        sequence.left -= 1;
        let (made, ends) = ((sequence.number, token), &self.graph.state().config.ends);
        if sequence.left == 0 || ends.contains(&token.into()) {
            self.end(slot)?;
        }
        Ok(Some(made))
    }

    /// Ends a slot's sequence.
    pub(crate) fn end(&mut self, slot: usize) -> Result<()> {
        let ended = self.slots[slot].take();
        self.free.extend(ended.into_iter().flat_map(|sequence| sequence.pages));
        Ok(self.graph.state_mut().lengths.write_bytes(slot, &IDLE.to_le_bytes())?)
    }

    /// The logits behind each place of a prompt of one chunk, row after row. Nothing else may be under way.
    pub fn logits(&mut self, prompt: Vec<u32>) -> Result<Vec<bf16>> {
        if prompt.len() > self.room.chunk || !self.is_idle() {
            return Err(
                format!("logits are of {} tokens at most, and of nothing else", self.room.chunk).into()
            );
        }
        self.submit(prompt, 1)?;
        self.fill()?;
        Ok(self.graph.state().filled(&self.stream, 0)?.download()?)
    }

    /// The logits of the last step, a row each slot.
    pub fn last_logits(&self) -> Result<Vec<bf16>> {
        Ok(self.graph.state().logits.download()?)
    }
}
