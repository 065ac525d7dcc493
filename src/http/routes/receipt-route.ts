import { type ReceiptRange, receiptLists } from "../../search/report/receipt-store.js";
import type { Searcher } from "../../search/searcher.js";
import type { ViewerHandler } from "../access/guard.js";
import { plainText } from "../server/headers.js";

const json = { "Content-Type": "application/json" };

const itemsDefault = 1_000;

/** Part of a list of a receipt: `/.api/search/receipt/ID?list=excluded&from=0&count=1000`. */
export function receiptHandler(search: Pick<Searcher, "receiptPage">): ViewerHandler {
  return (request, response, viewer) => {
    const range = readRange(new URLSearchParams(request.query));
    if (typeof range === "string") return response.reply(400, plainText, `${range}\n`);
    const page = search.receiptPage(request.params["ID"] ?? "", range, viewer);
    if (page === undefined)
      return response.reply(404, plainText, "no such receipt: only receipts of recent searches are available\n");
    response.reply(200, json, JSON.stringify(page));
  };
}

/** Returns a message if a parameter is invalid. */
function readRange(given: URLSearchParams): ReceiptRange | string {
  const list = receiptLists.find((name) => name === (given.get("list") ?? "excluded"));
  if (list === undefined) return `list must be one of ${receiptLists.join(", ")}`;
  const from = readIndex(given.get("from"), 0);
  if (from === undefined) return "from must be a whole number";
  const count = readIndex(given.get("count"), itemsDefault);
  return count === undefined ? "count must be a whole number" : { list, from, count };
}

function readIndex(text: string | null, absent: number): number | undefined {
  if (text === null) return absent;
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
