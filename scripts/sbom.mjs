/**
 * The bill of materials (SBOM, in CycloneDX) of a package: the npm packages that it holds, as npm describes them from the lockfile, and each
 * binary with its hash and where it comes from.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

/**
 * `places` are the folders of npm packages in the checkout, relative to it. `binaries` are the paths of those in `home`, where the
 * package keeps the program.
 */
export function billOfMaterials({ checkout, version, places, home, binaries }) {
  const { packages } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  const names = new Set(places.map((place) => `${packageName(place)}@${packages[place].version}`));
  // npm takes nothing from the registry for this.
  const args = ["sbom", "--sbom-format", "cyclonedx", "--sbom-type", "application", "--package-lock-only", "--offline"];
  const text = execFileSync("npm", args, { cwd: checkout, encoding: "utf8", maxBuffer: 1 << 26 });
  const { serialNumber, ...all } = JSON.parse(text);
  // Of the same lockfile the same text is made, whatever the folder of the checkout is called, and when.
  const { timestamp, component, ...metadata } = all.metadata;
  const root = component["bom-ref"];
  const components = all.components.filter(({ name, version: one }) => names.has(`${name}@${one}`));
  const refs = new Set([...components.map((one) => one["bom-ref"]), root]);
  return {
    ...all,
    metadata: { ...metadata, component: { ...component, name: "trawl", version } },
    components: [...components.map(withoutScope), ...binaries.map((path) => binaryComponent(path, home, packages))],
    dependencies: all.dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) })),
  };
}

/** What is a development package of the checkout is part of the package all the same: the web pages are bundled with it. */
function withoutScope({ scope, properties, ...component }) {
  return component;
}

function binaryComponent(path, home, packages) {
  const place = relative(home, path);
  const sha256 = createHash("sha256").update(readFileSync(path)).digest("hex");
  const origin = binaryOrigin(place, packages);
  return {
    type: "file",
    "bom-ref": `file:${place}`,
    name: place,
    hashes: [{ alg: "SHA-256", content: sha256 }],
    properties: [{ name: "trawl:origin", value: origin }],
  };
}

/** Where a binary comes from, in words. */
export function binaryOrigin(place, packages) {
  if (!place.includes("node_modules/")) return "compiled from the sources of Trawl";
  const folder = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(place)[0];
  const origin = `${packageName(folder)}@${packages[folder].version}`;
  if (place.includes("/build/Release/")) return `compiled from the sources in ${origin}`;
  const changed = packageName(folder) === "uWebSockets.js" ? ", changed by scripts/build-uws.mjs" : "";
  return `the npm package ${packages[folder].name ?? packageName(folder)}@${packages[folder].version} (${packages[folder].integrity})${changed}`;
}

function packageName(place) {
  return place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
}
