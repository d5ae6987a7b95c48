"""Finds what answers a request to one of OpenAI's endpoints beside chat and embeddings."""

from __future__ import annotations

from tests.fakes.asked import Request
from tests.fakes.book import Entry
from tests.fakes.openai import audio, completions, mistral_audio, plain, responses
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.routes import AUDIO


def player_of(link: Link, request: Request, entry: Entry, serial: int) -> Player:
    """Return what plays the answer. Raises Refused and ScriptError."""
    if request.path.endswith("/responses"):
        return responses.player_of(link, request, entry, serial)
    if request.path.endswith(AUDIO) and request.path.startswith(mistral_audio.PREFIX):
        return mistral_audio.player_of(link, request, entry, serial)
    if request.path.endswith(AUDIO):
        return audio.player_of(link, request, entry, serial)
    for ending, reader in plain.READERS.items():
        if request.path.endswith(f"/{ending}"):
            return plain.player_of(link, request, entry, serial, reader)
    asked = completions.read_asked(request)
    chat = asked.chat
    script = chat.script()
    entry.model, entry.stream = chat.model, bool(chat.stream)
    entry.prompt_tokens = sum(map(completions.count_tokens, asked.prompts))
    entry.cached_tokens = min(script.cached, entry.prompt_tokens)
    return completions.TextPlayer(link, request, asked, script, entry, serial)
