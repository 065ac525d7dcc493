import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { lazy } from "../../base/lazy.js";
import type { OptionKey } from "./options.js";
import { attributesSchema, configSchema, optionSchema, repositorySchema, type JsonSchema } from "./config-schema.js";

/**
 * The schemas themselves are not validated, and the generated code is not optimized: a test validates them, and both
 * took half of the time.
 */
export const validatorOptions = { allErrors: true, meta: false, validateSchema: false, code: { optimize: false } };

const ajv = new Ajv2020(validatorOptions);
// Compiled on first use: each takes a tenth of a second. In the bundle, compiled validators replace this module
// (scripts/bundle.mjs).
/** Validates a whole file. */
export const configValidation = lazy(() => compile(configSchema()));
export const repositoryValidation = lazy(() => compile(repositorySchema()));
export const attributesValidation = lazy(() => compile(attributesSchema()));

/** Validates a file with nothing but this option; compiled in a millisecond. */
export function optionValidation(key: OptionKey): ValidateFunction {
  return compile(optionSchema(key));
}

function compile(schema: JsonSchema): ValidateFunction {
  return ajv.compile(schema);
}
