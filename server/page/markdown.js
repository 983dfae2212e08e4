// A model's Markdown as elements. It may be anything: HTML in it is shown as text, what marked makes of the rest goes through DOMPurify,
// and nothing of it loads anything.
import { Marked } from './marked.esm.js';
import { button, element } from './dom.js';

const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escaped(text),
    // A picture would tell its host of the conversation: a link says what it is.
    image: ({ href, text }) => `<a href="${escaped(href)}">Image: ${escaped(text || href)}</a>`,
    checkbox: ({ checked }) => (checked ? '[x] ' : '[ ] '),
    // Below the headings of the page.
    heading({ tokens, depth }) {
      const level = Math.min(depth + 2, 6);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
  },
});

const RULES = {
  ALLOWED_TAGS: ['a', 'blockquote', 'br', 'code', 'del', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'li', 'ol', 'p', 'pre', 'strong', 'sub',
    'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul'],
  ALLOWED_ATTR: ['href', 'start', 'class'],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

// Leaves elements, attributes and addresses that are known to do nothing.
export function cleaned(html) {
  return DOMPurify.sanitize(html, RULES);
}

// Where a link leads is seen before it is followed, and the place learns nothing of this one.
function showHost(link) {
  let host = '';
  try {
    const url = new URL(link.getAttribute('href') ?? '');
    host = url.protocol === 'mailto:' ? url.pathname : url.host;
  } catch {
    link.replaceWith(...link.childNodes);
    return;
  }
  link.rel = 'noopener noreferrer';
  link.target = '_blank';
  if (!link.textContent.includes(host)) link.after(element('span', { class: 'host' }, ` (${host})`));
}

function frameCode(pre) {
  const code = pre.querySelector('code') ?? pre;
  const language = /^language-([\w+#.-]{1,24})$/.exec(code.className)?.[1] ?? '';
  code.removeAttribute('class');
  const bar = element('div', { class: 'code-bar' }, element('span', {}, language));
  if (navigator.clipboard) {
    const copy = button('Copy', async () => {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = 'Copied';
    }, { 'aria-label': 'Copy the code' });
    bar.append(copy);
  }
  pre.tabIndex = 0; // it scrolls
  const frame = element('div', { class: 'code' });
  pre.replaceWith(frame);
  frame.append(bar, pre);
}

export function renderMarkdown(text) {
  const fragment = cleaned(marked.parse(text));
  for (const named of fragment.querySelectorAll('[class]:not(code)')) named.removeAttribute('class');
  for (const link of fragment.querySelectorAll('a')) showHost(link);
  for (const pre of fragment.querySelectorAll('pre')) frameCode(pre);
  for (const table of fragment.querySelectorAll('table')) {
    const frame = element('div', { class: 'table', tabindex: 0, role: 'region', 'aria-label': 'Table' });
    table.replaceWith(frame);
    frame.append(table);
  }
  return fragment;
}
