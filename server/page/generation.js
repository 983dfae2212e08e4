// A conversation as a request to /v1/chat/completions, and its stream as a message.
import { call, eventsOf } from './api.js';
import { judge } from './schema.js';
import { pathTo } from './tree.js';

const NUMBERS = ['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'seed'];
const TOP_LOGPROBS = 5;

function numberOf(settings, name) {
  const value = Number(settings[name]);
  if (!Number.isFinite(value)) throw new Error(`${name}: ${settings[name]} is no number`);
  return value;
}

function jsonOf(text, what) {
  try {
    return JSON.parse(text);
  } catch (problem) {
    throw new Error(`${what}: ${problem.message}`);
  }
}

// As OpenAI has them, or the functions alone.
export function toolsOf(text) {
  const tools = jsonOf(text, 'Tools');
  if (!Array.isArray(tools)) throw new Error('Tools: expected an array of functions');
  return tools.map((tool) => (tool?.type === 'function' ? tool : { type: 'function', function: tool }));
}

function fenceFor(text) {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  return '`'.repeat(longest + 1);
}

function contentOf(node) {
  const files = (node.attachments ?? []).map(({ name, text }) => {
    const fence = fenceFor(text);
    return `File ${name}:\n${fence}\n${text}\n${fence}`;
  });
  return [...files, node.content].filter((part) => part !== '').join('\n\n');
}

function messageOf(node) {
  if (node.role === 'tool') return { role: 'tool', tool_call_id: node.call, content: node.content };
  if (node.role === 'user') return { role: 'user', content: contentOf(node) };
  const message = { role: 'assistant', content: node.content };
  if (node.calls?.length > 0) {
    message.tool_calls = node.calls.map((made) => (
      { id: made.id, type: 'function', function: { name: made.name, arguments: made.arguments } }));
  }
  return message;
}

// What answers the message `leaf`. An Error says which setting is wrong.
export function requestFor(conversation, leaf) {
  const { settings } = conversation;
  const messages = pathTo(conversation, leaf).map(messageOf);
  if (settings.system.trim()) messages.unshift({ role: 'system', content: settings.system });
  const request = { messages, stream: true, stream_options: { include_usage: true }, timings: true };
  if (settings.model) request.model = settings.model;
  for (const name of NUMBERS) if (settings[name].trim()) request[name] = numberOf(settings, name);
  if (settings.max_tokens.trim()) request.max_completion_tokens = numberOf(settings, 'max_tokens');
  const stops = settings.stop.split('\n').filter((line) => line !== '');
  if (stops.length > 0) request.stop = stops;
  if (settings.logprobs) Object.assign(request, { logprobs: true, top_logprobs: TOP_LOGPROBS });
  if (settings.use_schema) {
    const schema = jsonOf(settings.schema, 'JSON Schema');
    request.response_format = { type: 'json_schema', json_schema: { name: 'answer', schema } };
  }
  if (settings.use_tools) request.tools = toolsOf(settings.tools);
  return request;
}

function addCall(node, piece) {
  node.calls ??= [];
  const made = (node.calls[piece.index] ??= { id: '', name: '', arguments: '' });
  made.id ||= piece.id ?? '';
  made.name ||= piece.function?.name ?? '';
  made.arguments += piece.function?.arguments ?? '';
}

function addChoice(node, choice) {
  const { delta = {}, logprobs, finish_reason: reason } = choice;
  if (delta.content) node.content += delta.content;
  if (delta.reasoning_content) node.reasoning = (node.reasoning ?? '') + delta.reasoning_content;
  for (const piece of delta.tool_calls ?? []) addCall(node, piece);
  for (const each of logprobs?.content ?? []) {
    node.tokens ??= [];
    const top = each.top_logprobs.map(({ token, logprob }) => ({ text: token, logprob }));
    node.tokens.push({ text: each.token, logprob: each.logprob, top });
  }
  if (reason) node.finish = reason;
}

// Writes the answer to `request` into `node`, telling `onChange` as it grows. What goes wrong is thrown, but for being stopped.
export async function generate(request, node, settings, signal, onChange) {
  try {
    const response = await call('v1/chat/completions', { method: 'POST', body: request, signal });
    for await (const event of eventsOf(response)) {
      if (event.error) throw new Error(event.error.message);
      node.model ??= event.model;
      for (const choice of event.choices) addChoice(node, choice);
      if (event.usage) {
        const { prompt_tokens: prompt, completion_tokens: completion } = event.usage;
        node.stats = { prompt, completion, seconds: (event.timings?.predicted_ms ?? 0) / 1000 };
      }
      onChange();
    }
    if (!node.finish) throw new Error('The answer broke off.');
  } catch (problem) {
    if (!signal.aborted) throw problem;
    node.finish = 'stopped';
  }
  if (settings.use_schema && node.finish !== 'tool_calls') node.verdict = judge(settings.schema, node.content);
}
