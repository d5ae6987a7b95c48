"""The rows of the scratch package."""

from __future__ import annotations

from gateway.core.units import UNITS, Unit
from gateway.endpoints.registry import ENDPOINTS
from gateway.processors.registry import PROCESSORS
from gateway.providers.catalogue import BY_NAME, ProviderKind
from gateway.providers.registry import ADAPTERS
from gateway.runtime.counter_backends import COUNTERS
from gateway.tools.registry import TOOLS
from tests.house.seams.counters import StrictCounters
from tests.house.seams.dialect import ScratchChat
from tests.house.seams.endpoint import Ask
from tests.house.seams.operation import CountWords, ScratchWords
from tests.house.seams.processors import Backwards, Upper
from tests.house.seams.tool import Sum

KIND = "scratch"
# In the price column of images, which no other unit of this provider uses.
PAGE = Unit("page", "Pages", noun="pages", price_column="image_pusd", price_steps=1)
# In a column of its own (migrations), and a share of the prompt. OpenAI's dialect reports it.
AUDIO = Unit(
    "scratch_audio",
    "Scratch audio",
    price_column="scratch_audio_pusd",
    part_of="prompt",
    usage_detail="audio_tokens",
)


def register() -> None:
    """Add one of everything, once."""
    if KIND in BY_NAME:
        return
    BY_NAME[KIND] = ProviderKind(KIND, "Scratch", dialect=KIND, needs_credential=False)
    ADAPTERS["chat", KIND] = ScratchChat()
    ADAPTERS["words", KIND] = ScratchWords()
    ENDPOINTS.extend([Ask, CountWords])
    for processor in (Upper(), Backwards()):
        PROCESSORS[processor.name] = processor
    TOOLS["sum"] = Sum()
    COUNTERS["memory"] = lambda parts: StrictCounters(parts.read_spent)
    UNITS.update({unit.name: unit for unit in (PAGE, AUDIO)})
