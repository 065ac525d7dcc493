/**
 * The rules by which chats refuse messages, from their public documentation: a receiver answers as the chat would. Written apart from
 * the formats that are tested.
 */

interface Verdict {
  readonly status: number;
  readonly text: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Collects what is wrong. */
class Rules {
  readonly problems: string[] = [];

  check(isGood: boolean, problem: string): void {
    if (!isGood) this.problems.push(problem);
  }

  text(value: unknown, lengthMax: number, where: string): string {
    this.check(
      typeof value === "string" && value !== "" && value.length <= lengthMax,
      `${where}: 1 to ${lengthMax} characters`,
    );
    return String(value);
  }

  keys(value: unknown, allowed: readonly string[], where: string): Json {
    const given = (value ?? {}) as Json;
    for (const key of Object.keys(given)) this.check(allowed.includes(key), `${where}: ${key} is not known`);
    return given;
  }

  url(value: unknown, where: string): void {
    this.check(
      typeof value === "string" && value.length <= 2_048 && URL.canParse(value) && /^https?:/.test(value),
      `${where}: no URL`,
    );
  }
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks, and the reference of Block Kit. */
export function asSlack(text: string): Verdict {
  const rules = new Rules();
  const message = rules.keys(JSON.parse(text), ["text", "blocks", "unfurl_links", "unfurl_media"], "message");
  const blocks = (message["blocks"] ?? []) as readonly Json[];
  rules.check(blocks.length > 0 && blocks.length <= 50, "blocks: 1 to 50");
  rules.check(JSON.stringify(blocks).length <= 13_000, "msg_blocks_too_long");
  const mrkdwn = [rules.text(message["text"], 40_000, "text")];
  const textObject = (value: unknown, types: readonly string[], lengthMax: number): void => {
    const { type, text: said } = rules.keys(value, ["type", "text", "emoji", "verbatim"], "text object");
    rules.check(types.includes(String(type)), `text object: ${String(type)}`);
    const one = rules.text(said, lengthMax, "text object");
    if (type === "mrkdwn") mrkdwn.push(one);
  };
  for (const block of blocks) {
    const { type } = block;
    if (type === "header") textObject(rules.keys(block, ["type", "text"], "header")["text"], ["plain_text"], 150);
    else if (type === "section")
      textObject(rules.keys(block, ["type", "text"], "section")["text"], ["mrkdwn", "plain_text"], 3_000);
    else if (type === "context") {
      const elements = rules.keys(block, ["type", "elements"], "context")["elements"] as readonly unknown[];
      rules.check(elements.length > 0 && elements.length <= 10, "context: 1 to 10 elements");
      for (const element of elements) textObject(element, ["mrkdwn", "plain_text"], 3_000);
    } else rules.check(false, `block: ${String(type)}`);
  }
  // Whatever is in angle brackets is a link or calls somebody; only links to pages are expected.
  for (const [, inside = ""] of mrkdwn.join("\n").matchAll(/<([^>]*)>/g))
    rules.check(/^https?:\/\/[^|]+\|[^|]+$/.test(inside), `calls somebody: <${inside}>`);
  return rules.problems.length === 0
    ? { status: 200, text: "ok" }
    : { status: 400, text: `invalid_blocks ${rules.problems.join(", ")}` };
}

/** https://discord.com/developers/docs/resources/webhook#execute-webhook and #embed-object-embed-limits. */
export function asDiscord(text: string): Verdict {
  const rules = new Rules();
  const message = rules.keys(JSON.parse(text), ["content", "embeds", "allowed_mentions"], "message");
  const embeds = (message["embeds"] ?? []) as readonly Json[];
  if (message["content"] !== undefined) rules.text(message["content"], 2_000, "content");
  rules.check(embeds.length <= 10 && (embeds.length > 0 || message["content"] !== undefined), "embeds: at most 10");
  rules.check(JSON.stringify(message["allowed_mentions"]) === '{"parse":[]}', "somebody may be called");
  let total = 0;
  for (const given of embeds) {
    const embed = rules.keys(given, ["title", "url", "description", "footer"], "embed");
    const footer = rules.keys(embed["footer"], ["text"], "footer");
    const texts = [
      rules.text(embed["title"], 256, "title"),
      embed["description"] === undefined ? "" : rules.text(embed["description"], 4_096, "description"),
      rules.text(footer["text"], 2_048, "footer"),
    ];
    rules.url(embed["url"], "url");
    total += texts.reduce((sum, one) => sum + one.length, 0);
    rules.check(isPlainDiscord(texts[0] ?? "") && isPlainDiscord(texts[1] ?? ""), `Markdown of others: ${texts[1]}`);
  }
  rules.check(total <= 6_000, "embeds: 6000 characters in total");
  const errors = { code: 50035, message: "Invalid Form Body", errors: rules.problems };
  return rules.problems.length === 0 ? { status: 204, text: "" } : { status: 400, text: JSON.stringify(errors) };
}

/** Without what is escaped, and without links to pages, nothing is left that Discord would show in another way. */
function isPlainDiscord(text: string): boolean {
  const left = text.replace(/\\[!-/:-@[-`{-~]/g, "").replace(/\[[^[\]]*\]\(https?:[^\s()<>]*\)/g, "");
  return !/[*_~`|<>[\]()#@\\]|https?:/.test(left);
}

/** https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook, with the schema of adaptive cards 1.4. */
export function asTeams(text: string): Verdict {
  const rules = new Rules();
  rules.check(Buffer.byteLength(text) <= 28 * 1024, "more than 28 KB");
  const { type, attachments } = rules.keys(JSON.parse(text), ["type", "attachments"], "message");
  rules.check(type === "message" && Array.isArray(attachments) && attachments.length === 1, "no message with one card");
  const [attachment] = attachments as readonly Json[];
  const { contentType, content } = rules.keys(attachment, ["contentType", "contentUrl", "content"], "attachment");
  rules.check(contentType === "application/vnd.microsoft.card.adaptive", "no adaptive card");
  const card = rules.keys(content, ["$schema", "type", "version", "body", "actions"], "card");
  rules.check(
    card["type"] === "AdaptiveCard" && /^1\.[0-5]$/.test(String(card["version"])),
    "no card that Teams shows",
  );
  // A text block is Markdown: that would have to be escaped.
  for (const element of (card["body"] ?? []) as readonly Json[]) {
    const { type: kind, inlines } = rules.keys(element, ["type", "inlines"], "element");
    rules.check(kind === "RichTextBlock" && Array.isArray(inlines) && inlines.length > 0, `element: ${String(kind)}`);
    for (const run of (inlines ?? []) as readonly Json[]) {
      const known = ["type", "text", "size", "weight", "color", "isSubtle", "fontType", "selectAction"];
      const { type: runType, text: said, selectAction } = rules.keys(run, known, "run");
      rules.check(runType === "TextRun" && typeof said === "string" && said !== "", "run without text");
      if (selectAction !== undefined) openUrl(selectAction, rules);
    }
  }
  for (const action of (card["actions"] ?? []) as readonly unknown[]) openUrl(action, rules);
  return rules.problems.length === 0 ? { status: 202, text: "" } : { status: 400, text: rules.problems.join(", ") };
}

function openUrl(action: unknown, rules: Rules): void {
  const { type, url } = rules.keys(action, ["type", "title", "url"], "action");
  rules.check(type === "Action.OpenUrl", `action: ${String(type)}`);
  rules.url(url, "action");
}
