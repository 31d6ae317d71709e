// answers returns once the server of start.sh answers GET /health. It throws when the server
// has ended, or does not answer within two minutes.
export async function answers(base) {
  const isUp = () => fetch(base + "/health").then((reply) => reply.ok, () => false) // nobody listens yet
  for (const end = Date.now() + 120_000; !(await isUp()); ) {
    if (Date.now() > end) throw new Error("the server does not answer within two minutes")
    process.kill(Number(process.env.SERVER_PID), 0) // throws when it has ended
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}
