"""docs/clients.md, made from the matrix: `python -m tests.clients.page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain

from gateway.core import profiles
from gateway.endpoints.chat_completions.write import (
    AFTER_FINISH,
    NOWHERE,
    ON_FINISH,
    TRAILING,
    TWICE,
    place_usage,
)
from tests.clients import by_hand, snippets
from tests.clients.matrix import CELLS, CLIENTS, PROFILES, Client
from tests.support.servers import ROOT

PAGE = ROOT / "docs" / "clients.md"
HEAD = """\
# Clients

Made from [`tests/clients/matrix.py`](../tests/clients/matrix.py) and
[`tests/clients/snippets.py`](../tests/clients/snippets.py) by `make fix`; edit those instead.

Every client of OpenAI's chat completions works with a base URL and a key. These clients and
versions are tested in every test run, against a running gateway over real sockets.

✓: tested and works. -: the client does not do this by itself.

"""
READ = """
*Streamed*: a stream as the client requests it by default. *Usage asked for* and *declined*:
`stream_options.include_usage` true and false. *Failure mid-stream*: the provider fails after some
output; the client gets this output, then raises an error with the code `provider_unavailable`.
*Tools*: the whole round trip, in which the model calls a tool and the client returns the result.

## How a stream ends

Where the usage is sent depends on the [profile](../gateway/core/profiles.py) and `stream_options`.
In every profile `finish_reason` is sent once, in a chunk with an empty delta, and `[DONE]` is last.

| Profile | Not set | `include_usage: true` | `include_usage: false` |
|---|---|---|---|
"""
OTHERS = """
Every client above reads all streams of `unified`. The other profiles send what their products send,
which not every client reads: a loop over `choices[0]` of every chunk fails at a chunk without
choices. Clients that parse streams themselves, by default and with `include_usage`:

"""
CONNECT = """
## How to connect

The base URL and a key are on the start page, and in `var/quickstart.json` after `make up`.
"""
BY_HAND = """
## More clients

These were tried by hand, with these versions: chat, streams, errors, and what the last column says.
Most are not part of the test runs.

"""
PLACES = {
    NOWHERE: "none",
    ON_FINISH: "on the finish chunk",
    AFTER_FINISH: "a last chunk with an empty choice",
    TRAILING: "a last chunk without choices",
    TWICE: "two last chunks without choices",
}


def render() -> str:
    """Return the whole page."""
    clients = list(chain.from_iterable(CLIENTS.values()))
    notes: list[str] = []
    rows = [row_of(client, notes) for client in clients]
    titles = ["Client", "Version", *CELLS.values()]
    table = [line_of(titles), "|---" * len(titles) + "|", *rows]
    told = [f"{number}. {note}" for number, note in enumerate(notes, 1)]
    places = [line_of(placed(profile)) for profile in profiles.ALL]
    parts = [
        *(HEAD, "\n".join((*table, "", *told)), "\n"),
        *(READ, "\n".join(places), "\n"),
        *(OTHERS, "\n".join(in_profiles(clients)), "\n"),
        CONNECT,
        *chain.from_iterable(map(connecting, snippets.ALL)),
        *(BY_HAND, "\n".join(tried_by_hand()), "\n"),
        *chain.from_iterable(connecting(client.snippet) for client in by_hand.ALL),
        by_hand.NOTES,
    ]
    return "".join(parts)


def in_profiles(clients: list[Client]) -> Iterator[str]:
    """Yield the table of those that are tried under every profile, and what is said below it."""
    yield line_of(["Client", *(f"`{profile}`" for profile in PROFILES)])
    yield "|---" * (len(PROFILES) + 1) + "|"
    notes: list[str] = []
    for client in clients:
        if client.asks is None:
            continue
        cells = []
        for profile in PROFILES:
            note = client.profile_notes.get(profile)
            notes += [f"{len(notes) + 1}. {client.title}: {note}."] if note else []
            cells.append(f"partly <sup>{len(notes)}</sup>" if note else "✓")
        yield line_of([client.title, *cells])
    yield from ("", *notes)


def tried_by_hand() -> Iterator[str]:
    yield line_of(["Client", "Version", "Also tried"])
    yield "|---|---|---|"
    for client in by_hand.ALL:
        yield line_of([client.snippet.title, client.versions, client.what])


def row_of(client: Client, notes: list[str]) -> str:
    """Return a client's row. notes: gets what is said below the table."""
    shown = [client.title, client.version or "any"]
    for cell in CELLS:
        mark = "-" if cell in client.missing else "✓"
        note = client.missing.get(cell) or client.notes.get(cell)
        if note:
            said = f"{client.title}: {note.rstrip('.')}."
            notes += [said] if said not in notes else []
            mark += f" <sup>{notes.index(said) + 1}</sup>"
        shown.append(mark)
    return line_of(shown)


def line_of(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def placed(profile: profiles.Profile) -> list[str]:
    """Return where a profile puts the usage of a stream, for nothing said, true and false."""
    places = [place_usage(profile.usage_mode, wish) for wish in (None, True, False)]
    return [f"`{profile.name}`", *(PLACES[place] for place in places)]


def connecting(snippet: snippets.Snippet) -> Iterator[str]:
    yield f"\n### {snippet.title}\n"
    if snippet.install:
        yield f"\n```sh\n{snippet.install}\n```\n"
    yield f"\n```{snippet.language}\n{snippet.text}```\n"


if __name__ == "__main__":
    PAGE.write_text(render())
    sys.stdout.write(f"Wrote {PAGE.name}.\n")
