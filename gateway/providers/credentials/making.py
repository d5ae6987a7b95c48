"""Of which credentials tokens are made, and how each is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial

from gateway.core.credential_texts import AwsKeys, EntraApp, GoogleAccount, account_of
from gateway.core.errors import ProviderAuth
from gateway.providers.credentials import entra
from gateway.providers.credentials.refreshed_token import FETCH_S, RefreshedToken
from gateway.providers.credentials.state import NoteRest
from gateway.providers.credentials.token import (
    OpenClient,
    Token,
    TokenError,
    TokenReply,
    TokenRequest,
    post,
    read_oauth,
)
from gateway.snapshot.credential import CredentialRecord

Post = Callable[[TokenRequest], Awaitable[TokenReply]]


class TokenMaker:
    """open_client: makes the clients that issuers of tokens are asked by. note: as CredentialPools
    has it."""

    def __init__(self, open_client: OpenClient, note: NoteRest) -> None:
        self._open_client = open_client
        self._note = note

    def make(self, record: CredentialRecord) -> RefreshedToken | None:
        """Return the token that is made of a credential; None where that is sent as it is."""
        account = account_of(record.kind, record.secret)
        if account is None:
            return None
        ask = partial(post, open_client=self._open_client, proxy=record.proxy)
        fetch: Callable[[], Awaitable[Token]]
        if isinstance(account, GoogleAccount):
            fetch = partial(fetch_of_google, account, ask)
        elif isinstance(account, AwsKeys):
            fetch = partial(fetch_of_aws, account, record.region, ask)
        else:
            fetch = partial(fetch_of_entra, account, ask)

        def note(problem: str) -> None:
            code = ProviderAuth.code if problem else ""
            said = f"The gateway has no access token: {problem}." if problem else ""
            self._note(record.credential_id, 0.0, code, said)

        return RefreshedToken(f"credential {record.name}", fetch, note)


async def fetch_of_entra(app: EntraApp, ask: Post) -> Token:
    return read_oauth(await ask(entra.write_request(app)))


async def fetch_of_google(account: GoogleAccount, ask: Post) -> Token:
    """Signing takes milliseconds, and google-auth waits: both in a thread."""
    loop = asyncio.get_running_loop()

    def send(request: TokenRequest) -> TokenReply:
        asked = asyncio.run_coroutine_threadsafe(_await(ask(request)), loop)
        try:
            return asked.result(FETCH_S)
        except TimeoutError:
            asked.cancel()
            raise TokenError("the token endpoint does not answer in time") from None

    def fetch() -> Token:
        # Imported where it is used: it takes memory and time of every start.
        from gateway.providers.credentials import google

        return google.fetch(account, send)

    return await asyncio.to_thread(fetch)


async def fetch_of_aws(keys: AwsKeys, region: str, ask: Post) -> Token:
    """botocore reads its files: in a thread."""
    from gateway.providers.credentials import aws

    request = await asyncio.to_thread(aws.write_request, keys, region)
    reply = await ask(request)
    return await asyncio.to_thread(aws.read_answer, reply)


async def _await(answer: Awaitable[TokenReply]) -> TokenReply:
    return await answer
