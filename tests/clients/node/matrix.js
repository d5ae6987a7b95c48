// The clients for Node in the matrix, each making the calls of every cell; prints one JSON line
// for each. Judges nothing: tests/clients/test_matrix.py does. Reads BASE_URL, KEY, PICTURE (a
// data: URL), PROMPTS and PROFILES: the profiles by the clients that are tried under them, too.

import { createRequire } from "node:module";

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, stepCountIs, streamText, tool } from "ai";
import OpenAI from "openai";
import { z } from "zod";

import { report } from "./reporting.js";

const { BASE_URL: baseURL, KEY: apiKey, PICTURE: picture } = process.env;
const [prompts, profiles] = [process.env.PROMPTS, process.env.PROFILES].map(JSON.parse);
const versions = createRequire(import.meta.url)("./node_modules/.package-lock.json").packages;
const version = (name) => () => versions[`node_modules/${name}`].version;

const model = "fake-model";
const user = (content) => [{ role: "user", content }];
const withPicture = user([
  { type: "text", text: prompts.echo },
  { type: "image_url", image_url: { url: picture } },
]);
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Look up the weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

const nothing = () => ({ text: "", finish: null, usage: null, calls: [], raised: null, code: null });
const counted = (usage) => (usage ? [usage.prompt_tokens, usage.completion_tokens] : null);
const named = (calls) => calls.map(({ function: f }) => [f.name, JSON.parse(f.arguments)]);
const answered = (calls) => [
  ...user(prompts.tool),
  { role: "assistant", content: null, tool_calls: calls },
  ...calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "21 degrees" })),
];

// Note in `seen` what the work throws.
async function failing(seen, work) {
  try {
    await work();
  } catch (error) {
    seen.raised = error.constructor.name;
    seen.code = error.code ?? null;
  }
  return seen;
}

// Put the pieces of streamed tool calls together, in `calls`.
function join(calls, pieces) {
  for (const { index, id, function: called } of pieces ?? []) {
    calls[index] ??= { id, type: "function", function: { name: called.name, arguments: "" } };
    calls[index].function.arguments += called.arguments ?? "";
  }
}

// Both a client and a loop of one's own: `ask` makes a buffered call, `stream` yields the chunks of
// a streamed one, both from a body. Nothing is guarded where chunks are read.
function cellsOf({ ask, stream }) {
  const read = async (body) => {
    const answer = await ask({ model, ...body });
    const [{ message, finish_reason: finish }] = answer.choices;
    const calls = message.tool_calls ?? [];
    return { ...nothing(), text: message.content, finish, usage: counted(answer.usage), calls };
  };
  const follow = async (body, seen = nothing(), is_asked = false) => {
    for await (const chunk of stream({ model, stream: true, ...body })) {
      seen.usage = counted(chunk.usage) ?? seen.usage;
      if (is_asked && !chunk.choices.length) continue;
      const [{ delta, finish_reason: finish }] = chunk.choices;
      seen.text += delta.content ?? "";
      seen.finish = finish ?? seen.finish;
      join(seen.calls, delta.tool_calls);
    }
    return seen;
  };
  const roundTrip = async (make) => {
    const first = await make({ messages: user(prompts.tool), tools: [weather] });
    const second = await make({ messages: answered(first.calls), tools: [weather] });
    return { ...second, finish: first.finish, calls: named(first.calls) };
  };
  const plain = { messages: user(prompts.plain) };
  const including = (include_usage) => ({ ...plain, stream_options: { include_usage } });
  return {
    buffered: () => read(plain),
    streamed: () => follow(plain),
    "usage asked": () => follow(including(true), nothing(), true),
    "usage declined": () => follow(including(false)),
    failure: () => {
      const seen = nothing();
      return failing(seen, () => follow({ messages: user(prompts.broken) }, seen));
    },
    tools: () => roundTrip(read),
    "tools streamed": () => roundTrip(follow),
    image: () => read({ messages: withPicture }),
  };
}

const client = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
const openaiNode = cellsOf({
  ask: (body) => client.chat.completions.create(body),
  stream: async function* (body) {
    yield* await client.chat.completions.create(body);
  },
});

// What a page does with fetch, as the sample of Bud's documentation does, in Bud's profile: each
// read is split into lines, nothing is kept for the next, and the first choice is taken unguarded.
const addressOf = (profile) => baseURL.replace("/v1", `/compat/${profile}/v1`);
const bud = addressOf("bud");
const post = (body) =>
  fetch(`${bud}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${apiKey}` },
    body: JSON.stringify(body),
  });
const fetching = cellsOf({
  ask: async (body) => (await post(body)).json(),
  stream: async function* (body) {
    const reader = (await post(body)).body.getReader();
    const decoder = new TextDecoder();
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const line of decoder.decode(value).split("\n")) {
        if (!line.startsWith("data: ")) continue;
        const data = line.slice(6);
        if (data === "[DONE]") break;
        yield JSON.parse(data);
      }
    }
  },
});

const tools = {
  get_weather: tool({
    description: "Look up the weather of a city.",
    inputSchema: z.object({ city: z.string() }),
    execute: async () => "21 degrees",
  }),
};

function vercel(plainModel, askingModel = plainModel) {
  const asked = (prompt, more) => ({
    model: plainModel,
    prompt,
    maxRetries: 0,
    onError: () => {}, // said in the stream; by default the SDK would print it too
    ...more,
  });
  const told = async (answer, seen = nothing()) => {
    const [first] = await answer.steps;
    const usage = (await answer.steps).at(-1).usage;
    return {
      ...seen,
      text: seen.text || (await answer.text),
      finish: first.finishReason,
      usage: usage.inputTokens === undefined ? null : [usage.inputTokens, usage.outputTokens],
      calls: first.toolCalls.map((call) => [call.toolName, call.input]),
    };
  };
  const generate = async (prompt, more) => told(await generateText(asked(prompt, more)));
  const stream = async (prompt, more) => {
    const seen = nothing();
    const streaming = streamText(asked(prompt, more));
    for await (const part of streaming.fullStream) {
      if (part.type === "text-delta") seen.text += part.text;
      if (part.type !== "error") continue;
      const { error } = part;
      // A part of the stream: the SDK passes the error on as it came.
      return { ...seen, raised: error.name ?? part.type, code: error.code };
    }
    return told(streaming, seen);
  };
  const withTools = { tools, stopWhen: stepCountIs(3) };
  const messages = user([
    { type: "text", text: prompts.echo },
    { type: "image", image: new URL(picture) },
  ]);
  return {
    buffered: () => generate(prompts.plain),
    streamed: () => stream(prompts.plain),
    "usage asked": () => stream(prompts.plain, { model: askingModel }),
    failure: () => stream(prompts.broken),
    tools: () => generate(prompts.tool, withTools),
    "tools streamed": () => stream(prompts.tool, withTools),
    image: () => generate(undefined, { messages }),
  };
}

const vercels = {
  "@ai-sdk/openai": (address) => vercel(createOpenAI({ baseURL: address, apiKey }).chat(model)),
  "@ai-sdk/openai-compatible": (address) => {
    const settings = { name: "tollhouse", baseURL: address, apiKey };
    const asking = createOpenAICompatible({ ...settings, includeUsage: true });
    return vercel(createOpenAICompatible(settings)(model), asking(model));
  },
};
const programs = {
  "openai-node": { version: version("openai"), ...openaiNode },
  fetch: { version: () => "", ...fetching },
};
for (const [name, make] of Object.entries(vercels)) {
  programs[name] = { version: version(name), ...make(baseURL) };
  for (const profile of profiles[name]) {
    const there = make(addressOf(profile));
    for (const cell of ["streamed", "usage asked"]) {
      programs[name][`${cell} in ${profile}`] = there[cell];
    }
  }
}

const cells = {};
for (const [name, own] of Object.entries(programs)) {
  for (const [cell, work] of Object.entries(own)) cells[`${name}: ${cell}`] = work;
}
await report(cells);
