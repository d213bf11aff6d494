//! The crates for programs of others are ready to be published: cargo makes packages of them, and a
//! registry finds in those what it asks for.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tidings_experiment::mpi::{done, place, root};

/// In the order in which they are published.
const PUBLISHED: [&str; 2] = ["tidings-primitives", "tidings-gossip"];

/// What crates.io allows of keywords.
const MOST_KEYWORDS: usize = 5;
const MOST_LETTERS: usize = 20;

/// Those of the categories of crates.io that are in use.
const CATEGORIES: [&str; 3] = ["algorithms", "cryptography", "network-programming"];

fn cargo(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(words).current_dir(root());
    command
}

fn packages() -> Vec<Value> {
    let words = ["metadata", "--format-version=1", "--locked", "--offline", "--no-deps"];
    let metadata: Value = serde_json::from_str(&done(&mut cargo(&words))).expect("JSON");
    metadata["packages"].as_array().expect("a list").clone()
}

fn named<'a>(packages: &'a [Value], name: &str) -> &'a Value {
    packages.iter().find(|package| package["name"] == name).expect("a member of the workspace")
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

#[test]
fn they_say_what_a_registry_asks_for() {
    let packages = packages();
    for name in PUBLISHED {
        let package = named(&packages, name);
        assert!(package["publish"].is_null(), "{name} may be published");
        for field in ["description", "license", "readme", "rust_version"] {
            let text = package[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{name}: state `{field}` in its Cargo.toml");
        }
        let keywords = words(&package["keywords"]);
        assert!((1..=MOST_KEYWORDS).contains(&keywords.len()), "{name}: {keywords:?}");
        assert!(keywords.iter().all(|word| word.len() <= MOST_LETTERS), "{name}: {keywords:?}");
        let categories = words(&package["categories"]);
        assert!(!categories.is_empty(), "{name}: state `categories`");
        assert!(categories.iter().all(|word| CATEGORIES.contains(word)), "{name}: {categories:?}");
        assert!(
            package["metadata"]["docs"]["rs"].is_object(),
            "{name}: [package.metadata.docs.rs]"
        );
    }
}

/// A package has no paths: it names what it needs by version, and that is there before it.
#[test]
fn they_need_only_what_is_published_before_them() {
    let packages = packages();
    let own: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    for (at, name) in PUBLISHED.iter().enumerate() {
        for needed in named(&packages, name)["dependencies"].as_array().expect("a list") {
            let other = needed["name"].as_str().expect("a name");
            if !own.contains(&other) {
                continue;
            }
            assert!(PUBLISHED[..at].contains(&other), "{name} needs {other}");
            let version = named(&packages, other)["version"].as_str().expect("a version");
            assert_eq!(needed["req"], format!("^{version}"), "{name} needs {other}: Cargo.toml");
        }
    }
}

#[test]
fn pages_name_the_version_that_there_is() {
    let packages = packages();
    for (name, pages) in [
        ("tidings-primitives", &["crates/primitives/README.md"][..]),
        (
            "tidings-gossip",
            &["crates/gossip/README.md", "crates/gossip/src/lib.rs", "docs/guides/embedding.md"],
        ),
    ] {
        let version = named(&packages, name)["version"].as_str().expect("a version");
        let (compatible, _) = version.rsplit_once('.').expect("three numbers");
        for page in pages {
            let text = std::fs::read_to_string(root().join(page)).expect("a page");
            assert!(
                text.contains(&format!("{name} = \"{compatible}\"")),
                "{page}: {name} {version}"
            );
        }
    }
}

#[test]
fn cargo_makes_packages_with_all_that_belongs_to_them() {
    let (target, packages) = (place(), packages());
    let mut package = cargo(&["package", "--offline", "--allow-dirty", "--no-verify"]);
    package.arg("--target-dir").arg(target.path());
    done(package.args(PUBLISHED.iter().flat_map(|name| ["-p", name])));
    for name in PUBLISHED {
        let version = named(&packages, name)["version"].as_str().expect("a version");
        let made = target.path().join(format!("package/{name}-{version}.crate"));
        let listed = done(Command::new("tar").arg("-tzf").arg(made));
        let mut wanted =
            vec!["Cargo.toml", "README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"];
        if name == "tidings-gossip" {
            wanted.push("examples/udp.rs");
        }
        for file in wanted {
            let path = Path::new(&format!("{name}-{version}")).join(file);
            let path = path.to_str().expect("it is text");
            assert!(listed.lines().any(|line| line == path), "{name} lacks {file}:\n{listed}");
        }
    }
}
