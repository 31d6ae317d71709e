// Waits until the Vendure of start.sh answers, makes what a shop needs before products
// can be sold, and prints what tests need as one line of JSON.

import { answers } from "../../sqlstore/sqltest/answers.mjs"

const { BACKEND_URL: base, ADMIN: username, SECRET: password } = process.env
let authorization

async function call(query, variables) {
  const reply = await fetch(base + "/admin-api", {
    method: "POST",
    headers: { "content-type": "application/json", ...(authorization && { authorization }) },
    body: JSON.stringify({ query, variables }),
  })
  const token = reply.headers.get("vendure-auth-token")
  if (token) authorization = "Bearer " + token
  const text = await reply.text()
  const { data, errors } = JSON.parse(text)
  if (errors || !data) throw new Error(`${query} answers ${reply.status} ${text}`)
  return data
}

await answers(base)
const { login } = await call("mutation ($username: String!, $password: String!) { login(username: $username, password: $password) { __typename } }", { username, password })
if (login.__typename !== "CurrentUser") throw new Error("login: " + login.__typename)

const currency = "USD"
const { countries, zones, stockLocations, activeChannel } = await call("{ countries { totalItems } zones { items { id } } stockLocations { items { id } } activeChannel { id } }")
if (countries.totalItems === 0) {
  // All countries that the runtime knows: addresses and orders can only refer to countries of the shop.
  const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" })
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
  const inputs = letters.flatMap((a) => letters.map((b) => a + b)).filter((code) => names.of(code) && !["EU", "EZ", "UN", "QO", "XA", "XB", "ZZ"].includes(code))
    .map((code) => ({ code, enabled: true, translations: [{ languageCode: "en", name: names.of(code) }] }))
  await call(`mutation (${inputs.map((_, i) => `$i${i}: CreateCountryInput!`)}) { ${inputs.map((_, i) => `c${i}: createCountry(input: $i${i}) { id }`).join(" ")} }`,
    Object.fromEntries(inputs.map((input, i) => ["i" + i, input])))
}
let zone = zones.items[0]?.id
if (!zone) {
  const all = await call("{ countries(options: {take: 1000}) { items { id } } }")
  zone = (await call("mutation ($input: CreateZoneInput!) { createZone(input: $input) { id } }", { input: { name: "World", memberIds: all.countries.items.map((c) => c.id) } })).createZone.id
  await call('mutation { createTaxCategory(input: {name: "Standard", isDefault: true}) { id } }')
}
await call("mutation ($input: UpdateChannelInput!) { updateChannel(input: $input) { __typename ... on ErrorResult { message } } }", {
  input: { id: activeChannel.id, defaultTaxZoneId: zone, defaultShippingZoneId: zone, availableCurrencyCodes: [currency], defaultCurrencyCode: currency, pricesIncludeTax: false },
})

console.log(JSON.stringify({ url: base, user: username, password, location: stockLocations.items[0].id, imported: "Imported" }))
