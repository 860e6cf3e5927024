//! A private server, and short words for what every test does.

use puzzled_queue::wire::{Encoding, PayloadReader, PayloadWriter, Solved, encode_result};
use puzzled_queue::{
    Batch, BatchId, Claimed, Completed, Config, Consumer, Content, Digest, LocalServer, NewChunk, Queue,
    Recorded, ServerOptions, StreamId,
};
use puzzled_service::Url;
use puzzled_solver::{Kind, OutcomeKind, Outcomes, Task};

pub(crate) struct Bed {
    pub(crate) server: LocalServer,
    pub(crate) config: Config,
    pub(crate) queue: Queue,
}

impl Bed {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Config)) -> Self {
        let server = LocalServer::start(&ServerOptions::default()).await.expect("a Redis server");
        let mut config = Config { url: Url::new(server.url()), ..Config::default() };
        change(&mut config);
        let queue = Queue::connect(&config).await.expect("a connection");
        Self { server, config, queue }
    }

    /// A bare connection, to do what a client of ours never would.
    pub(crate) async fn raw(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.server.url()).unwrap();
        client.get_multiplexed_async_connection().await.unwrap()
    }

    pub(crate) async fn consumer(&self, name: &str) -> Consumer {
        Consumer::open(&self.queue, name, 0, &[Kind::Echo]).await.unwrap()
    }

    /// Submits an echo batch of these chunk sizes and closes it.
    pub(crate) async fn submit(&self, sizes: &[u32]) -> Batch {
        let batch = Batch::new(echo());
        self.queue.create(&batch).await.unwrap();
        self.queue.enqueue(&batch, &chunks(0, 0, sizes), true).await.unwrap();
        batch
    }

    pub(crate) async fn claim(&self, consumer: &mut Consumer, count: usize) -> Vec<Claimed> {
        consumer.claim(|_| count, |_, _| false).await.unwrap()
    }

    /// Claims and solves until the streams are empty, then says how many chunks that were.
    pub(crate) async fn drain(&self, consumer: &mut Consumer) -> u64 {
        let mut done = 0;
        while self.unfinished_chunks().await > 0 {
            for chunk in self.claim(consumer, 10).await {
                self.complete(&[chunk]).await;
                done += 1;
            }
        }
        done
    }

    pub(crate) async fn unfinished_chunks(&self) -> u64 {
        self.queue.streams(&[Kind::Echo]).await.unwrap().iter().map(|s| s.chunks).sum()
    }

    /// Fetches and completes chunks of one batch as a worker would.
    pub(crate) async fn complete(&self, chunks: &[Claimed]) -> Recorded {
        let stream = chunks[0].stream;
        let mut completed = Vec::new();
        for fetched in self.queue.fetch(stream, chunks).await.unwrap() {
            match fetched.content {
                Content::Payload(payload) => completed.push(solved(&fetched.claimed, &payload, "w")),
                Content::Unwanted => self.queue.drop_unwanted(stream, &[fetched.claimed]).await.unwrap(),
                Content::Missing => panic!("payload of {:?} is gone", fetched.claimed),
            }
        }
        match completed.first() {
            Some(first) => {
                let batch = first.claimed.chunk.batch;
                self.queue.complete(stream, batch, &completed).await.unwrap()
            }
            None => Recorded::default(),
        }
    }

    /// submitted = done + failed + cancelled + waiting + running, for the batch and for the whole queue.
    pub(crate) async fn check_identity(&self, id: BatchId) {
        let s = self.queue.status(id).await.unwrap();
        let (failed, cancelled) = (s.outcome(OutcomeKind::Failed), s.outcome(OutcomeKind::Cancelled));
        assert_eq!(s.submitted, s.done() + failed + cancelled + s.waiting() + s.running(), "{s:?}");
        assert_eq!(s.outcomes.iter().sum::<u64>(), s.recorded, "{s:?}");
    }

    pub(crate) async fn depth(&self) -> (u64, u64) {
        let streams = self.queue.streams(&[Kind::Echo]).await.unwrap();
        (streams.iter().map(|s| s.waiting).sum(), streams.iter().map(|s| s.running).sum())
    }

    pub(crate) async fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> =
            redis::cmd("KEYS").arg("*").query_async(&mut self.raw().await).await.unwrap();
        keys.sort();
        keys
    }
}

pub(crate) fn echo() -> Task {
    "echo".parse().unwrap()
}

/// The text of a job. Every third is long, and half of those can be packed, so that chunks of every way of travelling
/// are met everywhere.
pub(crate) fn text(index: u64) -> String {
    match index % 6 {
        0 => format!("job-{index:.<600}"),
        3 => format!("{index:.<1024}"),
        _ => format!("job-{index}"),
    }
}

/// Chunks of these sizes; job `i` holds `text(i)`. Those that do not begin a batch tell nothing of what is before them.
pub(crate) fn chunks(number: u64, first: u64, sizes: &[u32]) -> Vec<NewChunk> {
    let mut index = first;
    let mut made = Vec::new();
    let mut before = (number == 0).then(Digest::default);
    for (number, &size) in (number..).zip(sizes) {
        let mut writer = PayloadWriter::new(&echo(), Encoding::Packed);
        for _ in 0..size {
            writer.push(|out| out.extend_from_slice(text(index).as_bytes()));
            index += 1;
        }
        let payload = writer.take();
        let after = before.map(|before| before.then(&payload));
        made.push(NewChunk { number, payload, before });
        before = after;
    }
    made
}

/// What a worker would store for an echo chunk.
pub(crate) fn solved(claimed: &Claimed, payload: &[u8], worker: &str) -> Completed {
    let read = PayloadReader::parse(payload, claimed.chunk.jobs).unwrap();
    let mut outcomes = Outcomes::new();
    for line in read.lines() {
        outcomes.push(OutcomeKind::Solved, line);
    }
    let facts = Solved { first: claimed.chunk.first, worker: worker.to_owned(), wait_us: 1, solve_us: 2 };
    let records = outcomes.records(0..outcomes.len());
    let result = encode_result(&facts, claimed.chunk.jobs, records, read.encoding);
    Completed { claimed: claimed.clone(), counts: outcomes.counts(), result }
}

pub(crate) fn stream_key(stream: StreamId) -> String {
    format!("{{puzzled:{}}}:stream:{}:{}", stream.shard, stream.kind.name(), stream.priority.name())
}
