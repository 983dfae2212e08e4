// One message on the screen.
import { button, element } from './dom.js';
import { renderMarkdown } from './markdown.js';
import { renderTokens } from './tokens.js';

const NAMES = { user: 'You', assistant: 'Answer', tool: 'Result of a tool' };
const FINISHES = { length: 'Cut off: it met the limit of tokens.', stopped: 'Stopped.' };
// A text is drawn anew at most so often while it grows, and as a long one takes longer, more seldom.
const LEAST_PAUSE_MS = 60;

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function attachmentsOf(node) {
  return (node.attachments ?? []).map(({ name, text }) => element('details', { class: 'attachment' },
    element('summary', {}, `${name}, ${text.length.toLocaleString('en')} characters`), element('pre', { tabindex: 0 }, text)));
}

function callsOf(node) {
  return (node.calls ?? []).map((made) => element('div', { class: 'call' },
    element('p', {}, 'Calls ', element('code', {}, made.name)), element('pre', { tabindex: 0 }, pretty(made.arguments))));
}

// Where what the tools gave is typed, so that the model goes on.
function resultForm(node, onResults) {
  const fields = node.calls.map((made) => element('textarea', { rows: 2, required: true, 'aria-label': `Result of ${made.name}` }));
  const parts = fields.map((field, i) => element('label', {}, `Result of ${node.calls[i].name}`, field));
  return element('form', {
    class: 'results',
    onsubmit(event) {
      event.preventDefault();
      onResults(node, fields.map((field) => field.value));
    },
  }, ...parts, element('button', { type: 'submit' }, 'Send results'));
}

function verdictOf({ faults, unchecked }) {
  const good = faults.length === 0;
  const box = element('div', { class: good ? 'verdict good' : 'verdict bad' },
    element('p', {}, good ? 'Fits the schema.' : 'Does not fit the schema:'));
  if (!good) box.append(element('ul', {}, ...faults.map((fault) => element('li', {}, fault))));
  if (unchecked.length > 0) box.append(element('p', {}, `Not checked here: ${unchecked.join(', ')}`));
  return box;
}

function statsOf(node) {
  const { prompt, completion, seconds } = node.stats;
  const rate = completion > 1 && seconds > 0 ? `, ${((completion - 1) / seconds).toFixed(1)} tokens/s` : '';
  return element('span', { class: 'stats' }, `${prompt} + ${completion} tokens${rate}`);
}

// `actions`: onEdit, onRegenerate, onShow(node id), onResults(node, texts).
export class MessageView {
  constructor(node, actions) {
    this.node = node;
    this.actions = actions;
    this.showsTokens = false;
    this.text = element('div', { class: 'text' });
    this.reasoning = element('pre', { tabindex: 0 });
    this.thoughts = element('details', { class: 'reasoning', hidden: true }, element('summary', {}, 'Reasoning'), this.reasoning);
    this.below = element('div', { class: 'below' });
    this.element = element('article', { class: `message ${node.role}`, 'aria-label': NAMES[node.role] },
      element('p', { class: 'who' }, NAMES[node.role], node.model ? element('span', { class: 'model' }, node.model) : undefined),
      ...attachmentsOf(node), this.thoughts, this.text, this.below);
    this.timer = 0;
    this.drawText();
  }

  // The node has changed, and goes on changing.
  grow() {
    if (this.timer !== 0) return;
    const begun = performance.now();
    this.drawText();
    const pause = Math.max(LEAST_PAUSE_MS, 4 * (performance.now() - begun));
    this.timer = setTimeout(() => {
      this.timer = 0;
      this.drawText();
    }, pause);
  }

  drawText() {
    const { node } = this;
    this.thoughts.hidden = !node.reasoning;
    this.reasoning.textContent = node.reasoning ?? '';
    if (this.showsTokens) this.text.replaceChildren(renderTokens(node.tokens));
    else if (node.role === 'assistant') this.text.replaceChildren(renderMarkdown(node.content), ...callsOf(node));
    else this.text.textContent = node.content;
  }

  // Once it is complete: what can be done with it. `siblings`: the ids of the branches here; `isLast`: of those shown.
  finish(siblings, isLast) {
    clearTimeout(this.timer);
    this.drawText();
    const { node, actions } = this;
    const parts = [];
    if (FINISHES[node.finish]) parts.push(element('p', { class: 'note' }, FINISHES[node.finish]));
    if (node.error) parts.push(element('p', { class: 'error' }, node.error));
    if (node.verdict) parts.push(verdictOf(node.verdict));
    if (isLast && node.calls?.length > 0) parts.push(resultForm(node, actions.onResults));
    const bar = element('div', { class: 'bar' });
    if (siblings.length > 1) bar.append(this.branches(siblings));
    if (node.role === 'user') bar.append(button('Edit', () => actions.onEdit(node)));
    if (node.role === 'assistant') bar.append(button('Regenerate', () => actions.onRegenerate(node)));
    if (navigator.clipboard) bar.append(button('Copy', () => navigator.clipboard.writeText(node.content)));
    if (node.tokens?.length > 0) bar.append(this.tokenToggle());
    if (node.stats) bar.append(statsOf(node));
    this.below.replaceChildren(...parts, bar);
  }

  branches(siblings) {
    const here = siblings.indexOf(this.node.id);
    const step = (label, to) => button(label, () => this.actions.onShow(siblings[to]),
      { disabled: siblings[to] === undefined, 'aria-label': to < here ? 'The branch before' : 'The next branch' });
    return element('span', { class: 'branches', role: 'group', 'aria-label': 'Branches' },
      step('\u2039', here - 1), `${here + 1} / ${siblings.length}`, step('\u203a', here + 1));
  }

  tokenToggle() {
    const toggle = button('Tokens', () => {
      this.showsTokens = !this.showsTokens;
      toggle.setAttribute('aria-pressed', String(this.showsTokens));
      this.drawText();
    }, { 'aria-pressed': String(this.showsTokens) });
    return toggle;
  }
}
