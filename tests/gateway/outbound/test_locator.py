"""Which addresses are read at all, as data: every way to write one that two parsers read in two."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from gateway.outbound.locator import BadAddress, next_locator, read_locator
from gateway.outbound.permitted_addresses import read_networks

READ = {
    "http://example.com/a.pdf": "http://example.com/a.pdf",
    "https://EXAMPLE.com:443/x?y=%2f%41&z#part": "https://EXAMPLE.com/x?y=%2f%41&z",
    "HTTPS://example.com": "https://example.com",
    "http://example.com.": "http://example.com.",
    "http://xn--bcher-kva.example/": "http://xn--bcher-kva.example/",
    "http://a_b.example/": "http://a_b.example/",
    "http://example.com/ü": "http://example.com/%C3%BC",
    "http://8.8.8.8/": "http://8.8.8.8/",
    "https://[2606:4700:0:0::1111]/": "https://[2606:4700:0:0::1111]/",
    "https://[::ffff:8.8.8.8]/": "https://[::ffff:8.8.8.8]/",
}
REFUSED = [
    # Loopback and its like, in every way to write a number.
    *("http://127.0.0.1/", "http://127.0.0.1:80", "http://127.0.0.1#@example.com/"),
    *("http://127.1/", "http://127.0.1/", "http://2130706433/", "http://0x7f000001/"),
    *("http://0x7f.0.0.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://017700000001/"),
    *("http://0127.0.0.1/", "http://127.0.0.01/", "http://127.0.0.1./", "http://1.2.3/"),
    *("http://0/", "http://0.0.0.0/", "http://0x/", "http://00/", "http://256.1.1.1/"),
    *("http://1.2.3.4.5/", "http://999999999999/", "http://example.0x1/", "http://example.1/"),
    *("http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/", "http://[::127.0.0.1]/"),
    *("http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[::ffff:0:127.0.0.1]/"),
    *("http://[64:ff9b::127.0.0.1]/", "http://[2002:7f00:1::]/", "http://[fd00:ec2::254]/"),
    *("http://[fe80::1]/", "http://[fe80::1%25eth0]/", "http://[::1%250]/", "http://[v1.x]/"),
    *("http://169.254.169.254/latest/meta-data/", "http://2852039166/", "http://0xa9fea9fe/"),
    *("http://10.0.0.1/", "http://192.168.1.1/", "http://172.16.0.1/", "http://100.64.0.1/"),
    *("http://224.0.0.1/", "http://255.255.255.255/", "http://168.63.129.16/"),
    # Users, and what looks like them.
    *("http://user:pw@example.com/", "http://user@example.com/", "http://@example.com/"),
    *("http://example.com@127.0.0.1/", "http://:@example.com/", "http://a%40b@example.com/"),
    # Ports.
    *("http://8.8.8.8:22/", "http://8.8.8.8:8080/", "http://example.com:0/"),
    *("http://example.com:65536/", "http://example.com:-1/", "http://example.com:+80/"),
    *("http://example.com:80:80/", "http://example.com:8\uff10/", "http://example.com:80a/"),
    # Other schemes.
    *("ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "data:text/plain,x"),
    *("//example.com/", "example.com/a.pdf", "http:example.com", "http:/example.com/", ""),
    *("javascript:alert(1)", "https:///example.com", "http://", "http:///x", "http://./"),
    # Characters that are read differently, or smuggled.
    *("http://example.com\\@127.0.0.1/", "http://127.0.0.1\\@example.com/", "http:\\\\example.com"),
    *("http://exam\tple.com/", "http://exa\nmple.com/", "http://example.com/\r\nHost: x"),
    *(" http://example.com/", "http://example.com/ ", "http://example.com/a b", "http://a\0b/"),
    *("http://ex%61mple.com/", "http://example.com%00.evil.example/", "http://a%2eb/"),
    *("http://\uff11\uff12\uff17.0.0.1/", "http://①②⑦.0.0.1/", "http://127。0。0。1/"),
    *(
        "http://exa\xadmple.com/",
        "http://\uff45xample.com/",
        "http://bücher.example/",
        "http://example.com\u2044x/",
    ),
    *(
        "http://a..b/",
        "http://.a/",
        "http://-a.example/",
        "http://a,b/",
        "http://a;b/",
        "http://*/",
    ),
    *("http://[::1", "http://::1]/", "http://[]/", "http://[127.0.0.1]/", "http://1[::1]/"),
    "http://" + "a" * 64 + ".example/",
    "http://" + ".".join(["a" * 60] * 5) + "/",
    "http://example.com/" + "a" * 9_000,
]


@pytest.mark.parametrize("text", READ)
def test_plain_addresses_are_read_as_they_are(text: str) -> None:
    assert str(read_locator(text, ())) == READ[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:60]))
def test_addresses_with_two_meanings_or_a_bad_one_are_refused(text: str) -> None:
    with pytest.raises(BadAddress):
        read_locator(text, ())


@pytest.mark.parametrize(
    "location",
    [
        *("http://127.0.0.1/", "//127.0.0.1/", "//[::1]/", "ftp://example.com/", "file:///x"),
        *("http://user@example.com/", "\\\\127.0.0.1\\x", "http://example.com/a b", "//0x7f.1"),
        *("https://10.0.0.1:443/", "http://2130706433", "javascript:x", "http://", "//:80/"),
    ],
)
def test_redirects_are_judged_like_any_address(location: str) -> None:
    with pytest.raises(BadAddress):
        next_locator(URL("https://example.com/a/b?c"), location, ())


@pytest.mark.parametrize("location", ["http://example.com/", "http://other.example:80/x"])
def test_no_redirect_leads_from_https_to_http(location: str) -> None:
    with pytest.raises(BadAddress):
        next_locator(URL("https://example.com/a/b?c"), location, ())


def test_redirects_may_lead_from_http_to_https() -> None:
    found = next_locator(URL("http://example.com/a"), "https://example.com/b", ())

    assert str(found) == "https://example.com/b"


def test_redirects_may_be_relative() -> None:
    at = URL("https://example.com/a/b?c")

    assert str(next_locator(at, "../d", ())) == "https://example.com/d"
    assert str(next_locator(at, "//other.example/e", ())) == "https://other.example/e"


def test_a_number_in_an_allowed_network_is_read_at_any_port() -> None:
    allowed = read_networks(["127.0.0.1/32"])

    assert read_locator("http://127.0.0.1:9000/x", allowed).port == 9000
    with pytest.raises(BadAddress):
        read_locator("http://127.0.0.2:9000/x", allowed)


@given(st.text(max_size=60).map("http://{}".format) | st.text(max_size=60))
def test_no_text_makes_the_reader_stumble(text: str) -> None:
    try:
        url = read_locator(text, ())
    except BadAddress:
        return
    assert url.scheme in ("http", "https")
    assert url.user is None
