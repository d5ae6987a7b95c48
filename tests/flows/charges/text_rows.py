"""Embeddings, rankings, moderations, images and text completions where other rows have them not:
in dialects of their own, in several requests, and at those who took OpenAI's API over."""

from __future__ import annotations

from dataclasses import replace

from tests.flows.aws import REGION
from tests.flows.charges import planned
from tests.flows.charges.planned import Means
from tests.flows.charges.row import PROMPT, TEXT, Provider, Row, like_openai
from tests.flows.vertex import LOCATION, PARENT, PROJECT

SEARCHES = Means(frozenset({"search"}))
IMAGES = Means(frozenset({"image"}))
# Of one prompt.
CHOICES = Means(TEXT, one_prompt=True)
ONE = Means(TEXT, many=False)
TEXTS_ALONE = replace(PROMPT, takes_tokens=False)
BEDROCK = {"region": REGION}
VERTEX = {"project": PROJECT, "location": LOCATION}


def embedder(
    kind: str, path: str, native_model: str, *, most: int = 0, place: str = ""
) -> Provider:
    settings = {"gcp_vertex_gemini": VERTEX, "aws_bedrock": BEDROCK}.get(kind, {})
    means = replace(TEXTS_ALONE, most=most, takes_tokens=kind in ("tei", "azure_openai", "vllm"))
    return Provider(
        kind=kind,
        path=path,
        native_model=native_model,
        means=means,
        settings=settings or ({"resource": "contoso"} if kind == "azure_openai" else {}),
        place=place,
    )


EMBEDDERS = (
    embedder("cohere", "/cohere/v2", "embed-v4.0", most=96),
    embedder("google_ai_studio_gemini", "/gemini/v1beta", "gemini-embedding-001", most=100),
    embedder("gcp_vertex_gemini", f"/vertex{PARENT}", "text-embedding-005", most=250),
    # One text in a request, by two methods.
    embedder("gcp_vertex_gemini", f"/vertex{PARENT}", "gemini-embedding-001", most=1, place="001"),
    embedder("gcp_vertex_gemini", f"/vertex{PARENT}", "gemini-embedding-2", most=1, place="2"),
    embedder("aws_bedrock", "/bedrock", "amazon.titan-embed-text-v2:0", most=1),
    embedder("aws_bedrock", "/bedrock", "cohere.embed-english-v3", most=96),
    embedder("voyage", "/voyage/v1", "voyage-3", most=1000),
    embedder("jina", "/jina/v1", "jina-3"),
    embedder("tei", "/tei/v1", "tei-3", most=32),
    embedder("azure_openai", "/azure/openai", "text-embedding-3-small"),
    embedder("vllm", "/vllm/v1", "embed"),
)
RANKERS = (
    like_openai("cohere", "rerank-v3.5", SEARCHES, path="/cohere/v2"),
    like_openai("voyage", "rerank-2", replace(PROMPT, most=1000)),
    like_openai("jina", "reranker", PROMPT),
    # It counts nothing.
    like_openai("tei", "reranker", replace(PROMPT, most=32, reports=False)),
    *(
        Provider(
            kind="aws_bedrock",
            path="/bedrock",
            native_model=model,
            means=replace(PROMPT, reports=False),
            settings=BEDROCK,
        )
        for model in ("cohere.rerank-v3-5:0", "amazon.rerank-v1:0")
    ),
    *(
        like_openai(kind, "reranker", SEARCHES)
        for kind in ("fireworks", "sglang", "llama_cpp", "localai")
    ),
)
PAINTERS = (
    like_openai("together", "flux", IMAGES),
    like_openai("localai", "flux", IMAGES),
    like_openai("openai_compatible", "flux", IMAGES),
)
WRITERS = (
    *(
        like_openai(kind, "text", Means(TEXT))
        for kind in ("openrouter", "together", "fireworks", "sglang", "openai_compatible")
    ),
    *(like_openai(kind, "text", Means(TEXT)) for kind in ("hyperbolic", "localai")),
    *(like_openai(kind, "text", ONE) for kind in ("ollama", "lm_studio", "llama_cpp")),
)
# Their chat answers, once for each completion.
CHATS = (
    like_openai("openai", "gpt-4o", CHOICES, path="/v1"),
    like_openai(
        "google_ai_studio_gemini",
        "gemini-2.5-flash",
        replace(CHOICES, tells_prompt=True),
        path="/gemini/v1beta",
    ),
)
ROWS = (
    *(Row("embeddings", "embeddings", planned.plan_embedding, one) for one in EMBEDDERS),
    *(Row("rerank", "rerank", planned.plan_ranking, one) for one in RANKERS),
    *(Row("images", "images", planned.plan_images, one) for one in PAINTERS),
    Row(
        "moderations",
        "moderations",
        planned.plan_moderation,
        like_openai("mistral", "mistral-moderation-latest", replace(PROMPT, reports=False)),
    ),
    *(Row("completions", "completions", planned.plan_completion, one) for one in WRITERS),
    *(Row("completions", "chat", planned.plan_completion, one) for one in CHATS),
)
