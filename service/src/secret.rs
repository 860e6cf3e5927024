//! Text that must not be printed: the `Secret` newtype, and hiding the passwords inside URLs.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// What stands in the place of hidden text.
pub const MASK: &str = "***";

/// The name under which a [`Secret`] serializes, so that the settings loader can tell it from plain text.
pub(crate) const SECRET_TYPE: &str = "puzzled::Secret";

/// A text setting such as a password. Empty means "none".
///
/// `Debug`, `Display` and `Serialize` show `***` (or nothing when it is empty); only [`Secret::expose`] gives
/// the text away. Memory is not wiped on drop: whoever reads this process's memory has the connection too.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself. Hand it to whoever authenticates, and to nobody else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn shown(&self) -> &'static str {
        if self.0.is_empty() { "" } else { MASK }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({})", self.shown())
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(SECRET_TYPE, self.shown())
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Refuses the wrong type without repeating the value, which serde's own message would do.
        struct Text;
        impl de::Visitor<'_> for Text {
            type Value = Secret;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Secret, E> {
                Ok(Secret::new(text))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Secret, E> {
                Ok(Secret(text))
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Secret, E> {
                Err(E::custom("expected text"))
            }
            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Secret, E> {
                Err(E::custom("expected text"))
            }
            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Secret, E> {
                Err(E::custom("expected text"))
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Secret, E> {
                Err(E::custom("expected text"))
            }
        }
        // Not `deserialize_string`: formats answer a wrong type themselves then, and repeat the value.
        deserializer.deserialize_any(Text)
    }
}

/// A URL that may hold a password. Empty means "none".
///
/// `Debug`, `Display` and `Serialize` show it with the password hidden (see [`redact`]); [`Url::expose`] gives it
/// whole. It is text, not parsed: whoever connects knows which schemes it speaks. For the same reason a default
/// must not hold a password: settings learn defaults by serializing them.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Url(String);

impl Url {
    /// Wraps `text`.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The URL with its password.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Unlike [`redact`] this knows that all of the text is one URL, so blanks or a forgotten scheme hide nothing
    /// less.
    fn shown(&self) -> String {
        match (self.0.split_once("://"), self.0.rsplit_once('@')) {
            (Some((scheme, rest)), _) => format!("{scheme}://{}", redact_after_scheme(rest)),
            (None, Some((_, host))) => format!("{MASK}@{host}"),
            (None, None) => self.0.clone(),
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Url({})", self.shown())
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Serialize for Url {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.shown())
    }
}

/// Hides the passwords of the URLs in `text`, and leaves everything else as it is.
///
/// `redis://user:pa55@host/0` becomes `redis://user:***@host/0`; the query values of `pass`, `password`,
/// `token` and `secret` are hidden too. A password with an unescaped `/`, `?` or `@` is hidden whole: the end of
/// the user part is taken to be the *last* `@`, which may hide too much but never too little.
///
/// ```
/// assert_eq!(puzzled_service::secret::redact("redis://:pa55@db:6379"), "redis://:***@db:6379");
/// ```
#[must_use]
pub fn redact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        shown.push_str(before);
        let end = url.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'')).unwrap_or(url.len());
        shown.push_str(&redact_after_scheme(&url[..end]));
        rest = &url[end..];
    }
    shown.push_str(rest);
    shown
}

fn redact_after_scheme(url: &str) -> String {
    let (user, tail) = match url.rsplit_once('@') {
        Some((user, tail)) => (Some(user), tail),
        None => (None, url),
    };
    let mut shown = match user.map(|user| (user, user.split_once(':'))) {
        None => String::new(),
        Some((_, Some((_, "")))) => format!("{}@", user.unwrap_or_default()),
        Some((_, Some((name, _)))) => format!("{name}:{MASK}@"),
        Some((name, None)) => format!("{name}@"),
    };
    let Some((path, query)) = tail.split_once('?') else {
        shown.push_str(tail);
        return shown;
    };
    shown.push_str(path);
    for (i, pair) in query.split('&').enumerate() {
        shown.push(if i == 0 { '?' } else { '&' });
        match pair.split_once('=') {
            Some((key @ ("pass" | "password" | "token" | "secret"), value)) if !value.is_empty() => {
                shown.push_str(key);
                shown.push('=');
                shown.push_str(MASK);
            }
            _ => shown.push_str(pair),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_passwords_are_hidden_and_nothing_else() {
        for (text, shown) in [
            ("", ""),
            ("redis://host", "redis://host"),
            ("redis://host:6379/2", "redis://host:6379/2"),
            ("redis://user@host", "redis://user@host"),
            ("redis://user:@host", "redis://user:@host"),
            ("redis://user:pw@host", "redis://user:***@host"),
            ("redis://:pw@host:1/2", "redis://:***@host:1/2"),
            ("rediss://u:p:w@h", "rediss://u:***@h"),
            ("redis://u:a/b@c?d@h/0", "redis://u:***@h/0"),
            ("unix:///run/r.sock?db=1&pass=pw&user=x", "unix:///run/r.sock?db=1&pass=***&user=x"),
            (
                "cannot reach redis://a:b@c, nor redis://d:e@f now",
                "cannot reach redis://a:***@c, nor redis://d:***@f now",
            ),
            ("é://ü:ö@ä", "é://ü:***@ä"),
        ] {
            assert_eq!(redact(text), shown, "redacting {text:?}");
        }
    }

    #[test]
    fn a_secret_prints_as_stars_everywhere() {
        let secret = Secret::new("hunter2");
        let json = serde_json::to_string(&secret).unwrap();
        assert_eq!(format!("{secret} {secret:?} {secret:#?} {json}"), "*** Secret(***) Secret(***) \"***\"");
        assert_eq!(format!("[{}]", Secret::default()), "[]");
        assert_eq!(serde_json::from_str::<Secret>("\"x\"").unwrap().expose(), "x");
    }

    #[test]
    fn a_url_prints_without_its_password_everywhere() {
        let url = Url::new("redis://u:hunter2@h");
        let json = serde_json::to_string(&url).unwrap();
        assert_eq!(
            format!("{url} {url:?} {json}"),
            "redis://u:***@h Url(redis://u:***@h) \"redis://u:***@h\""
        );
        for (text, shown) in [
            ("", ""),
            ("redis://u:pass word@h", "redis://u:***@h"),
            ("u:pw@h:6379", "***@h:6379"),
            ("h:6379", "h:6379"),
        ] {
            assert_eq!(Url::new(text).to_string(), shown, "{text:?}");
        }
        assert_eq!(serde_json::from_str::<Url>("\"redis://u:p@h\"").unwrap().expose(), "redis://u:p@h");
    }

    #[test]
    fn a_secret_of_the_wrong_type_is_refused_without_repeating_it() {
        let error = serde_json::from_str::<Secret>("8675309").unwrap_err().to_string();
        assert!(!error.contains("8675309"), "{error}");
    }
}
