//! What settings a type has: walks its serialization and notes each key, its type and its value.
//! This file knows no layer and no origin.

use std::fmt::{self, Display};

use config::{Value, ValueKind};
use serde::ser::{self, Impossible, Serialize};

use crate::secret::{SECRET_TYPE, redact};

/// One setting of a type.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    /// The dotted key: `redis.url`.
    pub(super) key: String,
    pub(super) kind: Kind,
    /// Its value as serialized: that of a secret is a mask.
    pub(super) value: ValueKind,
}

impl Leaf {
    /// The value for a person, secrets and passwords hidden.
    pub(super) fn shown(&self) -> String {
        show(&self.value)
    }
}

/// The value for a person, the passwords in URLs hidden.
pub(super) fn show(value: &ValueKind) -> String {
    match value {
        ValueKind::Array(items) => items.iter().map(|item| show(&item.kind)).collect::<Vec<_>>().join(","),
        ValueKind::Table(_) => "a section".to_owned(),
        other => redact(&other.to_string()),
    }
}

/// What a setting holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Secret,
    Bool,
    /// A whole number from 0 to the given one.
    Unsigned(u64),
    /// A whole number between these.
    Signed(i64, i64),
    Decimal,
    List,
}

impl Kind {
    /// What to write, in words.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Text | Self::Secret => "text".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Unsigned(u64::MAX) => "a whole number, 0 or more".to_owned(),
            Self::Unsigned(max) => format!("a whole number from 0 to {max}"),
            Self::Signed(i64::MIN, i64::MAX) => "a whole number".to_owned(),
            Self::Signed(min, max) => format!("a whole number from {min} to {max}"),
            Self::Decimal => "a number".to_owned(),
            Self::List => "a list".to_owned(),
        }
    }

    /// Reads the text of a variable or a flag; `None` when it does not fit. Text stays text, digits or not.
    pub(super) fn parse(self, text: &str) -> Option<ValueKind> {
        let trimmed = text.trim();
        match self {
            Self::Text | Self::Secret => Some(ValueKind::String(text.to_owned())),
            Self::Bool => match trimmed.to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(ValueKind::Boolean(true)),
                "false" | "no" | "off" | "0" => Some(ValueKind::Boolean(false)),
                _ => None,
            },
            Self::Unsigned(_) => self.fit(ValueKind::U64(digits(trimmed).parse().ok()?)),
            Self::Signed(..) => self.fit(ValueKind::I64(digits(trimmed).parse().ok()?)),
            Self::Decimal => self.fit(ValueKind::Float(digits(trimmed).parse().ok()?)),
            Self::List => {
                let items = trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(ValueKind::Array(items.map(|item| Value::new(None, item.to_owned())).collect()))
            }
        }
    }

    /// Takes a typed value from a file; `None` when it does not fit.
    pub(super) fn fit(self, value: ValueKind) -> Option<ValueKind> {
        let fits = match (self, &value) {
            (Self::Text | Self::Secret, ValueKind::String(_))
            | (Self::Bool, ValueKind::Boolean(_))
            | (Self::Decimal, ValueKind::I64(_)) => true,
            (Self::Decimal, ValueKind::Float(number)) => number.is_finite(),
            (Self::Unsigned(max), ValueKind::U64(number)) => *number <= max,
            (Self::Unsigned(max), ValueKind::I64(number)) => u64::try_from(*number).is_ok_and(|n| n <= max),
            (Self::Signed(min, max), ValueKind::I64(number)) => (min..=max).contains(number),
            (Self::List, ValueKind::Array(items)) => {
                items.iter().all(|item| !matches!(item.kind, ValueKind::Table(_) | ValueKind::Array(_)))
            }
            _ => false,
        };
        fits.then_some(value)
    }
}

/// Digits may be grouped as in TOML: `1_000_000`.
fn digits(text: &str) -> String {
    text.replace('_', "")
}

/// The settings of `value`, in the order of declaration.
pub(super) fn leaves<T: Serialize>(value: &T) -> Result<Vec<Leaf>, Unsupported> {
    let mut leaves = Vec::new();
    flatten(String::new(), value.serialize(Walker)?, &mut leaves);
    Ok(leaves)
}

fn flatten(key: String, node: Node, leaves: &mut Vec<Leaf>) {
    match node {
        Node::Leaf(kind, value) => leaves.push(Leaf { key, kind, value }),
        Node::Section(fields) => {
            for (name, node) in fields {
                flatten(if key.is_empty() { name.to_owned() } else { format!("{key}.{name}") }, node, leaves);
            }
        }
    }
}

/// The type has a field that no setting can hold: a bug in the type, not in anyone's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsupported(String);

impl Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this type cannot be a setting: {}", self.0)
    }
}

impl std::error::Error for Unsupported {}

impl ser::Error for Unsupported {
    fn custom<M: Display>(message: M) -> Self {
        Self(message.to_string())
    }
}

enum Node {
    Leaf(Kind, ValueKind),
    Section(Vec<(&'static str, Node)>),
}

struct Walker;

fn unsupported<T>(what: &str) -> Result<T, Unsupported> {
    Err(Unsupported(what.to_owned()))
}

fn whole<N: Into<i64>>(number: N, min: N, max: N) -> Result<Node, Unsupported> {
    Ok(Node::Leaf(Kind::Signed(min.into(), max.into()), ValueKind::I64(number.into())))
}

fn natural<N: Into<u64>>(number: N, max: N) -> Result<Node, Unsupported> {
    Ok(Node::Leaf(Kind::Unsigned(max.into()), ValueKind::U64(number.into())))
}

impl ser::Serializer for Walker {
    type Ok = Node;
    type Error = Unsupported;
    type SerializeSeq = Items;
    type SerializeTuple = Impossible<Node, Unsupported>;
    type SerializeTupleStruct = Impossible<Node, Unsupported>;
    type SerializeTupleVariant = Impossible<Node, Unsupported>;
    type SerializeMap = Impossible<Node, Unsupported>;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Impossible<Node, Unsupported>;

    fn serialize_bool(self, value: bool) -> Result<Node, Unsupported> {
        Ok(Node::Leaf(Kind::Bool, ValueKind::Boolean(value)))
    }
    fn serialize_i8(self, value: i8) -> Result<Node, Unsupported> {
        whole(value, i8::MIN, i8::MAX)
    }
    fn serialize_i16(self, value: i16) -> Result<Node, Unsupported> {
        whole(value, i16::MIN, i16::MAX)
    }
    fn serialize_i32(self, value: i32) -> Result<Node, Unsupported> {
        whole(value, i32::MIN, i32::MAX)
    }
    fn serialize_i64(self, value: i64) -> Result<Node, Unsupported> {
        whole(value, i64::MIN, i64::MAX)
    }
    fn serialize_u8(self, value: u8) -> Result<Node, Unsupported> {
        natural(value, u8::MAX)
    }
    fn serialize_u16(self, value: u16) -> Result<Node, Unsupported> {
        natural(value, u16::MAX)
    }
    fn serialize_u32(self, value: u32) -> Result<Node, Unsupported> {
        natural(value, u32::MAX)
    }
    fn serialize_u64(self, value: u64) -> Result<Node, Unsupported> {
        natural(value, u64::MAX)
    }
    fn serialize_f32(self, value: f32) -> Result<Node, Unsupported> {
        self.serialize_f64(value.into())
    }
    fn serialize_f64(self, value: f64) -> Result<Node, Unsupported> {
        Ok(Node::Leaf(Kind::Decimal, ValueKind::Float(value)))
    }
    fn serialize_char(self, value: char) -> Result<Node, Unsupported> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }
    fn serialize_str(self, value: &str) -> Result<Node, Unsupported> {
        Ok(Node::Leaf(Kind::Text, ValueKind::String(value.to_owned())))
    }
    fn serialize_bytes(self, _: &[u8]) -> Result<Node, Unsupported> {
        unsupported("bytes")
    }
    fn serialize_none(self) -> Result<Node, Unsupported> {
        unsupported("an Option; let \"\" or 0 mean none")
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Node, Unsupported> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<Node, Unsupported> {
        unsupported("a unit")
    }
    fn serialize_unit_struct(self, name: &'static str) -> Result<Node, Unsupported> {
        unsupported(name)
    }
    fn serialize_unit_variant(self, _: &str, _: u32, variant: &'static str) -> Result<Node, Unsupported> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Node, Unsupported> {
        match value.serialize(self)? {
            Node::Leaf(Kind::Text, value) if name == SECRET_TYPE => Ok(Node::Leaf(Kind::Secret, value)),
            node => Ok(node),
        }
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Node, Unsupported> {
        unsupported(name)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Items, Unsupported> {
        Ok(Items(Vec::new()))
    }
    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Unsupported> {
        unsupported("a tuple or an array; use a Vec")
    }
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unsupported> {
        unsupported(name)
    }
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Unsupported> {
        unsupported(name)
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unsupported> {
        unsupported("a map; its keys could not be checked")
    }
    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Fields, Unsupported> {
        Ok(Fields(Vec::with_capacity(len)))
    }
    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unsupported> {
        unsupported(name)
    }
}

struct Items(Vec<Value>);

impl ser::SerializeSeq for Items {
    type Ok = Node;
    type Error = Unsupported;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unsupported> {
        match value.serialize(Walker)? {
            Node::Leaf(kind, value) if kind != Kind::List => self.0.push(Value::new(None, value)),
            Node::Leaf(..) | Node::Section(_) => return unsupported("a list of lists or of sections"),
        }
        Ok(())
    }

    fn end(self) -> Result<Node, Unsupported> {
        Ok(Node::Leaf(Kind::List, ValueKind::Array(self.0)))
    }
}

struct Fields(Vec<(&'static str, Node)>);

impl ser::SerializeStruct for Fields {
    type Ok = Node;
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unsupported> {
        let node =
            value.serialize(Walker).map_err(|Unsupported(what)| Unsupported(format!("{name}: {what}")))?;
        self.0.push((name, node));
        Ok(())
    }

    fn end(self) -> Result<Node, Unsupported> {
        Ok(Node::Section(self.0))
    }
}
