import { createHash } from "node:crypto";
import { escapeHtml } from "../../base/html.js";
import type { Headers } from "../server/headers.js";

/** What the page shows. */
export type DevicePage =
  | { readonly kind: "ask"; readonly user: string; readonly code: string; readonly problem: string }
  | { readonly kind: "done"; readonly message: string };

const style = `:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:12vh auto;padding:0 1rem}
input{font:1.25rem ui-monospace,monospace;letter-spacing:.1em;padding:.4rem .6rem;width:12ch}
button{font:inherit;padding:.5rem 1.25rem;margin:1rem .5rem 0 0}
label{display:block;margin:1rem 0 .25rem}`;

const styleHash = createHash("sha256").update(style).digest("base64");

/**
 * Pages with a form for the browser. They need no script, and their only style sheet is in them. No other page may show them in a
 * frame. With a stricter referrer policy, browsers send `Origin: null` with the form, which proves nothing.
 */
export const formPageHeaders: Headers = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
  "Cache-Control": "no-store",
  "Referrer-Policy": "same-origin",
  "X-Content-Type-Options": "nosniff",
  Vary: "Authorization, Cookie, Origin",
};

/**
 * The headers of a page whose form ends with a redirect to another site: browsers apply `form-action` to it, too. Addresses of IPv6
 * cannot be written there.
 */
export function withFormTarget(headers: Headers, redirectUri: string): Headers {
  const { protocol, hostname, origin } = new URL(redirectUri);
  const target = origin === "null" || hostname.startsWith("[") ? protocol : origin;
  const policy = headers["Content-Security-Policy"] ?? "";
  return {
    ...headers,
    "Content-Security-Policy": policy.replace("form-action 'self'", `form-action 'self' ${target}`),
  };
}

/** What the page about a program that wants to use the tools shows. */
export interface Consent {
  readonly user: string;
  /** What the program calls itself. */
  readonly who: string;
  /** Where the answer goes. */
  readonly target: string;
  /** What the form sends back. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

export function consentPageText({ user, who, target, fields }: Consent): string {
  return pageText(
    "Authorize an assistant",
    [
      "<h1>Authorize an assistant</h1>",
      `<p><strong>${escapeHtml(who)}</strong> asks to search and read, as <strong>${escapeHtml(user)}</strong>, the repositories that you can see. It could change nothing. Its access token is in your settings, where you can delete it.</p>`,
      `<p>The answer goes to <strong>${escapeHtml(target)}</strong>. The program says itself what it is called: continue only if you have just connected it to this server.</p>`,
      '<form method="post" action="/-/oauth/authorize">',
      ...fields.map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`),
      decisionButtons,
    ].join(""),
  );
}

/** Why a program cannot be authorized. */
export function problemPageText(problem: string): string {
  return pageText(
    "Authorize an assistant",
    `<h1>The program cannot be authorized</h1><p role="alert">${escapeHtml(problem)}</p><p>You can close this page.</p>`,
  );
}

/** Why a sign-in with an identity provider is not possible. */
export function signInProblemText(problem: string): string {
  return pageText(
    "Sign in",
    `<h1>You are not signed in</h1><p role="alert">${escapeHtml(upperFirst(problem))}.</p><p><a href="/sign-in">Back to the sign-in</a></p>`,
  );
}

function upperFirst(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

const decisionButtons =
  '<div><button name="decision" value="approve">Authorize</button><button name="decision" value="deny">Refuse</button></div></form>';

export function devicePageText(page: DevicePage): string {
  return pageText(
    "Authorize a program",
    page.kind === "done" ? `<h1>${escapeHtml(page.message)}</h1><p>You can close this page.</p>` : question(page),
  );
}

/** Asks somebody who may have followed a link of another site. */
export const signOutPageText = pageText(
  "Sign out",
  '<h1>Sign out?</h1><form method="post" action="/-/sign-out"><button>Sign out</button></form>',
);

function pageText(title: string, content: string): string {
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} · Trawl</title>`,
    `<style>${style}</style></head><body><main>${content}</main></body></html>`,
  ].join("");
}

function question({ user, code, problem }: DevicePage & { readonly kind: "ask" }): string {
  return [
    "<h1>Authorize a program</h1>",
    `<p>A program asks to act as <strong>${escapeHtml(user)}</strong>: it could search and change everything that you can, until you delete its access token in your settings.</p>`,
    "<p>Continue only if you started it yourself, with <code>src login</code>, and it shows this address or this code.</p>",
    problem === "" ? "" : `<p role="alert"><strong>${escapeHtml(problem)}</strong></p>`,
    '<form method="post" action="/-/oauth/device"><label for="code">Code</label>',
    `<input id="code" name="user_code" value="${escapeHtml(code)}" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="32" required>`,
    decisionButtons,
  ].join("");
}
