import { TrawlError } from "./errors.js";

/** The origin that a setting names, as browsers write it. Throws `bad-config` for a text that is none. */
export function requireOrigin(text: string, option: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url !== undefined && url.href === `${url.origin}/` && /^https?:$/.test(url.protocol);
  if (isOrigin && !url.hostname.includes("*")) return url.origin;
  throw new TrawlError(
    "bad-config",
    `${option}: ${JSON.stringify(text)} is not an origin such as https://hooks.example.org or http://10.0.0.5:9000`,
  );
}
