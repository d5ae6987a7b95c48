// What the batteries share: what they are told, and the one JSON line they print for each case.
// Reads BASE_URL, BOOK (the address of the fake upstream's book) and KEYS, a JSON object of keys
// by what they are good for.

export const baseURL = process.env.BASE_URL;
export const keys = JSON.parse(process.env.KEYS ?? "{}");

async function calls() {
  const book = await (await fetch(process.env.BOOK)).json();
  return book.calls.map((call) => call.request_id);
}

// Everything that is known of an error the client raised, or a note that it raised none. Anthropic's
// client gives the whole body, OpenAI's the error in it.
export async function failure(work) {
  try {
    await work();
    return { raised: null };
  } catch (error) {
    return {
      raised: error.constructor.name,
      status: error.status ?? null,
      type: error.type ?? null,
      code: error.code ?? error.error?.error?.code ?? null,
      param: error.param ?? null,
      message: error.message,
      request_id: error.requestID ?? null,
      body_request_id: error.error?.request_id ?? null,
    };
  }
}

// What the work came to, and the ids of the calls that reached the upstream meanwhile.
export async function witnessed(work) {
  const before = new Set(await calls());
  const result = await work();
  return { ...result, begun: (await calls()).filter((id) => !before.has(id)) };
}

// What work that is told to stop came to. It gets a signal, which is raised when its call is
// known to have reached the upstream.
export function interrupted(work) {
  return witnessed(async () => {
    const before = (await calls()).length;
    const leaving = new AbortController();
    const working = work(leaving.signal);
    while ((await calls()).length === before) await new Promise((done) => setTimeout(done, 20));
    leaving.abort();
    return working;
  });
}

// Run the cases, functions by name, one after the other. One that throws does not stop the rest.
export async function report(cases) {
  for (const [name, work] of Object.entries(cases)) {
    let line;
    try {
      line = { case: name, result: await work() };
    } catch (error) {
      line = { case: name, failed: `${error.stack ?? error}` };
    }
    process.stdout.write(`${JSON.stringify(line)}\n`);
  }
}
