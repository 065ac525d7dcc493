import { KeptList } from "../../ui/kept-list.js";

/** One below the other, or side by side. */
export type DiffForm = "unified" | "split";

/** How changes are shown, which the address says in the words of GitHub: `?w=1&diff=split`. */
export interface DiffView {
  /** Undefined if the address does not say it. */
  readonly form: DiffForm | undefined;
  /** Whether lines that differ only in white space are left out. */
  readonly ignoresSpace: boolean;
}

function isForm(value: unknown): value is DiffForm {
  return value === "unified" || value === "split";
}

export function readDiffView({ searchParams }: URL): DiffView {
  const form = searchParams.get("diff");
  return { form: isForm(form) ? form : undefined, ignoresSpace: searchParams.get("w") === "1" };
}

/** The address with another view; what else it says stays. */
export function withDiffView({ href }: URL, { form, ignoresSpace }: DiffView): string {
  const { pathname, searchParams, hash } = new URL(href);
  if (form === undefined) searchParams.delete("diff");
  else searchParams.set("diff", form);
  if (ignoresSpace) searchParams.set("w", "1");
  else searchParams.delete("w");
  const search = searchParams.toString();
  return `${pathname}${search === "" ? "" : `?${search}`}${hash}`;
}

/** The form that was chosen last in this browser. */
const keptForms = new KeptList<DiffForm>("diff-form", { count: 1, length: 40 }, isForm);

export function keptForm(): DiffForm {
  return keptForms.read()[0] ?? "unified";
}

export function keepForm(form: DiffForm): void {
  keptForms.write([form]);
}
