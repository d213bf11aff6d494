//! A line that is typed below a table: a condition, without a cursor within it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Characters that are taken at most.
const LENGTH_MOST: usize = 400;

/// What has been typed so far.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Prompt(String);

/// What a key has done to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// It is still being typed.
    More,
    /// It is as it is wanted.
    Done(String),
    /// It is not wanted.
    Abandoned,
}

impl Prompt {
    /// A line that begins with `text`.
    pub(crate) fn with(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The text so far.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Takes a key.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Typed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Typed::Done(std::mem::take(&mut self.0)),
            KeyCode::Esc => return Typed::Abandoned,
            KeyCode::Char('u') if control => self.0.clear(),
            KeyCode::Char('w') if control => {
                let kept = self.0.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.0.truncate(kept);
            }
            KeyCode::Backspace => drop(self.0.pop()),
            KeyCode::Char(letter) if !control && self.0.chars().count() < LENGTH_MOST => {
                self.0.push(letter);
            }
            _ => {}
        }
        Typed::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(prompt: &mut Prompt, code: KeyCode, modifiers: KeyModifiers) -> Typed {
        prompt.press(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn what_is_typed_is_there_and_can_be_taken_back() {
        let mut prompt = Prompt::with("load1 > ");
        for letter in "2x".chars() {
            assert_eq!(press(&mut prompt, KeyCode::Char(letter), KeyModifiers::NONE), Typed::More);
        }
        press(&mut prompt, KeyCode::Backspace, KeyModifiers::NONE);
        assert_eq!(prompt.text(), "load1 > 2");
        press(&mut prompt, KeyCode::Char('w'), KeyModifiers::CONTROL);
        assert_eq!(prompt.text(), "load1 > ");
        let done = press(&mut prompt, KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(done, Typed::Done("load1 > ".to_owned()));
        press(&mut prompt, KeyCode::Char('q'), KeyModifiers::NONE);
        press(&mut prompt, KeyCode::Char('u'), KeyModifiers::CONTROL);
        assert_eq!(prompt.text(), "");
        assert_eq!(press(&mut prompt, KeyCode::Esc, KeyModifiers::NONE), Typed::Abandoned);
    }

    #[test]
    fn a_line_has_an_end() {
        let mut prompt = Prompt::default();
        for _ in 0..10 * LENGTH_MOST {
            press(&mut prompt, KeyCode::Char('a'), KeyModifiers::NONE);
        }
        assert_eq!(prompt.text().len(), LENGTH_MOST);
    }
}
