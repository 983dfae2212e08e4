// Talk: conversations, one of them open, and its answers as they come.
import { ApiError } from './api.js';
import { announce, byId, button, download, element } from './dom.js';
import { generate, requestFor } from './generation.js';
import { MessageView } from './message.js';
import { lastSettings, showSettings, watchSettings } from './settings.js';
import * as store from './store.js';
import { fromFile, LARGEST_FILE, toFile } from './transfer.js';
import { addNode, childrenOf, matches, newConversation, pathTo, showBranch } from './tree.js';

const LARGEST_ATTACHMENT = 1 << 20;
const SAVE_PAUSE_MS = 1000;

let conversations = []; // the one that changed last first
let current; // of them, or one that is not kept yet because it is empty
const discarded = new WeakSet();
let attachments = [];
let edited; // the message that the one in the box will stand beside, if somebody edits
let running; // {abort} of the answer that is on the way
let askForKey; // (why, then)

// ---- The list of conversations

function drawList() {
  const words = byId('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = conversations.filter((conversation) => matches(conversation, words));
  byId('conversations').replaceChildren(...found.map((conversation) => element('li', {},
    button(conversation.title || 'Untitled', () => open(conversation),
      { class: 'open', 'aria-current': conversation === current ? 'true' : undefined }),
    button('\u00d7', () => discard(conversation), { class: 'discard', 'aria-label': `Delete ${conversation.title || 'Untitled'}` }))));
  byId('none-found').hidden = found.length > 0;
}

async function keep(conversation) {
  if (discarded.has(conversation)) return;
  if (!conversations.includes(conversation)) conversations.unshift(conversation);
  conversations.sort((a, b) => b.updated - a.updated);
  drawList();
  try {
    await store.save(conversation);
  } catch (problem) {
    showError(`The browser does not keep this conversation: ${problem.message}`);
  }
}

async function discard(conversation) {
  if (!confirm(`Delete \u201c${conversation.title || 'Untitled'}\u201d?`)) return;
  discarded.add(conversation); // its answer may still be on the way
  conversations = conversations.filter((other) => other !== conversation);
  await store.remove(conversation.id);
  if (conversation === current) open(newConversation(lastSettings()));
  else drawList();
}

function open(conversation) {
  stop();
  current = conversation;
  edited = undefined;
  showSettings(conversation.settings);
  drawThread();
  drawComposer();
  drawList();
  document.body.classList.remove('list-open');
  byId('list-toggle').setAttribute('aria-expanded', 'false');
}

// ---- The thread

const actions = { onEdit: edit, onRegenerate: regenerate, onShow: show, onResults: sendResults };

function showError(text) {
  byId('talk-error').textContent = text;
}

const isNearEnd = (thread) => thread.scrollHeight - thread.scrollTop - thread.clientHeight < 80;

function finishView(view) {
  const siblings = childrenOf(current, view.node.parent).map((node) => node.id);
  view.finish(siblings, view.node.id === current.leaf);
}

function drawThread() {
  const views = pathTo(current, current.leaf).map((node) => new MessageView(node, actions));
  byId('messages').replaceChildren(...views.map((view) => view.element));
  views.forEach(finishView);
  byId('welcome').hidden = views.length > 0;
  byId('thread').scrollTop = byId('thread').scrollHeight;
  showError('');
  return views;
}

function drawComposer() {
  byId('send').disabled = false;
  byId('send').textContent = running ? 'Stop' : edited ? 'Send the edited message' : 'Send';
  byId('cancel-edit').hidden = !edited;
  byId('attachments').replaceChildren(...attachments.map((file) => element('li', {}, file.name, button('\u00d7', () => {
    attachments = attachments.filter((other) => other !== file);
    drawComposer();
  }, { 'aria-label': `Remove ${file.name}` }))));
}

function stop() {
  running?.abort.abort();
}

// Generates the answer to the message `parent`.
async function answer(parent) {
  stop();
  const conversation = current;
  let request;
  try {
    request = requestFor(conversation, parent);
  } catch (problem) {
    conversation.leaf = parent;
    drawThread();
    showError(problem.message);
    return;
  }
  const node = addNode(conversation, parent, 'assistant');
  const view = drawThread().at(-1);
  view.element.setAttribute('aria-busy', 'true');
  view.below.replaceChildren();
  const mine = (running = { abort: new AbortController() });
  drawComposer();
  announce('The answer begins.');
  let saved = performance.now();
  try {
    await generate(request, node, conversation.settings, mine.abort.signal, () => {
      const thread = byId('thread');
      const follows = isNearEnd(thread);
      view.grow();
      if (follows) thread.scrollTop = thread.scrollHeight;
      if (performance.now() - saved < SAVE_PAUSE_MS) return;
      saved = performance.now();
      keep(conversation);
    });
    announce(node.finish === 'stopped' ? 'Stopped.' : 'The answer is complete.');
  } catch (problem) {
    node.error = problem.message;
    announce(`The answer failed: ${problem.message}`);
    if (problem instanceof ApiError && problem.wantsKey) askForKey(problem.message, () => retry(conversation, node));
  }
  if (running === mine) running = undefined;
  view.element.removeAttribute('aria-busy');
  drawComposer();
  await keep(conversation);
  if (current === conversation && !running) drawThread();
}

// Of an answer that failed for want of a key, nothing is worth keeping.
function retry(conversation, node) {
  conversation.nodes.delete(node.id);
  conversation.leaf = node.parent;
  open(conversation);
  answer(node.parent);
}

function send() {
  const box = byId('message');
  if (box.value.trim() === '' && attachments.length === 0) return;
  const fields = { content: box.value };
  if (attachments.length > 0) fields.attachments = attachments;
  const node = addNode(current, edited ? edited.parent : current.leaf, 'user', fields);
  box.value = '';
  attachments = [];
  edited = undefined;
  answer(node.id);
  box.focus();
}

function edit(node) {
  edited = node;
  attachments = [...(node.attachments ?? [])];
  byId('message').value = node.content;
  drawComposer();
  byId('message').focus();
}

function cancelEdit() {
  edited = undefined;
  attachments = [];
  byId('message').value = '';
  drawComposer();
  byId('message').focus();
}

function regenerate(node) {
  answer(node.parent);
}

function show(id) {
  stop();
  showBranch(current, id);
  drawThread();
  keep(current);
}

function sendResults(node, texts) {
  let parent = node.id;
  texts.forEach((text, i) => {
    parent = addNode(current, parent, 'tool', { content: text, call: node.calls[i].id }).id;
  });
  answer(parent);
}

// ---- Files

async function attach(files) {
  for (const file of files) {
    try {
      if (file.size > LARGEST_ATTACHMENT) throw new Error('it is larger than 1 MiB');
      const text = new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer());
      if (text.includes('\0')) throw new Error('it is no text');
      attachments.push({ name: file.name.slice(0, 200), text });
    } catch (problem) {
      const reason = problem instanceof TypeError ? 'it is no text in UTF-8' : problem.message;
      showError(`${file.name} cannot be attached: ${reason}`);
    }
  }
  drawComposer();
}

async function importFile(file) {
  try {
    if (file.size > LARGEST_FILE) throw new Error('the file is larger than 64 MiB');
    const read = fromFile(await file.text());
    for (const conversation of read) {
      if (conversations.some((other) => other.id === conversation.id)) conversation.id = newConversation().id;
      await keep(conversation);
    }
    announce(`${read.length} conversations imported.`);
  } catch (problem) {
    showError(`${file.name} cannot be imported: ${problem.message}`);
  }
}

// What a file's field holds is given to `take`, and the field is ready for the same file again.
function onFiles(id, take) {
  byId(id).addEventListener('change', async (event) => {
    await take([...event.target.files]);
    event.target.value = '';
  });
}

// ---- Start

function listen() {
  byId('composer').addEventListener('submit', (event) => {
    event.preventDefault();
    if (running) stop();
    else send();
  });
  byId('message').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || running) return;
    event.preventDefault();
    send();
  });
  byId('cancel-edit').addEventListener('click', cancelEdit);
  byId('new').addEventListener('click', () => {
    open(newConversation(lastSettings()));
    byId('message').focus();
  });
  byId('search').addEventListener('input', drawList);
  byId('export').addEventListener('click', () => download('weft-conversations.json', toFile(conversations)));
  byId('attach').addEventListener('click', () => byId('attach-files').click());
  byId('import').addEventListener('click', () => byId('import-files').click());
  onFiles('attach-files', attach);
  onFiles('import-files', async (files) => {
    for (const file of files) await importFile(file);
  });
  for (const kind of ['dragover', 'drop']) {
    byId('talk').addEventListener(kind, (event) => {
      if (!event.dataTransfer.types.includes('Files')) return;
      event.preventDefault();
      attach([...event.dataTransfer.files]); // while they are dragged there are none yet
    });
  }
  watchSettings((settings) => {
    current.settings = settings;
    if (conversations.includes(current)) keep(current);
  });
}

// `ask(why, then)`: has somebody type a key, and goes on with `then`.
export async function startTalk(ask) {
  askForKey = ask;
  current = newConversation(lastSettings());
  listen();
  try {
    conversations = await store.loadAll();
  } catch (problem) {
    showError(`The browser keeps no conversations: ${problem.message}`);
  }
  open(conversations[0] ?? current);
}

export const currentModel = () => current.settings.model;
