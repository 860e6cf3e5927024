//! The scale: every technique with its name and the ratings it may have.

/// A way to make progress without guessing, in the order of the scale; the last one is the guess.
///
/// The numbers are those of the Sudoku Explainer of Nicolas Juillerat (2006), version 1.2.1, which the puzzle forums
/// quote as "SE" or "ER". docs/rating.md describes each technique.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "docs/rating.md describes each")]
#[repr(u8)]
pub enum Technique {
    LastValue,
    HiddenSingle,
    DirectPointing,
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
    UniqueRectangle,
    UniqueLoop,
    NakedQuad,
    Jellyfish,
    HiddenQuad,
    Bug,
    AlignedPairExclusion,
    XCycle,
    YCycle,
    XChain,
    XyCycle,
    ForcingChain,
    AlignedTripletExclusion,
    Nishio,
    CellForcingChains,
    RegionForcingChains,
    DynamicForcingChains,
    DynamicForcingChainsPlus,
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

/// What may come on top of the base rating, in tenths.
enum Surcharge {
    /// One of these.
    Of(&'static [u8]),
    /// For the length of the chains: [`length_surcharge`].
    Length,
}

const PLAIN: Surcharge = Surcharge::Of(&[0]);

/// In the order of [`Technique`].
const SCALE: &[Row] = {
    use Technique::*;
    const fn row(technique: Technique, name: &'static str, base: u8, surcharge: Surcharge) -> Row {
        Row { technique, name, base, surcharge }
    }
    &[
        row(LastValue, "last-value", 10, PLAIN),
        // In a row or column instead of a box: 3.
        row(HiddenSingle, "hidden-single", 12, Surcharge::Of(&[0, 3])),
        row(DirectPointing, "direct-pointing", 17, PLAIN),
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
        row(UniqueRectangle, "unique-rectangle", 45, PLAIN),
        // Of 6, 8, and more cells.
        row(UniqueLoop, "unique-loop", 45, Surcharge::Of(&[1, 2, 5])),
        row(NakedQuad, "naked-quad", 50, PLAIN),
        row(Jellyfish, "jellyfish", 52, PLAIN),
        row(HiddenQuad, "hidden-quad", 54, PLAIN),
        // Types 1; 2 and 4; and 3 with a pair, .., a sextuplet.
        row(Bug, "bug", 56, Surcharge::Of(&[0, 1, 2, 3, 4, 5, 6])),
        row(AlignedPairExclusion, "aligned-pair-exclusion", 62, PLAIN),
        row(XCycle, "x-cycle", 65, Surcharge::Length),
        row(YCycle, "y-cycle", 65, Surcharge::Length),
        row(XChain, "x-chain", 66, Surcharge::Length),
        row(XyCycle, "xy-cycle", 70, Surcharge::Length),
        row(ForcingChain, "forcing-chain", 70, Surcharge::Length),
        row(AlignedTripletExclusion, "aligned-triplet-exclusion", 75, PLAIN),
        row(Nishio, "nishio", 75, Surcharge::Length),
        row(CellForcingChains, "cell-forcing-chains", 80, Surcharge::Length),
        row(RegionForcingChains, "region-forcing-chains", 80, Surcharge::Length),
        row(DynamicForcingChains, "dynamic-forcing-chains", 85, Surcharge::Length),
        row(DynamicForcingChainsPlus, "dynamic-forcing-chains-plus", 90, Surcharge::Length),
        // Where nested forcing chains begin; how far they would go is not looked into.
        row(Trial, "trial", 95, Surcharge::Length),
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
        tenths.checked_sub(row.base).is_some_and(|added| match row.surcharge {
            Surcharge::Of(choices) => choices.contains(&added),
            Surcharge::Length => added <= length_surcharge(NODES_MAX),
        })
    }

    fn row(self) -> &'static Row {
        &SCALE[self as usize]
    }
}

/// More than any set of chains has: nine of them, each with every candidate both on and off, and the start of each.
const NODES_MAX: usize = 9 * (2 * 729 + 1);

/// What the length of chains adds to a rating, in tenths: nothing up to 6 nodes, then one for each of the thresholds
/// 6, 8, 10, 14, 18, 26, 34, 50, .. passed. A node is a candidate taken to be true, or to be false.
pub(super) fn length_surcharge(nodes: usize) -> u8 {
    let (mut added, mut even, mut odd) = (0, 4, 6);
    while nodes > even + 2 {
        added += 1;
        (even, odd) = (odd, even * 2);
    }
    added
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
        assert!(Technique::all().all(|technique| technique.base() <= Technique::Trial.base()));
        assert_eq!(Technique::parse("X-Wing"), None);
    }

    #[test]
    fn longer_chains_rate_higher() {
        let thresholds: Vec<_> =
            (1..2000).filter(|&nodes| length_surcharge(nodes + 1) > length_surcharge(nodes)).collect();
        assert_eq!(
            thresholds,
            [6, 8, 10, 14, 18, 26, 34, 50, 66, 98, 130, 194, 258, 386, 514, 770, 1026, 1538]
        );
        assert_eq!(length_surcharge(0), 0);
    }

    #[test]
    fn ratings_belong_to_techniques() {
        assert!(Technique::HiddenSingle.may_rate(12) && Technique::HiddenSingle.may_rate(15));
        assert!(!Technique::HiddenSingle.may_rate(13) && !Technique::HiddenSingle.may_rate(11));
        assert!(Technique::ForcingChain.may_rate(72) && !Technique::ForcingChain.may_rate(69));
        assert!(!Technique::ForcingChain.may_rate(120));
        assert!(Technique::Trial.may_rate(96) && !Technique::Trial.may_rate(94));
    }
}
