// The health check of the container image: fails unless the daemon answers. A repository that cannot be fetched does not make it fail:
// a restart would not help.
import { get } from "node:http";

const url = process.argv[2] ?? "http://127.0.0.1:7080/healthz";
get(url, { timeout: 4_000 }, (response) =>
  end(response.statusCode === 200, `the daemon answers with ${response.statusCode}`),
)
  .on("timeout", () => end(false, "the daemon does not answer within 4 s"))
  .on("error", (error) => end(false, `the daemon does not answer: ${error.message}`));

function end(isHealthy, problem) {
  if (!isHealthy) console.error(problem);
  process.exit(isHealthy ? 0 : 1);
}
