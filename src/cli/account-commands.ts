import type { Command } from "commander";
import { AccountCommands, type TypedToken, type TypedUser } from "./account.js";
import { dataOption, print } from "./command-options.js";

function accountCommands(typed: { data: string }): AccountCommands {
  return new AccountCommands(typed.data, print);
}

/** Adds `trawl user`. */
export function addUser(program: Command): void {
  const user = program.command("user").description("Create, list and delete users of the running daemon.");
  user
    .command("create")
    .argument("<name>")
    .addOption(dataOption())
    .description("Create a user. It has no access token yet.")
    .option(
      "--admin",
      "make it a site admin, who can see all repositories and have tokens that act as other users",
      false,
    )
    .option("--email <address>", "e-mail address")
    .option(
      "--password-stdin",
      "read the password from the first line of standard input; a user without a password cannot sign in",
      false,
    )
    .action((name: string, typed: TypedUser & { data: string }) => accountCommands(typed).createUser(name, typed));
  user
    .command("password")
    .argument("<name>")
    .addOption(dataOption())
    .description("Set the password to the first line of standard input, and end the user's sessions.")
    .option("--link", "print a link with which the user sets the password; valid once, for a day", false)
    .action((name: string, typed: { data: string; link: boolean }) =>
      typed.link ? accountCommands(typed).linkPassword(name) : accountCommands(typed).setPassword(name),
    );
  user
    .command("set")
    .argument("<name>")
    .addOption(dataOption())
    .description("Change a user.")
    .option("--admin", "make it a site admin")
    .option("--no-admin", "make it an ordinary user")
    .action((name: string, typed: { data: string; admin?: boolean }) =>
      accountCommands(typed).setUser(name, typed.admin),
    );
  user
    .command("list")
    .addOption(dataOption())
    .description("List the users.")
    .option("--json", "print one JSON object per user", false)
    .action((typed: { data: string; json: boolean }) => accountCommands(typed).listUsers(typed.json));
  user
    .command("delete")
    .argument("<name>")
    .addOption(dataOption())
    .description("Delete a user and its access tokens, which are rejected from then on.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).deleteUser(name));
}

/** Adds `trawl org`. */
export function addOrganization(program: Command): void {
  const organization = program
    .command("org")
    .description("Create, list and delete organizations, and manage their members.");
  organization
    .command("create")
    .argument("<name>")
    .addOption(dataOption())
    .description("Create an organization. Private repositories can name it as a reader.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).createOrganization(name));
  organization
    .command("add")
    .argument("<name>")
    .argument("<user>")
    .addOption(dataOption())
    .description("Add a user to an organization.")
    .action((name: string, user: string, typed: { data: string }) =>
      accountCommands(typed).setMember(name, user, true),
    );
  organization
    .command("remove")
    .argument("<name>")
    .argument("<user>")
    .addOption(dataOption())
    .description("Remove a user from an organization.")
    .action((name: string, user: string, typed: { data: string }) =>
      accountCommands(typed).setMember(name, user, false),
    );
  organization
    .command("list")
    .addOption(dataOption())
    .description("List the organizations with their members.")
    .option("--json", "print one JSON object per organization", false)
    .action((typed: { data: string; json: boolean }) => accountCommands(typed).listOrganizations(typed.json));
  organization
    .command("delete")
    .argument("<name>")
    .addOption(dataOption())
    .description("Delete an organization.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).deleteOrganization(name));
}

/** Adds `trawl token`. */
export function addToken(program: Command): void {
  const token = program.command("token").description("Create, list and delete access tokens of users.");
  token
    .command("create")
    .argument("<user>")
    .addOption(dataOption())
    .description("Create an access token and print it. It cannot be shown again.")
    .option(
      "--scope <scopes>",
      "scopes, separated by commas: user:all, and for site admins site-admin:sudo",
      "user:all",
    )
    .option("--expires <time>", "lifetime, for example 30d or 12h, or never; the default is auth.tokenDays", "")
    .option("--note <text>", "purpose of the token", "")
    .action((user: string, typed: TypedToken & { data: string }) => accountCommands(typed).createToken(user, typed));
  token
    .command("list")
    .argument("[user]")
    .addOption(dataOption())
    .description("List access tokens: id, user, scopes, expiry, last use, note.")
    .option("--json", "print one JSON object per token", false)
    .action((user: string | undefined, typed: { data: string; json: boolean }) =>
      accountCommands(typed).listTokens(user, typed.json),
    );
  token
    .command("delete")
    .argument("<id>")
    .addOption(dataOption())
    .description("Delete an access token, which is rejected from then on.")
    .action((id: string, typed: { data: string }) => accountCommands(typed).deleteToken(id));
}
