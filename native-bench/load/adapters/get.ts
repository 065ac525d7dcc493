import type { AnswerCheck, Exchangeable } from "./adapter.js";

/** Any page of the server; of its answer only the status counts. */
export interface GetRequest {
  readonly kind: "get";
  /** Below the base URL, with a leading slash. */
  readonly path: string;
}

export function getExchange({ path }: GetRequest): Exchangeable {
  return { label: path, method: "GET", path, headers: {}, body: null, contentType: "", newCheck: () => new GetCheck() };
}

class GetCheck implements AnswerCheck {
  readonly hasMatches = false;
  hasBegun = false;

  push(): undefined {
    this.hasBegun = true;
  }

  end(): undefined {}
}
