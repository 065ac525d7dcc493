import { isObject } from "../../base/is-object.js";
import type { HostResponse } from "../host-request.js";

/** An item of a page, as the host sends it. */
export type HostItem = Readonly<Record<string, unknown>>;

/** A page of a list. */
export interface HostPage {
  readonly items: readonly HostItem[];
  /** How many the whole list has; undefined if it is not told. */
  readonly total: number | undefined;
  /** Whether there is another page; undefined if it is not told. */
  readonly hasNext: boolean | undefined;
  /** The parameters that ask for it. */
  readonly next: Readonly<Record<string, string>>;
}

/** How a host cuts lists into pages. */
export interface HostPages {
  /** The parameters of the first request. They ask for an order in which what is added comes last, if the host has one. */
  readonly first: Readonly<Record<string, string>>;
  /** A page from its JSON. `number` counts from 1, and `itemCount` is that of the pages before. Undefined if it is none. */
  read(value: unknown, response: HostResponse, number: number, itemCount: number): HostPage | undefined;
  /** What precedes the JSON of an answer. */
  readonly prologue?: string;
}

/** Lists whose pages have numbers; headers tell of the next one, and of the total. */
export function numberedPages(first: Readonly<Record<string, string>>): HostPages {
  return {
    first: { ...first, page: "1" },
    read: (value, response, number) =>
      Array.isArray(value)
        ? {
            items: value.filter(isObject),
            total: readTotal(response),
            hasNext: hasNext(response),
            next: { page: String(number + 1) },
          }
        : undefined,
  };
}

/** `X-Total-Count` of Gitea and Forgejo, `X-Total` of GitLab; undefined if it is not told. */
function readTotal({ headers }: HostResponse): number | undefined {
  const text = headers["x-total-count"] ?? headers["x-total"];
  return typeof text === "string" && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Whether the header `Link` tells of another page; undefined without it. Its URLs are not used: the token would be sent there. */
function hasNext({ headers: { link } }: HostResponse): boolean | undefined {
  return link === undefined ? undefined : /rel="?next"?/.test(String(link));
}

/** The list in an object; undefined if there is none. */
export function itemsIn(value: unknown, name: "values" | "value"): readonly HostItem[] | undefined {
  const items = isObject(value) ? value[name] : undefined;
  return Array.isArray(items) ? items.filter(isObject) : undefined;
}
