//! GPUs: how many there are, how busy, how full and how hot they are.
//!
//! NVIDIA's by NVML, which the driver brings as a library; it is loaded when it is there, and
//! stays. Others by the files of the kernel's driver, which that for AMD has. GPUs of both kinds in
//! one node count together.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::TemperatureSensor;
use nvml_wrapper::error::NvmlError;

use super::outcome::{Outcome, metrics};
use super::sysfs::{folders, is_numbered, number};

/// NVML's name without the development package.
pub(super) const LIBRARY: &str = "libnvidia-ml.so.1";

/// The GPUs of a node.
pub(super) struct Gpus {
    library: OsString,
    nvml: Option<Nvml>,
    cards: PathBuf,
}

/// What is known of one GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Gpu {
    busy_percent: Option<u64>,
    /// Used and all.
    mem_bytes: Option<(u64, u64)>,
    temperature_c: Option<u64>,
}

impl Gpus {
    /// Those that `library` and the files below `sys` know.
    pub(super) fn new(library: &OsStr, sys: &Path) -> Self {
        Self { library: library.to_owned(), nvml: None, cards: sys.join("class/drm") }
    }

    pub(super) fn read(&mut self) -> Outcome {
        let mut gpus = amd(&self.cards);
        match self.nvidia() {
            Ok(more) => gpus.extend(more),
            // No driver of NVIDIA, which is no fault where there are others.
            Err(NvmlError::LibloadingError(_)) if !gpus.is_empty() => {}
            Err(error) => {
                // After a reset of a GPU or an update of the driver it begins again.
                self.nvml = None;
                let library = self.library.to_string_lossy();
                return Err(format!("no GPU answers by {library} ({error}), nor by sysfs"));
            }
        }
        Ok(summary(&gpus))
    }

    fn nvidia(&mut self) -> Result<Vec<Gpu>, NvmlError> {
        if self.nvml.is_none() {
            self.nvml = Some(Nvml::builder().lib_path(&self.library).init()?);
        }
        let Some(nvml) = &self.nvml else { return Ok(Vec::new()) };
        (0..nvml.device_count()?).map(|index| of(nvml, index)).collect()
    }
}

/// One GPU; what its model does not measure is absent.
fn of(nvml: &Nvml, index: u32) -> Result<Gpu, NvmlError> {
    let device = nvml.device_by_index(index)?;
    let busy = known(device.utilization_rates())?;
    let memory = known(device.memory_info())?;
    let temperature = known(device.temperature(TemperatureSensor::Gpu))?;
    Ok(Gpu {
        busy_percent: busy.map(|busy| busy.gpu.into()),
        mem_bytes: memory.map(|memory| (memory.used, memory.total)),
        temperature_c: temperature.map(Into::into),
    })
}

fn known<T>(read: Result<T, NvmlError>) -> Result<Option<T>, NvmlError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(NvmlError::NotSupported | NvmlError::FailedToLoadSymbol(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Those whose driver says in a file how busy they are.
fn amd(cards: &Path) -> Vec<Gpu> {
    let cards = folders(cards, |name| is_numbered(name, "card"));
    let devices = cards.into_iter().map(|card| card.join("device"));
    let gpu = |device: PathBuf| {
        let busy_percent = Some(number(&device.join("gpu_busy_percent"))?);
        let memory = |file| number(&device.join(file));
        let mem_bytes = memory("mem_info_vram_used").zip(memory("mem_info_vram_total"));
        let sensors = folders(&device.join("hwmon"), |name| is_numbered(name, "hwmon"));
        let hottest = sensors.iter().filter_map(|sensor| number(&sensor.join("temp1_input")));
        let temperature_c = hottest.max().map(|thousandths| thousandths / 1_000);
        Some(Gpu { busy_percent, mem_bytes, temperature_c })
    };
    devices.filter_map(gpu).collect()
}

/// Their number, the mean of how busy they are, the share of memory in use, the hottest.
fn summary(gpus: &[Gpu]) -> std::collections::BTreeMap<String, String> {
    let count = gpus.len() as u64;
    let busy: Vec<u64> = gpus.iter().filter_map(|gpu| gpu.busy_percent).collect();
    let mean = (busy.iter().sum::<u64>() + busy.len() as u64 / 2).checked_div(busy.len() as u64);
    let (used, all) = gpus
        .iter()
        .filter_map(|gpu| gpu.mem_bytes)
        .fold((0, 0), |sum, gpu| (sum.0 + u128::from(gpu.0), sum.1 + u128::from(gpu.1)));
    let mem = (used * 100).checked_div(all).and_then(|percent| percent.try_into().ok());
    let temperature = gpus.iter().filter_map(|gpu| gpu.temperature_c).max();
    metrics([
        ("gpu.n", Some(count)),
        ("gpu.busy", mean),
        ("gpu.mem", mem),
        ("gpu.temp", temperature),
    ])
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::sysfs::tests::tree;
    use super::*;

    /// A library that has NVML's symbols, for a node with two GPUs, one of which measures no
    /// temperature. What loads it is the real thing.
    const NVML: &str = r"
        typedef int nvmlReturn_t;
        typedef struct { unsigned gpu, memory; } utilization;
        typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory;
        static int gpus[2] = {0, 1};
        nvmlReturn_t nvmlInit_v2(void) { return 0; }
        nvmlReturn_t nvmlShutdown(void) { return 0; }
        nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
        nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned at, void **gpu)
        {
            if (at > 1) return 2;
            *gpu = &gpus[at];
            return 0;
        }
        nvmlReturn_t nvmlDeviceGetUtilizationRates(void *gpu, utilization *of)
        {
            of->gpu = *(int *)gpu ? 100 : 73;
            of->memory = 5;
            return 0;
        }
        nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(void *gpu, memory *of)
        {
            if (of->version != (sizeof *of | (2 << 24))) return 25;
            of->total = 80ull << 30;
            of->used = *(int *)gpu ? 40ull << 30 : 20ull << 30;
            of->reserved = 0;
            of->free = of->total - of->used;
            return 0;
        }
        nvmlReturn_t nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *c)
        {
            if (*(int *)gpu || sensor) return 3; /* not supported */
            *c = 71;
            return 0;
        }
    ";

    fn library(folder: &Path, source: &str) -> PathBuf {
        let (text, library) = (folder.join("nvml.c"), folder.join("libnvidia-ml.so.1"));
        std::fs::write(&text, source).expect("writable");
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&text);
        assert!(command.status().expect("cc is installed").success());
        library
    }

    const CARDS: &[(&str, &str)] = &[
        ("class/drm/card0/device/gpu_busy_percent", "20\n"),
        ("class/drm/card0/device/mem_info_vram_used", "1073741824\n"),
        ("class/drm/card0/device/mem_info_vram_total", "2147483648\n"),
        ("class/drm/card0/device/hwmon/hwmon3/temp1_input", "64500\n"),
        ("class/drm/card0-DP-1/device/gpu_busy_percent", "99\n"),
        ("class/drm/card1/device/vendor", "0x1a03\n"),
        ("class/drm/version", "drm 1.1.0 20060810\n"),
    ];

    #[test]
    fn gpus_of_nvidia_are_read_by_their_library() {
        let root = tree(&[]);
        let library = library(root.path(), NVML);
        let mut gpus = Gpus::new(library.as_os_str(), root.path());
        let expected = [("gpu.n", 2), ("gpu.busy", 87), ("gpu.mem", 37), ("gpu.temp", 71)];
        for _ in 0..2 {
            assert_eq!(gpus.read(), Ok(metrics(expected.map(|(key, value)| (key, Some(value))))));
        }
    }

    #[test]
    fn a_library_that_fails_is_named_and_tried_again() {
        let root = tree(&[]);
        let lost = NVML.replace(
            "nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }",
            "nvmlDeviceGetCount_v2(unsigned *count) { (void)count; return 15; }",
        );
        let library = library(root.path(), &lost);
        let mut gpus = Gpus::new(library.as_os_str(), root.path());
        let failed = gpus.read().expect_err("the GPU is lost");
        assert!(
            failed.contains("libnvidia-ml.so.1") && failed.contains("fell off the bus"),
            "{failed}"
        );
        assert!(gpus.nvml.is_none());
    }

    #[test]
    fn gpus_of_amd_are_read_by_files() {
        let root = tree(CARDS);
        let none = root.path().join("none.so");
        let mut gpus = Gpus::new(none.as_os_str(), root.path());
        let expected = [("gpu.n", 1), ("gpu.busy", 20), ("gpu.mem", 50), ("gpu.temp", 64)];
        assert_eq!(gpus.read(), Ok(metrics(expected.map(|(key, value)| (key, Some(value))))));
        let library = library(root.path(), NVML);
        let mut both = Gpus::new(library.as_os_str(), root.path());
        assert_eq!(both.read().expect("three")["gpu.n"], "3");
    }

    #[test]
    fn a_node_without_gpus_says_why() {
        let root = tree(&[]);
        let none = root.path().join("none.so");
        let said = Gpus::new(none.as_os_str(), root.path()).read().expect_err("there is none");
        assert!(said.starts_with("no GPU answers by ") && said.contains("none.so"), "{said}");
    }
}
