//! Structs in kernels: the same text as a function of the program and of a kernel gives the same numbers, and the text of a
//! kernel with structs is that of the kernel with tuples and functions written out.

use super::rust::{compiled, same};
use layout_cuda::{Device, Error, tiled_kernels};

same! {
    fields_and_methods: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Point {
            x: i32,
            y: i32,
            count: u32,
        }
        impl Point {
            const UNIT: Point = Point { x: 1, y: 0, count: Self::HALF * 2 };
            const HALF: u32 = 4;
            fn new(x: i32, y: i32) -> Self {
                Self { y, x, count: 0 }
            }
            fn norm(&self) -> i32 {
                self.x * self.x + self.y * self.y
            }
            fn shift(&mut self, by: i32) {
                self.x += by;
                self.bump();
            }
            fn bump(&mut self) {
                self.count = self.count.wrapping_sub(1);
                *self = Self { y: self.y + 1, ..*self };
            }
            fn scaled(self, by: i32) -> Point {
                Point { x: self.x * by, y: self.y * by, ..self }
            }
            fn both(mut self, other: &mut Point) -> i32 {
                self.x += 1;
                other.x += 10;
                self.x * 2
            }
        }
        let mut p = Point::new(x, 2);
        let kept = p;
        p.shift(3);
        Point::shift(&mut p, 4);
        let mut q = p.scaled(3);
        q.x -= kept.norm();
        let moved = p.clone().scaled(2).norm();
        let r = &mut q;
        r.y = 7;
        r.bump();
        p.x + p.y * 3 + q.x * 5 + q.y * 7 + moved + Point::UNIT.count as i32 + (p.count >> 20) as i32
            + Point::UNIT.scaled(x).norm() + q.norm() % 97
    }
    numbered_and_unit: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Pair(i32, u8);
        struct Inner(Pair, [Pair; 2]);
        #[derive(Clone, Copy)]
        struct Unit;
        impl Unit {
            fn seven(self) -> i32 {
                7
            }
        }
        impl Pair {
            fn of(x: i32) -> Self {
                Self(x, 250)
            }
        }
        let mut inner = Inner(Pair::of(x), [Pair(1, 2); 2]);
        inner.0.1 = inner.0.1.wrapping_add(x as u8);
        inner.1[1] = Pair(x + 1, 9);
        inner.1[0].0 -= 5;
        let Inner(Pair(a, b), [first, Pair(second, ..)]) = inner;
        let Pair(.., low) = first;
        a + b as i32 * 3 + first.0 * 5 + second + low as i32 + Unit.seven()
    }
    order_of_evaluation: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Three {
            a: i32,
            b: i32,
            c: i32,
        }
        fn next(n: &mut i32) -> i32 {
            *n = *n * 3 + 1;
            *n
        }
        let mut n = x;
        let t = Three { c: next(&mut n), a: next(&mut n), b: n };
        let u = Three { b: next(&mut n), ..t };
        let mut v = Three { c: { n += 1; n }, ..Three { a: next(&mut n), b: 3, c: n } };
        let w = Three { a: { v.b = n; 1 }, ..v };
        t.a + 2 * t.b + 3 * t.c + 5 * u.b + 7 * u.c + 11 * v.a + 13 * v.c + 17 * w.b + 19 * w.c
    }
    taken_apart: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Point {
            x: i32,
            y: i32,
        }
        #[derive(Clone, Copy)]
        struct Line {
            from: Point,
            to: Point,
            kind: (bool, i32),
        }
        fn area(Point { x, y }: Point, by: i32) -> i32 {
            x * y * by
        }
        fn grow(Line { to, kind: (_, count), .. }: &mut Line) {
            to.x += 1;
            *count += 2;
        }
        let mut line = Line { from: Point { x, y: 1 }, to: Point { x: 3, y: x }, kind: (x > 0, x % 3) };
        grow(&mut line);
        let Line { from: Point { x: a, .. }, mut to, .. } = line;
        to.y += a;
        let sum = |Point { x, y }: Point, k: i32| x + y * k;
        let least = |p: &Point, q: &Point| if p.x < q.x { *p } else { *q };
        let kind = match line {
            Line { kind: (true, 0), from: Point { x: 10..=20, .. }, .. } => 100,
            Line { kind: (true, n), to: Point { y, .. }, .. } if n > 1 => y,
            Line { kind: (false, _), from: Point { x, .. } , .. } if x < -30 => -x,
            Line { to: Point { x, .. }, .. } => x,
        };
        let mut total = 0;
        for Point { x, y } in [line.from, line.to, to] {
            total += x * 2 + y;
        }
        area(to, 2) + sum(line.from, 3) + least(&line.from, &line.to).x + kind + total + line.kind.1
    }
    flow: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Best {
            at: usize,
            value: i32,
        }
        impl Best {
            fn better(self, at: usize, value: i32) -> Best {
                if value <= self.value {
                    return self;
                }
                Best { at, value }
            }
            fn find(x: i32, wanted: i32) -> Best {
                for k in 0..9 {
                    let value = (x * k as i32) % 7;
                    if value == wanted {
                        return Best { at: k, value };
                    }
                }
                Best { at: 9, value: 0 }
            }
        }
        let mut best = Best { at: 0, value: -100 };
        for k in 0..8 {
            best = best.better(k, (x * (k as i32 + 3)) % 11);
        }
        let other = loop {
            if best.value > 3 {
                break best;
            }
            best.value += 2;
        };
        let later;
        if x > 3 {
            later = other;
        } else {
            later = Best { at: 2, ..best };
        }
        let a;
        let b;
        (a, b) = (later, Best::find(x, 3));
        let mut swapped = (a, b);
        swapped = (swapped.1, swapped.0);
        let chosen = if x % 2 == 0 { swapped.0 } else { swapped.1 };
        let found = 'found: {
            if x == 5 {
                break 'found chosen;
            }
            Best::find(x + 1, 2)
        };
        other.at as i32 + later.value * 3 + chosen.value + chosen.at as i32 * 5 + a.value + found.value - found.at as i32
    }
    arrays_of_structs: |x: i32| -> i32 {
        #[derive(Clone, Copy)]
        struct Cell {
            value: i16,
            seen: bool,
            next: [u8; 2],
        }
        impl Cell {
            fn mark(&mut self, by: i16) -> &mut Cell {
                self.seen = !self.seen;
                self.value += by;
                self
            }
            fn weight(&self) -> i32 {
                if self.seen { self.value as i32 * 3 } else { self.value as i32 }
            }
        }
        let mut cells = [Cell { value: x as i16, seen: false, next: [1, 2] }; 4];
        for k in 0..4usize {
            cells[k].value += k as i16;
            cells[(k + 1) % 4].next[k % 2] += 100 + k as u8;
        }
        for cell in &mut cells {
            cell.mark(3);
        }
        let which = (x as usize) % 4;
        cells[which].mark(-7);
        let cell = &mut cells[(which + 1) % 4];
        cell.next[1] = 9;
        cell.mark(1);
        cells.swap(0, which);
        let mut sum = 0;
        for (k, cell) in cells.iter().enumerate() {
            sum += cell.weight() * (k as i32 + 1) + cell.next[0] as i32 - cell.next[1] as i32;
        }
        sum
    }
    closures_and_shadows: |x: i32| -> i32 {
        struct Point {
            x: i32,
        }
        impl Point {
            fn get(&self) -> i32 {
                self.x
            }
            fn len(&self) -> i32 {
                self.x + 100
            }
        }
        let make = |x: i32| Point { x: x + 1 };
        let inner = {
            struct Point {
                x: i32,
                y: i32,
            }
            impl Point {
                fn turned(&self) -> Point {
                    Point { x: self.y, y: self.x }
                }
            }
            let p = Point { x, y: 3 };
            p.turned().x * 10 + p.turned().y
        };
        let get = |p: &Point| p.get() * 2;
        let table = [1, 2, 3];
        make(x).x + get(&make(2)) + inner + make(3).len() + table.len() as i32
    }
}

/// A band of rows with views, once as a struct and once with its parts as tuples and functions.
#[tiled_kernels]
mod bands {
    const WIDTH: usize = 8;

    /// Which rows, and where they are.
    #[derive(Clone, Copy)]
    pub struct Band {
        /// The rows.
        pub rows: View<f32, Read>,
        weights: [f32; 2],
        scale: Scale,
    }

    #[derive(Clone, Copy)]
    struct Scale(f32, u32);

    impl Band {
        const FIRST: usize = 1;
        const LAST: usize = WIDTH - Self::FIRST;

        fn new(rows: View<f32, Read>, by: f32) -> Self {
            Self { scale: Scale(by, 0), weights: [by + 1.0, 0.5], rows }
        }

        fn at(&self, i: usize) -> f32 {
            self.rows[[i]] * self.weights[i % 2] + self.scale.0
        }

        fn louder(&mut self) {
            self.scale.0 *= 2.0;
            self.scale.1 += 1;
        }
    }

    /// The sum and what remains.
    struct Sums {
        total: f32,
        least: f32,
    }

    impl Sums {
        const NONE: Sums = Sums { total: 0.0, least: 1e30 };

        fn add(self, x: f32) -> Sums {
            Sums { total: self.total + x, least: self.least.min(x) }
        }
    }

    fn store(mut out: View<f32, Write>, sums: Sums, band: &Band) {
        out[[0]] = sums.total;
        out[[1]] = sums.least + band.scale.1 as f32;
    }

    #[tiled_kernel(block = [32], grid = [1])]
    pub fn with_structs<const N: usize>(
        x: &LayoutTensor<f32, RowMajor<N, 8>>,
        y: &mut LayoutTensor<f32, RowMajor<N, 2>>,
    ) {
        let row = thread_idx.x;
        if row < N {
            let mut band = Band::new(x.slice(row), 3.0);
            let mut sums = Sums::NONE;
            for i in Band::FIRST..Band::LAST {
                sums = sums.add(band.at(i));
                band.louder();
            }
            store(y.slice(row), sums, &band);
        }
    }

    fn new(rows: View<f32, Read>, by: f32) -> (View<f32, Read>, [f32; 2], (f32, u32)) {
        (rows, [by + 1.0, 0.5], (by, 0))
    }

    fn at(own: &(View<f32, Read>, [f32; 2], (f32, u32)), i: usize) -> f32 {
        own.0[[i]] * own.1[i % 2] + own.2.0
    }

    fn louder(own: &mut (View<f32, Read>, [f32; 2], (f32, u32))) {
        own.2.0 *= 2.0;
        own.2.1 += 1;
    }

    fn add(own: (f32, f32), x: f32) -> (f32, f32) {
        (own.0 + x, own.1.min(x))
    }

    fn write(mut out: View<f32, Write>, sums: (f32, f32), band: &(View<f32, Read>, [f32; 2], (f32, u32))) {
        out[[0]] = sums.0;
        out[[1]] = sums.1 + band.2.1 as f32;
    }

    #[tiled_kernel(block = [32], grid = [1])]
    pub fn with_tuples<const N: usize>(
        x: &LayoutTensor<f32, RowMajor<N, 8>>,
        y: &mut LayoutTensor<f32, RowMajor<N, 2>>,
    ) {
        const FIRST: usize = 1;
        const LAST: usize = WIDTH - FIRST;
        const NONE: (f32, f32) = (0.0, 1e30);
        let row = thread_idx.x;
        if row < N {
            let mut band = new(x.slice(row), 3.0);
            let mut sums = NONE;
            for i in FIRST..LAST {
                sums = add(sums, at(&band, i));
                louder(&mut band);
            }
            write(y.slice(row), sums, &band);
        }
    }
}

/// The text without what the parameters of functions are called: `self` there, a name here.
fn renamed(text: &str) -> String {
    text.replace("self", "own").replace("with_structs", "kernel").replace("with_tuples", "kernel")
}

#[test]
fn the_text_is_that_of_tuples() -> Result<(), Error> {
    assert_eq!(renamed(bands::with_structs::SOURCE), renamed(bands::with_tuples::SOURCE));
    let device = Device::simulator();
    let x: Vec<f32> = (0..24).map(|i| (i * 7 % 11) as f32).collect();
    let mut y = device.zeros::<f32, 2>([3, 2])?;
    bands::with_structs::launch(&device.stream(), &device.upload(&x, [3, 8])?, &mut y)?;
    let wanted: Vec<f32> = x
        .chunks(8)
        .flat_map(|row| {
            let (mut total, mut least, mut scale) = (0.0, 1e30f32, 3.0);
            for (i, x) in row.iter().enumerate().take(7).skip(1) {
                let value = x * [4.0, 0.5][i % 2] + scale;
                (total, least, scale) = (total + value, least.min(value), scale * 2.0);
            }
            [total, least + 6.0]
        })
        .collect();
    assert_eq!(y.download()?, wanted);
    compiled(&[("with_structs", bands::with_structs::SOURCE)]);
    Ok(())
}

/// The program's own structs stay in the module; those of kernels, and constants of their types, do not.
#[tiled_kernels]
mod own {
    pub struct Host {
        pub name: &'static str,
    }

    impl Host {
        pub fn new() -> Host {
            Host { name: "host" }
        }
    }

    struct Weights(f32, f32);
    const EVEN: Weights = Weights(0.5, 0.5);
    pub const SIZE: usize = 32;

    #[tiled_kernel(block = [SIZE], grid = [1])]
    pub fn mean(x: &LayoutTensor<f32, RowMajor<2, 32>>, y: &mut LayoutTensor<f32, RowMajor<32>>) {
        let i = thread_idx.x;
        y[[i]] = EVEN.0 * x[[0, i]] + EVEN.1 * x[[1, i]];
    }
}

#[test]
fn a_module_keeps_the_structs_of_the_program() -> Result<(), Error> {
    assert_eq!((own::Host::new().name, own::SIZE), ("host", 32));
    let device = Device::simulator();
    let x: Vec<f32> = (0..64).map(|i| i as f32).collect();
    let mut y = device.zeros::<f32, 1>([32])?;
    own::mean::launch(&device.stream(), &device.upload(&x, [2, 32])?, &mut y)?;
    assert_eq!(y.download()?, (0..32).map(|i| i as f32 + 16.0).collect::<Vec<f32>>());
    Ok(())
}

/// A configuration whose constants the attribute and the signature name, and methods that are given tensors.
#[tiled_kernels]
mod configured {
    const WARP: usize = 32;

    struct Shape;

    impl Shape {
        const ROWS: usize = 3;
        const THREADS: usize = Self::WARPS * WARP;
        const WARPS: usize = 2;
    }

    struct Adder {
        by: f32,
        done: u32,
    }

    impl Adder {
        fn put(&mut self, mut y: View<f32, Write>, row: usize) {
            self.done += 1;
            y[[row, thread_idx.x]] += self.by * self.done as f32;
        }
    }

    #[tiled_kernel(block = [Shape::THREADS], grid = [1])]
    pub fn added(y: &mut LayoutTensor<f32, RowMajor<{ Shape::ROWS }, { Shape::THREADS }>>) {
        let mut adder = Adder { by: 0.5, done: 0 };
        for row in 0..Shape::ROWS {
            adder.put(y, row);
        }
        adder.put(y, 0);
    }
}

#[test]
fn the_attribute_names_constants_of_structs() -> Result<(), Error> {
    let device = Device::simulator();
    let mut y = device.zeros::<f32, 2>([3, 64])?;
    configured::added::launch(&device.stream(), &mut y)?;
    let row = |value: f32| std::iter::repeat_n(value, 64);
    assert_eq!(y.download()?, row(0.5 + 2.0).chain(row(1.0)).chain(row(1.5)).collect::<Vec<f32>>());
    Ok(())
}
