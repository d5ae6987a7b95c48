"""The tool image, with an image model of the installation: the caller gets the picture, and pays
the tool's price for it."""

from __future__ import annotations

from tests.flows.caller import Caller
from tests.flows.responses.asking import respond
from tests.flows.site import Site
from tests.flows.tools.asking import ask, script, statuses, upstream_nusd

PICTURE = "aW1hZ2U="
PRICE_NUSD = 50_000_000
IMAGE = {"id": "image", "size": "1024x1536"}
WISH = {"prompt": "a red bicycle"}


def test_a_picture_is_made_shown_and_charged(tools_site: Site, caller: Caller) -> None:
    painter = tools_site.add_model("painter", operation="images", native_model="gpt-image-1")
    try:
        arguments = ["image", "--model", painter, "--price", "0.05", "--enabled"]
        tools_site.office.do("command", name="set_tool", arguments=arguments)
        whole = ask(caller, script(WISH), IMAGE)
        stream = ask(caller, script(WISH), IMAGE, stream=True)
        response = respond(caller, script(WISH), tools=[{"type": "image"}], stream=True)
        refused = ask(caller, script({"prompt": ""}), IMAGE)
    finally:
        tools_site.office.do("command", name="set_tool", arguments=["image", "--no-enabled"])

    shown = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}]
    assert whole.json["choices"][0]["message"]["images"] == shown
    deltas = [choice["delta"] for chunk in stream.chunks for choice in chunk["choices"]]
    assert [delta["images"] for delta in deltas if "images" in delta] == [shown]
    assert f'"type":"image_generation_call","id":"ig_{"".join(response.call_id.split("-"))}' in (
        response.body.decode()
    )
    assert f'"result":"{PICTURE}"' in response.body.decode()
    for answer in (whole, stream, response):
        record = tools_site.record(answer.call_id)
        assert statuses(record) == ["ok"]
        assert record["charge_nusd"] == upstream_nusd(tools_site, answer.call_id) + PRICE_NUSD
    assert whole.json["tool_costs_micro_usd"] == {"image": "50000"}
    assert statuses(tools_site.record(refused.call_id)) == ["failed"]
    painted = [one for one in tools_site.upstream.book() if one.get("images")]
    assert len(painted) == 3
