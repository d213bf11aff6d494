//! docs/guides/embedding.md shows lines of the examples, which are compiled and run.

use std::fs;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use tidings_experiment::mpi::root;

const GUIDE: &str = include_str!("../../docs/guides/embedding.md");

/// The code blocks of the guide in a language.
fn blocks(language: &str) -> Vec<String> {
    let (mut blocks, mut open) = (Vec::new(), false);
    for event in Parser::new(GUIDE) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(of))) if *of == *language => {
                blocks.push(String::new());
                open = true;
            }
            Event::End(TagEnd::CodeBlock) => open = false,
            Event::Text(part) if open => blocks.last_mut().expect("one is open").push_str(&part),
            _ => {}
        }
    }
    blocks
}

/// The line by which the guide compiles the example in C, continued lines put together.
pub(crate) fn compile_line() -> String {
    let shown = blocks("sh").concat().replace("\\\n", " ");
    let line = shown.lines().find(|line| line.starts_with("cc "));
    line.expect("the guide says how the example in C is compiled").to_owned()
}

#[test]
fn its_lines_are_those_of_the_examples() {
    for (language, example, least) in
        [("rust", "crates/gossip/examples/udp.rs", 20), ("c", "examples/embedding/udp.c", 7)]
    {
        let text = fs::read_to_string(root().join(example)).expect("an example");
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let shown = blocks(language).concat();
        for line in shown.lines() {
            assert!(lines.contains(&line.trim()), "{example} lacks the line {line}");
        }
        assert!(shown.lines().count() >= least, "{language}");
    }
}
