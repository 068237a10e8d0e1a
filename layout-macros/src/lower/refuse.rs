//! The Rust that the kernel language does not have, and what to write instead.

use syn::{Expr, Item, Pat};

/// What an expression is called and the way out, for every expression that is not of the language.
pub fn expression(expr: &Expr) -> (&'static str, &'static str) {
    match expr {
        Expr::Return(_) => (
            "`return` as a value",
            "write it as a statement: `if c { return; }`, or the value as the last of its block",
        ),
        Expr::Try(_) => {
            ("`?`", "a kernel has no errors to hand on; check conditions with `require(..)` before launch")
        }
        Expr::Let(_) => (
            "`if let` and `while let`",
            "a kernel has no enums: write a condition, `if x <= 9 { .. }`; `match` takes patterns of numbers",
        ),
        Expr::Range(_) => ("a range outside of `for`", "write it in the loop: `for i in 0..n`"),
        Expr::Unsafe(_) => ("`unsafe`", "leave it out: an access out of range is masked, not undefined"),
        Expr::Async(_) | Expr::Await(_) => (
            "`async`",
            "copies that run beside the threads are `copy_dram_to_sram_async` and `async_copy_wait_all`",
        ),
        Expr::Assign(_) => ("an assignment as a value", "assign in a statement of its own"),
        Expr::ForLoop(_) | Expr::While(_) => {
            ("a `for` or a `while` as a value", "only a `loop` has one: `let x = loop { .. break x; };`")
        }
        Expr::Break(_) | Expr::Continue(_) => ("`break` or `continue` as a value", "write it as a statement"),
        Expr::Const(_) => ("a `const` block", "write a `const` item: `const THREADS: usize = BM * BN;`"),
        Expr::Infer(_) => ("`_` as a value", "write the value"),
        Expr::RawAddr(_) => ("a pointer", "pass the view: it is a value, with the place of its elements"),
        _ => (
            "this expression",
            "the language has arithmetic, views, `if`, blocks and the vocabulary of `lang`",
        ),
    }
}

/// What to write instead of a macro.
pub fn mac(name: &str) -> &'static str {
    match name {
        "vec" | "format" => {
            "a kernel has no heap: a tile is `local::<f32>(layout)` or `shared::<f32>(layout)`"
        }
        "matches" => "write `match x { 0..=4 => true, _ => false }`",
        "eprintln" | "eprint" => "a GPU has one output: write `println!`",
        "println" | "print" | "panic" | "todo" | "unimplemented" | "unreachable" => {
            "it has no value: write it as a statement, with a `;`"
        }
        _ if name.trim_start_matches("debug_").starts_with("assert") => {
            "it has no value: write it as a statement, with a `;`"
        }
        _ => {
            "the macros of a kernel are `println!`, `print!`, `dbg!`, `assert!`, `assert_eq!`, `assert_ne!`, `debug_assert!` and the \
              like, `panic!`, `unreachable!`, `todo!`, `unimplemented!`"
        }
    }
}

/// The same for an item in a block.
pub fn item(item: &Item) -> (&'static str, &'static str) {
    match item {
        Item::Use(_) => (
            "`use`",
            "a kernel sees its own names and the vocabulary, nothing of the crate around it; constants are `consts::PI` and the like",
        ),
        Item::Static(_) => ("a `static`", "write a `const` item, or pass a tensor"),
        Item::Enum(_) | Item::Union(_) => (
            "an enum",
            "keep a number and `match` it over `const` items; a `struct` has several values at once",
        ),
        Item::Trait(_) | Item::TraitAlias(_) => {
            ("a trait", "write the functions in a plain block: `impl Name { .. }`")
        }
        Item::Type(_) => (
            "a type alias",
            "write the type; one to choose is bound, and a parameter: `#[tiled_kernel(T = f32, ..)] fn name<T, ..>(..)`",
        ),
        Item::Macro(_) => ("a macro", "write a nested function: `fn name(x: f32) -> f32 { .. }`"),
        _ => {
            ("this item", "a block may hold `const` items, nested functions, structs and their `impl` blocks")
        }
    }
}

/// The same for a pattern.
pub fn pattern(pattern: &Pat) -> (&'static str, &'static str) {
    match pattern {
        Pat::Ident(ident) if ident.by_ref.is_some() => {
            ("`ref`", "leave it out: views and numbers are copied")
        }
        Pat::Ident(_) => ("`name @ pattern`", "bind the parts in a `let` of their own"),
        Pat::Reference(_) => ("a reference pattern", "bind the name alone: views and numbers are copied"),
        Pat::Type(_) => ("a type inside a pattern", "write the type of the whole: `let x: f32 = ..`"),
        Pat::Slice(_) | Pat::Rest(_) => (
            "`..` in a pattern",
            "name each element, `let [a, _, b] = all;`, or take those wanted: `let last = all[2];`, `pair.1`",
        ),
        _ => ("this pattern", "a `let` binds a name, `_`, or a tuple, an array or a struct of them"),
    }
}
