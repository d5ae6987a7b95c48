"""The environment is read with its ranges, and a wrong value is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.config.env import (
    SettingError,
    read_bool,
    read_choices,
    read_hosts,
    read_int,
    read_list,
    read_nusd,
    read_origins,
    read_prefixes,
    read_secret,
    read_secrets,
    read_url,
    unknown_variables,
)

NAME = "TOLLHOUSE_THING"
LOCAL = "http://localhost:5173"


@pytest.mark.parametrize(
    ("text", "meant"), [("1", True), ("YES", True), ("off", False), ("", False)]
)
def test_yes_and_no_have_several_spellings(
    monkeypatch: pytest.MonkeyPatch, text: str, meant: bool
) -> None:
    monkeypatch.setenv(NAME, text)

    assert read_bool(NAME, not meant) is meant


def test_several_choices_are_each_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "a, b,")
    assert read_choices(NAME, ("a", "b", "c")) == ["a", "b"]

    monkeypatch.setenv(NAME, "a,d")
    with pytest.raises(SettingError, match=NAME):
        read_choices(NAME, ("a", "b", "c"))


def test_what_is_not_set_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)

    assert read_bool(NAME, True) is True
    assert read_int(NAME, 7, least=1, most=9) == 7
    assert read_url(NAME) == ""
    assert read_list(NAME) == []


@pytest.mark.parametrize("text", ["soon", "1.5", "0", "10", "1e0"])
def test_a_number_out_of_range_stops_the_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(SettingError, match=NAME):
        read_int(NAME, 7, least=1, most=9)


@pytest.mark.parametrize(
    ("text", "nusd"), [("0", 0), ("0.001", 1_000_000), ("5", 5_000_000_000), ("", 2_000_000)]
)
def test_an_amount_is_read_exactly(monkeypatch: pytest.MonkeyPatch, text: str, nusd: int) -> None:
    monkeypatch.setenv(NAME, text)

    assert read_nusd(NAME, "0.002", most="5") == nusd


@pytest.mark.parametrize("text", ["free", "-1", "5.01", "0.0000000001", "1e-3", "$1"])
def test_an_amount_that_cannot_be_a_fee_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(SettingError, match=NAME):
        read_nusd(NAME, "0.002", most="5")


@pytest.mark.parametrize(
    "text", ["gw.example.com", "ftp://x.example", "https://", "https://x.example/path", "https:/x"]
)
def test_an_address_that_is_none_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(SettingError, match=NAME):
        read_url(NAME)


def test_an_address_loses_its_last_slash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "https://gw.example.com:8443/")

    assert read_url(NAME) == "https://gw.example.com:8443"


def test_a_list_is_trimmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, " a, ,b ,")

    assert read_list(NAME) == ["a", "b"]


def test_a_secret_comes_from_a_file_when_one_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("first,second\n")
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv(NAME, "not this")

    assert read_secret(NAME) == "first,second"
    assert read_secrets(NAME) == ["first", "second"]


def test_a_secret_file_that_is_gone_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"{NAME}_FILE", str(tmp_path / "gone"))

    with pytest.raises(SettingError, match=f"{NAME}_FILE"):
        read_secret(NAME)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", []),
        ("https://App.example.com/, http://localhost:5173", ["https://app.example.com", LOCAL]),
        ("http://[::1]:8080", ["http://[::1]:8080"]),
        ("https://app.example.com, *", ["*"]),
    ],
)
def test_origins_are_read_as_browsers_write_them(
    monkeypatch: pytest.MonkeyPatch, text: str, meant: list[str]
) -> None:
    monkeypatch.setenv(NAME, text)

    assert read_origins(NAME) == meant


@pytest.mark.parametrize(
    "text", ["app.example.com", "https://", "https://a.example/page", "null", "https://*.a.example"]
)
def test_what_is_no_origin_stops_the_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(SettingError, match=NAME):
        read_origins(NAME)


def test_prefixes_of_keys_are_short_words_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFIXES", "acme_, sk-, acme_")
    found = read_prefixes("PREFIXES", ["sk-gw-"])
    monkeypatch.setenv("PREFIXES", "")
    usual = read_prefixes("PREFIXES", ["sk-gw-"])

    assert (found, usual) == (["acme_", "sk-"], ["sk-gw-"])
    for wrong in ("a b", "1st-", "a" * 17, "schlüssel-"):
        monkeypatch.setenv("PREFIXES", wrong)
        with pytest.raises(SettingError, match="PREFIXES"):
            read_prefixes("PREFIXES", ["sk-gw-"])


@pytest.mark.parametrize(
    "text",
    ["gw.example.com", "http://[::1", "https://gw.example.com:99999", "https://a@gw.example.com"],
)
def test_what_is_no_url_stops_the_start(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(NAME, text)

    with pytest.raises(SettingError, match=f"{NAME} must look like https"):
        read_url(NAME)


def test_hosts_are_names_and_patterns_without_scheme_and_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(NAME, "gw.example.com, .example.org,10.0.0.7,[::1],*")
    assert len(read_hosts(NAME)) == 5

    for text in ("https://gw.example.com", "gw.example.com:8000", "gw.example.com/v1", "two words"):
        monkeypatch.setenv(NAME, text)
        with pytest.raises(SettingError, match=f"{NAME} must have host names"):
            read_hosts(NAME)


def test_a_variable_that_is_no_setting_is_named_with_the_one_that_was_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TOLLHOUSE_METRICS_PORT", raising=False)
    read_int("TOLLHOUSE_METRICS_PORT", 0, least=0, most=9)
    read_secret("TOLLHOUSE_METRICS_TOKEN")
    of_kubernetes = {
        "TOLLHOUSE_SERVICE_HOST": "10.0.0.1",
        "TOLLHOUSE_REDIS_PORT": "tcp://10.0.0.1:6379",
        "TOLLHOUSE_PORT_8000_TCP_ADDR": "10.0.0.1",
    }

    assert unknown_variables(
        {
            "TOLLHOUSE_METRIC_PORT": "1",
            "TOLLHOUSE_METRICS_PORT": "1",
            "TOLLHOUSE_METRICS_TOKEN_FILE": "/run/token",
            "TOLLHOUSE_THE_WEATHER": "fine",
            "HOME": "/root",
            **of_kubernetes,
        }
    ) == [
        "TOLLHOUSE_METRIC_PORT is not a setting. Did you mean TOLLHOUSE_METRICS_PORT?",
        "TOLLHOUSE_THE_WEATHER is not a setting. It has no effect.",
    ]
