//! What a run measures, kept as it is measured.
//!
//! Law: a record is printed and in its file before the next measurement begins, so that a run which is stopped loses none.

use super::peaks::Roofs;
use super::record::{Occasion, Record, table_head, table_line, table_row};
use super::{Result, options::Common};
use layout_cuda::Device;
use std::fs::{File, OpenOptions};
use std::io::Write;

/// The records of a run.
pub struct Ledger {
    simulated: bool,
    roofs: Roofs,
    occasion: Occasion,
    file: Option<File>,
    records: usize,
    wrong: usize,
}

impl Ledger {
    /// For what runs on a device; the file asked for is opened, and added to.
    ///
    /// # Errors
    /// A file that cannot be written, and peaks that cannot be read.
    pub fn new(device: &Device, common: &Common) -> Result<Ledger> {
        let open = |path: &std::path::PathBuf| {
            let file = OpenOptions::new().create(true).append(true).open(path);
            file.map_err(|error| format!("{}: {error}", path.display()))
        };
        let file = common.json.as_ref().map(open).transpose()?;
        let occasion = Occasion::now(device.describe(), common.commit.clone());
        let roofs = Roofs::new(device, common.peaks.as_deref())?;
        Ok(Ledger { simulated: device.is_simulator(), roofs, occasion, file, records: 0, wrong: 0 })
    }

    /// Begins a table of rates in this unit.
    pub fn head(&self, rates: &str) {
        println!("{}", table_head(rates));
    }

    /// Ends a table.
    pub fn foot(&self) {
        println!("{}", table_line());
    }

    /// Prints a record and writes it.
    ///
    /// # Errors
    /// What the file system says.
    pub fn keep(&mut self, record: &Record) -> Result<()> {
        println!("{}", table_row(record, &self.roofs));
        if let Some(mut file) = self.file.as_ref() {
            writeln!(file, "{}", record.json(&self.occasion, &self.roofs))?;
        }
        self.records += 1;
        self.wrong += usize::from(record.wrong > 0);
        Ok(())
    }

    /// Says what the run comes to; gives the number of wrong results.
    pub fn close(self) -> usize {
        let times = if self.simulated { "; times are the simulator's on this CPU" } else { "" };
        match self.wrong {
            _ if self.records == 0 => {}
            0 => println!("all {} results are right{times}", self.records),
            wrong => println!("{wrong} of {} results are wrong{times}", self.records),
        }
        self.wrong
    }
}
