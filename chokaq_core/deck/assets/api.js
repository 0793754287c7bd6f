// The Deck's JSON routes.

import { key } from "./session.js";

const BASE = new URL("deck/", document.baseURI);
const PATIENCE_MS = 30_000;

// What a route answered instead of what was asked for: RFC 9457, in `problem`.
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail ?? problem.title ?? `the server answered ${status}`);
    this.status = status;
    this.problem = problem;
  }
}

// No answer, or none of the Deck's.
export class Unreachable extends Error {}

export async function get(path, params = {}) {
  return content(await answered(await call("GET", path, params)));
}

export async function getFile(path, params) {
  const response = await answered(await call("GET", path, params));
  return { text: await response.text(), further: response.headers.get("X-ChokaQ-Further") };
}

export async function send(method, path, body) {
  return content(await answered(await call(method, path, {}, body)));
}

async function call(method, path, params, body) {
  const address = new URL(path, BASE);
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== "") address.searchParams.set(name, value);
  }
  try {
    return await fetch(address, {
      method,
      headers: headers(body),
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch (error) {
    throw new Unreachable(String(error));
  }
}

function headers(body) {
  const given = key();
  return {
    Accept: "application/json",
    ...(given === null ? {} : { "X-ChokaQ-Key": given }),
    // No page of another site can make a browser send this one.
    ...(body === undefined ? {} : { "Content-Type": "application/json", "X-ChokaQ-Deck": "1" }),
  };
}

async function answered(response) {
  if (response.ok) return response;
  throw new Refused(response.status, (await json(response)) ?? {});
}

// A gateway or a sign-in page in between may answer in the server's place.
async function content(response) {
  const body = await json(response);
  if (body === null) throw new Unreachable("something else answered");
  return body;
}

async function json(response) {
  try {
    return await response.json();
  } catch {
    return null;
  }
}
