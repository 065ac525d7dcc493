import type { ProviderConfig } from "../../account/sign-in/provider-config.js";
import { checkName } from "../../account/records/validation.js";
import { errorMessage } from "../../base/errors.js";
import { type ConfigFile, findLine } from "./config-file.js";
import type { OptionRow } from "./options.js";
import { providerTable } from "./provider-options.js";

const defaults = Object.fromEntries(Object.entries<OptionRow>(providerTable).map(([name, row]) => [name, row.default]));

type Item = Omit<ProviderConfig, "organizations"> & { readonly organizations: Readonly<Record<string, string | null>> };

/** The identity providers of the file, with defaults filled in. Adds what is wrong with one to `problems`, with its line. */
export function fileProviders(file: ConfigFile, problems: string[]): ProviderConfig[] {
  const items = file.content["identityProviders"];
  if (items === undefined || problems.length > 0 || !Array.isArray(items)) return [];
  const names = new Set<string>();
  const ownerOfOrganization = new Map<string, string>();
  return items.map((item: Partial<Item>, at) => {
    const { organizations, ...fields } = { ...defaults, ...item } as Item;
    const config: ProviderConfig = {
      ...fields,
      displayName: fields.displayName === "" ? fields.name : fields.displayName,
      signUpDomains: fields.signUpDomains.map((domain) => domain.toLowerCase()),
      organizations: Object.fromEntries(
        Object.entries(organizations).flatMap(([group, name]) => (name === null ? [] : [[group, name]])),
      ),
    };
    const { name } = config;
    const where = `${file.path}:${findLine(file, ["identityProviders", String(at)])}: identity provider ${name}`;
    if (names.has(name)) problems.push(`${where}: it is defined twice`);
    names.add(name);
    for (const organization of new Set(Object.values(config.organizations))) {
      const owner = ownerOfOrganization.get(organization.toLowerCase()) ?? name;
      if (owner !== name) problems.push(`${where}: the members of ${organization} are decided by ${owner} already`);
      ownerOfOrganization.set(organization.toLowerCase(), owner);
    }
    for (const problem of findProblems(config)) problems.push(`${where}: ${problem}`);
    return config;
  });
}

function findProblems(config: ProviderConfig): string[] {
  const problems: string[] = [];
  if (!URL.canParse(config.issuer)) problems.push(`issuer is not valid: ${config.issuer}`);
  else if (config.issuer.startsWith("http:") && !isLoopback(new URL(config.issuer).hostname))
    problems.push("issuer must begin with https://, unless it is on this machine");
  if (!config.scopes.includes("openid")) problems.push("scopes must include openid");
  if (config.signUp === "listed" && config.signUpDomains.length === 0 && config.signUpGroups.length === 0)
    problems.push('signUp is "listed", so it needs signUpDomains or signUpGroups');
  if (config.signUp !== "listed" && config.signUpDomains.length + config.signUpGroups.length > 0)
    problems.push('signUpDomains and signUpGroups have no effect unless signUp is "listed"');
  for (const name of Object.values(config.organizations)) {
    try {
      checkName(name);
    } catch (error) {
      problems.push(`organizations: ${errorMessage(error)}`);
    }
  }
  return problems;
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || /^127(?:\.[0-9]{1,3}){3}$/.test(host);
}
