/** A mail server over a real socket, with a certificate of its own. */
import { mkdtempSync, readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import type { Test } from "tap";
import { makeCertificate, type ServerCertificate } from "./certificate.js";
import { removeFolder } from "./remove-folder.js";

export interface ReceivedMail {
  readonly isEncrypted: boolean;
  /** As the client has signed in; "" if it has not. */
  readonly user: string;
  readonly from: string;
  readonly to: readonly string[];
  /** Header and body, with line feeds. */
  readonly text: string;
}

interface ServerOptions {
  /** False for a server without STARTTLS. */
  readonly hasTls?: boolean;
  /** Whoever signs in must have this password; without one, nobody has to. */
  readonly password?: string;
}

export class MailServer {
  readonly #server: SMTPServer;
  readonly received: ReceivedMail[] = [];
  /** What the next messages are refused with: a code and a text. */
  readonly refusals: { readonly at: "recipient" | "message"; readonly code: number; readonly text: string }[] = [];
  readonly certificatePath: string;

  private constructor({ key, certificate }: ServerCertificate, { hasTls = true, password }: ServerOptions) {
    this.certificatePath = certificate;
    this.#server = new SMTPServer({
      key: readFileSync(key),
      cert: readFileSync(this.certificatePath),
      authOptional: password === undefined,
      disabledCommands: [...(hasTls ? [] : ["STARTTLS"]), ...(password === undefined ? ["AUTH"] : [])],
      disableReverseLookup: true,
      onAuth: ({ username, password: given }, _, done) =>
        given === password ? done(null, { user: username }) : done(new Error("5.7.8 not you")),
      onRcptTo: (_, __, done) => done(this.#refusal("recipient")),
      onData: (stream, session, done) => {
        const parts: Buffer[] = [];
        stream.on("data", (part: Buffer) => parts.push(part));
        stream.on("end", () => {
          const refusal = this.#refusal("message");
          if (refusal !== undefined) return done(refusal);
          const { mailFrom, rcptTo } = session.envelope;
          this.received.push({
            isEncrypted: session.secure,
            user: String(session.user ?? ""),
            from: mailFrom === false ? "" : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            text: Buffer.concat(parts).toString("utf8").replaceAll("\r\n", "\n"),
          });
          done();
        });
      },
    });
    // Clients that refuse the certificate end the connection.
    this.#server.on("error", () => undefined);
  }

  static async start(t: Test, options: ServerOptions = {}): Promise<MailServer> {
    const folder = mkdtempSync(join(tmpdir(), "trawl-mail-"));
    t.teardown(() => removeFolder(folder));
    const made = new MailServer(makeCertificate(folder, "DNS:localhost"), options);
    await new Promise<void>((resolve) => void made.#server.listen(0, "localhost", resolve));
    t.teardown(() => new Promise<void>((resolve) => made.#server.close(() => resolve())));
    return made;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  #refusal(at: "recipient" | "message"): Error | undefined {
    if (this.refusals[0]?.at !== at) return undefined;
    const { code, text } = this.refusals.shift() ?? { code: 0, text: "" };
    return Object.assign(new Error(text), { responseCode: code });
  }
}
