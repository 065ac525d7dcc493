import { randomBytes } from "node:crypto";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { SymbolFault } from "../../model/shard-record.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { noSymbols, type ContentSymbols } from "../../shard/symbols/content-symbols.js";
import { CtagsChild, type ParsedText, type TextLimits } from "./ctags-child.js";
import { ctagsFileName, ctagsParser } from "./ctags-languages.js";
import type { CtagsProgram } from "./ctags-program.js";
import { parseTags } from "./tag-records.js";

/** A text whose symbols are wanted. */
export interface SymbolText {
  readonly language: string;
  readonly text: Buffer;
}

export type Extraction =
  | { readonly kind: "symbols"; readonly symbols: ContentSymbols }
  /** ctags has no parser for its language, or it is not one whose symbols are indexed. */
  | { readonly kind: "unsupported" }
  | { readonly kind: "failed"; readonly fault: SymbolFault };

export interface ExtractorOptions {
  readonly program: CtagsProgram;
  readonly limits: TextLimits;
  readonly stop: StopSignal;
}

/** ctags is killed when one text takes longer: usual files take milliseconds, the slowest parsers some seconds for 1 MB. */
export const textLimits: TextLimits = { cpuMs: 10_000, wallMs: 60_000 };

/** A window of texts is sent at once, so that ctags need not wait for the next one. */
const windowBytes = 256 * 1024;
const windowTextsMax = 256;

/** A child is replaced after this many texts: whatever it has kept of them is gone then. */
const textsOfChildMax = 10_000;

/** After this many texts in a row for which a new child failed, ctags itself is at fault. */
const faultsInARowMax = 20;

/** One text of a window, and the place of its outcome. */
interface Pending extends ParsedText {
  readonly index: number;
}

/**
 * Extracts the symbols of texts with one ctags, which it starts when it is first needed and replaces when it fails.
 * If ctags fails in a window of texts, each of the rest is tried alone, and twice unless it takes too long: a text is
 * only blamed for what it does to a new ctags. `close` is idempotent.
 */
export class SymbolExtractor {
  readonly #options: ExtractorOptions;
  #child: CtagsChild | undefined;
  #faultsInARow = 0;

  constructor(options: ExtractorOptions) {
    this.#options = options;
  }

  /** Throws `cancelled` if stopped, `internal` if ctags cannot be started or fails for every text. */
  async extract(texts: readonly SymbolText[]): Promise<Extraction[]> {
    const results: Extraction[] = texts.map(() => ({ kind: "unsupported" }));
    let window: Pending[] = [];
    let bytes = 0;
    for (let index = 0; index < texts.length; index++) {
      const { language, text } = texts[index];
      const parser = ctagsParser(language);
      if (parser === undefined || !this.#options.program.parsers.has(parser)) continue;
      if (window.length > 0 && (bytes + text.length > windowBytes || window.length === windowTextsMax)) {
        await this.#extractWindow(window, texts, results);
        window = [];
        bytes = 0;
      }
      window.push({ fileName: ctagsFileName(parser), text, index });
      bytes += text.length;
    }
    if (window.length > 0) await this.#extractWindow(window, texts, results);
    return results;
  }

  /** Kills ctags. The next `extract` starts another. */
  close(): void {
    this.#child?.close();
    this.#child = undefined;
  }

  async #extractWindow(window: readonly Pending[], texts: readonly SymbolText[], results: Extraction[]): Promise<void> {
    const fault = await this.#parse(window, texts, results);
    if (fault === undefined) return;
    // Which text is at fault is not certain, nor are the outcomes of those before it.
    for (const pending of window) {
      const first = await this.#parse([pending], texts, results);
      const second = first === undefined || first === "time" ? first : await this.#parse([pending], texts, results);
      if (second === undefined) {
        this.#faultsInARow = 0;
        continue;
      }
      results[pending.index] = { kind: "failed", fault: second };
      if (++this.#faultsInARow > faultsInARowMax) throw this.#useless(second);
    }
  }

  async #parse(
    window: readonly Pending[],
    texts: readonly SymbolText[],
    results: Extraction[],
  ): Promise<SymbolFault | undefined> {
    if (this.#options.stop()) throw stopped();
    const child = this.#useChild();
    const check = makeCheck();
    const { outputs, fault } = await child.parse([...window, check]);
    if (fault === "stopped") throw stopped();
    if (fault === undefined && outputs[window.length].toString() !== check.output(child.mark)) {
      this.close();
      return "garbage";
    }
    for (let i = 0; i < Math.min(outputs.length, window.length); i++) {
      const { index } = window[i];
      const symbols =
        outputs[i].length === 0
          ? noSymbols
          : parseTags(outputs[i].toString("latin1"), child.mark, texts[index].text.toString("latin1"));
      if (symbols === undefined) {
        this.close();
        return "garbage";
      }
      results[index] = { kind: "symbols", symbols };
    }
    if (fault !== undefined || child.parsedCount >= textsOfChildMax) this.close();
    return fault;
  }

  #useChild(): CtagsChild {
    const { program, limits, stop } = this.#options;
    try {
      this.#child ??= new CtagsChild(program, limits, stop);
    } catch (error) {
      throw new TrawlError("internal", `${program.command} cannot be started: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    return this.#child;
  }

  #useless(fault: string): TrawlError {
    const { command, version } = this.#options.program;
    return new TrawlError("internal", `${command} (${version}) fails for every text, last with "${fault}"`);
  }
}

/**
 * A text at the end of each window, with a name that no other text can know. If its symbol is not the last output, some
 * output is of another text than it seems to be.
 */
function makeCheck(): ParsedText & { readonly output: (mark: string) => string } {
  const name = `check_${randomBytes(6).toString("hex")}`;
  return {
    fileName: ctagsFileName("C"),
    text: Buffer.from(`int ${name};\n`),
    output: (mark) => `${mark}1\tvariable\t${name}${mark}\n`,
  };
}

function stopped(): TrawlError {
  return new TrawlError("cancelled", "the extraction of symbols was stopped");
}
