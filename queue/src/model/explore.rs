//! Every state that a world can get into, once.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::world::{State, Step, World};

/// What was found.
pub(super) struct Explored {
    /// Different states.
    pub(super) states: usize,
    /// Steps that lead from one to another.
    pub(super) steps: usize,
    /// The first thing that went wrong, and how to get there in the fewest steps.
    pub(super) fault: Option<String>,
}

/// Explores breadth first, so that the way to a fault is a shortest one.
pub(super) fn explore(world: &World) -> Explored {
    let start = world.start();
    let mut seen = HashMap::from([(name(&start), 0_u32)]);
    let mut came: Vec<(u32, Step)> = vec![(0, Step::Open)];
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut clean = vec![world.is_clean(&start)];
    let mut queue = VecDeque::from([(0_u32, start)]);
    while let Some((from, state)) = queue.pop_front() {
        for step in world.steps(&state) {
            let next = match world.take(&state, step) {
                Ok(next) => next,
                Err(fault) => {
                    let way = way(world, &came, from, Some(step));
                    return Explored {
                        states: seen.len(),
                        steps: edges.len(),
                        fault: Some(format!("{fault}\n{way}")),
                    };
                }
            };
            let fresh = seen.len() as u32;
            let to = *seen.entry(name(&next)).or_insert(fresh);
            if to == fresh {
                came.push((from, step));
                clean.push(world.is_clean(&next));
                queue.push_back((fresh, next));
            }
            if to != from {
                edges.push((from, to));
            }
        }
    }
    let fault = stuck(&edges, &clean).map(|state| {
        format!(
            "from here it cannot end any more, or not without leaving something behind\n{}",
            way(world, &came, state, None)
        )
    });
    Explored { states: seen.len(), steps: edges.len(), fault }
}

/// 128 bits stand for a state: that two of a million share them is less likely than a fault of this machine.
fn name(state: &State) -> (u64, u64) {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        hasher.finish()
    };
    (half(0), half(1))
}

/// A state from which no clean end can be reached, if there is one: the first that was found.
fn stuck(edges: &[(u32, u32)], clean: &[bool]) -> Option<u32> {
    let mut back: Vec<Vec<u32>> = vec![Vec::new(); clean.len()];
    for &(from, to) in edges {
        back[to as usize].push(from);
    }
    let mut can_end = clean.to_vec();
    let mut queue: Vec<u32> = (0..).zip(clean).filter(|(_, clean)| **clean).map(|(state, _)| state).collect();
    while let Some(state) = queue.pop() {
        for &from in &back[state as usize] {
            if !std::mem::replace(&mut can_end[from as usize], true) {
                queue.push(from);
            }
        }
    }
    can_end.iter().position(|can_end| !can_end).map(|state| state as u32)
}

/// How the world got into a state, and what it looks like there.
fn way(world: &World, came: &[(u32, Step)], mut state: u32, last: Option<Step>) -> String {
    let mut steps: Vec<Step> = last.into_iter().collect();
    while state != 0 {
        let (from, step) = came[state as usize];
        steps.push(step);
        state = from;
    }
    steps.reverse();
    let mut here = world.start();
    let mut text = String::new();
    for step in steps {
        text += &format!("{step:?}\n");
        match world.take(&here, step) {
            Ok(next) => here = next,
            Err(_) => text += "before that last step:\n",
        }
    }
    text + &world.describe(&here)
}
