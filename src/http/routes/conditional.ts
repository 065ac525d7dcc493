import fresh from "fresh";
import Negotiator from "negotiator";
import type { ArchiveFormat } from "../../git/objects/content.js";

/** What of a file a request wants. `to` is the place behind the last byte. */
export type WantedBytes =
  | { readonly kind: "all" }
  | { readonly kind: "part"; readonly from: number; readonly to: number }
  | { readonly kind: "unsatisfiable" };

type Headers = ReadonlyMap<string, string>;

const all: WantedBytes = { kind: "all" };

/**
 * The range that a request asks for: one of bytes, if `If-Range` does not name another state of the file. Several
 * ranges, and what is no range, mean all of it, as the protocol has it.
 *
 * The package range-parser 1.3.0 is not used: it calls `bytes=-20` of a file of 10 bytes and `bytes=5-2` unsatisfiable,
 * where RFC 9110 (14.1.2, 14.1.1) requires the whole file.
 */
export function wantedBytes(headers: Headers, etag: string, byteCount: number): WantedBytes {
  const ifRange = headers.get("if-range");
  if (ifRange !== undefined && ifRange.trim() !== etag) return all;
  const [, first = "", last = ""] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(headers.get("range") ?? "") ?? [];
  if (first === "" && last === "") return all;
  if (first === "") {
    const from = Math.max(0, byteCount - Number(last));
    return from < byteCount ? { kind: "part", from, to: byteCount } : { kind: "unsatisfiable" };
  }
  if (last !== "" && Number(last) < Number(first)) return all;
  const to = last === "" ? byteCount : Math.min(byteCount, Number(last) + 1);
  return Number(first) < byteCount ? { kind: "part", from: Number(first), to } : { kind: "unsatisfiable" };
}

/** Whether the client has this state already: `If-None-Match` names it, weakly or not. */
export function isKnown(headers: Headers, etag: string): boolean {
  return fresh({ "if-none-match": headers.get("if-none-match") }, { etag });
}

const formatOfType: ReadonlyMap<string, ArchiveFormat | "text"> = new Map([
  ["text/plain", "text"],
  ["application/zip", "zip"],
  ["application/x-tar", "tar"],
]);

/** What an `Accept` header prefers of text, zip and tar; text when it accepts none of them. */
export function acceptedFormat(accept: string | undefined): ArchiveFormat | "text" {
  const type = new Negotiator({ headers: { accept } }).mediaType([...formatOfType.keys()]);
  return formatOfType.get(type ?? "") ?? "text";
}
