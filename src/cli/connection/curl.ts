import type { Connection } from "./connection.js";
import { eventStream } from "./send.js";

/** The call of curl that sends the same request. The token itself is not in it, but the variable that holds it. */
export function curlCall(connection: Connection, url: URL, accept: string, body?: string): string {
  const words = ["curl", "-sS", ...(accept === eventStream ? ["-N"] : []), "-H", quoted(`Accept: ${accept}`)];
  if (connection.token !== undefined)
    words.push("-H", `"Authorization: token $${connection.tokenVariable ?? "TRAWL_TOKEN"}"`);
  if (body !== undefined) words.push("-H", quoted("Content-Type: application/json"), "--data-binary", quoted(body));
  return [...words, quoted(url.href)].join(" ");
}

/** A word for a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
