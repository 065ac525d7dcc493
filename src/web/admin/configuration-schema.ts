import { configurationSchema } from "virtual:configuration-schema";

/** A part of config/trawl.schema.json, as far as it is used there. */
export interface ConfigurationSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, ConfigurationSchema>>;
}

export interface ConfigurationOption {
  /** With dots, as in `search.queue`. */
  readonly name: string;
  readonly description: string;
  /** As JSON, or "". */
  readonly defaultText: string;
}

/** Every option, in the order of the schema. */
export function listOptions(
  schema: ConfigurationSchema = configurationSchema,
  prefix = "",
): readonly ConfigurationOption[] {
  return Object.entries(schema.properties ?? {}).flatMap(([key, part]) => {
    const name = `${prefix}${key}`;
    if (part.properties !== undefined) return listOptions(part, `${name}.`);
    if (key === "$schema") return [];
    const defaultText = part.default === undefined ? "" : JSON.stringify(part.default);
    return [{ name, description: part.description ?? "", defaultText }];
  });
}
