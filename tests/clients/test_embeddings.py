"""Embeddings through the clients that people have, in the form that each asks for by itself."""

from __future__ import annotations

from array import array
from typing import Any

import httpx
import openai
import pytest
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr

from tests.clients.sdk import outcome
from tests.support.servers import GatewayServer

TEXTS = ["red bicycles", "how to bake bread", "the price of bread"]
MODELS = ["fake-model", "tollhouse/simulated"]


@pytest.mark.parametrize("model", MODELS)
async def test_both_forms_are_the_same_vectors(client: Any, model: str) -> None:
    # Without a form the client asks for base64, and decodes it.
    usual = await outcome(client.embeddings.create(model=model, input=TEXTS))
    numbers = await outcome(
        client.embeddings.create(model=model, input=TEXTS, encoding_format="float")
    )

    assert [one.index for one in usual.data] == [0, 1, 2]
    for one, other in zip(usual.data, numbers.data, strict=True):
        # The fake upstream says in the second number which form it was asked for.
        same = [place for place in range(len(one.embedding)) if place != 1 or model != "fake-model"]
        nearest = array("f", other.embedding)
        assert [one.embedding[place] for place in same] == [nearest[place] for place in same]
    assert usual.usage.prompt_tokens == usual.usage.total_tokens > 0
    assert usual.model == model


@pytest.mark.parametrize("model", MODELS)
async def test_token_ids_are_embedded(client: Any, model: str) -> None:
    many = await outcome(client.embeddings.create(model=model, input=[[1, 2], [3]], dimensions=16))
    one = await outcome(client.embeddings.create(model=model, input=[1, 2], dimensions=16))

    assert [len(each.embedding) for each in many.data] == [16, 16]
    assert one.data[0].embedding == many.data[0].embedding


async def test_a_refusal_is_the_clients_own_class(client: Any) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        await outcome(client.embeddings.create(model="fake-model", input=["a", ""]))

    assert (refused.value.param, refused.value.code) == ("input[1]", "invalid_request")


@pytest.mark.parametrize("model", MODELS)
async def test_langchain_embeds_documents_and_questions(
    base_url: str, shared_gateway: GatewayServer, model: str
) -> None:
    with httpx.Client() as client:
        async with httpx.AsyncClient() as async_client:
            usual: dict[str, Any] = {"http_client": client, "http_async_client": async_client}
            # It would fetch OpenAI's tokenizer.
            usual["check_embedding_ctx_length"] = False
            made = OpenAIEmbeddings(
                model=model, api_key=SecretStr(shared_gateway.key), base_url=base_url, **usual
            )

            documents = await made.aembed_documents(TEXTS)
            question = made.embed_query(TEXTS[0])

    assert len(documents) == 3
    assert question == documents[0]
