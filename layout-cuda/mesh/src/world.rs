//! `World`: all ranks, and where they run.
//!
//! Law: [`World::run`] comes back with every rank's result, or with the error that was first; a rank that fails or panics is an
//! error of all others, within the time limit.

use crate::board::Board;
use crate::error::{MeshError, Result};
use crate::member::{Member, Place, Terms};
use crate::remote::{Guest, Remote, Token, listen};
use layout_cuda::Device;
use std::sync::Arc;
use std::time::Duration;

/// What holds where nobody says otherwise.
const TERMS: Terms = Terms { limit: Duration::from_secs(60), blocks: None };
/// The most ranks, as of a mesh.
const MOST: usize = 1024;

/// What is said of a variable that is not there.
pub(crate) const UNSET: &str = "it is not set";

/// What launchers call the rank, the number of ranks, the rank on its machine, and the job.
const LAUNCHERS: [[&str; 4]; 3] = [
    ["RANK", "WORLD_SIZE", "LOCAL_RANK", "TORCHELASTIC_RUN_ID"],
    ["OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "PMIX_NAMESPACE"],
    ["SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_JOB_ID"],
];

/// All ranks, and where they run.
#[derive(Clone, Debug)]
pub struct World {
    kind: Kind,
    terms: Terms,
}

#[derive(Clone, Debug)]
enum Kind {
    /// A thread each.
    Threads(Vec<Device>),
    /// One of several processes.
    Process { guest: Guest, local: usize, host: String, port: u16 },
}

fn environment<T>(variable: &str, why: impl Into<String>) -> Result<T> {
    Err(MeshError::Environment { variable: variable.into(), why: why.into() })
}

impl World {
    /// So many simulators, a thread each: collectives are computed in the ranks' order, and what would hang GPUs is an error.
    ///
    /// # Errors
    /// [`MeshError::Environment`] for no rank or more than 1024.
    ///
    /// ```
    /// use layout_mesh::World;
    /// let ranks = World::simulators(3)?.run(|member| Ok(member.rank()))?;
    /// assert_eq!(ranks, [0, 1, 2]);
    /// # Ok::<(), layout_mesh::MeshError>(())
    /// ```
    pub fn simulators(ranks: usize) -> Result<World> {
        World::of((0..ranks).map(|_| Device::simulator()).collect())
    }

    /// These GPUs, a thread of this process each.
    ///
    /// # Errors
    /// [`MeshError::Cuda`] for a GPU that is not there; [`MeshError::NoNccl`] for several without NCCL; [`MeshError::Refused`] for one that
    /// is named twice.
    pub fn gpus(ordinals: impl IntoIterator<Item = usize>) -> Result<World> {
        let ordinals: Vec<usize> = ordinals.into_iter().collect();
        let twice = ordinals.iter().enumerate().find(|(at, gpu)| ordinals[..*at].contains(gpu));
        if let Some((rank, gpu)) = twice {
            let why = format!("GPU {gpu} is another rank's in {ordinals:?}; NCCL takes a GPU for one rank");
            return Err(MeshError::Refused { rank, why });
        }
        let devices: Vec<Device> =
            ordinals.into_iter().map(Device::gpu).collect::<std::result::Result<_, _>>()?;
        if devices.len() > 1 {
            crate::nccl::nccl()?;
        }
        World::of(devices)
    }

    fn of(devices: Vec<Device>) -> Result<World> {
        match devices.len() {
            1..=MOST => Ok(World { kind: Kind::Threads(devices), terms: TERMS }),
            ranks => environment("the number of ranks", format!("{ranks}; a world has 1 to {MOST}")),
        }
    }

    /// This process as one rank of several, as `torchrun` or `mpirun` started it: `RANK`, `WORLD_SIZE` and `LOCAL_RANK`, or Open MPI's
    /// or Slurm's; `MASTER_ADDR`, a name or an address, IPv6 among them, and `MASTER_PORT`, where rank 0 listens (on the port after that
    /// one where `torchrun` listens there itself; `LAYOUT_MESH_PORT` names another). The GPU is that of the local rank.
    ///
    /// Ranks of two jobs that meet at one port get an error, where the launcher names its jobs: `TORCHELASTIC_RUN_ID`, `PMIX_NAMESPACE`,
    /// `SLURM_JOB_ID`. On a network that others use, give all ranks the same secret in `LAYOUT_MESH_TOKEN`: without it whoever reaches
    /// the port can come as a rank. It is sent as it is, and so are elements. Where `MASTER_ADDR` is this machine itself
    /// (`127.0.0.1`, `localhost`), the port is open to this machine alone.
    ///
    /// # Errors
    /// [`MeshError::Environment`] that names the variable.
    pub fn process() -> Result<World> {
        World::process_of(&|name| std::env::var(name).ok())
    }

    /// As [`World::process`], of these variables.
    ///
    /// # Errors
    /// As there.
    pub fn process_of(variable: &dyn Fn(&str) -> Option<String>) -> Result<World> {
        let number = |name: &str| match variable(name) {
            None => environment(name, UNSET),
            Some(value) => match value.parse::<usize>() {
                Ok(number) => Ok(number),
                Err(_) => environment(name, format!("`{value}` is no number")),
            },
        };
        // Of the launcher whose rank is set; of the first one where none is, to say what is missing.
        let known = LAUNCHERS.iter().find(|[rank, ..]| variable(rank).is_some());
        let [rank_name, size_name, local_name, job] = *known.unwrap_or(&LAUNCHERS[0]);
        let (rank, size) = (number(rank_name)?, number(size_name)?);
        if !(1..=MOST).contains(&size) || rank >= size {
            return environment(rank_name, format!("{rank} of {size} ranks; a world has 1 to {MOST}"));
        }
        let local = if variable(local_name).is_some() { number(local_name)? } else { rank };
        let host = variable("MASTER_ADDR").unwrap_or_else(|| "127.0.0.1".into());
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&host).to_owned();
        let (port_name, port) = match ["LAYOUT_MESH_PORT", "MASTER_PORT"].map(|name| variable(name).is_some())
        {
            [true, _] => ("LAYOUT_MESH_PORT", number("LAYOUT_MESH_PORT")?),
            [_, set] => {
                let port = if set { number("MASTER_PORT")? } else { 29500 };
                let taken = variable("TORCHELASTIC_USE_AGENT_STORE").is_some_and(|value| value == "True");
                ("MASTER_PORT", port.saturating_add(usize::from(taken)))
            }
        };
        let Some(port) = u16::try_from(port).ok().filter(|port| *port > 0) else {
            return environment(port_name, format!("{port} is no port"));
        };
        // As much of a name as one message has room for.
        let job = variable(job).unwrap_or_default().chars().take(256).collect();
        let token = variable("LAYOUT_MESH_TOKEN").unwrap_or_default();
        if token.len() > 1024 {
            return environment(
                "LAYOUT_MESH_TOKEN",
                format!("it has {} bytes, of 1024 at most", token.len()),
            );
        }
        let guest = Guest { rank, size, job, token: Token(token) };
        Ok(World { kind: Kind::Process { guest, local, host, port }, terms: TERMS })
    }

    /// With another time limit than a minute, for each wait for others. Of ranks in several processes rank 0's holds.
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> World {
        self.terms.limit = limit;
        self
    }

    /// With at most so many thread blocks of each GPU for NCCL, so that a kernel beside it can count on the others.
    #[must_use]
    pub fn blocks(mut self, blocks: u32) -> World {
        self.terms.blocks = Some(blocks.max(1));
        self
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        match &self.kind {
            Kind::Threads(devices) => devices.len(),
            Kind::Process { guest, .. } => guest.size,
        }
    }

    /// Runs the ranks of this process, and gives their results in the ranks' order. What they started is done when this comes
    /// back.
    ///
    /// # Errors
    /// The first error of any rank.
    pub fn run<R: Send>(&self, body: impl Fn(&Member) -> Result<R> + Sync) -> Result<Vec<R>> {
        match &self.kind {
            Kind::Threads(devices) => self.threads(devices, &body),
            Kind::Process { guest, local, host, port } => {
                let device = match Device::gpu(*local) {
                    Ok(device) => device,
                    // Of a machine without GPUs the processes are simulators.
                    Err(_) if layout_cuda::driver::device_count().unwrap_or(0) == 0 => Device::simulator(),
                    Err(error) => return Err(error.into()),
                };
                self.one_process(guest, device, (host, *port), &body)
            }
        }
    }

    fn threads<R: Send>(
        &self,
        devices: &[Device],
        body: &(impl Fn(&Member) -> Result<R> + Sync),
    ) -> Result<Vec<R>> {
        let board = Arc::new(Board::new(devices.len()));
        let all: Vec<usize> = (0..devices.len()).collect();
        let results: Vec<Result<R>> = std::thread::scope(|scope| {
            let start = |(rank, device): (usize, &Device)| {
                let (board, all, device) = (board.clone(), all.clone(), device.clone());
                scope.spawn(move || {
                    let leaving = Leaving { board: &board, rank };
                    let place = Place::Here(board.clone());
                    let member = Member::new(rank, all, vec![], device, place, self.terms)?;
                    let result = of_rank(&member, body);
                    leaving.with(&result);
                    result
                })
            };
            let threads: Vec<_> = devices.iter().enumerate().map(start).collect();
            let joined = threads.into_iter().enumerate().map(|(rank, thread)| {
                let panicked =
                    |_| MeshError::Ended { rank, how: "panicked".into(), call: "what is in flight".into() };
                thread.join().map_err(panicked).and_then(|result| result)
            });
            joined.collect()
        });
        if let Some(error) =
            results.iter().filter_map(|result| result.as_ref().err()).min_by_key(|error| follows(error))
        {
            return Err(error.clone());
        }
        results.into_iter().collect()
    }

    fn one_process<R: Send>(
        &self,
        guest: &Guest,
        device: Device,
        (host, port): (&str, u16),
        body: &(impl Fn(&Member) -> Result<R> + Sync),
    ) -> Result<Vec<R>> {
        let Guest { rank, size, .. } = *guest;
        let board = Arc::new(Board::new(size));
        // The port is open until this comes back, or everybody is there.
        let (place, _listening) = if rank == 0 {
            let listening = listen(&board, (host, port), guest.clone(), self.terms.limit)?;
            (Place::First(board.clone()), Some(listening))
        } else {
            let remote = Remote::connect((host, port), guest, self.terms.limit)?;
            (Place::There(Arc::new(remote)), None)
        };
        // Of rank 0 the board is informed here, of the others by what serves their connections.
        let leaving = (rank == 0).then_some(Leaving { board: &board, rank });
        let member = Member::new(rank, (0..size).collect(), vec![], device, place.clone(), self.terms)?;
        let result = of_rank(&member, body);
        match (&place, &result) {
            (Place::There(remote), Ok(_)) => remote.farewell(),
            (Place::There(remote), Err(error)) => {
                let (rank, how) = (member.rank(), format!("failed: {error}"));
                remote.fail(&MeshError::Ended { rank, how, call: "what is in flight".into() });
            }
            (Place::Here(board) | Place::First(board), result) => {
                if let Some(leaving) = leaving {
                    leaving.with(result);
                }
                // Those in other processes still have to hear of it, or to end.
                board.empty(self.terms.limit);
            }
        }
        Ok(vec![result?])
    }
}

impl std::fmt::Display for World {
    /// `3 simulators`, or `rank 0 of 2, who meet at 10.0.0.1, port 29500`
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Threads(devices) => {
                let simulators = devices.iter().filter(|device| device.is_simulator()).count();
                match simulators {
                    0 => write!(f, "{} GPUs", devices.len()),
                    all => write!(f, "{all} simulators"),
                }
            }
            Kind::Process { guest, host, port, .. } => write!(f, "{guest}, who meet at {host}, port {port}"),
        }
    }
}

/// Errors that are the consequence of another one come after it.
fn follows(error: &MeshError) -> u8 {
    match error {
        MeshError::Broken { .. } => 2,
        MeshError::Ended { .. } => 1,
        _ => 0,
    }
}

/// The body, and then what it started.
fn of_rank<R>(member: &Member, body: &impl Fn(&Member) -> Result<R>) -> Result<R> {
    let result = body(member);
    match &result {
        Ok(_) => member.finish()?,
        Err(_) => member.abort(),
    }
    result
}

/// Informs the board that a rank is gone, on whatever way.
struct Leaving<'a> {
    board: &'a Board,
    rank: usize,
}

impl Leaving<'_> {
    fn with<R>(self, result: &Result<R>) {
        match result {
            Ok(_) => self.board.end(self.rank, "has ended"),
            Err(error) => self.failed(&format!("failed: {error}")),
        }
    }

    fn failed(&self, how: &str) {
        self.board.end(self.rank, how);
        let (rank, how) = (self.rank, how.to_owned());
        self.board.fail(MeshError::Ended { rank, how, call: "what is in flight".into() });
    }
}

impl Drop for Leaving<'_> {
    /// Does nothing to a rank that has left already.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.failed("panicked");
        } else {
            self.board.end(self.rank, "did not start");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_threads_of_one_process_share_memory() {
        let shared = |world: World| world.run(|member| Ok(member.place.shared().is_some()));
        assert_eq!(shared(World::simulators(2).expect("a world")), Ok(vec![true, true]));
        if layout_cuda::driver::device_count().unwrap_or(0) > 0 {
            return eprintln!("skipped: processes have a GPU each here");
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port().to_string();
        drop(listener);
        let process = |rank: &'static str| {
            World::process_of(&|name| match name {
                "RANK" => Some(rank.into()),
                "WORLD_SIZE" => Some("2".into()),
                "MASTER_PORT" => Some(port.clone()),
                _ => None,
            })
            .expect("a world")
        };
        // Rank 0 has the board, as threads have, but no peer in its memory.
        let ranks = std::thread::scope(|scope| {
            let ranks = ["0", "1"].map(|rank| scope.spawn(move || shared(process(rank))));
            ranks.map(|rank| rank.join().expect("no panic"))
        });
        assert_eq!(ranks, [Ok(vec![false]), Ok(vec![false])]);
    }
}
