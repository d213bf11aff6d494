//! The model of a machine beside the machine: what `tidings lab fluid` computes is what SMPI
//! simulates, within 5 %. studies/fluid has larger machines.

use std::collections::BTreeMap;
use std::process::Command;

use serde_json::Value;
use tidings_experiment::agents::programs;

use crate::platforms::platform;
use crate::toolchain::{Mpi, done, place};

/// What makes two rows the same: test, variant, bytes, count.
type Key = (String, String, u64, u64);

/// The last sample of each series: the first are those of a warm-up.
fn seconds(text: &str) -> BTreeMap<Key, f64> {
    let rows = text.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let of = |row: Value| {
        let taken_s = row.get("samples_s")?.as_array()?.last()?.as_f64()?;
        let text = |name: &str| row[name].as_str().map(str::to_owned);
        let key = (text("test")?, text("variant")?, row["bytes"].as_u64()?, row["count"].as_u64()?);
        Some((key, taken_s))
    };
    rows.filter_map(of).collect()
}

#[test]
fn a_model_is_what_smpi_simulates() {
    let words = "--repetitions 1 --factor 8 --halo-largest 1024 --test pair --test overlap \
                 --test fans --test halo";
    for (kind, model, shape, nodes) in [
        ("bluegene-p", "torus", "6,2,2", 24),
        ("fat-tree", "fat-tree", "4,4", 16),
        ("dragonfly", "dragonfly", "2,2,2,2", 16),
    ] {
        let directory = place();
        let (file, hosts) = platform(directory.path(), &[kind, "--shape", shape]);
        let mut command = Command::new("smpirun");
        command.args(["-no-privatize", "-n", &nodes.to_string(), "-platform"]).arg(file);
        command.arg("-hostfile").arg(hosts).current_dir(directory.path());
        command.args(["--cfg=smpi/simulate-computation:no", "--log=root.thres:error"]);
        command.arg("--cfg=smpi/wtime:0").arg(Mpi::Simulated.characterize());
        if kind == "bluegene-p" {
            command.args(["--torus", shape]);
        }
        let simulated = seconds(&done(command.args(words.split_whitespace())));
        let mut command = Command::new(programs().join("tidings"));
        command.args(["lab", "fluid", model, "--shape", shape, "--as-simgrid"]);
        let words = words.trim_start_matches("--repetitions 1 ");
        let modelled = seconds(&done(command.args(words.split_whitespace())));
        let both: Vec<(&Key, f64)> = simulated
            .iter()
            .filter_map(|(key, taken_s)| Some((key, modelled.get(key)? / taken_s)))
            .collect();
        let halo = both.iter().filter(|(key, _)| key.0 == "halo").count();
        assert!(both.len() > 40 && halo >= 8, "{kind}: {} rows in both, {halo}", both.len());
        for (key, ratio) in both {
            assert!((ratio - 1.0).abs() < 0.05, "{kind} {key:?}: {ratio}");
        }
    }
}
