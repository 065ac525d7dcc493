import type { Failure } from "../failure.js";

/** A kind of request in the form in which it is sent again and again. */
export interface Exchangeable {
  /** What a person calls it. */
  readonly label: string;
  readonly method: "GET" | "POST";
  /** Below the server's base URL, with a leading slash. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** What the answer's Content-Type begins with; "" takes any. */
  readonly contentType: string;
  readonly newCheck: () => AnswerCheck;
}

/**
 * Follows one answer and says what is wrong with it. It stands in the path of every byte, so it decodes only what it
 * must.
 *
 * Contract:
 * - `push` takes the pieces of the body in order; a failure that it returns is final, and no call follows.
 * - `end` is called once when the body is whole, and says whether the answer is good.
 *
 * Caller guarantees: the answer has status 200 and the right content type. The bytes are the caller's again when `push`
 * returns.
 */
export interface AnswerCheck {
  push(bytes: Buffer): Failure | undefined;
  end(): Failure | undefined;
  /** Something that a client can act on has come: an event of a stream, the first bytes of another answer. */
  readonly hasBegun: boolean;
  /** The first matches have begun to come. Stays false where the answer is no stream. */
  readonly hasMatches: boolean;
}
