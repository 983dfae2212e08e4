// The panel of what a conversation is generated with. It is the conversation's, and new ones begin with the last.
import { byId } from './dom.js';
import { DEFAULT_SETTINGS } from './tree.js';

const LAST = 'weft-settings';

const fieldOf = (name) => byId(`set-${name}`);
const valueOf = (field) => (field.type === 'checkbox' ? field.checked : field.value);

export function lastSettings() {
  try {
    const kept = JSON.parse(localStorage.getItem(LAST));
    const known = Object.entries(DEFAULT_SETTINGS).map(([name, value]) => [name, typeof kept[name] === typeof value ? kept[name] : value]);
    return Object.fromEntries(known);
  } catch {
    return { ...DEFAULT_SETTINGS };
  }
}

// Calls `onChange(settings)` whenever somebody has changed one.
export function watchSettings(onChange) {
  byId('settings').addEventListener('change', () => {
    const settings = Object.fromEntries(Object.keys(DEFAULT_SETTINGS).map((name) => [name, valueOf(fieldOf(name))]));
    localStorage.setItem(LAST, JSON.stringify(settings));
    onChange(settings);
  });
}

export function showSettings(settings) {
  for (const [name, value] of Object.entries(settings)) {
    const field = fieldOf(name);
    if (field.type === 'checkbox') field.checked = value;
    else field.value = value;
    if (name === 'model' && field.value !== value) field.value = ''; // of a model that is gone
  }
}

// The names that requests may use, of those that generate as far as the server says.
export function offerModels(names, chosen) {
  const field = fieldOf('model');
  field.replaceChildren(new Option('The server\u2019s first', ''), ...names.map((name) => new Option(name, name)));
  field.value = names.includes(chosen) ? chosen : '';
}
