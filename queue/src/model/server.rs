//! As much of Redis as the protocol uses: its data, its commands, and the scripts in a real Lua 5.1, which is the version
//! Redis embeds. Everything is deterministic; time stands where the model puts it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::rc::Rc;

use mlua::{Function, Lua, MultiValue};
use redis::{Arg, Pipeline, Value};

use crate::scripts::{ALL, Script};

/// Shared, since every state is a copy of another with little changed.
type Bytes = Rc<[u8]>;

/// Texts longer than this are replaced by their first byte: only whether a payload is there matters, and states stay small.
const LONG: usize = 100;

/// What a server holds. The model needs one stream with one group.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Data {
    pub(super) hashes: BTreeMap<Bytes, BTreeMap<Bytes, Bytes>>,
    pub(super) lists: BTreeMap<Bytes, VecDeque<Bytes>>,
    pub(super) sorted: BTreeMap<Bytes, BTreeMap<Bytes, Bytes>>,
    pub(super) strings: BTreeMap<Bytes, Bytes>,
    /// Keys that may vanish from now on.
    pub(super) expiring: BTreeSet<Bytes>,
    /// Entry to its fields.
    pub(super) stream: BTreeMap<u64, Vec<Bytes>>,
    /// The newest entry ever.
    pub(super) last_entry: u64,
    /// The newest entry handed out.
    pub(super) last_delivered: u64,
    /// Entry to the consumer that owns it.
    pub(super) pending: BTreeMap<u64, Bytes>,
    /// Server time, s.
    pub(super) clock: u64,
}

impl Data {
    /// A field of a hash.
    pub(super) fn field(&self, key: &str, field: &str) -> Option<&[u8]> {
        Some(self.hashes.get(key.as_bytes())?.get(field.as_bytes())?.as_ref())
    }

    /// The number in a field of a hash, 0 where there is none.
    pub(super) fn number(&self, key: &str, field: &str) -> i64 {
        self.field(key, field).map_or(0, number)
    }

    /// XREADGROUP of one entry: the next that nobody was given becomes the consumer's.
    pub(super) fn deliver(&mut self, consumer: &str) -> Option<u64> {
        let entry = *self.stream.range(self.last_delivered + 1..).next()?.0;
        self.last_delivered = entry;
        self.pending.insert(entry, bytes(consumer));
        Some(entry)
    }

    /// XAUTOCLAIM of one entry, whose lease is taken to have run out: `false` if it is in the stream no more, and so leaves
    /// the list of pending ones.
    pub(super) fn take_over(&mut self, entry: u64, consumer: &str) -> bool {
        if !self.stream.contains_key(&entry) {
            self.pending.remove(&entry);
            return false;
        }
        self.pending.insert(entry, bytes(consumer));
        true
    }

    /// Deletes a key, whatever it holds.
    pub(super) fn delete(&mut self, key: &[u8]) -> bool {
        self.expiring.remove(key);
        // Every one of them, not the first that has it.
        self.hashes.remove(key).is_some()
            | self.lists.remove(key).is_some()
            | self.sorted.remove(key).is_some()
            | self.strings.remove(key).is_some()
    }

    pub(super) fn exists(&self, key: &[u8]) -> bool {
        self.hashes.contains_key(key)
            || self.lists.contains_key(key)
            || self.sorted.contains_key(key)
            || self.strings.contains_key(key)
    }

    /// Redis keeps no empty collections.
    fn tidy(&mut self, key: &[u8]) {
        if self.hashes.get(key).is_some_and(BTreeMap::is_empty)
            || self.lists.get(key).is_some_and(VecDeque::is_empty)
            || self.sorted.get(key).is_some_and(BTreeMap::is_empty)
        {
            self.delete(key);
        }
    }

    fn run(&mut self, args: &[Bytes]) -> Value {
        let name = String::from_utf8_lossy(&args[0]).to_uppercase();
        let key = args.get(1).cloned().unwrap_or_else(|| bytes(""));
        let rest = args.get(2..).unwrap_or_default();
        match name.as_str() {
            "HGET" => bulk(self.hashes.get(&key).and_then(|hash| hash.get(&rest[0]))),
            "HMGET" => {
                let hash = self.hashes.get(&key);
                Value::Array(rest.iter().map(|field| bulk(hash.and_then(|hash| hash.get(field)))).collect())
            }
            "HEXISTS" => int(self.hashes.get(&key).is_some_and(|hash| hash.contains_key(&rest[0]))),
            "HSET" => {
                let hash = self.hashes.entry(key).or_default();
                let new =
                    rest.chunks(2).filter(|pair| hash.insert(pair[0].clone(), pair[1].clone()).is_none());
                Value::Int(new.count() as i64)
            }
            "HSETNX" => {
                let hash = self.hashes.entry(key).or_default();
                let is_new = !hash.contains_key(&rest[0]);
                hash.entry(rest[0].clone()).or_insert_with(|| rest[1].clone());
                int(is_new)
            }
            "HDEL" => {
                let hash = self.hashes.get_mut(&key);
                let gone =
                    hash.map_or(0, |hash| rest.iter().filter(|&field| hash.remove(field).is_some()).count());
                self.tidy(&key);
                Value::Int(gone as i64)
            }
            "HINCRBY" => {
                let hash = self.hashes.entry(key).or_default();
                let sum = hash.get(&rest[0]).map_or(0, |old| number(old)) + number(&rest[1]);
                hash.insert(rest[0].clone(), bytes(&sum.to_string()));
                Value::Int(sum)
            }
            "UNLINK" | "DEL" => Value::Int(args[1..].iter().filter(|key| self.delete(key)).count() as i64),
            "PEXPIRE" => {
                let is_there = self.exists(&key);
                if is_there {
                    self.expiring.insert(key);
                }
                int(is_there)
            }
            "RPUSH" => {
                let list = self.lists.entry(key).or_default();
                list.extend(rest.iter().cloned());
                Value::Int(list.len() as i64)
            }
            "LPOP" => {
                let first = self.lists.get_mut(&key).and_then(VecDeque::pop_front);
                self.tidy(&key);
                bulk(first.as_ref())
            }
            "ZADD" => {
                int(self.sorted.entry(key).or_default().insert(rest[1].clone(), rest[0].clone()).is_none())
            }
            "ZREM" => {
                let set = self.sorted.get_mut(&key);
                let gone =
                    set.map_or(0, |set| rest.iter().filter(|&member| set.remove(member).is_some()).count());
                self.tidy(&key);
                Value::Int(gone as i64)
            }
            "ZRANGEBYLEX" => {
                assert!(
                    rest[0].starts_with(b"[") && rest[1].starts_with(b"("),
                    "from and including, to and without"
                );
                let members = self.sorted.get(&key).into_iter().flat_map(BTreeMap::keys);
                let found = members.filter(|member| ***member >= rest[0][1..] && ***member < rest[1][1..]);
                Value::Array(found.map(|member| bulk(Some(member))).collect())
            }
            "GETRANGE" => {
                let text = self.strings.get(&key).map(AsRef::as_ref).unwrap_or_default();
                let (start, end) = (number(&rest[0]) as usize, number(&rest[1]) as usize + 1);
                let end = end.min(text.len());
                Value::BulkString(text.get(start.min(end)..end).unwrap_or_default().to_vec())
            }
            "SETRANGE" => {
                let mut text = self.strings.get(&key).map(|text| text.to_vec()).unwrap_or_default();
                let start = number(&rest[0]) as usize;
                let end = start + rest[1].len();
                text.resize(text.len().max(end), 0);
                text[start..end].copy_from_slice(&rest[1]);
                let length = text.len() as i64;
                self.strings.insert(key, text.into());
                Value::Int(length)
            }
            "PUBLISH" => Value::Int(0),
            "TIME" => Value::Array(vec![
                Value::BulkString(self.clock.to_string().into()),
                Value::BulkString("0".into()),
            ]),
            "XADD" => {
                assert_eq!(&*rest[0], b"*", "entries get their ids from the server");
                self.last_entry += 1;
                self.stream.insert(self.last_entry, rest[1..].to_vec());
                Value::BulkString(entry_id(self.last_entry).into())
            }
            "XDEL" => {
                Value::Int(rest.iter().filter(|id| self.stream.remove(&entry(id)).is_some()).count() as i64)
            }
            "XACK" => {
                let gone = rest[1..].iter().filter(|id| self.pending.remove(&entry(id)).is_some());
                Value::Int(gone.count() as i64)
            }
            "XPENDING" => {
                let end = if &*rest[2] == b"+" { u64::MAX } else { entry(&rest[2]) };
                let start = if &*rest[1] == b"-" { 0 } else { entry(&rest[1]) };
                let rows = self
                    .pending
                    .range(start..=end)
                    .filter(|(_, owner)| rest.get(4).is_none_or(|c| c == *owner));
                let row = |(&id, owner): (&u64, &Bytes)| {
                    // Idle times and delivery counts are not modelled.
                    Value::Array(vec![
                        bulk(Some(&bytes(&entry_id(id)))),
                        bulk(Some(owner)),
                        Value::Int(0),
                        Value::Int(1),
                    ])
                };
                Value::Array(rows.take(number(&rest[3]) as usize).map(row).collect())
            }
            "XCLAIM" => {
                let id = entry(&rest[3]);
                let is_pending = self.pending.contains_key(&id);
                let consumer = String::from_utf8_lossy(&rest[1]).into_owned();
                int(is_pending && self.take_over(id, &consumer))
            }
            "XGROUP" => {
                assert_eq!(&*key, b"DELCONSUMER", "only consumers come and go");
                self.pending.retain(|_, owner| *owner != rest[2]);
                Value::Int(0)
            }
            _ => panic!("the model of Redis has no command {name}: add it to model/server.rs"),
        }
    }
}

/// The scripts as they are sent, or with one line changed, and a Lua to run them in.
pub(super) struct Interpreter {
    lua: Lua,
    /// By what a client names them.
    scripts: HashMap<Bytes, Function>,
    data: Rc<RefCell<Data>>,
}

impl Interpreter {
    /// With `removed`, the given text of one script is replaced by another.
    pub(super) fn new(removed: Option<(&Script, &str, &str)>) -> Self {
        let lua = Lua::new();
        let data = Rc::new(RefCell::new(Data::default()));
        let call = {
            let data = data.clone();
            move |lua: &Lua, args: MultiValue| {
                let args: Vec<Bytes> = args.iter().map(text_of).collect();
                let answer = data.borrow_mut().run(&args);
                to_lua(lua, &answer)
            }
        };
        let table = lua.create_table().unwrap();
        table.set("call", lua.create_function(call).unwrap()).unwrap();
        lua.globals().set("redis", table).unwrap();
        let scripts = ALL.iter().map(|(_, script)| {
            let mut text = script.text().to_owned();
            if let Some((changed, old, new)) = removed
                && changed.text() == text
            {
                assert_eq!(text.matches(old).count(), 1, "the guard '{old}' stands elsewhere now:\n{text}");
                text = text.replace(old, new);
            }
            (bytes(script.hash()), lua.load(text).into_function().unwrap())
        });
        let scripts = scripts.collect();
        Self { lua, scripts, data }
    }

    /// Runs one command.
    pub(super) fn command(&self, data: &mut Data, args: &[Bytes]) -> Value {
        if &*args[0] != b"EVALSHA" {
            return data.run(args);
        }
        let function = &self.scripts[&args[1]];
        let keys = number(&args[2]) as usize;
        let list = |items: &[Bytes]| {
            self.lua
                .create_sequence_from(items.iter().map(|item| self.lua.create_string(item).unwrap()))
                .unwrap()
        };
        let globals = self.lua.globals();
        globals.set("KEYS", list(&args[3..3 + keys])).unwrap();
        globals.set("ARGV", list(&args[3 + keys..])).unwrap();
        std::mem::swap(data, &mut self.data.borrow_mut());
        let answer = function.call::<mlua::Value>(());
        std::mem::swap(data, &mut self.data.borrow_mut());
        from_lua(&answer.unwrap_or_else(|error| panic!("a script failed: {error}")))
    }
}

/// The commands of a pipeline.
pub(super) fn commands(pipe: &Pipeline) -> Vec<Vec<Bytes>> {
    let arg = |arg: Arg<&[u8]>| match arg {
        Arg::Simple(text) if text.len() > LONG => text[..1].into(),
        Arg::Simple(text) => text.into(),
        _ => panic!("no cursor is sent"),
    };
    pipe.cmd_iter().map(|cmd| cmd.args_iter().map(arg).collect()).collect()
}

/// How the server writes the id of the entry with this number.
fn entry_id(number: u64) -> String {
    format!("{number}-0")
}

fn bytes(text: &str) -> Bytes {
    text.as_bytes().into()
}

fn entry(id: &[u8]) -> u64 {
    let id = std::str::from_utf8(id).unwrap();
    id.split('-').next().unwrap().parse().unwrap()
}

fn number(text: &[u8]) -> i64 {
    let text = std::str::from_utf8(text).unwrap();
    if text.is_empty() {
        0
    } else {
        text.parse().unwrap_or_else(|_| panic!("'{text}' is not a whole number"))
    }
}

fn int(is_so: bool) -> Value {
    Value::Int(i64::from(is_so))
}

fn bulk(text: Option<&Bytes>) -> Value {
    text.map_or(Value::Nil, |text| Value::BulkString(text.to_vec()))
}

/// An argument of `redis.call`: Redis writes whole numbers without a point.
fn text_of(value: &mlua::Value) -> Bytes {
    match value {
        mlua::Value::String(text) => (&*text.as_bytes()).into(),
        mlua::Value::Integer(n) => bytes(&n.to_string()),
        mlua::Value::Number(n) if n.fract() == 0.0 => bytes(&format!("{n:.0}")),
        other => panic!("redis.call does not take {other:?}"),
    }
}

fn to_lua(lua: &Lua, value: &Value) -> mlua::Result<mlua::Value> {
    Ok(match value {
        Value::Nil => mlua::Value::Boolean(false),
        Value::Int(n) => mlua::Value::Number(*n as f64),
        Value::BulkString(text) => mlua::Value::String(lua.create_string(text)?),
        Value::Array(items) => {
            let table = lua.create_table()?;
            for (i, item) in items.iter().enumerate() {
                table.raw_set(i + 1, to_lua(lua, item)?)?;
            }
            mlua::Value::Table(table)
        }
        other => panic!("no command of the model answers {other:?}"),
    })
}

/// What a script returned, as Redis passes it on: fractions cut off, lists up to their first hole.
fn from_lua(value: &mlua::Value) -> Value {
    match value {
        mlua::Value::Nil | mlua::Value::Boolean(false) => Value::Nil,
        mlua::Value::Boolean(true) => Value::Int(1),
        mlua::Value::Integer(n) => Value::Int(*n),
        mlua::Value::Number(n) => Value::Int(*n as i64),
        mlua::Value::String(text) => Value::BulkString(text.as_bytes().to_vec()),
        mlua::Value::Table(table) => {
            let items = table.sequence_values::<mlua::Value>();
            Value::Array(items.map(|item| from_lua(&item.unwrap())).collect())
        }
        other => panic!("a script returned {other:?}"),
    }
}
