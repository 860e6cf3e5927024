//! Fields of a form or a query: names with values, in order, a name as often as it was sent.

use axum::http::Uri;

/// Fields as they were sent.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    /// Reads `a=1&b=2`, percent-encoded.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self(form_urlencoded::parse(bytes).into_owned().collect())
    }

    /// Those behind the `?`.
    pub(crate) fn of_query(uri: &Uri) -> Self {
        Self::read(uri.query().unwrap_or_default().as_bytes())
    }

    /// The first value of a name; empty if it was not sent.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Every value of a name.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_be_sent_often_or_not_at_all() {
        let fields = Fields::read(b"job=a.1&of=selected&job=a.2&q=%3Cb%3E+x");
        assert_eq!(fields.all("job").collect::<Vec<_>>(), ["a.1", "a.2"]);
        assert_eq!((fields.get("q"), fields.get("nothing")), ("<b> x", ""));
    }
}
