// Starts a Vendure for tests and trials.

const path = require("path")
const { bootstrap, mergeConfig, dummyPaymentHandler, DefaultJobQueuePlugin, DefaultLogger, JobQueueService, LogLevel } = require("@vendure/core")
const { AssetServerPlugin } = require("@vendure/asset-server-plugin")

const config = {
  apiOptions: { hostname: "127.0.0.1", port: Number(process.env.PORT), adminApiPath: "admin-api", shopApiPath: "shop-api", csrfPrevention: true },
  authOptions: {
    tokenMethod: "bearer",
    superadminCredentials: { identifier: process.env.ADMIN, password: process.env.SECRET },
  },
  dbConnectionOptions: { type: "postgres", url: process.env.DATABASE_URL, synchronize: true },
  logger: new DefaultLogger({ level: LogLevel.Warn }),
  paymentOptions: { paymentMethodHandlers: [dummyPaymentHandler] },
  plugins: [
    DefaultJobQueuePlugin.init({}),
    AssetServerPlugin.init({ route: "assets", assetUploadDir: path.join(process.cwd(), "assets") }),
  ],
}

bootstrap(mergeConfig(config, require("./portico.cjs")))
  // Each write of a product makes a job, which computes all collections and so would take most of the time of tests.
  .then((app) => process.env.VENDURE_WORKER && app.get(JobQueueService).start())
  .catch((error) => {
    console.error(error)
    process.exit(1)
  })
