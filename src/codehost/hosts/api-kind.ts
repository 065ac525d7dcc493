import type { ListedRepository } from "../connection.js";
import type { HostItem, HostPages } from "./pages.js";

/** The place and the right with which a list is read. */
export interface ItemPlace {
  /** Where the API is; ends with a slash. */
  readonly apiUrl: URL;
  /** Whether the list was read with a token. Without one, hosts list only what everybody may read. */
  readonly hasToken: boolean;
}

/** What differs between the interfaces of code hosts. */
export interface ApiKind {
  /** Where the API of the host at a URL is; ends with a slash. The URL of the API itself is accepted, too. */
  apiUrl(url: URL, hasToken: boolean): URL;
  readonly pages: HostPages;
  headers(token: string): Readonly<Record<string, string>>;
  /** The paths to try for an owner, which is an organization or a user: the next one if the host knows no such one. */
  ownerPaths(owner: string): readonly string[];
  /** The path of the repositories that the token's owner is a member of; undefined if the host has no such list. */
  readonly ownPath: string | undefined;
  /** Undefined for what is no repository to mirror, such as one that is switched off. */
  read(item: HostItem, place: ItemPlace): ListedRepository | undefined;
}

export const text = (value: unknown): string => (typeof value === "string" ? value : "");
export const integer = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);

export const escapeName = encodeURIComponent;

export function below(url: URL, path: string): URL {
  const base = new URL(url.pathname.endsWith("/") ? url : `${url.href}/`);
  return base.pathname.endsWith(`/${path}`) ? base : new URL(path, base);
}

/** What is written as `USER:SECRET` is sent as such; `otherwise` tells how a token alone is sent. */
export function authorization(token: string, otherwise: (token: string) => string): Readonly<Record<string, string>> {
  if (token === "") return { Accept: "application/json" };
  const [user, ...secret] = token.split(":");
  // The name under which Bitbucket's git takes access tokens, which its API takes only as bearer tokens.
  const value =
    user === "x-token-auth" ? `Bearer ${secret.join(":")}` : secret.length > 0 ? basic(token) : otherwise(token);
  return { Accept: "application/json", Authorization: value };
}

export const bearer = (token: string): string => `Bearer ${token}`;
export const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString("base64")}`;

/** Some hosts write the name of the user who asks into URLs, `https://ann@bitbucket.org/…`: it is left out. */
export function withoutUser(url: string): string {
  if (!/^https?:/i.test(url) || !URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}

/** Projects and repositories of some hosts may have spaces in their names, and names here have none. */
export function withoutSpaces(name: string): string {
  return name.replaceAll(/\s/g, "-");
}
