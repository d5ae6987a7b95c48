// Runs the Vercel AI SDK against a gateway, through its providers that people point at an address
// of their own; prints one JSON line for each case. Judges nothing:
// tests/clients/test_vercel.py says what the lines must hold.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, streamText } from "ai";
import { z } from "zod";

import { baseURL, interrupted, keys, report, witnessed } from "./reporting.js";

// Such as that it does not know the model: they would be printed among the lines.
globalThis.AI_SDK_LOG_WARNINGS = false;

const compatible = (options) => (apiKey) =>
  createOpenAICompatible({ name: "tollhouse", baseURL, apiKey, ...options });
const providers = {
  compatible: compatible({ supportsStructuredOutputs: true }),
  "compatible with usage": compatible({ supportsStructuredOutputs: true, includeUsage: true }),
  openai: (apiKey) => createOpenAI({ baseURL, apiKey }).chat,
  "openai responses": (apiKey) => createOpenAI({ baseURL, apiKey }),
};

const forecast = Output.object({ schema: z.object({ place: z.string(), kind: z.enum(["short"]) }) });

// What is known of an error, whichever kind the SDK raised or passed on.
const described = (error) => ({
  name: error.name ?? null,
  status: error.statusCode ?? null,
  code: error.code ?? error.data?.error?.code ?? null,
  message: error.message,
});

// A whole stream: what it said, what went wrong in it, and what the SDK knows at its end.
async function read(streaming, hear = () => {}) {
  const seen = { text: "", kinds: [], errors: [] };
  for await (const part of streaming.fullStream) {
    seen.kinds.push(part.type);
    if (part.type === "text-delta") seen.text += part.text;
    if (part.type === "error") seen.errors.push(described(part.error));
    hear(seen);
  }
  if (!seen.errors.length && !seen.kinds.includes("abort")) Object.assign(seen, await end(streaming));
  return seen;
}

const end = async (streaming) => ({
  finish: await streaming.finishReason,
  raw_finish: await streaming.rawFinishReason,
  usage: await streaming.usage,
  id: (await streaming.response).id,
});

async function failure(work) {
  try {
    await work();
    return null;
  } catch (error) {
    return described(error);
  }
}

function casesOf(provider) {
  const asked = (prompt, { model = "fake-model", key = keys.good, ...more } = {}) => ({
    model: provider(key)(model),
    prompt,
    maxRetries: 0,
    onError: () => {}, // said in the stream; by default the SDK would print it too
    ...more,
  });

  async function generate(prompt, options) {
    const answer = await generateText(asked(prompt, options));
    return {
      text: answer.text,
      finish: answer.finishReason,
      usage: answer.usage,
      id: answer.response.id,
    };
  }
  const stream = (prompt, options, hear) => read(streamText(asked(prompt, options)), hear);

  const failures = {
    400: ["script:fail=400"],
    401: ["Hello", { key: "sk-gw-wrong" }],
    402: ["Hello", { key: keys.poor }],
    403: ["Hello", { key: keys.other_model }],
    404: ["Hello", { model: "no/such" }],
    429: ["script:fail=429"],
    502: ["script:fail=500"],
    "broken off": ["script:tokens=9&reset_after=3"],
  };

  const cases = {
    buffered: () => generate("script:tokens=5&reasoning=2"),
    streamed: () => stream("script:tokens=5&reasoning=2"),
    simulated: () => stream("Good morning", { model: "tollhouse/simulated" }),
    schema: async () => (await generateText(asked("Paris", { output: forecast }))).output,
    "schema streamed": async () => {
      const streaming = streamText(asked("Paris", { output: forecast }));
      for await (const _ of streaming.partialOutputStream);
      return streaming.output;
    },
    "leave buffered": () =>
      interrupted(async (abortSignal) => ({
        error: await failure(() => generate("script:hang", { abortSignal })),
      })),
    "leave streamed": () =>
      witnessed(() => {
        const leaving = new AbortController();
        const options = { abortSignal: leaving.signal };
        return stream("script:tokens=9999&delay_ms=5", options, ({ text }) => {
          if (text.split(" ").length > 10) leaving.abort();
        });
      }),
  };
  for (const [name, call] of Object.entries(failures)) {
    cases[`error ${name}`] = () => failure(() => generate(...call));
    if (name !== "broken off") cases[`error ${name} streamed`] = () => stream(...call);
  }
  return cases;
}

const all = {};
for (const [provider, make] of Object.entries(providers)) {
  for (const [name, work] of Object.entries(casesOf(make))) all[`${provider}: ${name}`] = work;
}
const anthropic = casesOf((apiKey) => createAnthropic({ baseURL, apiKey }));
// For models that it does not know it asks for objects with a tool that has to be called.
for (const name of ["buffered", "streamed", "schema", "schema streamed"])
  all[`anthropic: ${name}`] = anthropic[name];
await report(all);
