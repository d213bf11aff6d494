//! Which files of a Rust package need which: read from paths, not from a compiler.
//!
//! A module needs another where its code names something defined there, by `use` or by a path.
//! * A name counts for the file that defines it. What a parent only passes on (`pub use`) binds
//!   neither the parent nor those who ask the parent for it.
//! * `mod child;` and the import of a whole module bind nothing; the paths through it do.
//! * So a parent and its child are a circle where the child names what the parent itself defines,
//!   and the parent names what the child defines.
//! * Code of `#[cfg(test)]` does not count: a test may look at everything.
//!
//! Fields and methods are not seen: calling a method of another file's `impl` is no arrow.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::circles::Arrows;
use crate::tokens::{group, is_ident, is_punct, lex, paths};

/// What introduces the name of an item.
const ITEMS: [&str; 8] = ["struct", "enum", "trait", "type", "const", "static", "fn", "union"];

/// How many imports lead from a name to what defines it, at most.
const MAX_IMPORTS: usize = 16;

/// A module's path from the root of its package, empty for the root.
type ModulePath = Vec<String>;

/// The modules of one package.
#[derive(Default)]
struct Package {
    modules: BTreeMap<ModulePath, Module>,
    /// Modules that exist for tests only.
    of_tests: BTreeSet<ModulePath>,
}

/// A module, in a file of its own or within one.
#[derive(Default)]
struct Module {
    file: String,
    defines: BTreeSet<String>,
    imports: Vec<Import>,
    /// The paths that its code names, imports apart.
    named: BTreeSet<Vec<String>>,
    /// The words of its code, imports apart.
    words: BTreeSet<String>,
}

/// One name of a `use` tree.
struct Import {
    path: Vec<String>,
    /// What it is called here; `*` for a glob.
    name: String,
    /// Whether others may ask this module for it.
    passed_on: bool,
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Module(ModulePath),
    /// Something that a module defines.
    Item(ModulePath),
}

/// The folders of `files` that are the root of a package or of a test program.
pub(crate) fn roots(files: &[String]) -> BTreeSet<String> {
    let is_root = |name: &str| name == "lib.rs" || name == "main.rs";
    let folders = files.iter().filter_map(|file| file.rsplit_once('/'));
    folders.filter(|(_, name)| is_root(name)).map(|(folder, _)| folder.to_owned()).collect()
}

/// The arrows among the files of the package in `root`.
pub(crate) fn arrows(root: &str, files: &[(String, String)]) -> Arrows {
    let mut package = Package::default();
    let in_package = files.iter().filter_map(|(file, text)| {
        let inside = file.strip_prefix(root)?.strip_prefix('/')?.strip_suffix(".rs")?;
        Some((module_path(inside, files, root)?, file, text))
    });
    for (path, file, text) in in_package {
        package.read(path, file, lex(file, text));
    }
    package.arrows()
}

/// The lines of a file that are there for tests only.
pub(crate) fn lines_for_tests(file: &str, text: &str) -> BTreeSet<usize> {
    let level: Vec<TokenTree> = lex(file, text).into_iter().collect();
    let (mut lines, mut at) = (BTreeSet::new(), 0);
    while at < level.len() {
        let item = &level[at..item_end(&level, at)];
        if let (true, [first, .., last]) = (for_tests(&item[..attributes_of(item)]), item) {
            lines.extend(first.span().start().line..=last.span().end().line);
        }
        at += item.len();
    }
    lines
}

/// The module that a file below the root is; `None` for programs beside a library.
fn module_path(inside: &str, files: &[(String, String)], root: &str) -> Option<ModulePath> {
    let library = format!("{root}/lib.rs");
    match inside {
        "lib" => return Some(Vec::new()),
        "main" => return (!files.iter().any(|(file, _)| *file == library)).then(Vec::new),
        _ if inside.starts_with("bin/") => return None,
        _ => {}
    }
    let mut path: ModulePath = inside.split('/').map(str::to_owned).collect();
    if path.ends_with(&["mod".to_owned()]) {
        path.pop();
    }
    Some(path)
}

impl Package {
    fn read(&mut self, path: ModulePath, file: &str, tokens: TokenStream) {
        let level: Vec<TokenTree> = tokens.into_iter().collect();
        let mut module = Module { file: file.to_owned(), ..Module::default() };
        let mut code = Vec::new();
        let mut at = 0;
        while at < level.len() {
            let end = item_end(&level, at);
            let item = &level[at..end];
            let (attributes, rest) = item.split_at(attributes_of(item));
            match kind(rest) {
                Kind::Use(start) => {
                    if !for_tests(attributes) {
                        module.import(&rest[start..], start > 1);
                    }
                }
                Kind::Mod(name, body) => {
                    let child = [path.clone(), vec![name]].concat();
                    if for_tests(attributes) {
                        self.of_tests.insert(child);
                    } else if let Some(body) = body {
                        self.read(child, file, body);
                    }
                }
                Kind::Other if for_tests(attributes) => {}
                Kind::Other => {
                    module.define(rest);
                    code.extend_from_slice(item);
                }
            }
            at = end;
        }
        module.note_code(&code.into_iter().collect());
        self.modules.insert(path, module);
    }

    fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (path, module) in &self.modules {
            if self.of_tests.iter().any(|tests| path.starts_with(tests)) {
                continue;
            }
            let needed = arrows.entry(module.file.clone()).or_default();
            let found = self.needed_by(path, module);
            needed.extend(found.into_iter().filter(|file| *file != module.file));
        }
        arrows
    }

    /// The files that define what a module names.
    fn needed_by(&self, path: &ModulePath, module: &Module) -> Vec<String> {
        let imported = module
            .imports
            .iter()
            .filter(|import| !import.passed_on || module.words.contains(&import.name))
            .map(|import| &import.path);
        imported
            .chain(&module.named)
            .filter_map(|named| self.resolve(path, named, MAX_IMPORTS))
            .filter_map(|target| match target {
                Target::Item(module) => Some(self.modules[&module].file.clone()),
                Target::Module(_) => None,
            })
            .collect()
    }

    /// What `named` leads to, seen from the module at `from`; `None` outside this package.
    fn resolve(&self, from: &ModulePath, named: &[String], imports_left: usize) -> Option<Target> {
        let imports_left = imports_left.checked_sub(1)?;
        let mut here = from.clone();
        for (at, segment) in named.iter().enumerate() {
            match segment.as_str() {
                "crate" => here.clear(),
                "self" => {}
                "super" => drop(here.pop()?),
                "*" => return Some(Target::Module(here)),
                name => match self.lookup(&here, name, at + 1 == named.len(), imports_left) {
                    Some(Target::Module(module)) => here = module,
                    Some(item) => return Some(item),
                    None if at == 0 => return None,
                    // A macro made it, where `here` invokes it.
                    None => return Some(Target::Item(here)),
                },
            }
        }
        Some(Target::Module(here))
    }

    /// What a name means within a module. The last name of a path is an item before it is a module.
    fn lookup(&self, here: &ModulePath, name: &str, last: bool, left: usize) -> Option<Target> {
        let module = self.modules.get(here)?;
        let child = [here.clone(), vec![name.to_owned()]].concat();
        let child = self.modules.contains_key(&child).then_some(Target::Module(child));
        if child.is_some() && !last {
            return child;
        }
        if module.defines.contains(name) {
            return Some(Target::Item(here.clone()));
        }
        let mut by_name = module.imports.iter().filter(|import| import.name == name);
        let imported = by_name.find_map(|import| self.resolve(here, &import.path, left));
        let globs = module.imports.iter().filter(|import| import.name == "*");
        imported.or(child).or_else(|| {
            let mut modules = globs.filter_map(|glob| self.resolve(here, &glob.path, left));
            modules.find_map(|target| self.in_glob(target, name, last, left))
        })
    }

    fn in_glob(&self, glob: Target, name: &str, last: bool, left: usize) -> Option<Target> {
        match glob {
            Target::Module(there) => self.lookup(&there, name, last, left.checked_sub(1)?),
            Target::Item(_) => None,
        }
    }
}

impl Module {
    fn import(&mut self, tree: &[TokenTree], passed_on: bool) {
        let mut leaves = Vec::new();
        use_leaves(tree, &[], &mut leaves);
        self.imports.extend(leaves.into_iter().map(|(path, name)| Import {
            path,
            name,
            passed_on,
        }));
    }

    fn define(&mut self, item: &[TokenTree]) {
        let names_item = |word: &TokenTree| ITEMS.iter().any(|kind| is_ident(word, kind));
        let named = item.windows(2).find(|pair| names_item(&pair[0]));
        let of_macro = item.first().is_some_and(|word| is_ident(word, "macro_rules"));
        let name = named.map(|pair| &pair[1]).or_else(|| item.get(2).filter(|_| of_macro));
        if let Some(TokenTree::Ident(name)) = name {
            self.defines.insert(name.to_string());
        }
    }

    fn note_code(&mut self, code: &TokenStream) {
        let segments = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
        let found = paths(code);
        self.named = found.iter().map(|path| segments(&path.text)).collect();
        self.named.retain(|path| path.len() > 1);
        self.words = found.iter().flat_map(|path| segments(&path.text)).collect();
    }
}

/// What a `use` tree imports: the whole path, and what it is called then.
fn use_leaves(tree: &[TokenTree], prefix: &[String], leaves: &mut Vec<(Vec<String>, String)>) {
    for branch in tree.split(|token| is_punct(token, ',')) {
        let branch = branch.split(|token| is_punct(token, ';')).next().unwrap_or_default();
        let mut path = prefix.to_vec();
        let mut renamed = None;
        for (at, token) in branch.iter().enumerate() {
            match token {
                TokenTree::Ident(word) if word == "as" => {
                    renamed = branch.get(at + 1).map(ToString::to_string);
                    break;
                }
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => path.push("*".to_owned()),
                TokenTree::Group(inner) => {
                    let inner: Vec<TokenTree> = inner.stream().into_iter().collect();
                    use_leaves(&inner, &path, leaves);
                    path.clear();
                }
                _ => {}
            }
        }
        if path.len() > 1 && path.ends_with(&["self".to_owned()]) {
            path.pop();
        }
        let name = renamed.or_else(|| path.last().cloned());
        leaves.extend(name.map(|name| (path, name)));
    }
}

enum Kind {
    /// Its tree begins here.
    Use(usize),
    /// Its name, and its body where that stands in the same file.
    Mod(String, Option<TokenStream>),
    Other,
}

fn kind(item: &[TokenTree]) -> Kind {
    let public = usize::from(item.first().is_some_and(|word| is_ident(word, "pub")));
    let scoped = item.get(public).is_some_and(|t| group(t, Delimiter::Parenthesis).is_some());
    let at = public + usize::from(public == 1 && scoped);
    match (item.get(at), item.get(at + 1)) {
        (Some(word), Some(_)) if is_ident(word, "use") => Kind::Use(at + 1),
        (Some(word), Some(name)) if is_ident(word, "mod") => {
            let body = item.get(at + 2).and_then(|token| group(token, Delimiter::Brace));
            Kind::Mod(name.to_string(), body.map(proc_macro2::Group::stream))
        }
        _ => Kind::Other,
    }
}

/// Where the item that starts at `at` ends: behind its `;` or its braces.
fn item_end(level: &[TokenTree], at: usize) -> usize {
    let start = at + attributes_of(&level[at..]);
    let imports = matches!(kind(&level[start..]), Kind::Use(_));
    let ends = |token: &TokenTree| {
        is_punct(token, ';') || !imports && group(token, Delimiter::Brace).is_some()
    };
    level[start..].iter().position(ends).map_or(level.len(), |found| start + found + 1)
}

/// How many tokens the attributes before an item take.
fn attributes_of(item: &[TokenTree]) -> usize {
    let mut at = 0;
    while item.get(at).is_some_and(|token| is_punct(token, '#')) {
        let inner = usize::from(item.get(at + 1).is_some_and(|token| is_punct(token, '!')));
        at += 2 + inner;
    }
    at.min(item.len())
}

/// Whether the attributes keep the item for tests.
fn for_tests(attributes: &[TokenTree]) -> bool {
    let conditions = attributes.iter().filter_map(|token| group(token, Delimiter::Bracket));
    let texts: Vec<String> =
        conditions.map(|group| group.stream().to_string().replace(' ', "")).collect();
    texts.iter().any(|text| {
        text == "test" || text.starts_with("cfg(test)") || text.starts_with("cfg(all(test,")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(sources: &[(&str, &str)]) -> Vec<(String, String)> {
        let files: Vec<(String, String)> = sources
            .iter()
            .map(|(file, text)| (format!("c/src/{file}"), (*text).to_owned()))
            .collect();
        let short = |file: &str| file.trim_start_matches("c/src/").to_owned();
        arrows("c/src", &files)
            .iter()
            .flat_map(|(from, to)| to.iter().map(|to| (short(from), short(to))))
            .collect()
    }

    fn arrow(from: &str, to: &str) -> (String, String) {
        (from.to_owned(), to.to_owned())
    }

    #[test]
    fn imports_and_paths_are_arrows() {
        let lib = ("lib.rs", "mod a; mod b; mod c;");
        let a = ("a.rs", "use crate::b::{B, self as other};");
        let b = ("b.rs", "pub struct B; fn f() { g(super::c::h(1), crate::c::K) }");
        let c = ("c.rs", "use std::fs; pub const K: u8 = 1; fn h() {}");
        assert_eq!(found(&[lib, a, b, c]), [arrow("a.rs", "b.rs"), arrow("b.rs", "c.rs")]);
    }

    #[test]
    fn an_imported_module_is_an_arrow_to_what_is_used_of_it() {
        let lib = ("lib.rs", "mod a; mod b; mod c;");
        let a = ("a.rs", "use crate::b; fn f() { b::shown() }");
        let b = ("b.rs", "pub use crate::c::shown; fn own() {}");
        let c = ("c.rs", "pub fn shown() {}");
        assert_eq!(found(&[lib, a, b, c]), [arrow("a.rs", "c.rs")]);
    }

    #[test]
    fn what_a_parent_passes_on_counts_for_the_file_that_defines_it() {
        let lib = ("lib.rs", "mod p;");
        let parent = ("p/mod.rs", "mod a; mod b; pub use a::A; pub use b::*; pub struct Own;");
        let a = ("p/a.rs", "use super::B; pub struct A;");
        let b = ("p/b.rs", "pub struct B;");
        assert_eq!(found(&[lib, parent, a, b]), [arrow("p/a.rs", "p/b.rs")]);
    }

    #[test]
    fn a_path_through_a_module_passes_a_function_of_the_same_name() {
        let lib = ("lib.rs", "mod p;");
        let parent = ("p/mod.rs", "mod a; mod b; fn a() { b::g() }");
        let b = ("p/b.rs", "use super::a::A; pub fn g() {}");
        let all = found(&[lib, parent, ("p/a.rs", "pub struct A;"), b]);
        assert_eq!(all, [arrow("p/b.rs", "p/a.rs"), arrow("p/mod.rs", "p/b.rs")]);
    }

    #[test]
    fn parent_and_child_that_name_each_other_are_a_circle() {
        let lib = ("lib.rs", "mod p;");
        let a = ("p/a.rs", "use super::Own; pub struct A(Own);");
        for parent in [
            "mod a; use a::A; pub struct Own(A);",
            "mod a; pub use a::A; pub struct Own(A);",
            "mod a; pub struct Own; fn f() { a::A(Own) }",
        ] {
            let circle = [arrow("p/a.rs", "p.rs"), arrow("p.rs", "p/a.rs")];
            let sorted = |mut list: Vec<_>| {
                list.sort();
                list
            };
            let all = found(&[lib, ("p.rs", parent), a]);
            assert_eq!(sorted(all), sorted(circle.to_vec()), "{parent}");
        }
    }

    #[test]
    fn a_path_in_a_macro_and_in_an_inline_module_is_an_arrow() {
        let lib = ("lib.rs", "mod a; mod b; pub struct Root;");
        let a = ("a.rs", "m! { x => crate::b::B } mod inner { use super::super::Root; }");
        let b = ("b.rs", "make! { pub struct B; }");
        let both = [arrow("a.rs", "b.rs"), arrow("a.rs", "lib.rs")];
        let mut all = found(&[lib, a, b]);
        all.sort();
        assert_eq!(all, both);
    }

    #[test]
    fn code_for_tests_is_no_arrow() {
        let lib = ("lib.rs", "mod a; mod b; #[cfg(test)] mod c;");
        let a = (
            "a.rs",
            "#[cfg(test)] use crate::b::B; #[cfg(test)] mod tests { use crate::b::B; }
            #[cfg(all(test, unix))] fn f() { crate::b::B }",
        );
        let c = ("c.rs", "use crate::b::B;");
        assert_eq!(found(&[lib, a, ("b.rs", "pub struct B;"), c]), []);
    }

    #[test]
    fn a_program_beside_a_library_is_not_of_it() {
        let files = ["c/src/lib.rs", "c/src/main.rs", "t/web/main.rs", "t/web/a.rs"];
        let files: Vec<String> = files.map(str::to_owned).to_vec();
        assert_eq!(roots(&files), BTreeSet::from(["c/src".to_owned(), "t/web".to_owned()]));
        let program = ("main.rs", "use crate::a::A; mod a;");
        assert_eq!(found(&[("lib.rs", "mod a;"), program, ("a.rs", "pub struct A;")]), []);
    }
}
