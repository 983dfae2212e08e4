// Requests to the server. Keys are kept for the tab and travel in a header alone.

const USER_KEY = 'weft-key';
const OPERATOR_KEY = 'weft-operator-key';

export class ApiError extends Error {
  // `status` 0: there was no answer.
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
  // Whether another key might help.
  get wantsKey() {
    return this.status === 401 || this.code === 'key_not_allowed';
  }
}

export const hasKey = () => Boolean(sessionStorage.getItem(USER_KEY) || sessionStorage.getItem(OPERATOR_KEY));

// Empty: none. The operator's is for what `operator: true` asks for; without one the user's is sent there, too.
export function setKeys(user, operator) {
  for (const [name, key] of [[USER_KEY, user], [OPERATOR_KEY, operator]]) {
    if (key) sessionStorage.setItem(name, key);
    else sessionStorage.removeItem(name);
  }
}

export const getKeys = () => [USER_KEY, OPERATOR_KEY].map((name) => sessionStorage.getItem(name) ?? '');

function keyFor(operator) {
  const [user, operators] = getKeys();
  return (operator && operators) || user;
}

async function errorOf(response) {
  let error = {};
  try {
    const answer = await response.json();
    error = answer.error ?? {};
  } catch {
    // a proxy's page, or nothing: the status must do
  }
  let message = typeof error.message === 'string' ? error.message : `the server answered ${response.status}`;
  const seconds = Number(response.headers.get('Retry-After'));
  if (seconds > 0) message += ` (try again in ${seconds} s)`;
  return new ApiError(response.status, typeof error.code === 'string' ? error.code : '', message);
}

// The answer, if it is a success; otherwise an ApiError. Paths are relative to the page, which a proxy may have put below one.
export async function call(path, { method = 'GET', body, signal, operator = false } = {}) {
  const headers = {};
  const key = keyFor(operator);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response;
  try {
    response = await fetch(path, {
      method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store', credentials: 'omit', redirect: 'error',
    });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new ApiError(0, 'unreachable', 'The server cannot be reached. Is it running?');
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

export const getJson = async (path, options) => (await call(path, options)).json();

async function readFrom(reader) {
  try {
    return await reader.read();
  } catch (problem) {
    if (problem.name === 'AbortError') throw problem;
    throw new ApiError(0, 'unreachable', 'The connection to the server was lost.');
  }
}

// The JSON of each server-sent event, up to the end or [DONE].
export async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await readFrom(reader);
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const data = block.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trimStart()).join('\n');
        if (data === '[DONE]') return;
        if (data) yield JSON.parse(data);
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
