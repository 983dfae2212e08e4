// Models: what is loaded and how its memory was planned, what is on disk, and, with the operator's key, loading and unloading.
import { call, getJson } from './api.js';
import { announce, byId, button, element, formatBytes } from './dom.js';

const LOOK_AGAIN_MS = 2000;
const USES = { weights: 'Weights', kv_cache: 'KV cache', workspaces: 'Workspaces' };

let timer = 0;
let askForKey;

// {model: {weights: bytes, ...}} of Prometheus's text.
function plansOf(metrics) {
  const plans = {};
  for (const [, labels, value] of metrics.matchAll(/^weft_memory_bytes\{(.*)\} (\S+)$/gm)) {
    const label = (name) => new RegExp(`(?:^|,)${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)?.[1];
    const model = label('model');
    if (model !== undefined) (plans[model.replace(/\\(.)/g, '$1')] ??= {})[label('use')] = Number(value);
  }
  return plans;
}

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const when = (seconds) => new Date(seconds * 1000).toLocaleString();

function factsOf(model, plan) {
  const weft = model.weft ?? {};
  const memory = weft.memory ?? {};
  const facts = [];
  const add = (name, text) => facts.push([name, text]);
  if (typeof weft.kind === 'string') add('Kind', weft.kind);
  if (isNumber(model.max_model_len)) add('Context', `${model.max_model_len.toLocaleString('en')} positions`);
  if (isNumber(weft.size_bytes)) add('On disk', formatBytes(weft.size_bytes));
  if (weft.fits === false) add('Fits', 'no: it needs more memory than there is');
  const bytes = { weights: memory.weight_bytes, kv_cache: memory.kv_bytes, workspaces: memory.workspace_bytes, ...plan };
  for (const [use, name] of Object.entries(USES)) if (isNumber(bytes[use])) add(name, formatBytes(bytes[use]));
  if (isNumber(weft.last_used) && weft.last_used > 0) add('Last used', when(weft.last_used));
  if (isNumber(weft.expires_at) && weft.expires_at > 0) add('Leaves, if idle', when(weft.expires_at));
  return facts.map(([name, text]) => element('div', {}, element('dt', {}, name), element('dd', {}, text)));
}

async function change(action, id) {
  byId('models-error').textContent = '';
  try {
    await call(`models/${action}`, { method: 'POST', body: { model: id }, operator: true });
    announce(`${id}: ${action === 'load' ? 'loading' : 'unloaded'}.`);
  } catch (problem) {
    byId('models-error').textContent = problem.message;
    if (problem.wantsKey) askForKey(problem.message, () => change(action, id));
  }
  await draw();
}

function cardOf(model, plan) {
  const id = String(model.id);
  const status = model.status?.value;
  const card = element('article', { class: 'card', 'aria-label': id }, element('h3', {}, id));
  if (typeof status === 'string') card.append(element('p', { class: `state ${status === 'loaded' ? 'good' : ''}` }, status));
  card.append(element('dl', {}, ...factsOf(model, plan)));
  if (status === 'unloaded' || status === 'failed') card.append(button('Load', () => change('load', id), { 'aria-label': `Load ${id}` }));
  if (status === 'loaded') card.append(button('Unload', () => change('unload', id), { 'aria-label': `Unload ${id}` }));
  return card;
}

async function draw() {
  clearTimeout(timer);
  try {
    const { data } = await getJson('models');
    // Of the plan there is nothing where a key may not see it.
    const metrics = await call('metrics', { operator: true }).then((response) => response.text(), () => '');
    const plans = plansOf(metrics);
    byId('model-cards').replaceChildren(...data.map((model) => cardOf(model, plans[model.id])));
    if (data.some((model) => model.status?.value === 'loading')) timer = setTimeout(draw, LOOK_AGAIN_MS);
  } catch (problem) {
    byId('models-error').textContent = problem.message;
    if (problem.wantsKey) askForKey(problem.message, draw);
  }
}

// `ask` as in startTalk.
export function showModels(ask) {
  askForKey = ask;
  byId('models-error').textContent = '';
  draw();
}

export function hideModels() {
  clearTimeout(timer);
}
