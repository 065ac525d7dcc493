import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { Partitions } from "../../../src/catalog/partitions.js";
import { resolveOptions } from "../../../src/daemon/config/config.js";
import { readFleetIdentity, readFleetNodes } from "../../../src/daemon/config/fleet-options.js";
import type { ResolvedOptions } from "../../../src/daemon/config/options.js";
import { warnOfNames } from "../../../src/daemon/parts/fleet-parts.js";
import { LaterManifest } from "../../../src/daemon/parts/later-manifest.js";

const nodes = ["a=10.0.0.1:7081", "b=[::1]:7081", "c=host.example:7081"];

t.test("the nodes of a fleet", (t) => {
  t.same(readFleetNodes({ node: "b", nodes, replicas: [], listen: "" }), {
    nodes: [
      { name: "a", address: "10.0.0.1:7081" },
      { name: "b", address: "[::1]:7081" },
      { name: "c", address: "host.example:7081" },
    ],
    replicas: [],
    listen: "[::1]:7081",
  });
  const groups = { node: "a", nodes, replicas: ["a, c"], listen: "" };
  t.same(readFleetNodes(groups).replicas, [["a", "c"]]);
  t.equal(readFleetNodes({ ...groups, listen: "0.0.0.0:1" }).listen, "0.0.0.0:1");
  for (const [given, message] of [
    [{ node: "d" }, /it lacks d, which is fleet\.node: add d=HOST:PORT/],
    [{ nodes: [...nodes, "a=h:1"] }, /two nodes with the name a/],
    [{ nodes: ["a"] }, /"a" must be NAME=HOST:PORT/],
    [{ nodes: ["A=h:1"] }, /must be NAME=HOST:PORT/],
    [{ nodes: ["a=h:99999"] }, /must be NAME=HOST:PORT/],
    [{ nodes: ["a=h/x:1"] }, /must be NAME=HOST:PORT/],
    [{ replicas: ["a,d"] }, /fleet\.replicas: "d" is not in fleet\.nodes/],
    [{ replicas: ["a,b", "b,c"] }, /fleet\.replicas: node b is named twice/],
    [{ replicas: ["a"] }, /fleet\.replicas: "a" must be several nodes/],
    [{ nodes: Array.from({ length: 65 }, (_, i) => `n${i}=h:1`), node: "n1" }, /at most 64 nodes/],
  ] as const)
    t.throws(() => readFleetNodes({ ...{ node: "a", nodes, replicas: [], listen: "" }, ...given }), {
      code: "bad-config",
      message,
    });
  t.end();
});

t.test("a node needs a fleet, a certificate, its key and the authority", (t) => {
  const values = { node: "a", id: "f", nodes, replicas: [], listen: "", certificate: "c", key: "k", authority: "x" };
  for (const name of ["id", "certificate", "key", "authority"] as const)
    t.throws(() => readFleetIdentity({ ...values, [name]: "" }), {
      code: "bad-config",
      message: `fleet.${name}: it is needed with fleet.node`,
    });
  t.end();
});

t.test("a database of the fleet, and where its objects are", (t) => {
  const folder = t.testdir({ key: "k:s\n", password: "p\n", "ca.pem": "none\n" });
  const file = join(folder, "trawl.jsonc");
  const database = "postgresql://trawl@db.example.com/trawl";
  const bucket = { objects: "https://s3.example.com/b", objectsCredential: `file:${join(folder, "key")}` };
  const good = { node: "a", id: "f", database, databaseCredential: `file:${join(folder, "password")}`, ...bucket };
  const problem = (fleet: object, more: object = {}): string => {
    writeFileSync(file, JSON.stringify({ fleet, ...more }));
    try {
      resolveOptions({ configFile: file, overrides: [], repositories: [] });
      return "";
    } catch (error) {
      return String(error);
    }
  };
  t.equal(problem(good), "");
  t.equal(problem({ ...good, objects: "file:///srv/objects", objectsCredential: "" }), "");
  for (const [given, message] of [
    [{ node: "" }, /fleet\.database: it needs fleet\.node/],
    [{ id: "" }, /fleet\.database: it needs .*fleet\.id/],
    [{ objects: "" }, /fleet\.database: it needs fleet\.objects/],
    [{ objectsCredential: "" }, /fleet\.objects: a bucket needs fleet\.objectsCredential/],
    [{ objectsCredential: "file:/nowhere/key" }, /fleet\.objectsCredential: cannot read its secret/],
    [{ databaseCredential: "file:/nowhere/key" }, /fleet\.databaseCredential: cannot read its secret/],
    [{ databaseAuthority: "nowhere.pem" }, /fleet\.databaseAuthority: cannot read it/],
    [{ databaseAuthority: "ca.pem" }, /fleet\.databaseAuthority: .* has no certificate in PEM/],
    [{ database: "" }, /fleet\.databaseCredential: it has no effect without fleet\.database/],
    [{ database: "", databaseCredential: "" }, /fleet\.objects: it has no effect without fleet\.database/],
    [{ database: "postgresql://trawl:secret@db/trawl" }, /fleet\.database: it must not have the password/],
    [{ objects: "http://s3.example.com/b" }, /fleet\.objects: .*https/],
    [{ nodes: ["a=h:1"] }, /fleet\.nodes must be empty/],
    [{ leaseSeconds: 1 }, /leaseSeconds/],
  ] as const)
    t.match(problem({ ...good, ...given }), message, JSON.stringify(given));
  t.notMatch(problem({ ...good, database: "postgresql://trawl:secret@db/trawl" }), /secret/);
  const signup = { auth: { allowSignup: true } };
  t.match(problem(good, signup), /auth\.allowSignup: it cannot be used with fleet\.database/);
  t.equal(problem({}, signup), "");
  t.end();
});

t.test("names that could be those of two people are warned of where nodes share the readers", (t) => {
  const provider = { name: "acme", signUp: "all", scimToken: "", trustUsernames: false };
  const warnings = (database: string, given: Partial<typeof provider>, headerSignUp = false): number => {
    let count = 0;
    const identityProviders = [{ ...provider, ...given }] as unknown as ResolvedOptions["identityProviders"];
    const options = { fleet: { database }, auth: { headerSignUp }, identityProviders } as ResolvedOptions;
    warnOfNames(options, { warn: () => void count++ });
    return count;
  };
  t.equal(warnings("postgresql:///x", {}), 1);
  t.equal(warnings("postgresql:///x", { signUp: "none", scimToken: "file:/t" }), 1);
  t.equal(warnings("postgresql:///x", { trustUsernames: true }, true), 1);
  t.equal(warnings("postgresql:///x", { signUp: "none" }), 0);
  t.equal(warnings("", {}, true), 0, "one host");
  t.end();
});

t.test("before a node has followed the index, nobody can take a name there", async (t) => {
  const later = new LaterManifest();
  const refused = { code: "overloaded", message: /does not know yet which names the readers/ };
  t.throws(() => later.requireReaders(), refused, "it has not been opened");
  await t.rejects(Promise.all([later.store([]), later.publish(() => ({}))]), { code: "overloaded" });
  const replica = {
    isOwner: false,
    hasFollowed: true,
    isSearchable: () => false,
    outdated: [],
    changed: new Set([1]),
    refusalIn: (partition: number) => new TrawlError("conflict", `partition ${partition}`),
  };
  later.replica = { ...replica, hasSeenAll: false };
  t.throws(() => later.requireReaders(), refused, "what it has may be old");
  later.replica = { ...replica, hasSeenAll: true };
  t.doesNotThrow(() => later.requireReaders());
  const share = later.share({ partitions: new Partitions(2) });
  t.same([share.partitions(), share.has(1), share.has(2)], [[1], false, true]);
  t.equal(share.refusal(3).message, "partition 0");
});
