// Runs OpenAI's client for Node at /responses of a gateway; prints one JSON line for each case.
// Judges nothing: tests/clients/test_openai_node_responses.py says what the lines must hold.

import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";

import { baseURL, failure, interrupted, keys, report, witnessed } from "./reporting.js";

const connect = (apiKey) => new OpenAI({ apiKey, baseURL, maxRetries: 0 });
const { responses } = connect(keys.good);
// Of a workspace that stores what is said.
const storing = connect(keys.storing).responses;
const model = "fake-model";

const asked = (input, members) => ({ model, input, ...members });
const create = (input, members, options) => responses.create(asked(input, members), options);
const weather = {
  type: "function",
  name: "get_weather",
  description: "Look up the weather of a city.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: false,
};
const forecast = zodTextFormat(z.object({ place: z.string(), celsius: z.int() }), "forecast");

async function read(stream) {
  const kinds = [];
  let text = "";
  for await (const event of stream) {
    kinds.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  return { kinds, text };
}

async function helper(input, members) {
  const stream = responses.stream(asked(input, members));
  let text = "";
  stream.on("response.output_text.delta", ({ delta }) => (text += delta));
  const response = await stream.finalResponse();
  return { text, response };
}

// The second request says all that was said before, as a client does where nothing is stored.
async function roundTrip() {
  const first = [{ role: "user", content: "script:tools=2&reasoning=2&text=Mild" }];
  const { response } = await helper(first, { tools: [weather] });
  const calls = response.output.filter((item) => item.type === "function_call");
  const results = calls.map(({ call_id }) => ({
    type: "function_call_output",
    call_id,
    output: "21 degrees",
  }));
  const second = await create([...first, ...response.output, ...results], { tools: [weather] });
  return { calls, second };
}

async function goOn() {
  const first = await storing.create(asked("script:text=One"));
  const members = { previous_response_id: first.id };
  const second = await storing.create(asked("script:text=Two", members));
  const third = await storing.create(asked("script:echo", { previous_response_id: second.id }));
  return { first, second, echoed: JSON.parse(third.output_text) };
}

async function keep() {
  const made = await storing.create(asked("script:tokens=5"));
  const found = await storing.retrieve(made.id);
  const items = [];
  for await (const item of storing.inputItems.list(made.id)) items.push(item);
  const followed = await failure(() => storing.stream({ response_id: made.id }).finalResponse());
  await storing.delete(made.id);
  return { made, found, items, followed, gone: await failure(() => storing.retrieve(made.id)) };
}

async function leaveStream() {
  const leaving = new AbortController();
  const options = { signal: leaving.signal };
  const stream = await create("script:tokens=9999&delay_ms=5", { stream: true }, options);
  let seen = 0;
  for await (const _ of stream) if (++seen === 12) leaving.abort();
}

const failures = {
  400: () => create([{ role: "king", content: "Hello" }]),
  "400 tool": () => create("Hello", { tools: [{ type: "file_search" }] }),
  "400 background": () => create("Hello", { background: true }),
  "400 previous": () => create("Hello", { previous_response_id: "resp_1" }),
  401: () => connect("sk-gw-wrong").responses.create(asked("Hello")),
  402: () => connect(keys.poor).responses.create(asked("Hello")),
  403: () => connect(keys.other_model).responses.create(asked("Hello")),
  404: () => create("Hello", { model: "no/such" }),
  "404 streamed": () => create("Hello", { model: "no/such", stream: true }),
  "404 retrieve": () => responses.retrieve("resp_1"),
  "404 delete": () => responses.delete("resp_1"),
  429: () => create("script:fail=429"),
  "502 failed": () => create("script:fail=500"),
  "502 auth": () => create("script:fail=401"),
  504: () => create("script:fail=504"),
  529: () => create("script:fail=529"),
  broken: async () => read(await create("script:tokens=9&reset_after=3", { stream: true })),
  "broken helper": () => helper("script:tokens=9&reset_after=3"),
  timeout: () => create("script:hang", {}, { timeout: 300 }),
};

const cases = {
  create: () => create("script:tokens=5&reasoning=2", { instructions: "Be short." }),
  stream: async () => read(await create("script:tokens=5&reasoning=2", { stream: true })),
  helper: () => helper("script:tokens=5"),
  cut: () => helper("script:tokens=50", { max_output_tokens: 16 }),
  tools: roundTrip,
  schema: async () => {
    const members = { text: { format: forecast } };
    const parsed = await responses.parse(asked("Paris", members));
    const { response } = await helper("Paris", members);
    return { buffered: parsed.output_parsed, streamed: response.output_parsed };
  },
  headers: async () => {
    const { data, response, request_id } = await create("script:tokens=2").withResponse();
    return { request_id, id: data.id, headers: Object.fromEntries(response.headers) };
  },
  "go on": goOn,
  keep,
  "leave buffered": () =>
    interrupted((signal) => failure(() => create("script:hang", {}, { signal }))),
  "leave streamed": () => witnessed(() => failure(leaveStream)),
};
for (const [name, work] of Object.entries(failures)) cases[`error ${name}`] = () => failure(work);

await report(cases);
