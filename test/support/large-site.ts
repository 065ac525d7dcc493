/**
 * The data directory of an installation with thousands of repositories and users, written without fetching or indexing
 * anything.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hashOfToken, newTokenText } from "../../src/account/identity/secret-text.js";
import { dataVersion } from "../../src/daemon/parts/data-version.js";
import { RecordStore } from "../../src/store/record-store.js";
import type { RecordChange } from "../../src/store/records.js";
import { testRepository } from "./engine.js";
import { isFull } from "./full-run.js";

export interface LargeSite {
  /** The texts of access tokens of a site admin and of an ordinary user. */
  readonly adminToken: string;
  readonly userToken: string;
}

/** In `make test` half of that: what takes the main thread too long takes seconds then, too. */
const thousands = isFull ? 10 : 5;

export const siteSize = {
  repositories: thousands * 1_000,
  users: thousands * 1_000,
  organizations: thousands * 100,
  teams: thousands * 100,
  contexts: thousands * 1_000,
  savedSearches: thousands * 1_000,
} as const;

const createdAt = "2026-01-01T00:00:00Z";

export const repositoryName = (number: number): string =>
  `host.example/organization-${number % 100}/project-${String(number).padStart(5, "0")}`;

/** Writes the records. Their remotes are rejected without a connection, so each sync fails immediately. */
export async function writeLargeSite(data: string): Promise<LargeSite> {
  mkdirSync(join(data, "catalog"), { recursive: true });
  writeFileSync(join(data, "version"), `${dataVersion}\n`);
  const [adminToken, userToken] = [newTokenText(), newTokenText()];
  const store = new RecordStore(join(data, "catalog"));
  await store.apply([...repositoryRecords(), ...accountRecords(adminToken, userToken)]);
  await store.close();
  return { adminToken, userToken };
}

function* repositoryRecords(): Generator<RecordChange> {
  for (let id = 1; id <= siteSize.repositories; id++) {
    const name = repositoryName(id);
    yield record(
      `repository/${id}`,
      testRepository(id, name, {
        url: `ftp://${name}.git`,
        stars: id % 1000,
        fork: id % 10 === 0,
        description: `Project ${id} of many, for a test`,
        topics: ["topic", `topic-${id % 50}`],
        metadata: { team: `team-${id % 20}`, tier: String(id % 4) },
        private: id % 100 === 7,
        readers: id % 100 === 7 ? ["user-00002"] : [],
        lastFetched: createdAt,
        lastChanged: createdAt,
      }),
    );
  }
  yield record("counters", { nextRepositoryId: siteSize.repositories + 1 });
}

function* accountRecords(adminToken: string, userToken: string): Generator<RecordChange> {
  let id = 0;
  const users = Array.from({ length: siteSize.users }, (_, number) => ({
    id: number + 1,
    name: `user-${String(number + 1).padStart(5, "0")}`,
  }));
  id = users.length;
  for (const user of users) {
    yield record(`user/${user.id}`, { ...user, displayName: "", isSiteAdmin: user.id === 1, createdAt });
    yield record(`email/${user.id}`, {
      id: user.id,
      emails: [{ address: `${user.name}@host.example`, isVerified: true, addedAt: createdAt }],
    });
  }
  const membersOf = (number: number): number[] => [
    2,
    ...Array.from({ length: 20 }, (_, i) => 3 + ((number * 20 + i) % (siteSize.users - 2))),
  ];
  for (let number = 0; number < siteSize.organizations; number++) {
    yield record(`organisation/${++id}`, {
      id,
      name: `organization-${number}`,
      displayName: "",
      createdAt,
      memberIds: membersOf(number),
    });
  }
  for (let number = 0; number < siteSize.teams; number++) {
    yield record(`team/${++id}`, {
      id,
      name: `team-${number}`,
      displayName: "",
      parentId: 0,
      isReadonly: false,
      creatorId: 1,
      createdAt,
      memberIds: membersOf(number),
    });
  }
  for (let number = 0; number < siteSize.contexts; number++) {
    const ownerId = users[Math.floor(number / 1000) + 1].id;
    yield record(`context/${++id}`, {
      id,
      ownerId,
      name: `context-${number}`,
      description: "",
      public: true,
      query: `repo:organization-${number % 100}/`,
      repositories: [],
      updatedAt: createdAt,
    });
  }
  for (let number = 0; number < siteSize.savedSearches; number++) {
    const ownerId = users[Math.floor(number / 1000) + 1].id;
    yield record(`saved-search/${++id}`, {
      id,
      ownerId,
      description: `search ${number}`,
      query: "TODO",
      isDraft: false,
      isPublic: true,
      createdBy: ownerId,
      createdAt,
      updatedBy: ownerId,
      updatedAt: createdAt,
    });
  }
  for (const [userId, text] of [
    [1, adminToken],
    [2, userToken],
  ] as const) {
    yield record(`token/${++id}`, {
      id,
      userId,
      creator: "user-00001",
      note: "",
      scopes: ["user:all"],
      createdAt,
      expiresAt: "",
      hash: hashOfToken(text),
    });
  }
  yield record("account-counters", { nextId: id + 1 });
}

function record(key: string, value: unknown): RecordChange {
  return { key, value: Buffer.from(JSON.stringify(value)) };
}
