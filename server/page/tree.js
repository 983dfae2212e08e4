// A conversation is a tree of messages: who edits or regenerates begins a branch, and nothing is lost. Plain data and functions.
import { newId } from './dom.js';

// The server decides what is an empty string here.
export const DEFAULT_SETTINGS = Object.freeze({
  model: '', system: '', temperature: '', top_p: '', top_k: '', min_p: '', repetition_penalty: '', max_tokens: '', seed: '', stop: '',
  logprobs: false, use_schema: false, schema: '', use_tools: false, tools: '',
});

export function newConversation(settings = DEFAULT_SETTINGS) {
  const now = Date.now();
  return { id: newId(), title: '', created: now, updated: now, nodes: new Map(), leaf: null, settings: { ...settings } };
}

// A message under `parent` (null: a first one), which becomes the one that is shown last.
export function addNode(conversation, parent, role, fields = {}) {
  const node = { id: newId(), parent, role, content: '', created: Date.now(), ...fields };
  conversation.nodes.set(node.id, node);
  conversation.leaf = node.id;
  conversation.updated = node.created;
  if (!conversation.title && role === 'user') conversation.title = titleOf(node.content);
  return node;
}

export function titleOf(text) {
  const line = text.trim().split('\n')[0];
  return line.length > 60 ? `${line.slice(0, 57)}...` : line;
}

// From the first message to `leaf`.
export function pathTo(conversation, leaf) {
  const path = [];
  for (let id = leaf; id !== null; id = conversation.nodes.get(id).parent) path.push(conversation.nodes.get(id));
  return path.reverse();
}

export const childrenOf = (conversation, parent) => [...conversation.nodes.values()].filter((node) => node.parent === parent);

// Shows the branch of a message: from there on always the newest.
export function showBranch(conversation, id) {
  let children = [];
  do {
    conversation.leaf = id;
    children = childrenOf(conversation, id);
    id = children.at(-1)?.id;
  } while (children.length > 0);
}

export function matches(conversation, words) {
  const text = [conversation.title, ...[...conversation.nodes.values()].map((node) => node.content)].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}
