import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dataDirectory, type DaemonProcess, testDaemon } from "./daemon.js";
import { removeFolder } from "./remove-folder.js";
import type { Owner } from "./shared.js";
import { until } from "./waiting.js";

/** Where the files of a certificate are. */
export interface CertificateFiles {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/** An authority of certificates, in a folder that is deleted with the test. */
export class TestAuthority {
  readonly #folder: string;
  #count = 0;

  constructor(t: Owner) {
    this.#folder = mkdtempSync(join(tmpdir(), "trawl-ca-"));
    t.teardown(() => removeFolder(this.#folder));
    const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
    this.#openssl("req", ...kind, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=test");
  }

  /** A certificate with these subject alternative names, such as `URI:trawl://test/a`. */
  issue(names: string): CertificateFiles {
    const name = `node${this.#count++}`;
    const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=node"];
    this.#openssl("req", ...kind, "-keyout", `${name}.key`, "-out", `${name}.csr`);
    writeFileSync(join(this.#folder, "names"), `subjectAltName=${names}\n`);
    const signer = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names"];
    this.#openssl("x509", "-req", "-in", `${name}.csr`, ...signer, "-out", `${name}.pem`);
    return {
      certificate: join(this.#folder, `${name}.pem`),
      key: join(this.#folder, `${name}.key`),
      authority: join(this.#folder, "ca.pem"),
    };
  }

  #openssl(...args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#folder, stdio: "ignore" });
  }
}

/** Ports that are free at this moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve) => {
          server.listen(0, "127.0.0.1", () => {
            const address = server.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A link to a node, which can be cut as a network is: nothing arrives any more, and nobody is told. */
export class Link {
  readonly #sockets = new Set<Socket>();
  #isCut = false;
  /** Bytes of the node that pass until what it sends is held. */
  #left = Number.POSITIVE_INFINITY;
  port = 0;

  /** Links an address that nodes are told to the one at which a node listens. */
  static async start(t: Owner, target: number): Promise<Link> {
    const link = new Link();
    const server = createServer((near) => {
      const far = connect(target, "127.0.0.1");
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        link.#sockets.add(from);
        from.on("data", (bytes) => {
          if (!link.#isCut && !to.write(bytes)) from.pause();
          if (from === far && (link.#left -= bytes.length) <= 0) from.pause();
        });
        to.on("drain", () => {
          if (from === near || link.#left > 0) from.resume();
        });
        from.on("error", () => undefined);
        from.on("close", () => {
          link.#sockets.delete(from);
          if (!link.#isCut) to.destroy();
        });
      }
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    link.port = typeof address === "object" && address !== null ? address.port : 0;
    t.teardown(() => {
      link.restore();
      server.close();
    });
    return link;
  }

  /** When the node has sent this many bytes, nothing of it passes until `release`: it cannot have finished what is longer. */
  holdAfter(byteCount: number): void {
    this.#left = byteCount;
  }

  release(): void {
    this.#left = Number.POSITIVE_INFINITY;
    for (const socket of this.#sockets) socket.resume();
  }

  /** What was on its way is lost, and what comes is. */
  cut(): void {
    this.#isCut = true;
  }

  /** The connections that were there are gone, and others can be made. */
  restore(): void {
    this.#isCut = false;
    this.release();
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** The nodes of a fleet, of which each has some repositories. */
export interface FleetSite {
  readonly names: readonly string[];
  readonly nodes: readonly DaemonProcess[];
  /** Starts a node that has been killed, which then is among the nodes instead. Resolves when it can be searched. */
  readonly restart: (node: number) => Promise<void>;
  readonly authority: TestAuthority;
  /** HOST:PORT of the nodes. */
  readonly addresses: readonly string[];
  /** By node, over which the others reach it. */
  readonly links: readonly Link[];
}

/** How the nodes of a fleet are arranged; usually each is on this host, with repositories of its own. */
export interface FleetShape {
  readonly names?: readonly string[];
  /** Groups of nodes with the same repositories, as in `fleet.replicas`. */
  readonly replicas?: readonly string[];
  /** The addresses of the nodes, and what runs a process at each. */
  readonly hosts?: readonly { readonly address: string; readonly wrapper: readonly string[] }[];
}

/**
 * Starts a node for each list of configured repositories; resolves when all can be searched. `names` may have more nodes than
 * lists: those are not started.
 */
export async function startFleet(
  t: Owner,
  repositories: readonly (readonly object[])[],
  configuration: object = {},
  args: readonly string[] = [],
  { names = repositories.map((_, i) => `node-${i}`), replicas = [], hosts }: FleetShape = {},
): Promise<FleetSite> {
  const authority = new TestAuthority(t);
  const ports = hosts?.map(() => 7_181) ?? (await freePorts(names.length));
  const hasLinks = replicas.length > 0 && hosts === undefined;
  const links = hasLinks ? await Promise.all(ports.map((port) => Link.start(t, port))) : [];
  const hostOf = (i: number): string => hosts?.[i].address ?? "127.0.0.1";
  const addresses = ports.map((port, i) => `${hostOf(i)}:${links.at(i)?.port ?? port}`);
  const nodes = names.map((name, i) => `${name}=${addresses[i]}`);
  const starts = await Promise.all(
    repositories.map(async (own, i) => {
      const data = dataDirectory(t);
      const config = join(data, "..", `${data.slice(data.lastIndexOf("/") + 1)}.jsonc`);
      t.teardown(() => removeFolder(config));
      const identity = authority.issue(`URI:trawl://test/${names[i]}`);
      const listen = `${hostOf(i)}:${ports[i]}`;
      const fleet = { node: names[i], id: "test", nodes, replicas, listen, ...identity };
      writeFileSync(config, JSON.stringify({ fleet, repositories: own, ...configuration }));
      const wrapper = hosts?.[i].wrapper ?? [];
      return () => testDaemon(t, ["--config", config, "--listen", `${hostOf(i)}:0`, ...args], data, {}, wrapper);
    }),
  );
  const started = await Promise.all(starts.map((start) => start()));
  const isReady = async (node: DaemonProcess): Promise<boolean> => (await node.get("/readyz")).status === 200;
  const restart = async (i: number): Promise<void> => {
    const node = await starts[i]();
    started[i] = node;
    await until("its repositories can be searched", () => isReady(node));
  };
  for (const node of started) await until("its repositories can be searched", () => isReady(node));
  return { names, nodes: started, restart, authority, addresses, links };
}
