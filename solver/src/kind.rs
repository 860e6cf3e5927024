//! The table of kinds: which there are, and which folder serves each.

use crate::task::Door;

/// Builds [`Kind`] from one line per kind, so that the enum, its lists and its doors cannot drift apart.
macro_rules! kinds {
    (
        public { $($(#[$public_doc:meta])* $public:ident => $public_door:path,)* }
        hidden { $($(#[$hidden_doc:meta])* $hidden:ident => $hidden_door:path,)* }
    ) => {
        /// What sort of puzzle: picks the engine, the stream and the metrics label.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Kind {
            $($(#[$public_doc])* $public,)*
            $($(#[$hidden_doc])* $hidden,)*
        }

        impl Kind {
            /// Every kind, also the hidden ones.
            pub const ALL: [Kind; Self::COUNT] = [$(Kind::$public,)* $(Kind::$hidden,)*];
            /// The kinds that help texts list and a worker serves unless told otherwise.
            pub const PUBLIC: &'static [Kind] = &[$(Kind::$public,)*];
            const COUNT: usize = [$(stringify!($public),)* $(stringify!($hidden),)*].len();

            /// What the kind's folder offers.
            pub(crate) fn door(self) -> &'static Door {
                match self {
                    $(Kind::$public => &$public_door,)*
                    $(Kind::$hidden => &$hidden_door,)*
                }
            }
        }
    };
}

kinds! {
    public {
        /// Sudoku boards of 4x4, 9x9, 16x16 and 25x25 cells.
        Sudoku => crate::sudoku::DOOR,
        /// The 8-puzzle.
        Slide => crate::slide::DOOR,
    }
    hidden {
        /// Passes every puzzle through as its own answer, to measure the road without the engine.
        Echo => crate::echo::DOOR,
    }
}

impl Kind {
    /// The name in task texts, keys and metrics labels.
    pub fn name(self) -> &'static str {
        self.door().name
    }

    /// The kind of that name.
    pub fn parse(name: &str) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A puzzle to try, in canonical text for the task that is guessed of it: the same for the same number, as a rule another
    /// for another. It has a solution.
    pub fn random(self, number: u64) -> String {
        (self.door().random)(number)
    }

    /// Whether the kind is one of [`Kind::PUBLIC`].
    pub fn is_public(self) -> bool {
        Self::PUBLIC.contains(&self)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_puzzles_differ_and_have_a_solution() {
        for kind in Kind::PUBLIC {
            let dice = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let puzzles: Vec<String> = (0..50).map(|number| kind.random(dice(number))).collect();
            let mut distinct = puzzles.clone();
            distinct.sort();
            distinct.dedup();
            assert!(distinct.len() >= 45, "{kind}: {} distinct", distinct.len());
            let task = crate::Task::guess(puzzles[0].as_bytes()).unwrap();
            assert_eq!(task.kind(), *kind);
            let lines: Vec<&[u8]> = puzzles.iter().map(|puzzle| puzzle.as_bytes()).collect();
            let mut outcomes = crate::Outcomes::new();
            task.engine().solve(&lines, &crate::Budget::unlimited(), &mut outcomes);
            assert!(outcomes.iter().all(|outcome| outcome.kind == crate::OutcomeKind::Solved), "{kind}");
            assert_eq!(puzzles[7], kind.random(dice(7)));
        }
    }

    #[test]
    fn names_lead_back_to_their_kind() {
        for kind in Kind::ALL {
            assert_eq!(Kind::parse(kind.name()), Some(kind));
        }
        assert_eq!(Kind::parse("Sudoku"), None);
        assert_eq!(Kind::PUBLIC, [Kind::Sudoku, Kind::Slide]);
    }
}
