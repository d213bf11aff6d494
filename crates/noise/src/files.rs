//! Raw samples on disk, written as they come.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use crate::NoiseError;
use crate::samples::{Contents, NamedGap, Quantum, head};

/// The files of a probe.
#[derive(Debug)]
pub struct Files {
    quanta: Output,
    gaps: Output,
}

#[derive(Debug)]
struct Output {
    path: PathBuf,
    file: BufWriter<File>,
}

/// The names of the files of the probe with this place.
pub fn names(place: &str) -> [String; 2] {
    [format!("{place}.quanta"), format!("{place}.gaps")]
}

impl Files {
    /// Makes the files in a folder, in place of those of an earlier run.
    ///
    /// # Errors
    /// [`NoiseError::Unwritable`].
    pub fn make(folder: &Path, place: &str, core: u32) -> Result<Self, NoiseError> {
        let [quanta, gaps] = names(place);
        Ok(Self {
            quanta: Output::make(folder.join(quanta), Contents::Quanta, core)?,
            gaps: Output::make(folder.join(gaps), Contents::Gaps, core)?,
        })
    }

    /// One more quantum.
    ///
    /// # Errors
    /// [`NoiseError::Unwritable`].
    pub fn quantum(&mut self, quantum: &Quantum) -> Result<(), NoiseError> {
        self.quanta.write(&quantum.bytes())
    }

    /// One more gap.
    ///
    /// # Errors
    /// [`NoiseError::Unwritable`].
    pub fn gap(&mut self, gap: &NamedGap) -> Result<(), NoiseError> {
        self.gaps.write(&gap.bytes())
    }

    /// Sees to it that all is in the files.
    ///
    /// # Errors
    /// [`NoiseError::Unwritable`].
    pub fn flush(&mut self) -> Result<(), NoiseError> {
        self.quanta.flush()?;
        self.gaps.flush()
    }
}

impl Output {
    fn make(path: PathBuf, contents: Contents, core: u32) -> Result<Self, NoiseError> {
        match File::create(&path) {
            Ok(file) => {
                let mut output = Self { path, file: BufWriter::new(file) };
                output.write(&head(contents, core))?;
                output.flush()?;
                Ok(output)
            }
            Err(source) => Err(NoiseError::Unwritable { path, source }),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), NoiseError> {
        let written = self.file.write_all(bytes);
        written.map_err(|source| NoiseError::Unwritable { path: self.path.clone(), source })
    }

    fn flush(&mut self) -> Result<(), NoiseError> {
        let flushed = self.file.flush();
        flushed.map_err(|source| NoiseError::Unwritable { path: self.path.clone(), source })
    }
}
