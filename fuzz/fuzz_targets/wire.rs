//! Any bytes as a stored payload and as stored outcomes: never a panic, no more memory than the bytes justify, and what
//! is accepted reads the same when it is written again, in either encoding.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_queue::wire::{Encoding, PayloadReader, PayloadWriter, decode_result, encode_result};

fuzz_target!(|input: (u8, &[u8])| {
    let (jobs, bytes) = (u32::from(input.0), input.1);
    if let Ok(read) = PayloadReader::parse(bytes, jobs) {
        let lines: Vec<&[u8]> = read.lines().collect();
        assert!(lines.iter().map(|line| line.len() + 1).sum::<usize>() <= 2 * bytes.len());
        for encoding in Encoding::ALL {
            let mut writer = PayloadWriter::new(&read.task, encoding);
            lines.iter().for_each(|line| writer.push(|out| out.extend_from_slice(line)));
            let again = writer.take();
            let again = PayloadReader::parse(&again.bytes, again.jobs).expect("our own payload");
            assert_eq!((again.task.clone(), again.lines().collect::<Vec<_>>()), (read.task.clone(), lines.clone()));
        }
    }
    // A header has its limit, which a long name of a worker may exceed with one more field.
    if let Ok((facts, outcomes)) = decode_result(bytes)
        && facts.worker.len() < 256
    {
        let jobs = u32::try_from(outcomes.len()).expect("fewer than bytes");
        for encoding in Encoding::ALL {
            let again = encode_result(&facts, jobs, outcomes.records(0..outcomes.len()), encoding);
            assert_eq!(decode_result(&again).expect("our own outcomes"), (facts.clone(), outcomes.clone()));
        }
    }
});
