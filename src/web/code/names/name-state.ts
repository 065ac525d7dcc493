import { signal } from "@preact/signals";
import type { PagePath } from "../../../model/page-path.js";
import type { Answer } from "../../api/use-graphql.js";
import type { Definitions, References } from "./name-answers.js";
import type { NamePlace } from "./name-place.js";

/** The card beside a name. */
export interface ShownCard {
  readonly place: NamePlace;
  /** Where the name is in the window. */
  readonly rect: DOMRect;
  readonly answer: Answer<Definitions>;
  /** Whether a pointer led to it, and not a key: it goes when the pointer leaves. */
  readonly isByPointer: boolean;
}

/** The panel beside the file. It stays while one goes from file to file. */
export interface ShownPanel {
  readonly page: PagePath;
  readonly place: NamePlace;
  readonly part: "definitions" | "references";
  readonly answer: Answer<Definitions | References | undefined>;
}

export const panel = signal<ShownPanel | undefined>(undefined);
