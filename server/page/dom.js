// Elements made by hand: strings become text, never markup.

// An element with attributes and children. Attributes named on... are listeners; true stands for an empty value, false and
// undefined for none.
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

export const byId = (id) => document.getElementById(id);

export function button(label, onclick, attributes = {}) {
  return element('button', { type: 'button', onclick, ...attributes }, label);
}

// What screen readers say next, without a change of focus.
export function announce(text) {
  byId('status').textContent = text;
}

// 64 random bits. (crypto.randomUUID is there for https and localhost alone.)
export function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function formatBytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = count > 0 ? Math.min(Math.floor(Math.log2(count) / 10), units.length - 1) : 0;
  return `${(count / 1024 ** power).toFixed(power > 0 && count / 1024 ** power < 100 ? 1 : 0)} ${units[power]}`;
}

export function download(name, text) {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  element('a', { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
