"""How each client is connected: the text that docs/clients.md shows, which the tests run as it is
but for the address and the key."""

from __future__ import annotations

from dataclasses import dataclass

ADDRESS, KEY = "http://127.0.0.1:8000/v1", "sk-gw-..."


@dataclass(frozen=True)
class Snippet:
    """client: its name in tests.clients.matrix. text: what it prints is an answer."""

    client: str
    title: str
    install: str
    language: str
    text: str

    def at(self, address: str, key: str) -> str:
        """Return the text with another address and key."""
        return self.text.replace(ADDRESS, address).replace(KEY, key)


ALL = (
    Snippet(
        "openai_python",
        "openai-python",
        "pip install openai",
        "python",
        """\
from openai import OpenAI

client = OpenAI(base_url="http://127.0.0.1:8000/v1", api_key="sk-gw-...")
stream = client.chat.completions.create(
    model="tollhouse/simulated", messages=[{"role": "user", "content": "Hello"}], stream=True
)
for chunk in stream:
    print(chunk.choices[0].delta.content or "", end="")
""",
    ),
    Snippet(
        "langchain",
        "LangChain",
        "pip install langchain-openai",
        "python",
        """\
from langchain_openai import ChatOpenAI

chat = ChatOpenAI(
    base_url="http://127.0.0.1:8000/v1", api_key="sk-gw-...", model="tollhouse/simulated"
)
print(chat.invoke("Hello").content)
""",
    ),
    Snippet(
        "pydantic_agent",
        "Pydantic AI",
        'pip install "pydantic-ai-slim[openai]"',
        "python",
        """\
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url="http://127.0.0.1:8000/v1", api_key="sk-gw-...")
agent = Agent(OpenAIChatModel("tollhouse/simulated", provider=provider))
print(agent.run_sync("Hello").output)
""",
    ),
    Snippet(
        "autogen",
        "AutoGen",
        'pip install "autogen-ext[openai]"',
        "python",
        """\
import asyncio

from autogen_core.models import UserMessage
from autogen_ext.models.openai import OpenAIChatCompletionClient

client = OpenAIChatCompletionClient(
    base_url="http://127.0.0.1:8000/v1",
    api_key="sk-gw-...",
    model="tollhouse/simulated",
    model_info={
        "vision": False,
        "function_calling": True,
        "json_output": True,
        "structured_output": True,
        "family": "unknown",
    },
)
result = asyncio.run(client.create([UserMessage(content="Hello", source="user")]))
print(result.content)
""",
    ),
    Snippet(
        "openai-node",
        "openai-node",
        "npm install openai",
        "js",
        """\
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "http://127.0.0.1:8000/v1", apiKey: "sk-gw-..." });
const stream = await client.chat.completions.create({
  model: "tollhouse/simulated",
  messages: [{ role: "user", content: "Hello" }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0].delta.content ?? "");
""",
    ),
    Snippet(
        "@ai-sdk/openai",
        "Vercel AI SDK, `@ai-sdk/openai`",
        "npm install ai @ai-sdk/openai",
        "js",
        """\
import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";

const tollhouse = createOpenAI({ baseURL: "http://127.0.0.1:8000/v1", apiKey: "sk-gw-..." });
const { text } = await generateText({
  model: tollhouse.chat("tollhouse/simulated"),
  prompt: "Hello",
});
console.log(text);
""",
    ),
    Snippet(
        "@ai-sdk/openai-compatible",
        "Vercel AI SDK, `@ai-sdk/openai-compatible`",
        "npm install ai @ai-sdk/openai-compatible",
        "js",
        """\
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText } from "ai";

const tollhouse = createOpenAICompatible({
  name: "tollhouse",
  baseURL: "http://127.0.0.1:8000/v1",
  apiKey: "sk-gw-...",
  includeUsage: true,
});
const { text } = await generateText({ model: tollhouse("tollhouse/simulated"), prompt: "Hello" });
console.log(text);
""",
    ),
    Snippet(
        "fetch",
        "`fetch`",
        "",
        "js",
        """\
const response = await fetch("http://127.0.0.1:8000/v1/chat/completions", {
  method: "POST",
  headers: { "Content-Type": "application/json", Authorization: "Bearer sk-gw-..." },
  body: JSON.stringify({
    model: "tollhouse/simulated",
    messages: [{ role: "user", content: "Hello" }],
  }),
});
console.log((await response.json()).choices[0].message.content);
""",
    ),
    Snippet(
        "go_openai",
        "go-openai",
        "go get github.com/sashabaranov/go-openai",
        "go",
        """\
config := openai.DefaultConfig("sk-gw-...")
config.BaseURL = "http://127.0.0.1:8000/v1"
client := openai.NewClientWithConfig(config)
answer, err := client.CreateChatCompletion(ctx, openai.ChatCompletionRequest{
	Model:    "tollhouse/simulated",
	Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Hello"}},
})
""",
    ),
    Snippet(
        "curl",
        "curl",
        "",
        "sh",
        """\
curl http://127.0.0.1:8000/v1/chat/completions \\
  -H "Authorization: Bearer sk-gw-..." -H "Content-Type: application/json" \\
  -d '{"model": "tollhouse/simulated", "messages": [{"role": "user", "content": "Hello"}]}'
""",
    ),
)
BY_CLIENT = {snippet.client: snippet for snippet in ALL}
