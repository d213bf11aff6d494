//! Which modules of a Python package need which as soon as they are imported.
//!
//! What counts is an `import` at the top level of a file: one inside a function is put off until
//! it is called, and may lead anywhere. `from package import name` leads to the module `name` of
//! the package if it has one, else to its `__init__.py`.

use std::collections::BTreeSet;

use crate::circles::Arrows;

/// The arrows among the files of the package in the folder `root`, such as `python/tidings`.
pub(crate) fn arrows(root: &str, files: &[(String, String)]) -> Arrows {
    let names: BTreeSet<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
    let above = root.rsplit_once('/').map_or("", |(above, _)| above);
    let file_of = |module: &str| {
        let path = format!("{above}/{}", module.replace('.', "/"));
        let path = path.trim_start_matches('/');
        let candidates = [format!("{path}.py"), format!("{path}/__init__.py")];
        candidates.into_iter().find(|file| names.contains(file.as_str()))
    };
    let mut arrows = Arrows::new();
    for (file, text) in files {
        let package = file.strip_prefix(above).unwrap_or(file).trim_start_matches('/');
        let package = package.rsplit_once('/').map_or("", |(package, _)| package);
        let needed = imports(text, &package.replace('/', "."))
            .into_iter()
            .filter_map(|(module, name)| {
                let inside = name.and_then(|name| file_of(&format!("{module}.{name}")));
                inside.or_else(|| file_of(&module))
            })
            .filter(|needed| needed != file);
        arrows.insert(file.clone(), needed.collect());
    }
    arrows
}

/// The imports at the top level of a file of `package`: a module, and a name asked of it.
fn imports(text: &str, package: &str) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut statement = line.split('#').next().unwrap_or_default().to_owned();
        if statement.starts_with("from ") && statement.contains('(') {
            while !statement.contains(')') {
                let Some(line) = lines.next() else { break };
                statement.push_str(line.split('#').next().unwrap_or_default());
            }
        }
        let first = |part: &str| part.split_whitespace().next().map(str::to_owned);
        if let Some(modules) = statement.strip_prefix("import ") {
            found.extend(modules.split(',').filter_map(first).map(|module| (module, None)));
        } else if let Some(rest) = statement.strip_prefix("from ") {
            let Some((module, names)) = rest.split_once(" import ") else { continue };
            let names = names.replace(['(', ')'], " ");
            let module = absolute(module.trim(), package);
            found.extend(names.split(',').filter_map(first).map(|n| (module.clone(), Some(n))));
        }
    }
    found
}

/// A module by its whole name: `.x` in `a.b` is `a.b.x`, `..x` is `a.x`.
fn absolute(module: &str, package: &str) -> String {
    let name = module.trim_start_matches('.');
    let dots = module.len() - name.len();
    if dots == 0 {
        return name.to_owned();
    }
    let mut parts: Vec<&str> = package.split('.').collect();
    parts.truncate(parts.len().saturating_sub(dots - 1));
    parts.extend(Some(name).filter(|name| !name.is_empty()));
    parts.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<(String, String)> = sources
            .iter()
            .map(|(file, text)| (format!("python/pack/{file}"), (*text).to_owned()))
            .collect();
        let short = |file: &str| file.trim_start_matches("python/pack/").to_owned();
        arrows("python/pack", &files)
            .iter()
            .flat_map(|(from, to)| to.iter().map(|to| format!("{}>{}", short(from), short(to))))
            .collect()
    }

    #[test]
    fn each_form_of_import_is_an_arrow() {
        for import in [
            "import pack.b",
            "import os, pack.b as other",
            "from pack.b import B",
            "from pack import b",
            "from . import b",
            "from .b import (  # all\n    B,\n    C,\n)",
        ] {
            assert_eq!(found(&[("a.py", import), ("b.py", "")]), ["a.py>b.py"], "{import}");
        }
    }

    #[test]
    fn a_name_of_the_package_is_asked_of_its_init() {
        let init = ("__init__.py", "from pack.a import A");
        let both = ["__init__.py>a.py", "a.py>__init__.py"];
        assert_eq!(found(&[init, ("a.py", "from pack import version")]), both);
    }

    #[test]
    fn dots_lead_upwards() {
        let below = ("x/a.py", "from ..b import B\nfrom .c import C");
        let all = found(&[below, ("b.py", ""), ("x/c.py", ""), ("x/__init__.py", "")]);
        assert_eq!(all, ["x/a.py>b.py", "x/a.py>x/c.py"]);
    }

    #[test]
    fn an_import_that_is_put_off_is_no_arrow() {
        let a = "def f():\n    from pack.b import B\nif TYPE_CHECKING:\n    import pack.b\n";
        assert_eq!(found(&[("a.py", a), ("b.py", "")]), [""; 0]);
    }
}
