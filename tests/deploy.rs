//! The files in `deploy/` do what they say.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use puzzled_queue::{Config, Error, Finding, Queue, Verdict};
use puzzled_service::Url;

#[tokio::test]
async fn the_redis_settings_we_ship_satisfy_the_doctor() {
    let folder = tempfile::TempDir::new().expect("temporary folder");
    let socket = folder.path().join("redis.sock");
    let program = puzzled_service::programs::find(&["redis-server", "valkey-server"]).expect("a server");
    let mut server = Command::new(program)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/redis.conf"))
        .args(["--port", "0", "--unixsocket"])
        .arg(&socket)
        .arg("--dir")
        .arg(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("the server starts");
    let url = Url::new(format!("redis+unix://{}", socket.display()));
    let findings = examine(&Config { url, ..Config::default() }).await;
    drop(server.kill());
    drop(server.wait());
    let findings = findings.expect("an answer");
    // A slow machine may make the round trip slow; that is not the file's doing.
    let bad: Vec<_> =
        findings.iter().filter(|f| f.verdict != Verdict::Good && f.subject != "latency").collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

async fn examine(config: &Config) -> Result<Vec<Finding>, Error> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        match Queue::visit(config).await {
            Ok(queue) => return queue.examine(puzzled_queue::Rights::Operator).await,
            Err(error) if !error.is_transient() || Instant::now() > deadline => return Err(error),
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}
