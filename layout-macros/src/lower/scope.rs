//! Which name means what: blocks within blocks, later bindings before earlier ones.
//!
//! A nested function sees the constants and functions around it, and no locals and no arguments, as in Rust.

use layout_compiler::ir::{ExprId, LocalId};

/// What a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// `let`, a loop's variable, a parameter of a nested function.
    Local(LocalId),
    /// A `const` item.
    Constant(LocalId),
    /// A nested function.
    Function(u32),
    /// An argument of the kernel.
    Argument(u32),
    /// A struct.
    Struct(u32),
    /// A function with such parameters.
    Generic(u32),
    /// A type parameter of a generic struct: its argument.
    Type(u32),
    /// A const parameter of a generic struct: its argument.
    Value(ExprId),
}

/// What a look-up gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The name's meaning.
    Binding(Binding),
    /// A local or an argument of the function around this one.
    Outside,
    /// Nothing of this name.
    Nothing,
}

#[derive(Clone)]
enum Entry {
    Name(String, Binding),
    /// Below this are the names of the function around a nested function.
    Function,
}

/// The names in force, the innermost last.
#[derive(Clone, Default)]
pub struct Scopes {
    entries: Vec<Entry>,
}

/// Where a scope begins; [`Scopes::leave`] forgets what came after.
#[derive(Clone, Copy)]
pub struct Mark(usize);

impl Scopes {
    /// Opens a block.
    pub fn enter(&mut self) -> Mark {
        Mark(self.entries.len())
    }

    /// Opens a nested function.
    pub fn enter_function(&mut self) -> Mark {
        let mark = self.enter();
        self.entries.push(Entry::Function);
        mark
    }

    /// Closes what was opened at the mark.
    pub fn leave(&mut self, mark: Mark) {
        self.entries.truncate(mark.0);
    }

    /// Binds a name from here on.
    pub fn bind(&mut self, name: String, binding: Binding) {
        self.entries.push(Entry::Name(name, binding));
    }

    /// The meaning of a name.
    pub fn find(&self, name: &str) -> Found {
        let mut outside = false;
        for entry in self.entries.iter().rev() {
            match entry {
                Entry::Function => outside = true,
                Entry::Name(known, binding) if known == name => {
                    return match binding {
                        Binding::Local(_) | Binding::Argument(_) if outside => Found::Outside,
                        binding => Found::Binding(*binding),
                    };
                }
                Entry::Name(..) => {}
            }
        }
        Found::Nothing
    }

    /// Every name in force, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Name(name, _) => Some(name.as_str()),
            Entry::Function => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Binding, Found, Scopes};
    use layout_compiler::ir::LocalId;

    #[test]
    fn inner_names_shadow_and_functions_see_only_constants() {
        let mut scopes = Scopes::default();
        scopes.bind("x".to_owned(), Binding::Argument(0));
        scopes.bind("C".to_owned(), Binding::Constant(LocalId(0)));
        let block = scopes.enter();
        scopes.bind("x".to_owned(), Binding::Local(LocalId(1)));
        assert_eq!(scopes.find("x"), Found::Binding(Binding::Local(LocalId(1))));
        let function = scopes.enter_function();
        assert_eq!(scopes.find("x"), Found::Outside);
        assert_eq!(scopes.find("C"), Found::Binding(Binding::Constant(LocalId(0))));
        scopes.leave(function);
        scopes.leave(block);
        assert_eq!(scopes.find("x"), Found::Binding(Binding::Argument(0)));
        assert_eq!(scopes.find("y"), Found::Nothing);
    }
}
