//! Crowds of clients that are slow, idle or silent: none of them keeps another out.

use std::time::{Duration, Instant};

use server::{Limits, User};

use crate::client::{Client, Running, start_with};
use crate::code;

/// An INSERT of which two bytes of the body come and no more.
fn half_sent(running: &Running) -> Client {
    let mut client = Client::connect(running.address);
    let head =
        "POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n1\n";
    client.write(head.as_bytes());
    client
}

fn with_table(limits: Limits) -> Running {
    let running = start_with(vec![User::unnamed()], limits);
    running.run(&["CREATE TABLE t (a Int32) ENGINE MergeTree ORDER BY a"]);
    running
}

#[test]
fn bodies_that_do_not_come_hold_no_place() {
    let running = with_table(Limits { statements: 2, wait: Duration::from_secs(30), ..Limits::default() });
    let mut stalled: Vec<Client> = (0..20).map(|_| half_sent(&running)).collect();
    for _ in 0..5 {
        let started = Instant::now();
        assert_eq!(running.post("/", "SELECT 1").text(), "1\n");
        assert!(started.elapsed() < Duration::from_secs(10), "it waited for {:?}", started.elapsed());
    }
    for client in &mut stalled {
        client.write(b"2\n");
    }
    for client in &mut stalled {
        let answer = client.answer();
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(running.post("/", "SELECT count(), sum(a) FROM t").text(), "40\t60\n");
}

#[test]
fn a_long_statement_does_not_keep_a_short_one_out() {
    let running = with_table(Limits { statements: 1, wait: Duration::from_secs(60), ..Limits::default() });
    let mut long = Client::connect(running.address);
    long.send("POST", "/", &[], b"SELECT max(sipHash64(number)) FROM numbers(100000000000)");
    while running.database.figures().statements_running == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(running.post("/", "SELECT 1").text(), "1\n");
    assert_eq!(running.database.figures().statements_running, 1, "the long one still runs");
}

#[test]
fn a_body_that_only_trickles_is_ended_and_nothing_of_it_is_stored() {
    let limits = Limits { body_silence: Duration::from_secs(1), body_bytes_min: 1000, ..Limits::default() };
    let running = with_table(limits);
    let mut client = Client::connect(running.address);
    client.write(
        b"POST /?query=INSERT+INTO+t+FORMAT+CSV HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n",
    );
    let started = Instant::now();
    // Each byte comes long before a second of silence.
    let answer = std::thread::scope(|scope| {
        let mut sending = client.writer();
        scope.spawn(move || {
            for _ in 0..5000 {
                if std::io::Write::write_all(&mut sending, b"1\n").is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        client.answer()
    });
    assert_eq!((answer.status, code(&answer)), (408, Some("209")), "{}", answer.text());
    assert!(answer.text().contains("limits.body_bytes_min"), "{}", answer.text());
    assert!(started.elapsed() < Duration::from_secs(30));
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "0\n");
    let errors = "SELECT value >= 1 FROM system.errors WHERE name = 'SOCKET_TIMEOUT'";
    assert_eq!(running.post("/", errors).text(), "1\n");
}

#[test]
fn of_too_many_bodies_that_are_waited_for_the_one_that_waited_longest_ends() {
    let running = with_table(Limits { bodies_waiting: 2, ..Limits::default() });
    let mut first = half_sent(&running);
    let waiting = |bodies: &str| {
        for _ in 0..1000 {
            let metrics = running.ask("GET", "/metrics", &[], b"").text();
            if metrics.contains(&format!("gristmill_bodies_waiting {bodies}\n")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("there are never {bodies} bodies that are waited for");
    };
    waiting("1");
    let mut others = [half_sent(&running), half_sent(&running)];
    let answer = first.answer();
    assert_eq!((answer.status, code(&answer)), (503, Some("202")), "{}", answer.text());
    waiting("2");
    for client in &mut others {
        client.write(b"2\n");
        assert_eq!(client.answer().status, 200);
    }
    assert_eq!(running.post("/", "SELECT count() FROM t").text(), "4\n");
}

#[test]
fn a_new_connection_takes_the_place_of_the_one_that_has_been_idle_longest() {
    let running = with_table(Limits { connections: 4, ..Limits::default() });
    // One whose statement runs, one that is idle after an answer, two that have sent half a request.
    let mut works = half_sent(&running);
    let mut idle = Client::connect(running.address);
    idle.send("GET", "/ping", &[], b"");
    assert_eq!(idle.answer().status, 200);
    let mut halves: Vec<Client> = (0..8).map(|_| Client::connect(running.address)).collect();
    for half in &mut halves {
        half.write(b"GET /pi");
    }
    let started = Instant::now();
    for _ in 0..8 {
        assert_eq!(running.post("/", "SELECT 1").text(), "1\n");
    }
    assert!(
        started.elapsed() < Duration::from_secs(15),
        "{:?}: it waited for them to end",
        started.elapsed()
    );
    works.write(b"2\n");
    assert_eq!(works.answer().status, 200, "who works stays");
}
