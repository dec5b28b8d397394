//! The first two messages of a connection: who asks, with the proof that it has the token, and the answer.
//!
//! Both are the same in every protocol version, since they are exchanged before a version is agreed upon. Fields that a
//! reader does not know are ignored.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::{Hello, token};

/// Length of a [`Proof`] (bytes).
pub const PROOF_BYTES: usize = 32;

/// HMAC-SHA-256, keyed with the token's secret, of a value that both ends derive from their TLS session (RFC 8446,
/// section 7.5). The secret itself is never sent, and a proof from one connection is worthless in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof(pub [u8; PROOF_BYTES]);

impl Serialize for Proof {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&token::to_hex(&self.0))
    }
}

impl<'de> Deserialize<'de> for Proof {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = token::from_hex(&text).ok_or_else(|| D::Error::custom("a proof is 64 hexadecimal digits"))?;
        Ok(Self(bytes))
    }
}

/// The first message: from the program that connects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Knock {
    /// Who connects.
    pub hello: Hello,
    /// Shows that it has the token's secret.
    pub proof: Proof,
}

/// The second message: from the program that listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The connection stands.
    Welcome {
        /// Who listens.
        hello: Hello,
        /// The protocol version that is spoken from here on.
        version: u32,
    },
    /// The connection ends here.
    Refused {
        /// The reason.
        refusal: Refusal,
    },
}

/// Why a listening program ends a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Refusal {
    /// The proof does not fit the secret of its token.
    WrongSecret,
    /// No protocol version in common.
    OtherVersion {
        /// Who listens.
        hello: Hello,
    },
    /// It serves another partner.
    Busy,
    /// A reason that this program does not know, of a later version.
    #[serde(other)]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocols;

    #[test]
    fn the_greeting_s_form_never_changes() {
        let hello =
            Hello { program: "0.1.0".to_owned(), protocol: Protocols::new(1, 1).unwrap(), host: "a".to_owned() };
        let knock = Knock { hello: hello.clone(), proof: Proof([0xa5; 32]) };
        let own = r#"{"program":"0.1.0","protocol":{"lowest":1,"highest":1},"host":"a"}"#;
        let text = format!(r#"{{"hello":{own},"proof":"{}"}}"#, "a5".repeat(32));
        assert_eq!(serde_json::to_string(&knock).unwrap(), text);
        assert_eq!(serde_json::from_str::<Knock>(&text).unwrap(), knock);
        let check = |answer: Answer, text: String| {
            assert_eq!(serde_json::to_string(&answer).unwrap(), text);
            assert_eq!(serde_json::from_str::<Answer>(&text).unwrap(), answer);
        };
        check(
            Answer::Welcome { hello: hello.clone(), version: 1 },
            format!(r#"{{"answer":"welcome","hello":{own},"version":1}}"#),
        );
        check(
            Answer::Refused { refusal: Refusal::WrongSecret },
            r#"{"answer":"refused","refusal":{"reason":"wrong-secret"}}"#.to_owned(),
        );
        check(
            Answer::Refused { refusal: Refusal::OtherVersion { hello } },
            format!(r#"{{"answer":"refused","refusal":{{"reason":"other-version","hello":{own}}}}}"#),
        );
        let later = r#"{"answer":"refused","refusal":{"reason":"full-moon","phase":7}}"#;
        let read: Answer = serde_json::from_str(later).unwrap();
        assert_eq!(read, Answer::Refused { refusal: Refusal::Unknown });
    }
}
