//! The scale: every technique with its name and the ratings it may have.

/// A way to make progress without guessing, in the order of the scale; the last one is the guess.
///
/// The numbers are those of the Sudoku Explainer of Nicolas Juillerat (2006), version 1.2.1, which the puzzle forums
/// quote as "SE" or "ER".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "their names are the field's")]
#[repr(u8)]
pub enum Technique {
    LastValue,
    HiddenSingle,
    DirectPointing,
    DirectClaiming,
    DirectHiddenPair,
    NakedSingle,
    DirectHiddenTriplet,
    Pointing,
    Claiming,
    NakedPair,
    XWing,
    HiddenPair,
    NakedTriplet,
    Swordfish,
    HiddenTriplet,
    XyWing,
    XyzWing,
    NakedQuad,
    Jellyfish,
    HiddenQuad,
    Trial,
}

/// What the scale says about one technique.
struct Row {
    technique: Technique,
    name: &'static str,
    /// The rating without any surcharge, in tenths.
    base: u8,
    surcharge: Surcharge,
}

/// What may come on top of the base rating, in tenths: one of these.
type Surcharge = &'static [u8];

const PLAIN: Surcharge = &[0];

/// In the order of [`Technique`].
const SCALE: &[Row] = {
    use Technique::*;
    const fn row(technique: Technique, name: &'static str, base: u8, surcharge: Surcharge) -> Row {
        Row { technique, name, base, surcharge }
    }
    &[
        row(LastValue, "last-value", 10, PLAIN),
        // In a row or column instead of a box: 3.
        row(HiddenSingle, "hidden-single", 12, &[0, 3]),
        row(DirectPointing, "direct-pointing", 17, PLAIN),
        row(DirectClaiming, "direct-claiming", 19, PLAIN),
        row(DirectHiddenPair, "direct-hidden-pair", 20, PLAIN),
        row(NakedSingle, "naked-single", 23, PLAIN),
        row(DirectHiddenTriplet, "direct-hidden-triplet", 25, PLAIN),
        row(Pointing, "pointing", 26, PLAIN),
        row(Claiming, "claiming", 28, PLAIN),
        row(NakedPair, "naked-pair", 30, PLAIN),
        row(XWing, "x-wing", 32, PLAIN),
        row(HiddenPair, "hidden-pair", 34, PLAIN),
        row(NakedTriplet, "naked-triplet", 36, PLAIN),
        row(Swordfish, "swordfish", 38, PLAIN),
        row(HiddenTriplet, "hidden-triplet", 40, PLAIN),
        row(XyWing, "xy-wing", 42, PLAIN),
        row(XyzWing, "xyz-wing", 44, PLAIN),
        row(NakedQuad, "naked-quad", 50, PLAIN),
        row(Jellyfish, "jellyfish", 52, PLAIN),
        row(HiddenQuad, "hidden-quad", 54, PLAIN),
        // Harder than wings; how much is not looked into.
        row(Trial, "trial", 45, PLAIN),
    ]
};

impl Technique {
    /// Every technique, in the order of the scale.
    pub fn all() -> impl Iterator<Item = Technique> {
        SCALE.iter().map(|row| row.technique)
    }

    /// The name in outcomes: small letters and hyphens.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The technique of that name.
    pub fn parse(name: &str) -> Option<Technique> {
        SCALE.iter().find(|row| row.name == name).map(|row| row.technique)
    }

    /// The lowest rating a step of this kind may have, in tenths; for [`Technique::Trial`] what is then known of the
    /// puzzle: it is at least that hard.
    pub fn base(self) -> u8 {
        self.row().base
    }

    /// Whether a step of this kind may have this rating, in tenths.
    pub fn may_rate(self, tenths: u8) -> bool {
        let row = self.row();
        tenths.checked_sub(row.base).is_some_and(|added| row.surcharge.contains(&added))
    }

    fn row(self) -> &'static Row {
        &SCALE[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_their_places() {
        for (place, technique) in Technique::all().enumerate() {
            assert_eq!(technique as usize, place);
            assert_eq!(Technique::parse(technique.name()), Some(technique));
        }
        assert_eq!(Technique::all().last(), Some(Technique::Trial));
        assert_eq!(Technique::parse("X-Wing"), None);
    }

    #[test]
    fn ratings_belong_to_techniques() {
        assert!(Technique::HiddenSingle.may_rate(12) && Technique::HiddenSingle.may_rate(15));
        assert!(!Technique::HiddenSingle.may_rate(13) && !Technique::HiddenSingle.may_rate(11));
        assert!(!Technique::Trial.may_rate(46));
    }
}
