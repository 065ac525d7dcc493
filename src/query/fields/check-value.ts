import { unreachable } from "../../base/assert.js";
import { readDateMs } from "./dates.js";
import { fields, type FieldName } from "../syntax/fields.js";
import { readBoolean, readCount, readSelect, readTimeoutMs, readYesNoOnly } from "./values.js";

/** Throws `bad-query` if the value is wrong, as far as that can be found without the server, as in a browser. */
export function checkPlainValue(name: FieldName, value: string, nowMs: number): void {
  const kind = fields[name].value;
  switch (kind) {
    case "boolean":
      readBoolean(value);
      return;
    case "yes-no-only":
      readYesNoOnly(name, value);
      return;
    case "count":
      readCount(value);
      return;
    case "duration":
      readTimeoutMs(value);
      return;
    case "select":
      readSelect(value);
      return;
    case "date":
      readDateMs(value, nowMs);
      return;
    case "context":
    case "language":
    case "pattern":
    case "refused":
    case "regexp":
    case "repository":
    case "revisions":
    case "text":
      return;
    default:
      unreachable(kind);
  }
}
