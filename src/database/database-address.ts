import { TrawlError } from "../base/errors.js";
import { requireUrlPart } from "../base/path-text.js";

/** Where a database is, and who asks it. */
export interface DatabaseAddress {
  /** A host, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** Whether what is said there could be read or changed on the way: then TLS is used, and the server has to prove its name. */
  readonly isRemote: boolean;
}

const usual =
  "postgresql://USER@HOST:PORT/DATABASE, or postgresql:///DATABASE?host=/FOLDER&user=USER for a Unix socket";

/** Parses the address of a database. Throws `bad-config`; the message has nothing of what may be a password. */
export function parseDatabaseAddress(text: string): DatabaseAddress {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) throw bad(`it must be ${usual}`);
  const url = new URL(text);
  if (url.password !== "") throw bad("it must not have the password, which is in a file or a credential");
  if (url.hash !== "") throw bad(`it must be ${usual}`);
  const parameters = new Map(url.searchParams);
  for (const name of parameters.keys())
    if (name !== "host" && name !== "user")
      throw bad(`it has ${JSON.stringify(name)}, but may have host and user only`);
  const host = url.hostname === "" ? (parameters.get("host") ?? "") : url.hostname.replace(/^\[(.*)\]$/, "$1");
  const user = decode(url.username) || (parameters.get("user") ?? "");
  const database = decode(url.pathname.slice(1));
  if (url.hostname !== "" && parameters.has("host")) throw bad("it has two hosts");
  if (host === "") throw bad(`it has no host: it must be ${usual}`);
  if (user === "") throw bad(`it has no user: it must be ${usual}`);
  if (database === "" || database.includes("/")) throw bad(`it has no database: it must be ${usual}`);
  const isSocket = host.startsWith("/");
  if (url.hostname === "" && !isSocket) throw bad("the folder of a Unix socket must be an absolute path");
  const isRemote = !isSocket && !["localhost", "127.0.0.1", "::1"].includes(host);
  return { host, port: url.port === "" ? 5432 : Number(url.port), database, user, isRemote };
}

function decode(text: string): string {
  return requireUrlPart(text, () => bad(`it must be ${usual}`));
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-config", `fleet.database: ${message}`);
}
