"""test_tool: run a server tool once and say what came of it."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.services.tool_tests import run_test


class Command(JsonCommand):
    help = "Run a server tool (plugin) once with its saved settings. The service may bill you."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("tool", help="web_search, web_fetch, pdf, datetime or image.")
        parser.add_argument("text", nargs="?", default="", help="Query, URL or description.")

    def answer(self, *, tool: str, text: str, **options: object) -> Answer:
        test = run_test(tool, text, actor=ACTOR)
        return {"tool": tool, "ok": test.is_ok, "message": test.message}

    def describe(self, answer: Answer) -> str:
        return "{0}: {message}".format("OK" if answer["ok"] else "Failed", **answer)
