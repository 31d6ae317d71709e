// Waits until the Medusa of start.sh answers, makes what a shop needs before products
// can be sold, and prints what a mapping needs as one line of JSON.

import { answers } from "../../sqlstore/sqltest/answers.mjs"

const base = process.env.BACKEND_URL
let authorization

async function call(method, path, body) {
  const reply = await fetch(base + path, {
    method,
    headers: { "content-type": "application/json", ...(authorization && { authorization }) },
    body: body && JSON.stringify(body),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path} answers ${reply.status} ${text}`)
  return JSON.parse(text)
}

// The first of a list, or what create makes: a second start finds what is there.
async function first(path, member, create) {
  const found = (await call("GET", path))[member + "s"]
  return found[0] ?? (await call("POST", path.split("?")[0], create))[member]
}

await answers(base)
const { token } = await call("POST", "/auth/user/emailpass", { email: process.env.EMAIL, password: process.env.PASSWORD })
authorization = "Bearer " + token

const currency = "usd"
const store = (await call("GET", "/admin/stores")).stores[0]
await call("POST", "/admin/stores/" + store.id, { supported_currencies: [{ currency_code: currency, is_default: true }] })
const region = await first("/admin/regions?limit=1", "region", {
  name: "World", currency_code: currency, countries: ["us", "gb", "de", "fr", "ie"],
})
const location = await first("/admin/stock-locations?limit=1", "stock_location", { name: "Warehouse" })
const profile = await first("/admin/shipping-profiles?limit=1", "shipping_profile", { name: "Default", type: "default" })

console.log(JSON.stringify({
  url: base, user: process.env.EMAIL, password: process.env.PASSWORD, currency, region: region.id, location: location.id, profile: profile.id,
  channel: store.default_sales_channel_id,
}))
