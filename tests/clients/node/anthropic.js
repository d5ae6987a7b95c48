// Runs Anthropic's client for Node against a gateway, with a model of Anthropic's own dialect and
// with one of another; prints one JSON line for each case. Judges nothing:
// tests/clients/test_messages.py says what the lines must hold.

import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";

import { baseURL, failure, keys, report, witnessed } from "./reporting.js";

// The client adds the version to the address by itself.
const address = baseURL.replace(/\/v1$/, "");
const connect = (apiKey) => new Anthropic({ apiKey, baseURL: address, maxRetries: 0 });
const client = connect(keys.good);
const models = ["fake-model", "a-claude"];

const weather = {
  name: "get_weather",
  description: "Look up the weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const forecast = zodOutputFormat(z.object({ place: z.string(), kind: z.enum(["short"]) }));

const user = (content) => [{ role: "user", content }];

function casesOf(model) {
  const asked = (prompt, members) => ({
    model,
    max_tokens: 2000,
    messages: user(prompt),
    ...members,
  });
  const create = (prompt, members, options) =>
    client.messages.create(asked(prompt, members), options);

  async function helper(prompt, members) {
    const stream = client.messages.stream(asked(prompt, members));
    let text = "";
    stream.on("text", (piece) => (text += piece));
    const message = await stream.finalMessage();
    return { text, message };
  }

  async function read(stream, hear = () => {}) {
    const kinds = [];
    for await (const event of stream) {
      kinds.push(event.type);
      hear(kinds.length);
    }
    return kinds;
  }

  async function roundTrip() {
    const prompt = "script:tools=1&text=Mild";
    const members = { tools: [weather] };
    const { message: first } = await helper(prompt, members);
    const call = first.content.find((block) => block.type === "tool_use");
    const result = { type: "tool_result", tool_use_id: call.id, content: "21 degrees" };
    const messages = [
      ...user(prompt),
      { role: "assistant", content: first.content },
      ...user([result]),
    ];
    return { first, call, second: await create(prompt, { ...members, messages }) };
  }

  async function runTools() {
    const calls = [];
    const { input_schema: inputSchema, ...named } = weather;
    const run = (input) => (calls.push(input), "21 degrees");
    const tools = [betaTool({ ...named, inputSchema, run })];
    const runner = client.beta.messages.toolRunner(asked("script:tools=1&text=Mild", { tools }));
    return { message: await runner, calls };
  }

  async function leaveStream() {
    const leaving = new AbortController();
    const options = { signal: leaving.signal };
    const stream = await create("script:tokens=1999&delay_ms=5", { stream: true }, options);
    await read(stream, (seen) => seen === 12 && leaving.abort());
  }

  const failures = {
    400: () => create("Hello", { max_tokens: 0 }),
    401: () => connect("sk-gw-wrong").messages.create(asked("Hello")),
    402: () => connect(keys.poor).messages.create(asked("Hello")),
    403: () => connect(keys.other_model).messages.create(asked("Hello")),
    404: () => create("Hello", { model: "no/such" }),
    "404 streamed": () => create("Hello", { model: "no/such", stream: true }),
    429: () => create("script:fail=429"),
    502: () => create("script:fail=500"),
    529: () => create("script:fail=529"),
    broken: () => helper("script:tokens=9&reset_after=3"),
  };
  const cases = {
    create: async () => {
      const message = await create("script:tokens=5");
      return { message, request_id: message._request_id };
    },
    stream: async () => read(await create("script:tokens=5", { stream: true })),
    helper: () => helper("script:tokens=5&reasoning=2"),
    tools: roundTrip,
    "tool runner": runTools,
    schema: async () => {
      const members = { output_config: { format: forecast } };
      const parsed = await client.messages.parse(asked("Paris", members));
      return { buffered: parsed.parsed_output, streamed: (await helper("Paris", members)).text };
    },
    count: () => client.messages.countTokens({ model, messages: user("Hello there") }),
    "leave streamed": () => witnessed(() => failure(leaveStream)),
  };
  for (const [name, work] of Object.entries(failures)) cases[`error ${name}`] = () => failure(work);
  return cases;
}

const all = {};
for (const model of models) {
  for (const [name, work] of Object.entries(casesOf(model))) all[`${model}: ${name}`] = work;
}
await report(all);
