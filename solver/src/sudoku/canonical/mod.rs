//! Boards that are the same but for symmetry: so far the classes of complete bands.

mod band;

pub use band::{BAND_CLASSES, band_class};
