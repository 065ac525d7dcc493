import { binaryHeadBytes } from "../../../base/text.js";
import { pageTextUrl, type PagePath } from "../../../model/page-path.js";
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
  return useAnswer(url, (signal) => readText(url, signal)).answer;
}

async function readText(url: string, signal: AbortSignal): Promise<FileText> {
  const response = await requestPage(url, signal);
  if (response.status === 204) return { kind: "none" };
  const text = await response.text();
  return text.slice(0, binaryHeadBytes).includes("\0")
    ? { kind: "binary", byteCount: Number(response.headers.get("content-length")) }
    : { kind: "text", text };
}
