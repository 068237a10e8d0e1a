//! `Heads`: which device of a mesh has which heads, as a layout.
//!
//! Law: heads of queries are two modes, (head of the keys, place in its group). Axes `groups` split the first one, of the keys and of the
//! queries alike; axes `within` split the second, so that along them keys are copies. So each rank has the keys of its own queries, and
//! in its own numbers head `h` of the queries reads head `h * keys / queries`, as on one device. Heads that the ranks do not divide are
//! split unevenly: the last ranks have fewer, or none.

use layout_core::LayoutError;
use layout_core::mesh::{Distributed, Mesh};

/// Which device has which heads.
///
/// ```
/// use layout_core::mesh::Mesh;
/// use layout_kernels::mesh::Heads;
///
/// // 12 heads of queries on 3 of keys, over 2 devices: two groups of four and one.
/// let heads = Heads::new(&Mesh::new([("gpu", 2)])?, [12, 3], ["gpu"], [])?;
/// assert_eq!(heads.of(0)?.queries, [0, 1, 2, 3, 4, 5, 6, 7]);
/// assert_eq!((heads.of(1)?.queries, heads.of(1)?.keys), (vec![8, 9, 10, 11], vec![2]));
///
/// // 2 heads of keys on 4 devices: each is on two of them, with half of its queries each.
/// let mesh = Mesh::new([("group", 2), ("half", 2)])?;
/// let heads = Heads::new(&mesh, [8, 2], ["group"], ["half"])?;
/// assert_eq!((heads.of(3)?.queries, heads.of(3)?.keys), (vec![6, 7], vec![1]));
/// assert_eq!(heads.keys().to_string(), "((2,2),(),(1)):((1,0),(),(0)) over group=2,half=2");
/// # Ok::<(), layout_core::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heads {
    queries: Distributed,
    keys: Distributed,
}

/// The heads of one rank, by their numbers in the whole, in the rank's own order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Own {
    /// Those of the queries.
    pub queries: Vec<usize>,
    /// Those of the keys and values.
    pub keys: Vec<usize>,
}

fn refuse<T>(detail: String) -> Result<T, LayoutError> {
    Err(LayoutError::Unsupported { operation: "heads", detail })
}

impl Heads {
    /// So many heads of queries on so many of keys: the axes `groups` split the heads of the keys with the queries that read them, the
    /// axes `within` the queries of each.
    ///
    /// # Errors
    /// [`LayoutError::Unsupported`] for heads of queries that are no multiple of those of keys, and for an axis that is not there, is
    /// named twice, or not at all: along it all heads would be copies, whose terms a sum over the ranks would count twice.
    pub fn new<'a>(
        mesh: &Mesh,
        [queries, keys]: [usize; 2],
        groups: impl IntoIterator<Item = &'a str>,
        within: impl IntoIterator<Item = &'a str>,
    ) -> Result<Heads, LayoutError> {
        if keys == 0 || queries == 0 || queries % keys != 0 {
            return refuse(format!("{queries} heads of queries on {keys} of keys; give a multiple, above 0"));
        }
        let (groups, within): (Vec<&str>, Vec<&str>) =
            (groups.into_iter().collect(), within.into_iter().collect());
        let idle = mesh
            .axes()
            .find(|(name, extent)| *extent > 1 && !groups.contains(name) && !within.contains(name));
        if let Some((name, extent)) = idle {
            return refuse(format!(
                "axis `{name}` of {mesh} splits no heads, so that {extent} devices have the same ones and their terms would be added \
                 {extent} times; split the ranks into groups first (Member::split), and take a mesh of one group"
            ));
        }
        // More heads than 64 bits count are refused as a tensor is.
        let number = |heads: usize| i64::try_from(heads).unwrap_or(i64::MAX);
        let mut all = Distributed::new(mesh, [number(keys), number(queries / keys)])?;
        let mut own = Distributed::new(mesh, [number(keys)])?;
        if !groups.is_empty() {
            all = all.split(0, groups.iter().copied())?;
            own = own.split(0, groups)?;
        }
        if !within.is_empty() {
            all = all.split(1, within)?;
        }
        Ok(Heads { queries: all, keys: own })
    }

    /// How the heads of the queries are laid out: (head of the keys, place in its group).
    pub fn queries(&self) -> &Distributed {
        &self.queries
    }

    /// How the heads of the keys and values are.
    pub fn keys(&self) -> &Distributed {
        &self.keys
    }

    /// How many ranks they are split over.
    pub fn ranks(&self) -> usize {
        self.queries.mesh().size()
    }

    /// The heads of a rank. None are those of a rank that is not in the mesh, and of one whose queries' keys are none.
    ///
    /// # Errors
    /// None that [`Heads::new`] lets through.
    pub fn of(&self, rank: usize) -> Result<Own, LayoutError> {
        let (keys, each) = (self.queries.extents()[0], self.queries.extents()[1]);
        let mut own = Own::default();
        for key in 0..keys {
            let mut reads = false;
            for place in 0..each {
                if self.queries.holders(&[key, place])?.contains(&rank) {
                    // Extents that were `usize` before.
                    own.queries.push((key * each + place) as usize);
                    reads = true;
                }
            }
            // Keys that none of a rank's queries read are left out: it has fewer places in a group than there are ranks along it.
            if reads {
                own.keys.push(key as usize);
            }
        }
        Ok(own)
    }
}
