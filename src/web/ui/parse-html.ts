/**
 * The only place where text becomes markup. The Content-Security-Policy of the pages allows one policy, this one, and
 * its result is a document without a window: nothing in it runs, and nothing is loaded. Callers copy what they know
 * from it, and never insert it as it is.
 */
interface HtmlPolicy {
  createHTML(text: string): string;
}

interface HtmlPolicyFactory {
  createPolicy(name: string, rules: HtmlPolicy): HtmlPolicy;
}

const asIs: HtmlPolicy = { createHTML: (text) => text };

/** Browsers without Trusted Types parse the text as it is. */
const policy =
  (globalThis as { readonly trustedTypes?: HtmlPolicyFactory }).trustedTypes?.createPolicy("trawl", asIs) ?? asIs;

export function parseHtml(text: string): Document {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}
