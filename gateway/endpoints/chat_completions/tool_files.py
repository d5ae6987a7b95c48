"""Pictures and other files that tools returned: they follow in a message of the user's.

Providers take nothing but text as the result of a tool, so what is more comes behind all results of
the turn, as in the other formats. The request is read as if it had been written so; what is refused
is named by its place in the request that was sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Raw, structs

from gateway.core.call import Call, rename_fields
from gateway.core.chat import ChatCall, ChatRequest
from gateway.core.errors import GatewayError
from gateway.endpoints.chat_completions import schema

# What stands in the place of a result that has no text.
FILES_FOLLOW = "(The result follows as a file.)"
# Where each message and each part of one stands in the request, by its place in what is read.
Places = Mapping[tuple[int, int | None], str]
_PATH = re.compile(r"^messages\[(\d+)\](?:\.content\[(\d+)\])?")
_read_objects = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_read_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.encode


class MovedFilesRequest(ChatRequest, frozen=True, kw_only=True):
    """As gateway.core.chat.ChatRequest."""

    places: Places

    def place_of(self, name: str) -> str:
        return find_place(name, self.places)


def are_in(messages: Sequence[schema.Message]) -> bool:
    """Return whether a tool returned anything but text."""
    return any(
        not isinstance(part, schema.TextPart)
        for message in messages
        if isinstance(message, schema.ToolMessage) and not isinstance(message.content, str)
        for part in message.content
    )


def read_moved(body: bytes, raws: Mapping[str, Raw], read: Callable[[bytes], ChatCall]) -> ChatCall:
    """Return the call of a request in which tools returned files. Raises as `read` does."""
    mover = _Mover()
    for row, message in enumerate(_read_objects(raws["messages"])):
        mover.add(row, message)
    mover.end_results()
    try:
        call = read(_encode({**raws, "messages": mover.messages}))
    except GatewayError as error:
        rename_fields(error, lambda name: find_place(name, mover.places))
        raise
    payload = MovedFilesRequest(**structs.asdict(call.payload), places=mover.places)
    return Call(structs.replace(call.facts, body=body), payload)


def find_place(name: str, places: Places) -> str:
    """Return where something stands in the request, given where it is in what is read."""
    found = _PATH.match(name)
    if found is None:
        return name
    row, column = int(found[1]), found[2]
    if column is not None and (place := places.get((row, int(column)))) is not None:
        return place + name[found.end() :]
    moved = places.get((row, None))
    return name if moved is None else moved + name[len(f"messages[{row}]") :]


class _Mover:
    """Puts the messages together, one by one."""

    def __init__(self) -> None:
        self.messages: list[Mapping[str, object]] = []
        self.places: dict[tuple[int, int | None], str] = {}
        # What is not text of the results of this turn so far, with the place of each.
        self._files: list[tuple[object, str]] = []

    def add(self, row: int, message: dict[str, Raw]) -> None:
        place = f"messages[{row}]"
        if _read_text(message["role"]) != "tool":
            self.end_results()
            self._append(message, place)
        elif bytes(message["content"])[:1] != b"[":
            self._append(message, place)
        else:
            self._add_result(message, place)

    def end_results(self) -> None:
        """Add the files of a turn, now that no more results of it follow."""
        if self._files:
            row = len(self.messages)
            parts = [part for part, _ in self._files]
            self._append({"role": "user", "content": parts}, self._files[0][1])
            self.places |= {(row, at): place for at, (_, place) in enumerate(self._files)}
            self._files = []

    def _add_result(self, message: dict[str, Raw], place: str) -> None:
        texts: list[Raw] = []
        files: list[tuple[object, str]] = []
        row = len(self.messages)
        for column, raw in enumerate(msgspec.json.decode(message["content"], type=list[Raw])):
            path = f"{place}.content[{column}]"
            if msgspec.json.decode(raw, type=_Typed).type == "text":
                self.places[row, len(texts)] = path
                texts.append(raw)
            else:
                files.append((raw, path))
        if files:
            title = f"Returned by the tool call {_read_text(message['tool_call_id'])}:"
            self._files += [({"type": "text", "text": title}, f"{place}.content"), *files]
        self._append({**message, "content": texts or FILES_FOLLOW}, place)

    def _append(self, message: Mapping[str, object], place: str) -> None:
        self.places[len(self.messages), None] = place
        self.messages.append(message)


class _Typed(msgspec.Struct):
    type: str
