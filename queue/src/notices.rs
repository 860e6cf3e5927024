//! Notices: one subscribed connection a process, shared by everybody who waits for a batch.
//!
//! A notice says "look again", and for a single short chunk what there is to see. It may be lost with its connection,
//! so whoever waits also looks by itself now and then. After a reconnect everybody is woken once, for what was said
//! meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::StreamExt;
use redis::aio::{PubSubSink, PubSubStream};
use tokio::sync::{Notify, mpsc, oneshot};

use crate::Error;
use crate::connection::Queue;

/// A place to ask for notices. Its task lives as long as the queue handle.
pub(crate) struct Notices {
    asks: mpsc::UnboundedSender<Ask>,
}

enum Ask {
    Listen { channel: String, bell: Arc<Bell>, done: oneshot::Sender<Result<(), Error>> },
    Leave { channel: String, bell: Arc<Bell> },
}

/// Chunks kept for a listener that is busy; beyond that it has to look for itself.
const KEPT_MAX: usize = 65_536;

/// Outcomes kept with them; the rest are read.
const KEPT_OUTCOMES_MAX: usize = 64;

/// What a listener was told since it last heard.
#[derive(Default)]
pub(crate) struct Heard {
    /// Chunks that were recorded, some with their outcomes.
    pub(crate) chunks: Vec<(u64, Option<Bytes>)>,
    /// Whether that may not be all: look everywhere.
    pub(crate) is_partial: bool,
}

/// Wakes a listener, and holds what it was told.
#[derive(Default)]
struct Bell {
    notify: Notify,
    heard: Mutex<Heard>,
}

impl Bell {
    /// Takes a notice: numbers of chunks, and for a single one perhaps its outcomes on the next line.
    fn ring(&self, notice: &[u8]) {
        let (numbers, outcomes) = match notice.iter().position(|&byte| byte == b'\n') {
            Some(end) => (&notice[..end], Some(&notice[end + 1..])),
            None => (notice, None),
        };
        let numbers = std::str::from_utf8(numbers).unwrap_or_default();
        let parsed: Result<Vec<u64>, _> = numbers.split(' ').map(str::parse).collect();
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        match parsed {
            Ok(numbers) if heard.chunks.len() + numbers.len() <= KEPT_MAX => {
                let keeps = heard.chunks.len() < KEPT_OUTCOMES_MAX;
                let outcomes = outcomes.filter(|_| keeps).map(Bytes::copy_from_slice);
                heard.chunks.extend(numbers.into_iter().map(|number| (number, outcomes.clone())));
            }
            // Too many to keep, or the end of the batch: there is more to see than chunks.
            _ => heard.is_partial = true,
        }
        drop(heard);
        self.notify.notify_one();
    }

    /// Says that notices may have been missed.
    fn ring_for_all(&self) {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).is_partial = true;
        self.notify.notify_one();
    }
}

/// Hears what is said on one channel. Dropping it ends the subscription when nobody else listens there.
pub(crate) struct Listener {
    channel: String,
    bell: Arc<Bell>,
    asks: mpsc::UnboundedSender<Ask>,
}

impl Listener {
    /// Waits for the next notice, and returns all that came since the last.
    pub(crate) async fn heard(&self) -> Heard {
        self.bell.notify.notified().await;
        std::mem::take(&mut *self.bell.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // A closed channel means that the hub is gone, and the subscription with it.
        drop(self.asks.send(Ask::Leave { channel: self.channel.clone(), bell: self.bell.clone() }));
    }
}

impl Notices {
    /// The hub; its task is started on first use within a runtime.
    pub(crate) fn start(open: impl Fn() -> OpenFuture + Send + Sync + 'static) -> Self {
        let (asks, inbox) = mpsc::unbounded_channel();
        tokio::spawn(hub(inbox, open));
        Self { asks }
    }

    /// Subscribes, and returns once Redis has confirmed it: from then on no notice is missed.
    pub(crate) async fn listen(&self, channel: String) -> Result<Listener, Error> {
        let bell = Arc::new(Bell::default());
        let (done, answer) = oneshot::channel();
        let listener = Listener { channel: channel.clone(), bell: bell.clone(), asks: self.asks.clone() };
        let gone = || Error::Malformed("the notice hub ended".to_owned());
        self.asks.send(Ask::Listen { channel, bell, done }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())??;
        Ok(listener)
    }
}

/// A future that opens a subscribed connection.
pub(crate) type OpenFuture =
    std::pin::Pin<Box<dyn Future<Output = Result<redis::aio::PubSub, Error>> + Send>>;

async fn hub(mut inbox: mpsc::UnboundedReceiver<Ask>, open: impl Fn() -> OpenFuture + Send + Sync) {
    let mut connection: Option<(PubSubSink, PubSubStream)> = None;
    let mut listeners: HashMap<String, Vec<Arc<Bell>>> = HashMap::new();
    loop {
        let ask = match &mut connection {
            None => inbox.recv().await,
            Some((_, stream)) => tokio::select! {
                ask = inbox.recv() => ask,
                message = stream.next() => {
                    match message {
                        Some(message) => {
                            for bell in listeners.get(message.get_channel_name()).into_iter().flatten() {
                                bell.ring(message.get_payload_bytes());
                            }
                        }
                        None => connection = reconnect(&open, &listeners).await,
                    }
                    continue;
                }
            },
        };
        match ask {
            None => return,
            Some(Ask::Leave { channel, bell }) => {
                leave(&mut connection, &mut listeners, &channel, &bell).await
            }
            Some(Ask::Listen { channel, bell, done }) => {
                let answer = listen(&open, &mut connection, &listeners, &channel).await;
                if answer.is_ok() {
                    listeners.entry(channel).or_default().push(bell);
                }
                // Whoever asked may have gone meanwhile; its Leave is on the way.
                drop(done.send(answer));
            }
        }
    }
}

async fn listen(
    open: &(impl Fn() -> OpenFuture + Sync),
    connection: &mut Option<(PubSubSink, PubSubStream)>,
    listeners: &HashMap<String, Vec<Arc<Bell>>>,
    channel: &str,
) -> Result<(), Error> {
    if listeners.contains_key(channel) && connection.is_some() {
        return Ok(());
    }
    if connection.is_none() {
        *connection = Some(open().await?.split());
        resubscribe(connection, listeners).await;
    }
    match connection {
        Some((sink, _)) => match sink.subscribe(channel).await {
            Ok(()) => Ok(()),
            Err(error) => {
                *connection = None;
                Err(Error::Unreachable { address: "notices".to_owned(), reason: error.to_string() })
            }
        },
        None => Err(Error::Unreachable {
            address: "notices".to_owned(),
            reason: "the connection broke".to_owned(),
        }),
    }
}

async fn leave(
    connection: &mut Option<(PubSubSink, PubSubStream)>,
    listeners: &mut HashMap<String, Vec<Arc<Bell>>>,
    channel: &str,
    bell: &Arc<Bell>,
) {
    let Some(bells) = listeners.get_mut(channel) else { return };
    bells.retain(|other| !Arc::ptr_eq(other, bell));
    if bells.is_empty() {
        listeners.remove(channel);
        if let Some((sink, _)) = connection
            && sink.unsubscribe(channel).await.is_err()
        {
            *connection = None;
        }
    }
}

/// One try at a new connection; without one the listeners fall back to looking by themselves, and the next who
/// asks tries again.
async fn reconnect(
    open: &(impl Fn() -> OpenFuture + Sync),
    listeners: &HashMap<String, Vec<Arc<Bell>>>,
) -> Option<(PubSubSink, PubSubStream)> {
    if listeners.is_empty() {
        return None;
    }
    let mut pause = std::time::Duration::from_millis(50);
    for _ in 0..8 {
        if let Ok(opened) = open().await {
            let mut connection = Some(opened.split());
            resubscribe(&mut connection, listeners).await;
            if connection.is_some() {
                return connection;
            }
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
    }
    None
}

async fn resubscribe(
    connection: &mut Option<(PubSubSink, PubSubStream)>,
    listeners: &HashMap<String, Vec<Arc<Bell>>>,
) {
    for (channel, bells) in listeners {
        let Some((sink, _)) = connection else { return };
        if sink.subscribe(channel).await.is_err() {
            *connection = None;
            return;
        }
        for bell in bells {
            bell.ring_for_all();
        }
    }
}

impl Queue {
    /// Listens to a batch.
    pub(crate) async fn listen(&self, id: crate::BatchId) -> Result<Listener, Error> {
        self.notices().listen(self.keys().notice(id)).await
    }
}
