//! The protocol, checked exhaustively at small size.
//!
//! An explicit-state model: two workers, a producer that sends every chunk as often and in whatever order it likes, somebody
//! who cancels, a reader, a sweeper, and a server. From the empty server on, every order of their steps is tried, with
//! answers that are lost, leases that run out at any moment, and clients that die between any two commands.
//!
//! ```text
//!   explore.rs   all states, breadth first; the shortest way to a fault
//!      |
//!   world.rs     the clients: what may happen next, what must be true after it
//!      |  the very pipelines that the crate sends
//!   server.rs    as much of Redis as they use, the very scripts in a real Lua 5.1
//! ```
//!
//! Only the clients' own state is written anew here. Not modelled: trials of chunks whose worker died (trial.rs), several
//! batches, a server that forgets (tests/faults.rs does that), more than one shard.
//!
//! A checker that finds nothing proves nothing, so every guard of the scripts is removed once, and each time the fault must
//! be found.

mod explore;
mod server;
mod world;

use explore::{Explored, explore};
use world::{Scenario, Travels, World};

use crate::scripts::{
    BEGIN, CANCEL as CANCEL_BATCH, COLLECT, COMPLETE, CREATE, DROP, ENQUEUE, FORGET, SWEEP, Script,
};
use Travels::{ByItself, InItsEntry};

/// A script, a text in it, and what stands there instead.
type Removed = (&'static Script, &'static str, &'static str);

/// A chunk of either way of travelling, the second of which waits in the backlog; one of two workers may die.
const PLAIN: Scenario = Scenario {
    chunks: &[(2, ByItself), (1, InItsEntry)],
    ahead: 1,
    depth: 0,
    hold: 1,
    crashes: 1,
    rival: false,
    read: true,
    cancel: false,
    abandon: false,
    expire: false,
};
const TOGETHER: Scenario = Scenario { hold: 2, crashes: 0, ahead: 9, ..PLAIN };
const RIVAL: Scenario = Scenario { rival: true, crashes: 0, read: false, ..PLAIN };
const CANCEL: Scenario = Scenario { cancel: true, crashes: 0, ..PLAIN };
const ABANDON: Scenario = Scenario { abandon: true, crashes: 0, ..PLAIN };
const EXPIRE: Scenario = Scenario { expire: true, crashes: 0, ..PLAIN };
const UNREAD: Scenario = Scenario { read: false, crashes: 0, ..PLAIN };
const SHORT_FIRST: Scenario = Scenario { chunks: &[(2, InItsEntry), (1, ByItself)], ..UNREAD };
const THREE: Scenario = Scenario { chunks: &[(1, InItsEntry); 3], ..UNREAD };
const FULL: Scenario =
    Scenario { chunks: &[(1, ByItself), (1, ByItself), (1, InItsEntry)], ahead: 9, depth: 1, ..UNREAD };

fn explored(scenario: Scenario, removed: Option<Removed>) -> Explored {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = runtime.enter();
    explore(&World::new(scenario, removed))
}

/// The protocol as it is.
fn holds(scenario: Scenario) {
    let found = explored(scenario, None);
    println!("{} states, {} steps", found.states, found.steps);
    if let Some(fault) = found.fault {
        panic!("after {} states: {fault}", found.states);
    }
}

#[test]
fn a_worker_dies() {
    holds(PLAIN);
}

#[test]
fn chunks_are_recorded_together() {
    holds(TOGETHER);
}

#[test]
fn another_input_comes_under_the_same_id() {
    holds(RIVAL);
}

#[test]
fn somebody_cancels() {
    holds(CANCEL);
}

#[test]
fn the_producer_goes_away() {
    holds(ABANDON);
}

#[test]
fn the_retention_time_ends() {
    holds(EXPIRE);
}

#[test]
fn the_queue_is_full() {
    holds(FULL);
}

#[test]
fn three_chunks_wait_for_each_other() {
    holds(THREE);
    holds(SHORT_FIRST);
}

/// The protocol without one of its guards: the fault that it is there for must be found.
#[test]
fn no_guard_can_go() {
    let guards: &[(&str, Removed, Scenario)] = &[
        (
            "recorded twice",
            (
                &COMPLETE,
                "if redis.call('XDEL', stream, ARGV[i]) == 1 then",
                "redis.call('XDEL', stream, ARGV[i])\nif true then",
            ),
            PLAIN,
        ),
        ("recorded by two in one call", (&COMPLETE, "sums[k] = sums[k] - tonumber(count)", ""), TOGETHER),
        ("recorded beyond what is claimed", (&COMPLETE, "if gain > 0 then", "if false then"), TOGETHER),
        ("claims go back", (&COMPLETE, "if gain > 0 then", "if true then"), TOGETHER),
        (
            "a payload stays",
            (&COMPLETE, "if #told > 0 then redis.call('HDEL', payload, unpack(told)) end", ""),
            PLAIN,
        ),
        ("a lease stays", (&COMPLETE, "redis.call('XACK', stream, ARGV[1], unpack(ids))", ""), PLAIN),
        ("dropped outcomes come back", (&COMPLETE, "tonumber(ARGV[i + 1]) < tonumber(b[3]) or ", ""), PLAIN),
        ("recorded after a cancel", (&COMPLETE, "if not lives then", "if false then"), CANCEL),
        (
            "stored after a cancel",
            (&COMPLETE, "if #voided > 0 then redis.call('HSET', result, unpack(voided)) end", ""),
            CANCEL,
        ),
        (
            "stored for a cancelled batch that another dropped",
            (&DROP, "if cancelled and", "if false and"),
            CANCEL,
        ),
        ("stored for a batch that is gone", (&COMPLETE, "redis.call('UNLINK', payload, result)", ""), EXPIRE),
        ("the backlog stands still", (&COMPLETE, "feed(stream, batch, KEYS[7], ARGV[4])", ""), SHORT_FIRST),
        (
            "the backlog stands still for a begin",
            (&BEGIN, "feed(KEYS[2], KEYS[i], KEYS[i + 1], ARGV[i - 1])", ""),
            UNREAD,
        ),
        ("the end of the backlog is not seen", (&BEGIN, "redis.call('HDEL', batch, 'queued')", ""), THREE),
        ("begun twice", (&BEGIN, "if gain > 0 then", "if true then"), PLAIN),
        ("accepted twice", (&ENQUEUE, "if n < next then", "if false then"), PLAIN),
        ("a gap", (&ENQUEUE, "elseif n > next then", "elseif false then"), PLAIN),
        ("a payload comes back", (&ENQUEUE, "if repeated or refused then withdraw() end", ""), PLAIN),
        (
            "a payload comes back when the queue is full",
            (&ENQUEUE, "withdraw()\nreturn b[4]", "return b[4]"),
            FULL,
        ),
        (
            "two inputs become one batch",
            (&ENQUEUE, "return {'differs', next}\nend\nif n < next", "end\nif n < next"),
            RIVAL,
        ),
        (
            "another input closes it",
            (&ENQUEUE, "if last and last < next - 1 and ARGV[5] == '1' then", "if false then"),
            Scenario { rival: true, ..THREE },
        ),
        ("accepted after a cancel", (&ENQUEUE, "if b[3] then", "if false then"), CANCEL),
        (
            "accepted after the end",
            (&ENQUEUE, "if b[4] == '1' or unfinished >= limit then", "if unfinished >= limit then"),
            ABANDON,
        ),
        (
            "sent for a batch that is gone",
            (&ENQUEUE, "redis.call('UNLINK', payload)\nreturn {'gone'}", "return {'gone'}"),
            EXPIRE,
        ),
        ("opened twice", (&CREATE, "if old[1] then", "if false then"), PLAIN),
        ("finished too early", (&ENQUEUE, "or b[2] ~= b[3] ", ""), PLAIN),
        (
            "dropped before they are read",
            (&COLLECT, "if b[3] and tonumber(ARGV[1]) >= tonumber(b[2]) then", "if b[3] then"),
            PLAIN,
        ),
        ("a cancelled backlog stays", (&CANCEL_BATCH, "redis.call('UNLINK', KEYS[6])", ""), CANCEL),
        ("cancelled twice", (&CANCEL_BATCH, "if b[4] then return 0 end", ""), CANCEL),
        ("a name goes with its leases", (&FORGET, "> 0 then return 0 end", "> 9 then return 0 end"), UNREAD),
        (
            "an expired batch leaves something",
            (&SWEEP, "redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6], KEYS[7])", ""),
            EXPIRE,
        ),
    ];
    let missed: Vec<&str> = guards
        .iter()
        .filter(|(what, removed, scenario)| {
            let found = explored(*scenario, Some(*removed));
            let first = found.fault.as_deref().and_then(|fault| fault.lines().next());
            println!("{what}: {} states, {}", found.states, first.unwrap_or("nothing found"));
            found.fault.is_none()
        })
        .map(|(what, ..)| *what)
        .collect();
    assert!(missed.is_empty(), "these guards can go unnoticed: {missed:?}");
}
