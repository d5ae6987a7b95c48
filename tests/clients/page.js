// What a page's own script does to talk to a model. Evaluated in the page; defines `window.model`.
() => {
  let leaving;

  const post = ({ address, key, headers, body }) => {
    leaving = new AbortController();
    return fetch(address, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
  };

  async function ask(call) {
    const response = await post(call);
    return { status: response.status, answer: await response.json() };
  }

  // The loop of many a page: each read is split, nothing is kept for the next, nothing is guarded.
  async function stream(call) {
    const seen = { text: "", calls: [], finish: null, error: null, usage: null, left: null };
    const response = await post(call);
    seen.id = response.headers.get("x-request-id");
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    while (true) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const line of decoder.decode(value).split("\n")) {
        if (!line.startsWith("data: ")) continue;
        const data = line.slice(6);
        if (data === "[DONE]") break;
        const parsed = JSON.parse(data);
        if (parsed.error) {
          seen.error = parsed.error;
          break;
        }
        if (parsed.choices[0].delta.content) seen.text += parsed.choices[0].delta.content;
        for (const { index, function: called } of parsed.choices[0].delta.tool_calls ?? []) {
          seen.calls[index] ??= { name: called.name, arguments: "" };
          seen.calls[index].arguments += called.arguments;
        }
        seen.finish = parsed.choices[0].finish_reason ?? seen.finish;
        seen.usage = parsed.usage ?? seen.usage;
      }
      if (call.leaves_after && seen.text.split(" ").length > call.leaves_after) {
        leaving.abort();
        seen.left = await reader.read().then(() => "read on", (error) => error.name);
        break;
      }
    }
    return seen;
  }

  let asked;
  window.model = {
    ask,
    stream,
    begin: (call) => void (asked = ask(call).catch((error) => error.name)),
    leave: () => (leaving.abort(), asked),
  };
};
