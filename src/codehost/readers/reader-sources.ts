import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import type { ApiKindName } from "../connection.js";
import { HostError } from "../host-request.js";
import { escapeName, text } from "../hosts/api-kind.js";
import type { HostItem } from "../hosts/pages.js";
import type { PageReader } from "../page-reader.js";

/** Somebody on a code host. */
export interface HostUser {
  /** The number of the account, which is never given to somebody else. */
  readonly id: string;
  /** The name, which may be. */
  readonly name: string;
}

/** Reads who may read the code of a repository, by its name on the host. Rejects if that cannot be told. */
export type ReaderSource = (name: string, reader: PageReader) => Promise<readonly HostUser[]>;

/** The right of GitLab from which members read the code of private projects: Reporter. */
const reporterLevel = 20;

/** The hosts that are asked for readers. */
export const readerSources: Partial<Readonly<Record<ApiKindName, ReaderSource>>> = {
  github: async (name, reader) => {
    const items = await readWhole(`repos/${pathTo(name)}/collaborators?affiliation=all`, reader);
    return users(items.filter(({ permissions }) => isObject(permissions) && permissions["pull"] === true));
  },
  gitlab: async (name, reader) => {
    const items = await readWhole(`projects/${escapeName(name)}/members/all`, reader);
    return users(items.filter(readsOnGitlab));
  },
  gitea: readOnGitea,
};

/**
 * Who is blocked, or waits for an approval, reads nothing. Guests do not read the code of private projects, and the right to
 * read internal ones without being a member is not known here.
 */
function readsOnGitlab({
  state,
  membership_state: membership,
  access_level: level,
  expires_at: expiry,
}: HostItem): boolean {
  const isActive = state === "active" && (membership === undefined || membership === "active");
  const isOver = typeof expiry === "string" && !(Date.parse(expiry) > new Date().getTime());
  return isActive && !isOver && typeof level === "number" && level >= reporterLevel;
}

/**
 * Gitea and Forgejo list users who were added one by one; the members of the teams of an organization come in addition, and the
 * owner if that is a user. For the repository of a user, there is no list of teams.
 */
async function readOnGitea(name: string, reader: PageReader): Promise<readonly HostUser[]> {
  const path = `repos/${pathTo(name)}`;
  const found = [...(await readWhole(`${path}/collaborators`, reader))];
  const teams = await readTeams(`${path}/teams`, reader);
  if (teams === undefined) {
    const { owner } = await reader.readObject(path);
    if (isObject(owner)) found.push(owner);
  }
  for (const { id } of (teams ?? []).filter(readsCode)) {
    if (!Number.isSafeInteger(id)) throw new TrawlError("git", `a team of ${name} has no number`);
    found.push(...(await readWhole(`teams/${String(id)}/members`, reader)));
  }
  return users(found.filter((user) => user["active"] !== false && user["prohibit_login"] !== true));
}

async function readTeams(path: string, reader: PageReader): Promise<readonly HostItem[] | undefined> {
  try {
    return await readWhole(path, reader);
  } catch (error) {
    if (error instanceof HostError && (error.status === 404 || error.status === 405)) return undefined;
    throw error;
  }
}

/** Whether the members of a team of Gitea read code. Owners and administrators do; others have rights by unit. */
function readsCode({ permission, units_map: rights, units }: HostItem): boolean {
  if (permission === "owner" || permission === "admin") return true;
  if (isObject(rights)) return ["read", "write", "admin", "owner"].includes(text(rights["repo.code"]));
  return Array.isArray(units) && units.includes("repo.code") && permission !== "none";
}

/** Rejects if a part of the list could not be read: nobody loses a right because of it. */
async function readWhole(path: string, reader: PageReader): Promise<readonly HostItem[]> {
  const { items, problem } = await reader.read(path);
  if (problem !== "") throw new TrawlError("git", problem);
  return items;
}

/** Those with a number and a name, each once. */
function users(items: readonly HostItem[]): readonly HostUser[] {
  const found = new Map<string, HostUser>();
  for (const { id, login, username } of items) {
    const name = text(login) || text(username);
    if (Number.isSafeInteger(id) && (id as number) > 0 && name !== "" && name.length <= nameLengthMax)
      found.set(String(id), { id: String(id), name });
  }
  return [...found.values()];
}

const nameLengthMax = 255;

/** The path of a repository. A part that consists of dots would lead elsewhere. */
function pathTo(name: string): string {
  const parts = name.split("/");
  if (parts.some((part) => part === "" || part === "." || part === ".."))
    throw new TrawlError("git", `${JSON.stringify(name)} is not the name of a repository`);
  return parts.map(escapeName).join("/");
}
