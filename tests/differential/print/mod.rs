//! A tree as text of the kernel language.
//!
//! Law: every operation has its parentheses, so that the text means what the tree does whatever binds tighter.

use crate::tree::*;
use crate::types::{Kind, Type};
use crate::value::Value;
use crate::words::{Form, WORDS};
use std::fmt::Write;

mod product;
mod shadow;
mod whole;

/// The text of a kernel: the attribute and the function.
pub fn kernel(kernel: &Kernel) -> String {
    let mut printer =
        Printer { kernel, out: String::new(), depth: 0, loops: 0, labelled: false, plain: false };
    printer.whole();
    shadow::shadowed(printer.out, kernel.seed)
}

/// The function as plain Rust: an index is an `isize`, and tensors are those of `plain/prelude.rs`.
pub fn plain_rust(kernel: &Kernel) -> String {
    let mut printer =
        Printer { kernel, out: String::new(), depth: 0, loops: 0, labelled: false, plain: true };
    let tensors =
        kernel.tensors.iter().enumerate().map(|(n, tensor)| format!("t{n}: &Tensor<{}>", tensor.elem.name()));
    let scalars = kernel.scalars.iter().enumerate().map(|(n, (ty, _))| format!("s{n}: {}", ty.name()));
    printer.line(&format!("fn random({}) {{", list(tensors.chain(scalars), |one| one)));
    printer.inside();
    shadow::shadowed(printer.out, kernel.seed)
}

struct Printer<'a> {
    kernel: &'a Kernel,
    out: String,
    depth: usize,
    /// Loops around.
    loops: usize,
    /// Whether a block with a label is within the innermost of them: a `break` needs the loop's label there.
    labelled: bool,
    /// Whether rustc reads it.
    plain: bool,
}

/// `target op= value;`, often through a reference to the element: the value comes first all the same.
fn referred(target: &str, op: &str, value: &str, ty: &str, seed: u64) -> String {
    let through = match seed % 8 {
        0 => format!("let lent = &mut {target}; *lent {op}= held;"),
        1 => format!("let lent = &mut {target}; let again = &mut *lent; *again {op}= held;"),
        2 => format!("let pair = (&mut {target}, held); *pair.0 {op}= pair.1;"),
        3 => format!("let (by, lent) = (held, &mut {target}); *lent {op}= by;"),
        4 => format!("let put = |to: &mut {ty}, by: {ty}| *to {op}= by; put(&mut {target}, held);"),
        5 => format!("let lent: &mut {ty} = &mut {target}; let put = || *lent {op}= held; put();"),
        _ => return format!("{target} {op}= {value};"),
    };
    format!("{{ let held: {ty} = {value}; {through} }}")
}

fn list<T>(items: impl IntoIterator<Item = T>, each: impl FnMut(T) -> String) -> String {
    items.into_iter().map(each).collect::<Vec<_>>().join(", ")
}

pub fn numbers(values: &[i64]) -> String {
    list(values, i64::to_string)
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 4 * self.depth);
    }

    fn whole(&mut self) {
        let kernel = self.kernel;
        let mut entries = vec![];
        let bound =
            |(number, (extent, bound)): (usize, &(i64, bool))| bound.then(|| format!("D{number} = {extent}"));
        entries.extend(kernel.dims.iter().enumerate().filter_map(bound));
        entries.push(format!("block = [{}], grid = [{}]", kernel.block, kernel.grid));
        if kernel.cluster > 1 {
            entries.push(format!("arch = \"sm_90a\", cluster = [{}]", kernel.cluster));
        } else if kernel.body.iter().any(product::wants_hopper) {
            entries.push("arch = \"sm_90\"".to_owned());
        }
        entries.extend(kernel.variant_if.map(|(dim, by)| format!("variant_if(D{dim} % {by} == 0)")));
        self.line(&format!("#[tiled_kernel({})]", entries.join(", ")));
        let dims = list(0..kernel.dims.len(), |number| format!("const D{number}: usize"));
        let mut arguments: Vec<String> =
            kernel.tensors.iter().enumerate().map(|(number, tensor)| argument(number, tensor)).collect();
        arguments.extend(kernel.scalars.iter().enumerate().map(|(n, (ty, value))| {
            // A `usize` is never negative; what is computed of it may be.
            let natural =
                *ty == Type::Index && value.int() >= 0 && (kernel.seed as usize + n).is_multiple_of(2);
            format!("s{n}: {}", if natural { "usize" } else { ty.name() })
        }));
        self.line(&format!("fn random<{dims}>({}) {{", arguments.join(", ")));
        self.inside();
    }

    /// Functions, statements, and the end.
    fn inside(&mut self) {
        let kernel = self.kernel;
        self.depth += 1;
        for (number, function) in kernel.functions.iter().enumerate() {
            self.function(number, function);
        }
        self.statements(&kernel.body);
        self.depth -= 1;
        self.line("}");
    }

    fn function(&mut self, number: usize, function: &Function) {
        let parameters = list(&function.parameters, |var| {
            let lent = if self.kernel.references.contains(var) { "&mut " } else { "" };
            format!("v{var}: {lent}{}", self.kernel.scalar_type(*var).name())
        });
        self.line(&format!("fn f{number}({parameters}) -> {} {{", function.result.name()));
        self.depth += 1;
        self.statements(&function.body.statements);
        let value = self.expr(&function.body.value);
        self.line(&value);
        self.depth -= 1;
        self.line("}");
    }

    fn statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn nested(&mut self, statements: &[Stmt]) {
        self.depth += 1;
        self.statements(statements);
        self.depth -= 1;
    }

    /// A loop with this head; it has a label where a jump in it names it.
    fn looped(&mut self, head: &str, body: &[Stmt]) {
        self.loops += 1;
        let (label, labelled) = (format!("'l{}", self.loops), std::mem::take(&mut self.labelled));
        let out = std::mem::take(&mut self.out);
        self.nested(body);
        let inner = std::mem::replace(&mut self.out, out);
        (self.loops, self.labelled) = (self.loops - 1, labelled);
        let named = inner.split(&label).skip(1).any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        let label = if named { label + ": " } else { String::new() };
        self.line(&format!("{label}{head} {{"));
        self.out += &inner;
        self.line("}");
    }

    /// ` 'l2` where a jump out of so many loops must say so.
    fn out_of(&self, loops: usize) -> String {
        if loops == 1 && !self.labelled { String::new() } else { format!(" 'l{}", self.loops + 1 - loops) }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Let { var, mutable, written, value } => {
                let value = self.expr(value);
                let ty = match written {
                    true if self.kernel.naturals.contains(var) && !self.plain => ": usize".to_owned(),
                    true => format!(": {}", self.kernel.scalar_type(*var).name()),
                    false => String::new(),
                };
                let mutable = if *mutable { "mut " } else { "" };
                self.line(&format!("let {mutable}v{var}{ty} = {value};"));
            }
            Stmt::LetParts(vars, values) => {
                let values = self.exprs(values);
                self.line(&format!("let ({}) = ({values});", list(vars, |var| format!("v{var}"))));
            }
            Stmt::LetPair(var, values) => {
                let values = self.exprs(values);
                self.line(&format!("let v{var} = ({values});"));
            }
            Stmt::Assign(var, op, value) => {
                let (value, var) = (self.expr(value), self.name(*var));
                self.line(&format!("{var} {}= {value};", op.map_or("", BinaryOp::symbol)));
            }
            Stmt::Store(place, coordinates, op, value) if self.plain => {
                // The value first, then the place, as of `t[[i]] = x`.
                let (place, at, value) = (self.place(place), self.exprs(coordinates), self.expr(value));
                let new = op.map_or("value".to_owned(), |op| format!("{place}.at(at) {} value", op.symbol()));
                self.line(&format!("let (value, at) = ({value}, [{at}]);"));
                self.line(&format!("{place}.put(at, {new});"));
            }
            Stmt::Store(place, coordinates, op, value) => {
                let (target, value) = (self.element(place, coordinates), self.expr(value));
                let (op, ty) = (op.map_or("", BinaryOp::symbol), self.kernel.elem(place).name());
                let text =
                    referred(&target, op, &value, ty, self.kernel.seed.wrapping_add(self.out.len() as u64));
                self.line(&text);
            }
            Stmt::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                self.line(&format!("if {condition} {{"));
                self.nested(then);
                if !otherwise.is_empty() {
                    self.line("} else {");
                    self.nested(otherwise);
                }
                self.line("}");
            }
            Stmt::For { var, start, end, step, reversed, unroll, body } => {
                let mut range = format!("{}..{}", self.expr(start), self.expr(end));
                if step.is_some() || *reversed {
                    range = format!("({range})");
                }
                if let Some(step) = step {
                    range += &format!(".step_by({step})");
                }
                if *reversed {
                    range += ".rev()";
                }
                if *unroll {
                    range = format!("unroll({range})");
                }
                self.looped(&format!("for v{var} in {range}"), body);
            }
            Stmt::While(condition, body) => {
                let condition = self.expr(condition);
                self.looped(&format!("while {condition}"), body);
            }
            Stmt::Break(out) => self.line(&format!("break{};", self.out_of(*out))),
            Stmt::Continue(out) => self.line(&format!("continue{};", self.out_of(*out))),
            Stmt::Return => self.line("return;"),
            Stmt::Match(value, arms, otherwise) => {
                let ty = self.kernel.type_of(value);
                let value = self.expr(value);
                self.line(&format!("match {value} {{"));
                self.depth += 1;
                for (arm, body) in arms {
                    let arm = self.arm(ty, arm);
                    self.line(&format!("{arm} => {{"));
                    self.nested(body);
                    self.line("}");
                }
                self.line("_ => {");
                self.nested(otherwise);
                self.line("}");
                self.depth -= 1;
                self.line("}");
            }
            Stmt::LetArray { var, count, values } => {
                let ty = self.kernel.scalar_type(*var).name();
                let filled = values.len() == 1;
                let values = self.exprs(values);
                let values = if filled { format!("{values}; {count}") } else { values };
                self.line(&format!("let mut v{var}: [{ty}; {count}] = [{values}];"));
            }
            Stmt::SetElement(var, at, op, value) => {
                let (at, value) = (self.array_index(at), self.expr(value));
                self.line(&format!("v{var}[{at}] {}= {value};", op.map_or("", BinaryOp::symbol)));
            }
            Stmt::Leave(..)
            | Stmt::Give(_)
            | Stmt::LetWhole(..)
            | Stmt::SetWhole(..)
            | Stmt::SetPart(..)
            | Stmt::SetParts(..)
            | Stmt::Swap(..)
            | Stmt::ForEach { .. }
            | Stmt::LetClosure { .. } => self.whole_statement(statement),
            Stmt::Expr(expr) => {
                let expr = self.expr(expr);
                self.line(&format!("{expr};"));
            }
            Stmt::LetView { var, place, local } => {
                let place = self.place(place);
                let end = if *local { ".to_local()" } else { "" };
                self.line(&format!("let mut v{var} = {place}{end};"));
            }
            Stmt::LetTensor { var, elem, layout, shared } => {
                let word = if *shared { "shared" } else { "local" };
                let order = if layout.columns { "col_major" } else { "row_major" };
                let swizzle =
                    layout.swizzle.map_or(String::new(), |[a, b, c]| format!(".swizzle({a}, {b}, {c})"));
                let layout = format!("{order}([{}]){swizzle}", numbers(&layout.extents));
                self.line(&format!("let mut v{var} = {word}::<{}>({layout});", elem.name()));
            }
            Stmt::Fill(place, value) => {
                let (place, value) = (self.place(place), self.expr(value));
                self.line(&format!("{place}.fill({value});"));
            }
            Stmt::Copy { to, from } => {
                let (to, from) = (self.place(to), self.place(from));
                self.line(&format!("{to}.copy_from(&{from});"));
            }
            Stmt::Barrier(Meet::Block) => self.line("barrier();"),
            Stmt::Barrier(Meet::Cluster) => self.line("cluster_barrier();"),
            Stmt::Barrier(Meet::Named(number)) => {
                let threads = self.kernel.block;
                self.line(&format!("named_barrier({number}, {threads});"));
            }
            Stmt::Product(product) => self.product(product),
            Stmt::Together { var, what, value, number } => {
                let value = self.expr(value);
                let name = what.name();
                let text = match number {
                    _ if what.votes() || what.matches() => format!("{name}({value})"),
                    Some(number) => format!("{value}.{name}({})", self.expr(number)),
                    None => format!("{value}.{name}()"),
                };
                self.line(&format!("let v{var} = {text};"));
            }
        }
    }

    fn exprs(&mut self, exprs: &[Expr]) -> String {
        list(exprs, |expr| self.expr(expr))
    }

    fn body(&mut self, body: &Body) -> String {
        let out = std::mem::take(&mut self.out);
        self.nested(&body.statements);
        let statements = std::mem::replace(&mut self.out, out);
        self.depth += 1;
        let value = self.expr(&body.value);
        self.depth -= 1;
        if statements.is_empty() {
            return format!("{{ {value} }}");
        }
        let (inner, end) = (4 * self.depth + 4, 4 * self.depth);
        format!("{{\n{statements}{:inner$}{value}\n{:end$}}}", "", "")
    }

    fn array_index(&mut self, at: &Expr) -> String {
        let index = self.expr(at);
        if self.plain { format!("({index}) as usize") } else { index }
    }

    fn element(&mut self, place: &Place, coordinates: &[Expr]) -> String {
        if self.plain {
            return format!("{}.at([{}])", self.place(place), self.exprs(coordinates));
        }
        let (view, at) = (self.place(place), self.exprs(coordinates));
        // Of one mode both spellings.
        match coordinates.len() == 1 && (self.kernel.seed as usize + self.out.len()).is_multiple_of(2) {
            true => format!("{view}[{at}]"),
            false => format!("{view}[[{at}]]"),
        }
    }

    fn place(&mut self, place: &Place) -> String {
        let mut text = match place.base {
            Base::Tensor(number) => format!("t{number}"),
            Base::View(var) => format!("v{var}"),
        };
        for step in &place.steps {
            text += &match step {
                Step::Tile(extents, at) => format!(".tile([{}], [{}])", numbers(extents), self.exprs(at)),
                Step::Window(extents, at) => format!(".window([{}], [{}])", numbers(extents), self.exprs(at)),
                Step::Slice(at) => format!(".slice({})", self.expr(at)),
                Step::Rank(rank) => format!(".map_shared_rank({})", self.expr(rank)),
                Step::Transpose => ".transpose()".to_owned(),
                Step::Vectorize(extents) => format!(".vectorize([{}])", numbers(extents)),
                Step::Distribute { threads, columns, thread } => {
                    let order = if *columns { "col_major" } else { "row_major" };
                    format!(".distribute({order}([{}]), {})", numbers(threads), self.expr(thread))
                }
                Step::Pad(value) => {
                    let ty = self.kernel.elem(place);
                    format!(".pad({})", plain(ty, *value))
                }
            };
        }
        text
    }

    pub fn expr(&mut self, expr: &Expr) -> String {
        match expr {
            Expr::Literal { ty: Type::Index, value, .. } if self.plain => {
                format!("({}isize)", value.int() as i64)
            }
            Expr::Literal { ty, value, bare } => literal(*ty, *value, *bare),
            Expr::Thread if self.plain => "thread()".to_owned(),
            Expr::Block if self.plain => "block()".to_owned(),
            Expr::Math(Math::DivCeil, arguments) if self.plain => {
                format!("div_ceil({})", self.exprs(arguments))
            }
            Expr::Var(var) => self.name(*var),
            Expr::Part(target) => self.target(target),
            Expr::Reference(target) => format!("&mut {}", self.target(target)),
            Expr::Jump(_, jump) => self.jump(jump),
            Expr::Labelled(label, body) => {
                let labelled = std::mem::replace(&mut self.labelled, true);
                let body = self.body(body);
                self.labelled = labelled;
                format!("('b{label}: {body})")
            }
            Expr::Loop(label, _, body) => self.loop_value(*label, body),
            Expr::Invoke(var, arguments) => format!("v{var}({})", self.exprs(arguments)),
            Expr::Field(var, part) => format!("v{var}.{part}"),
            Expr::Argument(number) => format!("s{number}"),
            Expr::Thread => "thread_idx.x".to_owned(),
            Expr::Block => "block_idx.x".to_owned(),
            Expr::Rank => "cluster_rank()".to_owned(),
            Expr::Dim(number) => format!("D{number}"),
            Expr::Unary(op, operand) => {
                format!("({}{})", if *op == UnaryOp::Neg { "-" } else { "!" }, self.expr(operand))
            }
            Expr::Binary(op, sides) => {
                let ty = self.kernel.type_of(&sides[0]);
                let [left, right] = sides.each_ref().map(|side| self.expr(side));
                match (op, ty) {
                    (BinaryOp::Mul, Type::F32 | Type::F64) if self.kernel.opaque => {
                        let zero = self.kernel.scalars.len() - if ty == Type::F32 { 2 } else { 1 };
                        format!("{left}.mul_add({right}, s{zero})")
                    }
                    _ => format!("({left} {} {right})", op.symbol()),
                }
            }
            Expr::Cast(to, operand) => {
                let half = to.is_half() || self.kernel.type_of(operand).is_half();
                let operand = self.expr(operand);
                if half {
                    format!("{operand}.cast::<{}>()", to.name())
                } else {
                    format!("({operand} as {})", to.name())
                }
            }
            Expr::Math(function, arguments) => {
                let receiver = self.expr(&arguments[0]);
                format!("{receiver}.{}({})", function.name(), self.exprs(&arguments[1..]))
            }
            Expr::Word(word, ty, arguments) => {
                let word = &WORDS[*word];
                match word.form {
                    Form::Method => {
                        let receiver = self.expr(&arguments[0]);
                        format!("{receiver}.{}({})", word.name, self.exprs(&arguments[1..]))
                    }
                    Form::Function => format!("{}({})", word.name, self.exprs(arguments)),
                    Form::Associated => format!("{}::{}({})", ty.name(), word.name, self.exprs(arguments)),
                }
            }
            Expr::Match(value, arms, otherwise) => {
                let ty = self.kernel.type_of(value);
                let mut text = format!("(match {} {{ ", self.expr(value));
                for (arm, body) in arms {
                    text += &format!("{} => {}, ", self.arm(ty, arm), self.body(body));
                }
                text + &format!("_ => {} }})", self.body(otherwise))
            }
            Expr::Element(var, at) => format!("v{var}[{}]", self.array_index(at)),
            Expr::Select(parts) => format!("select({})", self.exprs(&parts[..])),
            Expr::If(condition, then, otherwise) => {
                let condition = self.expr(condition);
                let (then, otherwise) = (self.body(then), self.body(otherwise));
                format!("(if {condition} {then} else {otherwise})")
            }
            // In parentheses: a block at the start of a statement is one of its own.
            Expr::Body(body) => format!("({})", self.body(body)),
            Expr::Load(place, coordinates) => self.element(place, coordinates),
            Expr::Atomic(op, place, coordinates, value) => {
                let name = match op {
                    AtomicOp::Add => "atomic_add",
                    AtomicOp::Max => "atomic_max",
                    AtomicOp::Min => "atomic_min",
                    AtomicOp::And => "atomic_and",
                    AtomicOp::Or => "atomic_or",
                    AtomicOp::Xor => "atomic_xor",
                };
                let (place, coordinates) = (self.place(place), self.exprs(coordinates));
                format!("{place}.{name}([{coordinates}], {})", self.expr(value))
            }
            Expr::Call(function, arguments) => format!("f{function}({})", self.exprs(arguments)),
        }
    }
}

fn argument(number: usize, tensor: &Tensor) -> String {
    let extents = list(&tensor.extents, |extent| match extent {
        Extent::Dim(number) => format!("D{number}"),
        Extent::Static(extent) => extent.to_string(),
    });
    let layout = match tensor.layout {
        TensorLayout::RowMajor => "RowMajor",
        TensorLayout::ColMajor => "ColMajor",
        TensorLayout::Pitched(_) => "Pitched",
        TensorLayout::Strided(_) => "Strided",
    };
    let mutable = if tensor.mutable { "mut " } else { "" };
    format!("t{number}: &{mutable}LayoutTensor<{}, {layout}<{extents}>>", tensor.elem.name())
}

/// A literal without a type.
fn plain(ty: Type, value: Value) -> String {
    match ty.kind() {
        Kind::Float(_) => format!("{:?}", value.float()),
        Kind::Bool => value.truth().to_string(),
        Kind::Integer(..) | Kind::Index => value.int().to_string(),
    }
}

fn literal(ty: Type, value: Value, bare: bool) -> String {
    let text = plain(ty, value);
    let text = match ty.kind() {
        Kind::Float(_) if ty.is_half() => return format!("({text}f32).cast::<{}>()", ty.name()),
        Kind::Float(_) | Kind::Integer(..) if !bare => text + ty.name(),
        _ => text,
    };
    if text.starts_with('-') { format!("({text})") } else { text }
}
