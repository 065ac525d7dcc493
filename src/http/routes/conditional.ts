import fresh from "fresh";
import Negotiator from "negotiator";
import type { ArchiveFormat } from "../../git/objects/content.js";

/** The part of a file that a request asks for. `to` is the offset after the last byte. */
export type WantedBytes =
  | { readonly kind: "all" }
  | { readonly kind: "part"; readonly from: number; readonly to: number }
  | { readonly kind: "unsatisfiable" };

type Headers = ReadonlyMap<string, string>;

const all: WantedBytes = { kind: "all" };

/**
 * The range that a request asks for: a single byte range, unless `If-Range` names another state of the file. Several
 * ranges, and an invalid range, mean the whole file, as the protocol specifies.
 *
 * The package range-parser 1.3.0 is not used: it reports `bytes=-20` for a file of 10 bytes and `bytes=5-2` as
 * unsatisfiable, where RFC 9110 (14.1.2, 14.1.1) requires the whole file.
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

/** Whether the client already has this state: `If-None-Match` contains its tag, weak or strong. */
export function isKnown(headers: Headers, etag: string): boolean {
  return fresh({ "if-none-match": headers.get("if-none-match") }, { etag });
}

const formatOfType: ReadonlyMap<string, ArchiveFormat | "text"> = new Map([
  ["text/plain", "text"],
  ["application/zip", "zip"],
  ["application/x-tar", "tar"],
]);

/** The format that an `Accept` header prefers among text, zip and tar; text if it accepts none of them. */
export function acceptedFormat(accept: string | undefined): ArchiveFormat | "text" {
  const type = new Negotiator({ headers: { accept } }).mediaType([...formatOfType.keys()]);
  return formatOfType.get(type ?? "") ?? "text";
}
