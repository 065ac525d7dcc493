/** The text of a file. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** The types of the GraphQL schema, described by scripts/schema-overview.mjs when the pages are built. */
declare module "virtual:schema" {
  export const schemaTypes: readonly import("./console/schema-view.js").SchemaType[];
}

/** config/trawl.schema.json. */
declare module "virtual:configuration-schema" {
  export const configurationSchema: import("./admin/configuration-part.js").ConfigurationSchema;
}

/** The filters of the query language, described by scripts/query-help.mjs from docs/query-syntax.md when the pages are built. */
declare module "virtual:query-help" {
  export const filterHelp: readonly import("./query/query-help.js").FilterHelp[];
}
