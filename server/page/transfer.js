// Conversations as a file, and back. What a file holds is anybody's: it is checked member by member, and copied, before anything is kept.
import { DEFAULT_SETTINGS } from './tree.js';

const FORMAT = 'weft-conversations';
export const LARGEST_FILE = 64 << 20;
const LONGEST_TEXT = 8 << 20;
const MOST_CONVERSATIONS = 10000;
const MOST_NODES = 20000;

export function toFile(conversations) {
  const listed = conversations.map((conversation) => ({ ...conversation, nodes: [...conversation.nodes.values()] }));
  return JSON.stringify({ format: FORMAT, version: 1, conversations: listed }, null, 1);
}

function fail(place, expected) {
  throw new Error(`${place} is not ${expected}`);
}

function text(value, place, longest = LONGEST_TEXT) {
  if (typeof value !== 'string' || value.length > longest) fail(place, `a text of at most ${longest} characters`);
  return value;
}

function number(value, place) {
  if (typeof value !== 'number' || !Number.isFinite(value)) fail(place, 'a number');
  return value;
}

function identifier(value, place) {
  if (typeof value !== 'string' || !/^[0-9a-f]{16}$/.test(value)) fail(place, 'an id of 16 hexadecimal digits');
  return value;
}

function boolean(value, place) {
  if (typeof value !== 'boolean') fail(place, 'true or false');
  return value;
}

function list(value, place, most, read) {
  if (!Array.isArray(value) || value.length > most) fail(place, `a list of at most ${most}`);
  return value.map((item, i) => read(item, `${place}[${i}]`));
}

function object(value, place, members) {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) fail(place, 'an object');
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(members, name));
  if (unknown !== undefined) fail(`${place}.${unknown.slice(0, 40)}`, 'a member that is known');
  const copy = {};
  for (const [name, [read, required]] of Object.entries(members)) {
    if (Object.hasOwn(value, name)) copy[name] = read(value[name], `${place}.${name}`);
    else if (required) fail(`${place}.${name}`, 'there');
  }
  return copy;
}

const role = (value, place) => (['user', 'assistant', 'tool'].includes(value) ? value : fail(place, 'user, assistant or tool'));
const parent = (value, place) => (value === null ? null : identifier(value, place));
const required = (read) => [read, true];
const optional = (read) => [read, false];
const named = (members) => (value, place) => object(value, place, members);
const listOf = (most, read) => (value, place) => list(value, place, most, read);

const settings = named(Object.fromEntries(Object.entries(DEFAULT_SETTINGS).map(
  ([name, value]) => [name, optional(typeof value === 'boolean' ? boolean : text)])));
const likely = named({ text: required(text), logprob: required(number) });
const token = named({ text: required(text), logprob: required(number), top: required(listOf(20, likely)) });
const node = named({
  id: required(identifier), parent: required(parent), role: required(role), content: required(text), created: required(number),
  reasoning: optional(text), model: optional(text), finish: optional(text), error: optional(text),
  attachments: optional(listOf(32, named({ name: required(text), text: required(text) }))),
  calls: optional(listOf(256, named({ id: required(text), name: required(text), arguments: required(text) }))),
  call: optional(text), tokens: optional(listOf(1 << 18, token)),
  stats: optional(named({ prompt: required(number), completion: required(number), seconds: required(number) })),
  verdict: optional(named({ faults: required(listOf(100, text)), unchecked: required(listOf(100, text)) })),
});
const conversation = named({
  id: required(identifier), title: required(text), created: required(number), updated: required(number),
  nodes: required(listOf(MOST_NODES, node)), leaf: required(parent), settings: required(settings),
});

// A parent stands before its children, so that there is no circle.
function treeOf(read, place) {
  const nodes = new Map();
  for (const [i, each] of read.nodes.entries()) {
    if (nodes.has(each.id)) fail(`${place}.nodes[${i}].id`, 'another than those before');
    if (each.parent !== null && !nodes.has(each.parent)) fail(`${place}.nodes[${i}].parent`, 'a message before it');
    nodes.set(each.id, each);
  }
  if (read.leaf !== null && !nodes.has(read.leaf)) fail(`${place}.leaf`, 'one of the messages');
  return { ...read, nodes, settings: { ...DEFAULT_SETTINGS, ...read.settings } };
}

// The conversations of a file's text; an Error says what is wrong with it.
export function fromFile(content) {
  let value;
  try {
    value = JSON.parse(content);
  } catch {
    fail('the file', 'JSON');
  }
  const file = object(value, 'the file', {
    format: required((name, place) => (name === FORMAT ? name : fail(place, FORMAT))),
    version: required((version, place) => (version === 1 ? version : fail(place, '1'))),
    conversations: required(listOf(MOST_CONVERSATIONS, conversation)),
  });
  return file.conversations.map((read, i) => treeOf(read, `the file.conversations[${i}]`));
}
