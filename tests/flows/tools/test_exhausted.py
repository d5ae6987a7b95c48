"""Money that runs out between the rounds of a call with server tools: what is left pays for a last
round without tools, and no call costs more than there is."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import pytest

from gateway.core.money import format_usd
from tests.flows.caller import Answer, Caller
from tests.flows.messages.asking import Messenger, message_of, text_of
from tests.flows.responses.asking import respond, response_of
from tests.flows.site import NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.tools.asking import MODELS, reason_of, script, statuses, upstream_nusd
from tests.support.waiting import wait_for_a_day_that_lasts

PLUGINS = [{"id": "datetime"}]
# How each format says that an answer is complete, and that it is not.
ENDS = {
    "chat": ("stop", "length"),
    "messages": ("end_turn", "max_tokens"),
    "responses": ("completed", "incomplete"),
}
LIMITED = ("balance", "budget")


class Way(NamedTuple):
    """How a model is asked."""

    model: str
    form: str
    stream: bool

    def ask(self, caller: Caller, *, rounds: int, max_tokens: int) -> Answer:
        prompt = script("{}", rounds=rounds)
        members: dict[str, Any] = {"plugins": PLUGINS, "stream": self.stream, "model": self.model}
        if self.form == "responses":
            return respond(caller, prompt, max_output_tokens=max_tokens, **members)
        if self.form == "messages":
            return Messenger.of(caller).ask(prompt, max_tokens=max_tokens, **members)
        return caller.ask(prompt, max_tokens=max_tokens, **members)

    def read(self, answer: Answer) -> tuple[str, str]:
        """Return the text of an answer, and how it ended."""
        assert answer.status == 200, answer.body
        if self.form == "responses":
            response = response_of(answer)
            return response.output_text, str(response.status)
        if self.form == "messages":
            message = message_of(answer)
            return text_of(message), str(message["stop_reason"])
        if self.stream:
            return answer.text, reason_of(answer)
        return answer.json["choices"][0]["message"]["content"] or "", reason_of(answer)


PAIRS = enumerate(product(MODELS, ENDS))
WAYS = [Way(model, form, stream=bool(number % 2)) for number, (model, form) in PAIRS]


@pytest.fixture(autouse=True)
def one_day() -> None:
    wait_for_a_day_that_lasts()


def tokens(count: int) -> str:
    return "".join(f"tok{n} " for n in range(count))


def caller_with(site: Site, limited: str, nusd: int) -> Caller:
    """Return a caller who may spend this much, by the balance, a budget or a limit rule."""
    if limited == "balance":
        return site.caller(credit_nusd=nusd)
    if limited == "budget":
        return site.limited_caller(daily_limit_nusd=nusd)
    caller = site.caller()
    rule = ["--metric", "cost", "--maximum", format_usd(nusd), "--period", "day"]
    arguments = ["--key", caller.key_id, *rule]
    site.office.do("command", name="set_limit_rule", arguments=arguments)
    return caller


def hold_nusd(site: Site, way: Way, **asked: int) -> int:
    """Return what is set aside in all for such a call of somebody with money."""
    return int(site.record(way.ask(site.caller(), **asked).call_id)["hold_nusd"])


class Paid:
    """A call whose model wants a tool in each round, of a caller who may spend this much."""

    def __init__(
        self, site: Site, way: Way, limited: str, nusd: int, *, max_tokens: int, rounds: int = 9
    ) -> None:
        self._site, self._nusd = site, nusd
        self._caller = caller_with(site, limited, nusd)
        self._credit_nusd = nusd if limited == "balance" else NUSD_PER_USD
        self.answer = way.ask(self._caller, rounds=rounds, max_tokens=max_tokens)

    def assert_exact(self, *, rounds: int) -> None:
        """Assert that the call had these rounds and cost what the provider counted."""
        record = self._site.record(self.answer.call_id)
        assert [one["round"] for one in record["attempts"]] == [*range(1, rounds + 1)]
        assert statuses(record) == ["ok"]
        assert (record["status"], record["charge_basis"]) == ("ok", "usage")
        charge_nusd = upstream_nusd(self._site, self.answer.call_id)
        assert (record["charge_nusd"], record["absorbed_nusd"]) == (charge_nusd, 0)
        assert charge_nusd <= record["hold_nusd"] <= self._nusd
        assert self._site.balance_nusd(self._caller) == self._credit_nusd - charge_nusd


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(map(str, way)))
def test_what_is_left_pays_for_a_last_round(tools_site: Site, way: Way) -> None:
    first_nusd = hold_nusd(tools_site, way, rounds=0, max_tokens=400)
    both_nusd = hold_nusd(tools_site, way, rounds=1, max_tokens=10)
    complete, cut = ENDS[way.form]

    for limited in LIMITED:
        # All that the first round may cost, and nothing for a second with the same output.
        whole = Paid(tools_site, way, limited, first_nusd, rounds=9, max_tokens=400)
        assert way.read(whole.answer) == (tokens(10), complete)
        whole.assert_exact(rounds=2)
        # Six tokens of the second round, or none at all.
        short = Paid(tools_site, way, limited, both_nusd - 4 * OUTPUT_NUSD, max_tokens=10)
        assert way.read(short.answer) == (tokens(6), cut)
        short.assert_exact(rounds=2)
        none = Paid(tools_site, way, limited, both_nusd - 9 * OUTPUT_NUSD - 1, max_tokens=10)
        assert way.read(none.answer) == ("", cut)
        none.assert_exact(rounds=1)


@pytest.mark.parametrize("way", WAYS[:2], ids=lambda way: "-".join(map(str, way)))
def test_a_limit_on_cost_leaves_a_last_round_too(tools_site: Site, way: Way) -> None:
    first_nusd = hold_nusd(tools_site, way, rounds=0, max_tokens=400)

    paid = Paid(tools_site, way, "rule", first_nusd + 1_000, rounds=9, max_tokens=400)

    assert way.read(paid.answer) == (tokens(10), ENDS[way.form][0])
    paid.assert_exact(rounds=2)
