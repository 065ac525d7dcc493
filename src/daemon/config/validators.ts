import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { lazy } from "../../base/lazy.js";
import { attributesSchema, configSchema, repositorySchema, type JsonSchema } from "../schema.js";

/**
 * The schemas themselves are not validated, and the generated code is not optimized: a test validates them, and both
 * took half of the time.
 */
const ajv = new Ajv2020({ allErrors: true, meta: false, validateSchema: false, code: { optimize: false } });
/** Validates a whole file. */
export const validConfig = compile(configSchema());
// Compiled when first needed, because each takes a tenth of a second.
export const repositoryValidation = lazy(() => compile(repositorySchema()));
export const attributesValidation = lazy(() => compile(attributesSchema()));

function compile(schema: JsonSchema): ValidateFunction {
  return ajv.compile(schema);
}
