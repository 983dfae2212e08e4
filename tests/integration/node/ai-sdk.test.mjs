// Vercel's AI SDK against the server at WEFT_URL; node_client_test.py starts both.
import assert from 'node:assert/strict';
import test from 'node:test';

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateObject, generateText, jsonSchema, Output, stepCountIs, streamObject, streamText, tool } from 'ai';

import { assertNoticed } from './left.mjs';

const connection = { name: 'weft', baseURL: `${process.env.WEFT_URL}/v1` };
const model = createOpenAICompatible({ ...connection, supportsStructuredOutputs: true }).chatModel('demo');
const endless = createOpenAICompatible({ ...connection, transformRequestBody: (body) => ({ ...body, ignore_eos: true }) }).chatModel('demo');
const fields = { model, prompt: 'What is the weather in Paris?', temperature: 1, maxRetries: 0, maxOutputTokens: 200 };
const schema = jsonSchema({
  type: 'object',
  properties: {
    city: { type: 'string', maxLength: 8 },
    sky: { enum: ['clear', 'grey'] },
    degrees: { type: 'array', items: { type: 'integer', minimum: -20, maximum: 40 }, maxItems: 3 },
  },
  required: ['city', 'sky', 'degrees'],
  additionalProperties: false,
});

function assertWeather(object) {
  assert.deepEqual(Object.keys(object), ['city', 'sky', 'degrees']);
  assert.ok(object.city.length <= 8);
  assert.ok(['clear', 'grey'].includes(object.sky));
  assert.ok(object.degrees.length <= 3 && object.degrees.every((each) => Number.isInteger(each) && each >= -20 && each <= 40));
}

test('generateObject', async () => {
  for (const seed of [1, 2, 3]) {
    const { object, finishReason } = await generateObject({ ...fields, seed, schema });
    assert.equal(finishReason, 'stop');
    assertWeather(object);
  }
  const { object: kind } = await generateObject({ ...fields, output: 'enum', enum: ['rain', 'snow'] });
  assert.ok(['rain', 'snow'].includes(kind));
});

test('streamObject', async () => {
  const { partialObjectStream, object } = streamObject({ ...fields, seed: 1, schema });
  const parts = [];
  for await (const part of partialObjectStream) parts.push(part);
  assert.ok(parts.length > 1);
  assertWeather(await object);
  assert.deepEqual(parts.at(-1), await object);
});

test('generateText with an output and with a tool that must be called', async () => {
  const { output } = await generateText({ ...fields, seed: 1, output: Output.object({ schema }) });
  assertWeather(output);
  const tools = { report: tool({ description: 'Reports the weather', inputSchema: schema }) };
  const { toolCalls } = await generateText({ ...fields, seed: 1, tools, toolChoice: 'required' });
  assert.equal(toolCalls[0].toolName, 'report');
  assertWeather(toolCalls[0].input);
});

test('without schemas on the wire the answer is an object', async () => {
  const plain = createOpenAICompatible(connection).chatModel('demo');
  const { object } = await generateObject({ ...fields, model: plain, seed: 1, output: 'no-schema' });
  assert.equal(typeof object, 'object');
});

test('streamText, with a tool whose result goes back', async () => {
  const cities = [];
  const weather = tool({
    description: 'The weather in a city',
    inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
    execute: ({ city }) => { cities.push(city); return 'sunny'; },
  });
  const { textStream, steps } = streamText({ ...fields, temperature: 0, tools: { get_weather: weather }, stopWhen: stepCountIs(2) });
  let text = '';
  for await (const piece of textStream) text += piece;
  assert.deepEqual(cities, ['Paris']);
  assert.deepEqual((await steps).map((step) => step.finishReason), ['tool-calls', 'stop']);
  assert.ok(text);
});

test('errors are the class of the package', async () => {
  await assert.rejects(generateText({ ...fields, topP: 7 }),
    (error) => APICallError.isInstance(error) && error.statusCode === 400 && error.message.includes("'top_p'"));
});

test('a stream that is aborted', async () => {
  await assertNoticed(async () => {
    const controller = new AbortController();
    const { textStream } = streamText({ ...fields, model: endless, maxOutputTokens: 900, abortSignal: controller.signal });
    for await (const piece of textStream) {
      assert.ok(piece);
      controller.abort();
    }
  });
});
