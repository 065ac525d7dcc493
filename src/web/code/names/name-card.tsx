import { useLayoutEffect, useRef } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import type { Answer } from "../../api/use-graphql.js";
import { scrollable } from "../../ui/element.js";
import { ErrorText } from "../../ui/states.js";
import { type Definition, type Definitions, textWithCode } from "./name-answers.js";
import type { NamePlace } from "./name-place.js";

/** What the panel beside a file shows of a name. */
export type PanelPart = "definitions" | "references" | "implementations";

/** The card beside a name. */
export interface ShownCard {
  readonly place: NamePlace;
  /** Where the name is in the window. */
  readonly rect: DOMRect;
  readonly answer: Answer<Definitions>;
  /** Whether a pointer led to it, and not a key: it goes when the pointer leaves. */
  readonly isByPointer: boolean;
}

interface NameCardProps {
  readonly card: ShownCard;
  readonly page: PagePath;
  readonly enter: () => void;
  readonly leave: () => void;
  readonly go: () => void;
  /** Opens the panel with its definitions or uses. */
  readonly show: (part: PanelPart) => void;
}

/** Between the name and the card, and between the card and the edges of the window. */
const gapPixels = 4;

/** What a name is, beside it. */
export function NameCard({ card, page, enter, leave, go, show }: NameCardProps) {
  const box = useRef<HTMLElement>(null);
  const { rect, answer, place } = card;
  useLayoutEffect(() => {
    const shown = box.current;
    if (shown === null) return;
    const { width, height } = shown.getBoundingClientRect();
    const isBelow = rect.bottom + gapPixels + height <= window.innerHeight || rect.top < height;
    const top = isBelow ? rect.bottom + gapPixels : rect.top - gapPixels - height;
    shown.style.top = `${top}px`;
    shown.style.left = `${Math.max(gapPixels, Math.min(rect.left, window.innerWidth - width - gapPixels))}px`;
  }, [rect, answer]);
  return (
    <section
      ref={box}
      class="name-card"
      aria-label={`About ${place.name}`}
      onPointerEnter={enter}
      onPointerLeave={leave}
    >
      {answer.kind === "failed" ? (
        <p role="alert">
          <ErrorText error={answer.error} />
        </p>
      ) : (
        answer.kind === "ready" && <About name={place.name} page={page} found={answer.value} />
      )}
      <p class="name-actions">
        {answer.kind === "ready" && answer.value.list.length > 0 && (
          <button type="button" class="button" onClick={answer.value.isUnique ? go : () => show("definitions")}>
            {answer.value.isUnique ? "Definition" : `${answer.value.list.length} definitions`} <kbd>d</kbd>
          </button>
        )}
        <button type="button" class="button" onClick={() => show("references")}>
          References <kbd>r</kbd>
        </button>
        {answer.kind === "ready" && mayBeImplemented(answer.value) && (
          <button type="button" class="button" onClick={() => show("implementations")}>
            Implementations <kbd>i</kbd>
          </button>
        )}
      </p>
    </section>
  );
}

interface AboutProps {
  readonly name: string;
  readonly page: PagePath;
  readonly found: Definitions;
}

function About({ name, page, found: { list, isUnique, isPrecise } }: AboutProps) {
  const [first] = list;
  if (first === undefined)
    return (
      <p class="soft">
        No definition of <code>{name}</code> is known.
      </p>
    );
  return (
    <>
      <pre class="name-signature">{first.signature === "" ? name : first.signature}</pre>
      {first.documentation !== "" && <NameText text={first.documentation} name={name} />}
      <p class="soft small">
        {first.kind} · {first.isSelf ? "defined here" : <a href={first.url}>{placeText(first, page)}</a>} ·{" "}
        {precisionText(isPrecise)}
        {!isUnique && list.length > 1 && (isPrecise ? `, one of ${list.length}` : `, the likeliest of ${list.length}`)}
      </p>
    </>
  );
}

/** What is written about a name, with its code as code. */
function NameText({ text, name }: { readonly text: string; readonly name: string }) {
  return (
    <div class="name-text" {...scrollable(`Documentation of ${name}`)}>
      {textWithCode(text).map(({ isCode, part }, i) => (isCode ? <code key={i}>{part}</code> : part))}
    </div>
  );
}

/** Whether an index may know what implements a name: in its own repository, or, of an interface, in others. */
export function mayBeImplemented({ isPrecise, implementationCount, list: [first] }: Definitions): boolean {
  return implementationCount > 0 || (isPrecise && first?.kind === "interface");
}

/** How an answer was found. */
export function precisionText(isPrecise: boolean): string {
  return isPrecise ? "precise" : "by name";
}

/** Where a definition is, as seen from a page. */
export function placeText({ repository, path, line }: Definition, page: PagePath): string {
  return `${repository === page.name ? "" : `${repository} `}${path}:${line + 1}`;
}

/** Of what is written about a name, so much is said with it. */
const saidLengthMax = 200;

/** The card as a sentence, for those who hear it. */
export function targetText(name: string, { list: [first], isUnique, isPrecise }: Definitions): string {
  if (first === undefined) return `${name}: no definition is known`;
  const where = first.isSelf ? "defined here" : `in ${first.path}, line ${first.line + 1}`;
  const about = `${name}: ${first.kind} ${where}${isUnique ? "" : ", one of several"}, ${precisionText(isPrecise)}`;
  const [text = ""] = first.documentation.slice(0, saidLengthMax).split("\n\n");
  return `${about}. ${first.signature}${text === "" ? "" : `. ${text}`}`;
}
