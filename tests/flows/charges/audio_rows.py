"""Speech, transcriptions and translations at every kind of provider that has them."""

from __future__ import annotations

from tests.flows.charges.planned import Means
from tests.flows.charges.row import TEXT, Provider, Row, like_openai
from tests.flows.charges.sound import plan_speech, plan_transcript

CHARACTERS, SECONDS = frozenset({"character"}), frozenset({"second"})
# Models that count tokens, and those that do not.
BY_CHARACTER = Means(CHARACTERS, priced=CHARACTERS)
BY_SECOND = Means(SECONDS, priced=SECONDS)
BY_TOKEN = Means(TEXT, priced=TEXT)
# Whose plain JSON does not say how long a recording was.
SILENT = "/groq/v1"
AZURE = "/azure/openai"


def azure(native_model: str, means: Means, *, version: str = "") -> Provider:
    """version: of the API of deployments; empty for the v1 API."""
    return Provider(
        kind="azure_openai",
        path=AZURE,
        native_model=native_model,
        means=means,
        settings={"resource": "contoso"} | ({"api_version": version} if version else {}),
        place=f"{native_model[:9]}{version[:4]}",
    )


SPEAKERS = (
    like_openai("openai", "tts-1", BY_CHARACTER),
    like_openai("openai", "gpt-4o-mini-tts", BY_TOKEN),
    azure("tts-1", BY_CHARACTER),
    # It is asked for a file, which tells no tokens.
    azure("gpt-4o-mini-tts", Means(TEXT, priced=TEXT, reports=False)),
    azure("tts-1", BY_CHARACTER, version="2024-10-21"),
    *(
        like_openai(kind, "tts-1", BY_CHARACTER)
        for kind in ("together", "groq", "deepinfra", "localai", "openai_compatible")
    ),
)
# Of whole answers alone.
WHISPERS = (
    like_openai("openai", "whisper-1", BY_SECOND),
    like_openai("vllm", "whisper-1", BY_SECOND),
    like_openai("openai_compatible", "whisper-1", BY_SECOND),
    azure("whisper", BY_SECOND),
    azure("whisper", BY_SECOND, version="2024-10-21"),
    *(
        like_openai(kind, "whisper-1", BY_SECOND, path=SILENT)
        for kind in ("together", "groq", "deepinfra")
    ),
)
# It has no translations.
LOCAL = like_openai("localai", "whisper-1", BY_SECOND)
# They have no other form than JSON, and count tokens.
HEARING = (
    like_openai("openai", "gpt-4o-transcribe", BY_TOKEN),
    azure("gpt-4o-transcribe", BY_TOKEN),
    azure("gpt-4o-transcribe", BY_TOKEN, version="2024-10-21"),
)
# It counts seconds and tokens, and has a form of its own.
MISTRAL = like_openai(
    "mistral", "voxtral-mini-latest", Means(TEXT | SECONDS, priced=TEXT | SECONDS)
)
ROWS = (
    *(Row("speech", "speech", plan_speech, provider) for provider in SPEAKERS),
    *(
        Row("transcriptions", "transcriptions", plan_transcript("transcriptions"), provider)
        for provider in (*WHISPERS, LOCAL)
    ),
    *(
        Row("translations", "translations", plan_transcript("translations"), provider)
        for provider in WHISPERS
    ),
    *(
        Row(
            "transcriptions",
            "transcriptions",
            plan_transcript("transcriptions", forms=("json", "text"), streams=True),
            provider,
        )
        for provider in HEARING
    ),
    Row(
        "transcriptions",
        "transcriptions",
        plan_transcript("transcriptions", streams=True, has_prompt=False),
        MISTRAL,
    ),
)
