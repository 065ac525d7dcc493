/** What each interface reads of a mirror, as text: to be compared between nodes. */

export type Readings = Readonly<Record<string, string>>;

const query = `query ($name: String!, $path: String!) {
  repositories(first: 100) { nodes { name } totalCount }
  repository(name: $name) {
    name isPrivate defaultBranch { abbrevName }
    branches { nodes { name target { oid } } }
    commit(rev: "HEAD") {
      oid message tree(path: "", recursive: true) { entries { path } }
      ancestors(first: 5) { nodes { oid subject author { date } } }
      blob(path: $path) { content byteSize blame(startLine: 1, endLine: 10) { startLine endLine commit { oid } author { person { name } } } }
    }
    comparison(base: "HEAD~1", head: "HEAD") { fileDiffs { rawDiff diffStat { added deleted } } }
  }
}`;

/** Reads a repository and one of its files through each interface of a node. */
export async function readMirror(url: string, name: string, path: string): Promise<Readings> {
  const get = async (place: string): Promise<string> => {
    const response = await fetch(`${url}${place}`);
    return `${response.status} ${Buffer.from(await response.arrayBuffer()).toString("latin1")}`;
  };
  const post = async (place: string, body: object): Promise<string> => {
    const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };
    const response = await fetch(`${url}${place}`, { method: "POST", headers, body: JSON.stringify(body) });
    return `${response.status} ${await response.text()}`;
  };
  const call = (tool: string, args: object): Promise<string> =>
    post("/.api/mcp", {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: tool, arguments: args },
    });
  return {
    raw: await get(`/${name}/-/raw/${path}`),
    list: await get(`/${name}/-/raw/?list=files`),
    archive: await get(`/${name}/-/raw/?format=tar`),
    blame: await get(`/.api/blame/${name}/-/stream/${path}`),
    overview: (await get(`/${name}`)).replaceAll(url.slice("http://".length), "HOST"),
    commits: await get(`/${name}/-/commits`),
    comparison: await get(`/${name}/-/compare/HEAD~1...HEAD`),
    graphql: await post("/.api/graphql", { query, variables: { name, path } }),
    file: await call("read_file", { repo: name, path }),
    files: await call("list_files", { repo: name }),
    repositories: await call("list_repos", {}),
  };
}
