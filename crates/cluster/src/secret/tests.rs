use std::sync::Arc;
use std::time::Duration;

use host::{SimHost, SimWorld};

use super::*;
use crate::identity::PeerConfig;

const PATH: &str = "/a/b";

fn server(id: u128, seed: u64, secret: Option<&str>) -> (Identity, SimWorld) {
    let (host, world) = SimHost::new(seed);
    let config = PeerConfig { secret: secret.map(str::to_owned), ..PeerConfig::default() };
    let parts = (Arc::clone(&host.clock), Arc::clone(&host.random));
    (Identity::new(id, &config, parts, host.disk.as_ref()).unwrap(), world)
}

#[test]
fn a_proof_counts_once_for_one_server_one_call_and_one_secret() {
    const SECRET: Option<&str> = Some("sixteen bytes and more");
    let ((from, _a), (to, _b)) = (server(1, 1, SECRET), server(2, 2, SECRET));
    let ((third, _c), (stranger, _d)) = (server(3, 3, SECRET), server(1, 4, Some("another secret, as long")));
    let seen = Seen::default();
    let proof = prove(&from, 2, PATH, b"first");
    let told = |result: Result<Proven, String>| result.unwrap_err();
    assert!(told(check(&to, &seen, &proof, "/a/c")).contains("secret"));
    let forged = proof.replace(&sum_of(b"first"), &sum_of(b"other"));
    assert!(told(check(&to, &seen, &forged, PATH)).contains("secret"));
    assert!(told(check(&third, &seen, &proof, PATH)).contains("another server"));
    let proven = check(&to, &seen, &proof, PATH).unwrap();
    assert!(proven.from == 1 && proven.is_for(b"first") && !proven.is_for(b"other"));
    assert!(told(check(&to, &seen, &proof, PATH)).contains("before"));
    assert!(told(check(&to, &seen, &prove(&stranger, 2, PATH, b"x"), PATH)).contains("secret"));
    for proof in ["", ";", "1;1;2;0;0;00;", "9;1;2;0;0;00;00", ";;;;;;", "1;z;2;0;0;00;aa", &"é".repeat(40)]
    {
        assert!(check(&to, &seen, proof, PATH).is_err(), "{proof}");
    }
}

#[test]
fn an_old_proof_does_not_count() {
    let ((from, _a), (to, _b)) = (server(1, 1, None), server(2, 2, None));
    let (early, late) = (prove(&from, 2, PATH, b""), prove(&from, 2, PATH, b""));
    to.clock.sleep(Duration::from_millis(FRESH_MS - 1000));
    assert!(check(&to, &Seen::default(), &early, PATH).is_ok());
    to.clock.sleep(Duration::from_millis(2000));
    assert!(check(&to, &Seen::default(), &late, PATH).unwrap_err().contains("31 s away"));
}

#[test]
fn what_others_can_reach_has_a_secret() {
    let (host, _world) = SimHost::new(1);
    let made = |listen: &str, secret: Option<&str>| {
        let config = PeerConfig {
            listen: Some(listen.parse().unwrap()),
            secret: secret.map(str::to_owned),
            ..PeerConfig::default()
        };
        Identity::new(1, &config, (Arc::clone(&host.clock), Arc::clone(&host.random)), host.disk.as_ref())
    };
    assert!(made("0.0.0.0:0", None).is_err());
    assert!(made("0.0.0.0:0", Some("short")).is_err());
    assert!(made("127.0.0.1:0", None).is_ok());
    let me = made("0.0.0.0:0", Some("sixteen bytes and more")).unwrap();
    assert!(
        me.is_private("127.0.0.1:9500") && me.is_private("[::1]:9500") && !me.is_private("10.0.0.7:9500")
    );
}
