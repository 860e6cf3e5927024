//! Pencil marks: any nine bits a cell, with any bytes put among their text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use puzzled_solver::Task;
use puzzled_solver::sudoku::Candidates;

fuzz_target!(|input: (Vec<u16>, Vec<(u16, u8)>)| {
    let (masks, changes) = input;
    let masks = std::array::from_fn(|cell| masks.get(cell).copied().unwrap_or(0) & Candidates::ANY);
    let candidates = Candidates::from_masks(masks).expect("nine bits a cell");
    let mut text = Vec::new();
    candidates.write(&mut text);
    assert_eq!(Candidates::from_line(&text), Some(candidates));
    for (place, byte) in changes {
        text.insert(usize::from(place) % (text.len() + 1), byte);
    }
    let task: Task = "sudoku.solve".parse().expect("a task of the table");
    let mut out = Vec::new();
    match (Candidates::parse(&text), task.canonical(&text, &mut out)) {
        (Ok(read), Ok(())) => assert_eq!(Candidates::from_line(&out), Some(read)),
        (Ok(_), Err(error)) => panic!("{error}"),
        (Err(error), _) => assert!((1..=text.len() + 1).contains(&error.column())),
    }
});
