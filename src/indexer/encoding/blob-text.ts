import { isAscii, isUtf8 } from "node:buffer";
import { isBinary } from "../../base/text.js";
import type { DecodedText, TextEncoding } from "./decoded-text.js";
import { decodeEastAsian, decodeIso2022Jp } from "./east-asian.js";
import { decodeWestern } from "./western.js";

/**
 * - "text": what was written, in UTF-8 without a byte order mark.
 * - "bytes": it is text for git, but not UTF-8, and the encoding is not certain: it is searched as it is.
 * - "binary": it is binary for git, and no text in another encoding.
 */
export interface BlobText {
  readonly kind: "text" | "bytes" | "binary";
  /** Empty for "binary". */
  readonly text: Buffer;
  /** The encoding of the blob; undefined if it is not known. */
  readonly encoding: TextEncoding | undefined;
}

/** Larger blobs are not decoded, because that takes several times as much memory. */
export const decodedBytesMax = 32 << 20;

/** Fewer characters are not enough to recognize UTF-16 without a byte order mark. */
const unmarkedUnitsMin = 16;

/** The same, as the share of ASCII in it. */
const unmarkedAsciiShareMin = 0.7;

const noText = Buffer.alloc(0);
const utf8Mark = Buffer.of(0xef, 0xbb, 0xbf);
const escapeByte = 0x1b;

/**
 * The text of a blob: everything that searches, shows or describes a file goes by this one, so the offsets and lines of
 * each are those of the others. It depends on the blob's bytes alone, because texts are shared by the blob's oid.
 * Usually it is the blob itself, and nothing is copied. See docs/decisions/0028.
 */
export function textOfBlob(blob: Buffer): BlobText {
  const body = blob.subarray(0, 3).equals(utf8Mark) ? blob.subarray(3) : blob;
  if (!isBinary(body) && isUtf8(body)) {
    const canBeIso2022 = body.length <= decodedBytesMax && body.includes(escapeByte) && isAscii(body);
    const text = canBeIso2022 ? decodeIso2022Jp(body) : undefined;
    return text === undefined ? { kind: "text", text: body, encoding: "UTF-8" } : decoded(text, "ISO-2022-JP");
  }
  if (body === blob && blob.length <= decodedBytesMax) {
    const known =
      decodeMarked(blob) ??
      (blob.includes(0)
        ? decodeUnmarkedUtf16(blob)
        : controlBytes.some((byte) => blob.includes(byte))
          ? undefined
          : (decodeEastAsian(blob) ?? decodeWestern(blob)));
    if (known !== undefined) return decoded(known.text, known.encoding);
  }
  return isBinary(body)
    ? { kind: "binary", text: noText, encoding: undefined }
    : { kind: "bytes", text: body, encoding: undefined };
}

function decoded(text: string, encoding: TextEncoding): BlobText {
  return { kind: "text", text: Buffer.from(text), encoding };
}

/** What texts do not contain, apart from NUL: the control characters that neither format nor end a text. */
const controlBytes = [1, 2, 3, 4, 5, 6, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 28, 29, 30, 31, 127];

// eslint-disable-next-line no-control-regex
const controls = /[\x00-\x06\x0e-\x19\x1c-\x1f\x7f\ufffe\uffff]/;

/** A blob that begins with a byte order mark of UTF-16 or UTF-32; undefined if the rest is not text in that encoding. */
function decodeMarked(blob: Buffer): DecodedText | undefined {
  const mark = blob.length >= 4 ? blob.readUInt32BE(0) : 0;
  if (mark === 0xfffe0000 || mark === 0x0000feff) {
    const isLittle = mark === 0xfffe0000;
    const text = decodeUtf32(blob.subarray(4), isLittle);
    if (text !== undefined) return { text, encoding: isLittle ? "UTF-32LE" : "UTF-32BE" };
  }
  const short = blob.length >= 2 ? blob.readUInt16BE(0) : 0;
  if (short !== 0xfffe && short !== 0xfeff) return undefined;
  return decodeUtf16(blob.subarray(2), short === 0xfffe ? "UTF-16LE" : "UTF-16BE");
}

function decodeUtf16(bytes: Buffer, encoding: "UTF-16LE" | "UTF-16BE"): DecodedText | undefined {
  try {
    const text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
    return controls.test(text) ? undefined : { text, encoding };
  } catch {
    return undefined;
  }
}

function decodeUtf32(bytes: Buffer, isLittle: boolean): string | undefined {
  if (bytes.length % 4 !== 0) return undefined;
  const units = Buffer.alloc(bytes.length);
  let length = 0;
  for (let at = 0; at < bytes.length; at += 4) {
    const point = isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
    if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return undefined;
    if (point < 0x10000) length = units.writeUInt16LE(point, length);
    else {
      length = units.writeUInt16LE(0xd800 + ((point - 0x10000) >>> 10), length);
      length = units.writeUInt16LE(0xdc00 + ((point - 0x10000) & 0x3ff), length);
    }
  }
  const text = units.toString("utf16le", 0, length);
  return controls.test(text) ? undefined : text;
}

/** Most characters of an unmarked text must be ASCII: then every second byte of them is zero, always on the same side. */
function decodeUnmarkedUtf16(blob: Buffer): DecodedText | undefined {
  const unitCount = blob.length / 2;
  if (!Number.isInteger(unitCount) || unitCount < unmarkedUnitsMin || (blob[0] === 0) === (blob[1] === 0))
    return undefined;
  const found = decodeUtf16(blob, blob[1] === 0 ? "UTF-16LE" : "UTF-16BE");
  if (found === undefined) return undefined;
  let asciiCount = 0;
  for (let i = 0; i < found.text.length; i++) if (found.text.charCodeAt(i) < 128) asciiCount++;
  return asciiCount >= unitCount * unmarkedAsciiShareMin ? found : undefined;
}
