import { readFileSync } from "node:fs";
import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { errorMessage, TrawlError } from "../base/errors.js";

/** What a node proves who it is with, and whom it believes. */
export interface NodeIdentity {
  /** Of the fleet. */
  readonly fleetId: string;
  readonly node: string;
  /** PEM. */
  readonly certificate: Buffer;
  readonly key: Buffer;
  readonly authority: Buffer;
}

export interface IdentityFiles {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

/** The subject alternative name of the certificate of a node. */
export function nodeUri(fleetId: string, node: string): string {
  return `trawl://${fleetId}/${node}`;
}

/** Names of fleets and nodes: nothing in them has a meaning in a URI, or in how names of certificates are printed. */
export const nodeNamePattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Reads and checks the files. Throws `bad-config` that says which file is wrong, and how. */
export function readIdentity(fleetId: string, node: string, files: IdentityFiles): NodeIdentity {
  const identity = {
    fleetId,
    node,
    certificate: readPem("fleet.certificate", files.certificate),
    key: readPem("fleet.key", files.key),
    authority: readPem("fleet.authority", files.authority),
  };
  requireOwn(identity, files);
  return identity;
}

function readPem(option: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new TrawlError("bad-config", `${option}: ${errorMessage(error)}`);
  }
}

function requireOwn({ fleetId, node, certificate, key, authority }: NodeIdentity, files: IdentityFiles): void {
  let own: X509Certificate;
  try {
    createSecureContext({ cert: certificate, key, ca: authority });
    own = new X509Certificate(certificate);
  } catch (error) {
    throw new TrawlError(
      "bad-config",
      `fleet.certificate, fleet.key, fleet.authority: ${errorMessage(error)} (${Object.values(files).join(", ")})`,
    );
  }
  if (![...pemBlocks(authority), ...pemBlocks(certificate)].some((pem) => isIssuedBy(own, pem)))
    throw bad(`${files.certificate} was not issued by the authority in ${files.authority}`);
  if (Date.parse(own.validTo) < new Date().getTime())
    throw bad(`${files.certificate} has expired (${own.validTo}): issue another`);
  const wanted = nodeUri(fleetId, node);
  if (!saysUri(own.subjectAltName, wanted))
    throw bad(`${files.certificate} is not of this node: its subject alternative name must be URI:${wanted}`);
}

const pemEnd = "-----END CERTIFICATE-----";

/** An authority may have several certificates, and that of a node may be followed by intermediate ones. */
function pemBlocks(pem: Buffer): string[] {
  return pem
    .toString()
    .split(pemEnd)
    .slice(0, -1)
    .map((block) => block + pemEnd);
}

function isIssuedBy(own: X509Certificate, pem: string): boolean {
  const issuer = new X509Certificate(pem);
  return issuer.ca && own.checkIssued(issuer) && own.verify(issuer.publicKey);
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-config", `fleet.certificate: ${message}`);
}

/**
 * Whether the names of a certificate, as Node prints them, are this URI and possibly others. Names with a quote are printed
 * in another way, and may contain what looks like another name, so a certificate with one says nothing.
 */
export function saysUri(names: string | undefined, uri: string): boolean {
  if (names === undefined || names.includes('"')) return false;
  return names.split(", ").includes(`URI:${uri}`);
}

/** The node of the fleet that a certificate, whose authority has been checked, is of. Undefined if it is of none of them. */
export function nodeWithCertificate(
  names: string | undefined,
  fleetId: string,
  nodes: readonly string[],
): string | undefined {
  const said = nodes.filter((node) => saysUri(names, nodeUri(fleetId, node)));
  return said.length === 1 ? said[0] : undefined;
}
