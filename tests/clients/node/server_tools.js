// Runs the SDKs of OpenAI, Anthropic and Vercel against calls whose model uses a tool of the gateway,
// with tool events in their streams; prints one JSON line for each case. Judges nothing:
// tests/clients/test_server_tools.py says what the lines must hold.

import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import Anthropic from "@anthropic-ai/sdk";
import { generateText, streamText } from "ai";
import OpenAI from "openai";

import { baseURL, keys, report } from "./reporting.js";

globalThis.AI_SDK_LOG_WARNINGS = false;

const apiKey = keys.good;
const model = "fake-model";
const prompt = `script:tools=1&rounds=2&args=${encodeURIComponent('{"query":"weather"}')}`;
const messages = [{ role: "user", content: prompt }];
const ours = { plugins: [{ id: "web_search" }], hi_tool_events: true };

const openai = new OpenAI({ apiKey, baseURL, maxRetries: 0 });
const anthropic = new Anthropic({ apiKey, baseURL: baseURL.replace(/\/v1$/, ""), maxRetries: 0 });

async function chat() {
  const runner = openai.chat.completions.stream({ model, messages, ...ours });
  let text = "";
  runner.on("content", (piece) => (text += piece));
  const answer = await runner.finalChatCompletion();
  return { text, finish: answer.choices[0].finish_reason };
}

async function responses() {
  const runner = openai.responses.stream({ model, input: messages, ...ours });
  const kinds = [];
  for await (const event of runner) kinds.push(event.type);
  const response = await runner.finalResponse();
  const [said] = response.output.filter((item) => item.type === "message");
  return { text: response.output_text, kinds, cited: said.content[0].annotations.map((a) => a.url) };
}

async function created() {
  const tools = [{ type: "web_search", events: true }];
  const response = await openai.responses.create({ model, input: messages, tools });
  return { text: response.output_text, events: response.hi_tool_events.length };
}

async function message() {
  const runner = anthropic.messages.stream({ model, max_tokens: 999, messages, ...ours });
  let text = "";
  const cited = [];
  runner.on("text", (piece) => (text += piece));
  runner.on("citation", (citation) => cited.push(citation.url));
  const whole = await runner.finalMessage();
  return { text, cited, finish: whole.stop_reason, whole: whole.content[0].text };
}

// The SDK of Vercel knows no members of ours: they are added where it sends its request.
const adding = (address, { body, ...sent }) =>
  fetch(address, { ...sent, body: JSON.stringify({ ...JSON.parse(body), ...ours }) });
const options = { apiKey, baseURL, fetch: adding };
const vercel = {
  "vercel chat": createOpenAI(options).chat(model),
  "vercel responses": createOpenAI(options)(model),
  "vercel messages": createAnthropic(options)(model),
  "vercel compatible": createOpenAICompatible({ name: "tollhouse", ...options })(model),
};

async function streamed(model) {
  const seen = { text: "", errors: [], cited: [] };
  const streaming = streamText({ model, prompt, maxRetries: 0, onError: () => {} });
  for await (const part of streaming.fullStream) {
    if (part.type === "text-delta") seen.text += part.text;
    if (part.type === "error") seen.errors.push(String(part.error));
    if (part.type === "source") seen.cited.push(part.url);
  }
  return { ...seen, finish: await streaming.finishReason };
}

async function buffered(model) {
  const answer = await generateText({ model, prompt, maxRetries: 0 });
  return { text: answer.text, errors: [], cited: answer.sources.map((source) => source.url) };
}

const cases = { chat, responses, created, message };
for (const [name, model] of Object.entries(vercel)) {
  cases[`${name} streamed`] = () => streamed(model);
  cases[`${name} buffered`] = () => buffered(model);
}
await report(cases);
