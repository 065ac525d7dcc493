import type { StreamMatch } from "../../model/stream-events.js";

/** `repo[@revision][:path]`, `repo:oid`, or an owner. */
export function printName(match: StreamMatch): string {
  if (match.repository === undefined) return printOwner(match);
  if (match.oid !== undefined) return `${match.repository}:${match.oid}`;
  return printRepository(match) + (match.path === undefined ? "" : `:${match.path}`);
}

export function printRepository({ repository = "", branches }: StreamMatch): string {
  return branches?.[0] ? `${repository}@${branches[0]}` : repository;
}

export function printOwner({ handle, email = "" }: StreamMatch): string {
  return handle === undefined ? email : `@${handle}`;
}

export function findSubject({ message = "" }: StreamMatch): string {
  return message.split("\n", 1)[0] ?? "";
}
