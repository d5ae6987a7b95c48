"""Values are put back into a stream as into a whole answer, wherever its pieces are cut."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest

from gateway.core.events import ChatAnswer, Choice, Delta, Finish, StreamEvent
from gateway.core.processing import Processing, ProcessorReport
from gateway.processors.restoring import Restorer, RestoreStep
from tests.support.proofs import form

ORIGINALS = {
    "<INF_PERSON_1>": "Ann de Vries",
    "<INF_PERSON_12>": 'Jo "the\\cat" O\'Neil',
    "<INF_EMAIL_ADDRESS_1>": "ann@example.com",
    "<INF_LOCATION_2>": "Köln\nZentrum",
}
FOREIGN = frozenset({"INF_PERSON_2"})
PIECES = (
    *ORIGINALS,
    *(one.replace("<", "\\u003c").replace(">", "\\u003E") for one in ORIGINALS),
    *("<INF_PERSON_9>", "<INF_PERSON_2>", "\\u003cINF_URL_1\\u003e", "<INF_PERSON_1", "INF_", ">"),
    *("<", "<<", "\\", "\\\\", "\\u003", "\\n", "\\u00e9", "é", "<b>", "</b>", " and ", ", "),
    *("hello ", "x", "1", "_", '{"a":"', '"}', "\n"),
)
TEXTS = form(short=400, whole=10_000)


def restorer(*, is_json: bool = False) -> Restorer:
    report = ProcessorReport("applied")
    return Restorer(ORIGINALS, report, foreign=FOREIGN, is_json=is_json)


def generated(count: int) -> list[str]:
    chance = random.Random(20_13)
    return ["".join(chance.choices(PIECES, k=chance.randint(1, 9))) for _ in range(count)]


def delta(channel: str, text: str) -> Delta:
    if channel == "arguments":
        calls = [{"index": 0, "function": {"arguments": text}}]
        return Delta(0, {"tool_calls": calls})
    if channel == "reasoning_details":
        details = [{"type": "reasoning.text", "index": 0, "text": text}]
        return Delta(0, {"reasoning": text, "reasoning_details": details})
    return Delta(0, {channel: text})


def said(events: Sequence[StreamEvent], channel: str) -> str:
    """Return what the deltas come to."""
    text = ""
    for event in events:
        if not isinstance(event, Delta):
            continue
        if channel == "arguments":
            calls = event.fields.get("tool_calls", ())
            text += "".join(call["function"]["arguments"] for call in calls)
        elif channel == "reasoning_details":
            details = event.fields.get(channel, ())
            told = "".join(detail["text"] for detail in details)
            assert event.fields.get("reasoning", "") == told
            text += told
        else:
            text += event.fields.get(channel, "")
    return text


async def whole(text: str, channel: str, restoring: Restorer) -> str:
    """Return the text as it stands in a whole answer."""
    [one] = [delta(channel, text)]
    answer = ChatAnswer((Choice(0, one.fields, "stop"),), None)
    changed = await RestoreStep(restoring).change(answer)
    assert isinstance(changed, ChatAnswer)
    return said([Delta(0, changed.choices[0].message)], channel)


def streamed(pieces: Sequence[str], channel: str, restoring: Restorer) -> str:
    """Return the text as a stream has it. Nothing is held back that begins no placeholder."""
    stream = RestoreStep(restoring).open_filter()
    spellings = restoring.json if channel == "arguments" else restoring.spellings_of(channel)
    text, given = "", ""
    for piece in pieces:
        text += said(stream.feed([delta(channel, piece)]), channel)
        given += piece
        held = len(spellings.put_back(given)[0]) - len(text)
        assert held < spellings.longest
        if held:
            assert spellings.open_end(given, len(given) - held) == len(given) - held
    end = stream.feed([Finish(0, "stop")])
    assert isinstance(end[-1], Finish)
    assert stream.finish() == []
    return text + said(end, channel)


@pytest.mark.proof
@pytest.mark.parametrize("channel", ["content", "json", "arguments", "reasoning_details"])
async def test_a_text_cut_anywhere_comes_out_as_the_whole_one(channel: str) -> None:
    is_json = channel == "json"
    channel = "content" if is_json else channel
    for text in generated(TEXTS if channel == "content" else TEXTS // 4):
        counted = restorer(is_json=is_json)
        expected = await whole(text, channel, counted)
        cuts = [[text[:place], text[place:]] for place in range(1, len(text))]
        for pieces in [*cuts, list(text)]:
            restoring = restorer(is_json=is_json)
            assert streamed(pieces, channel, restoring) == expected, pieces
            assert restoring.tally.report.details == counted.tally.report.details, pieces


async def test_values_in_json_are_escaped() -> None:
    written = json.dumps({"to": "<INF_PERSON_12>", "at": "<INF_LOCATION_2>"})

    for text in (written, written.replace("<", "\\u003c").replace(">", "\\u003e")):
        restored = await whole(text, "arguments", restorer())
        assert json.loads(restored) == {
            "to": ORIGINALS["<INF_PERSON_12>"],
            "at": ORIGINALS["<INF_LOCATION_2>"],
        }
    assert json.loads(await whole(written, "content", restorer(is_json=True)))


async def test_placeholders_are_counted_but_not_those_of_the_caller() -> None:
    restoring = restorer()

    text = await whole("<INF_PERSON_1> <INF_PERSON_2> <INF_PERSON_3>", "content", restoring)

    assert text == "Ann de Vries <INF_PERSON_2> <INF_PERSON_3>"
    assert restoring.tally.report.details == {"restored": 1, "unrestored": 1}


def test_what_is_held_goes_on_before_something_else_begins() -> None:
    stream = RestoreStep(restorer()).open_filter()
    calls = [{"index": 0, "id": "c", "type": "function", "function": {"name": "f"}}]

    assert stream.feed([Delta(0, {"content": "a <INF_"})]) == [Delta(0, {"content": "a "})]
    assert stream.feed([Delta(0, {"tool_calls": calls})]) == [
        Delta(0, {"content": "<INF_"}),
        Delta(0, {"tool_calls": calls}),
    ]


def test_parts_of_one_piece_keep_their_order() -> None:
    stream = RestoreStep(restorer()).open_filter()

    events = stream.feed([Delta(0, {"role": "assistant", "reasoning": "x<", "content": "y<"})])

    assert events == [
        Delta(0, {"role": "assistant", "reasoning": "x"}),
        Delta(0, {"reasoning": "<"}),
        Delta(0, {"content": "y"}),
    ]
    assert stream.finish() == [Delta(0, {"content": "<"})]


def test_calls_and_answers_that_come_in_turns_are_held_by_themselves() -> None:
    stream = RestoreStep(restorer()).open_filter()

    def call(index: int, text: str) -> Delta:
        return Delta(0, {"tool_calls": [{"index": index, "function": {"arguments": text}}]})

    assert stream.feed([call(0, "<INF_PER")]) == []
    assert stream.feed([call(1, "<INF_PER")]) == []
    assert stream.feed([Delta(1, {"content": "other"})]) == [Delta(1, {"content": "other"})]
    assert stream.feed([call(0, "SON_1>"), call(1, "SON_9>")]) == [
        call(0, "Ann de Vries"),
        call(1, "<INF_PERSON_9>"),
    ]


def test_a_value_that_a_stored_answer_ends_in_the_middle_of_is_not_stored() -> None:
    processing = Processing()
    processing.taken_out = {"ann@example.com": "<INF_EMAIL_ADDRESS_1>"}

    stored = processing.conceal('{"a":"ann@example.com","b":"to ann@exam')

    assert stored == '{"a":"<INF_EMAIL_ADDRESS_1>","b":"to '
