//! What a batch holds so far, in 16 bytes: how a submission that is repeated is told from another input.

use std::fmt;
use std::str::FromStr;

use xxhash_rust::xxh3::xxh3_128;

use crate::Error;
use crate::wire::Payload;

/// Of the chunks of a batch from its first one on. Every client that cuts the same lines alike comes to the same digest,
/// however it encodes them (docs/protocol.md). It finds mistakes, not malice: XXH3 is no cryptographic hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Digest(u128);

impl Digest {
    /// The digest with one more chunk.
    #[must_use]
    pub fn then(self, payload: &Payload) -> Self {
        let mut link = [0; 36];
        link[..16].copy_from_slice(&self.0.to_le_bytes());
        link[16..32].copy_from_slice(&payload.digest.to_le_bytes());
        link[32..].copy_from_slice(&payload.jobs.to_le_bytes());
        Self(xxh3_128(&link))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| digits);
        number.map(Self).ok_or_else(|| Error::Malformed(format!("'{text}' is not a digest")))
    }
}

/// Of the lines of one chunk, each with its end.
pub(crate) fn of_lines(lines: &[u8]) -> u128 {
    xxh3_128(lines)
}
