/**
 * The messages of SCIM 2.0 (RFC 7643, RFC 7644): what directories send about users and groups, and what they are answered. Attributes
 * that are not used here are accepted and not kept, as the protocol allows.
 */
import { type Filter, parse } from "scim2-parse-filter";
import { errorMessage } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import {
  type DirectoryEmail,
  type DirectoryEntry,
  groupMembersMax,
  type ProvisionedGroup,
} from "../identity/provisioned.js";

const core = "urn:ietf:params:scim:schemas:core:2.0";
const api = "urn:ietf:params:scim:api:messages:2.0";

/** Why a request is refused, as RFC 7644 names it in section 3.12. */
export type ScimType = "invalidFilter" | "invalidSyntax" | "invalidPath" | "invalidValue" | "uniqueness" | "mutability";

export class ScimError extends Error {
  readonly status: number;
  readonly scimType: ScimType | undefined;

  constructor(status: number, message: string, scimType?: ScimType) {
    super(message);
    this.status = status;
    this.scimType = scimType;
  }
}

/** What a client may set of a user. */
export type UserFields = Pick<
  DirectoryEntry,
  "userName" | "externalId" | "displayName" | "givenName" | "familyName" | "emails"
> & { readonly active: boolean };

/** What a client may set of a group. */
export type GroupFields = Pick<ProvisionedGroup, "displayName" | "externalId" | "memberIds">;

const textCharsMax = 320;
const emailsMax = 20;
const operationsMax = 1_000;
const filterCharsMax = 1_000;

const noUser = { userName: "", externalId: "", displayName: "", givenName: "", familyName: "", emails: [] } as const;

type Json = Readonly<Record<string, unknown>>;

/** A change of one attribute; `path` is empty for one of the whole resource. */
interface Operation {
  readonly op: "add" | "replace" | "remove";
  readonly path: Path;
  readonly value: unknown;
}

export interface ResourceFilter {
  /** Whether a resource, or a value of several, is meant. */
  readonly holds: (value: Json) => boolean;
  /** The text that an attribute, in lower case, has to be equal to, if nothing else is asked for. */
  readonly equality: { readonly attribute: string; readonly value: string } | undefined;
}

interface Path {
  /** In lower case; "" for the whole resource. */
  readonly attribute: string;
  /** Which values are meant, of several. */
  readonly filter: ResourceFilter | undefined;
  /** In lower case; "" for the whole value. */
  readonly part: string;
}

/** The user that a client describes as a whole; `active` stays what it is if the client says nothing of it. Throws `ScimError`. */
export function readUser(body: unknown, active: boolean): UserFields {
  const user = assignAll({ ...noUser, active }, toJson(body, "the body"), "replace");
  if (user.userName === "") throw new ScimError(400, "userName is required", "invalidValue");
  return user;
}

/** The user after the operations of a client. Throws `ScimError`. */
export function patchUser(user: UserFields, body: unknown): UserFields {
  const patched = readOperations(body).reduce(
    (before, { op, path, value }) =>
      path.attribute === ""
        ? assignAll(before, toJson(value, "the value of an operation without path"), op)
        : assign(before, path, op === "remove" ? undefined : value, op),
    user,
  );
  if (patched.userName === "") throw new ScimError(400, "userName is required", "invalidValue");
  return patched;
}

function assignAll(user: UserFields, values: Json, op: Operation["op"]): UserFields {
  return Object.entries(values).reduce((before, [name, value]) => {
    // What is null is not set, or removed.
    return assign(before, readPath(name), value ?? undefined, op);
  }, user);
}

/** An undefined value removes. */
function assign(user: UserFields, path: Path, value: unknown, op: Operation["op"]): UserFields {
  const { attribute, part } = path;
  switch (attribute) {
    case "username":
      return { ...user, userName: toText(value, "userName") };
    case "externalid":
      return { ...user, externalId: toText(value, "externalId") };
    case "displayname":
      return { ...user, displayName: toText(value, "displayName") };
    case "active":
      // Nothing that says less than "true" opens an account.
      return { ...user, active: toBoolean(value) };
    case "name":
      return assignName(user, part, value);
    case "emails":
      return { ...user, emails: assignEmails(user.emails, path, value, op) };
    default:
      return user;
  }
}

function assignName(user: UserFields, part: string, value: unknown): UserFields {
  if (part === "givenname") return { ...user, givenName: toText(value, "name.givenName") };
  if (part === "familyname") return { ...user, familyName: toText(value, "name.familyName") };
  if (part !== "") return user;
  if (value === undefined) return { ...user, givenName: "", familyName: "" };
  return Object.entries(toJson(value, "name")).reduce(
    (before, [name, one]) => assignName(before, name.toLowerCase(), one ?? undefined),
    user,
  );
}

function assignEmails(
  emails: readonly DirectoryEmail[],
  { filter, part }: Path,
  value: unknown,
  op: Operation["op"],
): readonly DirectoryEmail[] {
  const isMeant = (email: DirectoryEmail): boolean => filter === undefined || filter.holds({ ...email });
  let changed: readonly DirectoryEmail[];
  if (part !== "") {
    const set = (email: DirectoryEmail): DirectoryEmail => assignEmail(email, part, value);
    changed = emails.map((email) => (isMeant(email) ? set(email) : email));
    // Directories name the address at work like this before there is one.
    if (op !== "remove" && !emails.some(isMeant))
      changed = [...changed, set({ value: "", type: "work", primary: emails.length === 0 })];
  } else if (value === undefined) changed = emails.filter((email) => !isMeant(email));
  else {
    const given = toList(value).map(readEmail);
    changed = op === "add" ? [...emails.filter((old) => !given.some((one) => isSameEmail(one, old))), ...given] : given;
  }
  if (changed.length > emailsMax) throw new ScimError(400, `a user has at most ${emailsMax} emails`, "invalidValue");
  return changed.filter((email) => email.value !== "");
}

function isSameEmail(one: DirectoryEmail, other: DirectoryEmail): boolean {
  return one.value.toLowerCase() === other.value.toLowerCase();
}

function assignEmail(email: DirectoryEmail, part: string, value: unknown): DirectoryEmail {
  if (part === "value") return { ...email, value: toText(value, "emails.value") };
  if (part === "type") return { ...email, type: toText(value, "emails.type") };
  return part === "primary" ? { ...email, primary: toBoolean(value ?? false) } : email;
}

function readEmail(given: unknown): DirectoryEmail {
  return Object.entries(toJson(given, "an item of emails")).reduce<DirectoryEmail>(
    (email, [name, value]) => assignEmail(email, name.toLowerCase(), value ?? undefined),
    { value: "", type: "", primary: false },
  );
}

/** The address that the directory gives first; "" if there is none. */
export function primaryEmail({ emails }: Pick<UserFields, "emails">): string {
  return (emails.find(({ primary }) => primary) ?? emails[0])?.value ?? "";
}

/** A group that is being changed: a Set, because there may be a thousand changes of one member each. */
interface GroupDraft {
  displayName: string;
  externalId: string;
  readonly members: Set<number>;
}

/** The group that a client describes as a whole. Throws `ScimError`. */
export function readGroup(body: unknown): GroupFields {
  const draft: GroupDraft = { displayName: "", externalId: "", members: new Set() };
  assignAllOfGroup(draft, toJson(body, "the body"), "replace");
  return toGroup(draft);
}

/** The group after the operations of a client. Throws `ScimError`. */
export function patchGroup({ displayName, externalId, memberIds }: GroupFields, body: unknown): GroupFields {
  const draft: GroupDraft = { displayName, externalId, members: new Set(memberIds) };
  for (const { op, path, value } of readOperations(body))
    if (path.attribute === "") assignAllOfGroup(draft, toJson(value, "the value of an operation without path"), op);
    else assignToGroup(draft, path, value, op);
  return toGroup(draft);
}

function toGroup({ displayName, externalId, members }: GroupDraft): GroupFields {
  if (displayName === "") throw new ScimError(400, "displayName is required", "invalidValue");
  return { displayName, externalId, memberIds: [...members] };
}

function assignAllOfGroup(draft: GroupDraft, values: Json, op: Operation["op"]): void {
  for (const [name, value] of Object.entries(values)) assignToGroup(draft, readPath(name), value ?? undefined, op);
}

function assignToGroup(draft: GroupDraft, path: Path, value: unknown, op: Operation["op"]): void {
  const text = op === "remove" ? undefined : value;
  if (path.attribute === "displayname") draft.displayName = toText(text, "displayName");
  else if (path.attribute === "externalid") draft.externalId = toText(text, "externalId");
  else if (path.attribute === "members") assignMembers(draft.members, path, value, op);
}

/** Changes the set. */
function assignMembers(members: Set<number>, { filter }: Path, value: unknown, op: Operation["op"]): void {
  if (filter !== undefined) {
    if (op !== "remove" || filter.equality?.attribute !== "value")
      throw new ScimError(400, 'a filter of members is only for removing one: members[value eq "ID"]', "invalidPath");
    members.delete(readId(filter.equality.value));
    return;
  }
  const given = toList(value).map(readMember);
  if (op === "replace" || (op === "remove" && value === undefined)) members.clear();
  for (const id of given)
    if (op === "remove") members.delete(id);
    else members.add(id);
  if (members.size > groupMembersMax) throw new ScimError(413, `a group has at most ${groupMembersMax} members`);
}

function readMember(given: unknown): number {
  const { value } = toJson(given, "an item of members");
  const id = typeof value === "string" ? readId(value) : noId;
  if (id !== noId) return id;
  throw new ScimError(400, "an item of members has no value that is the id of a user", "invalidValue");
}

/** What no resource has for its id. */
const noId = 0;

/** The id of a resource; `noId` for a text that is none. */
export function readId(text: string): number {
  return /^[1-9][0-9]{0,14}$/.test(text) ? Number(text) : noId;
}

function readOperations(body: unknown): readonly Operation[] {
  const operations = Object.entries(toJson(body, "the body")).find(
    ([name]) => name.toLowerCase() === "operations",
  )?.[1];
  if (!Array.isArray(operations) || operations.length === 0)
    throw new ScimError(400, "the body of PATCH has a list of Operations", "invalidSyntax");
  if (operations.length > operationsMax) throw new ScimError(413, `a PATCH has at most ${operationsMax} operations`);
  return operations.map((given: unknown) => {
    const { op, path, value } = toJson(given, "an item of Operations");
    const name = String(op).toLowerCase();
    if (name !== "add" && name !== "replace" && name !== "remove")
      throw new ScimError(400, `the op of an operation is add, replace or remove`, "invalidSyntax");
    if (path !== undefined && typeof path !== "string")
      throw new ScimError(400, "the path of an operation is a text", "invalidPath");
    if (name === "remove" && (path ?? "") === "")
      throw new ScimError(400, "an operation that removes has a path", "invalidPath");
    return { op: name, path: readPath(path ?? ""), value: value ?? undefined };
  });
}

/** `emails[type eq "work"].value`, perhaps with the name of a schema in front. */
function readPath(text: string): Path {
  if (text.length > filterCharsMax) throw new ScimError(400, "a path is too long", "invalidPath");
  const opening = text.indexOf("[");
  const closing = text.lastIndexOf("]");
  if (opening >= 0 !== closing > opening)
    throw new ScimError(400, `the path ${JSON.stringify(text)} has no closing bracket`, "invalidPath");
  const rest = opening < 0 ? "" : text.slice(closing + 1);
  const name = opening < 0 ? text : text.slice(0, opening);
  // An attribute of another schema is none of ours, whatever its name.
  const own = [`${core}:User:`, `${core}:Group:`].find((prefix) => name.toLowerCase().startsWith(prefix.toLowerCase()));
  const [attribute = "", ...parts] = name
    .slice(own?.length ?? 0)
    .toLowerCase()
    .split(".");
  return {
    attribute,
    filter: opening < 0 ? undefined : readFilter(text.slice(opening + 1, closing)),
    part: opening < 0 ? parts.join(".") : rest.replace(/^\./, "").toLowerCase(),
  };
}

/** Throws `ScimError`. */
export function readFilter(text: string): ResourceFilter {
  const filter = parseFilter(text);
  return { holds: compile(filter), equality: findEquality(filter) };
}

function findEquality(filter: Filter): ResourceFilter["equality"] {
  if (filter.op !== "eq" || typeof filter.compValue !== "string") return undefined;
  const { attribute, part } = readPath(filter.attrPath);
  return part === "" ? { attribute, value: filter.compValue } : undefined;
}

function parseFilter(text: string): Filter {
  // The library's expression for quoted texts takes exponential time for line feeds.
  if (text.length > filterCharsMax || /[\u0000-\u001f]/.test(text))
    throw new ScimError(400, "a filter is one line of at most 1,000 characters", "invalidFilter");
  try {
    return parse(text);
  } catch (error) {
    throw new ScimError(400, `the filter cannot be understood: ${errorMessage(error)}`, "invalidFilter");
  }
}

function compile(filter: Filter): (value: unknown) => boolean {
  switch (filter.op) {
    case "or": {
      const parts = filter.filters.map(compile);
      return (value) => parts.some((holds) => holds(value));
    }
    case "and": {
      const parts = filter.filters.map(compile);
      return (value) => parts.every((holds) => holds(value));
    }
    case "not": {
      const holds = compile(filter.filter);
      return (value) => !holds(value);
    }
    case "[]": {
      const [path, holds] = [readPath(filter.attrPath), compile(filter.valFilter)];
      return (value) => valuesAt(value, path).some(holds);
    }
    case "pr": {
      const path = readPath(filter.attrPath);
      return (value) => valuesAt(value, path).some((one) => one !== undefined && one !== "");
    }
    default: {
      const { op, compValue } = filter;
      const path = readPath(filter.attrPath);
      if (op === "ne") return (value) => !valuesAt(value, path).some((one) => compares("eq", one, compValue));
      return (value) => valuesAt(value, path).some((one) => compares(op, one, compValue));
    }
  }
}

/** Texts are compared without regard to case, as for most attributes of the schema. */
function compares(op: string, one: unknown, other: unknown): boolean {
  if (typeof one !== "string" || typeof other !== "string") return op === "eq" && one === other;
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  switch (op) {
    case "eq":
      return a === b;
    case "co":
      return a.includes(b);
    case "sw":
      return a.startsWith(b);
    case "ew":
      return a.endsWith(b);
    case "gt":
      return a > b;
    case "ge":
      return a >= b;
    case "lt":
      return a < b;
    case "le":
      return a <= b;
    default:
      return false;
  }
}

function valuesAt(value: unknown, { attribute, part }: Path): readonly unknown[] {
  const inside = (given: unknown, name: string): readonly unknown[] => {
    if (!isObject(given)) return [];
    const found = Object.entries(given).find(([key]) => key.toLowerCase() === name)?.[1];
    return Array.isArray(found) ? (found as readonly unknown[]) : found === undefined ? [] : [found];
  };
  const values = inside(value, attribute);
  if (part !== "") return values.flatMap((one) => inside(one, part));
  // `emails eq "a@b"` means the value of each.
  return values.map((one) => (isObject(one) ? (one["value"] ?? one) : one));
}

/** A value of several, of which a client may send one without a list. */
function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

function toJson(value: unknown, what: string): Json {
  if (isObject(value)) return value;
  throw new ScimError(400, `${what} must be a JSON object`, "invalidSyntax");
}

function toText(value: unknown, what: string): string {
  const text = value ?? "";
  if (typeof text !== "string" || text.length > textCharsMax || /[\u0000-\u001f\u007f]/.test(text))
    throw new ScimError(
      400,
      `${what} must be a text of at most ${textCharsMax} characters without control characters`,
      "invalidValue",
    );
  return text.trim();
}

/** Some directories send a text. */
function toBoolean(value: unknown): boolean {
  const text = String(value).toLowerCase();
  if (text === "true" || text === "false") return text === "true";
  throw new ScimError(400, "active and primary must be true or false", "invalidValue");
}

/** A resource as it is shown; texts that are "" are left out. */
export type Resource = Json & { readonly id: string };

export function showUser(
  entry: DirectoryEntry & { readonly id: number },
  {
    active,
    groups,
    url,
  }: { readonly active: boolean; readonly groups: readonly ProvisionedGroup[]; readonly url: string },
): Resource {
  const { userName, externalId, displayName, givenName, familyName, emails } = entry;
  const name = shown({ givenName, familyName });
  return {
    schemas: [`${core}:User`],
    id: String(entry.id),
    ...shown({ externalId, userName, displayName }),
    ...(Object.keys(name).length === 0 ? {} : { name }),
    ...(emails.length === 0
      ? {}
      : { emails: emails.map(({ value, type, primary }) => ({ value, ...shown({ type }), primary })) }),
    active,
    ...(groups.length === 0
      ? {}
      : {
          groups: groups.map((group) => ({
            value: String(group.id),
            display: group.displayName,
            $ref: `${url}/Groups/${group.id}`,
          })),
        }),
    meta: showMeta("User", `${url}/Users/${entry.id}`, entry),
  };
}

export function showGroup(group: ProvisionedGroup, url: string): Resource {
  const { displayName, externalId, memberIds } = group;
  return {
    schemas: [`${core}:Group`],
    id: String(group.id),
    ...shown({ externalId, displayName }),
    members: memberIds.map((id) => ({ value: String(id), $ref: `${url}/Users/${id}` })),
    meta: showMeta("Group", `${url}/Groups/${group.id}`, group),
  };
}

function shown(texts: Readonly<Record<string, string>>): Json {
  return Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
}

function showMeta(
  resourceType: string,
  location: string,
  { createdAt, changedAt }: Pick<DirectoryEntry, "createdAt" | "changedAt">,
): Json {
  return { resourceType, created: createdAt, lastModified: changedAt, location };
}

/** A page of a list. `startIndex` is 1-based. */
export function showList(resources: readonly Json[], totalResults: number, startIndex: number): Json {
  return {
    schemas: [`${api}:ListResponse`],
    totalResults,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}

export function showError({ status, message, scimType }: ScimError): Json {
  return {
    schemas: [`${api}:Error`],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
    detail: message,
  };
}

/** Keeps the attributes that a client asks for. `id` and `schemas` are always there. */
export function selectAttributes(resource: Resource, attributes: string, excluded: string): Json {
  const names = (text: string): ReadonlySet<string> =>
    new Set(text.split(",").map((name) => readPath(name.trim()).attribute));
  const isAlways = (name: string): boolean => name === "schemas" || name === "id";
  if (attributes !== "") {
    const wanted = names(attributes);
    return Object.fromEntries(
      Object.entries(resource).filter(([name]) => isAlways(name) || wanted.has(name.toLowerCase())),
    );
  }
  const unwanted = names(excluded);
  return Object.fromEntries(
    Object.entries(resource).filter(([name]) => isAlways(name) || !unwanted.has(name.toLowerCase())),
  );
}

/** What the server can do. */
export function serviceProviderConfig(url: string, pageMax: number): Json {
  return {
    schemas: [`${core}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: pageMax },
    changePassword: { supported: false },
    sort: { supported: false },
    etag: { supported: false },
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Bearer token",
        description: "The token of scimToken in the configuration of the identity provider",
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${url}/ServiceProviderConfig` },
  };
}

export function resourceTypes(url: string): readonly Resource[] {
  return (["User", "Group"] as const).map((name) => ({
    schemas: [`${core}:ResourceType`],
    id: name,
    name,
    endpoint: `/${name}s`,
    schema: `${core}:${name}`,
    meta: { resourceType: "ResourceType", location: `${url}/ResourceTypes/${name}` },
  }));
}

function attribute(name: string, more: Json = {}): Json {
  return {
    name,
    type: "string",
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: "readWrite",
    returned: "default",
    uniqueness: "none",
    ...more,
  };
}

const reference = (type: "User" | "Group", mutability: string): Json =>
  attribute("$ref", { type: "reference", referenceTypes: [type], mutability });

/** The attributes that are kept. */
export function schemas(url: string): readonly Resource[] {
  const schema = (name: string, attributes: readonly Json[]): Resource => ({
    schemas: [`${core}:Schema`],
    id: `${core}:${name}`,
    name,
    attributes,
    meta: { resourceType: "Schema", location: `${url}/Schemas/${core}:${name}` },
  });
  return [
    schema("User", [
      attribute("userName", { required: true, uniqueness: "server" }),
      attribute("displayName"),
      attribute("name", { type: "complex", subAttributes: [attribute("givenName"), attribute("familyName")] }),
      attribute("emails", {
        type: "complex",
        multiValued: true,
        subAttributes: [attribute("value"), attribute("type"), attribute("primary", { type: "boolean" })],
      }),
      attribute("active", { type: "boolean" }),
      attribute("groups", {
        type: "complex",
        multiValued: true,
        mutability: "readOnly",
        subAttributes: ["value", "display"]
          .map((name) => attribute(name, { mutability: "readOnly" }))
          .concat([reference("Group", "readOnly")]),
      }),
    ]),
    schema("Group", [
      attribute("displayName", { required: true, uniqueness: "server" }),
      attribute("members", {
        type: "complex",
        multiValued: true,
        subAttributes: [attribute("value", { mutability: "immutable" }), reference("User", "immutable")],
      }),
    ]),
  ];
}
