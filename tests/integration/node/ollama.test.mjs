// Ollama's official package for Node against the server at WEFT_URL; node_client_test.py starts both.
import assert from 'node:assert/strict';
import test from 'node:test';

import { Ollama } from 'ollama';

import { assertNoticed } from './left.mjs';

const client = new Ollama({ host: process.env.WEFT_URL });
const model = 'demo';
const options = { temperature: 0, num_predict: 100 };
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

test('a chat, whole and streamed', async () => {
  const whole = await client.chat({ model, messages: hello, options });
  assert.match(whole.message.content, /Weft/);
  assert.equal(whole.done_reason, 'stop');
  let text = '';
  for await (const piece of await client.chat({ model, messages: hello, options, stream: true })) text += piece.message.content;
  assert.equal(text, whole.message.content);
});

test('a tool is called, streamed too, and its answer taken', async () => {
  const { message } = await client.chat({ model, messages: question, tools, options });
  const call = message.tool_calls[0].function;
  assert.deepEqual([call.name, call.arguments], ['get_weather', { city: 'Paris' }]);
  const calls = [];
  for await (const piece of await client.chat({ model, messages: question, tools, options, stream: true })) {
    calls.push(...(piece.message.tool_calls ?? []));
  }
  assert.deepEqual(calls.map((each) => each.function), [call]);
  const answer = { role: 'tool', content: 'sunny', tool_name: call.name };
  assert.ok((await client.chat({ model, messages: [...question, message, answer], tools, options })).message.content);
});

test('a schema is followed', async () => {
  const format = {
    type: 'object', properties: { name: { type: 'string', maxLength: 8 } }, required: ['name'], additionalProperties: false,
  };
  const { response } = await client.generate({ model, prompt: 'Who are you?', format, options });
  assert.deepEqual(Object.keys(JSON.parse(response)), ['name']);
});

test('models and vectors', async () => {
  assert.deepEqual((await client.list()).models.map((each) => each.name), ['demo:latest']);
  assert.ok((await client.show({ model })).capabilities.includes('completion'));
  assert.equal((await client.embed({ model, input: ['a', 'b'] })).embeddings.length, 2);
});

test('errors', async () => {
  await assert.rejects(client.chat({ model: 'other', messages: hello }),
    (error) => error.name === 'ResponseError' && error.status_code === 404 && error.message.includes('does not exist'));
  await assert.rejects(client.pull({ model }), /is not offered/);
});

test('a stream that is aborted', async () => {  // to leave its loop is not enough: the package goes on reading
  const fields = { model, messages: hello, options: { ignore_eos: true, num_predict: -1 }, stream: true };
  await assertNoticed(async () => (await client.chat(fields)).abort());
});
