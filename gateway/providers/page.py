"""docs/providers.md, from the catalogue and the adapters: `python -m gateway.providers.page`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import msgspec

from gateway.core.errors import UpstreamError
from gateway.providers import catalogue
from gateway.providers.base import AnyAdapter
from gateway.providers.catalogue.kind import ANY_CHOICE, ANY_FORMAT, ProviderKind
from gateway.providers.openai_compatible import answers, guided
from gateway.providers.openai_compatible.respelling import REFUSED
from gateway.providers.registry import ADAPTERS
from gateway.providers.translation import UNTRANSLATABLE
from gateway.providers.upstream_errors import read_error

PAGE = Path(__file__).resolve().parents[2] / "docs" / "providers.md"
OPENAI = "openai"
HEAD = """\
# Providers

Made from [`gateway/providers/catalogue`](../gateway/providers/catalogue) and the adapters by
`make fix`; edit those instead. Each entry there has the URL of the provider's documentation.

A field that a provider does not support is either dropped and named in the header
`x-dropped-params`, or refused with 400 `unsupported_parameter`. No field is dropped silently. With
`x-require-parameters: true`, a call is refused instead of dropping a field.

## Kinds

| Kind | Provider | Dialect | Base URL | Variable |
|---|---|---|---|---|
"""
OF_OPENAIS = """
## Providers with OpenAI's dialect

Fields of a request are passed on unchanged, except for those below.

| Kind | Limit | Fields that are dropped | `n` | `tool_choice` | `response_format` | Renamed |
|---|---|---|---|---|---|---|
"""
MESSAGES = """
Messages and reasoning. *Checked* conversations are changed as the provider requires: IDs of tool
calls become nine letters and digits, an assistant message `OK.` is inserted between tool results
and a user message, system messages are moved to the beginning, and a last message of the assistant
gets `prefix: true`, so that the response begins with it.

Earlier messages of OpenAI's models can be sent to all models. Where a provider does not have them,
a `refusal` is sent as text, and `function_call`, `function` messages and calls of custom tools as
calls and results of tools. Requests with `functions` or custom tools are refused there. Marks for
the prompt cache (`cache_control`) are dropped and named.

| Kind | Developers' messages | Names | Earlier reasoning | `reasoning_effort` | Conversations |
|---|---|---|---|---|---|
"""
FAMILIES = """
### Models with fewer parameters

By provider model ID: the first pattern that matches applies. A value that equals the default, such
as `temperature` 1, is left out and not named.

| Kind | Models | Dropped | Unless the effort is `none` | Efforts |
|---|---|---|---|---|
"""
GUIDED = """
### Guided decoding

vLLM supports `guided_json` and similar fields, or since version 0.12 `structured_outputs`. The
provider's setting decides, or the version that it reports. For others the fields are translated. A
choice that is translated to a JSON Schema cannot be streamed: the answer is an object, of which you
get the choice.

Other dialects: `json` and `choice` are kept where the model supports JSON Schemas (Claude 4.5 and
later, Bedrock, Cohere), and with Gemini. Gemini streams choices, the others do not.

| Kind | Kept | Refused |
|---|---|---|
"""
FIELDS = """
## Fields in other dialects

**yes**: translated, as far as the model supports it. **native**: passed on unchanged. **400**:
refused. Otherwise dropped and named.

"""
OTHERS = """
## Other operations

What providers support besides chat, and text completions by chat ([endpoints](endpoints.md)).
Embeddings are sent to every provider with OpenAI's dialect, whether or not it has models for them.

| Kind | Operations |
|---|---|
"""
OTHER_FIELDS = """
Fields in dialects other than OpenAI's: what is neither translated nor native is dropped and named.
The gateway itself applies `encoding_format`. Texts: the maximum per request; more texts are sent in
further requests.

| Operation | Dialect | Translated | Native | Texts |
|---|---|---|---|---|
"""
REASONS = """
## Finish reasons

Reasons that are not listed become `stop`, or have the same name already.

| Dialect | Provider's reason | `finish_reason` |
|---|---|---|
"""
ERRORS = """
## Errors

How statuses of providers become errors, for every dialect. If one status has several meanings, the
text of the provider's error decides.

| Status | Code | Status for the caller |
|---|---|---|
"""
_STATUSES = (400, 401, 403, 404, 408, 413, 422, 429, 500, 502, 503, 504, 529)
_WORDINGS = (
    ("400, context wording", 400, "maximum context length"),
    ("400, policy wording", 400, "content_filter"),
    ("503, overloaded", 503, "overloaded"),
)
_FAILED = "error `provider_unavailable`"


def render() -> str:
    """Return the whole page."""
    parts = [HEAD, *_kinds(), OF_OPENAIS, *_look_alikes(), MESSAGES, *_messages()]
    parts += [FAMILIES, *_families(), GUIDED, *_guided(), FIELDS, *_fields()]
    parts += [OTHERS, *_operations(), OTHER_FIELDS, *_other_fields()]
    return "".join([*parts, REASONS, *_reasons(), ERRORS, *_errors()])


def _of_openais() -> list[ProviderKind]:
    kinds = [kind for kind in catalogue.ALL if kind.dialect == OPENAI]
    return [kind for kind in kinds if kind.name != catalogue.SIMULATED]


def _code(names: object) -> str:
    """Return names in a fixed order, each as code."""
    return ", ".join(f"`{name}`" for name in names) if isinstance(names, list) else f"`{names}`"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _kinds() -> Iterator[str]:
    for kind in catalogue.ALL:
        address = _code(kind.base_url) if kind.base_url else "set by you"
        variable = _code(kind.env_var) if kind.env_var else ""
        yield _row(_code(kind.name), kind.label, kind.dialect, address, variable)


def _look_alikes() -> Iterator[str]:
    for kind in _of_openais():
        dropped = f"all but {_code(sorted(kind.takes))}" if kind.takes else ""
        dropped = dropped or (_code(sorted(kind.drops)) if kind.drops else "none")
        choices = ANY_CHOICE - {"allowed_tools"}
        yield _row(
            _code(kind.name),
            "either" if kind.takes_both_limits else _code(kind.limit_field),
            dropped,
            "any" if kind.takes_many_choices else "1",
            "any" if kind.tool_choices >= choices else _code(sorted(kind.tool_choices)),
            "any" if kind.response_formats == ANY_FORMAT else _code(sorted(kind.response_formats)),
            ", ".join(f"`{ours}` → `{theirs}`" for ours, theirs in kind.renames),
        )


def _messages() -> Iterator[str]:
    for kind in _of_openais():
        field = kind.reasoning_field
        earlier = "as sent" if field is None else _code(field) if field else "dropped"
        effort = "as sent" if kind.takes_effort else f"switches {_code(kind.thinking_switch)}"
        if "reasoning_effort" in kind.drops or (
            kind.takes and kind.takes_effort and "reasoning_effort" not in kind.takes
        ):
            effort = "dropped"
        yield _row(
            _code(kind.name),
            "as sent" if kind.takes_developer else "`system`",
            "as sent" if kind.takes_names else "dropped",
            "in `<think>` tags" if kind.thinks_in_content else earlier,
            effort,
            "checked" if kind.checks_conversations else "as sent",
        )


def _families() -> Iterator[str]:
    for kind in _of_openais():
        for family in kind.families:
            yield _row(
                _code(kind.name),
                _code(family.pattern.pattern.replace("|", "\\|")),
                _code(sorted(family.drops)),
                _code(sorted(family.takes_at_rest)) if family.takes_at_rest else "",
                _code(list(family.efforts)) if family.efforts else "as sent",
            )


def _guided() -> Iterator[str]:
    constraints = list(guided.FORMS["sglang"])
    for kind in _of_openais():
        if kind.name == "vllm":
            yield _row(_code(kind.name), "all", "")
            continue
        kept = [name for name in constraints if guided.is_kept(name, kind)]
        refused = [name for name in constraints if name not in kept]
        yield _row(
            _code(kind.name),
            _code(kept) if kept else "none",
            _code(refused) if refused else "",
        )


def _tables_of(adapter: AnyAdapter) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return what an adapter translates, lets through and refuses; its own or its parent's."""
    for cls in type(adapter).__mro__:
        module = sys.modules[cls.__module__]
        if hasattr(module, "TRANSLATED"):
            refused = getattr(module, "REFUSED", UNTRANSLATABLE)
            return module.TRANSLATED, frozenset(getattr(module, "NATIVE", ())), refused
    return frozenset(), frozenset(), frozenset()


def _fields() -> Iterator[str]:
    tables = {
        dialect: _tables_of(adapter)
        for (operation, dialect), adapter in sorted(ADAPTERS.items())
        if operation == "chat"
    }
    tables = {dialect: found for dialect, found in tables.items() if found[0]}
    yield _row("Field", *tables)
    yield f"|{'---|' * (len(tables) + 1)}\n"
    everything = {name for found in tables.values() for names in found for name in names}
    for name in sorted(everything | REFUSED | guided.HINTS):
        yield _row(_code(name), *[_fate(name, *found) for found in tables.values()])


def _fate(
    name: str, translated: frozenset[str], native: frozenset[str], refused: frozenset[str]
) -> str:
    if name in refused:
        return "400"
    return "yes" if name in translated else "native" if name in native else "dropped"


def _operations() -> Iterator[str]:
    for kind in catalogue.ALL:
        found = [one for one, dialect in sorted(ADAPTERS) if dialect == kind.dialect]
        own = [one for one in found if one not in ("chat", "completions")]
        if kind.dialect == OPENAI:
            own = [one for one in own if one in kind.paths]
        if own and kind.name != catalogue.SIMULATED:
            yield _row(_code(kind.name), _code(own))


def _other_fields() -> Iterator[str]:
    for (operation, dialect), adapter in sorted(ADAPTERS.items()):
        translated, native, _ = _tables_of(adapter)
        if operation in ("chat", "completions") or dialect == OPENAI or not translated:
            continue
        most = getattr(sys.modules[type(adapter).__module__], "MOST_TEXTS", "any")
        fields = _code(sorted(native)) if native else "none"
        yield _row(operation, dialect, _code(sorted(translated)), fields, str(most))


def _reasons() -> Iterator[str]:
    for theirs, ours in answers.OTHER_REASONS.items():
        yield _row(OPENAI, _code(theirs), _code(ours))
    for theirs in sorted(answers.FAILURES):
        yield _row(OPENAI, _code(theirs), _FAILED)
    for dialect, module in _answer_modules():
        reasons: Mapping[str, str] = module.FINISH_REASONS
        for theirs, ours in reasons.items():
            yield _row(dialect, _code(theirs), _code(ours))
        for theirs in sorted(getattr(module, "FAILURES", ())):
            yield _row(dialect, _code(theirs), _FAILED)


def _answer_modules() -> Iterator[tuple[str, ModuleType]]:
    """Yield each dialect whose reasons have names of their own, with the module that has them."""
    seen: set[str] = set()
    for (operation, _), adapter in sorted(ADAPTERS.items()):
        package = type(adapter).__module__.rpartition(".")[0]
        name = f"{package}.answers"
        if operation != "chat" or name in seen or name not in sys.modules:
            continue
        seen.add(name)
        if isinstance(getattr(sys.modules[name], "FINISH_REASONS", None), Mapping):
            yield package.rpartition(".")[2], sys.modules[name]


def _errors() -> Iterator[str]:
    cases = [(str(status), status, "no") for status in _STATUSES]
    for told, status, message in (*cases, *_WORDINGS):
        body = msgspec.json.encode({"error": {"message": message}})
        error: UpstreamError = read_error(status, {}, body)
        yield _row(told, _code(error.code), str(error.status))


if __name__ == "__main__":
    PAGE.write_text(render())
    sys.stdout.write(f"Wrote {PAGE.name}.\n")
