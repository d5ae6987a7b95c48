"""Every endpoint at every kind of provider that has a way of its own to count for it."""

from __future__ import annotations

from dataclasses import replace

from tests.flows.charges import audio_rows, planned, text_rows
from tests.flows.charges.planned import Means
from tests.flows.charges.row import PROMPT, TEXT, Provider, Row, like_openai
from tests.flows.pairs.dialects import DIALECTS
from tests.flows.pairs.formats import FORMATS
from tests.support.proofs import form

CACHED = TEXT | {"cached"}
WRITTEN = CACHED | {"cache_write"}
FOR_HOURS = WRITTEN | {"cache_write_1h"}


# What the dialects of chat count that count more than both kinds of tokens and what was cached.
UNITS_OF_CHAT = {
    "openrouter": WRITTEN,
    "anthropic": FOR_HOURS,
    "aws_bedrock": FOR_HOURS,
    "aws_bedrock_anthropic": FOR_HOURS,
    "gcp_vertex_anthropic": FOR_HOURS,
}
CHAT = (
    *(
        Provider(
            kind=dialect.kind,
            path=dialect.path,
            native_model=dialect.native_model,
            means=Means(
                UNITS_OF_CHAT.get(dialect.kind, CACHED if dialect.has_cache else TEXT),
                reasons=True,
                tells_prompt=dialect.tells_prompt,
            ),
            credential=dialect.credential,
            settings=dialect.settings,
        )
        for dialect in DIALECTS
    ),
    like_openai(
        "xai", "grok-4", Means(CACHED, reasons=True, counts_reasoning_apart=True), path="/v1"
    ),
    like_openai("perplexity", "sonar", Means(TEXT | {"search", "research"}, tells_all=True)),
)


ONE = Means(TEXT, many=False)
IMAGES = Means(frozenset({"image"}))
# Those that the provider may be made to report nonsense of (test_nonsense.py).
REPORTED = (
    *(
        Row(format.name, "chat", planned.plan_conversation(format), provider)
        for format in FORMATS
        for provider in CHAT
    ),
    *(
        Row("completions", "completions", planned.plan_completion, provider)
        for provider in (
            like_openai("openai", "gpt-3.5-turbo-instruct", Means(TEXT)),
            like_openai("vllm", "text", Means(TEXT)),
            like_openai("mistral", "codestral", ONE),
            # Answered by the provider's chat.
            like_openai("deepseek", "deepseek-chat", ONE),
            Provider(
                kind="anthropic",
                path="/anthropic/v1",
                native_model="claude-sonnet-4-5",
                means=replace(ONE, tells_prompt=True),
            ),
        )
    ),
    *(
        Row(
            "embeddings",
            "embeddings",
            planned.plan_embedding,
            like_openai(kind, "embed", replace(PROMPT, takes_tokens=kind != "mistral")),
        )
        for kind in ("openai", "mistral", "together")
    ),
    *(
        Row(
            "moderations",
            "moderations",
            planned.plan_moderation,
            # OpenAI reports no usage of its moderations.
            like_openai(kind, "m", replace(PROMPT, reports=kind != "openai")),
        )
        for kind in ("openai", "openai_compatible")
    ),
    *(
        Row("rerank", "rerank", planned.plan_ranking, provider)
        for provider in (
            like_openai("openai_compatible", "rerank-v3.5", Means(frozenset({"search"}))),
            like_openai("together", "rerank", Means(frozenset({"search"}))),
            # It counts tokens alone.
            like_openai("vllm", "bge-reranker", PROMPT),
        )
    ),
    *(
        Row("images", "images", planned.plan_images, provider)
        for provider in (
            like_openai("openai", "dall-e-3", IMAGES),
            like_openai("openai", "gpt-image-1", Means(TEXT | {"image"})),
            like_openai("xai", "grok-image", IMAGES),
        )
    ),
)
# Whose chat has several choices, beside older models of Gemini.
CHOOSING = ("gpt-4.1", "fake", "mistral-large-latest", "on-openai/meta-llama/Llama-3")
# Several choices of one chat, where a provider has them.
MANY = tuple(
    Row(
        "choices",
        "chat",
        planned.plan_choices,
        replace(provider, means=replace(provider.means, units=CACHED)),
    )
    for provider in CHAT
    if provider.native_model in CHOOSING
) + tuple(
    # The newest models have one answer alone.
    Row("choices", "chat", planned.plan_choices, replace(provider, native_model="gemini-2.5-flash"))
    for provider in CHAT
    if provider.kind in ("google_ai_studio_gemini", "gcp_vertex_gemini")
)
ROWS = (*REPORTED, *MANY, *text_rows.ROWS, *audio_rows.ROWS)
# All other endpoints, and each dialect of chat with one of the formats.
SHORT = tuple(
    row
    for number, row in enumerate(ROWS)
    if row.operation != "chat"
    or row in MANY[:2]
    or number // len(CHAT) == number % len(CHAT) % len(FORMATS)
)
# Those of this run.
EVERY = form(short=SHORT, whole=ROWS)
