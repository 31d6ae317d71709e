// The part of the configuration that makes a Vendure a backend of Portico. In vendure-config.ts:
//
//   export const config = mergeConfig({ … }, require("./portico.cjs"))
//
// The custom fields are needed. The options may be left out where the shop has others; what they
// are for is said at each.

const { BigIntMoneyStrategy, DefaultProductVariantPriceUpdateStrategy, defaultOrderProcess } = require("@vendure/core")

const legacyId = { name: "legacyId", type: "int", nullable: true, public: false }

module.exports = {
  customFields: {
    Address: [legacyId],
    Asset: [legacyId],
    Channel: [legacyId],
    Collection: [legacyId],
    Customer: [legacyId],
    CustomerGroup: [legacyId],
    Product: [
      legacyId,
      { name: "shortDescription", type: "text", nullable: true },
      { name: "weight", type: "float", nullable: true },
      { name: "countryOfManufacture", type: "string", nullable: true },
    ],
    // The stock settings that Portico has written, because Vendure has fewer.
    ProductVariant: [{ name: "legacyStock", type: "text", nullable: true, public: false }],
    Order: [legacyId, { name: "incrementId", type: "string", nullable: true }],
    // Lines of orders that were placed in the legacy store.
    OrderLine: [
      legacyId,
      { name: "sku", type: "string", nullable: true },
      { name: "name", type: "string", nullable: true },
      { name: "price", type: "float", nullable: true }, // in cents, beyond 32 bits
    ],
  },
  orderOptions: {
    // Orders that were placed in the legacy store may have more items than Vendure's 999.
    orderItemsLimit: 1_000_000,
    orderLineItemsLimit: 1_000_000,
    // Lines of orders that were placed in the legacy store have the price of that time.
    orderItemPriceCalculationStrategy: {
      calculateUnitPrice: (_, variant, line) =>
        line.price == null
          ? { price: variant.listPrice, priceIncludesTax: variant.listPriceIncludesTax }
          : { price: line.price, priceIncludesTax: false },
    },
    // The state of these orders, for rest.vars: "imported=Imported". Without it they are drafts.
    process: [defaultOrderProcess, { transitions: { Draft: { to: ["Imported"], mergeStrategy: "merge" }, Imported: { to: ["Cancelled"] } } }],
  },
  // A price has the same value in all channels.
  catalogOptions: { productVariantPriceUpdateStrategy: new DefaultProductVariantPriceUpdateStrategy({ syncPricesAcrossChannels: true }) },
  // Prices above 21,474,836.47.
  entityOptions: { moneyStrategy: new BigIntMoneyStrategy() },
}
