//! The law of index texts, by evaluation: C's reading of the text gives the polynomial's value, and no proved step
//! leaves its type.

use super::build::*;
use crate::emit::index::{Scope, Steps};
use crate::emit::names::{Name, Names};
use crate::index::{Atom, AtomId, Index, Range, Width};
use crate::program::Tables;
use std::cell::Cell;
use std::collections::BTreeMap;

/// A value of C.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Number {
    value: i128,
    width: Width,
}

/// Reads an expression as C does, and fails on a step that leaves its type.
struct Reader<'a> {
    rest: &'a str,
    variables: &'a BTreeMap<String, Number>,
}

impl Reader<'_> {
    fn take(&mut self, token: &str) -> bool {
        take(&mut self.rest, token)
    }

    fn infix(&mut self, level: usize) -> Result<Number, String> {
        const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &[">>"], &["+", "-"], &["*", "/", "%"]];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.infix(level + 1)?;
        while let Some(op) = operators.iter().find(|op| self.take(op)) {
            let right = self.infix(level + 1)?;
            let (a, b) = (left.value, right.value);
            let value = match *op {
                "|" => a | b,
                "^" => a ^ b,
                "&" => a & b,
                ">>" => a >> b,
                "+" => a + b,
                "-" => a - b,
                "*" => a * b,
                "/" => a / b,
                _ => a % b,
            };
            let width = left.width.max(right.width);
            if width == Width::Word && a.min(b) < 0 {
                return Err(format!("{a} {op} {b} without a sign"));
            }
            left = typed(value, width)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Number, String> {
        if self.take("-") {
            let operand = self.unary()?;
            return typed(-operand.value, operand.width);
        }
        for width in [Width::Int, Width::Word, Width::Long] {
            if self.take(&format!("({})", width.name())) {
                return typed(self.unary()?.value, width);
            }
        }
        if self.take("(") {
            let inner = self.infix(0)?;
            return if self.take(")") { Ok(inner) } else { Err(format!("`)` before `{}`", self.rest)) };
        }
        let word = word(&mut self.rest).to_owned();
        if let Some(number) = word.strip_suffix("LL") {
            return typed(number.parse().map_err(|_| word.clone())?, Width::Long);
        }
        if let Ok(number) = word.parse() {
            return typed(number, Width::Int);
        }
        if self.take("(") {
            let left = self.infix(0)?;
            self.take(",");
            let right = self.infix(0)?;
            assert!(self.take(")"));
            // C++ would find two candidates for arguments of two types.
            assert_eq!(left.width, right.width, "{word} of two types");
            let value = if word == "min" { left.value.min(right.value) } else { left.value.max(right.value) };
            return typed(value, left.width);
        }
        self.variables.get(&word).copied().ok_or(word)
    }
}

fn typed(value: i128, width: Width) -> Result<Number, String> {
    let fits = match width {
        Width::Int => i32::try_from(value).is_ok(),
        Width::Word => u32::try_from(value).is_ok(),
        Width::Long => i64::try_from(value).is_ok(),
        Width::Natural => u64::try_from(value).is_ok(),
    };
    if fits { Ok(Number { value, width }) } else { Err(format!("{value} leaves its type")) }
}

fn read(text: &str, variables: &BTreeMap<String, Number>) -> Result<Number, String> {
    let mut reader = Reader { rest: text, variables };
    let value = reader.infix(0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(format!("left over: `{}`", reader.rest)) }
}

/// A linear congruential generator: the same cases on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// The value of an atom that is no leaf.
fn evaluate(tables: &Tables, leaves: &BTreeMap<AtomId, i64>, index: &Index) -> Option<i64> {
    index.evaluate(&mut |id| {
        let of = |index: &Index| evaluate(tables, leaves, index);
        match tables.atoms.atom(id) {
            Atom::Div(left, right) => of(left)?.checked_div(of(right)?),
            Atom::Rem(left, right) => of(left)?.checked_rem(of(right)?),
            Atom::Xor(left, right) => Some(of(left)? ^ of(right)?),
            Atom::And(left, right) => Some(of(left)? & of(right)?),
            Atom::Or(left, right) => Some(of(left)? | of(right)?),
            Atom::Min(left, right) => Some(of(left)?.min(of(right)?)),
            Atom::Max(left, right) => Some(of(left)?.max(of(right)?)),
            _ => leaves.get(&id).copied(),
        }
    })
}

/// A polynomial of at most three factors a term over the pool, small enough for 64 bits.
fn polynomial(random: &mut Random, pool: &[Index]) -> Index {
    let mut sum = number(random.below(40) as i64 - 20);
    for _ in 0..random.below(4) {
        let mut product = number(random.below(33) as i64 - 16);
        for _ in 0..1 + random.below(2) {
            product = times(&product, &pool[random.below(pool.len() as u64) as usize]);
        }
        sum = plus(&sum, &product);
    }
    sum
}

#[test]
fn the_text_of_an_index_has_its_value() {
    let (mut checked, mut cast) = (0, 0);
    for seed in 0..3000 {
        let mut random = Random(seed);
        let narrow = random.below(2) == 0;
        let mut b = Build::new(narrow, [32, 1, 1]);
        let mut names = Names::new();
        let mut leaves = BTreeMap::new();
        let mut variables = BTreeMap::new();
        let mut pool = Vec::new();
        for (name, low, high) in [
            ("i", 0, 31),
            ("j", -7, 1000),
            ("k", 0, i64::from(i32::MAX)),
            ("u", 0, u32::MAX.into()),
            ("w", -5, 1 << 33),
        ] {
            let (variable, index) = b.index(name, low, high);
            names.declare(Name::Variable(variable), name);
            let value =
                [low, high, low + random.below((high - low) as u64 + 1) as i64][random.below(3) as usize];
            let width = Width::of(Range::new(low.into(), high.into()));
            leaves.insert(index.as_atom().expect("an atom"), value);
            variables.insert(name.to_owned(), Number { value: value.into(), width });
            pool.push(index);
        }
        for (number, (name, divisor)) in [("N", 1i64), ("K", 8)].into_iter().enumerate() {
            let whole = b.dim(name, divisor);
            names.declare(Name::Dim(number as u32), name);
            let most = if narrow { 1 << 20 } else { 1 << 27 };
            let value = 1 + random.below(most) as i64;
            leaves.insert(whole.atoms().next().expect("a dimension"), value);
            let value = i128::from(value * divisor);
            variables.insert(name.to_owned(), Number { value, width: Width::of_sizes(narrow) });
            pool.push(whole.exact_div(divisor).expect("exact"));
            pool.push(whole);
        }
        let (left, right) = (polynomial(&mut random, &pool), polynomial(&mut random, &pool));
        let (left, right) = (Box::new(left), Box::new(right));
        let natural = Box::new(pool[0].clone());
        let atom = match random.below(8) {
            0 => Atom::Div(left, Box::new(number(1 + random.below(9) as i64))),
            1 => Atom::Rem(left, Box::new(number(1 + random.below(9) as i64))),
            2 => Atom::Min(left, right),
            3 => Atom::Max(left, right),
            4 => Atom::Xor(natural, Box::new(number(5))),
            5 => Atom::And(natural, Box::new(number(12))),
            6 => Atom::Or(natural, Box::new(number(3))),
            _ => Atom::Div(left, natural),
        };
        // As wide as an index can be: the text has to allow for any value.
        pool.push(b.atom(atom, -(1 << 62), 1 << 62));
        let index = polynomial(&mut random, &pool);
        let Some(value) = evaluate(&b.tables, &leaves, &index) else { continue };
        let scope = Scope { tables: &b.tables, names: &names, narrow, negates: &Cell::new(false) };
        let text = scope.index(&index, Steps::Proved).expression.to_string();
        match read(&text, &variables) {
            Ok(found) => assert_eq!(found.value, i128::from(value), "{text} {variables:?}"),
            // A step may leave 64 bits where the value does not; one that leaves 32 is a fault.
            Err(error) => {
                let number =
                    error.strip_suffix(" leaves its type").and_then(|text| text.parse::<i128>().ok());
                assert!(number.is_some_and(|number| i64::try_from(number).is_err()), "{error}: {text}");
                continue;
            }
        }
        checked += 1;
        cast += u32::from(text.contains("(long long)"));
    }
    assert!(checked > 2000 && cast > 200, "{checked} checked, {cast} with a cast");
}
