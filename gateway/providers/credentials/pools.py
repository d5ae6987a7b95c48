"""Which of a provider's credentials a call goes out with: by weight, those that rest left out.

The choice is this process's own and takes no more than a look at each credential. Where a provider
refuses one of them, the next of the same target is tried before the next target. Where all rest
because they were asked too often, the provider is spared; where they were refused, one is tried all
the same, as it would be if it were the only one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gateway.core.call_credentials import MEMBER, CallCredentials
from gateway.core.errors import GatewayError, ProviderAuth, ProviderRateLimit, RequestError
from gateway.providers.credentials.exchange import CredentialExchange, Make
from gateway.providers.credentials.refreshed_token import RefreshedToken
from gateway.providers.credentials.state import CredentialState, NoteRest
from gateway.snapshot.credential import CredentialRecord
from gateway.snapshot.types import TargetRecord

# None for a credential that is sent as it is.
MAX_LEFT = 100
MakeToken = Callable[[CredentialRecord], RefreshedToken | None]


class MissingCredential(RequestError):
    """The call has not brought what its provider is to be shown. Another target may need none."""

    retry_elsewhere = True


class CredentialPools:
    """Of one process. note: is told of credentials that begin and cease to rest."""

    def __init__(self, make_token: MakeToken, note: NoteRest) -> None:
        self._make_token = make_token
        self._note = note
        self._states: dict[str, CredentialState] = {}
        # Those that were removed last: calls that know them are under way.
        self._left: dict[str, CredentialState] = {}

    def keep(self, records: Sequence[CredentialRecord]) -> None:
        """Know these, and forget all others. One that is as it was goes on as it is; calls that are
        under way with another end with it."""
        before, self._states = self._states, {}
        for record in records:
            state = before.pop(record.credential_id, None)
            if state is not None and _shows_the_same(state.record, record):
                state.record = record
            else:
                if state is not None:
                    before[record.credential_id] = state
                state = CredentialState(record, self._make_token(record), self._note)
                if state.token is not None:
                    state.token.start()
            self._states[record.credential_id] = state
        for name, left in before.items():
            if left.token is not None:
                left.token.close()
            self._left[name] = left
        while len(self._left) > MAX_LEFT:
            del self._left[next(iter(self._left))]

    def close(self) -> None:
        self.keep(())

    def choose(self, target: TargetRecord, given: CallCredentials | None) -> Iterator[TargetRecord]:
        """Yield the target with one of its credentials, and with the next each time the one before
        was refused or asked too often."""
        if target.call_credential is not None:
            name, variable = target.call_credential
            if given is not None and (secret := given.find(variable)):
                yield replace(
                    target,
                    credential=name,
                    secret=secret,
                    credentials=(),
                    call_credential=None,
                )
                return
        states = self._find(target)
        tried: list[CredentialState] = []
        while True:
            state = _pick(states, tried)
            if state is None:
                break
            tried.append(state)
            yield replace(target, credential=state.record.name, chosen=state.record)
            if time.monotonic() >= state.rests_until:
                return  # it failed for another reason
        if not tried:
            yield target

    def open(self, target: TargetRecord, make: Make) -> CredentialExchange:
        """Return the attempt with the credential that was chosen. make: makes the exchange, of a
        secret. Raises why there was none to choose."""
        chosen = None if target.chosen is None else self._find_one(target.chosen)
        if chosen is None:
            raise self._explain(target)
        return CredentialExchange(chosen, make)

    def _find(self, target: TargetRecord) -> list[CredentialState]:
        """Return what is known of a target's credentials that can be used."""
        found = map(self._find_one, target.credentials)
        return [state for state in found if state is not None]

    def _find_one(self, record: CredentialRecord) -> CredentialState | None:
        name = record.credential_id
        return self._states.get(name) or self._left.get(name)

    def _explain(self, target: TargetRecord) -> GatewayError:
        """Return why no credential of a target can be used."""
        now = time.monotonic()
        waits_s = [state.ready_in(now) for state in self._find(target)]
        if waits_s:
            return ProviderRateLimit(retry_after_s=min(waits_s))
        variable = target.call_credential[1] if target.call_credential else ""
        return MissingCredential(
            f"The provider needs the credential {variable} of the call, in {MEMBER}.",
            param=f"{MEMBER}.{variable}",
        )


def _shows_the_same(one: CredentialRecord, other: CredentialRecord) -> bool:
    """True when only its share or its limits differ."""
    return one == replace(
        other,
        name=one.name,
        weight=one.weight,
        per_minute=one.per_minute,
        at_once=one.at_once,
    )


def _pick(
    states: Sequence[CredentialState], tried: Sequence[CredentialState]
) -> CredentialState | None:
    """Return whose turn it is, of those that are ready and have not been tried.

    Each turn everybody gets its weight, and who has most is chosen and pays what all got: so each
    is chosen in proportion, and evenly.
    """
    now = time.monotonic()
    ready = [each for each in states if each not in tried and each.is_ready(now)]
    if not ready:
        return None if tried else _pick_refused(states, now)
    total = 0
    for each in ready:
        each.turn += each.record.weight
        total += each.record.weight
    chosen = max(ready, key=lambda each: each.turn)
    chosen.turn -= total
    return chosen


def _pick_refused(states: Sequence[CredentialState], now: float) -> CredentialState | None:
    """Return the one whose rest ends first, of those that a provider refused."""
    refused = [each for each in states if each.failure == ProviderAuth.code and each.has_room(now)]
    return min(refused, key=lambda each: each.rests_until, default=None)
