import { statSync } from "node:fs";
import { errorMessage } from "../../base/errors.js";
import { queryData } from "../api/run-api.js";
import { type Connection, resolveConnection, type TypedConnection } from "../connection/connection.js";
import { bad, type Finding, good, warning } from "./checks.js";

interface SiteData {
  readonly currentUser: { readonly username: string } | null;
  readonly site: { readonly productVersion: string };
}

/** Whether only the owner can read the stored tokens, as `trawl login` writes them. */
export function checkTokenFile(path: string): readonly Finding[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  return [warning("tokens", `others can read the access tokens in ${path}`, `Run \`chmod 600 ${path}\`.`)];
}

/** The endpoint that `trawl search` uses, and its token. */
export async function checkClient(typed: TypedConnection): Promise<readonly Finding[]> {
  let connection: Connection;
  try {
    connection = resolveConnection(typed);
  } catch (error) {
    return [bad("endpoint", errorMessage(error), "Correct the option, the variable or the file.")];
  }
  try {
    const request = { query: "{ currentUser { username } site { productVersion } }", variables: {} };
    const { currentUser } = await queryData<SiteData>(connection, request);
    const who = currentUser === null ? "without a token" : `signed in as ${currentUser.username}`;
    return [good("endpoint", `${connection.endpoint} answers, ${who}`)];
  } catch (error) {
    return [warning("endpoint", errorMessage(error), "`trawl search` cannot be used with this address and token.")];
  }
}
