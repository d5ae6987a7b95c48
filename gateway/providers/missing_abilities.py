"""How providers say that a model takes no images, sounds or files, which is the request's fault.

They have no code for it in common, and some answer 500, so their wording has to tell. What they say
of one image, such as that its format is not supported, is not among it.
"""

from __future__ import annotations

import re

from gateway.core.errors import (
    AudioNotSupported,
    ImageNotSupported,
    PdfNotSupported,
    UpstreamError,
)

STATUSES = frozenset({400, 404, 415, 422, 500, 501})


class ProviderTakesNoImages(UpstreamError):
    status, code, type = 400, ImageNotSupported.code, ImageNotSupported.type
    meaning, retry_elsewhere = ImageNotSupported.meaning, True


class ProviderTakesNoAudio(UpstreamError):
    status, code, type = 400, AudioNotSupported.code, AudioNotSupported.type
    meaning, retry_elsewhere = AudioNotSupported.meaning, True


class ProviderTakesNoFiles(UpstreamError):
    status, code, type = 400, PdfNotSupported.code, PdfNotSupported.type
    meaning, retry_elsewhere = "The provider reports that the model does not support files.", True


_WORDING = (
    r"\b(?:MEDIA)s?(?:[ _](?:inputs?|contents?|modality|parts?|blocks?|url))*[`'\"]?"
    r" (?:is|are|was|were) (?:currently )?(?:not|only) (?:supported|enabled|allowed|accepted)"
    r"|unknown variant [`'\"]?(?:MEDIA)(?:_url)?\b"
    r"|at most 0 (?:MEDIA)\b"
    r"|(?:(?:do|does) not|n't|cannot) (?:support|accept|take|handle|process) (?:any )?"
    r"(?:MEDIA)(?:s\b| (?:inputs?|contents?|parts?|blocks?)\b|[.!]|$)"
    r"|(?:endpoints found that support|missing data required for) (?:MEDIA)\b"
)
IMAGES = _WORDING.replace("MEDIA", "image|vision|multimodal")
IMAGES += r"|\bis not a (?:multimodal|vision) model\b"
AUDIO = _WORDING.replace("MEDIA", "input_audio|audio")
FILES = _WORDING.replace("MEDIA", "pdf|file|document")
_LACKS: tuple[tuple[re.Pattern[str], type[UpstreamError]], ...] = (
    (re.compile(IMAGES, re.I), ProviderTakesNoImages),
    (re.compile(AUDIO, re.I), ProviderTakesNoAudio),
    (re.compile(FILES, re.I), ProviderTakesNoFiles),
)


def find_lack(status: int, message: str) -> UpstreamError | None:
    """Return what a provider's refusal of images, sounds or files means, None for any other."""
    if status in STATUSES:
        for pattern, lack in _LACKS:
            if pattern.search(message):
                return lack(param="messages")
    return None
