//! The wire format, held fixed byte by byte: a change here is a new version.

use puzzled_queue::wire::{Encoding, PayloadReader, PayloadWriter, Solved, decode_result, encode_result};
use puzzled_queue::{Digest, Error};
use puzzled_solver::{OutcomeKind, Outcomes, Task};

const PAYLOAD: &[u8] = include_bytes!("golden/payload-1.txt");
const RESULT: &[u8] = include_bytes!("golden/result-1.txt");
const PACKED_PAYLOAD: &[u8] = include_bytes!("golden/payload-2.bin");
const PACKED_RESULT: &[u8] = include_bytes!("golden/result-2.bin");

const PUZZLE: &[u8] = b"53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79";
const ANSWER: &[u8] = b"534678912672195348198342567859761423426853791713924856961537284287419635345286179";

fn task() -> Task {
    "sudoku.count:limit=7".parse().unwrap()
}

fn outcomes() -> Outcomes {
    let mut outcomes = Outcomes::new();
    outcomes.push(OutcomeKind::Solved, b"1");
    outcomes.push(OutcomeKind::NoSolution, b"");
    outcomes.push(OutcomeKind::Multiple, b"12");
    outcomes.push(OutcomeKind::Invalid, b"column 3: expected 1-9");
    outcomes.push(OutcomeKind::TimedOut, b"");
    outcomes.push(OutcomeKind::Cancelled, b"");
    outcomes.push(OutcomeKind::Failed, b"the solver panicked: x");
    outcomes
}

fn facts() -> Solved {
    Solved { first: 1024, worker: "host-1-00c0ffee".to_owned(), wait_us: 1830, solve_us: 2210 }
}

/// Anybody's XXH3 makes the same of the same lines, however they are encoded.
#[test]
fn digest() {
    let mut texts = Vec::new();
    for encoding in [Encoding::Text, Encoding::Packed] {
        let mut writer = PayloadWriter::new(&task(), encoding);
        let payloads = [20, 1].map(|jobs| {
            (0..jobs).for_each(|_| writer.push(|out| out.extend_from_slice(&[b'.'; 81])));
            writer.take()
        });
        let digests = payloads.iter().scan(Digest::default(), |digest, payload| {
            *digest = digest.then(payload);
            Some(digest.to_string())
        });
        texts.push(digests.collect::<Vec<_>>());
    }
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], ["b469de4b110fd338a9053db2fe73544c", "5c40811c56d367f548485270b5d1eb38"]);
    let read: Digest = texts[0][1].parse().unwrap();
    assert_eq!(read.to_string(), texts[0][1]);
    assert!("12".parse::<Digest>().is_err() && "z".repeat(32).parse::<Digest>().is_err());
}

#[test]
fn payload() {
    // Too short to be packed.
    for encoding in [Encoding::Text, Encoding::Packed] {
        let mut writer = PayloadWriter::new(&task(), encoding);
        writer.push(|out| out.extend_from_slice(b"53..7...."));
        writer.push(|out| out.extend_from_slice(b"!column 3: expected 1-9"));
        writer.push(|_| {});
        assert_eq!(writer.jobs(), 3);
        let written = writer.take();
        assert_eq!(written.jobs, 3);
        assert_eq!(written.bytes.escape_ascii().to_string(), PAYLOAD.escape_ascii().to_string());
        // The writer begins anew.
        assert_eq!(writer.jobs(), 0);
        assert_eq!(&writer.take().bytes[..], b"P1 sudoku.count:limit=7 0\n");
    }
    let read = PayloadReader::parse(PAYLOAD, 3).unwrap();
    assert_eq!((&read.task, read.encoding), (&task(), Encoding::Text));
    let lines = [&b"53..7...."[..], b"!column 3: expected 1-9", b""];
    assert_eq!(read.lines().collect::<Vec<_>>(), lines);
    assert_eq!([0, 1, 2].map(|i| read.line(i).unwrap()), lines);
    assert_eq!(read.line(3), None);
}

#[test]
fn result() {
    let (facts, outcomes) = (facts(), outcomes());
    for encoding in [Encoding::Text, Encoding::Packed] {
        let written = encode_result(&facts, 7, outcomes.records(0..7), encoding);
        assert_eq!(written.escape_ascii().to_string(), RESULT.escape_ascii().to_string());
    }
    let (read, stored) = decode_result(RESULT).unwrap();
    assert_eq!(read, facts);
    assert_eq!(stored.records(0..7), outcomes.records(0..7));
}

#[test]
fn packed_payload() {
    let lines = [PUZZLE, PUZZLE, PUZZLE, b"!column 3: expected 1-9", PUZZLE, PUZZLE, PUZZLE, PUZZLE, b""];
    let mut writer = PayloadWriter::new(&"sudoku.solve".parse().unwrap(), Encoding::Packed);
    for line in lines {
        writer.push(|out| out.extend_from_slice(line));
    }
    let written = writer.take();
    assert_eq!(written.bytes.escape_ascii().to_string(), PACKED_PAYLOAD.escape_ascii().to_string());
    let read = PayloadReader::parse(PACKED_PAYLOAD, 9).unwrap();
    assert_eq!((read.task.to_string().as_str(), read.encoding), ("sudoku.solve", Encoding::Packed));
    assert_eq!(read.lines().collect::<Vec<_>>(), lines);
}

#[test]
fn packed_result() {
    let mut outcomes = Outcomes::new();
    (0..3).for_each(|_| outcomes.push(OutcomeKind::Solved, ANSWER));
    outcomes.push(OutcomeKind::Invalid, b"column 3: expected 1-9");
    (0..3).for_each(|_| outcomes.push(OutcomeKind::Solved, ANSWER));
    outcomes.push(OutcomeKind::NoSolution, b"");
    outcomes.push(OutcomeKind::Multiple, ANSWER);
    let written = encode_result(&facts(), 9, outcomes.records(0..9), Encoding::Packed);
    assert_eq!(written.escape_ascii().to_string(), PACKED_RESULT.escape_ascii().to_string());
    let (read, stored) = decode_result(PACKED_RESULT).unwrap();
    assert_eq!((read, stored), (facts(), outcomes));
}

#[test]
fn a_packed_text_that_is_damaged_is_refused() {
    assert!(PayloadReader::parse(PACKED_PAYLOAD, 8).is_err());
    for end in 0..PACKED_PAYLOAD.len() {
        assert!(PayloadReader::parse(&PACKED_PAYLOAD[..end], 9).is_err(), "{end}");
    }
    for end in 0..PACKED_RESULT.len() {
        assert!(decode_result(&PACKED_RESULT[..end]).is_err(), "{end}");
    }
    for bad in [
        &b"P2 echo 2\n\x1b\x2b"[..],
        b"P2 echo 2 \n\x1b\x2b",
        b"P2 echo 2 x\n\x1b\x2b",
        b"P2 echo 2 1\n\x1b\x2b",
        b"P2 echo 2 18446744073709551615\na\n\xfb\x2b",
        b"P2 echo 2 0\n\x1b\xfb",
        b"P2 echo 2 0 0\n\x1b\x2b",
        b"P2 echo 2 0\n\x1b\x21",
    ] {
        let refused = PayloadReader::parse(bad, 2).err();
        assert!(matches!(refused, Some(Error::Malformed(_))), "{}: {refused:?}", bad.escape_ascii());
    }
    let long = [&b"P2 echo 1 0\n"[..], &[0x11; 513], b"\xbf"].concat();
    assert!(matches!(PayloadReader::parse(&long, 1), Err(Error::Malformed(_))));
    assert!(decode_result(b"R2 0 18446744073709551615 w 1 1 0\n\xd1\xbf").is_err());
}

#[test]
fn whatever_is_not_exactly_this_is_refused() {
    let refused = |bytes: &[u8]| PayloadReader::parse(bytes, 2).err();
    for bad in [
        &b""[..],
        b"P1",
        b"\n",
        b"P1 echo 2",
        b"P1 echo 2\na\n",
        b"P1 echo 2\na\nb",
        b"P1 echo 2\na\nb\nc\n",
        b"P1 echo 3\na\nb\n",
        b"P1 echo\na\nb\n",
        b"P1  echo 2\na\nb\n",
        b"P1 echo -2\na\nb\n",
        b"hello 1 2\na\nb\n",
        b"\xff\xfe echo 2\na\nb\n",
        b"R1 0 2 w 1 1\n=a\n=b\n",
    ] {
        assert!(
            matches!(refused(bad), Some(Error::Malformed(_))),
            "{}: {:?}",
            bad.escape_ascii(),
            refused(bad)
        );
    }
    assert!(
        matches!(refused(b"P3 echo 2\na\nb\n"), Some(Error::UnknownVersion { found, known: "1 and 2" }) if found == "P3")
    );
    assert!(matches!(refused(b"P1 sudoku.dance 2\na\nb\n"), Some(Error::UnknownTask(_))));
    let mut long = b"P1 echo 2\na\n".to_vec();
    long.extend(std::iter::repeat_n(b'x', 1025));
    long.push(b'\n');
    assert!(matches!(refused(&long), Some(Error::Malformed(_))));
    for bad in
        [&b""[..], b"R1 0 1 w 1\n=a\n", b"R1 0 2 w 1 1\n=a\n", b"R1 x 1 w 1 1\n=a\n", b"R1 0 1 w 1 1\n?a\n"]
    {
        assert!(matches!(decode_result(bad).err(), Some(Error::Malformed(_))), "{}", bad.escape_ascii());
    }
    assert!(matches!(decode_result(b"R3 0 1 w 1 1\n=a\n").err(), Some(Error::UnknownVersion { .. })));
    // A length that would need all memory is refused before any is taken.
    assert!(decode_result(b"R1 0 18446744073709551615 w 1 1\n=a\n").is_err());
}

#[test]
fn lines_of_any_lengths_are_cut_where_they_end() {
    for lines in [vec!["", "", ""], vec!["a", "bb", "a"], vec!["aaa", "", "aaa", "aaaa", "b"], vec!["abc"; 9]]
    {
        let mut writer = PayloadWriter::new(&"echo".parse().unwrap(), Encoding::Packed);
        for line in &lines {
            writer.push(|out| out.extend_from_slice(line.as_bytes()));
        }
        let written = writer.take();
        let read = PayloadReader::parse(&written.bytes, written.jobs).unwrap();
        let expected: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(read.lines().collect::<Vec<_>>(), expected);
    }
}
