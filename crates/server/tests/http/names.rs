//! Who may ask under which name, and what they see of others.

use engine::Config;
use server::{User, Verifier};

use crate::client::{Client, Running, start, start_as};
use crate::code;

fn named(running: &Running, version: &str, target: &str, headers: &str) -> (u16, String) {
    let mut client = Client::connect(running.address);
    let body = "CREATE TABLE IF NOT EXISTS pwned (a Int8) ENGINE Memory";
    let length = body.len();
    let head = format!("POST {target} HTTP/{version}\r\n{headers}Content-Length: {length}\r\n\r\n{body}");
    client.write(head.as_bytes());
    let answer = client.answer();
    (answer.status, answer.text())
}

#[test]
fn a_page_of_another_name_that_points_here_reaches_nothing() {
    let running = start();
    let port = running.address.port();
    let evil = format!(
        "Host: evil.example:{port}\r\nOrigin: http://evil.example:{port}\r\nSec-Fetch-Site: same-origin\r\n"
    );
    for target in ["/", "/query", "/play", "/metrics", "/?user=default", "/nothing"] {
        let (status, text) = named(&running, "1.1", target, &evil);
        assert_eq!(status, 403, "{target}: {text}");
        assert!(text.contains("Code: 497") && text.contains("host_names"), "{target}: {text}");
    }
    let (status, text) = named(&running, "1.1", "http://evil.example/", "Host: localhost\r\n");
    assert_eq!(status, 403, "{text}");
    assert_eq!(running.post("/", "EXISTS TABLE pwned").text(), "0\n");
    for (version, target, headers) in [
        ("1.1", "/", format!("Host: localhost:{port}\r\n")),
        ("1.1", "/", format!("Host: 127.0.0.1:{port}\r\n")),
        ("1.1", "/", format!("Host: [::1]:{port}\r\n")),
        ("1.1", "/", "Host: LOCALHOST.\r\n".to_owned()),
        ("1.0", "/", String::new()),
        ("1.1", "http://localhost/", "Host: localhost\r\n".to_owned()),
    ] {
        let (status, text) = named(&running, version, target, &headers);
        assert_eq!(status, 200, "{version} {target} {headers}: {text}");
    }
    let mut client = Client::connect(running.address);
    client.write(b"GET /ping HTTP/1.1\r\nHost: anything\r\n\r\n");
    assert_eq!(client.answer().text(), "Ok.\n", "whether it lives anybody may know");
    let errors = "SELECT value >= 6 FROM system.errors WHERE name = 'ACCESS_DENIED'";
    assert_eq!(running.post("/", errors).text(), "1\n");
    drop(running);
    let running = start_as(Config::default(), |server| server.host_names = vec!["*.example".to_owned()]);
    let same = "Host: db.example\r\nOrigin: http://db.example\r\n";
    assert_eq!(named(&running, "1.1", "/", same).0, 200);
}

fn users() -> Vec<User> {
    let random = host::SystemRandom::new().unwrap();
    let user = |name: &str, readonly, sees_all| {
        let verifier = Some(Verifier::new("geheim", &random));
        User { name: name.to_owned(), verifier, readonly, database: None, sees_all }
    };
    vec![User::unnamed(), user("reader", 1, false), user("auditor", 1, true)]
}

#[test]
fn a_reader_sees_its_own_statements_alone() {
    let running = start_as(Config::default(), |server| server.users = users());
    running.run(&["CREATE NAMED COLLECTION hidden_collection AS a = 'b'"]);
    let as_user = |user: &str, sql: &str| {
        running.ask(
            "POST",
            "/",
            &[("X-ClickHouse-User", user), ("X-ClickHouse-Key", "geheim")],
            sql.as_bytes(),
        )
    };
    assert_eq!(running.post("/?query_id=other", "SELECT 'hidden_literal', nosuch_column").status, 404);
    assert_eq!(as_user("reader", "SELECT 'own_literal'").text(), "own_literal\n");
    let mut long = Client::connect(running.address);
    long.send(
        "POST",
        "/?query_id=long",
        &[],
        b"SELECT max(sipHash64(number)), 'hidden_running' FROM numbers(100000000000)",
    );
    while running.database.figures().statements_running == 0 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let lists = [
        "SELECT * FROM system.query_log FORMAT Vertical",
        "SELECT * FROM system.processes FORMAT Vertical",
        "SHOW PROCESSLIST FORMAT Vertical",
        "SELECT * FROM system.errors FORMAT Vertical",
        "SELECT * FROM system.named_collections FORMAT Vertical",
        "SELECT * FROM system.loads FORMAT Vertical",
        "SHOW PROFILELIST",
        "SHOW LOAD",
        "SELECT * FROM system.part_log FORMAT Vertical",
        "SELECT * FROM system.exports FORMAT Vertical",
        "SELECT * FROM system.schema_inference_cache FORMAT Vertical",
    ];
    let all_of = |user: &str| -> String {
        lists
            .iter()
            .map(|sql| {
                let answer = as_user(user, sql);
                assert_eq!(answer.status, 200, "{user} {sql}: {}", answer.text());
                answer.text()
            })
            .collect()
    };
    let seen = all_of("reader");
    for hidden in ["hidden_literal", "hidden_running", "hidden_collection", "nosuch_column"] {
        assert!(!seen.contains(hidden), "{hidden}: {seen}");
    }
    assert!(seen.contains("own_literal") && seen.contains("UNKNOWN_IDENTIFIER"), "{seen}");
    // Nor does it learn of them by killing.
    for condition in ["query LIKE '%hidden_running%'", "query_id = 'long'"] {
        let killed = as_user("reader", &format!("KILL QUERY WHERE {condition} TEST"));
        assert_eq!((killed.status, killed.text().as_str()), (200, ""), "{condition}");
    }
    let seen = all_of("auditor");
    for shown in ["hidden_literal", "hidden_running", "hidden_collection", "nosuch_column", "own_literal"] {
        assert!(seen.contains(shown), "{shown}");
    }
    let killed = as_user("auditor", "KILL QUERY WHERE query_id = 'long'");
    assert_eq!((killed.status, code(&killed)), (403, Some("497")), "who only reads kills nothing of others");
}

#[test]
fn figures_are_for_anybody_or_for_whom_the_configuration_names() {
    let running = start_as(Config::default(), |server| {
        (server.users, server.metrics_users) = (users(), Some(vec!["auditor".to_owned()]));
    });
    let ask = |headers: &[(&str, &str)]| {
        let answer = running.ask("GET", "/metrics", headers, b"");
        (
            answer.status,
            answer.text().contains("gristmill_queries_total"),
            answer.header("www-authenticate").is_some(),
        )
    };
    let as_user = |user, password| ask(&[("X-ClickHouse-User", user), ("X-ClickHouse-Key", password)]);
    assert_eq!(as_user("auditor", "geheim"), (200, true, false));
    // Basic, as Prometheus sends it.
    assert_eq!(ask(&[("Authorization", "Basic YXVkaXRvcjpnZWhlaW0=")]), (200, true, false));
    assert_eq!(as_user("auditor", "wrong"), (401, false, true));
    assert_eq!(as_user("reader", "geheim"), (403, false, false));
    assert_eq!(ask(&[]), (403, false, false));
}
