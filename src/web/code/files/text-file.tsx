import "./file.css";
import { scrollable } from "../../ui/element.js";
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { address, navigate } from "../../route/router.js";
import { ErrorText, Failure, Notice } from "../../ui/states.js";
import { repositoryFilter, searchUrl } from "../code-urls.js";
import { CopyMenu, GoToLine } from "./file-tools.js";
import type { HostLink } from "./line-menu.js";
import { hostFragment, readLineRange, withLineRange } from "./line-range.js";
import { Outline } from "./outline.js";
import { usePart } from "../../route/load-part.js";
import { addressOfView, asksForRendered, fileKind } from "./rendered/file-kind.js";
import { type FileActions, useBlame, useFileKeys, useFileView, useNames, useScopesChoice } from "./text-file-state.js";
import { formatAmount } from "../../ui/numbers.js";

interface TextFileProps {
  readonly path: PagePath;
  readonly text: string;
  /** The commit; undefined before it is known. */
  readonly oid: string | undefined;
}

/** The text of a file with its tools. */
export function TextFile({ path, text, oid }: TextFileProps) {
  const host = useRef<HTMLDivElement>(null);
  const { view, error, word } = useFileView(path, text, host);
  const isWrapped = useSignal(false);
  const hasOutline = useSignal(false);
  const kind = fileKind(path.path);
  const isRendered = kind !== undefined && asksForRendered(address.value);
  const rendered = usePart(isRendered, () => import("./rendered/rendered-file.js"));
  const blame = useBlame(path, view, error);
  const scopes = useScopesChoice();
  const actions: FileActions = {
    scopes: scopes.toggle,
    menu: () => view.peek()?.openMenu(),
    wrap: () => (isWrapped.value = !isWrapped.peek()),
    outline: () => (hasOutline.value = !hasOutline.peek()),
    blame: blame.toggle,
    permalink: () => {
      if (oid !== undefined) navigate(permanentUrl(path, oid), "replace");
    },
  };
  useFileKeys(actions, `${oid}/${path.path}`);
  const names = useNames(view);
  const Names = names.value?.Names;
  const range = readLineRange(address.value);
  const permalink = oid && new URL(permanentUrl(path, oid), address.value).href;
  const lineMenu = usePart(range !== undefined && view.value !== undefined, () => import("./line-menu.js"));
  useLayoutEffect(() => {
    if (lineMenu.part !== undefined) view.value?.showMenuButton();
  }, [lineMenu.part, view.value]);
  // They come after what is more urgent.
  const scopeLines = usePart(scopes.isOn && names.value !== undefined, () => import("./scope-lines.js"));
  return (
    <section class="panel file" aria-label={path.path}>
      <h1 class="unseen">{path.path}</h1>
      <div class="panel-head file-tools">
        <span class="file-name">
          <PathText path={path.path} />{" "}
          <span class="soft small">
            {view.value !== undefined && <Languages path={path} />}
            {view.value !== undefined && formatAmount(view.value.lineCount, "line")}
          </span>
        </span>
        {kind !== undefined && (
          <Switch
            label="Rendered"
            isOn={isRendered}
            act={() => navigate(addressOfView(address.peek(), !isRendered), "replace")}
          />
        )}
        {!isRendered && (
          <>
            <Switch label="Outline" isOn={hasOutline.value} act={actions.outline} />
            <Switch
              label={blame.state.value === "waiting" ? "Blame…" : "Blame"}
              isOn={blame.state.value !== "off"}
              act={actions.blame}
            />
            <Switch label="Wrap" isOn={isWrapped.value} act={actions.wrap} />
            <Switch label="Scopes" isOn={scopes.isOn} act={actions.scopes} />
          </>
        )}
        <FileLinks path={path} />
        {view.value !== undefined && (
          <HostLinks path={path}>
            {(hosts) =>
              range !== undefined &&
              !isRendered &&
              lineMenu.part !== undefined && (
                <lineMenu.part.LineMenu
                  range={range}
                  permalink={permalink}
                  readText={() => view.peek()?.textOfLines(range) ?? ""}
                  hasBlame={blame.state.value !== "off"}
                  toggleBlame={actions.blame}
                  hosts={hosts}
                />
              )
            }
          </HostLinks>
        )}
        {view.value !== undefined && !isRendered && <GoToLine lineCount={view.value.lineCount} />}
        <CopyMenu
          forms={{
            Path: path.path,
            Text: text,
            Permalink: permalink,
          }}
        />
        {scopes.isOn && !isRendered && scopeLines.part !== undefined && view.value !== undefined && (
          <scopeLines.part.ScopeLines path={path} text={text} view={view.value} />
        )}
      </div>
      {error.value !== undefined && (
        <Notice kind="bad">
          <span>
            <ErrorText error={error.value} />
          </span>
        </Notice>
      )}
      {isRendered && kind !== undefined && (
        <>
          <h2 class="unseen">Rendered</h2>
          {rendered.error !== undefined && <Failure what="The file could not be shown" error={rendered.error} />}
          {rendered.part !== undefined && <rendered.part.RenderedFile kind={kind} path={path} text={text} />}
        </>
      )}
      <div class="file-body" hidden={isRendered}>
        {hasOutline.value && <Outline path={path} text={text} view={view.value} />}
        <div
          ref={host}
          class={`file-lines${isWrapped.value ? " wrapped" : ""}`}
          {...scrollable(`Lines of ${path.path}`)}
        />
        {names.value !== undefined && <names.value.NamePanel />}
      </div>
      {word.value !== "" && <WordBar path={path} word={word.value} />}
      {Names !== undefined && view.value !== undefined && host.current !== null && (
        <Names
          path={path}
          host={host.current}
          lineCount={view.value.lineCount}
          reveal={(line) => view.peek()?.reveal(line + 1)}
        />
      )}
    </section>
  );
}

const languagesQuery = `query FileLanguages($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) { commit(rev: $revision) { blob(path: $path) { languages } } }
}`;

/** The daemon reads the text to tell it, so it is asked for when the text is shown. */
function Languages({ path: { name, revision, path } }: { readonly path: PagePath }) {
  const { answer } = useGraphql("FileLanguages", languagesQuery, { name, revision, path });
  const found = answer.kind === "ready" ? answer.value.repository?.commit?.blob?.languages : undefined;
  return <>{(found ?? []).map((language) => `${language} · `)}</>;
}

function FileLinks({ path }: Pick<TextFileProps, "path">) {
  return (
    <>
      <a class="button quiet" href={pageUrl(path, "commits", path.path)}>
        History
      </a>
      <a class="button quiet" href={pageUrl(path, "raw", path.path)}>
        Raw
      </a>
      <a class="button quiet" href={pageUrl(path, "raw", path.path)} download={path.path.split("/").at(-1)}>
        Download
      </a>
    </>
  );
}

const hostsQuery = `query FileHosts($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) { commit(rev: $revision) { blob(path: $path) { externalURLs { url serviceKind } } } }
}`;

const hostNames: Readonly<Record<string, string>> = { GITHUB: "GitHub", GITLAB: "GitLab", BITBUCKETCLOUD: "Bitbucket" };

interface HostLinksProps extends Pick<TextFileProps, "path"> {
  /** What else leads there. */
  readonly children: (hosts: readonly HostLink[]) => ComponentChildren;
}

/** The same file where the repository comes from. */
function HostLinks({ path: { name, revision, path }, children }: HostLinksProps) {
  const { answer } = useGraphql("FileHosts", hostsQuery, { name, revision, path });
  const found = (answer.kind === "ready" && answer.value.repository?.commit?.blob?.externalURLs) || [];
  const lines = readLineRange(address.value);
  const hosts = found.map(({ url, serviceKind }) => ({
    name: hostNames[serviceKind ?? ""] ?? "Code host",
    url: url + hostFragment(serviceKind, lines),
  }));
  return (
    <>
      {hosts.map(({ name: host, url }) => (
        <a key={url} class="button quiet" href={url} rel="noreferrer">
          {host}
        </a>
      ))}
      {children(hosts)}
    </>
  );
}

/** A path whose parts stay in their order, whatever the direction of their script. */
function PathText({ path }: { readonly path: string }) {
  return (
    <>
      {path.split("/").map((part, i) => (
        <span key={i}>
          {i > 0 && "/"}
          <bdi>{part}</bdi>
        </span>
      ))}
    </>
  );
}

interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly act: () => void;
}

function Switch({ label, isOn, act }: SwitchProps) {
  return (
    <button type="button" class="button quiet" aria-pressed={isOn} onClick={act}>
      {label}
    </button>
  );
}

/** Where a name that was double-clicked is defined and used, by symbols of that name. */
function WordBar({ path, word }: { readonly path: PagePath; readonly word: string }) {
  const filter = repositoryFilter(path);
  return (
    <p class="word-bar" role="status">
      <code>{word}</code>
      <a href={searchUrl(`${filter} type:symbol /^${word}$/ case:yes`)}>Definitions here</a>
      <a href={searchUrl(`type:symbol /^${word}$/ case:yes`)}>Definitions everywhere</a>
      <a href={searchUrl(`${filter} /\\b${word}\\b/ case:yes count:all`)}>References</a>
    </p>
  );
}

function permanentUrl({ name, path }: PagePath, oid: string): string {
  const permanent = new URL(address.value);
  permanent.pathname = pageUrl({ name, revision: oid }, "blob", path);
  return withLineRange(permanent, readLineRange(address.value));
}
