// A client of a store in TypeScript. File store.d.ts is made by openapi-typescript from
// Portico's OpenAPI document: it types all parameters, fields and answers.
import { createHmac } from "node:crypto";
import createClient from "openapi-fetch";
import OAuth from "oauth-1.0a";
import type { components, paths } from "./store.js";

const store = createClient<paths, "application/json">({
  baseUrl: setting("STORE_URL"),
  headers: { Accept: "application/json" },
  querySerializer: (query) => flatten(query).join("&"),
});

// Every request is signed with OAuth 1.0a before it is sent.
const oauth = new OAuth({
  consumer: { key: setting("CONSUMER_KEY"), secret: setting("CONSUMER_SECRET") },
  signature_method: "HMAC-SHA1",
  hash_function: (text, key) => createHmac("sha1", key).update(text).digest("base64"),
});
const token = { key: setting("TOKEN"), secret: setting("TOKEN_SECRET") };
store.use({
  onRequest({ request }) {
    // The parameters are passed decoded: oauth-1.0a does not decode the names in a URL.
    const { origin, pathname, searchParams } = new URL(request.url);
    const signed = oauth.authorize({ url: origin + pathname, method: request.method, data: Object.fromEntries(searchParams) }, token);
    request.headers.set("Authorization", oauth.toHeader(signed).Authorization);
    return request;
  },
});

// A list is an object of records by id, or an empty array.
const kettles = await store.GET("/products", {
  params: { query: { filter: { 1: { attribute: "name", like: "%Kettle" } }, order: "sku", dir: "asc", attrs: ["sku", "name"] } },
});
for (const [id, product] of Object.entries(kettles.data ?? fail(kettles.error))) {
  console.log(`product ${id}: ${product?.sku}, ${product?.name}`);
}

const kettle = await store.GET("/products/{id}", { params: { path: { id: "1" } } });
const { sku, price, stock_data } = kettle.data ?? fail(kettle.error);
console.log(`${sku} costs ${price}, ${stock_data?.qty} in stock`);

// With a declared type, unknown fields are errors.
const newCustomer: components["schemas"]["CustomerCreate"] = {
  firstname: "Grace",
  lastname: "Murray",
  email: "grace@example.com",
  password: "grace-password-1", // only in the dialect documented
  website_id: 1,
  group_id: 1,
};
const created = await store.POST("/customers", { body: newCustomer });
if (created.error) fail(created.error);
const id = created.response.headers.get("Location")?.split("/").pop() ?? "";
const byID = { params: { path: { id } } };

const changes: components["schemas"]["CustomerUpdate"] = { lastname: "Hopper" };
const updated = await store.PUT("/customers/{id}", { ...byID, body: changes });
if (updated.error) fail(updated.error);
const read = await store.GET("/customers/{id}", byID);
const { firstname, lastname, email } = read.data ?? fail(read.error);
console.log(`created ${firstname} ${lastname}, ${email}`);

const deleted = await store.DELETE("/customers/{id}", byID);
if (deleted.error) fail(deleted.error);
const missing = await store.GET("/customers/{id}", byID);
if (missing.error) console.log(`deleted: ${missing.response.status} ${messagesOf(missing.error)}`);

/** Returns the messages of an error answer. */
function messagesOf(faults: components["schemas"]["Faults"]): string {
  return faults.messages.error.map((fault) => fault.message).join(" ");
}

/** Ends the program with the messages of an error answer. */
function fail(faults?: components["schemas"]["Faults"]): never {
  throw new Error(faults ? messagesOf(faults) : "the answer has no body");
}

/** Returns an environment variable. */
function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`set the environment variable ${name}`);
  return value;
}

/** Returns name=value for each value of a query: lists with commas, objects as name[key]=value. */
function flatten(query: object, prefix = ""): string[] {
  return Object.entries(query).flatMap(([key, value]: [string, unknown]) => {
    const name = prefix ? `${prefix}[${key}]` : key;
    const isList = Array.isArray(value) && !prefix;
    if (typeof value === "object" && value && !isList) return flatten(value, name);
    return value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`];
  });
}
