"""Clients that were tried by hand: docs/clients.md shows them (tests.clients.page)."""

from __future__ import annotations

from dataclasses import dataclass

from tests.clients.snippets import Snippet


@dataclass(frozen=True)
class Tried:
    """versions: of the packages that were tried. what: what was tried beside chat and streams."""

    snippet: Snippet
    versions: str
    what: str


def in_python(title: str, install: str, text: str) -> Snippet:
    return Snippet(title, title, f"pip install {install}", "python", text)


def in_js(title: str, install: str, text: str) -> Snippet:
    return Snippet(title, title, f"npm install {install}", "js", text)


TOOLS = "tools, tools streamed, structured output"
ALL = (
    Tried(
        in_python(
            "OpenAI Agents SDK",
            "openai-agents",
            """\
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)  # traces would be sent to OpenAI
client = AsyncOpenAI(base_url="http://127.0.0.1:8000/v1", api_key="sk-gw-...")
model = OpenAIChatCompletionsModel("tollhouse/simulated", openai_client=client)
print(Runner.run_sync(Agent(name="Assistant", model=model), "Hello").final_output)
""",
        ),
        "0.24.0",
        f"{TOOLS}, sessions, handoffs; also with `OpenAIResponsesModel`, which is tested in every "
        "test run",
    ),
    Tried(
        in_python(
            "LlamaIndex",
            "llama-index-llms-openai-like",
            """\
from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike

llm = OpenAILike(
    api_base="http://127.0.0.1:8000/v1",
    api_key="sk-gw-...",
    model="tollhouse/simulated",
    is_chat_model=True,
    is_function_calling_model=True,
    context_window=128000,
)
print(llm.chat([ChatMessage(role="user", content="Hello")]).message.content)
""",
        ),
        "0.8.1",
        f"{TOOLS}, agents, `OpenAILikeEmbedding`, `OpenAIResponses`",
    ),
    Tried(
        in_python(
            "smolagents",
            '"smolagents[openai]"',
            """\
from smolagents import OpenAIServerModel

model = OpenAIServerModel(
    api_base="http://127.0.0.1:8000/v1", api_key="sk-gw-...", model_id="tollhouse/simulated"
)
print(model.generate([{"role": "user", "content": "Hello"}]).content)
""",
        ),
        "1.26.0",
        "tools, structured output; also through `LiteLLMModel` (LiteLLM 1.110.2)",
    ),
    Tried(
        in_python(
            "Semantic Kernel",
            "semantic-kernel",
            """\
import asyncio

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion

client = AsyncOpenAI(base_url="http://127.0.0.1:8000/v1", api_key="sk-gw-...")
service = OpenAIChatCompletion(ai_model_id="tollhouse/simulated", async_client=client)
agent = ChatCompletionAgent(service=service, name="Assistant")
print(asyncio.run(agent.get_response(messages="Hello")).message.content)
""",
        ),
        "1.45.0",
        f"{TOOLS}, embeddings, `OpenAIResponsesAgent`",
    ),
    Tried(
        in_python(
            "CrewAI",
            "crewai",
            """\
from crewai import LLM

llm = LLM(
    model="openai/tollhouse/simulated",
    base_url="http://127.0.0.1:8000/v1",
    api_key="sk-gw-...",
)
print(llm.call("Hello"))
""",
        ),
        "1.15.30",
        f'{TOOLS}, crews, `api="responses"`',
    ),
    Tried(
        in_python(
            "Pydantic AI, other models",
            '"pydantic-ai-slim[anthropic]"',
            """\
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

provider = AnthropicProvider(base_url="http://127.0.0.1:8000", api_key="sk-gw-...")
agent = Agent(AnthropicModel("tollhouse/simulated", provider=provider))
print(agent.run_sync("Hello").output)
""",
        ),
        "2.68.0",
        "tools, tools streamed, output by tools; also `OpenAIResponsesModel` and "
        "`OpenAIEmbeddingModel`",
    ),
    Tried(
        in_python(
            "Mistral's SDK",
            "mistralai",
            """\
from mistralai.client import Mistral

client = Mistral(server_url="http://127.0.0.1:8000", api_key="sk-gw-...")
answer = client.chat.complete(
    model="tollhouse/simulated", messages=[{"role": "user", "content": "Hello"}]
)
print(answer.choices[0].message.content)
""",
        ),
        "3.7.0, for TypeScript 2.7.0",
        "tools, structured output, models, embeddings, moderations, transcriptions. Does not read "
        "[streamed tool calls](#mistrals-sdk-and-streams)",
    ),
    Tried(
        in_js(
            "`@openai/agents`",
            "@openai/agents openai",
            """\
import { Agent, OpenAIChatCompletionsModel, run, setTracingDisabled } from "@openai/agents";
import OpenAI from "openai";

setTracingDisabled(true); // traces would be sent to OpenAI
const client = new OpenAI({ baseURL: "http://127.0.0.1:8000/v1", apiKey: "sk-gw-..." });
const model = new OpenAIChatCompletionsModel(client, "tollhouse/simulated");
console.log((await run(new Agent({ name: "Assistant", model }), "Hello")).finalOutput);
""",
        ),
        "0.20.0",
        f"{TOOLS}; also with `OpenAIResponsesModel`",
    ),
    Tried(
        in_js(
            "Vercel AI SDK, `@ai-sdk/anthropic`",
            "ai @ai-sdk/anthropic",
            """\
import { createAnthropic } from "@ai-sdk/anthropic";
import { generateText } from "ai";

const tollhouse = createAnthropic({ baseURL: "http://127.0.0.1:8000/v1", apiKey: "sk-gw-..." });
const { text } = await generateText({ model: tollhouse("tollhouse/simulated"), prompt: "Hello" });
console.log(text);
""",
        ),
        "`ai` 6.0.326, 3.0.140",
        f"{TOOLS}. Images and embeddings with `@ai-sdk/openai`",
    ),
    Tried(
        in_js(
            "LangChain.js, `ChatOpenAI`",
            "langchain @langchain/openai",
            """\
import { ChatOpenAI } from "@langchain/openai";

const chat = new ChatOpenAI({
  configuration: { baseURL: "http://127.0.0.1:8000/v1" },
  apiKey: "sk-gw-...",
  model: "tollhouse/simulated",
});
console.log((await chat.invoke("Hello")).content);
""",
        ),
        "`langchain` 1.5.14, 1.5.8",
        "agents, structured output, `OpenAIEmbeddings`; also with `useResponsesApi`",
    ),
    Tried(
        in_js(
            "LangChain.js, `ChatAnthropic`",
            "langchain @langchain/anthropic",
            """\
import { ChatAnthropic } from "@langchain/anthropic";

const chat = new ChatAnthropic({
  anthropicApiUrl: "http://127.0.0.1:8000",
  apiKey: "sk-gw-...",
  model: "tollhouse/simulated",
});
console.log((await chat.invoke("Hello")).content);
""",
        ),
        "`langchain` 1.5.14, 1.5.11",
        "agents, structured output. The input tokens of a stream can be an "
        "[estimate](messages.md#responses)",
    ),
)
NOTES = """
### Mistral's SDK and streams

Mistral sends each tool call in one chunk, and its SDKs require `function.name` in every part of a
call. The gateway sends the name once and the arguments in parts, as OpenAI does: other clients
would join the repeated names. Use `chat.complete` for calls with tools, or another client. Pydantic
AI's `MistralModel` has the same limit. Of streamed transcriptions the SDKs know other events.
"""
