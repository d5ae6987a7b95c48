// Runs the official client for Node against a gateway; prints one JSON line for each case.
// Judges nothing: tests/clients/test_openai_node.py says what the lines must hold.

import OpenAI, { toFile } from "openai";

import { baseURL, failure, interrupted, keys, report, witnessed } from "./reporting.js";

const client = new OpenAI({ apiKey: keys.good, baseURL, maxRetries: 0 });
const fake = "fake-model";
const simulated = "tollhouse/simulated";

const user = (content) => [{ role: "user", content }];
const create = (content, members = {}, options = {}) =>
  client.chat.completions.create({ model: fake, messages: user(content), ...members }, options);

const as = (key) => ({ headers: { Authorization: `Bearer ${key}` } });

const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Look up the weather of a city.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const forecast = {
  type: "json_schema",
  json_schema: {
    name: "forecast",
    schema: {
      type: "object",
      properties: { place: { type: "string" }, celsius: { type: "integer" } },
      required: ["place", "celsius"],
    },
  },
};

// The loop that everybody writes: nothing guarded.
async function read(stream) {
  const seen = [];
  let text = "";
  for await (const chunk of stream) {
    text += chunk.choices[0].delta.content ?? "";
    seen.push(chunk);
  }
  return { text, chunks: seen };
}

async function tools(model, content) {
  const calls = [];
  const runner = client.chat.completions.runTools({
    model,
    messages: user(content),
    tools: [
      {
        ...weather,
        function: {
          ...weather.function,
          parse: JSON.parse,
          function: (args) => (calls.push(args), { celsius: 21 }),
        },
      },
    ],
  });
  const text = await runner.finalContent();
  return { calls, text, roles: runner.messages.map((message) => message.role) };
}

async function helper(content, members = {}) {
  const asked = { model: fake, messages: user(content), ...members };
  const runner = client.chat.completions.stream(asked);
  let text = "";
  runner.on("content", (piece) => (text += piece));
  const answer = await runner.finalChatCompletion();
  return { text, answer, usage: answer.usage ?? null };
}

async function leaveStream() {
  const leaving = new AbortController();
  const options = { signal: leaving.signal };
  const stream = await create("script:tokens=9999&delay_ms=5", { stream: true }, options);
  let seen = 0;
  for await (const _ of stream) if (++seen === 10) leaving.abort();
}

// A file with a name that a form has to quote.
const recording = () => toFile(Buffer.alloc(32000, 7), 'a "name" of ümlauts.mp3');
const transcribe = async (members = {}) =>
  client.audio.transcriptions.create({ model: simulated, file: await recording(), ...members });

// What is written down of a call, once it is: that may take a moment.
async function recordOf(id) {
  for (let tries = 1; ; tries++) {
    try {
      const { data } = await client.get("/generation", { query: { id } });
      if (data.status !== "in_progress" || tries > 100) return data;
    } catch (error) {
      if (error.status !== 404 || tries > 100) throw error;
    }
  }
}

const failures = {
  400: () => create("Hello", { temperature: 3 }),
  404: () => create("Hello", { model: "no/such" }),
  401: () => create("Hello", {}, as("sk-gw-wrong")),
  402: () => create("Hello", {}, as(keys.poor)),
  403: () => create("Hello", {}, as(keys.other_model)),
  413: () => create("x".repeat(51 * 1024 * 1024)),
  429: () => create("script:fail=429"),
  "502 failed": () => create("script:fail=500"),
  "502 auth": () => create("script:fail=401"),
  504: () => create("script:fail=504"),
  529: () => create("script:fail=529"),
  "404 retrieve": () => client.models.retrieve("no/such model"),
  "404 endpoint": () => client.fineTuning.jobs.create({ model: "m", training_file: "f" }),
  "404 streamed": () => create("Hello", { model: "no/such", stream: true }),
  timeout: () => create("script:hang", {}, { timeout: 300 }),
};

const cases = {
  create: () => create("four words of prompt"),
  "create simulated": () => create("Good morning", { model: simulated }),
  "stream simulated": async () =>
    read(await create("script:tokens=20&reasoning=2", { stream: true, model: simulated })),
  helper: () => helper("script:tokens=6"),
  "helper with usage": () => helper("script:tokens=6", { stream_options: { include_usage: true } }),
  "helper simulated": () => helper("script:tokens=6", { model: simulated }),
  "tools simulated": () => tools(simulated, "What is the weather?"),
  "tools streamed": async () => {
    const answer = await helper("script:tools=2", { tools: [weather] });
    return answer.answer.choices[0];
  },
  schema: async () => {
    const answer = await create("Paris", { response_format: forecast });
    const streamed = await read(await create("Paris", { response_format: forecast, stream: true }));
    const parsed = await client.chat.completions.parse({
      model: simulated,
      messages: user("Paris"),
      response_format: forecast,
    });
    return {
      buffered: answer.choices[0].message.content,
      streamed: streamed.text,
      simulated: parsed.choices[0].message.content,
    };
  },
  speech: async () => {
    const asked = { model: simulated, input: "two words", voice: "alloy", response_format: "wav" };
    const answer = await client.audio.speech.create(asked);
    const sound = Buffer.from(await answer.arrayBuffer());
    const type = answer.headers.get("content-type");
    return { type, head: sound.toString("latin1", 0, 4), bytes: sound.length };
  },
  transcription: async () => transcribe({ temperature: 0.2, timestamp_granularities: ["word"] }),
  "transcription streamed": async () => {
    let text = "";
    let last = null;
    for await (const event of await transcribe({ stream: true })) {
      text += event.delta ?? "";
      last = event;
    }
    return { text, last };
  },
  translation: async () =>
    client.audio.translations.create({ model: simulated, file: await recording() }),
  models: async () => {
    const listed = [];
    for await (const model of client.models.list()) listed.push(model);
    return { listed, one: await client.models.retrieve(simulated) };
  },
  headers: async () => {
    const { data, response, request_id } = await create("script:tokens=2").withResponse();
    return { request_id, id: data.id, headers: Object.fromEntries(response.headers) };
  },
  generation: async () => {
    const answer = await create("script:tokens=7");
    return { answer, record: await recordOf(answer.id) };
  },
  "broken helper": () => failure(() => helper("script:tokens=9&reset_after=3")),
  "leave buffered": () =>
    interrupted((signal) => failure(() => create("script:hang", {}, { signal }))),
  "leave streamed": () => witnessed(() => failure(leaveStream)),
  "not tried again": () =>
    witnessed(() => failure(() => create("script:fail=401", {}, { maxRetries: 2 }))),
};
for (const [name, work] of Object.entries(failures)) cases[`error ${name}`] = () => failure(work);

await report(cases);
