//! What stands around every page: where one is, what must be known, whether one may act.

use std::fmt;

use askama::filters::HtmlSafe;
use puzzled_queue::{Finding, Verdict};
use puzzled_service::metrics::VERSION;

use crate::access::{FORM_FIELD, Permit};
use crate::feed::{BATCHES_MAX, Frame};
use crate::pages::{CELL_CHARS, Style, TEXT_CHARS};
use crate::snapshot::Batch;
use crate::text;
use crate::view::View;

/// The frame of a page.
pub(crate) struct Chrome {
    pub(crate) title: String,
    /// The way up to `/`, so that all works below a path of a proxy's choice.
    pub(crate) root: &'static str,
    pub(crate) style: Style,
    pub(crate) version: &'static str,
    pub(crate) secret: String,
    pub(crate) secret_field: &'static str,
    pub(crate) server: String,
    pub(crate) stale: String,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) said: String,
    /// Whether the address of this page is that of a stream, too.
    pub(crate) is_live: bool,
    permit: Permit,
    current: &'static str,
    batches: String,
    workers: u64,
    dead_letters: u64,
}

/// A finding that is not good.
pub(crate) struct Warning {
    pub(crate) class: &'static str,
    pub(crate) word: &'static str,
    pub(crate) subject: &'static str,
    pub(crate) text: String,
    pub(crate) remedy: Prose,
}

/// Words with commands between backticks, as findings have them.
pub(crate) struct Prose(String);

impl Prose {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, part) in self.0.split('`').enumerate() {
            let text = askama::filters::escape(part, askama::filters::Html).map_err(|_| fmt::Error)?;
            if place % 2 == 0 { write!(f, "{text}")? } else { write!(f, "<code>{text}</code>")? }
        }
        Ok(())
    }
}

/// What is not ours is escaped above.
impl HtmlSafe for Prose {}

impl From<&Finding> for Warning {
    fn from(finding: &Finding) -> Self {
        let (class, word) = match finding.verdict {
            Verdict::Good => ("good", "ok"),
            Verdict::Warning => ("warning", "Warning"),
            Verdict::Bad => ("bad", "Bad"),
        };
        let (text, remedy) =
            (text::clip(&finding.text, TEXT_CHARS), Prose(text::clip(&finding.remedy, TEXT_CHARS)));
        Self { class, word, subject: finding.subject, text, remedy }
    }
}

/// One view in the bar.
pub(crate) struct Tab {
    pub(crate) name: &'static str,
    pub(crate) href: &'static str,
    pub(crate) badge: String,
    pub(crate) is_current: bool,
}

impl Chrome {
    pub(crate) fn new(
        title: &str,
        current: &'static str,
        root: &'static str,
        frame: &Frame,
        permit: Permit,
    ) -> Self {
        let snapshot = &frame.snapshot;
        let stale = match (&snapshot.stale, frame.read_ms) {
            (None, _) => String::new(),
            (Some(_), 0) => "The queue has not been read yet.".to_owned(),
            (Some(_), read_ms) => {
                let ago = text::span(frame.made_ms.saturating_sub(read_ms));
                format!("These are the figures of {ago} ago: the queue cannot be read.")
            }
        };
        Self {
            title: text::clip(title, CELL_CHARS),
            root,
            style: Style,
            version: VERSION,
            secret: String::new(),
            secret_field: FORM_FIELD,
            server: snapshot.server.clone(),
            stale,
            warnings: snapshot.warnings.iter().map(Warning::from).collect(),
            said: String::new(),
            is_live: false,
            permit,
            current,
            batches: going(&snapshot.batches),
            workers: snapshot.totals.workers,
            dead_letters: snapshot.dead_letters,
        }
    }

    pub(crate) fn tabs(&self) -> Vec<Tab> {
        let badge = |count: u64| if count == 0 { String::new() } else { text::count(count) };
        let tab = |name, href, badge| Tab { name, href, badge, is_current: name == self.current };
        vec![
            tab("Now", ".", String::new()),
            tab("Batches", "batches", self.batches.clone()),
            tab("Workers", "workers", badge(self.workers)),
            tab("Dead letters", "dead", badge(self.dead_letters)),
            tab("Try it", "try", String::new()),
        ]
    }

    pub(crate) fn acts(&self) -> bool {
        self.permit == Permit::Act
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.permit == Permit::Locked
    }

    /// The class of the content.
    pub(crate) fn class(&self) -> &'static str {
        if self.stale.is_empty() { "fresh" } else { "stale" }
    }

    /// What a screen reader says when it changes: rarely, so without figures that move.
    pub(crate) fn news(&self) -> String {
        match (&self.stale, self.warnings.len()) {
            (stale, _) if !stale.is_empty() => "The queue cannot be read.".to_owned(),
            (_, 0) => "No warnings.".to_owned(),
            (_, count) => format!("{}.", text::counted(count as u64, "warning", "warnings")),
        }
    }
}

/// How many of the newest batches still go; of all, if they all do, there may be more.
fn going(batches: &[Batch]) -> String {
    match batches.iter().filter(|batch| batch.is_going()).count() {
        0 => String::new(),
        count if count == batches.len() && count >= BATCHES_MAX => format!("{count}+"),
        count => count.to_string(),
    }
}

/// Tab and way up of a view.
pub(super) fn place_of(view: &View) -> (&'static str, &'static str) {
    match view {
        View::Now => ("Now", ""),
        View::Batches { .. } => ("Batches", ""),
        View::Batch(_) => ("Batches", "../"),
        View::Workers => ("Workers", ""),
        View::Dead { .. } => ("Dead letters", ""),
        View::Try { .. } => ("Try it", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_stand_out_and_nothing_of_others_gets_through() {
        let prose = Prose("start `puzzled worker` on <b>x</b>, see `a<b`".to_owned());
        let expected =
            "start <code>puzzled worker</code> on &#60;b&#62;x&#60;/b&#62;, see <code>a&#60;b</code>";
        assert_eq!(prose.to_string(), expected);
    }
}
