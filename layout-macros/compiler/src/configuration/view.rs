//! Views of arguments, and what their coordinates say of the grid and of the block.

use super::cover::{Cover, cover, linear};
use super::interpreter::{Interpreter, Value};
use super::polynomial::{Kind, Polynomial};
use crate::intrinsic::Intrinsic;
use crate::ir::{ArgumentKind, TypeRef};

/// A view: of which argument, and what selected it.
#[derive(Clone, Debug, Default)]
pub(super) struct View {
    /// The argument; `None` for shared memory and registers.
    pub argument: Option<u32>,
    /// Whether it is `&mut`.
    pub mutable: bool,
    pub modes: Vec<Mode>,
    /// The axes of the grid that selected it: each with the extent that it divides and the length of a part.
    pub selected: Vec<(u32, Polynomial, Polynomial)>,
    /// Counts of threads that its coordinates say.
    pub threads: Vec<(Option<u32>, Polynomial)>,
    /// Why its coordinates do not say the grid.
    pub unclear: Option<String>,
    /// Why one block may not cover it.
    pub partial: Option<String>,
    /// Whether its threads take places inside of a block's part that are not understood.
    pub open: bool,
}

/// A mode of a view.
#[derive(Clone, Debug)]
pub(super) struct Mode {
    /// Elements.
    pub extent: Polynomial,
    /// Elements of a vector.
    pub unit: Polynomial,
    /// Whether a coordinate has selected a part of the tensor's mode.
    pub inside: bool,
}

impl Interpreter<'_> {
    /// An argument as a view of all of it, or as a number.
    pub(super) fn argument(&mut self, number: u32) -> Value {
        let kernel = self.kernel;
        let Some(argument) = kernel.arguments.get(number as usize) else {
            return Value::Unknown("is no argument");
        };
        match &argument.kind {
            ArgumentKind::Tensor { extents, mutable, .. } => {
                let mut modes = vec![];
                for extent in extents {
                    let Value::Number(extent) = self.expr(*extent) else {
                        return Value::Unknown("has an extent that is no sum of products");
                    };
                    modes.push(Mode { extent, unit: Polynomial::constant(1), inside: false });
                }
                Value::View(View { argument: Some(number), mutable: *mutable, modes, ..View::default() })
            }
            ArgumentKind::Scalar(ty) => match ty {
                TypeRef::Usize | TypeRef::Isize => Value::Number(self.atoms.of(Kind::Argument(number))),
                TypeRef::Elem(_) | TypeRef::Parameter(_) => {
                    Value::Unknown("is a number that the launch passes")
                }
            },
        }
    }

    /// `view.tile(sizes, coordinates)`, `view.window(..)` or, without sizes, `view[[coordinates]]`.
    pub(super) fn select(
        &mut self,
        mut view: View,
        word: Option<Intrinsic>,
        sizes: &[Value],
        at: &[Value],
    ) -> View {
        if view.argument.is_none() {
            return view;
        }
        if at.len() != view.modes.len() || (word.is_some() && sizes.len() != at.len()) {
            view.unclear = Some("its coordinates are not written as an array".to_owned());
            return view;
        }
        for (mode, at) in at.iter().enumerate() {
            let unit = view.modes[mode].unit.clone();
            let size = match (word, sizes.get(mode)) {
                (None, _) => Some(Polynomial::constant(1)),
                (_, Some(Value::Number(size))) => Some(size.clone()),
                _ => None,
            };
            let Some(length) = size.and_then(|size| size.mul(&unit)) else {
                view.unclear = Some(format!("a size of mode {mode} is not known at compile time"));
                continue;
            };
            self.selected(&mut view, mode, word, &length, at);
            view.modes[mode].extent = length;
            view.modes[mode].inside = true;
        }
        view
    }

    fn selected(
        &mut self,
        view: &mut View,
        mode: usize,
        word: Option<Intrinsic>,
        length: &Polynomial,
        at: &Value,
    ) {
        let name = self.name_of(view);
        let Mode { extent, unit, inside } = view.modes[mode].clone();
        let mut unclear = |why: String| view.unclear = view.unclear.take().or(Some(why));
        let at = match at {
            Value::Number(at) => at,
            // It cannot leave the part that was selected.
            Value::Unknown(_) if inside => {
                view.open = true;
                return;
            }
            Value::Unknown(why) => return unclear(format!("a coordinate of mode {mode} of `{name}` {why}")),
            _ => return unclear(format!("a coordinate of mode {mode} of `{name}` is no number")),
        };
        let whole = self.text(at);
        let step = if word == Some(Intrinsic::Tile) { length } else { &unit };
        let Some((variables, rest)) = linear(&self.atoms, at) else {
            return unclear(format!("`{whole}` of mode {mode} of `{name}` is a product of indices"));
        };
        let of_block = self.atoms.of_block(at);
        let strides: Option<Vec<_>> =
            variables.iter().map(|(atom, coefficient)| Some((*atom, coefficient.mul(step)?))).collect();
        let plain = rest == Polynomial::default();
        let found = match strides.filter(|_| plain && !variables.is_empty()) {
            Some(strides) => cover(&mut self.atoms, &self.known, strides, length.clone(), &extent),
            None => None,
        };
        if let Some(found) = &found {
            for (atom, count) in &found.threads {
                if let Some((axis, divisors)) = self.atoms.thread_of(*atom) {
                    let total = divisors.iter().try_fold(count.clone(), |total, by| total.mul(by));
                    view.threads.extend(total.map(|total| (axis, total)));
                }
            }
        }
        match found {
            Some(Cover { block: Some((axis, part)), .. }) if !inside => {
                view.selected.push((axis, extent, part));
            }
            Some(found) if !of_block => {
                if !inside && !self.known.covers(&found.length, &extent) {
                    view.partial = Some(self.short(&name, mode, &found.length, &extent));
                }
            }
            _ if of_block && inside => {
                unclear(format!("`{whole}` selects a second part of mode {mode} of `{name}`"))
            }
            _ if of_block => {
                unclear(format!(
                    "`{whole}` of mode {mode} of `{name}` is not `block_idx` times the length of a block's part"
                ));
            }
            _ if inside => view.open = true,
            _ if variables.is_empty() && plain => {
                if !self.known.covers(length, &extent) {
                    let short = self.short(&name, mode, length, &extent);
                    if word.is_some() {
                        unclear(short.clone());
                    }
                    view.partial = Some(short);
                }
            }
            _ => {
                view.partial =
                    Some(format!("`{whole}` of mode {mode} of `{name}` may not reach all of its elements"))
            }
        }
    }

    fn short(&self, name: &str, mode: usize, length: &Polynomial, extent: &Polynomial) -> String {
        let (length, extent) = (self.text(length), self.text(extent));
        format!(
            "one block covers {length} of the {extent} elements of mode {mode} of `{name}`, and no `block_idx` selects the others"
        )
    }

    /// The name of the argument that a view is of.
    pub(super) fn name_of(&self, view: &View) -> String {
        let argument = view.argument.and_then(|number| self.kernel.arguments.get(number as usize));
        argument.map(|argument| argument.name.clone()).unwrap_or_default()
    }
}
