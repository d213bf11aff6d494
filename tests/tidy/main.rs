//! The style rules of CONTRIBUTING.md and the invariants of ARCHITECTURE.md, checked as tests.
//!
//! Each rule is a pure function from text to [`Finding`]s, lives in the module named after what it
//! looks at, and has a unit test there that shows it fire on a bad sample. The tests in this file
//! apply the rules to the repository. A finding names the place and the remedy.

mod circles;
mod commands;
mod commits;
mod decisions;
mod dependencies;
mod documents;
mod finding;
mod functions;
mod layout;
mod manifests;
mod names;
mod purity;
mod python_modules;
mod ratchet;
mod repeats;
mod repository;
mod rust_modules;
mod sizes;
mod studies;
mod tokens;
mod words;

pub(crate) use finding::Finding;

/// Fails the test with one line a finding.
#[track_caller]
fn assert_tidy(findings: &[Finding]) {
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    assert!(lines.is_empty(), "{} places to mend:\n{}", lines.len(), lines.join("\n"));
}

/// Applies a rule to each Rust file of the repository.
fn over_rust_files(rule: impl Fn(&str, &str) -> Vec<Finding>) -> Vec<Finding> {
    let files = repository::files_ending(".rs");
    assert!(files.len() > 10, "found {} Rust files only: the walk is broken", files.len());
    files.iter().flat_map(|file| rule(file, &repository::text(file))).collect()
}

/// All files that are text, with what stands in them.
fn readable_files() -> impl Iterator<Item = (String, String)> {
    let readable = |file: String| repository::read_if_there(&file).map(|text| (file, text));
    repository::files().into_iter().filter_map(readable)
}

/// Files with what stands in them.
fn with_text(files: &[String]) -> Vec<(String, String)> {
    files.iter().map(|file| (file.clone(), repository::text(file))).collect()
}

/// Applies a rule to each source file whose size has a limit.
fn over_measured_files<F>(rule: impl Fn(&str, &str) -> Vec<F>) -> Vec<F> {
    readable_files()
        .filter(|(file, text)| sizes::LANGUAGES.contains(&functions::language(file, text)))
        .flat_map(|(file, text)| rule(&file, &text))
        .collect()
}

/// `make test` names suites in two lanes: one of both names would run in both.
#[test]
fn no_suite_of_a_crate_is_named_as_one_of_whole_programs() {
    let manifest = repository::text("tests/Cargo.toml");
    let whole: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
        .collect();
    assert!(whole.contains(&"tidy"), "the suites are not read as they are written");
    let files = repository::files_ending(".rs");
    let suites = files.iter().filter(|file| file.starts_with("crates/"));
    let shared: Vec<Finding> = suites
        .filter_map(|file| Some((file, file.split_once("/tests/")?.1)))
        .filter(|(_, suite)| {
            whole.contains(&suite.trim_end_matches(".rs").trim_end_matches("/main"))
        })
        .map(|(file, _)| Finding::new(file, 1, "a suite of whole programs has this name"))
        .collect();
    assert_tidy(&shared);
}

#[test]
fn files_are_at_most_five_hundred_lines() {
    let long = over_measured_files(sizes::long_file);
    assert_tidy(&ratchet::Allowed::named("long_files").evaluate(&long));
}

#[test]
fn lines_are_at_most_a_hundred_columns() {
    assert_tidy(&over_rust_files(layout::long_lines));
    assert_tidy(&over_measured_files(sizes::wide_lines));
}

#[test]
fn functions_are_at_most_sixty_lines() {
    let long = over_measured_files(sizes::long_functions);
    assert_tidy(&ratchet::Allowed::named("long_functions").evaluate(&long));
}

#[test]
fn no_run_of_twelve_lines_stands_twice_outside_tests() {
    let files: Vec<(String, String)> = readable_files().collect();
    assert!(files.len() > 100, "read {} files only: the walk is broken", files.len());
    assert_tidy(&ratchet::Allowed::named("repeats").evaluate(&repeats::repeated(&files)));
}

#[test]
fn each_file_opens_with_a_module_doc() {
    assert_tidy(&over_rust_files(layout::missing_module_doc));
}

#[test]
fn a_module_with_files_of_its_own_is_a_folder() {
    assert_tidy(&layout::beside_their_folder(&repository::files()));
}

#[test]
fn no_test_is_ignored() {
    assert_tidy(&over_rust_files(layout::ignored_tests));
}

#[test]
fn no_test_sleeps() {
    assert_tidy(&over_rust_files(layout::sleeping_tests));
}

#[test]
fn names_say_what_a_thing_is() {
    let findings: Vec<Finding> =
        repository::files().iter().flat_map(|file| names::vague_file(file)).collect();
    assert_tidy(&findings);
    assert_tidy(&over_rust_files(names::vague_types));
}

#[test]
fn the_core_names_no_clock_socket_thread_or_file() {
    let sources = repository::files_ending(".rs");
    let core: Vec<&String> = sources.iter().filter(|f| purity::is_core(f)).collect();
    assert!(!core.is_empty(), "no source of the core found: the walk is broken");
    let findings: Vec<Finding> =
        core.iter().flat_map(|file| purity::impure_paths(file, &repository::text(file))).collect();
    assert_tidy(&findings);
    for folder in purity::CORE {
        let root = format!("{folder}/src/lib.rs");
        assert_tidy(&purity::unsafe_allowed(&root, &repository::text(&root)));
    }
}

#[test]
fn the_core_is_held_to_every_ban_of_the_workspace() {
    let all = repository::text("clippy.toml");
    for folder in purity::CORE {
        let own = format!("{folder}/clippy.toml");
        assert_tidy(&purity::missing_bans(&own, &all, &repository::text(&own)));
    }
}

#[test]
fn dependencies_point_as_architecture_says() {
    let page = "ARCHITECTURE.md";
    let stated = dependencies::stated_arrows(&repository::text(page));
    let real = dependencies::Metadata::of_workspace().arrows();
    assert_tidy(&dependencies::differences(page, &stated, &real));
}

#[test]
fn the_core_links_nothing_that_does_io() {
    for core in dependencies::CORES {
        assert_tidy(&dependencies::core_doing_io(core, &dependencies::linked_by(core)));
    }
}

#[test]
fn modules_need_each_other_in_no_circle() {
    let files = repository::files_ending(".rs");
    let sources = with_text(&files);
    let mut breaches: Vec<ratchet::Breach> = rust_modules::roots(&files)
        .iter()
        .flat_map(|root| circles::circles_in(root, &rust_modules::arrows(root, &sources)))
        .collect();
    let python = "python/tidings";
    let modules = repository::files_ending(".py").into_iter().filter(|f| f.starts_with(python));
    let arrows = python_modules::arrows(python, &with_text(&modules.collect::<Vec<_>>()));
    assert!(arrows.values().any(|needed| !needed.is_empty()), "no import read in {python}");
    breaches.extend(circles::circles_in(python, &arrows));
    assert_tidy(&ratchet::Allowed::named("circles").evaluate(&breaches));
}

#[test]
fn links_in_the_documentation_resolve() {
    let pages = repository::files_ending(".md");
    assert!(pages.len() > 5, "found {} pages only: the walk is broken", pages.len());
    let findings: Vec<Finding> = pages
        .iter()
        .flat_map(|page| {
            documents::broken_links(page, &repository::text(page), &repository::read_if_there)
        })
        .collect();
    assert_tidy(&findings);
}

#[test]
fn each_feature_names_a_test_that_exists() {
    let page = "docs/reference/features.md";
    let text = repository::text(page);
    assert_tidy(&documents::missing_functions(page, &text, &repository::read_if_there));
    for row in text.lines().filter(|line| line.starts_with("| ") && !line.contains("held by")) {
        assert!(row.contains("](../../"), "{page}: name what holds this row: {row}");
    }
}

#[test]
fn each_study_answers_at_once_and_can_be_made_again() {
    let (files, index) = (repository::files(), repository::text("studies/README.md"));
    let named = studies::named(&files);
    assert!(named.len() > 10, "found {} studies only: the walk is broken", named.len());
    for study in named {
        let run = format!("studies/{study}/run");
        assert_tidy(&studies::incomplete(study, &files, &index, &repository::is_executable));
        assert_tidy(&studies::without_question(study, &repository::text(&run)));
        let page = format!("studies/{study}/README.md");
        assert_tidy(&studies::without_answer(study, &repository::text(&page)));
        let draw = format!("studies/{study}/draw.py");
        let drawn = repository::read_if_there(&draw).unwrap_or_default();
        assert_tidy(&studies::without_table(study, &drawn, &files));
    }
}

#[test]
fn results_name_the_command_that_makes_them() {
    let targets = commands::make_targets(&repository::text("Makefile"));
    let pages = repository::files_ending(".md");
    let results: Vec<&String> = pages.iter().filter(|f| f.starts_with("studies/")).collect();
    assert!(!results.is_empty(), "no page of results found: the walk is broken");
    let findings: Vec<Finding> = results
        .iter()
        .flat_map(|page| documents::without_command(page, &repository::text(page), &targets))
        .collect();
    assert_tidy(&findings);
}

#[test]
fn tables_can_be_made_again() {
    let files = repository::files();
    let (tables, manifests) = manifests::tables_in(&files);
    assert!(tables.len() > 30, "found {} tables only: the walk is broken", tables.len());
    assert_tidy(&manifests::without_table(&tables, &manifests));
    let is_ancestor = manifests::history(&repository::root());
    if let Err(why) = &is_ancestor {
        eprintln!("whether commits of tables are of this history was not looked at: {why}");
    }
    let is_ancestor = |commit: &str| is_ancestor.as_ref().map_or(true, |asked| asked(commit));
    let breaches: Vec<ratchet::Breach> = tables
        .iter()
        .filter_map(|table| {
            let manifest = repository::read_if_there(&manifests::manifest_of(table));
            let table_text = repository::text(table);
            manifests::not_repeatable(
                table,
                table_text.as_bytes(),
                manifest.as_deref(),
                &is_ancestor,
            )
        })
        .collect();
    assert_tidy(&ratchet::Allowed::named("tables").evaluate(&breaches));
}

#[test]
fn prose_is_at_most_a_hundred_and_twenty_columns_wide() {
    let pages = repository::files_ending(".md");
    let wide = pages.iter().flat_map(|page| documents::wide_prose(page, &repository::text(page)));
    assert_tidy(&wide.collect::<Vec<Finding>>());
}

#[test]
fn the_summary_lists_each_page_of_the_site() {
    let summary = "docs/SUMMARY.md";
    let on_the_site = |page: &String| {
        let is_page = page.starts_with("docs/") || page.starts_with("studies/");
        is_page && page != summary && page != "docs/decisions/template.md"
    };
    let pages = repository::files_ending(".md").into_iter().filter(on_the_site);
    assert_tidy(&documents::missing_from_summary(summary, &repository::text(summary), pages));
}

#[test]
fn pages_and_help_use_plain_words() {
    let is_plain = |page: &&String| {
        page.starts_with("docs/") || page.starts_with("studies/") || !page.contains('/')
    };
    let pages = repository::files_ending(".md");
    let mut findings: Vec<Finding> = pages
        .iter()
        .filter(is_plain)
        .flat_map(|page| words::in_page(page, &repository::text(page)))
        .collect();
    let helps = commands::all_helps(&repository::help_of_tidings);
    assert!(helps.len() > 40, "{} commands found: help is not read as it is printed", helps.len());
    for (command, help) in &helps {
        findings.extend(words::in_text(&format!("{command} --help"), 1, help));
    }
    assert_tidy(&findings);
}

#[test]
fn lines_of_the_log_in_the_guide_are_those_of_the_agent() {
    let sources = repository::files().into_iter();
    let sources = sources.filter(|file| file.starts_with("crates/agent/src/"));
    let code: String = sources.map(|file| repository::text(&file)).collect();
    let page = "docs/guides/operating.md";
    let findings = documents::log_lines_of_nobody(page, &repository::text(page), &code);
    assert_tidy(&findings);
}

#[test]
fn commands_in_readme_guides_and_concepts_exist() {
    let targets = commands::make_targets(&repository::text("Makefile"));
    let shown = |page: &&String| {
        ["README.md", "docs/guides/", "docs/concepts/"].iter().any(|part| page.starts_with(part))
    };
    for page in repository::files_ending(".md").iter().filter(shown) {
        let used = commands::in_page(&repository::text(page));
        assert!(page != "README.md" || !used.is_empty(), "{page} shows no command");
        assert_tidy(&commands::unknown_make_targets(page, &used, &targets));
        assert_tidy(&commands::unknown_to_tidings(page, &used, &repository::help_of_tidings));
    }
}

#[test]
fn the_index_of_decisions_says_what_the_records_say() {
    let (folder, page) = ("docs/decisions/", "docs/decisions/README.md");
    let pages = repository::files_ending(".md").into_iter();
    let records: Vec<decisions::Record> = pages
        .filter_map(|page| Some((page.strip_prefix(folder)?.to_owned(), repository::text(&page))))
        .filter(|(file, _)| file.starts_with(|first: char| first.is_ascii_digit()))
        .collect();
    assert!(records.len() > 10, "found {} records only: the walk is broken", records.len());
    assert_tidy(&decisions::wrong_in_index(page, &repository::text(page), &records));
}

#[test]
fn commits_say_what_was_done_and_why() {
    match commits::since(commits::BASE, &repository::root()) {
        Ok(log) => {
            assert_tidy(&ratchet::Allowed::named("commits").evaluate(&commits::unclear(&log)));
        }
        Err(why) => println!("no commit was looked at: {why}"),
    }
}
