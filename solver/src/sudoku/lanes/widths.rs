//! Which widths there are, and the one place that starts code for an instruction set after looking for it.

#![allow(unsafe_code, reason = "code for an instruction set is unsafe to start")]

use super::Work;
#[cfg(target_arch = "aarch64")]
use super::neon::Neon;
use super::search::{Job, Search};
use super::vector::Plain;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512, Sse41};

/// A kind of vector; decides how many boards go side by side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Width {
    /// 32 lanes: AVX-512 F, BW, VL.
    Avx512,
    /// 16 lanes: AVX2.
    Avx2,
    /// 8 lanes: SSE4.1.
    Sse41,
    /// 8 lanes: NEON, on 64-bit ARM.
    Neon,
    /// 16 lanes in a plain array, for every processor.
    Plain,
}

impl Width {
    /// What this processor can do, widest first.
    pub fn available() -> Vec<Width> {
        let mut widths = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            let common = is_x86_feature_detected!("popcnt")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt");
            if common
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
            {
                widths.push(Width::Avx512);
            }
            if common && is_x86_feature_detected!("avx2") {
                widths.push(Width::Avx2);
            }
            if is_x86_feature_detected!("sse4.1") {
                widths.push(Width::Sse41);
            }
        }
        if cfg!(target_arch = "aarch64") {
            widths.push(Width::Neon);
        }
        widths.push(Width::Plain);
        widths
    }
}

/// A search of one width behind a door that all widths share.
pub(super) trait Engine: Send {
    fn run(&mut self, job: &mut Job<'_>);
    fn work(&self) -> Work;
}

/// Makes an engine of an available width.
pub(super) fn engine(width: Width) -> Box<dyn Engine> {
    match width {
        #[cfg(target_arch = "x86_64")]
        Width::Avx512 => avx512::engine(),
        #[cfg(target_arch = "x86_64")]
        Width::Avx2 => avx2::engine(),
        #[cfg(target_arch = "x86_64")]
        Width::Sse41 => sse41::engine(),
        #[cfg(target_arch = "aarch64")]
        Width::Neon => neon::engine(),
        _ => plain::engine(),
    }
}

macro_rules! width {
    ($module:ident, $lanes:ty $(, $features:literal)?) => {
        mod $module {
            use super::*;

            pub(super) fn engine() -> Box<dyn Engine> {
                // SAFETY: the caller asks only for a width that `Width::available` found on this processor.
                #[allow(unused_unsafe, reason = "plain arrays need no features")]
                Box::new(unsafe { new() })
            }

            $(#[target_feature(enable = $features)])?
            fn new() -> Search<$lanes> {
                Search::new()
            }

            $(#[target_feature(enable = $features)])?
            fn run(search: &mut Search<$lanes>, job: &mut Job<'_>) {
                search.run(job);
            }

            impl Engine for Search<$lanes> {
                fn run(&mut self, job: &mut Job<'_>) {
                    // SAFETY: `engine` made this search, so the processor has the features.
                    #[allow(unused_unsafe, reason = "plain arrays need no features")]
                    unsafe {
                        run(self, job);
                    }
                }

                fn work(&self) -> Work {
                    self.work
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
width!(avx512, Avx512, "avx512f,avx512bw,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
width!(avx2, Avx2, "avx2,bmi1,bmi2,lzcnt,popcnt");
#[cfg(target_arch = "x86_64")]
width!(sse41, Sse41, "sse4.1");
#[cfg(target_arch = "aarch64")]
width!(neon, Neon);
width!(plain, Plain<16>);
