use super::*;

/// Ways to write this machine, and the places clouds hand out credentials at.
const REFUSED: &[&str] = &[
    // Loopback, plainly and under other names.
    "http://127.0.0.1/",
    "http://127.0.0.1:80/",
    "http://127.0.0.1:8123/",
    "https://127.0.0.1:443/",
    "http://127.0.0.2/",
    "http://127.1.1.1/",
    "http://127.127.127.127/",
    "http://127.255.255.254/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://LocalHost:9000/",
    "http://localhost./",
    "http://localhost.localdomain/",
    "http://a.localhost/",
    "http://a.b.localhost/",
    "http://ip6-localhost/",
    "http://ip6-loopback/",
    // Other bases and lengths of the same number.
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7F000001/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://0177.0.0.01/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://0x7f.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.000.000.001/",
    "http://0177.1/",
    "http://0x7f.0.1/",
    "http://2130706434/",
    "http://3232235521@127.0.0.1/",
    // Percent-encoded and full-width digits become the same host.
    "http://%31%32%37.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://１２７.０.０.１/",
    "http://127。0。0。1/",
    "http://ⓛocalhost/",
    "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    // Credentials, ports, paths and fragments that look like another host.
    "http://example.com@127.0.0.1/",
    "http://example.com:80@127.0.0.1:8123/",
    "http://u:p@localhost/",
    "http://127.0.0.1#@example.com/",
    "http://127.0.0.1?@example.com/",
    "http://127.0.0.1/@example.com",
    "http://127.0.0.1\\@example.com/",
    "http:\\\\127.0.0.1\\x",
    "http:/127.0.0.1/",
    "http:127.0.0.1/",
    "http:///127.0.0.1/",
    "http://\t127.0.0.1/",
    "http://127.0.0.1\t/",
    // Nothing at all also reaches this machine.
    "http://0/",
    "http://0.0.0.0/",
    "http://0.0.0.0:9000/",
    "http://0x0/",
    "http://00000000/",
    "http://0.1.2.3/",
    "http://[::]/",
    "http://[::]:9000/",
    // IPv6.
    "http://[::1]/",
    "http://[0:0:0:0:0:0:0:1]/",
    "http://[0000::0001]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]/",
    "http://[::127.0.0.1]/",
    "http://[::7f00:1]/",
    "http://[64:ff9b::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[::ffff:0:127.0.0.1]/",
    "http://[::ffff:0.0.0.0]/",
    "http://[fe80::1]/",
    "http://[febf::1]/",
    "http://[ff02::1]/",
    // Metadata services.
    "http://169.254.169.254/",
    "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
    "http://169.254.169.254:80/computeMetadata/v1/",
    "http://2852039166/",
    "http://0xA9FEA9FE/",
    "http://0xa9.0xfe.0xa9.0xfe/",
    "http://0251.0376.0251.0376/",
    "http://169.254.43518/",
    "http://169.16689662/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::169.254.169.254]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://169.254.170.2/v2/credentials",
    "http://169.254.0.1/",
    "http://[fd00:ec2::254]/",
    "http://[fd00:0ec2:0:0:0:0:0:0254]/",
    "http://[fd00:ec2::253]/",
    "http://[fd20:ce::254]/",
    "http://metadata.google.internal/",
    "http://Metadata.Google.Internal./computeMetadata/v1/",
    "http://metadata/",
    "http://metadata.goog/",
    "http://instance-data/latest/meta-data/",
    "http://100.100.100.200/latest/meta-data/",
    "http://192.0.0.192/opc/v1/",
    "http://168.63.129.16/metadata/",
    "http://255.255.255.255/",
    "http://224.0.0.1/",
    // Not the web at all.
    "ftp://example.com/x",
    "file:///etc/passwd",
    "gopher://example.com/",
];

fn check(filter: &HostFilter, url: &str) -> bool {
    // What does not parse is never requested.
    Url::parse(url).is_ok_and(|url| filter.check(&url).is_ok())
}

#[test]
fn a_hundred_ways_inside_are_refused_once_users_write_urls() {
    let filter = HostFilter::new(None, true).unwrap();
    assert!(REFUSED.len() >= 100, "{}", REFUSED.len());
    for url in REFUSED {
        assert!(!check(&filter, url), "{url}");
    }
    for url in [
        "https://bucket.s3.eu-west-3.amazonaws.com/k",
        "http://10.0.0.7:9000/b/k",
        "http://192.168.1.2/",
        "http://[2001:db8::1]/",
        "http://8.8.8.8/",
        "http://localhost.example.com/",
        "http://metadata.example.com/",
        "http://127.0.0.1.example.com/",
    ] {
        assert!(check(&filter, url), "{url}");
    }
}

#[test]
fn the_owner_of_a_machine_may_read_it() {
    let filter = HostFilter::default();
    assert!(check(&filter, "http://127.0.0.1:9000/b/k"));
    assert!(!check(&filter, "file:///etc/passwd"));
}

#[test]
fn a_name_is_checked_again_when_it_is_resolved() {
    let filter = HostFilter::new(None, true).unwrap();
    let answer = |text: &str| filter.check_address("rebind.example.com", text.parse().unwrap());
    for address in ["127.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00:ec2::254", "0.0.0.0"] {
        let error = answer(address).unwrap_err();
        assert_eq!((error.kind(), error.code().number()), (SourceErrorKind::Denied, 491), "{address}");
        assert!(error.to_string().contains("rebind.example.com"), "{error}");
    }
    assert!(answer("10.0.0.7").is_ok());
}

#[test]
fn the_list_of_hosts() {
    let lines = ["s3.amazonaws.com", "*.example.com", "127.0.0.1:9000", "Minio"].map(str::to_owned).to_vec();
    let filter = HostFilter::new(Some(lines), true).unwrap();
    for (url, allowed) in [
        ("https://s3.amazonaws.com/b/k", true),
        ("https://S3.amazonaws.com./b/k", true),
        ("https://b.s3.amazonaws.com/k", false),
        ("https://a.example.com/", true),
        ("https://a.b.example.com:8443/", true),
        ("https://example.com/", false),
        ("https://a.example.com.evil.org/", false),
        ("http://127.0.0.1:9000/b/k", true),
        ("http://127.0.0.1:9001/b/k", false),
        ("http://minio:9000/b/k", true),
        ("http://localhost:9000/", false),
    ] {
        assert_eq!(check(&filter, url), allowed, "{url}");
    }
    assert!(filter.check_address("minio", "127.0.0.1".parse().unwrap()).is_ok(), "named by the operator");
    assert!(filter.check_address("a.example.com", "127.0.0.1".parse().unwrap()).is_err(), "only a pattern");
    let nobody = HostFilter::new(Some(Vec::new()), false).unwrap();
    assert!(!check(&nobody, "https://s3.amazonaws.com/"));
    for line in ["", "http://h/", "u@h", "a b"] {
        assert!(HostFilter::new(Some(vec![line.to_owned()]), false).is_err(), "{line}");
    }
}
