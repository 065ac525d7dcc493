import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { Accounts } from "../../src/account/identity/accounts.js";
import type { TokenRequest, User } from "../../src/account/identity/user.js";
import { AuditLog, operator } from "../../src/account/records/audit-log.js";
import { Authenticator } from "../../src/account/sign-in/authenticator.js";
import { Origins } from "../../src/account/sign-in/origins.js";
import { TrawlError } from "../../src/base/errors.js";
import { resultAtOnce } from "../../src/base/yielding.js";
import { silentLog } from "../../src/base/log.js";
import { LineFile } from "../../src/store/line-file.js";
import { RecordStore } from "../../src/store/record-store.js";

export const plainToken: TokenRequest = { scopes: ["user:all"], note: "", lifetimeMs: undefined };

/** Accounts with their own store, which `reopen` opens again as a new process would. */
export class AccountSite {
  readonly folder: string;
  store: RecordStore;
  audit: AuditLog;
  accounts: Accounts;
  /** Makes every write to the audit log fail. */
  failAudit = false;

  constructor(t: Test) {
    this.folder = mkdtempSync(join(tmpdir(), "trawl-"));
    [this.store, this.audit, this.accounts] = this.#open();
    t.teardown(async () => {
      await this.#close();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  async reopen(): Promise<void> {
    await this.#close();
    [this.store, this.audit, this.accounts] = this.#open();
  }

  authenticator(
    isPublic: boolean,
    accessTokens: "all-users-create" | "none" = "all-users-create",
    allowsSudoToSiteAdmins = false,
  ): Authenticator {
    return new Authenticator(
      this.accounts,
      { isPublic, accessTokens, allowsSudoToSiteAdmins },
      new Origins("", ["https://console.example"]),
      this.audit,
    );
  }

  user(name: string, isSiteAdmin = false): Promise<User> {
    return this.accounts.createUser({ name, displayName: "", isSiteAdmin }, operator);
  }

  async token(user: string, request: TokenRequest = plainToken): Promise<string> {
    return (await this.accounts.accessTokens.create(user, request, operator)).text;
  }

  /** The lines of the audit log, once all of them are written. */
  async audited(): Promise<readonly Readonly<Record<string, unknown>>[]> {
    await this.audit.settled();
    return readFileSync(join(this.folder, "audit.log"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  #open(): [RecordStore, AuditLog, Accounts] {
    const store = new RecordStore(join(this.folder, "catalog"));
    const file = new LineFile(join(this.folder, "audit.log"));
    const append = (line: string): Promise<void> =>
      this.failAudit ? Promise.reject(new TrawlError("storage", "the disk is full")) : file.append(line);
    const audit = new AuditLog({ append, settled: () => file.settled(), close: () => file.close() }, silentLog());
    const accounts = new Accounts(store, audit, silentLog(), async () => undefined);
    resultAtOnce(accounts.load());
    return [store, audit, accounts];
  }

  async #close(): Promise<void> {
    await this.accounts.close();
    await this.audit.close();
    await this.store.close();
  }
}
