//! Trying a puzzle: paste one, see it solved.

use askama::Template;
use puzzled_queue::JobState;
use puzzled_solver::{Kind, OutcomeRef, Task};

use crate::pages::{Chrome, Scene, TEXT_CHARS, look_of};
use crate::text;
use crate::trial::{self, TriedPuzzle};
use crate::view::View;

#[derive(Template)]
#[template(path = "try.html", blocks = ["live"])]
pub(super) struct TryPage {
    chrome: Chrome,
    puzzle: String,
    task: String,
    tasks: Vec<String>,
    kinds: Vec<&'static str>,
    problem: String,
    tried: Option<TriedView>,
}

struct TriedView {
    batch: String,
    puzzle: String,
    is_done: bool,
    answer: String,
    class: &'static str,
    outcome: &'static str,
    facts: Vec<(&'static str, String)>,
}

impl TryPage {
    pub(super) fn of(scene: &Scene<'_>, state: Option<&JobState>) -> Self {
        let View::Try { job, puzzle, task } = scene.view else { unreachable!("{:?} is no try", scene.view) };
        let tried = scene.tried.as_ref();
        let problem = if puzzle.is_empty() { None } else { trial::read(puzzle, task).err() };
        Self {
            chrome: scene.chrome("Try it"),
            puzzle: tried.map_or(puzzle, |tried| &tried.puzzle).clone(),
            task: tried.map_or(task, |tried| &tried.asked).clone(),
            tasks: Task::table().map(|info| info.task.name()).collect(),
            kinds: Kind::PUBLIC.iter().map(|kind| kind.name()).collect(),
            problem: text::clip(&problem.unwrap_or_default(), TEXT_CHARS),
            tried: state.zip(*job).map(|(state, job)| TriedView::of(&job.batch.to_string(), state, tried)),
        }
    }
}

impl TriedView {
    fn of(batch: &str, state: &JobState, tried: Option<&TriedPuzzle>) -> Self {
        let mut view = Self {
            batch: batch.to_owned(),
            puzzle: tried.map(|tried| text::clip(&tried.puzzle, TEXT_CHARS)).unwrap_or_default(),
            is_done: false,
            answer: String::new(),
            class: "",
            outcome: "",
            facts: Vec::new(),
        };
        match state {
            JobState::Waiting => view.answer = "It waits for a worker.".to_owned(),
            JobState::Running => view.answer = "A worker has it.".to_owned(),
            JobState::Collected => view.answer = "Its outcome was taken away.".to_owned(),
            JobState::Recorded { kind, text: answer, facts } => {
                let mut line = Vec::new();
                OutcomeRef { kind: *kind, text: answer }.write_text(&mut line);
                view.is_done = true;
                view.answer = text::clip(&String::from_utf8_lossy(&line), TEXT_CHARS);
                if view.answer.is_empty() {
                    view.answer = "(nothing to do)".to_owned();
                }
                (view.class, view.outcome) = look_of(*kind);
                if let Some(tried) = tried {
                    view.facts.push(("Task", tried.task.clone()));
                }
                if let Some(facts) = facts {
                    view.facts.push(("Solved in", text::micros(facts.solve_us)));
                    view.facts.push(("Waited", text::micros(facts.wait_us)));
                }
                if let Some(total_us) = tried.and_then(|tried| tried.total_us) {
                    view.facts.push(("There and back", text::micros(total_us)));
                }
                if let Some(facts) = facts {
                    view.facts.push(("Worker", text::clip(&facts.worker, 80)));
                }
            }
        }
        view
    }
}
