//! The token that lets two programs trust each other: the certificate's fingerprint and a secret, as one word.
//!
//! ```text
//! PUNCTUAL1<64 hexadecimal digits>::<64 hexadecimal digits>
//! ```
//! The first digits are the SHA-256 of the listening program's certificate (DER), by which the connecting program knows it.
//! The second are a secret of 256 random bits, by which the listening program knows who connects. This is k3s's habit
//! (`K10<hash>::<user>:<secret>`).

use std::fmt;
use std::str::FromStr;

/// Length of a certificate's fingerprint (bytes).
pub const FINGERPRINT_BYTES: usize = 32;
/// Length of the secret (bytes).
pub const SECRET_BYTES: usize = 32;

/// What every token begins with; a number follows.
const NAME: &str = "PUNCTUAL";
/// The form that this program reads and writes.
const FORM: &str = "1";
const BETWEEN: &str = "::";
const FINGERPRINT_DIGITS: usize = 2 * FINGERPRINT_BYTES;
const SECRET_DIGITS: usize = 2 * SECRET_BYTES;
/// Characters of a whole token.
const LENGTH: usize = NAME.len() + FORM.len() + FINGERPRINT_DIGITS + BETWEEN.len() + SECRET_DIGITS;

/// The secret of a token. It is never printed: `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// A secret made of random bytes, which the caller provides.
    #[must_use]
    pub const fn new(bytes: [u8; SECRET_BYTES]) -> Self {
        Self(bytes)
    }

    /// The bytes, for use as a key. Do not compare them with `==` where a stranger can take the time: check a proof.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; SECRET_BYTES] {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(hidden)")
    }
}

/// What a program needs to connect to one that listens, and to be let in.
///
/// There is no `Display`, so that no message contains it by accident: [`Token::reveal`] makes the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    fingerprint: [u8; FINGERPRINT_BYTES],
    secret: Secret,
}

/// Why a text is no token. No message repeats any part of the text that could be of the secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Nothing but white space.
    #[error("the token is empty: copy the whole word that 'punctual listen' printed, PUNCTUAL1…")]
    Empty,
    /// It does not begin as tokens do.
    #[error("this is no token: one begins with PUNCTUAL1, and 'punctual listen' prints it")]
    Foreign,
    /// The form has a number that this program does not know.
    #[error("the token has form {form}, and this program reads form 1: install on this node the punctual that made it")]
    OtherForm {
        /// The number after `PUNCTUAL`.
        form: String,
    },
    /// It ends too early.
    #[error("the token is cut off: {found} of {LENGTH} characters; copy the whole word, which may span several lines")]
    Cut {
        /// Characters that are there.
        found: usize,
    },
    /// Something follows.
    #[error("{extra} characters follow the token's {LENGTH}: give the token alone")]
    TooLong {
        /// Characters after its end.
        extra: usize,
    },
    /// A character that cannot stand there.
    #[error("character {place} of the token is not {expected}: copy it anew")]
    Damaged {
        /// Its place, counted from 1.
        place: usize,
        /// What stands there in every token.
        expected: &'static str,
    },
}

impl Token {
    /// A token for the certificate with this SHA-256 fingerprint.
    #[must_use]
    pub const fn new(fingerprint: [u8; FINGERPRINT_BYTES], secret: Secret) -> Self {
        Self { fingerprint, secret }
    }

    /// SHA-256 of the certificate in DER. It is not secret.
    #[must_use]
    pub const fn fingerprint(&self) -> &[u8; FINGERPRINT_BYTES] {
        &self.fingerprint
    }

    /// What the connecting program proves to have.
    #[must_use]
    pub const fn secret(&self) -> &Secret {
        &self.secret
    }

    /// The token as text, with its secret in it: for the other node's user or a file that only its owner reads.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{NAME}{FORM}{}{BETWEEN}{}", to_hex(&self.fingerprint), to_hex(self.secret.bytes()))
    }

    /// Whether a text begins as a token of any form does.
    #[must_use]
    pub fn begins_like_one(text: &str) -> bool {
        text.trim_start().starts_with(NAME)
    }
}

impl FromStr for Token {
    type Err = TokenError;

    /// Reads a token with white space around it.
    fn from_str(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(TokenError::Empty);
        }
        let Some(rest) = text.strip_prefix(NAME) else {
            // A beginning of the name is a token that was cut very early.
            let is_cut = NAME.starts_with(text);
            return Err(if is_cut { TokenError::Cut { found: text.len() } } else { TokenError::Foreign });
        };
        check_form(rest)?;
        check_characters(text)?;
        let found = text.chars().count();
        if found < LENGTH {
            return Err(TokenError::Cut { found });
        }
        let digits = rest.get(FORM.len()..).unwrap_or_default();
        let fingerprint = digits.get(..FINGERPRINT_DIGITS).and_then(from_hex);
        let secret = digits.get(FINGERPRINT_DIGITS + BETWEEN.len()..).and_then(from_hex);
        match (fingerprint, secret) {
            (Some(fingerprint), Some(secret)) => Ok(Self::new(fingerprint, Secret::new(secret))),
            _ => Err(TokenError::Foreign),
        }
    }
}

/// The number of the form stands right after the name, and the fingerprint's digits right after it: a token of another form
/// has another length or another number there.
fn check_form(rest: &str) -> Result<(), TokenError> {
    if rest.is_empty() {
        return Err(TokenError::Cut { found: NAME.len() });
    }
    if rest.starts_with(FORM) {
        return Ok(());
    }
    match rest.chars().next() {
        Some(first) if first.is_ascii_digit() => Err(TokenError::OtherForm { form: first.to_string() }),
        _ => Err(TokenError::Foreign),
    }
}

/// Each character is one that can stand at its place, and none follows the last place.
fn check_characters(text: &str) -> Result<(), TokenError> {
    const DIGITS_FROM: usize = NAME.len() + FORM.len();
    const BETWEEN_FROM: usize = DIGITS_FROM + FINGERPRINT_DIGITS;
    const SECRET_FROM: usize = BETWEEN_FROM + BETWEEN.len();
    for (place, character) in text.chars().enumerate().skip(DIGITS_FROM).take(LENGTH - DIGITS_FROM) {
        let (is_right, expected) = if (BETWEEN_FROM..SECRET_FROM).contains(&place) {
            (character == ':', "a colon")
        } else {
            (character.is_ascii_hexdigit(), "a hexadecimal digit")
        };
        if !is_right {
            return Err(TokenError::Damaged { place: place + 1, expected });
        }
    }
    match text.chars().count().checked_sub(LENGTH) {
        None | Some(0) => Ok(()),
        Some(extra) => Err(TokenError::TooLong { extra }),
    }
}

/// Lower-case hexadecimal digits, two a byte.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

/// Exactly `BYTES` bytes from twice as many hexadecimal digits of either case.
pub(crate) fn from_hex<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    let digits: Option<Vec<u32>> = text.chars().map(|letter| letter.to_digit(16)).collect();
    let bytes = digits?
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high << 4 | low).ok(),
            _ => None,
        })
        .collect::<Option<Vec<u8>>>()?;
    bytes.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn token() -> Token {
        let mut fingerprint = [0x0f; FINGERPRINT_BYTES];
        fingerprint[0] = 0xab;
        Token::new(fingerprint, Secret::new([0x5c; SECRET_BYTES]))
    }

    #[test]
    fn the_text_form_reads_back() {
        let text = token().reveal();
        assert_eq!(text, format!("PUNCTUAL1ab{}::{}", "0f".repeat(31), "5c".repeat(32)));
        assert_eq!(text.len(), LENGTH);
        assert_eq!(format!("  {text}\n").parse(), Ok(token()));
        assert_eq!(text.to_lowercase().replace("punctual", "PUNCTUAL").parse(), Ok(token()));
    }

    #[test]
    fn what_is_wrong_with_a_token_is_said_precisely() {
        let text = token().reveal();
        let check = |text: &str, expected: TokenError| assert_eq!(text.parse::<Token>(), Err(expected), "{text}");
        check(" \n", TokenError::Empty);
        check("PUNCT", TokenError::Cut { found: 5 });
        check("PUNCTUAL", TokenError::Cut { found: 8 });
        check("PUNCTUAL1", TokenError::Cut { found: 9 });
        check(&text[..100], TokenError::Cut { found: 100 });
        check(&text[..LENGTH - 1], TokenError::Cut { found: LENGTH - 1 });
        check(&format!("{text}0"), TokenError::TooLong { extra: 1 });
        check(&format!("{text} --to host"), TokenError::TooLong { extra: 10 });
        check("K10ab::server:xyz", TokenError::Foreign);
        check("PUNCTUALity", TokenError::Foreign);
        check(&text.replace("PUNCTUAL1", "PUNCTUAL2"), TokenError::OtherForm { form: "2".to_owned() });
        check(&text.replace("::", ":0"), TokenError::Damaged { place: 75, expected: "a colon" });
        check(&text.replacen("ab", "xb", 1), TokenError::Damaged { place: 10, expected: "a hexadecimal digit" });
        check(
            &format!("{}g", &text[..LENGTH - 1]),
            TokenError::Damaged { place: LENGTH, expected: "a hexadecimal digit" },
        );
        check(&format!("{}\u{e9}", &text[..80]), TokenError::Damaged { place: 81, expected: "a hexadecimal digit" });
    }

    #[test]
    fn nothing_prints_the_secret() {
        let debug = format!("{:?} {:#?}", token(), token());
        assert!(!debug.contains("5c") && !debug.contains("92"), "{debug}");
        assert!(debug.contains("hidden"), "{debug}");
    }

    proptest! {
        #[test]
        fn every_token_reads_back(fingerprint: [u8; 32], secret: [u8; 32]) {
            let token = Token::new(fingerprint, Secret::new(secret));
            prop_assert_eq!(token.reveal().parse(), Ok(token));
        }

        #[test]
        fn no_error_repeats_the_secret(secret: [u8; 32], cut in 1..64_usize, junk in "[g-z]{1,8}") {
            let secret = to_hex(&secret);
            let cut = format!("PUNCTUAL1{}::{}", "0f".repeat(32), secret.get(cut..).unwrap());
            for text in [cut, format!("PUNCTUAL1{}::{secret}{junk}", "0f".repeat(32)), format!("PUNCTUAL2{secret}")] {
                let message = text.parse::<Token>().unwrap_err().to_string();
                // Four digits of it in a row are no accident in so short a message without numbers.
                let pieces = secret.as_bytes().windows(4).filter_map(|piece| std::str::from_utf8(piece).ok());
                prop_assert!(pieces.into_iter().all(|piece| !message.contains(piece)), "{}", message);
            }
        }
    }
}
