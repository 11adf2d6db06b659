// Evaluates JSONata by the reference implementation: a question a line, an answer a line.
import { createHash, randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import jsonata from "jsonata";

const EXPRESSION_MS = 1000; // transforming-data.html, "Expression timeout"
const known = new Map();
let deadline = Infinity;

function compiled(text) {
  if (!known.has(text)) {
    const expression = jsonata(text);
    expression.assign(Symbol.for("jsonata.__evaluate_entry"), () => {
      if (Date.now() > deadline) throw { code: "timeout", message: "Expression evaluation timeout" };
    });
    known.set(text, expression);
  }
  return known.get(text);
}

// What Step Functions adds to JSONata (transforming-data.html).
function hash(text, algorithm) {
  const name = { MD5: "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" }[algorithm];
  if (typeof text !== "string" || !name) throw { code: "hash", message: `$hash knows no ${algorithm}` };
  return createHash(name).update(text).digest("hex");
}

function partition(items, size) {
  const step = Math.floor(size);
  if (!(step > 0)) throw { code: "partition", message: "$partition needs a size above 0" };
  const parts = [];
  for (let at = 0; at < items.length; at += step) parts.push(items.slice(at, at + step));
  return parts;
}

function range(first, last, delta) {
  const [from, to, step] = [first, last, delta].map(Math.floor);
  if (!step) throw { code: "range", message: "$range needs a step" };
  const numbers = [];
  for (let at = from; step > 0 ? at <= to : at >= to; at += step) numbers.push(at);
  return numbers;
}

function random(seed) {
  if (seed === undefined) return Math.random();
  return parseInt(hash(String(Math.floor(seed)), "SHA-256").slice(0, 13), 16) / 16 ** 13;
}

function parse(text) {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw { code: "parse", message: "$parse was given no JSON" };
  }
}

function onlyJson(_, value) {
  if (typeof value === "function" || value?._jsonata_lambda || value?._jsonata_function)
    throw { code: "function", message: "a function is no JSON" };
  if (typeof value === "number" && !Number.isFinite(value))
    throw { code: "number", message: `${value} is no JSON` };
  return value;
}

async function answer({ expression, bindings, clock_ms, step_ms }) {
  let calls = 0;
  const millis = () => clock_ms + step_ms * calls++;
  const now = () => new Date(millis()).toISOString();
  deadline = Date.now() + EXPRESSION_MS;
  try {
    const added = { millis, now, hash, partition, range, random, parse, uuid: () => randomUUID() };
    const value = await compiled(expression).evaluate(undefined, { ...bindings, ...added });
    return value === undefined ? "{}" : JSON.stringify({ value }, onlyJson);
  } catch (error) {
    return JSON.stringify({ code: String(error.code ?? error.name), message: String(error.message) });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write((await answer(JSON.parse(line))) + "\n");
}
