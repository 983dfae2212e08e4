// The official OpenAI package for Node against the server at WEFT_URL; node_client_test.py starts both.
import assert from 'node:assert/strict';
import test from 'node:test';

import OpenAI from 'openai';

import { assertNoticed, untilBusy } from './left.mjs';

const client = new OpenAI({ baseURL: `${process.env.WEFT_URL}/v1`, apiKey: 'none', maxRetries: 0 });
const model = 'demo';
const hello = [{ role: 'user', content: 'Who are you?' }];
const question = [{ role: 'user', content: 'What is the weather in Paris?' }];
const tools = [{
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}];

async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test('models', async () => {
  const ids = [];
  for await (const entry of client.models.list()) ids.push(entry.id);
  assert.deepEqual(ids, [model]);
  assert.equal((await client.models.retrieve(model)).id, model);
});

test('a completion, whole and streamed', async () => {
  const fields = { model, prompt: 'Once', max_tokens: 12, temperature: 0, ignore_eos: true };
  const whole = await client.completions.create(fields);
  assert.equal(whole.usage.completion_tokens, 12);
  assert.equal(whole.choices[0].finish_reason, 'length');
  const chunks = await collect(await client.completions.create({ ...fields, stream: true, stream_options: { include_usage: true } }));
  assert.equal(chunks.flatMap((chunk) => chunk.choices).map((choice) => choice.text).join(''), whole.choices[0].text);
  assert.equal(chunks.at(-1).usage.completion_tokens, 12);
});

test('a chat, whole and streamed', async () => {
  const fields = { model, messages: hello, temperature: 0 };
  const whole = await client.chat.completions.create(fields);
  assert.match(whole.choices[0].message.content, /Weft/);
  const chunks = await collect(await client.chat.completions.create({ ...fields, stream: true }));
  assert.equal(chunks.map((chunk) => chunk.choices[0]?.delta?.content ?? '').join(''), whole.choices[0].message.content);
  const final = await client.chat.completions.stream(fields).finalContent();
  assert.equal(final, whole.choices[0].message.content);
});

test('choices, log probabilities and the raw response', async () => {
  const fields = { model, messages: hello, n: 2, seed: 3, max_tokens: 5, logprobs: true, top_logprobs: 2 };
  const { data, response } = await client.chat.completions.create(fields).withResponse();
  assert.equal(data.choices.length, 2);
  for (const { logprobs } of data.choices) {
    for (const entry of logprobs.content) assert.equal(entry.top_logprobs.length, 2);
  }
  assert.equal(response.status, 200);
  assert.equal(data._request_id, response.headers.get('x-request-id'));
});

test('a tool is called, streamed too, and its answer taken', async () => {
  const fields = { model, messages: question, tools, temperature: 0 };
  const whole = await client.chat.completions.create(fields);
  assert.equal(whole.choices[0].finish_reason, 'tool_calls');
  const [call] = whole.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'get_weather');
  assert.deepEqual(JSON.parse(call.function.arguments), { city: 'Paris' });
  const streamed = await client.chat.completions.stream(fields).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.tool_calls[0].function, call.function);

  // The package's own loop: it calls the function here and sends what that returns.
  const cities = [];
  const runner = client.chat.completions.runTools({
    model, messages: question, temperature: 0,
    tools: [{
      type: 'function',
      function: { ...tools[0].function, parse: JSON.parse, function: ({ city }) => { cities.push(city); return '{"weather": "sunny"}'; } },
    }],
  });
  assert.ok(await runner.finalContent());
  assert.deepEqual(cities, ['Paris']);
});

test('errors are the classes of the package', async () => {
  await assert.rejects(client.chat.completions.create({ model: 'other', messages: hello }),
    (error) => error instanceof OpenAI.NotFoundError && error.code === 'model_not_found');
  await assert.rejects(client.chat.completions.create({ model, messages: hello, temperature: 9 }),
    (error) => error instanceof OpenAI.BadRequestError && error.param === 'temperature' && error.type === 'invalid_request_error');
  await assert.rejects(client.completions.create({ model, prompt: 'a', stream: true, max_tokens: -2 }), OpenAI.BadRequestError);
  await assert.rejects(client.chat.completions.create({ model, messages: [{ role: 'user', content: 'a '.repeat(5000) }] }),
    (error) => error.code === 'context_length_exceeded');
});

test('an abandoned stream and an aborted request free the server', async () => {
  const long = { model, prompt: 'a', max_tokens: 1000, ignore_eos: true };
  await assertNoticed(async () => {
    for await (const chunk of await client.completions.create({ ...long, stream: true })) {
      assert.ok(chunk.choices);
      break;
    }
  });
  await assertNoticed(async () => {
    const controller = new AbortController();
    const aborted = client.completions.create({ ...long, n: 8 }, { signal: controller.signal });
    await untilBusy();
    controller.abort();
    await assert.rejects(aborted, OpenAI.APIUserAbortError);
  });
  await assert.rejects(client.completions.create({ ...long, n: 8 }, { timeout: 20 }), OpenAI.APIConnectionTimeoutError);
  assert.ok((await client.completions.create({ model, prompt: 'a', max_tokens: 1 })).choices);
});

test('a response, whole, streamed, stored and continued', async () => {
  const fields = { model, input: 'Who are you?', temperature: 0 };
  const whole = await client.responses.create(fields);
  assert.equal(whole.status, 'completed');
  assert.match(whole.output_text, /Weft/);
  const events = await collect(await client.responses.create({ ...fields, stream: true }));
  assert.equal(events[0].type, 'response.created');
  assert.equal(events.at(-1).type, 'response.completed');
  assert.equal(events.filter((event) => event.type === 'response.output_text.delta').map((event) => event.delta).join(''), whole.output_text);
  assert.equal((await client.responses.retrieve(whole.id)).output_text, whole.output_text);
  const next = await client.responses.create({ ...fields, input: 'And what do you do?', previous_response_id: whole.id });
  assert.equal(next.previous_response_id, whole.id);
  await client.responses.delete(whole.id);
  await assert.rejects(client.responses.retrieve(whole.id), OpenAI.NotFoundError);
});

test('a response calls a tool', async () => {
  const [{ function: weather }] = tools;
  const input = question[0].content;
  const response = await client.responses.create({ model, input, tools: [{ type: 'function', strict: false, ...weather }], temperature: 0 });
  const call = response.output.find((item) => item.type === 'function_call');
  assert.deepEqual([call.name, JSON.parse(call.arguments)], ['get_weather', { city: 'Paris' }]);
});

test('embeddings, as numbers and as base64', async () => {
  const input = ['the wolf', 'a house', 'the wolf'];
  const list = await client.embeddings.create({ model, input });  // the package asks for base64 and decodes it
  assert.deepEqual(list.data.map((entry) => entry.index), [0, 1, 2]);
  const [wolf, house, again] = list.data.map((entry) => entry.embedding);
  assert.deepEqual(wolf, again);
  assert.notDeepEqual(wolf, house);
  assert.ok(Math.abs(Math.hypot(...wolf) - 1) < 1e-5);
  const floats = await client.embeddings.create({ model, input: 'the wolf', encoding_format: 'float' });
  assert.ok(floats.data[0].embedding.every((value, i) => Math.abs(value - wolf[i]) < 1e-6));
  assert.ok(floats.usage.prompt_tokens > 0);
});
