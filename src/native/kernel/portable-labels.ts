import { utf8Bytes } from "../../base/bytes.js";
import type { ElementsRequest } from "./portable-elements.js";
import type { JsonWriter } from "./portable-json.js";

const patternsKey = utf8Bytes(',"patterns":[');
const closeArray = utf8Bytes("]");
const openArray = utf8Bytes("[");
const comma = utf8Bytes(",");

/** Writes the labels of one content's rows after the elements in which they begin. */
export class LabelWriter {
  readonly #request: ElementsRequest;
  #next = 0;

  constructor(request: ElementsRequest) {
    this.#request = request;
    const { labels, labelCount, rows, rowFrom, rowBegin, contentFrom } = request;
    const from = rowFrom === rowBegin ? contentFrom : rows[2 * rowFrom];
    while (this.#next < labelCount && labels[3 * this.#next] < from) this.#next++;
  }

  /** Writes the labels that begin on lines up to the one that ends at `lineEnd`, except those written before. */
  write(json: JsonWriter, lineEnd: number): void {
    const { labels, labelCount, rows, rowTo, contentFrom } = this.#request;
    if (labelCount === 0) return;
    const rowsEnd = rows[2 * rowTo - 1];
    json.raw(patternsKey);
    for (let isFirst = true; this.#next < labelCount && !json.isFull; this.#next++, isFirst = false) {
      const [start, end, label] = labels.subarray(3 * this.#next, 3 * this.#next + 3);
      if (start > lineEnd || start >= rowsEnd) break;
      if (!isFirst) json.raw(comma);
      json.raw(openArray);
      json.number(label);
      json.raw(comma);
      json.number(start - contentFrom);
      json.raw(comma);
      json.number(end - contentFrom);
      json.raw(closeArray);
    }
    json.raw(closeArray);
  }
}
