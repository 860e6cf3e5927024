//! The wire format, held fixed byte by byte: a change here is a new version.

use puzzled_queue::Error;
use puzzled_queue::wire::{PayloadReader, PayloadWriter, Solved, decode_result, encode_result};
use puzzled_solver::{OutcomeKind, Outcomes, Task};

const PAYLOAD: &[u8] = include_bytes!("golden/payload-1.txt");
const RESULT: &[u8] = include_bytes!("golden/result-1.txt");

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

#[test]
fn payload() {
    let mut writer = PayloadWriter::new(&task());
    writer.push(|out| out.extend_from_slice(b"53..7...."));
    writer.push(|out| out.extend_from_slice(b"!column 3: expected 1-9"));
    writer.push(|_| {});
    assert_eq!(writer.jobs(), 3);
    let written = writer.take();
    assert_eq!(written.jobs, 3);
    assert_eq!(written.bytes.escape_ascii().to_string(), PAYLOAD.escape_ascii().to_string());
    let read = PayloadReader::parse(PAYLOAD, 3).unwrap();
    assert_eq!(read.task, task());
    assert_eq!(read.lines, [&b"53..7...."[..], b"!column 3: expected 1-9", b""]);
    // The writer begins anew.
    assert_eq!(writer.jobs(), 0);
    assert_eq!(&writer.take().bytes[..], b"P1 sudoku.count:limit=7 0\n");
}

#[test]
fn result() {
    let facts = Solved { first: 1024, worker: "host-1-00c0ffee".to_owned(), wait_us: 1830, solve_us: 2210 };
    let outcomes = outcomes();
    let written = encode_result(&facts, 7, outcomes.records(0..7));
    assert_eq!(written.escape_ascii().to_string(), RESULT.escape_ascii().to_string());
    let (read, stored) = decode_result(RESULT).unwrap();
    assert_eq!(read, facts);
    assert_eq!(stored.records(0..7), outcomes.records(0..7));
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
        matches!(refused(b"P2 echo 2\na\nb\n"), Some(Error::UnknownVersion { found, known: "P1" }) if found == "P2")
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
    assert!(matches!(decode_result(b"R2 0 1 w 1 1\n=a\n").err(), Some(Error::UnknownVersion { .. })));
    // A length that would need all memory is refused before any is taken.
    assert!(decode_result(b"R1 0 18446744073709551615 w 1 1\n=a\n").is_err());
}

#[test]
fn lines_of_any_lengths_are_cut_where_they_end() {
    for lines in [vec!["", "", ""], vec!["a", "bb", "a"], vec!["aaa", "", "aaa", "aaaa", "b"], vec!["abc"; 9]]
    {
        let mut writer = PayloadWriter::new(&"echo".parse().unwrap());
        for line in &lines {
            writer.push(|out| out.extend_from_slice(line.as_bytes()));
        }
        let written = writer.take();
        let read = PayloadReader::parse(&written.bytes, written.jobs).unwrap();
        let expected: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
        assert_eq!(read.lines, expected);
    }
}
