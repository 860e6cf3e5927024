//! Any text as an id or a name of the queue: what is read is shown in a form that reads back as the same.
#![no_main]

use std::fmt::{Debug, Display};
use std::str::FromStr;

use libfuzzer_sys::fuzz_target;
use puzzled_queue::{BatchId, EntryId, JobId, Priority};

fn reads_back<T: FromStr<Err: Debug> + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        assert_eq!(value.to_string().parse::<T>().expect("our own text"), value);
    }
}

fuzz_target!(|text: &str| {
    reads_back::<BatchId>(text);
    reads_back::<JobId>(text);
    reads_back::<EntryId>(text);
    reads_back::<Priority>(text);
});
