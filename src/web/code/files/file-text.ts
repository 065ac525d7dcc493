import { decodedTextUrl, pageTextUrl, type PagePath } from "../../../model/page-path.js";
import { requestPage } from "../../api/api-error.js";
import { useAnswer, type Answer } from "../../api/use-graphql.js";

/** What is at the path of a file. */
export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly byteCount: number }
  /** There is no file, or a larger one. */
  | { readonly kind: "none" };

/** The text of a file, which the document of the page has asked for already if it is the first that is opened. */
export function useFileText(path: PagePath): Answer<FileText> {
  const url = pageTextUrl(path);
  return useAnswer(url, (signal) => readText(path, signal)).answer;
}

/** What is not plainly UTF-8 is asked for again as text, because a search finds it decoded: so lines and links fit. */
async function readText(path: PagePath, signal: AbortSignal): Promise<FileText> {
  const response = await requestPage(pageTextUrl(path), signal);
  if (response.status === 204) return { kind: "none" };
  const bytes = await response.arrayBuffer();
  const text = decodeUtf8(bytes);
  if (text !== undefined && !text.includes("\0") && !text.includes(japaneseEscape)) return { kind: "text", text };
  const decoded = await requestPage(decodedTextUrl(path), signal);
  return decoded.status === 204
    ? { kind: "binary", byteCount: bytes.byteLength }
    : { kind: "text", text: await decoded.text() };
}

/** What selects Japanese characters in ISO-2022-JP, whose bytes are those of ASCII. */
const japaneseEscape = "\x1b$";

function decodeUtf8(bytes: ArrayBuffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
