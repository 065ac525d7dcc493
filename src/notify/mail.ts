import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { rootCertificates } from "node:tls";
import type { SMTPConnectionOptions } from "nodemailer/lib/smtp-connection";
import { errorMessage, TrawlError } from "../base/errors.js";
import { isSecretSource, readSecret } from "../base/secret-source.js";
import { oneLine, withoutReordering } from "../base/text.js";
import { type Announcement, describeRest } from "./announcement.js";
import type { Delivered } from "./post.js";

/** From the connection to the answer to the message. */
const sendMs = 180_000;

/** Until the connection is made, and the server has greeted. */
const stepMs = 10_000;

/**
 * Until it says the next thing: it may look at a message for long before it accepts it, and a message that is given up in that time
 * arrives, and is sent again. RFC 5321 says ten minutes.
 */
const answerMs = 120_000;

/** What users are told of a server that does not answer, or is not set up well; the operator's log says what it is. */
export const mailProblem = "the mail server could not be used: the operator finds the reason in the log";

/** A server that says more at once is none. */
const responseBytesMax = 64 * 1024;

const shownLengthMax = 300;
const subjectLengthMax = 200;

/** An address whose parts need no quotes: others could mean something else to a server. */
const addressPattern = /^[A-Za-z0-9._+'-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/;
const domainPattern = /^@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*$/;
const addressLengthMax = 254;

function isAddress(text: string): boolean {
  return text.length <= addressLengthMax && addressPattern.test(text);
}

/** Of the mail server, and of what is sent by it. */
export interface MailOptions {
  /** "" if no mail is sent. */
  readonly host: string;
  readonly port: number;
  readonly security: "starttls" | "tls" | "none";
  /** "" if the server wants to know nobody. */
  readonly user: string;
  /** Where the password is: `file:PATH` or `credential:NAME`. */
  readonly password: string;
  /** Path of a file with certificate authorities that are trusted besides the usual ones; "" for none. */
  readonly authorities: string;
  readonly from: string;
  /** Addresses, and domains such as `@example.org`, to which mail may be sent. */
  readonly recipients: readonly string[];
}

/** Throws `bad-config`, with the name of the option in front. */
export function checkMailOptions(options: MailOptions, mayReadFiles: boolean): void {
  const { host, from, user, password, security, authorities, recipients } = options;
  const require = (isGood: boolean, message: string): void => {
    if (!isGood) throw new TrawlError("bad-config", message);
  };
  for (const one of recipients)
    require(isAddress(one) ||
      domainPattern.test(
        one,
      ), `mail.recipients: ${JSON.stringify(one)} is neither an address nor a domain such as @example.org`);
  if (host === "") return;
  require(isAddress(from), "mail.from: mail needs an address of the sender, such as trawl@example.org");
  require((user === "") ===
    (password === ""), "mail.password: a user and a password are given together, or none of both");
  require(user === "" ||
    security !== "none", "mail.security: a password is not sent over a connection that is not encrypted");
  require(password === "" || isSecretSource(password), "mail.password: give file:/ABSOLUTE/PATH or credential:NAME");
  if (!mayReadFiles) return;
  if (password !== "") readSecret(password, "mail.password");
  if (authorities !== "") readAuthorities(authorities);
}

/** What one mail carries. */
export interface Mail {
  readonly id: string;
  readonly event: string;
  readonly to: string;
  readonly announcement: Announcement;
}

/**
 * Sends mail by the operator's server. Users choose the recipient, but the operator says which are possible: otherwise anybody with
 * an account could write to anybody.
 */
export class MailSender {
  readonly #options: MailOptions;
  readonly #recipients: ReadonlySet<string>;

  constructor(options: MailOptions) {
    this.#options = options;
    this.#recipients = new Set(options.recipients.map((one) => one.toLowerCase()));
  }

  /** The address in a `mailto:` URL, if mail may be sent to it. Throws `bad-request` that says what to do. */
  require(url: string): string {
    const address = url.startsWith("mailto:") ? url.slice("mailto:".length) : url;
    if (!isAddress(address))
      throw new TrawlError("bad-request", "a notification by mail needs one address, such as mailto:team@example.org");
    if (this.#options.host === "")
      throw new TrawlError("bad-request", "mail is not enabled here: the operator has to set mail.host");
    const domain = address.slice(address.indexOf("@"));
    if (![address, domain].some((one) => this.#recipients.has(one.toLowerCase())))
      throw new TrawlError(
        "bad-request",
        `mail may not be sent to ${address}: the operator has to list it, or ${domain}, in mail.recipients`,
      );
    return address;
  }

  /** Sends one mail. Rejects only if a file of the options cannot be read. */
  async send(mail: Mail, stop: AbortSignal): Promise<Delivered> {
    const { host, port, from } = this.#options;
    const where = `${host}:${port}`;
    const password = this.#readPassword();
    const connectionOptions = this.#connectionOptions();
    const { default: SMTPConnection } = await import("nodemailer/lib/smtp-connection");
    const message = await compose(mail, from);
    const signal = AbortSignal.any([stop, AbortSignal.timeout(sendMs)]);
    const connection = new SMTPConnection(connectionOptions);
    const failed = new Promise<never>((_, reject) => {
      // Also later, when nobody waits any more: an event without a listener would end the process.
      connection.on("error", reject);
      connection.on("end", () => reject(new TrawlError("cancelled", "the server has closed the connection")));
      const giveUp = (): void => reject(new TrawlError("cancelled", `no answer within ${sendMs / 1000} s`));
      signal.addEventListener("abort", giveUp);
      if (signal.aborted) giveUp();
    });
    failed.catch(() => undefined);
    type Done = (error?: Error | null) => void;
    const step = (act: (done: Done) => void): Promise<void> =>
      Promise.race([
        failed,
        new Promise<void>((resolve, reject) =>
          act((error) => (error === undefined || error === null ? resolve() : reject(error))),
        ),
      ]);
    try {
      await step((done) => connection.connect(done));
      const { user } = this.#options;
      if (user !== "") await step((done) => connection.login({ user, pass: password }, done));
      await step((done) => connection.send({ from, to: [mail.to] }, message, done));
      connection.quit();
      return { status: 250, error: "" };
    } catch (error) {
      return judge(where, error as SmtpError);
    } finally {
      connection.close();
    }
  }

  #readPassword(): string {
    const { password } = this.#options;
    return password === "" ? "" : readSecret(password, "mail.password");
  }

  #connectionOptions(): SMTPConnectionOptions {
    const { host, port, security, authorities } = this.#options;
    const ca = authorities === "" ? {} : { ca: [...rootCertificates, readAuthorities(authorities)] };
    return {
      host,
      port,
      secure: security === "tls",
      requireTLS: security === "starttls",
      ignoreTLS: security === "none",
      tls: { minVersion: "TLSv1.2", ...(isIP(host) === 0 ? { servername: host } : {}), ...ca },
      connectionTimeout: stepMs,
      greetingTimeout: stepMs,
      socketTimeout: answerMs,
      dnsTimeout: stepMs,
      socketCloseTimeout: 0,
      maxResponseSize: responseBytesMax,
      allowInternalNetworkInterfaces: true,
    };
  }
}

/** An error of the connection: with a code if the server has refused something. */
interface SmtpError extends Error {
  readonly responseCode?: number;
  readonly response?: string;
  readonly command?: string;
  readonly code?: string;
}

/** A refused message or recipient would be refused again. A refused password or sender is the operator's matter, and may be corrected. */
function judge(where: string, error: SmtpError): Delivered {
  const { responseCode: status, response = "", command = "", code } = error;
  const said = withoutReordering(oneLine(response || errorMessage(error), shownLengthMax));
  if (status === undefined) return { status, error: mailProblem, detail: `${where}: ${said}` };
  if (code === "ETLS") return { status, error: mailProblem, detail: `${where} does not encrypt by STARTTLS: ${said}` };
  const isFinal = status >= 500 && /^(?:RCPT|DATA)/.test(command);
  return { status, error: `the mail server answered: ${said}`, isFinal };
}

/** The same id in each attempt, so that programs show a mail that arrives twice once. */
async function compose({ id, event, to, announcement }: Mail, from: string): Promise<Buffer> {
  const { default: MailComposer } = await import("nodemailer/lib/mail-composer");
  const composer = new MailComposer({
    from: { name: "Trawl", address: from },
    to: { name: "", address: to },
    subject: oneLine(`[Trawl] ${announcement.title}`, subjectLengthMax),
    text: toMailText(announcement),
    messageId: `<${id}${from.slice(from.indexOf("@"))}>`,
    headers: { "X-Trawl-Event": event, "X-Trawl-Delivery": id, "Auto-Submitted": "auto-generated" },
    // The texts of others can name no file and no address of which the content would be sent.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

/** Plain text, in which nothing of the texts of others can be a link to elsewhere under another name. */
export function toMailText(announcement: Announcement): string {
  const { title, origin, problem, items, url } = announcement;
  const blocks = [
    title,
    problem,
    ...items.map(({ label, text, url: link }) => [label, text, link].filter((line) => line !== "").join("\n  ")),
    describeRest(announcement, items.length),
    `All results: ${url}`,
    origin,
  ];
  return `${blocks.filter((block) => block !== "").join("\n\n")}\n`;
}

function readAuthorities(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new TrawlError("bad-config", `mail.authorities: ${errorMessage(cause)}`, { cause });
  }
}
