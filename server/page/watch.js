// Watch: what the server does, a second at a time, with the last hour behind it. It reads a stream, so that the key is in a header.
import { call, eventsOf } from './api.js';
import { byId, element, formatBytes } from './dom.js';

const MOST_SAMPLES = 3600;
const RETRY_MS = 3000;
const HEIGHT = 170;
const MEBI = 1 << 20;

const plain = (value) => (value < 10 && value % 1 !== 0 ? value.toFixed(1) : Math.round(value).toLocaleString('en'));
const ms = (value) => `${value.toFixed(1)} ms`;
const percent = (value) => `${value.toFixed(1)} %`;
const mebibytes = (value) => formatBytes(value * MEBI);
const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
const share = (part, whole) => (whole > 0 ? (100 * part) / whole : null);

// A line: its name and colour, and its value of a sample that covers `s.seconds`; null: a gap.
const line = (label, colour, of) => ({ label, colour, of });
const CHARTS = [
  { title: 'Streams', format: plain, lines: [line('running', 'accent', (s) => s.running), line('waiting', 'warm', (s) => s.waiting)] },
  {
    title: 'Tokens per second', format: plain, forKeys: true,
    lines: [line('generated', 'accent', (s) => s.completion_tokens / s.seconds), line('of prompts', 'warm', (s) => s.prompt_tokens / s.seconds)],
  },
  {
    title: 'Step time', format: ms, limit: (facts) => ({ label: '--max-stall', value: facts.max_stall * 1000 }),
    lines: [line('mean', 'accent', (s) => (s.steps > 0 ? (1000 * s.step_seconds) / s.steps : null)),
      line('longest', 'warm', (s) => (s.steps > 0 ? 1000 * s.longest_step : null))],
  },
  { title: 'KV cache in use', format: percent, lines: [line('of the blocks', 'accent', (s) => 100 * s.kv_usage)] },
  {
    title: 'Memory', format: mebibytes,
    lines: [line('resident', 'accent', (s) => s.resident_bytes / MEBI), line('requests', 'warm', (s) => s.request_bytes / MEBI)],
  },
  { title: 'Prefix cache', format: percent, lines: [line('of prompts found', 'accent', (s) => share(s.cache_hits, s.cache_queries))] },
  {
    title: 'Requests per second', format: plain, forKeys: true,
    lines: [line('answered', 'accent', (s) => s.requests / s.seconds), line('refused', 'bad', (s) => s.refusals / s.seconds)],
  },
];

let facts;
let samples = []; // oldest first
let charts = [];
let listening; // aborts the stream

// The computed colour of a variable of page.css, for the canvas.
function colourOf(name) {
  const probe = element('span', { class: `colour-${name}` });
  byId('watch').append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

// ---- Samples

function withSeconds(sample, before) {
  return { ...sample, seconds: before ? Math.max(sample.time - before.time, 0.001) : 1 };
}

function takeHistory(history) {
  facts = history;
  const names = Object.keys(history.samples);
  samples = [];
  history.samples.time.forEach((_, i) => {
    const sample = Object.fromEntries(names.map((name) => [name, history.samples[name][i]]));
    samples.push(withSeconds(sample, samples.at(-1)));
  });
  buildCharts();
}

function takeSample(sample) {
  samples.push(withSeconds(sample, samples.at(-1)));
  if (samples.length > MOST_SAMPLES) samples.shift();
  draw();
}

// ---- Charts

class Chart {
  constructor({ title, format, lines, limit }) {
    Object.assign(this, { format, lines, limit: limit?.(facts) });
    this.values = lines.map(() => element('b'));
    const legend = lines.map(({ label, colour }, i) => element('span', { class: 'legend' },
      element('i', { class: `swatch ${colour}` }), `${label} `, this.values[i]));
    if (this.limit) legend.push(element('span', { class: 'legend' }, element('i', { class: 'swatch faint' }), `${this.limit.label} ${format(this.limit.value)}`));
    this.box = element('div', { class: 'plot', role: 'img', 'aria-label': `${title}, as a curve over time` });
    this.element = element('figure', {}, element('figcaption', {}, element('h3', {}, title), ...legend), this.box);
  }

  // In the page, which gives it its width.
  begin() {
    const faint = colourOf('faint');
    const axis = { stroke: faint, font: '11px system-ui, sans-serif', grid: { stroke: colourOf('line'), width: 1 }, ticks: { show: false } };
    const series = this.lines.map(({ label, colour }) => ({ label, stroke: colourOf(colour), width: 1.5, points: { show: false } }));
    if (this.limit) series.push({ label: this.limit.label, stroke: faint, dash: [4, 4], width: 1, points: { show: false } });
    this.plot = new uPlot({
      width: this.box.clientWidth, height: HEIGHT, legend: { show: false }, cursor: { show: false }, padding: [8, 8, 0, 0],
      scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, 1) * 1.08] } },
      axes: [
        { ...axis, size: 28, space: 60, incrs: [60, 120, 300, 600, 900], values: (_, splits) => splits.map(clock) },
        { ...axis, size: 56, values: (_, splits) => splits.map((value) => this.format(value)) },
      ],
      series: [{}, ...series],
    }, this.columns([]), this.box);
    this.resizing = new ResizeObserver(() => this.plot.setSize({ width: this.box.clientWidth, height: HEIGHT }));
    this.resizing.observe(this.box);
  }

  end() {
    this.resizing.disconnect();
    this.plot.destroy();
  }

  columns(shown) {
    const columns = [shown.map((s) => s.time), ...this.lines.map(({ of }) => shown.map(of))];
    if (this.limit) columns.push(shown.map(() => this.limit.value));
    return columns;
  }

  draw(shown) {
    this.plot.setData(this.columns(shown));
    const last = shown.at(-1);
    this.lines.forEach(({ of }, i) => {
      const value = last === undefined ? null : of(last);
      this.values[i].textContent = value === null ? '\u2013' : this.format(value);
    });
  }
}

function buildCharts() {
  for (const chart of charts) chart.end();
  const isAll = facts.scope === 'server';
  charts = CHARTS.filter(({ forKeys }) => isAll || forKeys).map((each) => new Chart(each));
  byId('charts').replaceChildren(...charts.map((chart) => chart.element));
  for (const chart of charts) chart.begin();
  byId('watch-scope').textContent = isAll ? 'The whole server.' : 'What was sent with this key; the operator\u2019s key shows the whole server.';
  draw();
}

function draw() {
  const begin = (samples.at(-1)?.time ?? 0) - Number(byId('watch-range').value);
  const shown = samples.filter(({ time }) => time > begin);
  for (const chart of charts) chart.draw(shown);
  const sum = (name) => samples.reduce((total, sample) => total + sample[name], 0).toLocaleString('en');
  byId('watch-sums').textContent = `In the last hour, or since the start: ${sum('requests')} requests, ${sum('refusals')} of them refused, `
    + `${sum('prompt_tokens')} tokens of prompts, ${sum('completion_tokens')} generated.`;
}

// ---- The stream

async function listen(signal, askForKey) {
  while (!signal.aborted) {
    try {
      byId('watch-error').textContent = '';
      for await (const event of eventsOf(await call('watch', { signal, operator: true }))) {
        if (event.object === 'watch.history') takeHistory(event);
        else takeSample(event);
      }
      byId('watch-error').textContent = 'The server has ended the stream.';
    } catch (problem) {
      if (signal.aborted) return;
      byId('watch-error').textContent = problem.message;
      if (problem.wantsKey) {
        askForKey(problem.message);
        return;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

// While the view is shown.
export function showWatch(askForKey) {
  listening?.abort();
  listening = new AbortController();
  listen(listening.signal, askForKey);
}

export function hideWatch() {
  listening?.abort();
}

export function startWatch() {
  byId('watch-range').addEventListener('change', draw);
  const recolour = () => { if (charts.length > 0) buildCharts(); };
  new MutationObserver(recolour).observe(document.documentElement, { attributeFilter: ['data-theme'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
}
