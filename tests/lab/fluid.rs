//! A machine that is not here: a model is characterised like one that is measured, and what no
//! network is gets refused.

use std::fs;

use tidings_experiment::agents::programs;

use super::code;
use super::places::{Bench, said};

/// Tori of 512 and of 4,096 processes, whose master has ever more workers.
fn series() -> String {
    format!(
        "name = \"model\"\nlimit_s = 60.0\n[[machines]]\nname = \"BlueGene/P\"\n\
         backend = {{ kind = \"plain\" }}\n[[programs]]\nname = \"fluid\"\n\
         machines = [\"BlueGene/P\"]\nnodes = [1]\n\
         command = [\"{}\", \"lab\", \"fluid\", \"torus\", \"--shape\", \"{{shape}}\", \
         \"--cores\", \"4\", \"--factor\", \"1048576\", \"--test\", \"hops\", \"--test\", \
         \"hotspot\", \"--test\", \"halo\", \"--halo-least\", \"1024\", \
         \"--order\", \"XYZT\", \"--order\", \"TXYZ\"]\n\
         [[programs.grids]]\nshape = [\"8,4,4\", \"16,8,8\"]\n",
        programs().join("tidings").display()
    )
}

#[test]
fn a_model_is_characterised_like_a_machine() {
    let bench = Bench::new();
    let file = bench.lay("model.toml", &series());
    let done = bench.tidings(&["lab", "characterize", &file, "--output", "out"]);
    assert_eq!(code(&done), Some(0), "{}", said(&done));
    let read = |name: &str| fs::read_to_string(bench.file("out").join(name)).expect("written");
    let table = read("points.csv");
    for ranks in [512, 4096] {
        let hops = format!("\"BlueGene/P\",{ranks},\"hops-latency\",\"idle network\",0,1,2.8e-6,");
        assert!(table.contains(&hops), "the ranks are the model's: {table}");
    }
    let page = read("characterize.html");
    assert!(page.contains("A hop costs 55.3 ns") && page.contains("TXYZ"), "{page}");
    assert!(page.contains("4096 on 1024 nodes") && !page.contains("quiet"), "{page}");
    let growth = read("growth.jsonl");
    assert!(growth.contains("\"size\":4095") && growth.contains("hotspot-1048576"), "{growth}");
    assert!(read("growth.toml").contains("function = \"hops-latency-0\"\ngrowth = \"h\"\n"));
}

/// A model says what its network is, so that advice knows its routes, and links along an axis may
/// have rates of their own.
#[test]
fn advice_about_a_model_knows_its_network() {
    let bench = Bench::new();
    for (network, shape, more) in
        [("fat-tree", "4,4", ""), ("dragonfly", "2,2,2,2", ""), ("mesh", "4,4", "0.5,0.4,0.3")]
    {
        let text = series()
            .replace("\"torus\"", &format!("\"{network}\""))
            .replace("[\"8,4,4\", \"16,8,8\"]", &format!("[\"{shape}\"]"))
            .replace("\"--cores\", \"4\", ", "\"--cores\", \"2\", \"--test\", \"pair\", ");
        let rates = format!("\"--link-gb-s\", \"{more}\", \"--factor\"");
        let text = if more.is_empty() { text } else { text.replace("\"--factor\"", &rates) };
        let file = bench.lay("network.toml", &text);
        let done = bench.tidings(&["lab", "characterize", &file, "--output", network]);
        assert_eq!(code(&done), Some(0), "{network}: {}", said(&done));
        let advised = bench.tidings(&["lab", "advise", network, "--grid", "8x4", "--json"]);
        assert_eq!(code(&advised), Some(0), "{network}: {}", said(&advised));
        let advice: serde_json::Value = serde_json::from_slice(&advised.stdout).expect("JSON");
        assert_eq!(advice["network"], network, "{advice}");
        let gains = advice["gains"].as_array().expect("a list");
        assert!(gains.iter().all(|own| own["gain"].as_f64() >= Some(1.0)), "{advice}");
    }
}

#[test]
fn what_is_no_network_is_refused_with_the_remedy() {
    let bench = Bench::new();
    for (words, remedy) in [
        (&["torus", "--shape", "64,64,64"][..], "131072 is the most"),
        (&["torus", "--shape", "8,8,8,8"], "one to three lengths of rings"),
        (&["torus", "--shape", "32,32,32", "--cores", "64"], "1048576 is the most"),
        (&["dragonfly", "--shape", "9,2,8,4"], "not more groups than routers"),
        (&["fat-tree", "--shape", "8,8", "--test", "ring"], "write one of pair, cores"),
        (&["torus", "--shape", "8,8", "--engines-gb-s", "2"], "write OUT,IN"),
        (&["torus", "--shape", "8,8", "--link-gb-s", "1,2"], "along X, Y and Z of a torus"),
        (&["fat-tree", "--shape", "8,8", "--link-gb-s", "1,2,3"], "along X, Y and Z of a torus"),
        (&["mesh", "--shape", "4", "--own-gb-s", "0-2=1"], "write two neighbours"),
        (&["mesh", "--shape", "4", "--own-hop-us", "1-2"], "write A-B=VALUE"),
    ] {
        let done = bench.tidings(&[&["lab", "fluid"], words].concat());
        assert_eq!(code(&done), Some(2), "{words:?}: {}", said(&done));
        assert!(said(&done).contains(remedy), "{words:?}: {}", said(&done));
    }
}
