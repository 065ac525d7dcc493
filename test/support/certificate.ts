import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Paths of the files of a server, in PEM. */
export interface ServerCertificate {
  readonly key: string;
  readonly certificate: string;
}

/** Makes a key and a certificate that is its own authority, with these subject alternative names, such as `DNS:localhost`. */
export function makeCertificate(folder: string, names: string): ServerCertificate {
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=${names}`];
  execFileSync("openssl", ["req", ...kind, "-keyout", key, "-out", certificate, ...subject], { stdio: "ignore" });
  return { key, certificate };
}
