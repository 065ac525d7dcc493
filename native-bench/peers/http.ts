import { request, type IncomingMessage } from "node:http";
import { TrawlError } from "../../src/base/errors.js";
import { run } from "../system/processes.js";

/** A search over HTTP; with a body it is a POST of JSON. */
export interface HttpSearch {
  readonly url: string;
  readonly body: string | undefined;
}

const curl = ["-q", "-sf", "-o", "/dev/null", "--max-time", "300", "-w", "%{time_total}"];

/** Milliseconds until curl has read the whole answer, from before it connects. The same client for every server. */
export async function curlMs({ url, body }: HttpSearch): Promise<number> {
  const post = body === undefined ? [] : ["-H", "content-type: application/json", "--data-raw", body];
  return 1000 * Number(await run("curl", [...curl, ...post, url], ""));
}

/** The bytes of a good answer as they arrive. */
export async function openAnswer({ url, body }: HttpSearch): Promise<AsyncIterable<Buffer>> {
  const headers = body === undefined ? {} : { "content-type": "application/json" };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, { agent: false, method: body === undefined ? "GET" : "POST", headers }, resolve);
    sent.on("error", reject).end(body);
  });
  if (response.statusCode === 200) return response;
  response.destroy();
  throw new TrawlError("overloaded", `${url} answered ${response.statusCode}`);
}
