"""vLLM's parameters of guided decoding, and of its chat template, at servers of other makes.

Each make has a form: which constraints it can be held to, and in what words. Where there is none,
a schema goes into response_format, and a choice becomes the schema of an object that is unwrapped
from the whole answer. A constraint that cannot be kept is refused: it is never ignored.

SGLang: https://docs.sglang.io/docs/advanced_features/structured_outputs
Fireworks: https://docs.fireworks.ai/structured-responses/structured-output-grammar-based
llama.cpp: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
TGI: https://huggingface.co/docs/text-generation-inference/basic_tutorials/using_guidance
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import ProviderUnavailable, UnsupportedParameter
from gateway.core.events import ChatAnswer, Choice
from gateway.providers.catalogue import ProviderKind
from gateway.providers.openai_compatible import vllm
from gateway.providers.openai_compatible.respelling import switch_thinking

TEMPLATE = frozenset({"chat_template", "chat_template_kwargs", "mm_processor_kwargs"})
VLLM_ONLY = vllm.GUIDED | TEMPLATE
# They change how an answer is made, and not what it may be.
HINTS = frozenset({"guided_decoding_backend", "guided_whitespace_pattern"})
SWITCHES = frozenset({"enable_thinking", "thinking"})
# The object that a choice is wrapped in.
CHOICE = "choice"
# Not in a string of a grammar as they are.
_ESCAPED = re.compile(r'["\\\n\r]')
_ESCAPES = {'"': r"\"", "\\": r"\\", "\n": r"\n", "\r": r"\r"}
# Of regular expressions.
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}/-]")
_encode = msgspec.json.encode
Fields = dict[str, object]
Words = Callable[[object], Fields]


def _format(wanted: Fields) -> Fields:
    return {"response_format": wanted}


def write_schema(schema: object) -> Fields:
    """Return the fields that hold an answer to a JSON Schema."""
    strict = is_strict(schema)
    described = {"name": "response", "schema": schema, "strict": strict}
    return _format({"type": "json_schema", "json_schema": described})


def _write_choice_schema(choices: object) -> Fields:
    return write_schema(
        {
            "type": "object",
            "properties": {CHOICE: {"type": "string", "enum": choices}},
            "required": [CHOICE],
            "additionalProperties": False,
        }
    )


def _write_choice_regex(choices: object) -> Fields:
    assert isinstance(choices, list)
    return {"regex": f"({'|'.join(_SPECIAL.sub(_escape, choice) for choice in choices)})"}


def _write_tgi(kind: str, value: object) -> Fields:
    return _format({"type": kind, "value": value})


def _escape(found: re.Match[str]) -> str:
    return "\\" + found[0]


def _grammar_of(choices: object) -> str:
    assert isinstance(choices, list)
    quoted = (_ESCAPED.sub(lambda sign: _ESCAPES[sign[0]], choice) for choice in choices)
    return "root ::= " + " | ".join(f'"{choice}"' for choice in quoted)


def _write_fireworks_grammar(grammar: object) -> Fields:
    return _format({"type": "grammar", "grammar": grammar})


# Kind → constraint → how it is said there. The others have what is under "".
FORMS: Mapping[str, Mapping[str, Words]] = {
    "sglang": {
        "json": write_schema,
        "regex": lambda regex: {"regex": regex},
        "choice": _write_choice_regex,
        "grammar": lambda grammar: {"ebnf": grammar},
        "structural_tag": lambda tag: _format(
            {"type": "structural_tag", **(tag if isinstance(tag, dict) else {})}
        ),
    },
    "fireworks": {
        "json": write_schema,
        "choice": lambda choices: _write_fireworks_grammar(_grammar_of(choices)),
        "grammar": _write_fireworks_grammar,
    },
    "llama_cpp": {
        "json": write_schema,
        "choice": lambda choices: {"grammar": _grammar_of(choices)},
        "grammar": lambda grammar: {"grammar": grammar},
    },
    "tgi": {
        "json": lambda schema: _write_tgi("json", schema),
        "regex": lambda regex: _write_tgi("regex", regex),
        "choice": lambda choices: _write_tgi("regex", _write_choice_regex(choices)["regex"]),
    },
    "": {"json": write_schema, "choice": _write_choice_schema},
}


def lost(call: ChatCall, kind: ProviderKind) -> set[str]:
    """Return the names of hints that the kind has no words for.

    Raises UnsupportedParameter for a constraint, or a template, that it has none for.
    """
    payload = call.payload
    given = {name for name in VLLM_ONLY.intersection(payload.fields) if payload.has(name)}
    if not given:
        return set()
    for name in sorted(given & TEMPLATE):
        if not _takes_template(name, payload.fields[name], kind):
            raise UnsupportedParameter(f"{call.facts.model} does not support {name}.", param=name)
    kept = [name for name in vllm.SPELLINGS if is_kept(name, kind)]
    return check_constraints(call, kept, wraps_choice=_is_wrapped(CHOICE, kind))


def check_constraints(call: ChatCall, kept: Container[str], *, wraps_choice: bool) -> set[str]:
    """Return the names of the call's hints.

    kept: the constraints that an answer can be held to. Raises UnsupportedParameter for any other,
    and for a choice that a stream would have to be unwrapped from.
    """
    payload = call.payload
    hints = {name for name in HINTS if payload.has(name)}
    for name in vllm.read_constraints(payload.fields):
        param = vllm.SPELLINGS[name]
        if param in HINTS:
            hints.add(param)
            continue
        param = param if payload.has(param) else f"structured_outputs.{name}"
        if name not in kept:
            raise UnsupportedParameter(f"{call.facts.model} does not support {param}.", param=param)
        if call.facts.stream and wraps_choice and name == CHOICE:
            raise UnsupportedParameter(
                f"{call.facts.model} does not support {param} in a stream.", param=param
            )
    return hints


def respell(fields: Mapping[str, bytes], kind: ProviderKind) -> dict[str, bytes | None]:
    """Return the fields in which the kind is told the same; None leaves one out."""
    given = VLLM_ONLY.intersection(fields)
    if kind.takes_template_kwargs:
        given -= {"chat_template_kwargs"}
    said: dict[str, bytes | None] = dict.fromkeys(given)
    words = FORMS.get(kind.name, FORMS[""])
    for name, value in vllm.read_constraints(fields).items():
        if name in words:
            said |= {field: _encode(each) for field, each in words[name](_read(value)).items()}
    if "chat_template_kwargs" in given:
        asked = msgspec.json.decode(fields["chat_template_kwargs"]) or {}
        for value in asked.values():
            said |= switch_thinking(kind, is_on=value is True)
    return said


def write_format(fields: Mapping[str, bytes]) -> Fields:
    """Return the constraint of these fields as a response_format; nothing without any."""
    said: Fields = {}
    for name, value in vllm.read_constraints(fields).items():
        if name in FORMS[""]:
            said |= FORMS[""][name](_read(value))
    return said


def wraps_choice(fields: Mapping[str, bytes], kind: ProviderKind) -> bool:
    """Return whether the answer's text is an object that has the choice inside it."""
    return any(_is_wrapped(name, kind) for name in vllm.read_constraints(fields))


def unwrap_choice(answer: ChatAnswer) -> ChatAnswer:
    """Return an answer whose texts are the choices alone. Raises ProviderUnavailable for a text
    that is no such object, unless it was cut off, or came with a refusal or calls of tools."""
    choices = tuple(_unwrap(choice) for choice in answer.choices)
    return replace(answer, choices=choices)


def is_strict(schema: object) -> bool:
    """Return whether a schema is one that OpenAI's strict mode takes: every object is closed, and
    all of its properties are required.

    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if schema.get("type") == "object" or properties is not None:
        names = set(properties) if isinstance(properties, dict) else set()
        if schema.get("additionalProperties") is not False:
            return False
        if names != set(schema.get("required") or ()):
            return False
    parts = [part for name, part in schema.items() if name != "properties"]
    parts += list(properties.values()) if isinstance(properties, dict) else []
    return all(map(is_strict, parts))


def is_kept(name: str, kind: ProviderKind) -> bool:
    """Return whether an answer of this kind can be held to such a constraint."""
    if kind.name in FORMS:
        return name in FORMS[kind.name]
    return name in FORMS[""] and "json_schema" in kind.response_formats


def _is_wrapped(name: str, kind: ProviderKind) -> bool:
    # vLLM has words of its own for a choice: see vllm.py.
    return name == CHOICE and kind.name != "vllm" and kind.name not in FORMS


def _takes_template(name: str, raw: bytes, kind: ProviderKind) -> bool:
    if name != "chat_template_kwargs":
        return False
    if kind.takes_template_kwargs:
        return True
    asked = msgspec.json.decode(raw)
    switches = asked.keys() <= SWITCHES and all(isinstance(on, bool) for on in asked.values())
    return bool(kind.thinking_switch and switches)


def _read(value: object) -> object:
    """Return a constraint as an object where it came as JSON text: only these begin so."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return value


def _unwrap(choice: Choice) -> Choice:
    content = choice.message.get("content")
    if not isinstance(content, str) or not content:
        return choice
    try:
        found = msgspec.json.decode(content, type=dict[str, str])[CHOICE]
    except (msgspec.DecodeError, KeyError):
        if choice.finish_reason != "stop":
            return choice
        raise ProviderUnavailable(
            "The provider's response is none of the choices.", quote=content[:2000]
        ) from None
    return replace(choice, message={**choice.message, "content": found})
