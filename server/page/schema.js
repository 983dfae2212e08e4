// Whether a JSON value satisfies a JSON Schema: the words that answers are held to (docs/STRUCTURED.md). Others are named, not guessed.

const ANNOTATIONS = new Set(['$schema', '$id', '$comment', '$defs', 'definitions', 'title', 'description', 'default', 'examples',
  'deprecated', 'readOnly', 'writeOnly']);
const DEEPEST = 64;

const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);
const isObject = (value) => typeOf(value) === 'object';
const lengthOf = (text) => [...text].length;

function isType(value, type) {
  return type === 'integer' ? Number.isInteger(value) : typeOf(value) === type;
}

export function equal(a, b) {
  if (typeOf(a) !== typeOf(b)) return false;
  if (Array.isArray(a)) return a.length === b.length && a.every((item, i) => equal(item, b[i]));
  if (!isObject(a)) return a === b;
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]));
}

// Each word: (its value, the value, a check) -> what is wrong, or undefined. `check(schema, value, step)` adds the faults of a part.
const WORDS = {
  type: (types, value) => ([types].flat().some((type) => isType(value, type)) ? undefined : `is not of type ${[types].flat().join(' or ')}`),
  enum: (choices, value) => (choices.some((choice) => equal(choice, value)) ? undefined : 'is none of the values in enum'),
  const: (wanted, value) => (equal(wanted, value) ? undefined : `is not ${JSON.stringify(wanted)}`),
  minimum: (limit, value) => (typeof value !== 'number' || value >= limit ? undefined : `is less than ${limit}`),
  maximum: (limit, value) => (typeof value !== 'number' || value <= limit ? undefined : `is more than ${limit}`),
  exclusiveMinimum: (limit, value) => (typeof value !== 'number' || value > limit ? undefined : `is not more than ${limit}`),
  exclusiveMaximum: (limit, value) => (typeof value !== 'number' || value < limit ? undefined : `is not less than ${limit}`),
  multipleOf(step, value) {
    const quotient = value / step;
    return typeof value !== 'number' || Math.abs(quotient - Math.round(quotient)) < 1e-9 ? undefined : `is no multiple of ${step}`;
  },
  minLength: (limit, value) => (typeof value !== 'string' || lengthOf(value) >= limit ? undefined : `is shorter than ${limit} characters`),
  maxLength: (limit, value) => (typeof value !== 'string' || lengthOf(value) <= limit ? undefined : `is longer than ${limit} characters`),
  pattern: (pattern, value) => (typeof value !== 'string' || new RegExp(pattern, 'u').test(value) ? undefined : `does not match ${pattern}`),
  minItems: (limit, value) => (!Array.isArray(value) || value.length >= limit ? undefined : `has fewer than ${limit} items`),
  maxItems: (limit, value) => (!Array.isArray(value) || value.length <= limit ? undefined : `has more than ${limit} items`),
  uniqueItems(wanted, value) {
    const repeats = wanted && Array.isArray(value) && value.some((item, i) => value.slice(0, i).some((other) => equal(item, other)));
    return repeats ? 'has an item twice' : undefined;
  },
  minProperties: (limit, value) => (!isObject(value) || Object.keys(value).length >= limit ? undefined : `has fewer than ${limit} members`),
  maxProperties: (limit, value) => (!isObject(value) || Object.keys(value).length <= limit ? undefined : `has more than ${limit} members`),
  required(names, value) {
    const missing = isObject(value) ? names.filter((name) => !Object.hasOwn(value, name)) : [];
    return missing.length > 0 ? `lacks ${missing.join(', ')}` : undefined;
  },
  properties(schemas, value, check) {
    if (!isObject(value)) return;
    for (const [name, schema] of Object.entries(schemas)) if (Object.hasOwn(value, name)) check(schema, value[name], `/${name}`);
  },
  patternProperties(schemas, value, check) {
    if (!isObject(value)) return;
    for (const [pattern, schema] of Object.entries(schemas)) {
      for (const name of Object.keys(value)) if (new RegExp(pattern, 'u').test(name)) check(schema, value[name], `/${name}`);
    }
  },
  additionalProperties(schema, value, check, whole) {
    if (!isObject(value)) return;
    const patterns = Object.keys(whole.patternProperties ?? {}).map((pattern) => new RegExp(pattern, 'u'));
    for (const name of Object.keys(value)) {
      const isNamed = Object.hasOwn(whole.properties ?? {}, name) || patterns.some((pattern) => pattern.test(name));
      if (!isNamed) check(schema, value[name], `/${name}`);
    }
  },
  prefixItems(schemas, value, check) {
    if (Array.isArray(value)) schemas.slice(0, value.length).forEach((schema, i) => check(schema, value[i], `/${i}`));
  },
  items(schema, value, check, whole) {
    const first = whole.prefixItems?.length ?? 0;
    if (Array.isArray(value)) value.slice(first).forEach((item, i) => check(schema, item, `/${first + i}`));
  },
  allOf(schemas, value, check) {
    for (const schema of schemas) check(schema, value, '');
  },
  anyOf: (schemas, value, check) => (schemas.some((schema) => check.passes(schema, value)) ? undefined : 'fits no schema of anyOf'),
  oneOf(schemas, value, check) {
    const count = schemas.filter((schema) => check.passes(schema, value)).length;
    return count === 1 ? undefined : `fits ${count} schemas of oneOf, not one`;
  },
  not: (schema, value, check) => (check.passes(schema, value) ? 'fits the schema of not' : undefined),
};

// The part of a schema that "#/a/b" names.
function resolve(root, pointer) {
  if (typeof pointer !== 'string' || !pointer.startsWith('#')) throw new Error(`$ref ${pointer} leads out of the schema`);
  let part = root;
  for (const step of decodeURIComponent(pointer).split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (part === null || typeof part !== 'object' || !Object.hasOwn(part, name)) throw new Error(`$ref ${pointer} names nothing`);
    part = part[name];
  }
  return part;
}

// {faults: ["/a is not of type string", ...], unchecked: ["format", ...]}; no faults: it fits, as far as it was checked.
export function checkSchema(root, value) {
  const unchecked = new Set();
  const faultsOf = (schema, each, place, depth) => {
    if (depth > DEEPEST) throw new Error('the schema is too deep');
    if (schema === true) return [];
    if (schema === false) return [`${place || 'the value'} may not be there`];
    if (!isObject(schema)) throw new Error('a schema is an object, true or false');
    const faults = [];
    const check = (part, inner, step) => faults.push(...faultsOf(part, inner, place + step, depth + 1));
    check.passes = (part, inner) => faultsOf(part, inner, place, depth + 1).length === 0;
    for (const [word, argument] of Object.entries(schema)) {
      if (word === '$ref') check(resolve(root, argument), each, '');
      else if (Object.hasOwn(WORDS, word)) {
        const fault = WORDS[word](argument, each, check, schema);
        if (fault) faults.push(`${place || 'the value'} ${fault}`);
      } else if (!ANNOTATIONS.has(word)) unchecked.add(word);
    }
    return faults;
  };
  const faults = faultsOf(root, value, '', 0);
  return { faults: faults.slice(0, 100), unchecked: [...unchecked].slice(0, 100) };
}

// The same of a text that should be JSON, by a schema's text.
export function judge(schemaText, text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return { faults: ['it is not JSON'], unchecked: [] };
  }
  try {
    return checkSchema(JSON.parse(schemaText), value);
  } catch (problem) {
    return { faults: [], unchecked: [`the schema: ${problem.message}`] };
  }
}
