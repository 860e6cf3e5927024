//! Redis over TLS: both sides show certificates of a throw-away authority.

use std::fs;
use std::path::{Path, PathBuf};

use puzzled_queue::{Batch, Config, Error, Queue};
use puzzled_service::Url;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use redis::aio::MultiplexedConnection;
use redis::{ClientTlsConfig, TlsCertificates};
use tempfile::TempDir;

use crate::servers::Server;

/// Writes `ca.pem`, and for `server` (which is called localhost) and `client` a certificate and a key.
fn authority(folder: &Path) {
    let write = |name: &str, text: String| fs::write(folder.join(name), text).expect("a file");
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    write("ca.pem", params.self_signed(&key).expect("a certificate").pem());
    let issuer = Issuer::new(params, key);
    for (name, host) in [("server", "localhost"), ("client", "client")] {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([host.to_owned()]).expect("a name");
        params.distinguished_name.push(DnType::CommonName, host);
        write(&format!("{name}.pem"), params.signed_by(&key, &issuer).expect("a certificate").pem());
        write(&format!("{name}.key"), key.serialize_pem());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_connection_are_checked_and_no_secret_is_told() {
    let folder = TempDir::new().expect("temporary folder");
    authority(folder.path());
    let server = match Server::start_tls(folder.path()) {
        Ok(server) => server,
        Err(said) if said.contains("TLS support") => {
            println!("skipped: this server is built without TLS");
            return;
        }
        Err(said) => panic!("{said}"),
    };
    let file = |name: &str| folder.path().join(name);
    let trusting = Config {
        url: Url::new(format!("rediss://:sesame@localhost:{}", server.port)),
        ca_file: file("ca.pem"),
        cert_file: file("client.pem"),
        key_file: file("client.key"),
        ..Config::default()
    };
    let with = |change: &dyn Fn(&mut Config)| {
        let mut config = trusting.clone();
        change(&mut config);
        config
    };

    let url = |user: &str, host: &str| Url::new(format!("rediss://{user}{host}:{}", server.port));
    let mut operator = operator(&server, folder.path()).await;

    let plain = with(&|config| config.url = url("", "localhost"));
    let queue = Queue::connect(&plain).await.expect("a connection");
    let batch = Batch::new("sudoku.solve".parse().expect("a task"));
    queue.create(&batch).await.expect("an answer");
    assert_eq!(queue.status(batch.id).await.expect("an answer").submitted, 0);
    // Listening to channels is a connection of another make.
    let mut follow = queue.follow(batch.id, 0).await.expect("an answer");
    follow.listen().await.expect("a subscription");

    // A password that changes under a running process is read anew.
    let password = file("password");
    fs::write(&password, "sesame\n").expect("a file");
    let by_file = Config { password_file: password.clone(), ..plain.clone() };
    operate(&mut operator, &["CONFIG", "SET", "requirepass", "sesame"]).await;
    let queue = Queue::connect(&by_file).await.expect("a connection");
    fs::write(&password, "open\n").expect("a file");
    operate(&mut operator, &["CONFIG", "SET", "requirepass", "open"]).await;
    operate(&mut operator, &["CLIENT", "KILL", "TYPE", "normal"]).await;
    queue.ping().await.expect("a connection with the new password");

    operate(&mut operator, &["CONFIG", "SET", "requirepass", "sesame"]).await;
    Queue::connect(&trusting).await.expect("a connection");
    refused(&with(&|config| config.url = url(":wrong@", "localhost")), "redis_refused").await;
    // The certificate is localhost's alone.
    refused(&with(&|config| config.url = url(":sesame@", "127.0.0.1")), "redis_tls").await;
    refused(&with(&|config| config.ca_file = PathBuf::new()), "redis_tls").await;
    refused(&with(&|config| (config.cert_file, config.key_file) = Default::default()), "redis_tls").await;
    refused(&with(&|config| config.key_file = PathBuf::new()), "setting").await;
    refused(&with(&|config| config.ca_file = file("nowhere.pem")), "setting").await;
    refused(&with(&|config| config.ca_file = file("client.key")), "setting").await;
    refused(&with(&|config| config.password_file = password.clone()), "setting").await;
    let unchecked = format!("rediss://:sesame@localhost:{}/#insecure", server.port);
    refused(&with(&|config| config.url = Url::new(unchecked.clone())), "setting").await;
    let plain = format!("redis://:sesame@localhost:{}", server.port);
    refused(&with(&|config| config.url = Url::new(plain.clone())), "setting").await;
    refused(&Config { url: Url::new(plain.clone()), ..Config::default() }, "redis_unreachable").await;
}

/// Connects in vain, and looks that the error neither misleads nor tells a secret.
async fn refused(config: &Config, code: &str) -> Error {
    let error = Queue::connect(config).await.err().expect("it is refused");
    assert_eq!(error.code(), code, "{error}");
    let said = format!("{error} {error:?} {config:?}");
    assert!(!said.contains("sesame") && !said.contains("wrong"), "{said}");
    error
}

/// The operator's own connection, which outlives changes of the password.
async fn operator(server: &Server, folder: &Path) -> MultiplexedConnection {
    let read = |name: &str| fs::read(folder.join(name)).expect("a file");
    let certificates = TlsCertificates {
        client_tls: Some(ClientTlsConfig { client_cert: read("client.pem"), client_key: read("client.key") }),
        root_cert: Some(read("ca.pem")),
    };
    let url = format!("rediss://localhost:{}", server.port);
    let client = redis::Client::build_with_tls(url, certificates).expect("a client");
    client.get_multiplexed_async_connection().await.expect("a connection")
}

async fn operate(operator: &mut MultiplexedConnection, words: &[&str]) {
    let done: redis::RedisResult<redis::Value> =
        redis::cmd(words[0]).arg(&words[1..]).query_async(operator).await;
    done.unwrap_or_else(|e| panic!("{words:?}: {e}"));
}
