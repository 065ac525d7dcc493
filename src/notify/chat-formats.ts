import { textStart } from "../base/text.js";
import { type AnnouncedItem, type Announcement, buildFitting, describeRest } from "./announcement.js";

/** Results in a message: a chat shows the rest behind a fold, and there is a link to all of them. */
const itemsMax = 10;

/*
 * Slack: https://docs.slack.dev/reference/block-kit/blocks
 */

const slackTitleMax = 150;
const slackSectionMax = 3_000;
/** What is left of a section beside two texts of which each character is escaped, and beside two words. */
const slackTargetMax = 900;
const slackPageMax = 2_900;
/** Not documented: blocks of more than 13,000 characters in total are refused. */
const slackTotalMax = 12_000;

/** A message for an incoming webhook of Slack. */
export function toSlack(announcement: Announcement): object {
  return buildFitting(announcement, itemsMax, buildSlack, (message) => JSON.stringify(message).length <= slackTotalMax);
}

function buildSlack(announcement: Announcement): object {
  const { title, origin, problem, url, items } = announcement;
  const rest = describeRest(announcement, items.length);
  const sections = [escapeSlack(problem), ...items.map(slackItem)].filter((text) => text !== "");
  return {
    // Shown by programs that show no blocks, such as notifications of a telephone.
    text: escapeSlack(title),
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: "header", text: { type: "plain_text", text: cut(title, slackTitleMax), emoji: false } },
      ...sections.map((text) => ({ type: "section", text: slackText(text) })),
      {
        type: "context",
        elements: [
          ...(rest === "" ? [] : [slackText(rest)]),
          slackText(slackLink(url, "All results", slackPageMax)),
          { type: "plain_text", text: cut(origin, slackSectionMax), emoji: false },
        ],
      },
    ],
  };
}

/** With `verbatim`, names of channels and people in it are text. */
function slackText(text: string): object {
  return { type: "mrkdwn", text, verbatim: true };
}

function slackItem({ label, url, text }: AnnouncedItem): string {
  return `${slackLink(url, label)}\n${escapeSlack(text)}`;
}

/** `<`, `>` and `&` begin everything that is not text: links, mentions and `<!channel>`. */
function escapeSlack(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function slackLink(url: string, label: string, targetMax = slackTargetMax): string {
  const target = escapeSlack(escapeIn(url, "|<>"));
  if (url === "" || target.length > targetMax) return escapeSlack(label);
  return `<${target}|${escapeSlack(label).replace(/\|/g, "¦")}>`;
}

/*
 * Discord: https://discord.com/developers/docs/resources/message#embed-object
 */

const discordTitleMax = 256;
const discordDescriptionMax = 4_096;
const discordFooterMax = 2_048;
/** So that one item always fits. */
const discordTargetMax = 1_500;

/** A message for a webhook of Discord. */
export function toDiscord(announcement: Announcement): object {
  return buildFitting(announcement, itemsMax, buildDiscord, fitsDiscord);
}

interface DiscordMessage {
  readonly embeds: readonly { readonly description?: string }[];
}

function fitsDiscord({ embeds: [embed] }: DiscordMessage): boolean {
  return (embed?.description?.length ?? 0) <= discordDescriptionMax - discordTitleMax;
}

function buildDiscord(announcement: Announcement): DiscordMessage {
  const { title, origin, problem, url, items } = announcement;
  const lines = [
    ...(problem === "" ? [] : [escapeDiscord(problem)]),
    ...items.map((item) => `${discordLink(item)}\n${escapeDiscord(item.text)}`),
    describeRest(announcement, items.length),
  ].filter((line) => line !== "");
  const embed = {
    // Each character may become two.
    title: escapeDiscord(cut(title, discordTitleMax / 2)),
    url,
    ...(lines.length === 0 ? {} : { description: lines.join("\n") }),
    // A footer has no Markdown.
    footer: { text: cut(origin, discordFooterMax) },
  };
  // Nobody is called, whatever the texts say.
  return { allowed_mentions: { parse: [] }, embeds: [embed] } as DiscordMessage;
}

/** Each punctuation character, so that none begins Markdown, a mention or a link. */
function escapeDiscord(text: string): string {
  return text.replace(/[!-/:-@[-`{-~]/g, "\\$&");
}

function discordLink({ label, url }: AnnouncedItem): string {
  const target = escapeIn(url, "()<>\\");
  // Parentheses may have made it three times as long.
  if (url === "" || target.length > discordTargetMax) return escapeDiscord(label);
  return `[${escapeDiscord(label)}](${target})`;
}

/*
 * Teams: https://learn.microsoft.com/en-us/power-automate/overview-adaptive-cards, in the message that its workflows take.
 */

/** A workflow takes 28 KB; Teams counts characters in two bytes and more. */
const teamsBytesMax = 20_000;

/** A message for a workflow of Teams that posts what it gets by a webhook. */
export function toTeams(announcement: Announcement): object {
  return buildFitting(
    announcement,
    itemsMax,
    buildTeams,
    (message) => Buffer.byteLength(JSON.stringify(message)) <= teamsBytesMax,
  );
}

function buildTeams(announcement: Announcement): object {
  const { title, origin, problem, url, items } = announcement;
  const rest = describeRest(announcement, items.length);
  const content = {
    $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
    type: "AdaptiveCard",
    version: "1.4",
    body: [
      teamsText([{ text: title, size: "Large", weight: "Bolder" }]),
      ...(problem === "" ? [] : [teamsText([{ text: problem, color: "Attention" }])]),
      ...items.map((item) =>
        teamsText([
          { text: item.label, ...(item.url === "" ? {} : { selectAction: { type: "Action.OpenUrl", url: item.url } }) },
          { text: ` ${item.text}`, fontType: "Monospace" },
        ]),
      ),
      ...(rest === "" ? [] : [teamsText([{ text: rest }])]),
      teamsText([{ text: origin, isSubtle: true, size: "Small" }]),
    ],
    actions: [{ type: "Action.OpenUrl", title: "All results", url }],
  };
  const attachment = { contentType: "application/vnd.microsoft.card.adaptive", contentUrl: null, content };
  return { type: "message", attachments: [attachment] };
}

/** Runs of text, which are no Markdown: a text block would have links and emphasis of the texts of others. */
function teamsText(runs: readonly ({ readonly text: string } & Readonly<Record<string, unknown>>)[]): object {
  return { type: "RichTextBlock", inlines: runs.map((run) => ({ type: "TextRun", ...run })) };
}

function cut(text: string, lengthMax: number): string {
  return text.length <= lengthMax ? text : `${textStart(text, lengthMax - 1)}…`;
}

/** Percent-encodes characters of a URL that end it where it is written. */
function escapeIn(url: string, characters: string): string {
  let escaped = "";
  for (const character of url)
    escaped += characters.includes(character)
      ? `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`
      : character;
  return escaped;
}
