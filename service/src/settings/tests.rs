//! Every layer, every kind of mistake, and no secret in any text.

use serde::{Deserialize, Serialize};

use super::*;
use crate::admin::AdminConfig;
use crate::logging::{LogConfig, LogFormat};
use crate::secret::{Secret, Url};
use crate::shutdown::ShutdownConfig;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Role {
    redis: Redis,
    worker: Worker,
    log: LogConfig,
    admin: AdminConfig,
    shutdown: ShutdownConfig,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Redis {
    url: Url,
    password: Secret,
    timeout_ms: u64,
}

impl Default for Redis {
    fn default() -> Self {
        Self { url: Url::default(), password: Secret::default(), timeout_ms: 2_000 }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Worker {
    kinds: Vec<String>,
    ports: Vec<u16>,
    threads: u16,
    nice: i8,
    share: f64,
    verify: bool,
    name: Name,
}

impl Default for Worker {
    fn default() -> Self {
        let kinds = vec!["sudoku".to_owned(), "slide".to_owned()];
        Self {
            kinds,
            ports: Vec::new(),
            threads: 0,
            nice: 0,
            share: 0.5,
            verify: true,
            name: Name::default(),
        }
    }
}

/// A newtype that parses itself and repeats its input when it refuses.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        if name.contains('/') { Err(format!("a name has no slash, but {name} does")) } else { Ok(Self(name)) }
    }
}

/// The surroundings of one load.
#[derive(Default)]
struct World<'a> {
    file: &'a str,
    variables: &'a [(&'a str, &'a str)],
    flags: &'a [(&'a str, &'a str)],
}

impl World<'_> {
    fn load(&self) -> Result<Loaded<Role>, SettingsError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("puzzled.toml");
        std::fs::write(&path, self.file).unwrap();
        let flags: Vec<_> =
            self.flags.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect();
        load_from(None, &path, variables(self.variables), &flags)
    }

    fn value(&self) -> Role {
        self.load().unwrap().value
    }

    fn error(&self) -> String {
        let error = self.load().unwrap_err();
        format!("{error}\n{error:?}")
    }
}

fn variables(pairs: &[(&str, &str)]) -> impl Iterator<Item = (OsString, OsString)> {
    pairs.iter().map(|(name, value)| (name.into(), value.into())).collect::<Vec<_>>().into_iter()
}

fn file(text: &str) -> World<'_> {
    World { file: text, ..World::default() }
}

fn setting<'a>(loaded: &'a Loaded<Role>, key: &str) -> &'a Setting {
    loaded.settings.iter().find(|setting| setting.key == key).unwrap()
}

#[test]
fn nothing_set_gives_the_defaults_in_the_order_of_declaration() {
    let loaded = World::default().load().unwrap();
    assert_eq!(loaded.value, Role::default());
    assert!(loaded.settings.iter().all(|setting| setting.origin == Origin::Default));
    let keys: Vec<_> = loaded.settings.iter().map(|setting| setting.key.as_str()).collect();
    assert_eq!(keys[..4], ["redis.url", "redis.password", "redis.timeout_ms", "worker.kinds"]);
    assert_eq!(setting(&loaded, "worker.kinds").value, "sudoku,slide");
}

#[test]
fn each_layer_overrides_the_one_below_and_is_named() {
    let world = World {
        file: "redis.timeout_ms = 1\n[worker]\nthreads = 1\nnice = 1\n[log]\n",
        variables: &[("PUZZLED_WORKER__THREADS", "2"), ("PUZZLED_WORKER__NICE", "2"), ("HOME", "/x")],
        flags: &[("worker.nice", "3")],
    };
    let loaded = world.load().unwrap();
    let Role { redis, worker, .. } = &loaded.value;
    assert_eq!((redis.timeout_ms, worker.threads, worker.nice), (1, 2, 3));
    assert!(matches!(setting(&loaded, "redis.timeout_ms").origin, Origin::File(_)));
    assert_eq!(
        setting(&loaded, "worker.threads").origin,
        Origin::Environment("PUZZLED_WORKER__THREADS".to_owned())
    );
    assert_eq!(setting(&loaded, "worker.nice").origin, Origin::Flag("worker.nice".to_owned()));
    assert_eq!(setting(&loaded, "worker.share").origin, Origin::Default);
}

#[test]
fn text_that_looks_like_something_else_stays_text() {
    for text in ["007", "1e5", "true", "1,2", " padded ", "", "nan"] {
        let variable = World { variables: &[("PUZZLED_REDIS__URL", text)], ..World::default() };
        let flag = World { flags: &[("redis.url", text)], ..World::default() };
        let password = World { variables: &[("PUZZLED_REDIS__PASSWORD", text)], ..World::default() };
        assert_eq!(variable.value().redis.url.expose(), text);
        assert_eq!(flag.value().redis.url.expose(), text);
        assert_eq!(password.value().redis.password.expose(), text);
    }
    assert_eq!(file("redis.url = \"007\"").value().redis.url.expose(), "007");
}

#[test]
fn lists_are_separated_by_commas_in_variables_and_flags() {
    for (text, kinds) in [
        ("cube", vec!["cube"]),
        ("sudoku,cube", vec!["sudoku", "cube"]),
        (" sudoku , 7 ,", vec!["sudoku", "7"]),
        ("", vec![]),
    ] {
        let variable = World { variables: &[("PUZZLED_WORKER__KINDS", text)], ..World::default() };
        let flag = World { flags: &[("worker.kinds", text)], ..World::default() };
        assert_eq!(variable.value().worker.kinds, kinds, "{text:?}");
        assert_eq!(flag.value().worker.kinds, kinds, "{text:?}");
    }
    assert_eq!(file("worker.kinds = [\"cube\"]").value().worker.kinds, ["cube"]);
    let ports = World { flags: &[("worker.ports", "80,443")], ..World::default() };
    assert_eq!(ports.value().worker.ports, [80, 443]);
}

#[test]
fn numbers_and_booleans_are_read_as_people_write_them() {
    let world = World {
        variables: &[
            ("PUZZLED_REDIS__TIMEOUT_MS", "1_000_000"),
            ("PUZZLED_WORKER__NICE", "-5"),
            ("PUZZLED_WORKER__SHARE", "0.25"),
            ("PUZZLED_WORKER__VERIFY", "Off"),
            ("PUZZLED_LOG__FORMAT", "json"),
        ],
        ..World::default()
    };
    let Role { redis, worker, log, .. } = world.value();
    assert_eq!((redis.timeout_ms, worker.nice, worker.verify), (1_000_000, -5, false));
    assert!((worker.share - 0.25).abs() < 1e-12);
    assert_eq!(log.format, LogFormat::Json);
    assert!((file("worker.share = 1").value().worker.share - 1.0).abs() < 1e-12);
    let most = u64::MAX.to_string();
    let world = World { flags: &[("redis.timeout_ms", &most)], ..World::default() };
    assert_eq!(world.value().redis.timeout_ms, u64::MAX);
}

#[test]
fn an_unknown_key_is_an_error_in_every_layer_with_its_origin_and_the_nearest_key() {
    let in_file = file("[redis]\nulr = \"x\"").error();
    assert!(in_file.contains("unknown setting redis.ulr (file "), "{in_file}");
    assert!(in_file.contains("did you mean redis.url?"), "{in_file}");

    let variable = World { variables: &[("PUZZLED_REDIS_URL", "x")], ..World::default() }.error();
    let expected = "unknown setting redis_url (environment variable PUZZLED_REDIS_URL); \
                    did you mean PUZZLED_REDIS__URL (redis.url)?";
    assert!(variable.contains(expected), "{variable}");

    let flag = World { flags: &[("worker.thread", "1")], ..World::default() }.error();
    let expected =
        "unknown setting worker.thread (command line flag for worker.thread); did you mean worker.threads?";
    assert!(flag.contains(expected), "{flag}");

    let far = file("zzz = 1").error();
    assert!(far.contains("unknown setting zzz") && !far.contains("did you mean"), "{far}");
    assert!(file("[emtpy]").error().contains("unknown setting emtpy"));
    assert!(file("[redis.url]\nx = 1").error().contains("unknown setting redis.url.x"));
}

#[test]
fn a_wrong_type_names_key_value_origin_and_what_fits() {
    for (toml, expected) in [
        ("redis.timeout_ms = \"soon\"", "redis.timeout_ms = \"soon\" (file "),
        ("redis.timeout_ms = \"soon\"", ") is not a whole number, 0 or more"),
        ("redis.timeout_ms = -1", "redis.timeout_ms = -1"),
        ("worker.threads = 70000", "is not a whole number from 0 to 65535"),
        ("worker.nice = 200", "is not a whole number from -128 to 127"),
        ("worker.verify = 1", "is not true or false"),
        ("worker.share = true", "is not a number"),
        ("worker.kinds = \"sudoku\"", "is not a list"),
        ("redis.url = 5", "redis.url = 5"),
        ("redis = \"redis://h\"", "is not a section; set one of its keys instead, such as redis.url"),
        ("worker.ports = [\"x\"]", "worker.ports = x (file "),
        ("log.format = \"xml\"", ": the formats are text and json\n"),
    ] {
        let error = file(toml).error();
        assert!(error.contains(expected), "{toml}: {error}");
    }
    let error = World { variables: &[("PUZZLED_WORKER__THREADS", "many")], ..World::default() }.error();
    let expected =
        "worker.threads = \"many\" (environment variable PUZZLED_WORKER__THREADS) is not a whole number";
    assert!(error.contains(expected), "{error}");
    let error = World { flags: &[("worker.verify", "")], ..World::default() }.error();
    assert!(
        error.contains("worker.verify = \"\" (command line flag for worker.verify) is not true or false")
    );
}

#[test]
fn no_secret_leaks_in_the_listing_in_debug_or_in_errors() {
    const PASSWORD: &str = "hunter2";
    let url = "redis://user:hunter2@host:6379/0";
    let loaded =
        World { file: "redis.password = \"hunter2\"", variables: &[("PUZZLED_REDIS__URL", url)], flags: &[] }
            .load()
            .unwrap();
    assert_eq!(loaded.value.redis.password.expose(), PASSWORD);
    assert_eq!(loaded.value.redis.url.expose(), url);
    assert_eq!(setting(&loaded, "redis.url").value, "redis://user:***@host:6379/0");
    assert_eq!(setting(&loaded, "redis.password").value, "***");
    let texts = [
        loaded.listing(),
        format!("{:?}", loaded.settings),
        format!("{loaded:?}"),
        // A string that is no TOML, a password of the wrong type, and passwords where they do not belong.
        file("redis.password = \"hunter2").error(),
        file("redis.password = hunter2").error(),
        file("redis.password = \"hunter2\"\nredis.password = \"hunter2\"").error(),
        file("redis.password = [\"hunter2\"]").error(),
        file("redis = \"hunter2\"").error(),
        file("redis.pasword = \"hunter2\"").error(),
        file("redis.timeout_ms = \"redis://u:hunter2@h\"").error(),
        World { variables: &[("PUZZLED_REDIS__PASWORD", PASSWORD)], ..World::default() }.error(),
        World { flags: &[("redis.timeout_ms", url)], ..World::default() }.error(),
        World { flags: &[("worker.name", url)], ..World::default() }.error(),
    ];
    for text in texts {
        assert!(!text.contains(PASSWORD), "{text}");
    }
    assert!(!file("redis.password = 8675309").error().contains("8675309"));
}

#[test]
fn the_listing_has_a_line_per_key_with_its_origin() {
    let listing = World { flags: &[("worker.threads", "4")], ..World::default() }.load().unwrap().listing();
    let line = listing.lines().find(|line| line.starts_with("worker.threads")).unwrap();
    assert!(
        line.starts_with("worker.threads = 4 ") && line.ends_with("  # command line flag for worker.threads")
    );
    assert_eq!(listing.lines().count(), World::default().load().unwrap().settings.len());
}

#[test]
fn a_broken_file_gives_line_and_reason_without_the_line_itself() {
    let error = file("# fine\nredis.url = \"x").load().unwrap_err().to_string();
    assert!(
        error.contains("TOML: at line 2, column ") && !error.contains('|') && !error.contains('\n'),
        "{error}"
    );
}

#[test]
fn a_file_that_is_asked_for_must_exist() {
    let folder = tempfile::tempdir().unwrap();
    let (absent, other) = (folder.path().join("absent.toml"), folder.path().join("other.toml"));
    std::fs::write(&other, "worker.threads = 9").unwrap();
    let load = |file: Option<&Path>, named: &str| {
        load_from::<Role>(file, &absent, variables(&[("PUZZLED_CONFIG", named)]), &[])
    };
    assert_eq!(load(None, "").unwrap().value, Role::default());
    assert_eq!(load(None, other.to_str().unwrap()).unwrap().value.worker.threads, 9);
    assert_eq!(load(Some(&other), absent.to_str().unwrap()).unwrap().value.worker.threads, 9);
    let error = load(Some(&absent), "").unwrap_err().to_string();
    assert!(error.contains("absent.toml (named on the command line)"), "{error}");
    let error = load(None, absent.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("absent.toml (named by PUZZLED_CONFIG)"), "{error}");
}

#[test]
fn the_variables_of_kubernetes_services_are_not_settings() {
    let links = [
        ("PUZZLED_REDIS_SERVICE_HOST", "10.0.0.7"),
        ("PUZZLED_REDIS_SERVICE_PORT", "6379"),
        ("PUZZLED_REDIS_SERVICE_PORT_REDIS", "6379"),
        ("PUZZLED_REDIS_PORT", "tcp://10.0.0.7:6379"),
        ("PUZZLED_REDIS_PORT_6379_TCP", "tcp://10.0.0.7:6379"),
        ("PUZZLED_REDIS_PORT_6379_TCP_PROTO", "tcp"),
        ("PUZZLED_PORT_6379_TCP_ADDR", "10.0.0.7"),
    ];
    assert_eq!(World { variables: &links, ..World::default() }.value(), Role::default());
    for near in [("PUZZLED_REDIS_PORT", "6379"), ("PUZZLED_REDIS_PORT_X", "1"), ("PUZZLED_SERVICE", "x")] {
        assert!(World { variables: &[near], ..World::default() }.load().is_err(), "{near:?}");
    }
}

#[cfg(unix)]
#[test]
fn bytes_that_are_not_text_are_refused_without_being_shown() {
    use std::os::unix::ffi::OsStringExt;
    let bytes = OsString::from_vec(b"hunter2\xff".to_vec());
    let variables = [(OsString::from("PUZZLED_REDIS__PASSWORD"), bytes)];
    let error = load_from::<Role>(None, Path::new("absent"), variables.into_iter(), &[]).unwrap_err();
    assert_eq!(error.to_string(), "the environment variable PUZZLED_REDIS__PASSWORD is not valid UTF-8");
}

#[test]
fn a_type_that_cannot_be_settings_says_so() {
    #[derive(Debug, Default, Serialize, Deserialize)]
    struct Bad {
        worker: Inner,
    }
    #[derive(Debug, Default, Serialize, Deserialize)]
    struct Inner {
        limit: Option<u32>,
    }
    let error = load_from::<Bad>(None, Path::new("absent"), variables(&[]), &[]).unwrap_err().to_string();
    assert!(error.contains("worker: this type") || error.contains("limit: an Option"), "{error}");
}

#[test]
fn edit_distances() {
    for (a, b, distance) in
        [("", "", 0), ("", "ab", 2), ("url", "ulr", 2), ("kitten", "sitting", 3), ("a", "a", 0)]
    {
        assert_eq!((edit_distance(a, b), edit_distance(b, a)), (distance, distance), "{a} {b}");
    }
}
