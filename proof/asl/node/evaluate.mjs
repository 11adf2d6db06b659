// Evaluates JSONata by the reference implementation: a question a line, an answer a line.
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

// Step Functions adds this function to JSONata (transforming-data.html). Its others are not in our definition.
function parse(text) {
  if (text === undefined) return undefined;
  if (typeof text !== "string") throw { code: "parse", message: "$parse needs a text" };
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
    const added = { millis, now, parse };
    const value = await compiled(expression).evaluate(undefined, { ...bindings, ...added });
    return value === undefined ? "{}" : JSON.stringify({ value }, onlyJson);
  } catch (error) {
    return JSON.stringify({ code: String(error.code ?? error.name), message: String(error.message) });
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write((await answer(JSON.parse(line))) + "\n");
}
