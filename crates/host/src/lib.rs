//! Everything the database asks of the machine: time, dice, disks, memory, tasks.
//!
//! Invariant: no other crate reads a clock, makes a random number, starts a thread, syncs a file or asks the
//! operating system about itself. That is what lets [`sim::SimHost`] replay a whole run, crash included, from
//! one seed. Must not know: what the bytes mean; nothing of tables, logs or SQL.

pub mod at_length;
pub mod clock;
pub mod turn;
pub mod random;
pub mod disk;
pub mod objects;
pub mod folder_objects;
pub mod objects_disk;
mod writeback;
pub mod system_disk;
mod disk_space;
pub mod memory;
pub mod faults;
pub mod process;
pub mod shortage;
pub mod idle;
pub mod meter;
pub mod runtimes;
pub mod workers;
pub mod machine;
pub mod guarded;
pub mod sim;

pub use clock::{Clock, SystemClock};
pub use disk::{DirEntry, Disk, DiskFile, DiskRead, create_dir_all_synced, read_all, replace_file};
pub use disk_space::{DiskSpace, disk_space};
pub use faults::{FaultAction, Faults};
pub use folder_objects::FolderObjects;
pub use guarded::guarded;
pub use idle::when_idle;
pub use machine::Host;
pub use memory::{MemoryBudget, MemoryGrant, MemoryRefused, Spare};
pub use meter::Account;
pub use objects::{Created, Object, Objects, StoreClock, at_once};
pub use objects_disk::ObjectsDisk;
pub use random::{Random, SystemRandom};
pub use runtimes::Runtimes;
pub use shortage::{make_room_for, when_short};
pub use sim::{SimClient, SimFault, SimHost, SimStore, SimWorld};
pub use system_disk::SystemDisk;
pub use workers::Workers;
