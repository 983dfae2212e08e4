// Anthropic's official package for Node against the server at WEFT_URL; node_client_test.py starts both.
import assert from 'node:assert/strict';
import test from 'node:test';

import Anthropic from '@anthropic-ai/sdk';

import { assertNoticed } from './left.mjs';

const client = new Anthropic({ baseURL: process.env.WEFT_URL, apiKey: 'none', maxRetries: 0 });
const fields = { model: 'demo', max_tokens: 100, temperature: 0, messages: [{ role: 'user', content: 'Who are you?' }] };
const question = { role: 'user', content: 'What is the weather in Paris?' };
const tools = [{
  name: 'get_weather',
  description: 'The weather in a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}];

test('a message, whole and streamed', async () => {
  const whole = await client.messages.create(fields);
  assert.match(whole.content[0].text, /Weft/);
  assert.equal(whole.stop_reason, 'end_turn');
  const streamed = await client.messages.stream(fields).finalMessage();
  assert.equal(streamed.content[0].text, whole.content[0].text);
  assert.deepEqual([streamed.stop_reason, streamed.usage.output_tokens], [whole.stop_reason, whole.usage.output_tokens]);
});

test('a tool is called, streamed too, and its answer taken', async () => {
  const asked = { ...fields, messages: [question], tools };
  const whole = await client.messages.create(asked);
  const call = whole.content.at(-1);
  assert.deepEqual([whole.stop_reason, call.name, call.input], ['tool_use', 'get_weather', { city: 'Paris' }]);
  const streamed = await client.messages.stream(asked).finalMessage();
  assert.deepEqual(streamed.content.at(-1).input, call.input);
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'sunny' }] };
  const answer = await client.messages.create({ ...asked, messages: [question, { role: 'assistant', content: whole.content }, result] });
  assert.equal(answer.stop_reason, 'end_turn');
  assert.ok(answer.content[0].text);
});

test('errors are the classes of the package', async () => {
  await assert.rejects(client.messages.create({ ...fields, model: 'other' }),
    (error) => error instanceof Anthropic.NotFoundError && error.error.error.type === 'not_found_error');
  await assert.rejects(client.messages.create({ ...fields, temperature: 2 }),
    (error) => error instanceof Anthropic.BadRequestError && error.message.includes("'temperature' must be a number from 0 to 1"));
});

test('models, and tokens of a prompt', async () => {
  const models = [];
  for await (const model of client.models.list()) models.push(model.id);
  assert.deepEqual(models, ['demo']);
  const { messages } = fields;
  const counted = await client.messages.countTokens({ model: 'demo', messages });
  assert.equal(counted.input_tokens, (await client.messages.create(fields)).usage.input_tokens);
});

test('a stream that is left, and one that is aborted', async () => {
  const long = { ...fields, max_tokens: 1000, ignore_eos: true };
  await assertNoticed(async () => {
    for await (const event of await client.messages.create({ ...long, stream: true })) {
      if (event.type === 'content_block_delta') break;
    }
  });
  await assertNoticed(async () => {
    const stream = client.messages.stream(long);
    stream.on('text', () => stream.abort());
    await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  });
});
