/** The addresses of the tools for assistants. */
export const mcpPaths = { main: "/.api/mcp", version1: "/.api/mcp/v1", all: "/.api/mcp/all" } as const;
