//! The token that requests from other machines show.
//!
//! Invariant: of a token only its digest is kept, and digests are compared, so that neither a core
//! dump nor the time of an answer gives it away.

use std::ops::RangeInclusive;

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};

/// Characters of a token.
const LENGTH: RangeInclusive<usize> = 16..=512;
/// The scheme in front of it.
const SCHEME: &str = "bearer ";

/// What a request must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token([u8; 32]);

/// The text is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Too few characters, or too many.
    #[error("{0} characters, where 16 to 512 are allowed: make one with `openssl rand -base64 24`")]
    Length(usize),
    /// Characters that a header cannot have.
    #[error("a token is one line of ASCII without blanks: make one with `openssl rand -base64 24`")]
    Characters,
}

impl Token {
    /// Reads the text of a file; white space around the token does not count.
    pub(crate) fn parse(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        if !LENGTH.contains(&text.len()) {
            return Err(TokenError::Length(text.len()));
        }
        Ok(Self::of(text.as_bytes()))
    }

    fn of(text: &[u8]) -> Self {
        Self(Sha256::digest(text).into())
    }

    /// Whether a request shows it.
    pub(crate) fn is_shown(&self, headers: &HeaderMap) -> bool {
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(shown), None) = (all.next(), all.next()) else { return false };
        let Some((scheme, token)) = shown.as_bytes().split_at_checked(SCHEME.len()) else {
            return false;
        };
        scheme.eq_ignore_ascii_case(SCHEME.as_bytes()) && *self == Self::of(token.trim_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "hJ4x5s0gVqf2bG7kTz1w";

    #[test]
    fn a_text_that_is_no_token_is_refused_with_the_remedy() {
        assert_eq!(Token::parse(&format!(" {TOKEN}\n")).ok(), Some(Token::of(TOKEN.as_bytes())));
        for (text, words) in [
            ("", "0 characters"),
            ("short", "5 characters"),
            ("two words of a token here", "without blanks"),
            ("schl\u{fc}ssel-schl\u{fc}ssel", "ASCII"),
        ] {
            let message = Token::parse(text).expect_err(text).to_string();
            assert!(message.contains(words) && message.contains("openssl"), "{message}");
        }
    }
}
