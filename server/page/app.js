// The page: three views, a key, dark and light.
import { ApiError, getJson, getKeys, hasKey, setKeys } from './api.js';
import { byId } from './dom.js';
import { hideModels, showModels } from './models.js';
import { offerModels } from './settings.js';
import { currentModel, startTalk } from './talk.js';
import { hideWatch, showWatch, startWatch } from './watch.js';

const VIEWS = ['talk', 'watch', 'models'];
const SHOW = { talk: () => {}, watch: () => showWatch(askForKey), models: () => showModels(askForKey) };
const HIDE = { talk: () => {}, watch: hideWatch, models: hideModels };
const THEMES = { auto: 'Theme: auto', light: 'Theme: light', dark: 'Theme: dark' };

// ---- Views

function showView() {
  const wanted = location.hash.slice(1);
  const shown = VIEWS.includes(wanted) ? wanted : 'talk';
  for (const view of VIEWS) {
    byId(view).hidden = view !== shown;
    const link = document.querySelector(`nav a[href="#${view}"]`);
    if (view === shown) SHOW[view]();
    else HIDE[view]();
    if (view === shown) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
}

// ---- Theme

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId('theme').textContent = THEMES[theme];
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const theme = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  localStorage.setItem('weft-theme', theme);
  applyTheme(theme);
}

// ---- Key

let afterKey = () => {};

function askForKey(why, then = () => {}) {
  afterKey = then;
  byId('key-why').textContent = why;
  [byId('key-user').value, byId('key-operator').value] = getKeys();
  if (!byId('key-dialog').open) byId('key-dialog').showModal();
}

function drawKey() {
  byId('key').textContent = hasKey() ? 'Key: set' : 'Key';
}

function takeKey(event) {
  const keys = [byId('key-user').value.trim(), byId('key-operator').value.trim()];
  if (keys.some((key) => !/^[\x21-\x7e]*$/.test(key))) {
    event.preventDefault();
    byId('key-why').textContent = 'A key has letters, digits and signs of ASCII alone.';
    return;
  }
  setKeys(...keys);
  drawKey();
  loadModels();
  showView();
  afterKey();
}

// ---- Start

async function loadModels() {
  try {
    const { data } = await getJson('v1/models');
    offerModels(data.map((model) => String(model.id)), currentModel());
  } catch (problem) {
    if (!(problem instanceof ApiError)) throw problem;
    if (problem.wantsKey) askForKey(problem.message);
    else byId('talk-error').textContent = problem.message;
  }
}

function toggle(buttonId, className) {
  byId(buttonId).addEventListener('click', () => {
    const isOpen = document.body.classList.toggle(className);
    byId(buttonId).setAttribute('aria-expanded', String(isOpen));
  });
}

applyTheme(THEMES[localStorage.getItem('weft-theme')] ? localStorage.getItem('weft-theme') : 'auto');
byId('theme').addEventListener('click', nextTheme);
byId('key').addEventListener('click', () => askForKey(''));
byId('key-form').addEventListener('submit', takeKey);
byId('key-cancel').addEventListener('click', () => byId('key-dialog').close());
toggle('list-toggle', 'list-open');
toggle('settings-toggle', 'settings-open');
window.addEventListener('hashchange', showView);
drawKey();
startWatch();
showView();
await startTalk(askForKey);
loadModels();
