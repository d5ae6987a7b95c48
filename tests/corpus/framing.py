"""Group H: requests that are not decent HTTP, as bytes. All carry a valid key unless they say
otherwise: what is refused is refused whoever sends it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.corpus.wire import request

OPEN = "Transfer-Encoding: chunked"
CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Case:
    """status and code of the refusal that ends the connection."""

    id: str
    raw: bytes
    status: int = 400
    code: str = "invalid_request"


def chunked(body: bytes, *headers: str) -> bytes:
    return request(*headers, OPEN, body=body, sized=False)


def in_line(line: str) -> bytes:
    return request(line=line)


def at_host(*hosts: str) -> bytes:
    return request(*hosts, host=None)


def lengths() -> list[Case]:
    """H1 to H5: how long is the body?"""
    wrong = ["+2", "-1", "0x2", "2,2", "2 2", "", "1e3", "\uff12", "9" * 30, "2;", "\x0b2", "two"]
    both = [("Content-Length: 2", OPEN), (OPEN, "Content-Length: 2")]
    return [
        *(
            Case(f"H1 both {n}", request(*b, body=b"0\r\n\r\n", sized=False))
            for n, b in enumerate(both)
        ),
        Case("H3 twice the same", request("Content-Length: 66")),
        Case("H3 twice, differing", request("Content-Length: 2")),
        *(
            Case(f"H4 H5 {text[:9]!r}", request(f"Content-Length: {text}".encode(), sized=False))
            for text in wrong
        ),
    ]


def codings() -> list[Case]:
    """H10: how is the body wrapped?"""
    wrong = [
        *("xchunked", "chunked, identity", "identity, chunked", "gzip, chunked", "Chunked\t"),
        *("identity", "chunked;q=1", "", "\x0bchunked", "chunked,", ",chunked", "chunked chunked"),
        "chunked\r\nTransfer-Encoding: chunked",
        "chunked\r\nTransfer-Encoding: identity",
        "gzip\r\nTransfer-Encoding: chunked",
    ]
    body = b"2\r\n{}\r\n0\r\n\r\n"
    cases = [
        Case(f"H10 {text!r}", request(f"Transfer-Encoding: {text}", body=body, sized=False))
        for text in wrong
    ]
    old = request(OPEN, line=f"POST {CHAT} HTTP/1.0", body=body, sized=False)
    return [*cases, Case("H10 in HTTP/1.0", old)]


def chunks() -> list[Case]:
    """H11 and H12: chunks that are none."""
    bodies = {
        "H11 negative": b"-1\r\n{}\r\n0\r\n\r\n",
        "H11 with a sign": b"+2\r\n{}\r\n0\r\n\r\n",
        "H11 with 0x": b"0x2\r\n{}\r\n0\r\n\r\n",
        "H11 17 digits": b"1" * 17 + b"\r\n{}\r\n0\r\n\r\n",
        "H11 no size": b"\r\n{}\r\n0\r\n\r\n",
        "H11 a space before": b" 2\r\n{}\r\n0\r\n\r\n",
        "H11 a space behind": b"2 \r\n{}\r\n0\r\n\r\n",
        "H11 huge extension": b"2;" + b"a" * 1_000_000 + b"\r\n{}\r\n0\r\n\r\n",
        "H11 a line feed in the extension": b"2;a\nb\r\n{}\r\n0\r\n\r\n",
        "H12 no end of line": b"2\r\n{}0\r\n\r\n",
        "H12 something else": b"2\r\n{}xx0\r\n\r\n",
        "H12 bare line feeds": b"2\n{}\n0\n\n",
        "H12 longer than it says": b"1\r\n{}\r\n0\r\n\r\n",
        "H13 trailers without end": b"2\r\n{}\r\n0\r\n" + b"X-A: b\r\n" * 100_000,
    }
    return [Case(name, chunked(body)) for name, body in bodies.items()]


def lines() -> list[Case]:
    """H15 and H16: where does a line end, and what is a header?"""
    good = request()
    headers = {
        "H16 folded": "X-A: b\r\n c",
        "H16 folded by a tab": "X-A: b\r\n\tc",
        "H16 folded at once": "X-A:\r\n b",
        "a space before the colon": "X-A : b",
        "no name": ": b",
        "no colon": "X-A",
        "a bracket in the name": "X(A: b",
        "letters of other scripts in the name": "X-é: b",
        "NUL in the value": "X-A: b\0c",
        "a bell in the value": "X-A: b\x07c",
        "a carriage return in the value": "X-A: b\rc",
    }
    head, _, body = good.partition(b"\r\n\r\n")
    return [
        Case("H15 everywhere", good.replace(b"\r\n", b"\n")),
        Case("H15 after the first line", good.replace(b"\r\n", b"\n", 1)),
        Case("H15 after a header", good.replace(b"127.0.0.1\r\n", b"127.0.0.1\n")),
        Case("H15 at the head's end", head + b"\r\n\n" + body),
        Case("a space before the first header", good.replace(b"\r\nHost", b"\r\n Host")),
        *(Case(name, request(text)) for name, text in headers.items()),
    ]


def sizes() -> list[Case]:
    """H19 to H21 and H39: too much of it."""
    many = [f"X-{number}: a" for number in range(2_000)]
    line = "POST /v1/chat/completions{} HTTP/1.1"
    large, long = (431, "headers_too_large"), (414, "uri_too_long")
    return [
        Case("H19 100 KB", request("X-A: " + "a" * 100_000), *large),
        Case("H19 9 KB", request("X-A: " + "a" * 9_000), *large),
        Case("H19 33 KB in all", request(*(f"X-{n}: {'a' * 4_000}" for n in range(9))), *large),
        Case("H19 a long name", request("X" * 9_000 + ": a"), *large),
        Case("H19 without end", b"GET / HTTP/1.1\r\nX-A: " + b"a" * 1_000_000, *large),
        Case("H19 A16 a key of 1 MB", request(key="k" * 1_000_000), *large),
        Case("H20 2,000", request(*many), *large),
        Case("H20 99 and ours", request(*many[:99]), *large),
        Case("H20 500 copies", request(*["X-A: a"] * 500), *large),
        Case("H20 with underscores", request(*["X_A: " + "a" * 99] * 500), *large),
        Case("H21 64 KB", request(line=line.format("/" + "a" * 65_536)), *long),
        Case("H21 9 KB", request(line=line.format("/" + "a" * 9_000)), *long),
        Case("H39 a query of 1 MB", request(line=line.format("?" + "a" * 1_000_000)), *long),
        Case("H39 100,000 parameters", request(line=line.format("?" + "a=1&" * 100_000)), *long),
        Case("H39 a percent sign", request(line=line.format("?a=%"))),
        Case("H39 one digit", request(line=line.format("?a=%4"))),
        Case("H39 no digits", request(line=line.format("?a=%zz"))),
    ]


def hosts() -> list[Case]:
    """H22 and H23: who are we?"""
    wrong = {
        "H22 none": (),
        "H22 two": ("Host: 127.0.0.1", "Host: 127.0.0.1"),
        "H22 two, differing": ("Host: 127.0.0.1", "Host: gateway.example"),
        "H22 a path": ("Host: a/../x",),
        "H22 somebody": ("Host: me@127.0.0.1",),
        "H22 a control": ("Host: 127.0.0.1\t\x7f",),
        "H22 a comma": ("Host: 127.0.0.1,gateway.example",),
        "H22 a space": ("Host: 127.0.0.1 gateway.example",),
        "H22 empty": ("Host:",),
        "H22 no number": ("Host: 127.0.0.1:http",),
        "H22 two ports": ("Host: 127.0.0.1:80:80",),
        "H22 half an IPv6 address": ("Host: [::1",),
        "H23 another": ("Host: evil.example",),
        "H23 ours and more": ("Host: gateway.example.evil.example",),
        "H23 before ours": ("Host: notgateway.example",),
        "H23 another address": ("Host: 169.254.169.254",),
    }
    cases = [Case(name, at_host(*found), 400, "invalid_host") for name, found in wrong.items()]
    control = next(case for case in cases if case.id == "H22 a control")
    cases.remove(control)  # no parser reads so far as to find out that it is the host
    return [*cases, Case(control.id, control.raw)]


def first_lines() -> list[Case]:
    """H24 and H29: what is asked for, and in which language?"""
    wrong = {
        "H24 absolute": "POST http://other/v1/models HTTP/1.1",
        "H24 ours": "POST http://127.0.0.1/v1/chat/completions HTTP/1.1",
        "H24 asterisk": "OPTIONS * HTTP/1.1",
        "H24 authority": "CONNECT other:443 HTTP/1.1",
        "H24 no slash": "POST v1/chat/completions HTTP/1.1",
        "H24 a fragment": "POST /v1/chat/completions#a HTTP/1.1",
        "H24 a space": "POST /v1/chat completions HTTP/1.1",
        "H24 a NUL": "POST /v1/chat\0 HTTP/1.1",
        "H24 another script": "POST /v1/chât HTTP/1.1",
        "H29 0.9 by name": "POST /v1/chat/completions HTTP/0.9",
        "H29 0.9": "POST /v1/chat/completions",
        "H29 1.2": "POST /v1/chat/completions HTTP/1.2",
        "H29 2.0": "POST /v1/chat/completions HTTP/2.0",
        "H29 3.0": "POST /v1/chat/completions HTTP/3.0",
        "H29 two digits": "POST /v1/chat/completions HTTP/1.10",
        "H29 small letters": "POST /v1/chat/completions http/1.1",
        "H29 HTTP/2's first words": "PRI * HTTP/2.0",
        "a method in small letters": "post /v1/chat/completions HTTP/1.1",
        "no such method": "BREW /v1/chat/completions HTTP/1.1",
        "IP27 PROXY": "PROXY TCP4 203.0.113.7 127.0.0.1 1 2",
        "IP27 PROXY UNKNOWN": "PROXY UNKNOWN",
    }
    tls = bytes.fromhex("16030100c8010000c40303") + b"\x5a" * 200
    proxy = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xcb\0\x71\x07\x7f\0\0\1\0\1\0\2"
    return [
        *(Case(name, in_line(text)) for name, text in wrong.items()),
        Case("IP27 PROXY, binary", proxy + request()),
        Case("H37 TLS", tls),
        Case("H37 noise", bytes(range(256))),
        Case("H36", request("Expect: other"), 417, "expectation_failed"),
        Case("H36 and more", request("Expect: 100-continue, other"), 417, "expectation_failed"),
    ]


CASES = [
    *lengths(),
    *codings(),
    *chunks(),
    *lines(),
    *sizes(),
    *hosts(),
    *first_lines(),
]
