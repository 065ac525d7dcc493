import { toSender, type Sender } from "../../account/records/audit-log.js";
import type { Approver } from "../../account/sign-in/device-grants.js";
import { ClientProblem } from "../../account/sign-in/oauth-clients.js";
import { TrawlError } from "../../base/errors.js";
import type { Viewer } from "../../model/viewer.js";
import type { Handler } from "../server/handler.js";
import type { Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";

export const oauthJson: Headers = {
  "Content-Type": "application/json",
  "Cache-Control": "no-store",
  Pragma: "no-cache",
};

/** An answer to a program, in the form of OAuth 2.0. */
export class OAuthError extends TrawlError {
  readonly error: string;
  readonly status: number;

  constructor(error: string, description: string, status = 400) {
    super("bad-request", description);
    this.error = error;
    this.status = status;
  }
}

/** Serves a page on which a signed-in user decides. */
export type PageHandler = (
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer & Approver,
) => Promise<void> | void;

/** Outcomes of a question that a program repeats until its user has answered. */
const notYet: ReadonlySet<string> = new Set(["authorization_pending", "slow_down"]);

export interface RefusalLog {
  readonly recordRefusal: (sender: Sender, reason: string) => void;
}

/** A handler whose answer is what it returns, with this status; its errors are in the form of OAuth 2.0, and in the audit log. */
export function oauthHandler(log: RefusalLog, status: number, answer: (request: HttpRequest) => unknown): Handler {
  return async (request, response) => {
    try {
      const found = await answer(request);
      response.reply(status, oauthJson, JSON.stringify(found));
    } catch (error) {
      const { name, status: refused, message } = describe(error);
      if (!notYet.has(name)) log.recordRefusal(toSender(request), `${name}: ${message}`);
      response.reply(refused, oauthJson, JSON.stringify({ error: name, error_description: message }));
    }
  };
}

/** Throws errors that only a bug can cause. */
function describe(error: unknown): { readonly name: string; readonly status: number; readonly message: string } {
  if (error instanceof OAuthError) return { name: error.error, status: error.status, message: error.message };
  if (error instanceof ClientProblem) return { name: error.error, status: 400, message: error.message };
  if (!(error instanceof TrawlError) || error.httpStatus === 500) throw error;
  return { name: "temporarily_unavailable", status: error.httpStatus, message: error.message };
}
