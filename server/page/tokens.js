// A text as the tokens that the model chose, each with its probability: by the pointer, by focus and the arrow keys, or by touch.
import { element } from './dom.js';

const percent = (logprob) => `${(100 * Math.exp(logprob)).toFixed(1)} %`;
const visible = (text) => text.replaceAll(' ', '\u00b7').replaceAll('\n', '\\n') || '(nothing)';

// The less likely, the higher; as a class, for there is no style in attributes here.
function surprise(logprob) {
  const probability = Math.exp(logprob);
  return [0.9, 0.6, 0.3, 0.1].filter((limit) => probability < limit).length;
}

function listOf(token) {
  const isListed = token.top.some(({ text }) => text === token.text);
  const likely = isListed ? token.top : [...token.top, token];
  return element('ul', {}, ...likely.map(({ text, logprob }) => element('li', { class: text === token.text ? 'chosen' : undefined },
    element('code', {}, visible(text)), ` ${percent(logprob)}`)));
}

function describe(token) {
  const others = token.top.filter(({ text }) => text !== token.text).map(({ text, logprob }) => `${visible(text)} ${percent(logprob)}`);
  return `${visible(token.text)}, ${percent(token.logprob)}${others.length > 0 ? `; else ${others.join(', ')}` : ''}`;
}

export function renderTokens(tokens) {
  const details = element('div', { class: 'token-details', 'aria-live': 'polite' }, 'Point at a token, or move with the arrow keys.');
  const spans = tokens.map((token, i) => element('span', {
    class: `token surprise-${surprise(token.logprob)}`, role: 'option', tabindex: i === 0 ? 0 : -1, 'aria-selected': 'false',
    'aria-label': describe(token),
  }, token.text));
  const show = (i) => {
    spans.forEach((span, k) => {
      span.tabIndex = k === i ? 0 : -1;
      span.setAttribute('aria-selected', String(k === i));
    });
    details.replaceChildren(listOf(tokens[i]));
  };
  const box = element('div', {
    class: 'tokens', role: 'listbox', 'aria-label': 'Tokens and their probabilities', 'aria-orientation': 'horizontal',
    onpointerover: (event) => { if (spans.includes(event.target)) show(spans.indexOf(event.target)); },
    onfocusin: (event) => { if (spans.includes(event.target)) show(spans.indexOf(event.target)); },
    onkeydown(event) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const next = spans[spans.indexOf(event.target) + step];
      if (!step || !next) return;
      event.preventDefault();
      next.focus();
    },
  }, ...spans);
  return element('div', {}, box, details);
}
