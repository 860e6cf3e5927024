//! Reading Redis's answers without trusting their shape.

use redis::Value;

use crate::Error;

/// The number in an integer or in the text of one.
pub(crate) fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Int(n) => Some(*n),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        Value::SimpleString(text) => text.parse().ok(),
        _ => None,
    }
}

/// The text of a string, empty for anything else.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::SimpleString(text) => text.clone(),
        Value::Okay => "OK".to_owned(),
        Value::Int(n) => n.to_string(),
        _ => String::new(),
    }
}

/// The pairs of a map, which RESP2 writes as a flat array.
pub(crate) fn pairs(value: Value) -> Vec<(Value, Value)> {
    match value {
        Value::Map(pairs) => pairs,
        Value::Array(items) => {
            let mut items = items.into_iter();
            std::iter::from_fn(|| Some((items.next()?, items.next()?))).collect()
        }
        _ => Vec::new(),
    }
}

/// The items of an array, none for anything else.
pub(crate) fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) | Value::Set(items) => items,
        _ => Vec::new(),
    }
}

pub(crate) fn unexpected(what: &str, answer: &[Value]) -> Error {
    Error::Malformed(format!("unexpected answer to {what}: {answer:?}"))
}
